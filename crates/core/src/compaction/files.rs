//! The files that a conversation worked on.

use std::collections::BTreeSet;

use super::summarizer::Generator;
use crate::head::Role;
use crate::json::{JsText, Json, ObjectWriter, Raw, Shape, write_text};

/// The files that tools were asked to read, write and edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOperations {
    /// Read.
    pub read: BTreeSet<JsText<'static>>,
    /// Written in full.
    pub written: BTreeSet<JsText<'static>>,
    /// Changed in part.
    pub edited: BTreeSet<JsText<'static>>,
}

impl FileOperations {
    /// Adds the files of a message: the tool calls of an answer, and the calls a tool made itself.
    pub fn add_message(&mut self, message: Raw<'_>) {
        match Role::of(message.get("role")) {
            Role::Assistant => self.add_calls(message),
            Role::ToolResult => {
                let calls = message.get("nestedCalls").and_then(|nested| nested.get("calls"));
                calls.into_iter().flat_map(Raw::items).for_each(|call| self.add_call(call));
            }
            _ => {}
        }
    }

    fn add_calls(&mut self, message: Raw<'_>) {
        let blocks = message.get("content").into_iter().flat_map(Raw::items);
        blocks.filter(|block| is_word(block.get("type"), "toolCall")).for_each(|call| self.add_call(call));
    }

    fn add_call(&mut self, call: Raw<'_>) {
        let path = call.get("arguments").and_then(|arguments| arguments.get("path")).and_then(Raw::as_text);
        let Some(path) = path.filter(|path| !path.is_empty()) else { return };
        let Some(name) = call.get("name").and_then(Raw::as_text) else { return };
        let files = match &*name.to_str() {
            "read" => &mut self.read,
            "write" => &mut self.written,
            "edit" => &mut self.edited,
            _ => return,
        };
        files.insert(path.into_owned());
    }

    /// Adds the lists from an earlier summary's `details`.
    pub fn add_details(&mut self, details: Option<Raw<'_>>) {
        let names = |key| {
            let list = details.and_then(|details| details.get(key));
            list.into_iter().flat_map(Raw::items).filter_map(Raw::as_text).map(JsText::into_owned)
        };
        self.read.extend(names("readFiles"));
        self.edited.extend(names("modifiedFiles"));
    }

    /// The two lists that a summary shows.
    pub fn lists(&self) -> FileLists {
        let modified: BTreeSet<_> = self.edited.union(&self.written).cloned().collect();
        let read = self.read.difference(&modified).cloned().collect();
        FileLists { read: sorted(read), modified: sorted(modified.into_iter().collect()) }
    }
}

/// The files that a summary names, each list in JavaScript's sort order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLists {
    /// Files that were only read.
    pub read: Vec<JsText<'static>>,
    /// Files that were written or edited.
    pub modified: Vec<JsText<'static>>,
}

impl FileLists {
    /// Whether both lists are empty.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.modified.is_empty()
    }

    /// The text appended to a summary; empty if there are no files.
    pub fn section(&self) -> String {
        let section = |(tag, files): (&str, &Vec<JsText<'_>>)| {
            let names: Vec<_> = files.iter().map(JsText::to_str).collect();
            format!("\n\n<{tag}>\n{}\n</{tag}>", names.join("\n"))
        };
        let lists = [("read-files", &self.read), ("modified-files", &self.modified)];
        lists.into_iter().filter(|(_, files)| !files.is_empty()).map(section).collect()
    }

    /// The `details` of a summary's entry. A summary made by a hook has no generator.
    pub fn details(&self, generator: Option<Generator>) -> Json {
        let strings = |files: &[JsText<'_>]| -> Vec<Json> {
            let string = |file: &JsText<'_>| {
                let mut text = Vec::new();
                write_text(file, &mut text);
                Json::trusted(text)
            };
            files.iter().map(string).collect()
        };
        let (read, modified) = (strings(&self.read), strings(&self.modified));
        let mut details = ObjectWriter::new();
        details.array("readFiles", read.iter().map(Json::raw)).array("modifiedFiles", modified.iter().map(Json::raw));
        if let Some(generator) = generator {
            details.string("generator", generator.word());
        }
        details.finish()
    }
}

/// Sorts texts by UTF-16 units, which differs from byte order: `😀` comes before `\u{ff5e}`.
fn sorted(mut texts: Vec<JsText<'static>>) -> Vec<JsText<'static>> {
    texts.sort_by(|one, other| one.utf16().cmp(other.utf16()));
    texts
}

/// Whether a value is this string.
pub(super) fn is_word(value: Option<Raw<'_>>, word: &str) -> bool {
    value.filter(|value| value.shape() == Shape::String).and_then(Raw::as_text).is_some_and(|text| text == *word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(messages: &[&str]) -> FileOperations {
        let mut operations = FileOperations::default();
        for message in messages {
            operations.add_message(Raw::parse(message.as_bytes()).unwrap());
        }
        operations
    }

    #[test]
    fn calls_of_read_write_and_edit_are_counted() {
        let operations = operations(&[
            r#"{"role":"assistant","content":[null,"x",{"type":"toolCall","name":"read","arguments":{"path":"a"}},
                {"type":"toolCall","name":"read","arguments":{"path":"b"}},
                {"type":"toolCall","name":"edit","arguments":{"path":"b"}},
                {"type":"toolCall","name":"write","arguments":{"path":""}},
                {"type":"toolCall","name":"write","arguments":{"path":5}},
                {"type":"toolCall","name":"Read","arguments":{"path":"no"}},
                {"type":"toolCall","name":"read","arguments":{"file_path":"no"}},
                {"type":"text","name":"read","arguments":{"path":"no"}}]}"#,
            r#"{"role":"toolResult","nestedCalls":{"calls":[{"name":"write","arguments":{"path":"c"}},7]}}"#,
            r#"{"role":"user","content":[{"type":"toolCall","name":"read","arguments":{"path":"no"}}]}"#,
        ]);
        let lists = operations.lists();
        assert_eq!((lists.read, lists.modified), (vec!["a".into()], vec!["b".into(), "c".into()]));
    }

    #[test]
    fn earlier_file_lists_are_carried_over() {
        let mut operations = FileOperations::default();
        let details = Raw::parse(br#"{"readFiles":["r","m"],"modifiedFiles":["m"]}"#).unwrap();
        operations.add_details(Some(details));
        operations.add_details(Raw::parse(br#"{"readFiles":"x","modifiedFiles":{}}"#).ok());
        operations.add_details(None);
        let lists = operations.lists();
        assert_eq!(lists.section(), "\n\n<read-files>\nr\n</read-files>\n\n<modified-files>\nm\n</modified-files>");
        assert_eq!(
            lists.details(Some(Generator::Model)).to_text(),
            r#"{"readFiles":["r"],"modifiedFiles":["m"],"generator":"model"}"#
        );
        assert_eq!(FileLists::default().section(), "");
        assert_eq!(FileLists::default().details(None).to_text(), r#"{"readFiles":[],"modifiedFiles":[]}"#);
    }

    #[test]
    fn lists_are_sorted_as_javascript_sorts() {
        let names = ["é", "a", "Z", "\u{ff5e}", "😀", "a/b", "a-b"];
        let sorted = sorted(names.map(JsText::from).to_vec());
        assert_eq!(sorted, ["Z", "a", "a-b", "a/b", "é", "😀", "\u{ff5e}"].map(JsText::from));
    }
}
