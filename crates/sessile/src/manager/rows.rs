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

    /// Visits the lines of some rows, in the current version's form, until `visit` returns false. File order is fastest.
    ///
    /// Fails with [`SessionError::Stale`] if another program has changed a line; after a refresh, rows have other numbers.
    pub fn visit_lines(
        &self,
        rows: impl IntoIterator<Item = Row>,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), SessionError> {
        let is_current = !self.session.outline.upgrade().is_needed();
        let mut reading = self.session.reading();
        let mut upgraded = Vec::new();
        for row in rows {
            let mut line = reading.own_line(row)?;
            if !is_current {
                upgraded.clear();
                self.session.put_upgraded_line(row, line, &mut upgraded)?;
                line = &upgraded;
            }
            if !visit(line) {
                break;
            }
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
        // Old lines do not have all members.
        let is_current = !outline.upgrade().is_needed();
        let rows: Vec<Row> = rows.into_iter().collect();
        let mut kinds = rows.iter().map(|row| outline.kind(*row));
        self.visit_lines(rows.iter().copied(), &mut |line| {
            let may_be_plain = kinds.next() == Some(Kind::Message) && is_current;
            let message = if may_be_plain { plain_message(line) } else { None };
            visit(message.map_or(EntryForm::Line(line), EntryForm::Message));
            true
        })
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
        let rows: Vec<Row> = session.outline().entries().collect();
        let mut lines: Vec<String> = Vec::new();
        let mut take = |line: &[u8]| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            lines.len() < 2
        };
        session.visit_lines(rows.iter().chain(&rows).copied(), &mut take).unwrap();
        let [one, two] = &lines[..] else { panic!("{lines:?}") };
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
