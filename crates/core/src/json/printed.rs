//! Recognises text that printing would not change.
//!
//! Most values to print were printed before: by Sessile's drafts, by pi, or by any program that uses `JSON.stringify`.
//! One cheap pass detects this and saves parsing the value.

/// Objects with more members than this are parsed, because comparing each key with all others would cost more.
const MAX_KEYS: usize = 32;
/// A number with at most this many digits is its own shortest form if it has no redundant zeros.
const MAX_DIGITS: usize = 15;

/// Whether valid JSON text is certainly what printing it would return. False if in doubt.
pub(super) fn is_printed(bytes: &[u8]) -> bool {
    // Printing spells lone surrogates and invalid UTF-8 differently.
    let mut form = Form { keys: Vec::with_capacity(MAX_KEYS), open: Vec::with_capacity(8) };
    std::str::from_utf8(bytes).is_ok() && form.holds(bytes)
}

/// The keys of the open objects.
struct Form<'a> {
    keys: Vec<&'a [u8]>,
    /// For each open container: the index of its first key, and whether it is an object.
    open: Vec<(usize, bool)>,
}

impl<'a> Form<'a> {
    fn holds(&mut self, bytes: &'a [u8]) -> bool {
        let mut at = 0;
        let mut expects_key = false;
        while let Some(first) = bytes.get(at) {
            match first {
                b'{' | b'[' => {
                    let is_object = *first == b'{';
                    self.open.push((self.keys.len(), is_object));
                    expects_key = is_object;
                    at += 1;
                }
                b'}' | b']' => {
                    if let Some((n_keys, _)) = self.open.pop() {
                        self.keys.truncate(n_keys);
                    }
                    expects_key = false;
                    at += 1;
                }
                b',' => {
                    expects_key = self.open.last().is_some_and(|(_, is_object)| *is_object);
                    at += 1;
                }
                b':' => at += 1,
                b'"' => {
                    let Some(end) = plain_string_end(bytes, at) else { return false };
                    if expects_key && !self.is_new(&bytes[at + 1..end - 1]) {
                        return false;
                    }
                    expects_key = false;
                    at = end;
                }
                b't' | b'n' => at += 4,
                b'f' => at += 5,
                b'-' | b'0'..=b'9' => {
                    let length = number_length(&bytes[at..]);
                    if !is_shortest(&bytes[at..at + length]) {
                        return false;
                    }
                    at += length;
                }
                // White space.
                _ => return false,
            }
        }
        true
    }

    /// Whether a key is the first with its name and keeps its position.
    fn is_new(&mut self, key: &'a [u8]) -> bool {
        let from = self.open.last().map_or(0, |(n_keys, _)| *n_keys);
        let others = &self.keys[from..];
        // A key that looks like an array index moves to the front.
        let is_index = key.first().is_some_and(u8::is_ascii_digit);
        if is_index || others.len() >= MAX_KEYS || others.contains(&key) {
            return false;
        }
        self.keys.push(key);
        true
    }
}

/// The end of a string in valid text, if every escape in it is the one that printing chooses.
fn plain_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        // Valid text has no control characters in strings, so only these two bytes matter.
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        // Escapes with digits have several spellings.
        if !matches!(bytes.get(at + 1)?, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') {
            return None;
        }
        at += 2;
    }
}

fn number_length(bytes: &[u8]) -> usize {
    let is_part = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    bytes.iter().take_while(is_part).count()
}

/// Whether a number is certainly written as JavaScript writes it.
fn is_shortest(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let is_negative_zero = digits.len() < number.len() && digits.iter().all(|byte| matches!(byte, b'0' | b'.'));
    if digits.len() > MAX_DIGITS || is_negative_zero || digits.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return false;
    }
    match digits.iter().position(|byte| *byte == b'.') {
        None => true,
        // Small fractions are written with an exponent, and no fraction ends in a zero.
        Some(point) => !digits.ends_with(b"0") && !digits[point + 1..].starts_with(b"00000"),
    }
}
