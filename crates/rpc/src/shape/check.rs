//! Checks values against shapes.

use sessile::json::{self, Raw};

use super::kind::{Field, Shape};
use super::named::named_shapes;

impl Shape {
    /// Whether a value has this shape.
    ///
    /// Values nested deeper than the description may be anything, so the recursion is bounded by the description.
    pub fn admits(&self, value: Raw<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Null => value.is_null(),
            Self::Text => value.shape() == json::Shape::String,
            Self::Number => value.shape() == json::Shape::Number,
            Self::Count => value.as_number().is_some_and(is_count),
            Self::Flag => value.shape() == json::Shape::Bool,
            Self::Words(words) => value.as_text().is_some_and(|text| words.iter().any(|word| text == **word)),
            Self::Word(word) => value.as_text().is_some_and(|text| text == **word),
            Self::List(shape) => value.shape() == json::Shape::Array && value.items().all(|item| shape.admits(item)),
            Self::Object(fields) => value.shape() == json::Shape::Object && check(fields, value).is_ok(),
            Self::OneOf(shapes) => shapes.iter().any(|shape| shape.admits(value)),
            Self::Named(name) => named(name).is_none_or(|shape| shape.admits(value)),
        }
    }

    /// Describes what is wrong with a value at a place; none if it has this shape.
    fn error(&self, path: &str, value: Raw<'_>) -> Option<String> {
        if self.admits(value) {
            return None;
        }
        let nested = match (self, value.shape()) {
            (Self::List(shape), json::Shape::Array) => {
                let mut items = value.items().enumerate();
                items.find_map(|(index, item)| shape.error(&format!("{path}[{index}]"), item))
            }
            (Self::Object(fields), json::Shape::Object) => {
                check(fields, value).err().map(|error| format!("{path}.{error}"))
            }
            (Self::Named(name), _) => named(name).and_then(|shape| shape.error(path, value)),
            // The first shape is the one that all values must have, so its fault is reported.
            (Self::OneOf(shapes), json::Shape::Array | json::Shape::Object) => {
                let is_nested = |shape: &&Self| matches!(shape, Self::List(_) | Self::Object(_) | Self::Named(_));
                shapes.iter().filter(is_nested).find_map(|shape| shape.error(path, value))
            }
            _ => None,
        };
        Some(nested.unwrap_or_else(|| format!("{path} must be {}", self.words())))
    }

    /// Describes the shape in words.
    fn words(&self) -> String {
        match self {
            Self::Any => "anything".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Count => "a whole number, 0 or greater".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Word(word) => (*word).to_owned(),
            Self::List(_) => "an array".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::OneOf(shapes) => {
                let mut words: Vec<String> = shapes.iter().map(Self::words).collect();
                words.dedup();
                words.join(" or ")
            }
            Self::Named(name) => named(name).map_or_else(|| (*name).to_owned(), Self::words),
        }
    }
}

fn is_count(number: f64) -> bool {
    number >= 0.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_991.0
}

fn named(name: &str) -> Option<&'static Shape> {
    named_shapes().find(|(known, _, _)| *known == name).map(|(_, shape, _)| shape)
}

/// Checks that an object has the required members. The error says what is wrong.
pub fn check(fields: &[Field], object: Raw<'_>) -> Result<(), String> {
    for field in fields {
        match object.get(field.name) {
            None if field.is_optional => {}
            None => return Err(format!("{} is missing; it must be {}", field.name, field.shape.words())),
            Some(value) => match field.shape.error(field.name, value) {
                None => {}
                Some(error) => return Err(error),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::new("name", Shape::Text),
        Field::optional("limit", Shape::Count),
        Field::optional("entryId", Shape::OneOf(&[Shape::Text, Shape::Null])),
        Field::optional("scope", Shape::Words(&["cwd", "all"])),
        Field::optional("list", Shape::List(&Shape::Flag)),
        Field::optional("message", Shape::Named("Message")),
        Field::optional("edit", Shape::OneOf(&[Shape::Null, Shape::Object(&[Field::new("content", Shape::Text)])])),
    ];

    #[test]
    fn errors_name_the_wrong_member() {
        for (object, expected) in [
            (r#"{"name":"x","other":1}"#, Ok(())),
            (r#"{"name":"x","limit":3,"entryId":null,"scope":"all","list":[true]}"#, Ok(())),
            ("{}", Err("name is missing; it must be a string")),
            ("7", Err("name is missing; it must be a string")),
            (r#"{"name":1}"#, Err("name must be a string")),
            (r#"{"name":"x","limit":-1}"#, Err("limit must be a whole number, 0 or greater")),
            (r#"{"name":"x","limit":1.5}"#, Err("limit must be a whole number, 0 or greater")),
            (r#"{"name":"x","entryId":1}"#, Err("entryId must be a string or null")),
            (r#"{"name":"x","scope":"x"}"#, Err("scope must be one of cwd, all")),
            (r#"{"name":"x","list":[1]}"#, Err("list[0] must be true or false")),
            (r#"{"name":"x","list":7}"#, Err("list must be an array")),
            (r#"{"name":"x","message":{}}"#, Err("message.role is missing; it must be a string")),
            (r#"{"name":"x","message":{"role":5}}"#, Err("message.role must be a string")),
            (r#"{"name":"x","message":5}"#, Err("message must be an object")),
            (r#"{"name":"x","edit":{"content":5}}"#, Err("edit.content must be a string")),
            (r#"{"name":"x","edit":5}"#, Err("edit must be null or an object")),
        ] {
            let object = sessile::json::Json::parse(object).unwrap();
            assert_eq!(check(FIELDS, object.raw()), expected.map_err(str::to_owned), "{object}");
        }
    }
}
