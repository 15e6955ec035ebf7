//! Secrets that their context betrays, and values that only look like them.

use crate::corpus::{Random, encode_plain, make};
use sessile_redact::{Origin, ScanOptions, Scanner, Secret, Tier, Via};

fn scanner() -> Scanner {
    Scanner::new(&ScanOptions::default()).unwrap()
}

#[test]
fn assignments() {
    let scanner = scanner();
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let token = make("<w32>", &mut random);
        let hex = make("<h40>", &mut random);
        let password = format!("{}!{}", make("<l4>", &mut random), make("<d4>", &mut random));
        for (text, secret) in [
            (format!("MY_API_KEY={token}"), &token),
            (format!("export DB_PASSWORD='{password}'"), &password),
            (format!("DB_PASSWORD={password}\n"), &password),
            (format!("{{\"clientSecret\": \"{token}\"}}"), &token),
            (format!("  api_key: {hex}\n"), &hex),
            (format!("password: {password}\n"), &password),
            (format!("api_token = \"{hex}\"\n"), &hex),
            (format!("const API_KEY: &str = \"{token}\";"), &token),
            (format!("const apiKey: string = '{token}';"), &token),
            (format!("os.environ[\"SERVICE_TOKEN\"] = \"{token}\""), &token),
            (format!("  password => '{password}',"), &password),
            (format!("X-Api-Key: {token}"), &token),
            (format!("//registry.test/:_authToken={token}"), &token),
            (format!("https://x.test/?access_token={token}&page=2"), &token),
            (format!("ENV SERVICE_SECRET {token}"), &token),
            (format!("tool --token {token} run"), &token),
            (format!("tool --password={password} run"), &password),
            (format!("machine api.test login me password {password}"), &password),
            (format!("mysql -u root -p{password} db"), &password),
            (format!("curl -u me:{password} https://x.test"), &password),
            (format!("postgres://app:{password}@db.test:5432/app"), &password),
            (format!("Authorization: Bearer {token}"), &token),
            (format!("'Authorization': 'Bearer {hex}'"), &hex),
            (format!("Cookie: theme=dark; sid={token}; lang=en"), &token),
        ] {
            let found = scanner.find(&text, Origin::Ordinary);
            assert_eq!(found.len(), 1, "seed {seed}: {text} {found:?}");
            assert_eq!(found[0].secret.expose(), secret, "{text}");
            assert_eq!(text.get(found[0].range.clone()), Some(secret.as_str()), "{text}");
            assert_eq!(found[0].tier, Tier::Likely, "{text}");
        }
        let basic = encode_plain(format!("me:{password}").as_bytes());
        let text = format!("Authorization: Basic {basic}");
        assert_eq!(text.get(scanner.find(&text, Origin::Ordinary)[0].range.clone()), Some(basic.as_str()));
    }
}

#[test]
fn bodies_of_private_keys() {
    let scanner = scanner();
    let mut random = Random::new(4);
    let rows: Vec<String> = (0..6).map(|_| make("<b64>", &mut random)).collect();
    for label in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        for newline in ["\n", "\r\n", "\\n", "\\\\n", "\n    "] {
            let body = rows.join(newline);
            let text = format!("x\n-----BEGIN {label}-----{newline}{body}{newline}-----END {label}-----\ny");
            let found = scanner.find(&text, Origin::Ordinary);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(text.get(found[0].range.clone()), Some(body.as_str()), "{label} {newline:?}");
            assert_eq!((&*found[0].rule, found[0].tier), ("private-key", Tier::Certain));
        }
    }
    let cut = format!("$ head -4 key\n-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n{}\n$ ls", rows[0], rows[1], rows[2]);
    let found = scanner.find(&cut, Origin::Ordinary);
    assert_eq!(cut.get(found[0].range.clone()), Some(rows[..3].join("\n").as_str()));
    let public = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", rows.join("\n"));
    assert!(scanner.find(&public, Origin::Ordinary).is_empty());
}

