//! What is known of the files of other agents, kept between runs.
//!
//! A row is used only if the length and the time of its file are the same. The rows may be deleted at any time.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sessile_agents::{Title, TitleSource};
use sessile_core::date::Timestamp;
use sessile_core::location::path_text;
use sessile_index::bytes::{Reader, Writer};
use sessile_index::{Caches, Kind};
use sessile_store::os::Stat;

use super::agents::ForeignInfo;
use super::stores::ForeignFile;
use crate::world::World;

/// The cache file of this module.
pub(crate) const FOREIGN: Kind = Kind { directory: "agents", tag: *b"AGNT", version: 1, files: &["files"] };

/// The name of the only file.
const NAME: &str = "files";

/// A file that was written less than this before it was read may change again without a change of its time.
const RACY_MS: i64 = 2000;

/// What is known of files.
pub(super) struct Listed {
    caches: Option<Caches>,
    now_ms: i64,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    by_path: HashMap<PathBuf, Row>,
    /// The files that were found this time.
    seen: HashSet<PathBuf>,
    is_changed: bool,
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    size: u64,
    modified_ms: i64,
    head: Option<Head>,
    described: Option<Described>,
}

/// What the beginning of a file says about its session: its id, and that of the session that started it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: Option<String>,
    pub(super) parent: Option<String>,
}

/// What a whole file says about its session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Described {
    /// What was known from elsewhere.
    given: (Option<String>, Option<String>),
    /// `None` if it has no messages.
    info: Option<Info>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Info {
    cwd: Option<String>,
    started: Option<i64>,
    ended: Option<i64>,
    version: Option<String>,
    title: Option<(String, bool)>,
    first_prompt: Option<String>,
    n_messages: u64,
    id: String,
}

