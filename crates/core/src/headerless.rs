//! Files with entries but no header.

use crate::date::Timestamp;
use crate::head::Kind;
use crate::id::EntryId;
use crate::outline::{Outline, Row};

/// The entries of a file that lost its header, or never had one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headerless {
    /// The number of entries.
    pub n_entries: usize,
    /// The id of the first entry.
    pub first_id: EntryId,
    /// The parent id of the first entry; `None` if it is a root.
    pub first_parent: Option<EntryId>,
    /// The time of the first entry that has one.
    pub first_time: Option<Timestamp>,
}

impl Headerless {
    /// Examines the outline of a file. Returns `None` if it is a session, or if most of it is not entries.
    ///
    /// An entry counts if its type is known and it has an id and a `parentId`, so that other JSON Lines files are not
    /// mistaken for sessions.
    pub fn of(outline: &Outline) -> Option<Self> {
        let is_entry = |row: &Row| {
            let is_known = !matches!(outline.kind(*row), Kind::Header | Kind::Unknown | Kind::NotObject);
            let is_linked = outline.has_null_parent(*row) || outline.parent_id(*row).is_some();
            is_known && is_linked && outline.id(*row).is_some()
        };
        let entries = || outline.rows().filter(is_entry);
        let first = entries().next().filter(|_| !outline.is_session())?;
        let n_entries = entries().count();
        // A header further down does not matter.
        (2 * n_entries > outline.entries().count()).then_some(Self {
            n_entries,
            first_id: outline.id(first)?,
            first_parent: outline.parent_id(first),
            first_time: entries().find_map(|row| outline.time(row)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::split;
    use crate::version::StableIds;

    fn headerless(text: &str) -> Option<Headerless> {
        let mut outline = Outline::new();
        for line in split(text.as_bytes()) {
            outline.push(line, &mut StableIds);
        }
        Headerless::of(&outline)
    }

    #[test]
    fn entries_without_a_header_are_recognised() {
        let a = r#"{"type":"message","id":"a","parentId":"p","timestamp":"2025-01-01T00:00:00.000Z"}"#;
        let found = headerless(&format!("{{\"type\":\"sess\n{a}\n")).unwrap();
        assert_eq!((found.n_entries, found.first_parent), (1, Some("p".into())));
        assert_eq!((found.first_id, found.first_time), ("a".into(), Some(Timestamp::from_ms(1_735_689_600_000))));
        assert_eq!(headerless(&format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{a}\n")), None);
        for other in ["", "\n", "{\"id\":\"a\",\"parentId\":null}\n", "{\"type\":\"x\",\"id\":\"a\",\"parentId\":null}"]
        {
            assert_eq!(headerless(other), None, "{other}");
        }
        assert_eq!(headerless(&format!("{a}\n{{\"x\":1}}\n")), None);
    }
}
