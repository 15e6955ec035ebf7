//! How long it takes until an added entry is found.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::Failure;
use crate::engine::{Engine, Query};
use crate::engines::open;

/// How many entries are added.
const N_ENTRIES: usize = 2_000;

/// Adds entries of about 2 KB to the last file, one by one, and returns the milliseconds until each is found.
pub fn append(engine: &str, index: &Path, files: Vec<PathBuf>, is_eager: bool) -> Result<Vec<f64>, Failure> {
    let session = files.last().ok_or("no session to add to")?.clone();
    let mut file = OpenOptions::new().create(true).append(true).open(&session)?;
    if file.metadata()?.len() == 0 {
        writeln!(
            file,
            r#"{{"type":"session","version":3,"id":"added","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/proj/added"}}"#
        )?;
    }
    let mut opened = open_one(engine, index, files, is_eager)?;
    opened.update()?;
    let mut times = Vec::new();
    for number in 0..N_ENTRIES {
        // A word that no entry had before, among two kilobytes of usual ones.
        let word = format!("added{}x{number}", u8::from(is_eager));
        let text: String = (0..300).map(|place| format!("word{} ", (number * 31 + place * 7) % 2_000)).collect();
        writeln!(
            file,
            concat!(
                r#"{{"type":"message","id":"{:08x}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","#,
                r#""message":{{"role":"user","content":"{} {}"}}}}"#
            ),
            number, word, text
        )?;
        let start = Instant::now();
        opened.index_appended()?;
        let n_found = opened.count(&Query::Word(word.clone()))?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if n_found != 1 {
            return Err(format!("{engine}: {word} was found {n_found} times").into());
        }
    }
    Ok(times)
}

#[cfg(feature = "ours")]
fn open_one(engine: &str, index: &Path, files: Vec<PathBuf>, is_eager: bool) -> Result<Box<dyn Engine>, Failure> {
    if engine == "ours" {
        let mut ours = crate::ours::Ours::open(index, files);
        ours.is_eager = is_eager;
        return Ok(Box::new(ours));
    }
    open(engine, index, files)
}

#[cfg(not(feature = "ours"))]
fn open_one(engine: &str, index: &Path, files: Vec<PathBuf>, _: bool) -> Result<Box<dyn Engine>, Failure> {
    open(engine, index, files)
}
