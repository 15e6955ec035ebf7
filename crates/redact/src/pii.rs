//! Addresses and numbers of people.

use std::ops::Range;
use std::sync::LazyLock;

use core::net::{Ipv4Addr, Ipv6Addr};
use regex::{Match, Regex};

use crate::homes::Change;
use crate::names::{NameKind, Names, is_pseudonym, stands_alone};
use crate::spans::add_free;

/// One kind of data about people.
struct Rule {
    kind: NameKind,
    pattern: LazyLock<Regex>,
    /// Bytes without which the rule finds nothing.
    needs: &'static [u8],
    /// The group that goes; 0 is the whole match.
    group: usize,
    counts: fn(&str, &Match<'_>) -> bool,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| unreachable!("{error}"))
}

/// In order of precedence.
static RULES: [Rule; 9] = [
    Rule {
        kind: NameKind::Person,
        pattern: LazyLock::new(|| {
            pattern(concat!(
                r"(?im)^[\s|*+>-]*(?:author|commit(?:ter)?|tagger|from|to|cc|[a-z]+(?:-[a-z]+)*-by)\s*[:\s]\s*",
                r"([^<>\n:@]{1,80}?)\s*<[^<>\s@]+@[^<>\s]+>"
            ))
        }),
        needs: b"@",
        group: 1,
        counts: |_, name| !is_pseudonym(name.as_str()),
    },
    Rule {
        kind: NameKind::Mail,
        pattern: LazyLock::new(|| {
            pattern(r"[\p{L}0-9_][\p{L}0-9._%+-]*@(?:[\p{L}0-9](?:[\p{L}0-9-]*[\p{L}0-9])?\.)+\p{L}{2,}")
        }),
        needs: b"@",
        group: 0,
        counts: |_, found| is_mail(found.as_str()),
    },
    Rule {
        kind: NameKind::Mac,
        pattern: LazyLock::new(|| pattern(r"(?:[0-9A-Fa-f]{2}[:-]){5,}[0-9A-Fa-f]{2}")),
        needs: b":-",
        group: 0,
        counts: |text, found| found.len() == 17 && is_apart(text, &found.range(), ":-_") && is_mac(found.as_str()),
    },
    Rule {
        kind: NameKind::Ip,
        pattern: LazyLock::new(|| {
            pattern(r"[0-9A-Fa-f]{0,4}:(?:[0-9A-Fa-f]{0,4}:)+(?:[0-9]+(?:\.[0-9]+){3}|[0-9A-Fa-f]{0,4})")
        }),
        needs: b":",
        group: 0,
        counts: |text, found| is_apart(text, &found.range(), ":_") && is_ipv6(found.as_str()),
    },
    Rule {
        kind: NameKind::Ip,
        pattern: LazyLock::new(|| pattern(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3,}")),
        needs: b".",
        group: 0,
        counts: |text, found| is_apart(text, &found.range(), "_-.") && is_ipv4(found.as_str()),
    },
    Rule {
        kind: NameKind::Iban,
        pattern: LazyLock::new(|| pattern(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?")),
        needs: b"0123456789",
        group: 0,
        counts: |text, found| is_apart(text, &found.range(), "_-/+=") && is_iban(found.as_str()),
    },
    Rule {
        kind: NameKind::Card,
        pattern: LazyLock::new(|| pattern(r"[2-6][0-9]{3}(?:[ -]?[0-9]){9,15}")),
        needs: b"23456",
        group: 0,
        counts: |text, found| is_apart(text, &found.range(), "_-.") && is_card(found.as_str()),
    },
    Rule {
        kind: NameKind::Phone,
        pattern: LazyLock::new(|| pattern(r"\+[0-9]{1,3}(?:[ ./-]?\(?[0-9]{1,5}\)?){2,6}")),
        needs: b"+",
        group: 0,
        counts: |text, found| is_apart(text, &found.range(), "_+=/") && is_international(text, found),
    },
    Rule {
        kind: NameKind::Phone,
        pattern: LazyLock::new(|| pattern(r"\([0-9]{3}\) ?[0-9]{3}[ -][0-9]{4}|[0-9]{3}[-.][0-9]{3}[-.][0-9]{4}")),
        needs: b"-.",
        group: 0,
        counts: |text, found| is_apart(text, &found.range(), "_-.+/:"),
    },
];

/// The data about people in a text, with what stands for them.
pub(crate) fn pii_in(text: &str, names: &mut Names) -> Vec<Change> {
    let mut found: Vec<(Range<usize>, NameKind)> = Vec::new();
    for rule in &RULES {
        if !text.bytes().any(|byte| rule.needs.contains(&byte)) {
            continue;
        }
        let parts: Vec<Match<'_>> = match rule.group {
            0 => rule.pattern.find_iter(text).collect(),
            group => rule.pattern.captures_iter(text).filter_map(|captures| captures.get(group)).collect(),
        };
        let counting = parts.into_iter().filter(|part| (rule.counts)(text, part));
        add_free(&mut found, counting.map(|part| (part.range(), rule.kind)).collect());
    }
    found.into_iter().map(|(range, kind)| (range.clone(), name(text, range, kind, names))).collect()
}

fn name(text: &str, range: Range<usize>, kind: NameKind, names: &mut Names) -> String {
    let value = text.get(range).unwrap_or_default();
    match kind {
        NameKind::Phone | NameKind::Card | NameKind::Iban | NameKind::Mac => {
            let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
            names.of(kind, &plain)
        }
        _ => names.of(kind, value),
    }
}

/// Whether neither letters, digits nor any of `others` touch a range. A dot or hyphen that ends a sentence or begins a
/// list may.
fn is_apart(text: &str, range: &Range<usize>, others: &str) -> bool {
    let mut before = text.get(..range.start).unwrap_or_default().chars().rev();
    let mut after = text.get(range.end..).unwrap_or_default().chars();
    let joins = |mut next: [Option<char>; 2]| match next.each_mut() {
        [None, _] => false,
        [Some(c), beyond] if others.contains(*c) => beyond.is_some_and(char::is_alphanumeric),
        [Some(c), _] => c.is_alphanumeric(),
    };
    stands_alone(text, range) && !joins([before.next(), before.next()]) && !joins([after.next(), after.next()])
}

fn is_mail(mail: &str) -> bool {
    const FILES: [&str; 12] =
        ["png", "jpg", "jpeg", "gif", "webp", "svg", "css", "js", "ts", "json", "html", "service"];
    let extension = mail.rsplit('.').next().unwrap_or_default();
    let first_label = mail.rsplit('@').next().and_then(|domain| domain.split('.').next()).unwrap_or_default();
    // A version of a package.
    if first_label.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    // The user of every repository on a host, not a person.
    !mail.starts_with("git@") && !mail.ends_with("@example.invalid") && !FILES.contains(&extension)
}

fn is_mac(mac: &str) -> bool {
    let digits: Vec<u8> = mac.bytes().filter(u8::is_ascii_hexdigit).collect();
    let is_one_separator = mac.contains(':') != mac.contains('-');
    is_one_separator
        && !digits.iter().all(|digit| *digit == b'0')
        && !digits.iter().all(|digit| matches!(digit, b'f' | b'F'))
}

fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok_and(|ip| ip != Ipv4Addr::LOCALHOST && ip != Ipv4Addr::UNSPECIFIED)
}

fn is_ipv6(text: &str) -> bool {
    let Ok(ip) = text.parse::<Ipv6Addr>() else { return false };
    let groups: Vec<&str> = text.split(':').filter(|group| !group.is_empty()).collect();
    // Paths of programming languages look like short addresses: `::dead`, `a::b`.
    let is_long = groups.len() >= 3 || groups.first().is_some_and(|first| first.len() == 4 && groups.len() == 2);
    is_long && ip != Ipv6Addr::LOCALHOST && ip != Ipv6Addr::UNSPECIFIED
}

fn is_iban(text: &str) -> bool {
    let plain: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let (head, rest) = plain.split_at(4);
    let digits = rest.iter().chain(head).map(|byte| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => u32::from(byte - b'A') + 10,
    });
    digits.fold(0, |rest, value| (rest * if value > 9 { 100 } else { 10 } + value) % 97) == 1
}

fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let start = |n: usize| digits.iter().take(n).fold(0, |number, digit| number * 10 + digit);
    let is_issued = match digits.len() {
        13 | 19 => start(1) == 4,
        14 => matches!(start(2), 30 | 36 | 38),
        15 => matches!(start(2), 34 | 37),
        16 => start(1) == 4 || matches!(start(2), 35 | 51..=55 | 64 | 65) || matches!(start(4), 2221..=2720 | 6011),
        _ => false,
    };
    let weighed = digits.iter().rev().enumerate().map(|(n, digit)| match digit * if n % 2 == 1 { 2 } else { 1 } {
        double @ 10.. => double - 9,
        single => single,
    });
    is_issued && weighed.sum::<u32>().is_multiple_of(10)
}

