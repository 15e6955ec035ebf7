//! Encoded and wrapped keys are found, and the range covers all that holds them.

use crate::corpus::{Random, encode, encode_plain, kinds, make};
use sessile_redact::{Origin, ScanOptions, Scanner, Via};

/// A text with an encoded key: the text, the part that must go, and the encoding.
struct Case {
    name: &'static str,
    text: String,
    /// What must not be in the text after the ranges are cut out.
    hidden: Vec<String>,
    via: Via,
}

fn padded(text: &str) -> String {
    let digits = encode_plain(text.as_bytes());
    let padding = "=".repeat((4 - digits.len() % 4) % 4);
    digits + &padding
}

fn percent(text: &str, is_all: bool) -> String {
    let escape =
        |c: char| if is_all || !c.is_ascii_alphanumeric() { format!("%{:02X}", c as u32) } else { c.to_string() };
    text.chars().map(escape).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02x}")).collect()
}

fn lines(text: &str, width: usize, gutter: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let lines: Vec<String> = letters.chunks(width).map(|line| line.iter().collect()).collect();
    lines.join(&format!("\n{gutter}"))
}

fn unicode(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect()
}

fn cases(key: &str) -> Vec<Case> {
    let context = format!("user=alice\ntoken={key}\nregion=here\n");
    let json = format!("{{\"user\":\"alice\",\"token\":\"{key}\"}}");
    let (first, second) = key.split_at(key.len() / 2);
    let (half, rest) = (first.to_owned(), second.to_owned());
    let case = |name, text: String, hidden: Vec<String>, via| Case { name, text, hidden, via };
    let both = || vec![half.clone(), rest.clone()];
    let run = |encoded: String| vec![encoded];
    vec![
        case("base64", format!("data: {} end", padded(key)), run(padded(key)), Via::Base64),
        case("base64url", format!("\"{}\"", encode(key.as_bytes())), run(encode(key.as_bytes())), Via::Base64),
        case("base64 of a file", format!("content: {}\n", padded(&context)), run(padded(&context)), Via::Base64),
        case("base64 after a path", format!("/files/{}", padded(&context)), run(padded(&context)), Via::Base64),
        case(
            "base64, wrapped at 64",
            format!("begin\n{}\nend.\n", lines(&padded(&context), 64, "")),
            vec![padded(&context)[..40].to_owned()],
            Via::Base64,
        ),
        case(
            "base64, wrapped with a gutter",
            format!("  {}\n", lines(&padded(&context), 30, "  ")),
            vec![padded(&context)[..30].to_owned()],
            Via::Base64,
        ),
        case(
            "percent, all",
            format!("https://x.test/?q={}&p=1", percent(key, true)),
            run(percent(key, true)),
            Via::Percent,
        ),
        case(
            "percent, around",
            format!("https://x.test/?next=%2Fa%3Fx%3D{}%26y%3D2", percent(key, false)),
            run(percent(key, false)),
            Via::Percent,
        ),
        case("hex", format!("0x{}", hex(&context)), run(hex(&context)), Via::Hex),
        case(
            "base64 after an escape",
            format!(r"line\n{}\nline", encode(key.as_bytes())),
            run(encode(key.as_bytes())),
            Via::Base64,
        ),
        case("hex after an escape", format!(r"line\n{}\nline", hex(key)), run(hex(key)), Via::Hex),
        case("hex of the key", format!("dump {}", hex(key)), run(hex(key)), Via::Hex),
        case("unicode escapes", format!("{{\"a\":\"{}\"}}", unicode(key)), run(unicode(key)), Via::Json),
        case(
            "an escaped letter",
            format!("\"\\u{:04x}{}\"", key.as_bytes()[0], &key[1..]),
            vec![key[1..].to_owned()],
            Via::Json,
        ),
        case("colours inside", format!("key \u{1b}[1m{half}\u{1b}[0m{rest} ok"), both(), Via::Ansi),
        case("colours before", format!("\u{1b}[32m{key}\u{1b}[0m"), vec![key.to_owned()], Via::Ansi),
        case("a line break", format!("the key: {half}\n{rest}\nis long"), both(), Via::Wrapped),
        case("spaces", format!("    key {half}\n        {rest}\n"), both(), Via::Wrapped),
        case("bars", format!("| {half} |\n| {rest} |\n"), both(), Via::Wrapped),
        case("box", format!("│ {half} │\n│ {rest} │\n"), both(), Via::Wrapped),
        case("diff", format!("+KEY = {half}\n+{rest}\n"), both(), Via::Wrapped),
        case("line numbers", format!("  9\t{half}\n 10\t{rest}\n"), both(), Via::Wrapped),
        case("line numbers and bars", format!(" 9 | x = {half}\n10 | {rest}\n"), both(), Via::Wrapped),
        case(
            "three lines",
            lines(key, key.len().div_ceil(3), "  "),
            vec![key[..key.len() / 3].to_owned()],
            Via::Wrapped,
        ),
        case(
            "base64 of base64",
            padded(&format!("secret: {}", padded(&context))),
            run(padded(&format!("secret: {}", padded(&context)))),
            Via::Base64,
        ),
        case("percent of JSON", percent(&json, false), vec![percent(key, false)], Via::Percent),
        case("hex of base64", hex(&padded(&context)), run(hex(&padded(&context))), Via::Hex),
        case(
            "base64 of escapes",
            padded(&format!("{{\"k\":\"{}\"}}", unicode(key))),
            run(padded(&format!("{{\"k\":\"{}\"}}", unicode(key)))),
            Via::Base64,
        ),
    ]
}

