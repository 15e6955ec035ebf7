//! What holds for every text.

use crate::corpus::{Random, kinds, make};
use proptest::prelude::*;
use sessile_redact::{Finding, Origin, ScanOptions, Scanner, Secret, Tier, is_secret_source};

fn check(findings: &[Finding], text: &str) {
    let mut end = 0;
    for finding in findings {
        assert!(finding.range.start >= end, "sorted and disjoint");
        assert!(!finding.range.is_empty());
        assert!(text.get(finding.range.clone()).is_some(), "at boundaries of characters");
        assert!(finding.via.is_some() || text.get(finding.range.clone()) == Some(finding.secret.expose()));
        end = finding.range.end;
    }
}

fn redact(findings: &[Finding], text: &str) -> String {
    let mut redacted = text.to_owned();
    for finding in findings.iter().rev() {
        redacted.replace_range(finding.range.clone(), &format!("[REDACTED:{}:1f3a9c2e]", finding.rule));
    }
    redacted
}

/// A redacted text has no findings.
fn scan_and_rescan(scanner: &Scanner, text: &str, origin: Origin) {
    let found = scanner.find(text, origin);
    check(&found, text);
    let redacted = redact(&found, text);
    let again = scanner.find(&redacted, origin);
    assert!(again.is_empty(), "{text:?} -> {redacted:?} -> {again:?}");
}

/// Text from pieces that the rules look for.
fn pieces() -> impl Strategy<Value = String> {
    let key =
        (0..kinds().len(), any::<u64>()).prop_map(|(index, seed)| make(&kinds()[index].1, &mut Random::new(seed | 1)));
    let piece = prop_oneof![
        4 => key,
        6 => prop::sample::select(vec![
            "password", "token=", "API_KEY=", "\"secret\": \"", "\"", "'", "\\\"", "\n", "\r\n", " ", ": ", "=", "://", "@", "user:", "/", "Bearer ",
            "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\u{1b}[31m", "\u{1b}]", "%3D", "%", "\\u0067", "\\/", "\\", "+", "| ", "Cookie: a=",
            "ä", "🔑", "[REDACTED:x:", "]", " -p", "mysql", "eyJ", "sk-", "Basic ", ";", "$", "{", "}", "export ", "Private-Lines: 1", "\u{2028}", "\0",
        ]).prop_map(str::to_owned),
        2 => "[a-zA-Z0-9+/=_-]{0,80}",
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    // Failures are not kept in a file: it would hold whole keys.
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "(?s).{0,400}") {
        let scanner = Scanner::new(&ScanOptions::default()).unwrap();
        scan_and_rescan(&scanner, &text, Origin::Ordinary);
        scan_and_rescan(&scanner, &text, Origin::SecretSource);
    }

    #[test]
    fn text_of_pieces(text in pieces(), is_source: bool) {
        let scanner = Scanner::new(&ScanOptions::default()).unwrap();
        scan_and_rescan(&scanner, &text, if is_source { Origin::SecretSource } else { Origin::Ordinary });
    }

    #[test]
    fn known_values_are_gone(before in pieces(), value in "[!-~]{6,40}", after in pieces()) {
        let scanner = Scanner::new(&ScanOptions { known: vec![Secret::new(value.as_str())], ..ScanOptions::default() }).unwrap();
        let text = format!("{before}{value}{after}");
        let found = scanner.find(&text, Origin::Ordinary);
        check(&found, &text);
        let is_inside = text.contains("[REDACTED:") || "[REDACTED:1f3a9c2e]".contains(&value);
        prop_assert!(is_inside || !redact(&found, &text).contains(&value));
    }

    #[test]
    fn plain_findings_are_found_with_decoders_too(text in pieces()) {
        let scanner = Scanner::new(&ScanOptions::default()).unwrap();
        let all = scanner.find(&text, Origin::Ordinary);
        // Words that make a value likely may be part of what a decoder finds. A secret whose format is certain needs none.
        let is_certain = |finding: &Finding| finding.tier == Tier::Certain;
        for plain in scanner.find_plain(&text, Origin::Ordinary).into_iter().filter(is_certain) {
            let covered = all.iter().any(|finding| finding.range.start <= plain.range.start && plain.range.end <= finding.range.end);
            prop_assert!(covered || all.iter().any(|finding| finding.range.start < plain.range.end && plain.range.start < finding.range.end));
        }
    }

    #[test]
    fn any_arguments(name in "\\PC{0,10}", arguments in "(?s).{0,120}") {
        is_secret_source(&name, &arguments);
    }
}