/// Whether a number with `+` is a phone number. A line of a difference begins with `+` too.
fn is_international(text: &str, found: &Match<'_>) -> bool {
    let n_digits = found.as_str().bytes().filter(u8::is_ascii_digit).count();
    let begins_line = text.get(..found.start()).is_some_and(|before| before.is_empty() || before.ends_with('\n'));
    let code = found.as_str().bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let is_split = code <= 3 && found.as_str().contains([' ', '(', '-', '/']);
    (8..=15).contains(&n_digits) && (is_split || !begins_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> String {
        let mut out = text.to_owned();
        for (range, name) in pii_in(text, &mut Names::new()).into_iter().rev() {
            out.replace_range(range, &name);
        }
        out
    }

    #[test]
    fn people_are_replaced() {
        for (text, expected) in [
            ("mail a.b+c@corp.co.uk, thanks", "mail mail1@example.invalid, thanks"),
            ("<jörg@bücher.example>", "<mail1@example.invalid>"),
            ("Author: Al Smith <al@x.org>\nDate: 1", "Author: person1 <mail1@example.invalid>\nDate: 1"),
            ("author Al Smith <al@x.org> 1735689600 +0000", "author person1 <mail1@example.invalid> 1735689600 +0000"),
            ("Co-authored-by: Bo <bo@x.org>", "Co-authored-by: person1 <mail1@example.invalid>"),
            ("Signed-off-by: Bo <bo@x.org>", "Signed-off-by: person1 <mail1@example.invalid>"),
            ("at 10.1.2.3:80 and 10.1.2.3.", "at ip1:80 and ip1."),
            ("2001:db8::7 fe80::1%eth0 ::ffff:10.0.0.1", "ip1 ip2%eth0 ip3"),
            ("[2001:0db8:0:0:0:0:0:1]:443", "[ip1]:443"),
            ("00:1A:2b:3c:4d:5e 00-1a-2b-3c-4d-5e", "mac1 mac1"),
            ("card 4111 1111 1111 1111 or 378282246310005", "card card1 or card2"),
            ("DE89 3704 0044 0532 0130 00, GB29NWBK60161331926819", "iban1, iban2"),
            ("call +49 170 1234567 or +14155550123", "call phone1 or phone2"),
            ("(415) 555-0123, 415-555-0123", "phone1, phone1"),
            ("+1 (415) 555-0123", "phone1"),
        ] {
            let once = replaced(text);
            assert_eq!(once, expected);
            assert_eq!(replaced(&once), expected);
        }
    }

    #[test]
    fn other_numbers_stay() {
        for text in [
            "127.0.0.1 ::1 0.0.0.0 :: ::",
            "git@github.com:o/r icon@2x.png lodash@4.17.21 x@1.2.3-rc.next @types/node user@host",
            "std::fs a::b::c Vec::<u8>::new ::dead 12:34:56",
            "1.2.3 1.2.3.4.5 256.1.1.1 v1.2.3.4",
            "4111 1111 1111 1112 1735689600000 1234567890123456",
            "DE89 3704 0044 0532 0130 01 AB12",
            "+1735689600000\n+    let x = 12345678;",
            "2025-01-01T10:00:00 2025-555-01234 00:00:00:00:00:00",
            "aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99",
            "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
            "mail3@example.invalid",
        ] {
            assert_eq!(replaced(text), text);
        }
    }
}
