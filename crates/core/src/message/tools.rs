//! The arguments of pi's own tools.

use super::ToolCall;
use crate::json::Raw;

/// A text that an `edit` replaces, and the text that it puts there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The text to replace.
    pub old: String,
    /// The text to put there.
    pub new: String,
}

impl ToolCall<'_> {
    /// An argument that is a string.
    pub fn text_argument(self, key: &str) -> Option<String> {
        self.arguments()?.get(key)?.as_string()
    }

    /// The file or directory that the call is about: the argument `path`, or `file_path`.
    pub fn path(self) -> Option<String> {
        self.text_argument("path").or_else(|| self.text_argument("file_path"))
    }

    /// The replacements that an `edit` makes. Empty if the arguments are not those of an edit.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::Raw;
    /// use sessile::message::ToolCall;
    ///
    /// let raw = Raw::parse(br#"{"name":"edit","arguments":{"path":"a","edits":[{"oldText":"x","newText":"y"}]}}"#)?;
    /// assert_eq!(ToolCall::new(raw).edits()[0].new, "y");
    /// # Ok::<(), sessile::json::NotJson>(())
    /// ```
    pub fn edits(self) -> Vec<TextEdit> {
        let Some(arguments) = self.arguments() else { return Vec::new() };
        let several = arguments.get("edits");
        let edits: Vec<Raw<'_>> = several.map_or_else(|| vec![arguments], |edits| edits.items().collect());
        let text = |edit: Raw<'_>, keys: [&str; 2]| keys.iter().find_map(|key| edit.get(key)?.as_string());
        let edit = |edit: Raw<'_>| {
            let (old, new) = (text(edit, ["oldText", "old_string"])?, text(edit, ["newText", "new_string"])?);
            Some(TextEdit { old, new })
        };
        edits.into_iter().map(edit).collect::<Option<_>>().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(arguments: &str) -> Vec<TextEdit> {
        let call = format!(r#"{{"name":"edit","arguments":{arguments}}}"#);
        ToolCall::new(Raw::parse(call.as_bytes()).unwrap()).edits()
    }

    #[test]
    fn edits_have_two_spellings_and_may_be_several() {
        let edit = |old: &str, new: &str| TextEdit { old: old.to_owned(), new: new.to_owned() };
        assert_eq!(edits(r#"{"oldText":"a","newText":"b"}"#), [edit("a", "b")]);
        assert_eq!(edits(r#"{"old_string":"a","new_string":""}"#), [edit("a", "")]);
        let several = r#"{"edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]}"#;
        assert_eq!(edits(several), [edit("a", "b"), edit("c", "d")]);
        for odd in ["null", "[]", "{}", r#"{"edits":[{"oldText":"a"}]}"#, r#"{"edits":7,"oldText":"a","newText":"b"}"#]
        {
            assert_eq!(edits(odd), [], "{odd}");
        }
    }
}
