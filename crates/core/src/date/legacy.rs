//! The grammar for everything that is not ISO: words, numbers and punctuation in most orders.

use super::fields::Fields;
use super::token::{Number, Sign, Token, Tokens, Word};

/// Parses the rest of the text, starting with `first`, into the fields.
///
/// Returns `None` as soon as a token makes the text invalid.
pub(super) fn read(first: Token, tokens: &mut Tokens<'_>, fields: &mut Fields) -> Option<()> {
    let number_seen = !fields.day.is_empty();
    let mut reader = Reader { tokens, fields, number_seen };
    let mut token = first;
    while token != Token::End {
        reader.accept(token)?;
        token = reader.tokens.take();
    }
    Some(())
}

struct Reader<'r, 'a> {
    tokens: &'r mut Tokens<'a>,
    fields: &'r mut Fields,
    /// Whether a number was seen. Unknown words and stray punctuation are accepted only before the first number.
    number_seen: bool,
}

impl Reader<'_, '_> {
    fn accept(&mut self, token: Token) -> Option<()> {
        match token {
            Token::Number(number) => self.accept_number(number),
            Token::Word(word) => self.accept_word(word),
            Token::Sign(sign) if self.offset_may_follow() => self.accept_offset(sign),
            Token::Sign(_) | Token::CloseParen if self.number_seen => None,
            _ => Some(()),
        }
    }

    /// Decides what a number means, from the next token and the fields still missing.
    fn accept_number(&mut self, number: Number) -> Option<()> {
        self.number_seen = true;
        let value = number.value;
        if self.tokens.skip(Token::Colon) {
            return self.accept_before_colon(value);
        }
        // The dot is skipped even if the number turns out not to be a second.
        if self.tokens.skip(Token::Dot) && self.fields.clock.expects(value) {
            return self.accept_before_fraction(value);
        }
        if self.fields.zone.expects(value) {
            self.fields.zone.set_minutes(value);
            return Some(());
        }
        if self.fields.clock.expects(value) {
            return self.accept_last_of_clock(value);
        }
        self.fields.day.push(value)?;
        self.skip_hyphen();
        Some(())
    }

    /// `10:` begins or continues a time, and `10::` begins one whose minutes are zero.
    fn accept_before_colon(&mut self, value: i32) -> Option<()> {
        let clock = &mut self.fields.clock;
        if self.tokens.skip(Token::Colon) {
            if !clock.is_empty() {
                return None;
            }
            clock.push(value)?;
            return clock.push(0);
        }
        clock.push(value)?;
        self.tokens.skip(Token::Dot);
        Some(())
    }

    /// A fraction ends the time, whatever its unit.
    fn accept_before_fraction(&mut self, value: i32) -> Option<()> {
        self.fields.clock.push(value)?;
        let Token::Number(fraction) = self.tokens.take() else {
            return None;
        };
        // After milliseconds there is no room left, and V8 silently drops the fraction.
        let _ = self.fields.clock.push_last(fraction.as_milliseconds());
        Some(())
    }

    fn accept_last_of_clock(&mut self, value: i32) -> Option<()> {
        self.fields.clock.push_last(value)?;
        let may_follow =
            matches!(self.tokens.peek(), Token::End | Token::Space | Token::Word(Word::Zulu) | Token::Sign(_));
        may_follow.then_some(())
    }

    fn accept_word(&mut self, word: Word) -> Option<()> {
        match word {
            Word::HalfDay(hours) if !self.fields.clock.is_empty() => {
                self.fields.clock.set_half_day(hours);
            }
            Word::Month(month) => {
                self.fields.day.set_month(month);
                self.skip_hyphen();
            }
            Word::Zone(hours) if self.number_seen => self.fields.zone.set_hours_ahead(hours),
            Word::Zulu if self.number_seen => self.fields.zone.set_hours_ahead(0),
            _ => return self.accept_unknown_word(),
        }
        Some(())
    }

    /// An unknown word must come before every number and must not touch one.
    fn accept_unknown_word(&self) -> Option<()> {
        let touches_number = matches!(self.tokens.peek(), Token::Number(_));
        (!self.number_seen && !touches_number).then_some(())
    }

    /// A sign starts an offset after `UTC` or after a time.
    fn offset_may_follow(&self) -> bool {
        self.fields.zone.is_utc() || !self.fields.clock.is_empty()
    }

    /// `+1`, `+01`, `+100`, `+0100`, or hours of any length before a colon.
    fn accept_offset(&mut self, sign: Sign) -> Option<()> {
        self.number_seen = true;
        let Number { value, digits } = self.take_number_or_zero();
        let (hours, minutes) = match digits {
            _ if self.tokens.peek() == Token::Colon => (value, None),
            1 | 2 => (value, Some(0)),
            3 | 4 => (value / 100, Some(value % 100)),
            _ => return None,
        };
        self.fields.zone.set(sign, hours, minutes);
        Some(())
    }

    fn take_number_or_zero(&mut self) -> Number {
        if let Token::Number(number) = self.tokens.peek() {
            self.tokens.take();
            number
        } else {
            Number { value: 0, digits: 0 }
        }
    }

    fn skip_hyphen(&mut self) {
        self.tokens.skip(Token::Sign(Sign::Minus));
    }
}
