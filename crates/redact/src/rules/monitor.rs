//! Keys of monitoring, analytics and security services.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "newrelic-key",
        "New Relic key",
        &["NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRJS-"],
        r"NR(?:AK-[A-Z0-9]{27}|I[IQ]-[A-Za-z0-9_-]{32}|RA-[0-9a-f]{42}|JS-[0-9a-f]{19})",
    ),
    Rule::new("newrelic-license", "New Relic license key", &["NRAL"], r"[0-9a-fA-F]{36}NRAL").inside(36),
    Rule::new("grafana-token", "Grafana service account token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}")
        .checksum(check::grafana),
    Rule::new("grafana-cloud-token", "Grafana Cloud token", &["glc_eyJ"], r"glc_eyJ[A-Za-z0-9+/=]{40,400}"),
    Rule::new("grafana-legacy-key", "Grafana API key", &["eyJrIjoi"], r"eyJrIjoi[A-Za-z0-9+/]{60,400}={0,2}"),
    Rule::new(
        "sentry-token",
        "Sentry token",
        &["sntrys_", "sntryu_", "sntrya_"],
        r"sntry(?:s_[A-Za-z0-9+/=_-]{60,400}|[ua]_[0-9a-f]{64})",
    ),
    Rule::new(
        "honeycomb-key",
        "Honeycomb key",
        &["hcaik_", "hcxik_", "hcxmk_", "hcamk_", "hcai_", "hcalk_"],
        r"hc(?:[ax][im]k|xlk|alk|ai)_[A-Za-z0-9]{22,60}",
    )
    .check(check::random_after_prefix),
    Rule::new("posthog-key", "PostHog key", &["phc_", "phx_", "phs_", "phr_"], r"ph[cxsr]_[A-Za-z0-9]{32,48}"),
    Rule::new(
        "launchdarkly-key",
        "LaunchDarkly key",
        &["api-", "sdk-", "mob-"],
        r"(?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    )
    .floor(2.8),
    Rule::new(
        "axiom-token",
        "Axiom token",
        &["xaat-", "xapt-"],
        r"xa(?:at|pt)-(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Za-z0-9]{20,40})",
    )
    .floor(2.8),
    Rule::new("logfire-token", "Pydantic Logfire token", &["pylf_"], r"pylf_v[0-9]_(?:us|eu)_[A-Za-z0-9]{40,64}"),
    Rule::new("rollbar-key", "Rollbar key", &["post_server_item_"], r"post_server_item_[0-9a-f]{32}"),
    Rule::new("pagerduty-token", "PagerDuty token", &["pdus+", "pdeu+"], r"pd(?:us|eu)\+[A-Za-z0-9_+-]{20,40}"),
    Rule::new(
        "wakatime-key",
        "WakaTime key",
        &["waka_"],
        r"waka_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    )
    .floor(2.8),
    Rule::new("censys-token", "Censys token", &["censys_"], r"censys_[A-Za-z0-9]{8,12}_[A-Za-z0-9]{20,40}"),
    Rule::new(
        "riot-key",
        "Riot Games key",
        &["RGAPI-"],
        r"RGAPI-(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Za-z0-9_-]{36,80})",
    )
    .floor(2.8),
    Rule::new("unity-key", "Unity key", &["UCA-"], r"UCA-[A-Za-z0-9_-]{60,120}"),
    Rule::new("xmatters-key", "xMatters key", &["xm-api-key-"], r"xm-api-key-[A-Za-z0-9]{40,90}"),
    Rule::new(
        "mapbox-token",
        "Mapbox secret token",
        &["sk.eyJ", "tk.eyJ"],
        r"[st]k\.eyJ[A-Za-z0-9_-]{16,300}\.[A-Za-z0-9_-]{16,64}",
    ),
    Rule::new(
        "mapbox-public-token",
        "Mapbox public token",
        &["pk.eyJ"],
        r"pk\.eyJ[A-Za-z0-9_-]{16,300}\.[A-Za-z0-9_-]{16,64}",
    )
    .likely(),
    Rule::new("okta-token", "Okta API token", &["SSWS "], r"SSWS (00[A-Za-z0-9_-]{40})").before(),
    Rule::new("workos-key", "WorkOS key", &["sk_"], r"sk_(?:test_|live_)?a2V5X[A-Za-z0-9]{40,120}"),
    Rule::new("boundary-token", "Boundary token", &["at_"], r"at_[A-Za-z0-9]{10}_s1[A-Za-z0-9]{60,200}"),
];