impl Listed {
    /// Loads the rows; none if there is no cache, or it is invalid.
    pub(super) fn load(world: &World) -> Self {
        let caches = world.caches();
        let body = caches.as_ref().and_then(|caches| caches.read(FOREIGN, NAME));
        let by_path = body.and_then(|body| decode(&body)).unwrap_or_default();
        let rows = Rows { by_path, ..Rows::default() };
        Self { caches, now_ms: world.os().now_ms(), rows: Mutex::new(rows) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // At worst a row is missing, and its file is read again.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The head of a file: a known one, or the one that `read` finds.
    pub(super) fn head(&self, path: &Path, stat: &Stat, read: impl FnOnce() -> Head) -> Head {
        let known = self.row(path, stat.length, stat.modified_ms, |row| row.head.clone());
        known.unwrap_or_else(|| {
            let head = read();
            self.change(path, stat.length, stat.modified_ms, |row| row.head = Some(head.clone()));
            head
        })
    }

    /// What is known of a file. The outer `None` means that nothing is, the inner one that it has no messages.
    #[expect(clippy::option_option, reason = "a file without messages is known as well")]
    pub(super) fn described(&self, file: &ForeignFile) -> Option<Option<ForeignInfo>> {
        let given = (file.title.clone(), file.cwd.clone());
        self.row(&file.path, file.size, file.modified_ms, |row| {
            let described = row.described.as_ref().filter(|described| described.given == given)?;
            Some(described.info.as_ref().map(|info| info.of(file)))
        })
    }

    /// Notes what a file says.
    pub(super) fn note(&self, file: &ForeignFile, info: Option<&ForeignInfo>) {
        let given = (file.title.clone(), file.cwd.clone());
        let described = Described { given, info: info.map(Info::new) };
        self.change(&file.path, file.size, file.modified_ms, |row| row.described = Some(described));
    }

    fn row<T>(&self, path: &Path, size: u64, modified_ms: i64, get: impl FnOnce(&Row) -> Option<T>) -> Option<T> {
        let mut rows = self.rows();
        rows.seen.insert(path.to_path_buf());
        let row = rows.by_path.get(path).filter(|row| (row.size, row.modified_ms) == (size, modified_ms))?;
        get(row)
    }

    fn change(&self, path: &Path, size: u64, modified_ms: i64, change: impl FnOnce(&mut Row)) {
        if self.now_ms - modified_ms < RACY_MS {
            return;
        }
        let mut rows = self.rows();
        rows.is_changed = true;
        let new = Row { size, modified_ms, head: None, described: None };
        let row = rows.by_path.entry(path.to_path_buf()).or_insert_with(|| new.clone());
        if (row.size, row.modified_ms) != (size, modified_ms) {
            *row = new;
        }
        change(row);
    }

    /// Writes the rows if they have changed. With `is_complete`, those of files that were not found are dropped.
    ///
    /// If they cannot be written, the next list reads the files again.
    pub(super) fn save(&self, is_complete: bool) {
        let mut rows = self.rows();
        let Rows { by_path, seen, is_changed } = &mut *rows;
        if is_complete {
            let n_before = by_path.len();
            by_path.retain(|path, _| seen.contains(path));
            *is_changed |= by_path.len() < n_before;
        }
        if let Some(caches) = self.caches.as_ref().filter(|_| *is_changed) {
            drop(caches.write(FOREIGN, NAME, &encode(by_path)));
        }
    }
}

impl Info {
    fn new(info: &ForeignInfo) -> Self {
        let title = info.title.as_ref().map(|title| (title.text.clone(), title.source == TitleSource::User));
        Self {
            cwd: info.cwd.clone(),
            started: info.started.map(Timestamp::as_ms),
            ended: info.ended.map(Timestamp::as_ms),
            version: info.version.clone(),
            title,
            first_prompt: info.first_prompt.clone(),
            n_messages: info.n_messages as u64,
            id: info.id.as_str().to_owned(),
        }
    }

    fn of(&self, file: &ForeignFile) -> ForeignInfo {
        let title = self.title.as_ref().map(|(text, is_user)| {
            let source = if *is_user { TitleSource::User } else { TitleSource::Generated };
            Title { text: text.clone(), source }
        });
        ForeignInfo {
            file: file.clone(),
            cwd: self.cwd.clone(),
            started: self.started.map(Timestamp::from_ms),
            ended: self.ended.map(Timestamp::from_ms),
            version: self.version.clone(),
            title,
            first_prompt: self.first_prompt.clone(),
            n_messages: usize::try_from(self.n_messages).unwrap_or(usize::MAX),
            id: self.id.as_str().into(),
        }
    }
}

fn put(out: &mut Writer, text: Option<&String>) {
    out.option(text, |out, text| out.bytes(text.as_bytes()));
}

#[expect(clippy::option_option, reason = "as the method that it calls")]
fn get(from: &mut Reader<'_>) -> Option<Option<String>> {
    from.option(Reader::string)
}

fn encode(rows: &HashMap<PathBuf, Row>) -> Vec<u8> {
    let mut out = Writer::default();
    out.number(rows.len() as u64);
    for (path, row) in rows {
        out.bytes(path.as_os_str().as_encoded_bytes());
        out.number(row.size);
        out.signed(row.modified_ms);
        out.option(row.head.as_ref(), |out, head| {
            put(out, head.id.as_ref());
            put(out, head.parent.as_ref());
        });
        out.option(row.described.as_ref(), |out, described| {
            put(out, described.given.0.as_ref());
            put(out, described.given.1.as_ref());
            out.option(described.info.as_ref(), encode_info);
        });
    }
    out.0
}

fn encode_info(out: &mut Writer, info: &Info) {
    put(out, info.cwd.as_ref());
    out.option(info.started, Writer::signed);
    out.option(info.ended, Writer::signed);
    put(out, info.version.as_ref());
    out.option(info.title.as_ref(), |out, (text, is_user)| {
        out.bytes(text.as_bytes());
        out.byte(u8::from(*is_user));
    });
    put(out, info.first_prompt.as_ref());
    out.number(info.n_messages);
    out.bytes(info.id.as_bytes());
}

fn decode(body: &[u8]) -> Option<HashMap<PathBuf, Row>> {
    let mut from = Reader::new(body);
    let n_rows = from.length()?;
    let mut rows = HashMap::new();
    for _ in 0..n_rows {
        let path = PathBuf::from(path_text(from.bytes()?));
        let (size, modified_ms) = (from.number()?, from.signed()?);
        let head = from.option(|from| Some(Head { id: get(from)?, parent: get(from)? }))?;
        let described = from.option(|from| {
            let given = (get(from)?, get(from)?);
            Some(Described { given, info: from.option(decode_info)? })
        })?;
        rows.insert(path, Row { size, modified_ms, head, described });
    }
    from.is_at_end().then_some(rows)
}

fn decode_info(from: &mut Reader<'_>) -> Option<Info> {
    Some(Info {
        cwd: get(from)?,
        started: from.option(Reader::signed)?,
        ended: from.option(Reader::signed)?,
        version: get(from)?,
        title: from.option(|from| Some((from.string()?, from.byte()? != 0)))?,
        first_prompt: get(from)?,
        n_messages: from.number()?,
        id: from.string()?,
    })
}
