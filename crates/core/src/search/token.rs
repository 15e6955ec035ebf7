//! Splits text into tokens.
//!
//! - A **word** is a run of letters and digits, in lower case. Everything else separates words, so `path/to/file.rs`
//!   and `snake_case` are several words in sequence.
//! - A word with **humps** (`camelCase`, `HTTPServer`) is split into its parts, which are adjacent. The whole word in
//!   lower case is an additional token. Digits do not split a word: `E0599`, `utf8` and `sha256` stay whole.
//! - Scripts written **without spaces** (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) are split into
//!   overlapping pairs, plus the last character of a run. A word of two characters is one token, a longer one several
//!   in sequence.
//! - A **symbol** such as an emoji is a separate token. Characters that only change its appearance (joiners, selectors,
//!   skin tones) are left out.
//! - Of a word longer than [`LONGEST`] bytes, only the beginning counts. A run of more than [`LONGEST_BLOB`] bytes that
//!   could be base64 is not text: only its beginning counts.

/// The maximum length of a word in bytes. The rest of a longer one is ignored.
pub const LONGEST: usize = 64;

/// A longer run of letters, digits, `+`, `/`, `=`, `-` and `_` is data, not text.
pub const LONGEST_BLOB: usize = 256;

/// A shorter word is not checked for being the beginning of data.
const SUSPICIOUS: usize = 20;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word, or a part of one with humps.
    Word,
    /// A whole word with humps. It has no separate position and no neighbours.
    Whole,
    /// Two adjacent characters in a script without spaces.
    Pair,
    /// The last character of a run in such a script.
    Last,
    /// An emoji or another symbol.
    Symbol,
}

/// A searchable piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The text to compare: UTF-8, in lower case.
    pub term: &'t [u8],
    /// Its start in the text, in bytes.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Its kind.
    pub kind: TokenKind,
}

/// Splits texts into tokens. Reuse it between texts for its buffers.
#[derive(Debug, Default)]
pub struct Tokenizer {
    lower: Vec<u8>,
    cuts: Vec<usize>,
}

const SEPARATOR: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;
const BEYOND: u8 = 4;

/// The class of each byte.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "the loop ends at 256")]
        let char = byte as u8;
        classes[byte] = match char {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            0x80.. => BEYOND,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    classes
}

fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

