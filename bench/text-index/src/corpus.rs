//! The sessions, and the texts that every engine gets from them.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr_iter;
use sessile_core::search::score::seconds;
use sessile_core::search::texts::{Texts, read_texts};

use crate::Failure;

/// An entry with text.
#[derive(Debug, Default)]
pub struct Document {
    /// The index of its session among the files.
    pub file: u32,
    /// Where its line begins and how long it is.
    pub offset: u64,
    pub length: u32,
    /// When it was written, in seconds.
    pub time: u32,
    pub kind: u8,
    pub texts: Vec<String>,
}

impl Texts for Document {
    fn text(&mut self, text: &str) {
        self.texts.push(text.to_owned());
    }

    fn tool(&mut self, _: &str) {}

    fn model(&mut self, _: &str) {}
}

/// Returns the session files of a store, in order.
pub fn sessions(store: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for folder in fs::read_dir(store.join("sessions"))? {
        for file in fs::read_dir(folder?.path())? {
            files.push(file?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    Ok(files)
}

/// Calls `on_document` for the entries of a session from an offset, and returns where its last whole line ends.
pub fn read_documents(
    path: &Path,
    file: u32,
    from: u64,
    on_document: &mut dyn FnMut(Document) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut bytes = Vec::new();
    let mut opened = File::open(path)?;
    opened.seek(SeekFrom::Start(from))?;
    opened.read_to_end(&mut bytes)?;
    let mut start = 0;
    for end in memchr_iter(b'\n', &bytes) {
        let line = &bytes[start..end];
        let offset = from + start as u64;
        start = end + 1;
        // The header.
        if offset == 0 {
            continue;
        }
        let mut document = Document { file, offset, length: u32::try_from(line.len())?, ..Document::default() };
        if let Some(read) = read_texts(line, &mut document).filter(|_| !document.texts.is_empty()) {
            document.time = seconds(read.time);
            document.kind = read.kind.code();
            on_document(document)?;
        }
    }
    Ok(from + start as u64)
}
