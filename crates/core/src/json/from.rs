//! Values of Rust as JSON.

use super::{Json, number_text};

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::string(&text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::trusted(if value { b"true".to_vec() } else { b"false".to_vec() })
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::trusted(number.to_string().into_bytes())
    }
}

impl From<f64> for Json {
    /// As JavaScript prints it; `null` if it is not finite.
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::trusted(number_text(number).into_bytes()) } else { Self::null() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_their_json_text() {
        for (json, text) in [
            (Json::from("a\"\n"), r#""a\"\n""#),
            (Json::from(String::new()), r#""""#),
            (Json::from(true), "true"),
            (Json::from(false), "false"),
            (Json::from(-7_i64), "-7"),
            (Json::from(1e21), "1e+21"),
            (Json::from(f64::NAN), "null"),
        ] {
            assert_eq!(json.to_text(), text);
            assert_eq!(Json::parse(text).unwrap().to_text(), text);
        }
    }
}
