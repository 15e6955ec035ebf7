//! A line editor.

use crate::key::Key;
use crate::keymap::{Action, KeyContext, Keymap};
use crate::paint::Line;
use crate::status::Status;
use crate::theme::Ink;
use sessile::date::Timestamp;

/// A text with a cursor in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineEditor {
    text: String,
    /// Where the next character goes, as a byte offset.
    cursor: usize,
    deleted: String,
}

/// Upper bound on the bytes of a line.
const MAX_LINE_BYTES: usize = 4096;

impl LineEditor {
    pub(crate) fn with_text(text: &str) -> Self {
        Self { text: text.to_owned(), cursor: text.len(), deleted: String::new() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }

    /// Handles a key; returns whether the text changed.
    pub(crate) fn press(&mut self, key: Key, keymap: &Keymap) -> bool {
        if let Some(action) = keymap.action(KeyContext::LineEditor, key) {
            return self.act(action);
        }
        match key.typed() {
            Some(char) => self.put(char.encode_utf8(&mut [0; 4])),
            None => false,
        }
    }

    /// Inserts text at the cursor, as a single line.
    pub(crate) fn put(&mut self, text: &str) -> bool {
        let text = text.replace(['\r', '\n', '\t'], " ");
        let text: String = text.chars().filter(|char| !char.is_control()).collect();
        if text.is_empty() || self.text.len() + text.len() > MAX_LINE_BYTES {
            return false;
        }
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        true
    }

    fn act(&mut self, action: Action) -> bool {
        match action {
            Action::CursorLeft => self.move_to(self.before()),
            Action::CursorRight => self.move_to(self.after()),
            Action::WordLeft => self.move_to(self.word_before()),
            Action::WordRight => self.move_to(self.word_after()),
            Action::LineStart => self.move_to(0),
            Action::LineEnd => self.move_to(self.text.len()),
            Action::CharBackward => self.delete(self.before(), self.cursor, false),
            Action::CharForward => self.delete(self.cursor, self.after(), false),
            Action::WordBackward => self.delete(self.word_before(), self.cursor, true),
            Action::WordForward => self.delete(self.cursor, self.word_after(), true),
            Action::ToLineStart => self.delete(0, self.cursor, true),
            Action::ToLineEnd => self.delete(self.cursor, self.text.len(), true),
            Action::Yank => {
                let deleted = self.deleted.clone();
                self.put(&deleted)
            }
            _ => false,
        }
    }

    fn move_to(&mut self, to: usize) -> bool {
        self.cursor = to;
        false
    }

    fn delete(&mut self, from: usize, to: usize, is_kept: bool) -> bool {
        if from == to {
            return false;
        }
        let deleted: String = self.text.drain(from..to).collect();
        self.cursor = from;
        if is_kept {
            self.deleted = deleted;
        }
        true
    }

    fn head(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn tail(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn before(&self) -> usize {
        self.head().char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.cursor + self.tail().chars().next().map_or(0, char::len_utf8)
    }

    fn word_before(&self) -> usize {
        let word = self.head().trim_end();
        word.char_indices().rev().find(|(_, char)| char.is_whitespace()).map_or(0, |(at, char)| at + char.len_utf8())
    }

    fn word_after(&self) -> usize {
        let tail = self.tail();
        let gap = tail.len() - tail.trim_start().len();
        let rest = tail.get(gap..).unwrap_or_default();
        self.cursor + gap + rest.find(char::is_whitespace).unwrap_or(rest.len())
    }

    /// Renders the text after a prefix, scrolled so that the cursor is visible, and returns the cursor's column.
    pub(crate) fn line(&self, lead: &str, width: usize) -> (Line, usize) {
        let text = Line::new().text(&self.text);
        let column = Line::new().text(self.head()).columns();
        let lead = Line::new().ink(Ink::DIM, lead);
        let room = width.saturating_sub(lead.columns() + 1).max(1);
        let first = column.saturating_sub(room);
        let at = lead.columns() + column - first;
        (lead.join(text.columns_from(first, room)), at)
    }
}

/// The query line of a screen, with the state that editing it changes.
pub(crate) struct QueryLine<'q> {
    pub(crate) query: &'q mut LineEditor,
    /// Whether the user is editing the query rather than moving in the list.
    pub(crate) is_editing: &'q mut bool,
    pub(crate) status: &'q mut Status,
    pub(crate) keymap: &'q Keymap,
    pub(crate) now: Timestamp,
}

impl QueryLine<'_> {
    /// Handles a key; returns whether the query changed.
    pub(crate) fn press(&mut self, key: Key) -> bool {
        let before = self.query.clone();
        let is_other = self.query.press(key, self.keymap);
        if *self.query != before {
            *self.is_editing = !self.query.is_empty();
            self.status.dismiss();
        }
        is_other
    }

    /// Handles a key that is also bound to a changing command. If it edits nothing, the status explains why.
    pub(crate) fn press_or_explain(&mut self, key: Key) -> bool {
        let before = self.query.clone();
        let is_other = self.press(key);
        if *self.query == before {
            self.status.show(self.keymap.while_editing(key), self.now, 4);
        }
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> LineEditor {
        let keymap = Keymap::default();
        let mut input = LineEditor::default();
        for name in keys.split(' ') {
            match Key::named(name) {
                Some(key) => drop(input.press(key, &keymap)),
                None => drop(input.put(&name.replace('_', " "))),
            }
        }
        input
    }

    #[test]
    fn keys_edit_the_line() {
        for (keys, text) in [
            ("one_two", "one two"),
            ("one_two ctrl+w", "one "),
            ("one_two ctrl+a X", "Xone two"),
            ("one_two home delete", "ne two"),
            ("one_two left backspace", "one to"),
            ("one_two ctrl+u", ""),
            ("one_two alt+left ctrl+k", "one "),
            ("one_two ctrl+w ctrl+y ctrl+y", "one twotwo"),
            ("one_two home alt+d", " two"),
            ("潮汐 left X", "潮X汐"),
            ("a\nb\u{1b}[", "a b["),
            ("home backspace delete left ctrl+w", ""),
        ] {
            assert_eq!(typed(&keys.replace('X', "shift+x")).text().to_lowercase(), text.to_lowercase(), "{keys}");
        }
    }

    #[test]
    fn the_cursor_stays_visible() {
        let input = typed(&"x".repeat(50).replace("xx", "潮x"));
        let (line, column) = input.line("> ", 20);
        assert!(line.columns() <= 20 && column < 20, "{line:?} {column}");
        let (line, column) = typed("abc left").line("> ", 20);
        assert_eq!((line.to_text().as_str(), column), ("> abc", 4));
    }
}
