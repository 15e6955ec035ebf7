//! Answers that are files, or sets of sessions.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Failure, failed};
use crate::digest::{Digest, digest_of};

/// Returns the digest of a session without its header, which contains the time and place of its creation.
pub(super) fn below_the_header(path: &Path) -> Result<String, Failure> {
    let cannot = || format!("read {}", path.display());
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed(cannot()))?);
    file.skip_until(b'\n').map_err(failed(cannot()))?;
    let mut digest = Digest::default();
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        piece.clear();
        // Chunks of a fixed length, so that the same bytes give the same digest.
        file.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(failed(cannot()))?;
        if piece.is_empty() {
            return Ok(digest.finish());
        }
        digest.field(&piece);
    }
}

/// The number of bytes hashed at a time.
const PIECE: usize = 1 << 20;

/// Returns the digest of an upgraded session, with ids replaced by entry numbers, because ids are random.
pub(super) fn with_indices_for_ids(path: &Path, n_last_left_out: usize) -> Result<String, Failure> {
    let cannot = || format!("read {}", path.display());
    let file = BufReader::new(File::open(path).map_err(failed(cannot()))?);
    let mut indices: HashMap<String, usize> = HashMap::new();
    let mut entries = Vec::new();
    for (index, line) in file.lines().enumerate() {
        let line = line.map_err(failed(cannot()))?;
        let mut entry: Value =
            serde_json::from_str(&line).map_err(|error| Failure(format!("{}: {error}", cannot())))?;
        if index > 0
            && let Some(id) = entry["id"].as_str()
        {
            indices.insert(id.to_owned(), index);
        }
        for key in ["id", "parentId", "firstKeptEntryId"] {
            if let Some(known) = entry[key].as_str().and_then(|id| indices.get(id)) {
                entry[key] = (*known).into();
            }
        }
        entries.push(entry.to_string());
    }
    let n_kept = entries.len().saturating_sub(n_last_left_out);
    Ok(entries[..n_kept].iter().fold(Digest::default(), |mut all, entry| all.field(entry).clone()).finish())
}

/// Returns the digest of a set of paths.
pub(super) fn of_paths(paths: impl IntoIterator<Item = PathBuf>) -> String {
    let sorted: BTreeSet<PathBuf> = paths.into_iter().collect();
    let text: Vec<String> = sorted.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    digest_of(text.join("\n"))
}

/// Appends bytes to a file, as another program would.
pub(super) fn append(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let file = File::options().append(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(failed(format_args!("append to {}", path.display())))
}

/// Returns the id of the last entry of a session, to continue from there.
pub(super) fn last_id(path: &Path) -> Result<String, Failure> {
    let cannot = || format!("read the end of {}", path.display());
    let mut file = File::open(path).map_err(failed(cannot()))?;
    let length = file.metadata().map_err(failed(cannot()))?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4 << 20))).map_err(failed(cannot()))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).map_err(failed(cannot()))?;
    let line = end.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let entry: Value = serde_json::from_slice(line).map_err(|error| Failure(format!("{}: {error}", cannot())))?;
    entry["id"].as_str().map(str::to_owned).ok_or_else(|| Failure(format!("{}: no id", cannot())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_do_not_count_and_ids_are_indices() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            path
        };
        let one = file("one", "{\"id\":\"h\"}\n{\"id\":\"a\",\"parentId\":null}\n{\"id\":\"b\",\"parentId\":\"a\"}\n");
        let two = file(
            "two",
            "{\"id\":\"h\"}\n{\"id\":\"x\",\"parentId\":null}\n{\"id\":\"y\",\"parentId\":\"x\"}\n{\"id\":\"z\"}\n",
        );
        assert_eq!(with_indices_for_ids(&one, 0).unwrap(), with_indices_for_ids(&two, 1).unwrap());
        assert_ne!(with_indices_for_ids(&one, 0).unwrap(), with_indices_for_ids(&two, 0).unwrap());
        let three =
            file("three", "another header\n{\"id\":\"a\",\"parentId\":null}\n{\"id\":\"b\",\"parentId\":\"a\"}\n");
        assert_eq!(below_the_header(&one).unwrap(), below_the_header(&three).unwrap());
        assert_eq!((last_id(&one).unwrap().as_str(), last_id(&two).unwrap().as_str()), ("b", "z"));
    }
}
