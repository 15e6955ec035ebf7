//! What the lines of several agents have in common.

use sessile_core::date::{Timestamp, Utc, parse};
use sessile_core::json::Raw;

use crate::foreign::Place;

/// An instant in a line.
pub(crate) fn time_of(value: Option<Raw<'_>>) -> Option<Timestamp> {
    let text = value?.as_text()?;
    usable(parse(&text.to_str(), &Utc)?)
}

/// An instant in milliseconds.
pub(crate) fn ms_of(value: Option<Raw<'_>>) -> Option<Timestamp> {
    let ms = value?.as_number()?.trunc();
    #[expect(clippy::cast_possible_truncation, reason = "the bounds are checked")]
    (0.0..1e15).contains(&ms).then(|| Timestamp::from_ms(ms as i64)).and_then(usable)
}

/// Years of more or fewer than four digits would be a file name that sorts wrongly.
fn usable(time: Timestamp) -> Option<Timestamp> {
    (0..=253_402_300_799_999).contains(&time.as_ms()).then_some(time)
}

/// The text of a value; empty if it is not a string.
pub(crate) fn string(value: Option<Raw<'_>>) -> String {
    value.and_then(Raw::as_string).unwrap_or_default()
}

/// The beginning of a text, enough to tell what it is.
pub(crate) fn beginning(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(400) {
        text.truncate(end);
    }
    text
}

/// A word of a foreign file for a report, shortened.
pub(crate) fn word(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The place of a part of a value that is at a place.
pub(crate) fn place_of(part: Raw<'_>, whole: Raw<'_>, place: Place) -> Place {
    let span = part.span_in(whole);
    Place { offset: place.offset + span.start as u64, len: span.len() as u64, ..place }
}
