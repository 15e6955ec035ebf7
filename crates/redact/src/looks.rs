//! What a value looks like: random, words, a path, a placeholder.

/// Returns the Shannon entropy of a text in bits per byte.
pub(crate) fn entropy(text: &str) -> f32 {
    let mut counts = [0_u16; 256];
    for byte in text.bytes().take(4096) {
        counts[usize::from(byte)] += 1;
    }
    let length = f32::from(u16::try_from(text.len().min(4096)).unwrap_or(4096));
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f32::from(count) / length;
            -share * share.log2()
        })
        .sum()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Other,
    }
}

/// Whether a text looks like random characters, not like words: the kinds of its characters change often, and it has
/// digits or is long.
pub(crate) fn is_random(text: &str) -> bool {
    has_short_runs(
        text,
        |has_digit, runs, length| {
            if has_digit { runs * 3 >= length } else { length >= 16 && runs * 5 >= length * 2 }
        },
    )
}

/// The same for the rest of a key after its prefix: runs of up to four characters of a kind, or digits of base 16.
///
/// A random text of letters alone has about three runs in eight characters, and a name in camel case has less than two.
pub(crate) fn is_random_rest(text: &str) -> bool {
    text.len() >= 32 && is_hex(text)
        || has_short_runs(text, |has_digit, runs, length| runs * 4 >= length && (has_digit || length >= 16))
}

/// Counts the characters of a text and their runs of one kind, and lets a function judge them.
fn has_short_runs(text: &str, is_short: impl Fn(bool, usize, usize) -> bool) -> bool {
    let mut runs = 0_usize;
    let mut has_digit = false;
    let mut n_letters = 0_usize;
    let mut last: Option<Class> = None;
    let mut before_last: Option<Class> = None;
    let mut length = 0_usize;
    for byte in text.bytes() {
        // A separator ends a word.
        if matches!(byte, b'_' | b'-' | b'.' | b':') {
            (before_last, last) = (None, None);
            continue;
        }
        let class = class(byte);
        length += 1;
        has_digit |= class == Class::Digit;
        n_letters += usize::from(matches!(class, Class::Lower | Class::Upper));
        // A capital letter at the start of a word belongs to the word.
        let continues = last == Some(class)
            || (last == Some(Class::Upper) && class == Class::Lower && before_last != Some(Class::Upper));
        runs += usize::from(!continues);
        before_last = last;
        last = Some(class);
    }
    length >= 8 && n_letters >= 2 && is_short(has_digit, runs, length)
}

/// Whether a value looks random even next to names such as `utf8_to_utf16`: digits stand before letters, or the case
/// changes in the middle of words.
pub(crate) fn is_random_value(text: &str) -> bool {
    let pairs = text.as_bytes().windows(2);
    let odd: usize = pairs
        .map(|pair| match (class(pair[0]), class(pair[1])) {
            (Class::Digit, Class::Lower | Class::Upper) => 2,
            (Class::Lower, Class::Upper) => 1,
            _ => 0,
        })
        .sum();
    odd * 6 >= text.len() && is_random(text)
}

/// Whether all characters are digits of base 16, among them digits and letters.
pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Whether a text is a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, b)| if matches!(at, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() })
}

/// Whether a text begins as a UUID and is none.
pub(crate) fn is_cut_uuid(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    let is_like =
        text.as_bytes().get(8) == Some(&b'-') && text.as_bytes().get(13) == Some(&b'-') && text.bytes().all(is_part);
    is_like && (19..60).contains(&text.len()) && !is_uuid(text)
}

/// Whether a value is a number, perhaps with a sign, separators, a point or the suffix of a type.
pub(crate) fn is_number(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']);
    let suffixes =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];
    let text = suffixes.iter().find_map(|suffix| text.strip_suffix(suffix)).unwrap_or(text);
    let text = text.trim_end_matches(['u', 'U', 'l', 'L', '_']);
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_');
    }
    let is_part = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'-' | b'+' | b'_' | b':' | b'/' | b' ');
    text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().all(is_part)
}

/// Whether a value is a path or a URL without a password.
pub(crate) fn is_path(text: &str) -> bool {
    let windows = text.as_bytes().get(1) == Some(&b':') && matches!(text.as_bytes().get(2), Some(b'\\' | b'/'));
    windows
        || text.contains("://")
        || ["/", "./", "../", "~/", "~"].iter().any(|start| text.starts_with(start)) && !is_base64ish(text)
        || text.matches('/').count() >= 2 && !is_random(text)
}

fn is_base64ish(text: &str) -> bool {
    text.len() >= 40
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
        && is_random(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_random() {
        for words in [
            "getElementById",
            "access_token_secret",
            "some-kebab-case-name",
            "Sha256Digest",
            "utf8_to_utf16_length",
            "MAX_BUFFER_SIZE_2",
        ] {
            assert!(!is_random_value(words), "{words}");
        }
        for random in ["8xR2mQ9zKp4Lw7Tn", "7b3e5d8c1a9f4e2b6c8d3a5e9f1b7c4d", "kQvZbXpRtWmLsYcDfGhJnB8"] {
            assert!(is_random_value(random), "{random}");
        }
    }

    #[test]
    fn entropy_counts_bits() {
        assert!(entropy("aaaaaaaa") < 0.01);
        assert!((entropy("abcdabcd") - 2.0).abs() < 0.01);
    }
}