/// Kinds with different anchors, lengths and alphabets.
const KINDS: [&str; 24] = [
    "github-token",
    "anthropic-key",
    "openai-key",
    "google-api-key",
    "aws-access-key",
    "gitlab-token",
    "npm-token",
    "slack-token",
    "stripe-key",
    "jwt",
    "sendgrid-key",
    "huggingface-token",
    "digitalocean-token",
    "github-fine-grained-token",
    "groq-key",
    "openrouter-key",
    "pypi-token",
    "vault-token",
    "age-secret-key",
    "shopify-token",
    "docker-token",
    "linear-key",
    "terraform-token",
    "telegram-bot-token",
];

#[test]
fn every_encoding_of_every_kind() {
    let scanner = Scanner::new(&ScanOptions::default()).unwrap();
    let kinds = kinds();
    let mut missed = Vec::new();
    let mut n_tried = 0;
    for seed in 1..=4 {
        let mut random = Random::new(seed * 31);
        for kind in KINDS {
            let template = &kinds.iter().find(|(rule, _)| *rule == kind).unwrap().1;
            let key = make(template, &mut random);
            for case in cases(&key) {
                n_tried += 1;
                let found = scanner.find(&case.text, Origin::Ordinary);
                let mut rest = case.text.clone();
                found.iter().rev().for_each(|finding| rest.replace_range(finding.range.clone(), "#"));
                let finding = found.iter().find(|finding| finding.secret.expose() == key);
                // Some cases show the key plainly as well; then it need not be decoded.
                let is_plain = case.text.contains(&key);
                let is_right =
                    finding.is_some_and(|finding| finding.via == Some(case.via) || (is_plain && finding.via.is_none()));
                if !is_right || case.hidden.iter().any(|part| rest.contains(part)) {
                    let got: Vec<_> = found.iter().map(|f| (&f.rule, f.tier, f.via, f.masked())).collect();
                    missed.push(format!("seed {seed} {kind}, {}: {} -> {rest} {got:?}", case.name, case.text));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} of {n_tried} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn escaped_json_in_a_string() {
    let scanner = Scanner::new(&ScanOptions::default()).unwrap();
    let key = make("<w16>/<w16>", &mut Random::new(3));
    for text in [
        format!("{{\\\"api_key\\\":\\\"{key}\\\",\\\"n\\\":1}}"),
        format!("{{\\\\\\\"api_key\\\\\\\":\\\\\\\"{key}\\\\\\\"}}"),
        format!("{{\"api_key\":\"{}\"}}", key.replace('/', "\\/")),
    ] {
        let found = scanner.find(&text, Origin::Ordinary);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].secret.expose(), key, "{text}");
    }
}

#[test]
fn the_next_line_is_not_part_of_a_whole_key() {
    let scanner = Scanner::new(&ScanOptions::default()).unwrap();
    let mut random = Random::new(8);
    for (rule, template) in kinds() {
        let key = make(&template, &mut random);
        let text = format!("A={key}\nNEXT_NAME=1\nvalue of B: {key}\nthen more text follows here\n{key}\nfinished\n");
        let found = scanner.find(&text, Origin::Ordinary);
        assert_eq!(found.len(), 3, "{rule}: {text} {found:?}");
        assert!(found.iter().all(|finding| text.get(finding.range.clone()) == Some(key.as_str())), "{rule}: {text}");
    }
}
