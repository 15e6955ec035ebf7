//! Splits a date string into the tokens that both grammars read.

use std::str::Chars;

/// A token of a date string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// The end of the text, or a NUL character, which V8 treats as the end.
    End,
    Number(Number),
    Sign(Sign),
    Colon,
    Dot,
    CloseParen,
    Word(Word),
    /// One white space character.
    Space,
    /// A comment in parentheses, or a character without meaning.
    Other,
}

impl Token {
    /// The value of a number written with exactly `digits` digits.
    pub(super) fn fixed_number(self, digits: usize) -> Option<i32> {
        match self {
            Self::Number(number) if number.digits == digits => Some(number.value),
            _ => None,
        }
    }
}

/// A run of decimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// The value of the first nine digits after leading zeros. Later digits are dropped.
    pub(super) value: i32,
    /// The number of digits written, including leading zeros.
    pub(super) digits: usize,
}

impl Number {
    /// The milliseconds that the number stands for as a decimal fraction of a second.
    ///
    /// With more than nine written digits the scale is that of nine, even if leading zeros were skipped. V8 does the
    /// same, so `.0123456789` is 123 milliseconds.
    pub(super) fn as_milliseconds(self) -> i32 {
        match self.digits {
            0..=1 => self.value * 100,
            2 => self.value * 10,
            digits => (3..digits.min(SIGNIFICANT_DIGITS)).fold(self.value, |value, _| value / 10),
        }
    }
}

/// Nine digits always fit in an `i32`.
const SIGNIFICANT_DIGITS: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

impl Sign {
    /// Applies the sign to a magnitude.
    pub(super) fn apply(self, magnitude: i32) -> i32 {
        match self {
            Self::Plus => magnitude,
            Self::Minus => -magnitude,
        }
    }
}

/// The meaning of a run of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A month, from 1 to 12.
    Month(i32),
    /// `AM` or `PM`, as the hours it adds to a twelve-hour clock.
    HalfDay(i32),
    /// A named zone, as its hours ahead of UTC.
    Zone(i32),
    /// The letter `Z`, a zone that may directly follow the digits of a time.
    Zulu,
    /// The letter `T`.
    TimeSeparator,
    Unknown,
}

/// The tokens of a text, with one token of lookahead.
pub(super) struct Tokens<'a> {
    rest: Chars<'a>,
    ahead: Token,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut rest = text.chars();
        let ahead = scan(&mut rest);
        Self { rest, ahead }
    }

    pub(super) fn peek(&self) -> Token {
        self.ahead
    }

    /// Takes the next token. At the end of the text this is always `Token::End`.
    pub(super) fn take(&mut self) -> Token {
        let token = self.ahead;
        if token != Token::End {
            self.ahead = scan(&mut self.rest);
        }
        token
    }

    /// Takes the next token if it is `wanted`, and returns whether it was.
    pub(super) fn skip(&mut self, wanted: Token) -> bool {
        let found = self.ahead == wanted;
        if found {
            self.take();
        }
        found
    }
}

fn scan(rest: &mut Chars<'_>) -> Token {
    let Some(first) = peek_char(rest) else {
        return Token::End;
    };
    if first.is_ascii_digit() {
        return Token::Number(scan_number(rest));
    }
    if is_word_char(first) {
        return Token::Word(scan_word(rest));
    }
    if first == '(' {
        skip_comment(rest);
        return Token::Other;
    }
    rest.next();
    match first {
        ':' => Token::Colon,
        '.' => Token::Dot,
        '+' => Token::Sign(Sign::Plus),
        '-' => Token::Sign(Sign::Minus),
        ')' => Token::CloseParen,
        other if is_white_space(other) => Token::Space,
        _ => Token::Other,
    }
}

/// The next character. A NUL counts as the end of the text.
fn peek_char(rest: &Chars<'_>) -> Option<char> {
    rest.clone().next().filter(|&c| c != '\0')
}

fn scan_number(rest: &mut Chars<'_>) -> Number {
    let mut value = 0;
    let mut digits = 0;
    let mut significant = 0;
    while let Some(digit) = peek_char(rest).and_then(decimal) {
        rest.next();
        digits += 1;
        if (significant > 0 || digit > 0) && significant < SIGNIFICANT_DIGITS {
            value = value * 10 + digit;
            significant += 1;
        }
    }
    Number { value, digits }
}

fn decimal(c: char) -> Option<i32> {
    c.to_digit(10).and_then(|digit| i32::try_from(digit).ok())
}

/// Reads a word and looks it up by its first three letters, as ASCII lower case.
fn scan_word(rest: &mut Chars<'_>) -> Word {
    let mut prefix = ['\0'; 3];
    let mut len = 0;
    while let Some(c) = peek_char(rest).filter(|&c| is_word_char(c)) {
        rest.next();
        if let Some(slot) = prefix.get_mut(len) {
            *slot = c.to_ascii_lowercase();
        }
        len += 1;
    }
    month(prefix).or_else(|| if len <= 3 { short_word(prefix) } else { None }).unwrap_or(Word::Unknown)
}

/// Months are recognised by their first three letters, whatever follows: `June`, `Junk`.
fn month(prefix: [char; 3]) -> Option<Word> {
    let number = match prefix {
        ['j', 'a', 'n'] => 1,
        ['f', 'e', 'b'] => 2,
        ['m', 'a', 'r'] => 3,
        ['a', 'p', 'r'] => 4,
        ['m', 'a', 'y'] => 5,
        ['j', 'u', 'n'] => 6,
        ['j', 'u', 'l'] => 7,
        ['a', 'u', 'g'] => 8,
        ['s', 'e', 'p'] => 9,
        ['o', 'c', 't'] => 10,
        ['n', 'o', 'v'] => 11,
        ['d', 'e', 'c'] => 12,
        _ => return None,
    };
    Some(Word::Month(number))
}

/// All other words must match as a whole. Shorter ones are padded with NUL.
fn short_word(padded: [char; 3]) -> Option<Word> {
    let word = match padded {
        ['a', 'm', '\0'] => Word::HalfDay(0),
        ['p', 'm', '\0'] => Word::HalfDay(12),
        ['t', '\0', '\0'] => Word::TimeSeparator,
        ['z', '\0', '\0'] => Word::Zulu,
        ['u', 't', '\0' | 'c'] | ['g', 'm', 't'] => Word::Zone(0),
        ['e', 'd', 't'] => Word::Zone(-4),
        ['e', 's', 't'] | ['c', 'd', 't'] => Word::Zone(-5),
        ['c', 's', 't'] | ['m', 'd', 't'] => Word::Zone(-6),
        ['m', 's', 't'] | ['p', 'd', 't'] => Word::Zone(-7),
        ['p', 's', 't'] => Word::Zone(-8),
        _ => return None,
    };
    Some(word)
}

/// Skips a comment, including nested comments. An unclosed one runs to the end.
///
/// The next character is the opening parenthesis, so the depth never falls below zero.
fn skip_comment(rest: &mut Chars<'_>) {
    let mut depth = 0_usize;
    while let Some(c) = peek_char(rest) {
        rest.next();
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

/// Letters, and any character from `A` up that is not white space: V8 does not distinguish them.
fn is_word_char(c: char) -> bool {
    c >= 'A' && !is_wide_space(c)
}

/// White space as in ECMAScript, except U+2028 and U+2029; see [`is_wide_space`].
fn is_white_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ') || is_wide_space(c)
}

/// The white space above ASCII. Excludes U+2028 and U+2029: they are line terminators, which V8 treats as word
/// characters here.
fn is_wide_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}
