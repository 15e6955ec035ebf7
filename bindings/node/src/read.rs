//! Reading a session in rows and lines.

use std::str::Utf8Chunk;

use napi::bindgen_prelude::{Buffer, Uint8Array, Uint32Array};
use napi_derive::napi;
use sessile::format::head::Kind;
use sessile::rows::{EntryForm, Row, message_start};
use sessile::{EntryId, SessionError, SessionManager};

use crate::failure::Result;
use crate::handle::{Session, number, row_number};

/// Lines of rows: JavaScript parses them.
#[napi(object, object_from_js = false)]
pub struct Lines {
    /// ASCII alone; other characters are written as JSON escapes. So JavaScript makes one string of all lines, which is
    /// outside of its heap if it is long, and parses slices of it: nothing else fills the heap with garbage.
    pub bytes: Buffer,
    /// Where each line ends in `bytes`. The next one begins one byte later.
    pub ends: Uint32Array,
    /// For each line: where its message begins if it may be a message as pi writes it, see [`message_start`]; otherwise 0.
    pub messages: Uint8Array,
}

impl Lines {
    fn new(bytes: Vec<u8>, ends: Vec<u32>) -> Self {
        let (bytes, ends) = if bytes.is_ascii() { (bytes, ends) } else { escaped(&bytes, &ends) };
        let mut messages = Vec::with_capacity(ends.len());
        let mut start = 0;
        for end in &ends {
            let line = bytes.get(start..*end as usize).unwrap_or_default();
            start = *end as usize + 1;
            messages.push(message_start(line).and_then(|start| u8::try_from(start).ok()).unwrap_or_default());
        }
        Self { bytes: bytes.into(), ends: ends.into(), messages: messages.into() }
    }
}

/// Lines of JSON in ASCII, with the same values. As in pi, bytes that are not UTF-8 become U+FFFD.
fn escaped(bytes: &[u8], ends: &[u32]) -> (Vec<u8>, Vec<u32>) {
    let mut ascii = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    let mut new_ends = Vec::with_capacity(ends.len());
    let mut start = 0;
    for end in ends {
        let line = bytes.get(start..*end as usize).unwrap_or_default();
        start = *end as usize + 1;
        if line.is_ascii() {
            ascii.extend_from_slice(line);
        } else {
            for chunk in line.utf8_chunks() {
                push_escaped(&chunk, &mut ascii);
            }
        }
        new_ends.push(number(ascii.len()));
        ascii.push(b'\n');
    }
    (ascii, new_ends)
}

fn push_escaped(chunk: &Utf8Chunk<'_>, ascii: &mut Vec<u8>) {
    let replaced = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
    for char in chunk.valid().chars().chain(replaced) {
        match u8::try_from(char) {
            Ok(byte) if byte.is_ascii() => ascii.push(byte),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    ascii.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}

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

/// The number of bytes of lines that cross at a time. Node keeps strings over 1 MB out of its heap, so that a batch costs
/// no garbage collection.
const BATCH_BYTES: u64 = 2 * 1024 * 1024;

/// How many rows fit into a batch, and their bytes. A batch has at least one row.
fn batch(rows: &[Row], bytes_of: impl Fn(Row) -> u64) -> (usize, u64) {
    let mut n_bytes = 0;
    for (index, row) in rows.iter().enumerate() {
        let with_row = n_bytes + bytes_of(*row);
        if index > 0 && with_row > BATCH_BYTES {
            return (index, n_bytes);
        }
        n_bytes = with_row;
    }
    (rows.len(), n_bytes)
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
            let mut line = Vec::new();
            manager.copy_lines([manager.row_at(row as usize)?], &mut line, &mut |_| {})?;
            line.pop();
            // As in pi, bytes that are not UTF-8 become U+FFFD.
            Ok(String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
        })
    }

    /// The lines of the first of some rows: of at least one, and of as many as fit into [`BATCH_BYTES`].
    #[napi]
    pub fn lines(&self, rows_wanted: Uint32Array) -> Result<Lines> {
        self.read(|manager| {
            let mut rows = rows(manager, &rows_wanted)?;
            let (n_rows, n_bytes) = batch(&rows, |row| manager.outline().span(row).len + 1);
            rows.truncate(n_rows);
            let mut bytes = Vec::with_capacity(usize::try_from(n_bytes).unwrap_or_default());
            let mut ends = Vec::with_capacity(n_rows);
            manager.copy_lines(rows, &mut bytes, &mut |end| ends.push(number(end)))?;
            Ok(Lines::new(bytes, ends))
        })
    }

    /// What JavaScript needs to make the entries of some rows.
    #[napi]
    pub fn forms(&self, rows_wanted: Uint32Array) -> Result<Forms> {
        self.read(|manager| {
            let (mut kinds, mut heads) = (Vec::with_capacity(rows_wanted.len()), Vec::new());
            let (mut bytes, mut ends) = (Vec::new(), Vec::new());
            manager.visit_entries(rows(manager, &rows_wanted)?, &mut |form| match form {
                EntryForm::Message(message) => {
                    kinds.push(if message.parent.is_some() { 1 } else { 2 });
                    heads.extend_from_slice(message.id);
                    heads.extend_from_slice(message.parent.unwrap_or(b"        "));
                    heads.extend_from_slice(message.timestamp);
                }
                EntryForm::Line(line) => {
                    kinds.push(0);
                    bytes.extend_from_slice(line);
                    ends.push(number(bytes.len()));
                    bytes.push(b'\n');
                }
            })?;
            Ok(Forms { kinds: kinds.into(), heads: heads.into(), lines: Lines::new(bytes, ends) })
        })
    }
}
