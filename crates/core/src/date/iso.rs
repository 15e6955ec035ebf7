//! The date format of ECMAScript, tried before the legacy grammar.

use super::fields::{Clock, Fields, Zone, is_day, is_hour, is_month, is_sixtieth};
use super::token::{Sign, Token, Tokens, Word};

/// How far the ISO grammar got.
pub(super) enum IsoResult {
    /// The whole text was read.
    Complete,
    /// The text is not a date in either grammar.
    Invalid,
    /// The legacy grammar continues from this token, keeping the fields read so far.
    Legacy(Token),
}

/// Parses `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, with or without a time.
///
/// Before the `T`, anything unexpected is left to the legacy grammar. After it, it is an error.
pub(super) fn read(tokens: &mut Tokens<'_>, fields: &mut Fields) -> IsoResult {
    if let Err(unused) = read_date(tokens, fields) {
        return IsoResult::Legacy(unused);
    }
    match tokens.take() {
        // A date without a time is in UTC, but one with a time is local.
        Token::End => fields.zone.set_hours_ahead(0),
        Token::Word(Word::TimeSeparator) => {
            if read_time_and_zone(tokens, fields).is_none() {
                return IsoResult::Invalid;
            }
        }
        unused => return IsoResult::Legacy(unused),
    }
    fields.day.mark_iso();
    IsoResult::Complete
}

/// Parses the date, or returns the token that does not fit.
fn read_date(tokens: &mut Tokens<'_>, fields: &mut Fields) -> Result<(), Token> {
    let mut add = |number: i32| fields.day.push(number).ok_or(Token::Other);
    add(read_year(tokens)?)?;
    for is_valid in [is_month, is_day] {
        if !skip_hyphen(tokens) {
            break;
        }
        let token = tokens.take();
        let number = token.fixed_number(2).filter(|&number| is_valid(number));
        add(number.ok_or(token)?)?;
    }
    Ok(())
}

/// Four digits, or a sign and six digits that are not minus zero.
///
/// If the text after a sign does not fit, the sign is the token returned. The digits of a minus zero are lost, so V8
/// reads `-000000 Jan 1 2025` as if it began at `Jan`.
fn read_year(tokens: &mut Tokens<'_>) -> Result<i32, Token> {
    let first = tokens.take();
    let Token::Sign(sign) = first else {
        return first.fixed_number(4).ok_or(first);
    };
    let year = tokens.peek().fixed_number(6).ok_or(first)?;
    tokens.take();
    let is_minus_zero = year == 0 && sign == Sign::Minus;
    if is_minus_zero { Err(first) } else { Ok(sign.apply(year)) }
}

fn skip_hyphen(tokens: &mut Tokens<'_>) -> bool {
    tokens.skip(Token::Sign(Sign::Minus))
}

fn read_time_and_zone(tokens: &mut Tokens<'_>, fields: &mut Fields) -> Option<()> {
    read_time(tokens, &mut fields.clock)?;
    read_zone(tokens, &mut fields.zone)?;
    (tokens.peek() == Token::End).then_some(())
}

/// Parses `HH:mm`, `HH:mm:ss` or `HH:mm:ss.s`.
///
/// Hour 24 requires zeros in all other units. That is checked when the clock is resolved, except for the digits of the
/// fraction that do not reach the clock.
fn read_time(tokens: &mut Tokens<'_>, clock: &mut Clock) -> Option<()> {
    let hour = read_two_digits(tokens, |hour| is_hour(hour) || hour == 24)?;
    clock.push(hour)?;
    read_colon(tokens)?;
    clock.push(read_two_digits(tokens, is_sixtieth)?)?;
    if !tokens.skip(Token::Colon) {
        return Some(());
    }
    clock.push(read_two_digits(tokens, is_sixtieth)?)?;
    if !tokens.skip(Token::Dot) {
        return Some(());
    }
    let Token::Number(fraction) = tokens.take() else {
        return None;
    };
    if hour == 24 && fraction.value > 0 {
        return None;
    }
    clock.push(fraction.as_milliseconds())
}

/// Parses `Z`, `+hh:mm` or `+hhmm`, or nothing.
fn read_zone(tokens: &mut Tokens<'_>, zone: &mut Zone) -> Option<()> {
    if tokens.skip(Token::Word(Word::Zulu)) {
        zone.set_hours_ahead(0);
        return Some(());
    }
    let Token::Sign(sign) = tokens.peek() else {
        return Some(());
    };
    tokens.take();
    let (hours, minutes) = read_offset(tokens)?;
    zone.set(sign, hours, Some(minutes));
    Some(())
}

fn read_offset(tokens: &mut Tokens<'_>) -> Option<(i32, i32)> {
    if let Some(packed) = tokens.peek().fixed_number(4) {
        tokens.take();
        let (hours, minutes) = (packed / 100, packed % 100);
        return (is_hour(hours) && is_sixtieth(minutes)).then_some((hours, minutes));
    }
    let hours = read_two_digits(tokens, is_hour)?;
    read_colon(tokens)?;
    Some((hours, read_two_digits(tokens, is_sixtieth)?))
}

fn read_colon(tokens: &mut Tokens<'_>) -> Option<()> {
    tokens.skip(Token::Colon).then_some(())
}

fn read_two_digits(tokens: &mut Tokens<'_>, is_valid: fn(i32) -> bool) -> Option<i32> {
    tokens.take().fixed_number(2).filter(|&number| is_valid(number))
}
