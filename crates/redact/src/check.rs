//! Checks of whole keys: checksums and structures.

use crate::encoding::base64;
use crate::looks;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// The last six characters are the CRC-32 of the 30 before them, in base 62.
pub(crate) fn github(token: &str) -> bool {
    token.split_once('_').is_some_and(|(_, rest)| ends_with_crc(rest))
}

/// As [`github`].
pub(crate) fn npm(token: &str) -> bool {
    github(token)
}

fn ends_with_crc(text: &str) -> bool {
    text.len().checked_sub(6).and_then(|at| text.split_at_checked(at)).is_some_and(|(body, sum)| crc62(body) == sum)
}

/// Returns the CRC-32 of a text as six digits of base 62.
fn crc62(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes()) as usize;
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[rest % 62];
        rest /= 62;
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

/// The last eight digits are the CRC-32 of what is before them, its lowest byte first.
pub(crate) fn grafana(token: &str) -> bool {
    token.rsplit_once('_').is_some_and(|(body, sum)| {
        let crc = crc32fast::hash(body.as_bytes());
        u32::from_str_radix(sum, 16).is_ok_and(|sum| sum.swap_bytes() == crc)
    })
}

/// A token of three parts: a header with an algorithm, a payload that is an object, and a signature.
pub(crate) fn jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let header = parts.next().and_then(base64::decode_text);
    let payload = parts.next().and_then(base64::decode_text);
    header.is_some_and(|text| is_object(&text) && text.contains("\"alg\""))
        && payload.is_some_and(|text| is_object(&text))
}

/// The first part is a JSON object with an algorithm.
pub(crate) fn jose_header(token: &str) -> bool {
    let header = token.split('.').next().and_then(base64::decode_text);
    header.is_some_and(|text| is_object(&text) && text.contains("\"alg\"") && text.contains("\"enc\""))
}

fn is_object(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('{') && text.ends_with('}')
}

/// The first part is a number in base64.
pub(crate) fn discord(token: &str) -> bool {
    let id = token.split('.').next().and_then(base64::decode_text);
    id.is_some_and(|text| (17..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
}

/// A bech32 text with a valid checksum.
pub(crate) fn age(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let Some((prefix, data)) = lower.rsplit_once('1') else { return false };
    let high = prefix.bytes().map(|b| u32::from(b >> 5));
    let low = prefix.bytes().map(|b| u32::from(b & 31));
    let data: Option<Vec<u32>> =
        data.bytes().map(|b| BECH32.iter().position(|&c| c == b).and_then(|value| u32::try_from(value).ok())).collect();
    data.is_some_and(|data| high.chain([0]).chain(low).chain(data).fold(1, bech32_step) == 1)
}

fn bech32_step(sum: u32, value: u32) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let top = sum >> 25;
    let next = ((sum & 0x01ff_ffff) << 5) ^ value;
    (0..5).filter(|bit| top >> bit & 1 == 1).fold(next, |sum, bit| sum ^ GENERATOR[bit])
}

/// Digits of base 58 for the 82 bytes of an extended key. The hash at its end is not verified: it needs SHA-256.
pub(crate) fn base58_key(key: &str) -> bool {
    key.len() == 111 && key.bytes().all(|b| BASE58.contains(&b))
}

/// A key of Azure whose mark stands where its length says: 84, 76, 52 or 44 characters.
pub(crate) fn azure_marked(key: &str) -> bool {
    [84, 88, 52, 56, 44].contains(&key.len()) && looks::is_random(key)
}

/// A part of a Slack token that is long enough and not only digits.
pub(crate) fn slack(token: &str) -> bool {
    token.len() >= 24 && token.rsplit('-').next().is_some_and(|last| last.len() >= 10)
}

/// A key that begins with `sk-` and lacks the mark that has its own rule.
pub(crate) fn openai_compatible(key: &str) -> bool {
    !key.contains("T3BlbkFJ") && random_after_prefix(key)
}

/// A key of letters and digits has a digit, and words have none.
pub(crate) fn has_a_digit(key: &str) -> bool {
    key.bytes().any(|b| b.is_ascii_digit())
}

/// The part after the prefix is random, not words.
pub(crate) fn random_after_prefix(key: &str) -> bool {
    let rest =
        key.split_once(['_', '-', '.', '/']).filter(|(prefix, _)| prefix.len() <= 10).map_or(key, |(_, rest)| rest);
    looks::is_random_rest(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_a_published_github_token() {
        // The example of the format's announcement, split so that no scanner takes it for a token.
        let token = ["ghp", "_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat();
        assert!(github(&token));
        assert!(!github(&token.replace("0mLq17", "0mLq18")));
    }

    #[test]
    fn bech32_of_the_age_example() {
        let key = ["AGE-SECRET-KEY-", "1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"].concat();
        assert!(age(&key));
        assert!(!age(&key.replace("EGAEX", "EGAEQ")));
    }
}
