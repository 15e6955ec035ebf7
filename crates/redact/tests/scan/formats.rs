//! Every kind of key is found whole in every plain carrier.

use crate::corpus::{Random, kinds, make};
use sessile_redact::{Finding, Origin, ScanOptions, Scanner, Tier, rules};

const CARRIERS: [(&str, &str); 8] = [
    ("prose", "We talked about it: the thing is @ and it works since Monday."),
    ("environment", "DEBUG=1\nSERVICE_VALUE=@\nPORT=8080\n"),
    ("json", "{\"name\":\"x\",\"value\":\"@\",\"n\":12}"),
    ("yaml", "service:\n  value: @\n  port: 80\n"),
    ("shell", "export SERVICE_VALUE=@ && ./run --fast"),
    ("url", "GET https://api.service.test/v1/items?value=@&page=2 200"),
    ("header", "curl -s -H 'X-Service-Value: @' https://api.service.test/v1"),
    ("code", "    let client = Client::connect(\"@\", 30).await?;"),
];

fn scanner() -> Scanner {
    Scanner::new(&ScanOptions::default()).unwrap()
}

/// Returns the finding that is exactly a part of a text.
fn exact<'a>(findings: &'a [Finding], key: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.secret.expose() == key)
}

#[test]
fn every_kind_in_every_carrier() {
    let scanner = scanner();
    let kinds = kinds();
    let mut distinct: Vec<&str> = kinds.iter().map(|(rule, _)| *rule).collect();
    distinct.dedup();
    assert!(distinct.len() >= 120, "{}", distinct.len());
    let mut missed = Vec::new();
    let mut n_tried = 0;
    for seed in 1..=8 {
        let mut random = Random::new(seed);
        for (rule, template) in &kinds {
            let key = make(template, &mut random);
            for (carrier, text) in CARRIERS {
                n_tried += 1;
                let text = text.replace('@', &key);
                let found = scanner.find(&text, Origin::Ordinary);
                let is_right = exact(&found, &key).is_some_and(|finding| {
                    text.get(finding.range.clone()) == Some(key.as_str())
                        && finding.tier == Tier::Certain
                        && finding.via.is_none()
                });
                if !is_right {
                    let got: Vec<_> = found.iter().map(|f| (&f.rule, f.tier, f.via, f.masked())).collect();
                    missed.push(format!("seed {seed} {rule} in {carrier}: {key}: {got:?}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} of {n_tried} missed:\n{}", missed.len(), missed.join("\n"));
}

/// Random keys that look less random than most: few digits, long runs of letters of a kind, repeated letters.
#[test]
fn keys_with_few_digits_are_keys() {
    let scanner = scanner();
    for (prefix, rest) in [
        ("SC|W", "JCTGVJPNCYH9QYJTD"),
        ("SC|W", "KZZODWPRGZVYOECFE"),
        ("AKI|A", "WW3DIW3GW3EHDI3H"),
        ("LTA|I", "IAcgjdFdbirTCXHtBkWx"),
        ("f|w_", "fBtBlEYRRgpfvaoZUbgHXBkg"),
        ("rn|d_", "VTWaPyJBZZUFjOZvvTPVCgYCMNBz"),
        ("sk|-", "b4041bdfe8087450234755871c512750"),
        ("sand|box_", "ekftkf6f_kdwellzhwrsoobxu"),
    ] {
        let key = format!("{}{rest}", prefix.replace('|', ""));
        assert!(exact(&scanner.find(&format!("see {key} there"), Origin::Ordinary), &key).is_some(), "{key}");
    }
}

#[test]
fn the_rule_is_the_right_one() {
    let scanner = scanner();
    let mut random = Random::new(77);
    for (rule, template) in kinds() {
        let key = make(&template, &mut random);
        let found = scanner.find(&key, Origin::Ordinary);
        assert_eq!(found.first().map(|finding| &*finding.rule), Some(rule), "{key}");
    }
}

#[test]
fn a_wrong_checksum_is_only_likely() {
    let scanner = scanner();
    let mut random = Random::new(5);
    for template in ["GITHUB", "NPM", "AGE", "GLSA"] {
        let key = make(template, &mut random);
        let (body, last) = key.split_at(key.len() - 1);
        let wrong = format!(
            "{body}{}",
            if matches!(last, "0" | "Q") {
                "8"
            } else if template == "AGE" {
                "Q"
            } else {
                "0"
            }
        );
        let tier = |key: &str| scanner.find(key, Origin::Ordinary).first().map(|finding| finding.tier);
        assert_eq!(tier(&key), Some(Tier::Certain), "{key}");
        assert_eq!(tier(&wrong), Some(Tier::Likely), "{wrong}");
    }
}

#[test]
fn keys_of_another_length_or_alphabet_are_not_keys() {
    let scanner = scanner();
    let mut random = Random::new(6);
    for template in
        ["gh~p_<w35>", "gh~p_<w37>", "AK~IA<216>A", "ak~ia<216>", "AI~za<w34>", "x<w1>gh~p_<w36>", "dop~_v1_<h63>"]
    {
        let key = make(&template.replace('~', ""), &mut random);
        let found = scanner.find(&format!("see {key} there"), Origin::Ordinary);
        assert!(found.iter().all(|finding| finding.tier == Tier::Likely), "{key}: {found:?}");
    }
}

#[test]
fn masks_show_the_prefix_only() {
    let scanner = scanner();
    let mut random = Random::new(9);
    let key = make("GITHUB", &mut random);
    assert_eq!(scanner.find(&key, Origin::Ordinary)[0].masked(), "ghp_…(36)");
    for (_, template) in kinds() {
        let key = make(&template, &mut random);
        let finding = &scanner.find(&key, Origin::Ordinary)[0];
        let masked = finding.masked();
        let prefix = masked.split('…').next().unwrap();
        // Another key of the kind has the same prefix: it is not part of the random characters.
        let others = (0..4).map(|_| make(&template, &mut random)).filter(|other| other.starts_with(prefix)).count();
        let of_many = rules().any(|rule| rule.name == &*finding.rule && rule.anchors.len() > 3);
        assert!(others == 4 || of_many, "{masked} {key}");
    }
}

#[test]
fn the_table_is_listed() {
    let all: Vec<_> = rules().collect();
    assert!(all.len() >= 129, "{}", all.len());
    assert!(all.iter().any(|rule| rule.name == "github-token" && rule.has_checksum && rule.tier == Tier::Certain));
    assert!(all.iter().all(|rule| !rule.description.is_empty()));
}
