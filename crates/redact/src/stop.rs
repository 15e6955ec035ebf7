//! Values that are not secrets although they stand where secrets stand.

use crate::looks;

/// Parts that only placeholders have, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "xxxx",
    "****",
    "....",
    "your_",
    "your-",
    "yourapi",
    "yourtoken",
    "yoursecret",
    "yourpass",
    "replace_",
    "replace-",
    "replaceme",
    "insert_",
    "dummy",
    "notreal",
    "not-real",
    "not_real",
    "fake",
    "sample",
    "todo",
    "foobar",
    "lorem",
    "----",
    "____",
];

/// Placeholders that are common enough in random text to count only in words.
const CERTAIN_PLACEHOLDERS: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "redacted",
    "xxxxxx",
    "*****",
    ".....",
    "your_",
    "your-",
    "------",
    "______",
];

/// Values that are public although they are written where passwords are.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "username",
    "hunter2",
    "letmein",
    "postgres",
    "undefined",
    "required",
    "optional",
    "disabled",
    "password1",
    "password12",
    "password123",
    "password1234",
    "secret123",
    "mypassword",
    "mysecret",
    "testpassword",
    "test1234",
    "test-token",
    "test_token",
    "testtoken",
    "test-key",
    "12345678",
    "123456789",
    "1234567890",
    "admin123",
    "s3cr3t",
    "p@ssw0rd",
    "passw0rd",
    "p4ssw0rd",
    "abc12345",
    "abcd1234",
    "pass1234",
    "user1234",
    "unauthorized",
];

/// Whether a key with a public prefix is a placeholder.
pub(crate) fn is_certain_placeholder(value: &str) -> bool {
    contains_any(value, CERTAIN_PLACEHOLDERS)
}

/// Whether the value of a name is a placeholder, an expression or a word.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let bytes = value.as_bytes();
    let wrapped = |open: u8, close: u8| bytes.first() == Some(&open) && bytes.last() == Some(&close);
    wrapped(b'<', b'>')
        || wrapped(b'[', b']')
        || wrapped(b'{', b'}')
        || wrapped(b'%', b'%')
        || ["${", "$(", "{{", "[REDACTED", "%s", "{}", "<%", "#{", "...", "…", "•"]
            .iter()
            .any(|part| value.contains(part))
        || bytes.first() == Some(&b'$')
            && bytes[1..].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
            && !looks::is_random(value)
        || contains_any(value, PLACEHOLDERS)
        || WORDS.iter().any(|word| word.eq_ignore_ascii_case(value))
        || has_few_characters(value)
}

/// Whether a value repeats a few characters.
fn has_few_characters(value: &str) -> bool {
    let mut seen = [false; 256];
    value.bytes().for_each(|b| seen[usize::from(b)] = true);
    let distinct = seen.iter().filter(|&&seen| seen).count();
    distinct < 5 && distinct * 3 <= value.len()
}

/// Whether a text contains one of some words in lower case, in any case.
fn contains_any(value: &str, words: &[&str]) -> bool {
    let value = value.as_bytes();
    words.iter().any(|word| value.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        for value in [
            "YOUR_API_KEY_HERE",
            "<token>",
            "${API_KEY}",
            "$API_KEY",
            "changeme123",
            "xxxxxxxxxxxx",
            "aaaaaaaaaaaa",
            "{{ token }}",
            "%PASSWORD%",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["Kp4Qx7Rm2Sn5Tb8Vw3Yz", "$7yQmP0zR2", "7b3e5d8c1a9f4e2b6c8d3a5e9f1b7c4d", "k9$Lm2!qW"] {
            assert!(!is_placeholder(value), "{value}");
        }
    }
}