#[test]
fn values_of_secret_sources() {
    let scanner = scanner();
    let text = concat!(
        "# settings\nNODE_ENV=production\nPORT=8080\nDATA_DIR=/var/lib/app\nAPP_NAME=\"orange-juice-7\"\n",
        "export LOGIN='correct horse battery'\nHOST: plainword-value\nSHORT=abc\nPATH=/bin:/usr/bin\nHOME=/root\n",
        "TERM=xterm-256color\nURL=https://x.test/a\nNote: this is only a sentence\n",
    );
    let found = |origin| -> Vec<String> {
        scanner.find(text, origin).iter().map(|finding| finding.secret.expose().to_owned()).collect()
    };
    assert_eq!(found(Origin::SecretSource), ["orange-juice-7", "correct horse battery", "plainword-value"]);
    assert!(found(Origin::Ordinary).is_empty());
    let first = &scanner.find(text, Origin::SecretSource)[0];
    assert_eq!((&*first.rule, first.tier), ("env-value", Tier::Likely));
}

#[test]
fn known_values_in_all_forms() {
    let value = "open sesame/\"42\"";
    let options = ScanOptions { known: vec![Secret::new(value), Secret::new("abc")], ..ScanOptions::default() };
    let scanner = Scanner::new(&options).unwrap();
    for (text, via) in [
        (format!("say {value}!"), None),
        (format!("b {} e", encode_plain(value.as_bytes())), Some(Via::Base64)),
        ("q=open%20sesame%2F%2242%22&x".to_owned(), Some(Via::Percent)),
        ("q=open%20sesame%2f%2242%22&x".to_owned(), Some(Via::Percent)),
        ("{\"a\":\"open sesame/\\\"42\\\"\"}".to_owned(), Some(Via::Json)),
        ("{\"a\":\"open sesame\\/\\\"42\\\"\"}".to_owned(), Some(Via::Json)),
    ] {
        let found = scanner.find(&text, Origin::Ordinary);
        assert_eq!(found.len(), 1, "{text} {found:?}");
        assert_eq!((&*found[0].rule, found[0].tier, found[0].via), ("known-value", Tier::Certain, via), "{text}");
        assert_eq!(found[0].secret.expose(), value);
    }
    assert!(scanner.find("abc abcabc", Origin::Ordinary).is_empty(), "too short to be looked for");
    let printed = format!("{scanner:?}");
    assert!(printed.len() < 200 && !printed.contains("sesame"), "{printed}");
}

#[test]
fn many_known_values() {
    let mut random = Random::new(2);
    let values: Vec<String> = (0..10_000).map(|_| make("<w24>", &mut random)).collect();
    let known = values.iter().map(Secret::new).collect();
    let scanner = Scanner::new(&ScanOptions { known, ..ScanOptions::default() }).unwrap();
    let text = values.iter().step_by(100).map(|value| format!("line {value}.\n")).collect::<String>();
    assert_eq!(scanner.find(&text, Origin::Ordinary).iter().filter(|f| &*f.rule == "known-value").count(), 100);
}

#[test]
fn rules_of_the_user() {
    let rules =
        vec![("ticket".to_owned(), r"TICKET-(?<secret>\d{6})".to_owned()), ("badge".to_owned(), r"B\d{4}".to_owned())];
    let scanner = Scanner::new(&ScanOptions { rules, ..ScanOptions::default() }).unwrap();
    let found = scanner.find("TICKET-123456 and B1234", Origin::Ordinary);
    let found: Vec<_> = found.iter().map(|f| (&*f.rule, f.secret.expose())).collect();
    assert_eq!(found, [("ticket", "123456"), ("badge", "B1234")]);
    for bad in ["(", r"\w{1000}{1000}"] {
        let error =
            Scanner::new(&ScanOptions { rules: vec![("mine".to_owned(), bad.to_owned())], ..ScanOptions::default() })
                .unwrap_err();
        assert_eq!(error.rule, "mine");
        assert!(!error.reason.is_empty());
    }
}

#[test]
fn only_certain_findings() {
    let scanner = Scanner::new(&ScanOptions { certain_only: true, ..ScanOptions::default() }).unwrap();
    let mut random = Random::new(1);
    let (token, key) = (make("<w32>", &mut random), make("GITHUB", &mut random));
    let found = scanner.find(&format!("API_KEY={token}\nGH={key}"), Origin::Ordinary);
    assert_eq!(found.iter().map(|f| f.secret.expose()).collect::<Vec<_>>(), [key]);
}
