//! Keys of payment and shop services.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "stripe-key",
        "Stripe secret or restricted key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"],
        r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{24,250}",
    ),
    Rule::new(
        "stripe-webhook-secret",
        "Stripe or Svix webhook secret",
        &["whsec_"],
        r"whsec_[A-Za-z0-9+/]{24,80}={0,2}",
    ),
    Rule::new(
        "shopify-token",
        "Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"],
        r"shp(?:at|ca|pa|ss|tka|ua)_[0-9a-fA-F]{32}",
    ),
    Rule::new(
        "square-token",
        "Square access token",
        &["EAAA", "sq0atp-", "sq0csp-", "sq0idp-"],
        r"(?:EAAA[A-Za-z0-9_-]{60}|sq0atp-[A-Za-z0-9_-]{22}|sq0csp-[A-Za-z0-9_-]{43})",
    )
    .check(check::random_after_prefix),
    Rule::new(
        "braintree-token",
        "Braintree access token",
        &["access_token$"],
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    Rule::new(
        "braintree-tokenization-key",
        "Braintree tokenization key",
        &["sandbox_", "production_"],
        r"(?:sandbox|production)_[0-9A-Za-z]{8}_[0-9A-Za-z]{16}",
    )
    .check(check::has_a_digit),
    Rule::new("flutterwave-key", "Flutterwave secret key", &["FLWSECK"], r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{32}-X"),
    Rule::new("paddle-key", "Paddle API key", &["pdl_"], r"pdl_(?:live|sdbx)_(?:apikey_)?[A-Za-z0-9_]{32,80}"),
    Rule::new("adyen-key", "Adyen API key", &["AQE"], r"AQE[a-z][a-z][A-Za-z0-9+/=-]{80,300}")
        .floor(4.2)
        .check(check::random_after_prefix),
    Rule::new("easypost-key", "EasyPost key", &["EZAK", "EZTK"], r"EZ[AT]K[A-Za-z0-9]{54,60}"),
    Rule::new("shippo-key", "Shippo token", &["shippo_"], r"shippo_(?:live|test)_[0-9a-f]{40}"),
    Rule::new("lob-key", "Lob API key", &["live_", "test_"], r"(?:live|test)_(?:pub_)?[0-9a-f]{35}"),
    Rule::new("mollie-key", "Mollie API key", &["live_", "test_"], r"(?:live|test)_[A-Za-z0-9]{30}")
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("gocardless-token", "GoCardless token", &["live_", "sandbox_"], r"(?:live|sandbox)_[A-Za-z0-9_-]{40}")
        .floor(3.8)
        .check(check::random_after_prefix),
    Rule::new(
        "plaid-token",
        "Plaid token",
        &[
            "access-sandbox-",
            "access-production-",
            "access-development-",
            "link-production-",
            "link-sandbox-",
            "public-production-",
        ],
        concat!(
            r"(?:access|link|public)-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4",
            r"}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        ),
    )
    .floor(2.8),
    Rule::new("polar-token", "Polar token", &["polar_"], r"polar_(?:oat|pat|cs|rst|at_u|at_o)_[A-Za-z0-9]{32,60}"),
    Rule::new("bigcommerce-token", "BigCommerce token", &["bbc_"], r"bbc_[A-Za-z0-9]{48,64}"),
    Rule::new("clickup-token", "ClickUp token", &["pk_"], r"pk_(?:[0-9]{6,10}_[A-Z0-9]{32}|[A-Za-z0-9]{32})")
        .floor(3.4)
        .likely()
        .check(check::random_after_prefix),
    Rule::new(
        "courier-key",
        "Courier key",
        &["pk_prod_", "pk_test_", "dk_prod_"],
        r"[pd]k_(?:prod|test)_[A-Z0-9a-z]{20,40}",
    )
    .likely()
    .floor(3.4)
    .check(check::random_after_prefix),
    Rule::new("duffel-key", "Duffel token", &["duffel_"], r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
    Rule::new("woocommerce-key", "WooCommerce consumer secret", &["cs_", "ck_"], r"c[sk]_[0-9a-f]{40}"),
    Rule::new("frameio-token", "Frame.io token", &["fio-u-"], r"fio-u-[A-Za-z0-9_=-]{64}"),
];
