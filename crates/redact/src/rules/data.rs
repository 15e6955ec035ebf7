//! Keys of databases and data services.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new("supabase-token", "Supabase access token", &["sbp_"], r"sbp_(?:oauth_|v0_)?[0-9a-f]{40}"),
    Rule::new("supabase-secret-key", "Supabase secret key", &["sb_secret_"], r"sb_secret_[A-Za-z0-9_-]{22,44}")
        .floor(0.0),
    Rule::new("databricks-token", "Databricks token", &["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    Rule::new("databricks-oauth-secret", "Databricks OAuth secret", &["dose"], r"dose[0-9a-f]{32}"),
    Rule::new(
        "planetscale-token",
        "PlanetScale token or password",
        &["pscale_"],
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}",
    ),
    Rule::new("neon-key", "Neon API key", &["napi_"], r"napi_[a-z0-9]{64}"),
    Rule::new("airtable-token", "Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Rule::new(
        "notion-token",
        "Notion token",
        &["ntn_", "secret_"],
        r"(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})",
    )
    .check(check::random_after_prefix),
    Rule::new(
        "linear-key",
        "Linear API key",
        &["lin_api_", "lin_oauth_"],
        r"lin_(?:api_[A-Za-z0-9]{40}|oauth_[A-Za-z0-9]{64})",
    ),
    Rule::new(
        "figma-token",
        "Figma token",
        &["figd_", "figo_", "figu_", "figor_"],
        r"fig(?:d|o|u|or)_[A-Za-z0-9_-]{20,80}",
    ),
    Rule::new("fauna-key", "Fauna secret", &["fnAE", "fnAF"], r"fnA[EF][A-Za-z0-9_-]{36,72}"),
    Rule::new("cockroach-key", "CockroachDB key", &["CCDB1_"], r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    Rule::new("qstash-key", "QStash signing key", &["sig_"], r"sig_[A-Za-z0-9]{28}")
        .likely()
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("contentful-token", "Contentful management token", &["CFPAT-"], r"CFPAT-[A-Za-z0-9_-]{43}"),
    Rule::new("dbt-token", "dbt Cloud token", &["dbtu_", "dbtc_"], r"dbt[uc]_[A-Za-z0-9_=-]{36,60}"),
    Rule::new("elastic-key", "Elastic Cloud key", &["essu_"], r"essu_[A-Za-z0-9+/=_-]{60,100}"),
    Rule::new(
        "mongodb-service-secret",
        "MongoDB Atlas service account secret",
        &["mdb_sa_sk_"],
        r"mdb_sa_sk_[A-Za-z0-9_-]{40}",
    ),
    Rule::new("xata-key", "Xata API key", &["xau_"], r"xau_[A-Za-z0-9]{34,44}"),
    Rule::new("tinybird-token", "Tinybird token", &["p.eyJ"], r"p\.eyJ[A-Za-z0-9_-]{20,300}\.[A-Za-z0-9_-]{20,60}"),
    Rule::new("confluent-secret", "Confluent Cloud secret", &["cflt"], r"cflt[A-Za-z0-9+/]{60}"),
    Rule::new("deepnote-key", "Deepnote key", &["dn_"], r"dn_[0-9A-Za-z]{32,44}")
        .likely()
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("covalent-key", "Covalent API key", &["cqt_"], r"cqt_[A-Za-z0-9]{26,34}")
        .check(check::random_after_prefix),
    Rule::new(
        "alchemy-key",
        "Alchemy key in a URL",
        &[".alchemy.com/v2/"],
        r"\.alchemy\.com/v2/([A-Za-z0-9_-]{20,40})",
    )
    .before()
    .floor(3.2),
    Rule::new("infura-key", "Infura key in a URL", &[".infura.io/v3/"], r"\.infura\.io/(?:ws/)?v3/([0-9a-f]{32})")
        .before(),
];
