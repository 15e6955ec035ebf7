//! The one way in which a session file is ever replaced.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::place::create_exclusively;

/// How many originals of one instant are kept apart before something must be wrong.
const MAX_ORIGINALS: usize = 1000;

/// What a replacement left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The original, under its new name.
    pub original: PathBuf,
}

/// Swaps in a new version of a file and keeps the original beside it.
///
/// `write` writes the new version, which must cover the first `known` bytes
/// of the old one. It goes to a temporary file, which is synced before it
/// takes the old one's place. The original stays as
/// `<name>.orig-<stamp>`, a name that discovery ignores. What others append to
/// the old file up to the swap is carried over. At every moment the path leads
/// to a complete file.
pub fn replace<E: From<StoreError>>(
    path: &Path,
    known: u64,
    stamp: &str,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<Rewritten, E> {
    let metadata = fs::symlink_metadata(path).map_err(StoreError::io("look at", path))?;
    if !metadata.is_file() {
        return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
    }
    let old = File::open(path).map_err(StoreError::io("open", path))?;
    let temporary = beside(path, ".", &format!(".sessile-tmp-{stamp}"));
    let new = create_exclusively(&temporary)?;
    let finished =
        write_and_sync(&new, &temporary, write).and_then(|()| swap(path, &temporary, stamp).map_err(E::from));
    let original = match finished {
        Ok(original) => original,
        Err(error) => {
            drop(fs::remove_file(&temporary));
            return Err(error);
        }
    };
    carry_over(&old, known, path)?;
    Ok(Rewritten { original })
}

fn write_and_sync<E: From<StoreError>>(
    new: &File,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffered = BufWriter::with_capacity(1 << 20, new);
    write(&mut buffered)?;
    buffered.flush().map_err(StoreError::io("write", path))?;
    new.sync_all().map_err(StoreError::io("sync", path))?;
    Ok(())
}

/// Gives the old file its second name, then lets the new one take the first.
fn swap(path: &Path, temporary: &Path, stamp: &str) -> Result<PathBuf, StoreError> {
    let original = keep_original(path, stamp)?;
    if let Err(error) = fs::rename(temporary, path) {
        drop(fs::remove_file(&original));
        return Err(StoreError::io("replace", path)(error));
    }
    // The swap has happened: what cannot be synced now must not make it look as if it had not.
    drop(sync_directory(path));
    Ok(original)
}

/// Gives a file a second name that no other file has.
fn keep_original(path: &Path, stamp: &str) -> Result<PathBuf, StoreError> {
    let mut suffix = format!(".orig-{stamp}");
    for n_taken in 1.. {
        let original = beside(path, "", &suffix);
        match fs::hard_link(path, &original) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && n_taken < MAX_ORIGINALS => {
                suffix = format!(".orig-{stamp}-{n_taken}");
            }
            Ok(()) => return Ok(original),
            // Not every file system has hard links.
            Err(_) => return copy_original(path, &original).map(|()| original),
        }
    }
    Err(StoreError::Exists { path: path.to_path_buf() })
}

fn copy_original(path: &Path, original: &Path) -> Result<(), StoreError> {
    let mut from = File::open(path).map_err(StoreError::io("open", path))?;
    let mut to = create_exclusively(original)?;
    let copied = std::io::copy(&mut from, &mut to).and_then(|_| to.sync_all());
    copied.map_err(|error| {
        drop(fs::remove_file(original));
        StoreError::io("keep the original of", path)(error)
    })
}

/// Appends to the new file what others appended to the old one after it was read.
fn carry_over(old: &File, known: u64, path: &Path) -> Result<(), StoreError> {
    let length = old.metadata().map_err(StoreError::io("look at", path))?.len();
    if length <= known {
        return Ok(());
    }
    let mut late = vec![0; usize::try_from(length - known).unwrap_or(usize::MAX)];
    old.read_exact_at(&mut late, known).map_err(StoreError::io("read", path))?;
    let mut options = fs::OpenOptions::new();
    let mut new = options.append(true).open(path).map_err(StoreError::io("open for writing", path))?;
    new.write_all(&late).map_err(StoreError::io("append to", path))
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let handle = File::open(directory).map_err(StoreError::io("open", directory))?;
    handle.sync_all().map_err(StoreError::io("sync", directory))
}

fn beside(path: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}
