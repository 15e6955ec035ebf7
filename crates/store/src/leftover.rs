//! Files that interrupted programs and rewrites leave beside sessions, recognised by name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use sessile_core::location::path_text;

use crate::guard::has_guard;
use crate::lock::current_writer;
use crate::os::{FileKind, Lock, Mode, Os, Stat};

/// The kinds of leftover files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftoverKind {
    /// A file that was being written when its writer ended.
    Temporary,
    /// The version of a session before it was rewritten.
    Original,
    /// The lock of a session.
    Lock,
    /// The guard of a session.
    Guard,
}

impl LeftoverKind {
    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Temporary => "temporary",
            Self::Original => "original",
            Self::Lock => "lock",
            Self::Guard => "guard",
        }
    }
}

/// A name pattern: prefix and suffix around the name of the file that it belongs to.
struct Shape {
    kind: LeftoverKind,
    before: &'static [u8],
    after: &'static [u8],
    /// Whether a stamp, such as a time or a process id, follows.
    has_stamp: bool,
}

/// All names of leftover files. Code that creates such a file must list its name pattern here.
const SHAPES: [Shape; 5] = [
    Shape { kind: LeftoverKind::Temporary, before: b".", after: b".sessile-tmp-", has_stamp: true },
    Shape { kind: LeftoverKind::Temporary, before: b".", after: b".sessile-guard-new", has_stamp: false },
    Shape { kind: LeftoverKind::Original, before: b"", after: b".jsonl.orig-", has_stamp: true },
    Shape { kind: LeftoverKind::Lock, before: b".", after: b".sessile-lock", has_stamp: false },
    Shape { kind: LeftoverKind::Guard, before: b".", after: b".sessile-guard", has_stamp: false },
];

/// A leftover file, recognised by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The path.
    pub path: PathBuf,
    /// The kind of file.
    pub kind: LeftoverKind,
    /// The file it was made for.
    pub of: PathBuf,
    /// The rest of its name: when or by which process it was made.
    stamp: String,
    /// The file's metadata.
    pub stat: Stat,
}

/// Finds leftover files in a directory, sorted by name. Links are not followed.
///
/// A directory that cannot be listed yields an empty list.
pub fn find_leftovers(os: &dyn Os, directory: &Path) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = os
        .list(directory)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|path| {
            let (kind, of, stamp) = read_name(path.file_name()?)?;
            let stat = os.link_stat(&path).ok().filter(|stat| stat.kind == FileKind::Regular && stat.is_own)?;
            Some(Leftover { of: path.with_file_name(of), path, kind, stamp, stat })
        })
        .collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn read_name(name: &OsStr) -> Option<(LeftoverKind, OsString, String)> {
    SHAPES.iter().find_map(|shape| {
        let rest = name.as_encoded_bytes().strip_prefix(shape.before)?;
        let at = memchr::memmem::rfind(rest, shape.after)?;
        let (of, stamp) = (rest.get(..at)?, rest.get(at + shape.after.len()..)?);
        if of.is_empty() || stamp.is_empty() == shape.has_stamp {
            return None;
        }
        let mut of = of.to_vec();
        if shape.kind == LeftoverKind::Original {
            of.extend_from_slice(b".jsonl");
        }
        Some((shape.kind, path_text(&of).to_owned(), String::from_utf8_lossy(stamp).into_owned()))
    })
}

impl Leftover {
    /// Whether a process may still need it, as far as can be determined: its writer is running, another process is
    /// writing to the session, or it is the lock or guard of an existing session.
    pub fn is_in_use(&self, os: &dyn Os) -> bool {
        match self.kind {
            LeftoverKind::Temporary => {
                self.writer().is_some_and(|pid| os.is_running(pid)) || current_writer(os, &self.of).is_some()
            }
            LeftoverKind::Original => current_writer(os, &self.of).is_some(),
            // A name that cannot be examined may exist.
            LeftoverKind::Lock | LeftoverKind::Guard => {
                let is_gone = os.link_stat(&self.of).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
                !is_gone || current_writer(os, &self.of).is_some()
            }
        }
    }

    /// Whether it holds lines of a session that may exist nowhere else.
    pub fn has_lines(&self, os: &dyn Os) -> bool {
        match self.kind {
            LeftoverKind::Original => true,
            LeftoverKind::Guard => has_guard(os, &self.of),
            LeftoverKind::Temporary | LeftoverKind::Lock => false,
        }
    }

    /// Removes it, unless it has changed since it was found or a process uses it by now.
    pub fn remove(&self, os: &dyn Os) -> std::io::Result<bool> {
        let now = os.link_stat(&self.path)?;
        let is_same = now.identity == self.stat.identity && now.modified_ms == self.stat.modified_ms;
        if !is_same || self.is_in_use(os) {
            return Ok(false);
        }
        if self.kind == LeftoverKind::Lock {
            let file = os.open(&self.path, Mode::Read)?;
            if !file.try_lock(Lock::Exclusive)? {
                return Ok(false);
            }
            // A process that opens it now waits for this lock, and then sees that the name is gone.
            os.remove(&self.path)?;
            return Ok(true);
        }
        os.remove(&self.path)?;
        Ok(true)
    }

    /// Returns the process id in its name: the first number that can be one.
    fn writer(&self) -> Option<u32> {
        const LARGEST: u32 = 1 << 22;
        let numbers = self.stamp.split('-').filter_map(|part| part.parse::<u32>().ok());
        numbers.into_iter().find(|number| (2..=LARGEST).contains(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_recognised_by_name() {
        let read =
            |name: &str| read_name(OsStr::new(name)).map(|(kind, of, stamp)| (kind, of.into_string().unwrap(), stamp));
        let some = |kind, of: &str, stamp: &str| Some((kind, of.to_owned(), stamp.to_owned()));
        assert_eq!(read(".s.jsonl.sessile-tmp-12-0"), some(LeftoverKind::Temporary, "s.jsonl", "12-0"));
        assert_eq!(read(".out.md.sessile-tmp-2026"), some(LeftoverKind::Temporary, "out.md", "2026"));
        assert_eq!(read(".s.jsonl.sessile-guard-new"), some(LeftoverKind::Temporary, "s.jsonl", ""));
        assert_eq!(read("s.jsonl.orig-2026-1"), some(LeftoverKind::Original, "s.jsonl", "2026-1"));
        assert_eq!(read(".s.jsonl.sessile-lock"), some(LeftoverKind::Lock, "s.jsonl", ""));
        assert_eq!(read(".s.jsonl.sessile-guard"), some(LeftoverKind::Guard, "s.jsonl", ""));
        for name in ["s.jsonl", "notes.orig-1", ".sessile-lock", ".sessile-tmp-1", "x.sessile-lock", "s.jsonl.orig-"] {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
