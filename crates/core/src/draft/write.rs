//! Values that can be members of an object being written.
//!
//! serde is not an option here: its JSON writer cannot take text such as `"\ud800"` as a value, and it prints numbers
//! differently from JavaScript.

use crate::date::Timestamp;
use crate::json::{self, Json, ObjectWriter, number_text};

pub(super) trait Write {
    /// The JSON of the value. `None` is JavaScript's `undefined`, which leaves the member out.
    fn json(&self) -> Option<Json>;
}

/// Builds an object with these members, in this order.
pub(super) fn object(members: &[(&str, &dyn Write)]) -> Json {
    let mut object = ObjectWriter::new();
    for (key, value) in members {
        object.optional(key, value.json().as_ref().map(Json::raw));
    }
    object.finish()
}

/// Returns `None` for an empty list, so that the member is left out.
pub(super) fn unless_empty<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}

/// A foreign value is re-serialised: JavaScript would, and a line break in its text would end the entry's line.
impl Write for Json {
    fn json(&self) -> Option<Json> {
        Some(json::print(self.raw()))
    }
}

impl Write for str {
    fn json(&self) -> Option<Json> {
        Some(Json::string(self))
    }
}

impl Write for String {
    fn json(&self) -> Option<Json> {
        self.as_str().json()
    }
}

impl Write for bool {
    fn json(&self) -> Option<Json> {
        Some(Json::trusted(self.to_string().into_bytes()))
    }
}

impl Write for f64 {
    fn json(&self) -> Option<Json> {
        Some(Json::trusted(number_text(*self).into_bytes()))
    }
}

impl Write for i64 {
    #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are floats")]
    fn json(&self) -> Option<Json> {
        (*self as f64).json()
    }
}

impl Write for Timestamp {
    fn json(&self) -> Option<Json> {
        self.as_ms().json()
    }
}

impl Write for u64 {
    #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are floats")]
    fn json(&self) -> Option<Json> {
        (*self as f64).json()
    }
}

impl<T: Write + ?Sized> Write for &T {
    fn json(&self) -> Option<Json> {
        (**self).json()
    }
}

impl<T: Write> Write for Option<T> {
    fn json(&self) -> Option<Json> {
        self.as_ref().and_then(Write::json)
    }
}

impl<T: Write> Write for Vec<T> {
    fn json(&self) -> Option<Json> {
        self.as_slice().json()
    }
}

impl<T: Write> Write for [T] {
    fn json(&self) -> Option<Json> {
        let mut text = b"[".to_vec();
        for item in self.iter().filter_map(Write::json) {
            if text.len() > 1 {
                text.push(b',');
            }
            text.extend_from_slice(item.raw().as_bytes());
        }
        text.push(b']');
        Some(Json::trusted(text))
    }
}