impl Tokenizer {
    /// Calls `on_token` for the tokens of a text in order, a whole word after its parts, until it returns false.
    #[inline]
    pub fn run(&mut self, text: &str, mut on_token: impl FnMut(Token<'_>) -> bool) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let first = class(byte);
            if first == SEPARATOR {
                at += 1;
                continue;
            }
            if first == BEYOND {
                let Some(next) = self.beyond_ascii(text, at, &mut on_token) else { return };
                at = next;
                continue;
            }
            let start = at;
            let mut later = 0u8;
            at += 1;
            while let Some(&byte) = bytes.get(at) {
                let class = class(byte);
                if class == SEPARATOR || class == BEYOND {
                    break;
                }
                later |= 1 << class;
                at += 1;
            }
            if bytes.get(at).is_some_and(|&byte| class(byte) == BEYOND) && char_at(text, at).is_some_and(is_in_word) {
                let Some(next) = self.word_beyond_ascii(text, start, &mut on_token) else { return };
                at = next;
                continue;
            }
            if at - start >= SUSPICIOUS {
                let end = blob_end(bytes, at);
                if end - start > LONGEST_BLOB {
                    at = end;
                }
            }
            let goes_on = if later & (1 << UPPER) == 0 && first != UPPER && at - start <= LONGEST {
                on_token(Token { term: &bytes[start..at], start, end: at, kind: TokenKind::Word })
            } else {
                self.word(text, start, at, &mut on_token)
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Handles a character beyond ASCII, which may begin a token. Returns where to continue.
    fn beyond_ascii(&mut self, text: &str, at: usize, on_token: &mut impl FnMut(Token<'_>) -> bool) -> Option<usize> {
        let Some(char) = char_at(text, at) else { return Some(at + 1) };
        if is_paired(char) {
            return pairs(text, at, on_token);
        }
        if char.is_alphanumeric() {
            return self.word_beyond_ascii(text, at, on_token);
        }
        let end = at + char.len_utf8();
        if is_symbol(char) {
            let term = &text.as_bytes()[at..end];
            return on_token(Token { term, start: at, end, kind: TokenKind::Symbol }).then_some(end);
        }
        Some(end)
    }

    /// Handles a word that is not all ASCII. Returns its end.
    fn word_beyond_ascii(
        &mut self,
        text: &str,
        start: usize,
        on_token: &mut impl FnMut(Token<'_>) -> bool,
    ) -> Option<usize> {
        let mut end = start;
        while let Some(char) = char_at(text, end).filter(|char| is_in_word(*char)) {
            end += char.len_utf8();
        }
        self.word(text, start, end, on_token).then_some(end)
    }

    /// Handles a word that has upper case, is not ASCII, or is long.
    fn word(&mut self, text: &str, start: usize, end: usize, on_token: &mut impl FnMut(Token<'_>) -> bool) -> bool {
        let word = text.get(start..end).unwrap_or_default();
        self.cuts.clear();
        if word.len() <= LONGEST {
            find_cuts(word, &mut self.cuts);
        }
        let n_parts = self.cuts.len() + 1;
        // Random letters have humps everywhere, and their parts are meaningless.
        if n_parts > 1 && (n_parts <= 3 || word.len() >= 3 * n_parts) {
            let mut from = start;
            for to in self.cuts.iter().map(|cut| start + cut).chain([end]) {
                lower(text.get(from..to).unwrap_or_default(), &mut self.lower);
                if !on_token(Token { term: &self.lower, start: from, end: to, kind: TokenKind::Word }) {
                    return false;
                }
                from = to;
            }
            lower(word, &mut self.lower);
            return on_token(Token { term: &self.lower, start, end, kind: TokenKind::Whole });
        }
        lower(word.get(..word.floor_char_boundary(LONGEST)).unwrap_or_default(), &mut self.lower);
        // Empty for a word that consists only of marks.
        self.lower.is_empty() || on_token(Token { term: &self.lower, start, end, kind: TokenKind::Word })
    }
}

/// Calls `on_token` for the pairs of a run in a script without spaces, and for its last character. Returns its end.
fn pairs(text: &str, start: usize, on_token: &mut impl FnMut(Token<'_>) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut end = at + char_at(text, at).map_or(1, char::len_utf8);
    while let Some(next) = char_at(text, end).filter(|char| is_paired(*char)) {
        let pair_end = end + next.len_utf8();
        if !on_token(Token { term: &bytes[at..pair_end], start: at, end: pair_end, kind: TokenKind::Pair }) {
            return None;
        }
        (at, end) = (end, pair_end);
    }
    on_token(Token { term: &bytes[at..end], start: at, end, kind: TokenKind::Last }).then_some(end)
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// The end of a run of base64 characters.
fn blob_end(bytes: &[u8], from: usize) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    bytes[from..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| from + length)
}

/// The starts of a word's humps, except the first.
///
/// A capital begins a hump if it follows a lower-case letter, or if a lower-case letter follows it: `camel|Case`,
/// `HTTP|Server`, `base64|Encode`.
fn find_cuts(word: &str, cuts: &mut Vec<usize>) {
    let mut before = None::<char>;
    let mut chars = word.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        if is_mark(char) {
            continue;
        }
        if let Some(before) = before
            && char.is_uppercase()
        {
            let next_is_small = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            if before.is_lowercase() || next_is_small {
                cuts.push(at);
            }
        }
        before = Some(char);
    }
}

/// Writes a word to `out` in lower case, without marks.
fn lower(word: &str, out: &mut Vec<u8>) {
    out.clear();
    if word.is_ascii() {
        out.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
        return;
    }
    for char in word.chars() {
        for small in narrow(char).to_lowercase().filter(|char| !is_mark(*char)) {
            let small = match small {
                'ς' => 'σ',
                'ſ' => 's',
                other => other,
            };
            out.extend_from_slice(small.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// The ordinary form of a full-width letter or digit.
fn narrow(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap_or(char),
        other => other,
    }
}

/// The ASCII letter or digit, in lower case, that a character becomes in a term.
///
/// Only these characters are equal to an ASCII letter in every case-insensitive comparison.
pub(super) fn lower_of(char: char) -> Option<u8> {
    match char {
        'ſ' => Some(b's'),
        '\u{212a}' => Some(b'k'),
        _ => u8::try_from(char).ok().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()),
    }
}

/// Whether a character continues a word.
pub(super) fn is_in_word(char: char) -> bool {
    (char.is_alphanumeric() && !is_paired(char)) || is_mark(char)
}

/// Combining marks. They do not end a word, whether or not they are precomposed with their letter.
fn is_mark(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}')
}

/// Whether a character belongs to a script without spaces between words.
fn is_paired(char: char) -> bool {
    matches!(char,
        // Thai, Lao, Burmese and Khmer.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Hangul.
        | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        // Kana and Bopomofo.
        | '\u{3031}'..='\u{3035}' | '\u{3041}'..='\u{309a}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1b000}'..='\u{1b16f}'
        // Chinese characters.
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303b}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Symbols that people search for. Excludes the lines and blocks that tables are drawn with, and skin tones.
fn is_symbol(char: char) -> bool {
    matches!(char,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{20a0}'..='\u{20bf}' | '\u{2100}'..='\u{214f}'
        | '\u{2190}'..='\u{24ff}' | '\u{25a0}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<(String, TokenKind)> {
        let mut found = Vec::new();
        Tokenizer::default().run(text, |token| {
            found.push((String::from_utf8(token.term.to_vec()).unwrap(), token.kind));
            true
        });
        found
    }

    fn terms(text: &str) -> String {
        let mark = |kind| match kind {
            TokenKind::Whole => "=",
            TokenKind::Last => ".",
            TokenKind::Word | TokenKind::Pair | TokenKind::Symbol => "",
        };
        tokens(text).into_iter().map(|(term, kind)| format!("{term}{}", mark(kind))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_identifiers() {
        for (text, expected) in [
            ("Hello, World!", "hello world"),
            ("snake_case kebab-case path/to/file.rs", "snake case kebab case path to file rs"),
            ("camelCase", "camel case camelcase="),
            ("HTTPServer parseJSON", "http server httpserver= parse json parsejson="),
            ("quixoticNeedle42", "quixotic needle42 quixoticneedle42="),
            ("E0599 utf8 SHA256SUM base64Encode", "e0599 utf8 sha256sum base64 encode base64encode="),
            ("a1b2c3d4 0x7FFF", "a1b2c3d4 0x7fff"),
            ("MAX_LEN Title", "max len title"),
            ("aGVsbG8gd29ybGQx", "agvsbg8gd29ybgqx"),
            ("Größe ÜberGroß ÉCOLE", "größe über groß übergroß= école"),
            ("cafe\u{301}s", "cafes"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
            ("Ｆｕｌｌ１", "full1"),
            ("", ""),
            (" -- ", ""),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_and_symbols() {
        for (text, expected) in [
            ("東京都", "東京 京都 都."),
            ("東京abc京", "東京 京. abc 京."),
            ("セッション", "セッ ッシ ショ ョン ン."),
            ("세션을 저장", "세션 션을 을. 저장 장."),
            ("คำ", "คำ ำ."),
            ("ok👍🏽 👩\u{200d}💻 ❤\u{fe0f}", "ok 👍 👩 💻 ❤"),
            ("a → b ├── c", "a → b c"),
            ("𠮷野家", "𠮷野 野家 家."),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn long_runs_count_by_their_beginning() {
        let long = "x".repeat(100);
        assert_eq!(terms(&format!("{long} y")), format!("{} y", "x".repeat(64)));
        let data = format!("data:image/png;base64,iVBORw0KGgoAAAANSUhEUg{} end", "AAb/+9".repeat(100));
        assert_eq!(tokens(&data).len(), 6, "{:?}", tokens(&data));
    }

    proptest! {
        #[test]
        fn tokens_lie_in_the_text_in_order(text in ".{0,80}|[a-zA-Z0-9_ 東京の👍é\u{301}/+]{0,300}") {
            let mut before = 0;
            Tokenizer::default().run(&text, |token| {
                assert!(token.start < token.end && text.get(token.start..token.end).is_some());
                assert!(!token.term.is_empty() && token.term.len() <= 2 * LONGEST);
                assert!(std::str::from_utf8(token.term).is_ok());
                if token.kind != TokenKind::Whole {
                    assert!(token.start >= before);
                    before = token.start;
                }
                true
            });
        }

        #[test]
        fn tokenizing_a_token_returns_it(text in "[a-zA-Z0-9_ 東京の👍é]{0,40}") {
            for (term, kind) in tokens(&text) {
                if kind != TokenKind::Pair {
                    let again = tokens(&term);
                    prop_assert_eq!(again.len(), 1, "{}", term);
                    prop_assert_eq!(&again[0].0, &term);
                }
            }
        }
    }
}
