//! SQLite's FTS5 with our tokens: a contentless table of words, and a table that says where an entry is.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use rusqlite::{Connection, params};
use sessile_core::search::token::{TokenKind, Tokenizer};

use crate::Failure;
use crate::corpus::{Document, read_documents};
use crate::engine::{COMMIT, Engine, Hit, Query};

/// Separates texts, so that no phrase spans two of them. FTS5 takes private characters for letters.
const GAP: &str = " \u{e000} ";

pub struct Fts5 {
    connection: Connection,
    files: Vec<PathBuf>,
}

/// An entry as it goes into the table.
struct IndexedEntry {
    document: Document,
    words: String,
    wholes: String,
}

enum Step {
    Entry(Box<IndexedEntry>),
    /// A file is complete up to this offset; this many bytes were new.
    End(usize, u64, u64),
}

impl Fts5 {
    pub fn open(path: &Path, files: Vec<PathBuf>) -> Result<Self, Failure> {
        let connection = Connection::open(path.join("index.sqlite"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
             CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
                 text, whole, content = '', tokenize = 'unicode61 remove_diacritics 0');
             CREATE TABLE IF NOT EXISTS entries(
                 id INTEGER PRIMARY KEY, file INTEGER, offset INTEGER, length INTEGER, time INTEGER, kind INTEGER);
             CREATE TABLE IF NOT EXISTS covered(file INTEGER PRIMARY KEY, end INTEGER);",
        )?;
        Ok(Self { connection, files })
    }

    fn index(&mut self, indices: std::ops::Range<usize>) -> Result<(), Failure> {
        let mut ends = vec![0u64; self.files.len()];
        {
            let mut covered = self.connection.prepare_cached("SELECT file, end FROM covered")?;
            let mut rows = covered.query([])?;
            while let Some(row) = rows.next()? {
                ends[row.get::<_, usize>(0)?] = row.get(1)?;
            }
        }
        let files = &self.files;
        let connection = &self.connection;
        if indices.len() == 1 {
            // A thread would cost more than it saves.
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let file = indices.start;
            let mut tokenizer = Tokenizer::default();
            let end = read_documents(&files[file], u32::try_from(file)?, ends[file], &mut |document| {
                put(connection, &row(&mut tokenizer, document))
            })?;
            cover(connection, file, end)?;
            connection.execute_batch("COMMIT")?;
            return Ok(());
        }
        // One thread reads and splits into words, the other writes.
        let (send, receive) = sync_channel::<Step>(256);
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || -> Result<(), Failure> {
                let mut tokenizer = Tokenizer::default();
                for file in indices {
                    let end = read_documents(&files[file], u32::try_from(file)?, ends[file], &mut |document| {
                        Ok(send.send(Step::Entry(Box::new(row(&mut tokenizer, document))))?)
                    })?;
                    if end > ends[file] {
                        send.send(Step::End(file, end, end - ends[file]))?;
                    }
                }
                Ok(())
            });
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let mut n_since = 0;
            for step in receive {
                match step {
                    Step::Entry(row) => put(connection, &row)?,
                    Step::End(file, end, n_bytes) => {
                        cover(connection, file, end)?;
                        n_since += n_bytes;
                        if n_since >= COMMIT {
                            connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
                            n_since = 0;
                        }
                    }
                }
            }
            connection.execute_batch("COMMIT")?;
            reader.join().map_err(|_| "the reader panicked")?
        })
    }

    fn hits(&self, sql: &str, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![matching(query), limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn row(tokenizer: &mut Tokenizer, document: Document) -> IndexedEntry {
    let (mut words, mut wholes) = (String::new(), String::new());
    for text in &document.texts {
        tokenizer.run(text, |token| {
            let to = if token.kind == TokenKind::Whole { &mut wholes } else { &mut words };
            to.push_str(std::str::from_utf8(token.term).unwrap_or_default());
            to.push(' ');
            true
        });
        words.push_str(GAP);
    }
    IndexedEntry { document, words, wholes }
}

fn put(connection: &Connection, IndexedEntry { document, words, wholes }: &IndexedEntry) -> Result<(), Failure> {
    let Document { file, offset, length, time, kind, .. } = document;
    connection
        .prepare_cached("INSERT INTO entries(file, offset, length, time, kind) VALUES (?, ?, ?, ?, ?)")?
        .execute(params![file, offset, length, time, kind])?;
    connection
        .prepare_cached("INSERT INTO words(rowid, text, whole) VALUES (last_insert_rowid(), ?, ?)")?
        .execute(params![words, wholes])?;
    Ok(())
}

fn cover(connection: &Connection, file: usize, end: u64) -> Result<(), Failure> {
    connection.prepare_cached("INSERT OR REPLACE INTO covered VALUES (?, ?)")?.execute(params![file, end])?;
    Ok(())
}

fn matching(query: &Query) -> String {
    match query {
        Query::Word(word) => format!("\"{word}\""),
        Query::All(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" AND "),
        Query::Phrase(words) => format!("text : \"{}\"", words.join(" ")),
        Query::Prefix(prefix) => format!("\"{prefix}\" *"),
    }
}

impl Engine for Fts5 {
    fn update(&mut self) -> Result<(), Failure> {
        self.index(0..self.files.len())
    }

    fn index_appended(&mut self) -> Result<(), Failure> {
        self.index(self.files.len() - 1..self.files.len())
    }

    fn count(&mut self, query: &Query) -> Result<usize, Failure> {
        let mut statement = self.connection.prepare_cached("SELECT count(*) FROM words WHERE words MATCH ?")?;
        Ok(statement.query_row([matching(query)], |row| row.get(0))?)
    }

    fn best(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        let sql =
            "SELECT file, offset FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?) AS found
                   JOIN entries ON entries.id = found.rowid";
        self.hits(sql, query, limit)
    }

    fn newest(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        let sql = "SELECT file, offset FROM
                   (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?) AS found
                   JOIN entries ON entries.id = found.rowid";
        self.hits(sql, query, limit)
    }
}
