//! Keys of clouds, hosts and networks.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "aws-access-key",
        "AWS access key id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}",
    )
    .floor(2.3),
    Rule::new("aws-session-token", "AWS session token", &["IQoJb3JpZ2lu"], r"IQoJb3JpZ2lu[A-Za-z0-9+/=%]{100,2000}")
        .long(),
    Rule::new("gcp-oauth-token", "Google OAuth access token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{30,2000}").long(),
    Rule::new("gcp-refresh-token", "Google OAuth refresh token", &["1//0"], r"1//0[A-Za-z0-9_-]{40,110}").floor(3.8),
    Rule::new("gcp-oauth-secret", "Google OAuth client secret", &["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{28}"),
    Rule::new("gcp-hmac-key", "Google Cloud Storage HMAC key", &["GOOG1E"], r"GOOG1E[A-Z0-9]{55}"),
    Rule::new(
        "azure-client-secret",
        "Azure AD client secret",
        &["Q~"],
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
    )
    .inside(4)
    .floor(3.3),
    Rule::new(
        "azure-storage-key",
        "Azure storage or Cosmos account key",
        &["AccountKey="],
        r"AccountKey=([A-Za-z0-9+/]{86}==)",
    )
    .before()
    .floor(3.8),
    Rule::new(
        "azure-shared-access-key",
        "Azure service bus or IoT key",
        &["SharedAccessKey="],
        r"SharedAccessKey=([A-Za-z0-9+/]{40,90}={0,2})",
    )
    .before(),
    Rule::new(
        "azure-sas-signature",
        "signature of an Azure shared access URL",
        &["&sig=", "?sig="],
        r"[&?]sig=([A-Za-z0-9%+/]{30,120}(?:%3D|=){0,2})",
    )
    .before()
    .floor(3.5),
    Rule::new("azure-devops-token", "Azure DevOps token", &["AZDO"], r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}").inside(76),
    Rule::new(
        "azure-marked-key",
        "Azure key with its checksum mark",
        &["AzFu", "AzSe", "ACDb", "AzCa", "+ACR", "AIoT", "+ASt"],
        r"[A-Za-z0-9+/_-]{33,76}(?:AzFu|AzSe|ACDb|AzCa|\+ACR|AIoT|\+ASt)[A-Za-z0-9+/_-]{5,8}={0,2}",
    )
    .inside(80)
    .floor(4.2)
    .check(check::azure_marked),
    Rule::new(
        "digitalocean-token",
        "DigitalOcean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"do[opr]_v1_[0-9a-f]{64}",
    ),
    Rule::new(
        "heroku-key",
        "Heroku API key",
        &["HRKU-"],
        r"HRKU-(?:[A-Za-z0-9_-]{60,64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
    ),
    Rule::new("fly-token", "Fly.io token", &["fm2_", "fm1r_", "fm1a_"], r"fm(?:2|1r|1a)_[A-Za-z0-9+/=_-]{60,4000}")
        .long(),
    Rule::new("fly-oauth-token", "Fly.io OAuth token", &["fo1_"], r"fo1_[A-Za-z0-9_-]{43}"),
    Rule::new("cloudflare-origin-key", "Cloudflare origin CA key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    Rule::new(
        "cloudflare-token",
        "Cloudflare API token with a prefix",
        &["cfut_", "cfat_", "cfk_"],
        r"cf(?:ut|at|k)_[A-Za-z0-9]{40,48}",
    ),
    Rule::new("alibaba-access-key", "Alibaba Cloud access key id", &["LTAI"], r"LTAI[A-Za-z0-9]{17,26}")
        .floor(3.2)
        .check(check::random_after_prefix),
    Rule::new("tencent-secret-id", "Tencent Cloud secret id", &["AKID"], r"AKID[A-Za-z0-9]{32}"),
    Rule::new("scaleway-access-key", "Scaleway access key", &["SCW"], r"SCW[A-Z0-9]{17}").floor(2.5),
    Rule::new("backblaze-key", "Backblaze B2 application key", &["K00"], r"K00[0-9M][A-Za-z0-9+/]{24,27}")
        .floor(3.4)
        .check(check::random_after_prefix),
    Rule::new(
        "vercel-token",
        "Vercel token with a prefix",
        &["vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_"],
        r"(?:vc[piark]_[A-Za-z0-9]{56}|vercel_(?:v2|blob_rw)_[A-Za-z0-9_]{24,80})",
    ),
    Rule::new(
        "netlify-token",
        "Netlify token",
        &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"],
        r"nf[pcoub]_[A-Za-z0-9_]{36}",
    )
    .check(check::random_after_prefix),
    Rule::new("render-key", "Render API key", &["rnd_"], r"rnd_[A-Za-z0-9]{26,34}").check(check::random_after_prefix),
    Rule::new(
        "render-deploy-hook",
        "Render deploy hook",
        &["api.render.com/deploy/"],
        r"api\.render\.com/deploy/srv-[a-z0-9]+\?key=([A-Za-z0-9_-]{8,60})",
    )
    .before()
    .floor(2.5),
    Rule::new(
        "tailscale-key",
        "Tailscale key",
        &["tskey-"],
        r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{20,40}",
    ),
    Rule::new(
        "dynatrace-token",
        "Dynatrace token",
        &["dt0c01.", "dt0s16.", "dt0s01."],
        r"dt0[cs][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    ),
    Rule::new("vault-token", "HashiCorp Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    Rule::new(
        "terraform-token",
        "Terraform Cloud token",
        &[".atlasv1."],
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,90}",
    )
    .inside(14),
    Rule::new("pulumi-token", "Pulumi access token", &["pul-"], r"pul-[0-9a-f]{40}"),
    Rule::new(
        "doppler-token",
        "Doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"dp\.(?:pt|ct|sa|scim|audit|st)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    Rule::new(
        "onepassword-service-token",
        "1Password service account token",
        &["ops_eyJ"],
        r"ops_eyJ[A-Za-z0-9+/=_-]{200,4000}",
    )
    .long(),
    Rule::new(
        "onepassword-secret-key",
        "1Password secret key",
        &["A3-"],
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{10,11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    Rule::new(
        "age-secret-key",
        "age secret key",
        &["AGE-SECRET-KEY-1"],
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    )
    .checksum(check::age),
    Rule::new(
        "infisical-token",
        "Infisical service token",
        &["st."],
        r"st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}|st\.[0-9a-f-]{36}\.[0-9a-f]{32}\.[0-9a-f]{32}",
    ),
    Rule::new(
        "akamai-token",
        "Akamai EdgeGrid token",
        &["akab-"],
        r"akab-[a-z0-9]{16}-[a-z0-9]{16}|akab-[A-Za-z0-9]{30,40}",
    ),
    Rule::new("openshift-token", "OpenShift token", &["sha256~"], r"sha256~[A-Za-z0-9_-]{43}"),
];
