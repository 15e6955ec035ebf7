//! JavaScript's conversion of values to strings and numbers.

use super::number_text;
use super::raw::{Raw, Shape};
use super::text::JsText;
use crate::line::js_trim;

impl<'a> Raw<'a> {
    /// Returns the text of `String(value)`.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::Raw;
    /// let value = Raw::parse(br#"[1.0, [2, [null, "x"]], true, {}]"#).unwrap();
    /// assert_eq!(value.to_js_string(), "1,2,,x,true,[object Object]");
    /// ```
    pub fn to_js_string(self) -> JsText<'a> {
        match self.shape() {
            Shape::String => self.as_text().unwrap_or_else(|| JsText::from("")),
            Shape::Null | Shape::Bool => JsText::from(self.to_text().into_owned()),
            Shape::Number => JsText::from(self.as_number().map(js_number_text).unwrap_or_default()),
            Shape::Object => JsText::from("[object Object]"),
            Shape::Array => JsText::from_wtf8(joined(self)),
        }
    }

    /// Returns the number of `Number(value)`; NaN if the value is not a number.
    pub fn to_js_number(self) -> f64 {
        match self.shape() {
            Shape::Null => 0.0,
            Shape::Bool => f64::from(u8::from(self.is_truthy())),
            Shape::Number => self.as_number().unwrap_or(f64::NAN),
            Shape::String | Shape::Array => number_of(&self.to_js_string().to_str()),
            Shape::Object => f64::NAN,
        }
    }
}

/// The items of an array and of nested arrays, joined by commas. `null` is empty.
fn joined(array: Raw<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut open = vec![(array.items(), false)];
    while let Some((items, has_begun)) = open.last_mut() {
        let Some(item) = items.next() else {
            open.pop();
            continue;
        };
        if std::mem::replace(has_begun, true) {
            text.push(b',');
        }
        match item.shape() {
            Shape::Null => {}
            Shape::Array => open.push((item.items(), false)),
            _ => text.extend_from_slice(item.to_js_string().as_wtf8()),
        }
    }
    text
}

fn js_number_text(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    number_text(number)
}

/// Parses a number as JavaScript does outside of JSON: trimmed, with empty text as zero and other bases by prefix.
fn number_of(text: &str) -> f64 {
    let text = js_trim(text);
    let other_base = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)];
    for (prefix, base) in other_base {
        if let Some(digits) = text.strip_prefix(prefix) {
            let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
            let value =
                |value: f64, digit: char| value * f64::from(base) + f64::from(digit.to_digit(base).unwrap_or(0));
            return if is_number { digits.chars().fold(0.0, value) } else { f64::NAN };
        }
    }
    let is_decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    match text {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ if text.bytes().all(is_decimal) => text.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn strings_are_converted_as_in_javascript() {
        // Obtained from Node 22.
        for (text, expected) in [
            ("null", "null"),
            ("true", "true"),
            ("1e21", "1e+21"),
            ("1e999", "Infinity"),
            ("-1e999", "-Infinity"),
            ("[]", ""),
            ("[[],[[]],1]", ",,1"),
            ("[1,[2,[3,null]],true,{}]", "1,2,3,,true,[object Object]"),
            ("[null]", ""),
        ] {
            assert_eq!(raw(text).to_js_string(), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_converted_as_in_javascript() {
        for (text, expected) in [
            ("null", 0.0),
            ("true", 1.0),
            ("\"\"", 0.0),
            ("\" 2 \"", 2.0),
            ("\"0x10\"", 16.0),
            ("\"0b11\"", 3.0),
            ("[2]", 2.0),
            ("[]", 0.0),
            ("\"-1.5e1\"", -15.0),
        ] {
            assert!((raw(text).to_js_number() - expected).abs() < 1e-9, "{text}");
        }
        for text in ["\"abc\"", "\"0x\"", "\"1,2\"", "[1,2]", "{}", "\"infinity\"", "\"-0x1\""] {
            assert!(raw(text).to_js_number().is_nan(), "{text}");
        }
    }
}
