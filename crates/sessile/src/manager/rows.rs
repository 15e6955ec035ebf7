//! Rows and lines, for front ends that make entries out of lines themselves.
//!
//! A row is valid for the session it came from, as long as [`SessionManager::row_numbering`] is the same.

use sessile_core::context::SettingsRows;
use sessile_core::head::Kind;
use sessile_core::outline::Row;
use sessile_core::plain::{PlainMessage, plain_message};

use super::SessionManager;
use crate::error::SessionError;

/// How a front end gets to know an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryForm<'l> {
    /// A message in the form that pi writes: everything but its payload.
    Message(PlainMessage<'l>),
    /// Any other entry: its line, in the current version's form.
    Line(&'l [u8]),
}

impl SessionManager {
    /// A number that changes whenever rows may have got other numbers, because the file was read again.
    ///
    /// Entries that are appended, by whichever program, do not change the numbers of the others.
    pub fn row_numbering(&self) -> u64 {
        self.session.retained.n_renumbered
    }

    /// The row with this index. Fails if there is none.
    pub fn row_at(&self, index: usize) -> Result<Row, SessionError> {
        self.session.outline.row(index).ok_or(SessionError::StaleRow { row: index })
    }

    /// Appends the lines of some rows to `out`, in the current version's form and each with a newline, and calls
    /// `on_line` with the end of each. File order is fastest.
    ///
    /// Fails with [`SessionError::Stale`] if another program has changed a line; after a refresh, rows have other numbers.
    pub fn copy_lines(
        &self,
        rows: impl IntoIterator<Item = Row>,
        out: &mut Vec<u8>,
        on_line: &mut dyn FnMut(usize),
    ) -> Result<(), SessionError> {
        let mut reading = self.session.reading();
        for row in rows {
            let line = reading.own_line(row)?;
            self.session.put_upgraded_line(row, line, out)?;
            on_line(out.len());
            out.push(b'\n');
        }
        Ok(())
    }

    /// Visits some rows: messages as pi writes them without their payloads, and all others as lines.
    ///
    /// File order is fastest. Nothing is parsed but the members of the outermost object.
    pub fn visit_entries(
        &self,
        rows: impl IntoIterator<Item = Row>,
        visit: &mut dyn FnMut(EntryForm<'_>),
    ) -> Result<(), SessionError> {
        let outline = &self.session.outline;
        let is_current = !outline.upgrade().is_needed();
        let mut reading = self.session.reading();
        let mut upgraded = Vec::new();
        for row in rows {
            let line = reading.own_line(row)?;
            if !is_current {
                upgraded.clear();
                self.session.put_upgraded_line(row, line, &mut upgraded)?;
                visit(EntryForm::Line(&upgraded));
                continue;
            }
            let message = if outline.kind(row) == Kind::Message { plain_message(line) } else { None };
            match message {
                Some(message) => visit(EntryForm::Message(message)),
                None => visit(EntryForm::Line(line)),
            }
        }
        Ok(())
    }

    /// The rows of the path to the leaf that decide the model and the thinking level.
    pub fn settings_rows(&self) -> SettingsRows {
        SettingsRows::of(&self.session.outline, &self.session.leaf_path())
    }

    /// The rows of all entries of a kind, in file order.
    pub fn rows_of(&self, kind: Kind) -> impl DoubleEndedIterator<Item = Row> + '_ {
        self.session.outline.entries().filter(move |row| self.session.outline.kind(*row) == kind)
    }
}

#[cfg(test)]
mod tests {
    use sessile_core::EntryId;
    use sessile_core::members::OwnMembers;

    use super::*;
    use crate::compose::{EntryDraft, MemberPlacement};

    fn draft(kind: &str, members: &str, placement: MemberPlacement) -> EntryDraft {
        EntryDraft { kind: kind.to_owned(), members: OwnMembers::parse(members).unwrap(), placement }
    }

    #[test]
    fn drafts_have_pis_key_order() {
        let mut session = SessionManager::in_memory("/proj");
        let message = r#"{"message":{"role":"user","content":"hi"}}"#;
        let first = session.append_entry(&draft("message", message, MemberPlacement::AfterCommon)).unwrap();
        session
            .append_entry(&draft("custom", r#"{"customType":"x","data":1}"#, MemberPlacement::BeforeCommon))
            .unwrap();
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        let rows: Vec<Row> = session.outline().entries().collect();
        session.copy_lines(rows.iter().copied(), &mut lines, &mut |end| ends.push(end)).unwrap();
        let text = String::from_utf8(lines).unwrap();
        let (one, two) = text.trim_end().split_once('\n').unwrap();
        assert_eq!(ends, [one.len(), text.len() - 1]);
        assert!(one.starts_with(&format!(r#"{{"type":"message","id":"{first}","parentId":null,"timestamp":""#)));
        assert!(one.ends_with(r#"","message":{"role":"user","content":"hi"}}"#));
        assert!(two.starts_with(r#"{"type":"custom","customType":"x","data":1,"id":""#));
        let mut forms = Vec::new();
        session
            .visit_entries(rows, &mut |form| {
                forms.push(match form {
                    EntryForm::Message(message) => EntryId::from(String::from_utf8_lossy(message.id).into_owned()),
                    EntryForm::Line(line) => EntryId::from(line.len().to_string()),
                });
            })
            .unwrap();
        assert_eq!(forms, [first, EntryId::from(two.len().to_string())]);
    }

    #[test]
    fn a_draft_below_another_entry_moves_the_leaf() {
        let mut session = SessionManager::in_memory("/proj");
        let first = session.append_user_message("one").unwrap();
        session.append_user_message("two").unwrap();
        let summary = draft("branch_summary", r#"{"fromId":"x","summary":"s"}"#, MemberPlacement::AfterCommon);
        let id = session.append_entry_below(Some(&first), &summary).unwrap();
        assert_eq!(session.leaf_id(), Some(id.clone()));
        assert_eq!(session.entry(&id).unwrap().unwrap().parent_id(), Some(first));
        let root = session.append_entry_below(None, &summary).unwrap();
        assert_eq!(session.entry(&root).unwrap().unwrap().parent_id(), None);
        let missing = EntryId::from("missing");
        assert!(session.append_entry_below(Some(&missing), &summary).unwrap_err().is_not_found());
        assert_eq!(session.leaf_id(), Some(root));
    }
}
