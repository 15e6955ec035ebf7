//! Keys of messengers, mail and other services that people talk through.

use super::Rule;
use crate::check;

/// How the base64 form of a number begins.
const DISCORD: &[&str] = &[
    "MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk", "MjA", "MjE", "MjI", "MjM", "MjQ", "MjU",
    "MjY", "Mjc", "Mjg", "Mjk", "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc", "Mzg", "Mzk", "NDA", "NDE",
    "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk", "NTA", "NTE", "NTI", "NTM", "NTQ", "NTU", "NTY", "NTc",
    "NTg", "NTk", "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU", "NjY", "Njc", "Njg", "Njk", "NzA", "NzE", "NzI", "NzM",
    "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk", "ODA", "ODE", "ODI", "ODM", "ODQ", "ODU", "ODY", "ODc", "ODg", "ODk",
    "OTA", "OTE", "OTI", "OTM", "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk",
];

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "slack-token",
        "Slack token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxo-", "xoxc-", "xoxd-", "xoxe."],
        concat!(
            r"xox(?:[aboprsc]-(?:[0-9]+-)*[0-9A-Za-z]{10,200}(?:-[0-9a-zA-Z]{10,200})*|d-[A-Za",
            r"-z0-9%+/=]{40,400}|e(?:\.xox[bp])?-[0-9]-[A-Za-z0-9]{100,300})"
        ),
    )
    .floor(2.8)
    .check(check::slack),
    Rule::new("slack-app-token", "Slack app token", &["xapp-"], r"xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{10,16}-[0-9a-f]{64}"),
    Rule::new(
        "slack-webhook",
        "Slack webhook",
        &["hooks.slack.com/"],
        concat!(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Z0-9]{8,14}/[A-Z0-9]{8,20}",
            r"/[A-Za-z0-9/]{18,60})"
        ),
    )
    .before(),
    Rule::new(
        "discord-bot-token",
        "Discord bot token",
        DISCORD,
        r"[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,38}",
    )
    .check(check::random_after_prefix)
    .checksum(check::discord),
    Rule::new(
        "discord-webhook",
        "Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,72})",
    )
    .before(),
    Rule::new("telegram-bot-token", "Telegram bot token", &[":AA"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}").inside(10),
    Rule::new(
        "teams-webhook",
        "Microsoft Teams webhook",
        &[".webhook.office.com/"],
        concat!(
            r"\.webhook\.office\.com/webhookb2/[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/([0",
            r"-9a-f]{32}/[0-9a-f-]{36})"
        ),
    )
    .before(),
    Rule::new(
        "zapier-webhook",
        "Zapier webhook",
        &["hooks.zapier.com/hooks/"],
        r"hooks\.zapier\.com/hooks/catch/([0-9]{5,10}/[A-Za-z0-9]{6,30})",
    )
    .before()
    .floor(2.5),
    Rule::new(
        "ifttt-webhook",
        "IFTTT webhook key",
        &["maker.ifttt.com/trigger/"],
        r"maker\.ifttt\.com/trigger/[A-Za-z0-9_-]+/(?:json/)?with/key/([A-Za-z0-9_-]{20,60})",
    )
    .before(),
    Rule::new("sendgrid-key", "SendGrid API key", &["SG."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    Rule::new("mailgun-key", "Mailgun key", &["key-"], r"key-[0-9a-f]{32}"),
    Rule::new(
        "mailchimp-key",
        "Mailchimp key",
        &["-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"],
        r"[0-9a-f]{32}-us[0-9]{1,2}",
    )
    .inside(32),
    Rule::new("mandrill-key", "Mandrill key", &["md-"], r"md-[A-Za-z0-9_-]{22}")
        .floor(3.4)
        .check(check::random_after_prefix),
    Rule::new(
        "brevo-key",
        "Brevo key",
        &["xkeysib-", "xsmtpsib-"],
        r"x(?:key|smtp)sib-[0-9a-f]{64}(?:-[A-Za-z0-9]{16})?",
    ),
    Rule::new("resend-key", "Resend key", &["re_"], r"re_[A-Za-z0-9]{6,9}_[A-Za-z0-9]{22,25}")
        .floor(3.4)
        .check(check::random_after_prefix),
    Rule::new(
        "twilio-key",
        "Twilio API key or account",
        &[
            "SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe",
            "SKf",
        ],
        r"SK[0-9a-f]{32}",
    ),
    Rule::new(
        "hubspot-token",
        "HubSpot private app token",
        &["pat-na", "pat-eu", "pat-ap"],
        r"pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    )
    .floor(2.8),
    Rule::new(
        "intercom-token",
        "Intercom access token",
        &["dG9r"],
        r"dG9rO[A-Za-z0-9+/]{50,90}={0,2}|dG9r[A-Za-z0-9+/]{90,120}={0,2}",
    ),
    Rule::new(
        "asana-token",
        "Asana token",
        &[
            "1/1", "1/2", "1/3", "1/4", "1/5", "1/6", "1/7", "1/8", "1/9", "2/1", "2/2", "2/3", "2/4", "2/5", "2/6",
            "2/7", "2/8", "2/9",
        ],
        r"[12]/[0-9]{13,19}(?:/[0-9]{13,19})?[:/][0-9a-zA-Z]{32}",
    ),
    Rule::new("dropbox-token", "Dropbox token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{100,1500}").long(),
    Rule::new("salesforce-token", "Salesforce session", &["00D"], r"00D[A-Za-z0-9]{12,18}![A-Za-z0-9._]{80,220}"),
    Rule::new("zoho-token", "Zoho token", &["1000."], r"1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    Rule::new("facebook-token", "Facebook access token", &["EAA"], r"EAA[A-Za-z0-9]{40,400}")
        .floor(3.5)
        .check(check::random_after_prefix),
    Rule::new(
        "instagram-token",
        "Instagram or Threads token",
        &["IGQV", "IGAA", "THAA"],
        r"(?:IGQV|IGAA|THAA)[A-Za-z0-9_-]{90,300}",
    )
    .floor(3.8),
    Rule::new(
        "linkedin-secret",
        "LinkedIn client secret",
        &["WPL_AP1."],
        r"WPL_AP1\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/]{6,8}={0,2}",
    ),
    Rule::new("pinterest-token", "Pinterest token", &["pina_"], r"pina_[A-Za-z0-9_-]{60,110}"),
    Rule::new("twitter-bearer-token", "Twitter bearer token", &["AAAAAAAAAAAAAAAAAAAAA"], r"A{21}[A-Za-z0-9%]{60,110}")
        .floor(3.8),
    Rule::new("vk-token", "VK access token", &["vk1.a."], r"vk1\.a\.[A-Za-z0-9_-]{80,250}"),
    Rule::new("typeform-token", "Typeform token", &["tfp_"], r"tfp_[A-Za-z0-9_-]{40,64}"),
    Rule::new("klaviyo-key", "Klaviyo private key", &["pk_"], r"pk_(?:[A-Za-z0-9]{6}_)?[0-9a-f]{34}"),
    Rule::new(
        "stytch-key",
        "Stytch secret",
        &["secret-test-", "secret-live-"],
        r"secret-(?:test|live)-[A-Za-z0-9_-]{35,39}=",
    ),
];
