//! Reading a session in rows and lines.

use napi::bindgen_prelude::{Buffer, Uint8Array, Uint32Array};
use napi_derive::napi;
use sessile::format::head::Kind;
use sessile::rows::{EntryForm, Row};
use sessile::{EntryId, SessionError, SessionManager};

use crate::failure::Result;
use crate::handle::{Session, number, row_number};
use crate::lines::{LineTable, Lines};

/// What is needed to make entries: see [`EntryForm`].
#[napi(object, object_from_js = false)]
pub struct Forms {
    /// For each row: 0 for a line, 1 for a message, 2 for a message without a parent.
    pub kinds: Uint8Array,
    /// For each message: id (8 characters), parent (8) and time (24).
    pub heads: Buffer,
    /// For each other row: its line.
    pub lines: Lines,
}

/// The rows of the context.
#[napi(object, object_from_js = false)]
pub struct ContextRows {
    pub rows: Uint32Array,
    /// The row that sets the thinking level; -1 for none.
    pub thinking_level: i32,
    /// The row that names the model; -1 for none.
    pub model: i32,
}

fn numbers(rows: impl IntoIterator<Item = Row>) -> Uint32Array {
    rows.into_iter().map(|row| number(row.index())).collect::<Vec<u32>>().into()
}

fn rows(manager: &SessionManager, numbers: &[u32]) -> std::result::Result<Vec<Row>, SessionError> {
    numbers.iter().map(|number| manager.row_at(*number as usize)).collect()
}

fn kind_of(word: &str) -> Kind {
    match word {
        "label" => Kind::Label,
        "session_info" => Kind::SessionInfo,
        "compaction" => Kind::Compaction,
        _ => Kind::Unknown,
    }
}

#[napi]
impl Session {
    /// The header as JSON.
    #[napi]
    pub fn header(&self) -> Result<String> {
        self.read(|manager| Ok(manager.header().json().to_text().into_owned()))
    }

    /// The row of the entry with this id; -1 for none.
    #[napi]
    pub fn find(&self, id: String) -> Result<i32> {
        self.read(|manager| Ok(row_number(manager.outline().find(&EntryId::from(id)))))
    }

    /// The rows of the entries with these ids; -1 for none.
    #[napi]
    pub fn find_all(&self, ids: Vec<String>) -> Result<Vec<i32>> {
        self.read(|manager| {
            Ok(ids.into_iter().map(|id| row_number(manager.outline().find(&EntryId::from(id)))).collect())
        })
    }

    /// The rows of all entries from this row on.
    #[napi]
    pub fn entry_rows(&self, from: u32) -> Result<Uint32Array> {
        self.read(|manager| Ok(numbers(manager.outline().entries_from(from as usize))))
    }

    /// The rows of all entries of a type.
    #[napi]
    pub fn rows_of(&self, word: String) -> Result<Uint32Array> {
        self.read(|manager| Ok(numbers(manager.rows_of(kind_of(&word)))))
    }

    /// The rows from the root to the leaf, or to another entry.
    #[napi]
    pub fn branch_rows(&self, row: Option<u32>) -> Result<Uint32Array> {
        self.read(|manager| match row {
            Some(row) => Ok(numbers(manager.outline().path(manager.row_at(row as usize)?))),
            None => Ok(numbers(manager.path())),
        })
    }

    /// The rows of the entries that name this entry as their parent; without one, of those with a `null` parent.
    #[napi]
    pub fn child_rows(&self, parent: Option<String>) -> Result<Uint32Array> {
        self.read(|manager| Ok(numbers(manager.outline().children(parent.map(EntryId::from).as_ref()))))
    }

    /// The tree in pre-order: pairs of row and depth.
    #[napi]
    pub fn tree(&self) -> Result<Uint32Array> {
        self.read(|manager| {
            let mut nodes = Vec::with_capacity(2 * manager.outline().n_entries());
            manager.walk_tree(|node| nodes.extend([number(node.row.index()), number(node.depth)]))?;
            Ok(nodes.into())
        })
    }

    /// The rows of the context at the leaf.
    #[napi]
    pub fn context_rows(&self) -> Result<ContextRows> {
        self.read(|manager| {
            let settings = manager.settings_rows();
            Ok(ContextRows {
                rows: numbers(manager.context_rows()?),
                thinking_level: row_number(settings.thinking_level),
                model: row_number(settings.model),
            })
        })
    }

    /// The line of a row.
    #[napi]
    pub fn line(&self, row: u32) -> Result<String> {
        self.read(|manager| {
            let mut text = String::new();
            manager.visit_lines([manager.row_at(row as usize)?], &mut |line| {
                // As in pi, bytes that are not UTF-8 become U+FFFD.
                text = String::from_utf8_lossy(line).into_owned();
                true
            })?;
            Ok(text)
        })
    }

    /// The lines of the first of some rows, in the caller's buffer: as many as fit, and at least one.
    #[napi]
    pub fn lines(&self, rows_wanted: Uint32Array, mut room: Buffer) -> Result<Lines> {
        self.read(|manager| {
            let (mut table, mut own) = (LineTable::default(), None);
            let rows = rows(manager, &rows_wanted)?;
            manager.visit_lines(rows, &mut |line| table.put_into(room.as_mut(), &mut own, line))?;
            Ok(table.finish(own))
        })
    }

    /// What JavaScript needs to make the entries of some rows.
    #[napi]
    pub fn forms(&self, rows_wanted: Uint32Array) -> Result<Forms> {
        self.read(|manager| {
            let (mut kinds, mut heads) = (Vec::with_capacity(rows_wanted.len()), Vec::new());
            let (mut table, mut text) = (LineTable::default(), Vec::new());
            manager.visit_entries(rows(manager, &rows_wanted)?, &mut |form| match form {
                EntryForm::Message(message) => {
                    kinds.push(if message.parent.is_some() { 1 } else { 2 });
                    heads.extend_from_slice(message.id);
                    heads.extend_from_slice(message.parent.unwrap_or(b"        "));
                    heads.extend_from_slice(message.timestamp);
                }
                EntryForm::Line(line) => {
                    kinds.push(0);
                    table.append_to(&mut text, line);
                }
            })?;
            Ok(Forms { kinds: kinds.into(), heads: heads.into(), lines: table.finish(Some(text)) })
        })
    }
}
