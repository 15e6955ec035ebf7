//! Repairing a session: restores records, marks incomplete ones, and changes nothing else.
//!
//! The new file is computed completely before a byte is written: it is
//! compared with the old one entry by entry and examined like any other. Only
//! then does it replace the old file, which is kept beside it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_core::date::to_iso;
use sessile_core::line::Span;
use sessile_core::outline::Outline;
use sessile_core::verify::{Code, Finding};
use sessile_store::os::FileKind;
use sessile_store::{Busy, FileLog, Log, LogName, StoreError, Turn, WriteOptions, make_private, replace};

use crate::directory::{CwdFilter, absolute};
use crate::error::SessionError;
use crate::journal::rewriting;
use crate::list::{identified, read_header};
use crate::operations::Stray;
use crate::record::{OperationKind, SessionLocation};
use crate::sessions::Sessions;
use crate::splice::{Spliced, Stored, Text, write};
use crate::verify::{Examined, RecordFate, StandsFor, examine, exposure, vanished};
use crate::world::World;

/// How to repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Report what would be done, and do nothing.
    pub dry_run: bool,
    /// Remove other users' access to the file and its directory.
    pub permissions: bool,
}

/// The result of a repair or a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The file.
    pub path: PathBuf,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// The changes in file order; empty if there was nothing to repair.
    pub changes: Vec<Change>,
    /// The remaining findings.
    pub left: Vec<Finding>,
    /// The path of the original, if the file was replaced.
    pub original: Option<PathBuf>,
}

/// The result of removing other users' access, or of a dry run.
#[derive(Debug, Default)]
pub struct AccessReport {
    /// The number of sessions checked.
    pub n_sessions: usize,
    /// The sessions that other users could access, with the changes.
    pub repairs: Vec<Repair>,
    /// The errors for sessions that could not be changed.
    pub failed: Vec<SessionError>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The finding that it repairs.
    pub code: Code,
    /// The line of the file before the repair, counted from 1.
    pub line: u64,
    /// The byte offset in the file before the repair.
    pub offset: u64,
    /// What was done.
    pub message: String,
}

impl Sessions {
    /// Repairs a session as far as possible.
    ///
    /// Complete records in damaged lines get their own lines, at their position, byte for byte. An entry that is marked
    /// as incomplete, and is not in the context, replaces each incomplete record and each parent that is missing from
    /// the file. A file of entries without a header gets a new one. The original is kept beside the file as
    /// `<name>.orig-<stamp>`. A file with nothing to repair is not touched, so a second repair does nothing.
    pub fn repair(&self, path: impl AsRef<Path>, options: RepairOptions) -> Result<Repair, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        refuse_links(&self.world, &path)?;
        if let Some(stray) = self.stray(&path)? {
            return self.append_stray(stray, options.dry_run);
        }
        let mut turn = self.turn(&path, options.dry_run)?;
        let restored = turn.as_mut().map(|turn| put_back(&self.world, turn)).transpose()?.flatten();
        let log = FileLog::open(&self.world.os, path.clone(), self.world.writing)?;
        let stored = Stored::new(&log)?;
        let examined = examine(&self.world, &path, &stored)?;
        if let Some(caches) = self.world.caches() {
            caches.check_outline(&path);
        }
        let mut repair = Repair {
            dry_run: options.dry_run,
            changes: Vec::new(),
            left: exposure(&self.world, &path)?,
            original: None,
            path,
        };
        repair.changes.extend(restored);
        if options.dry_run {
            let vanished = vanished(&self.world, &repair.path)?;
            repair.changes.extend(vanished.restorable.map(|finding| change(finding.code, 1, 0, finding.message)));
            repair.left.extend(vanished.expired);
        }
        if options.permissions && !repair.left.is_empty() {
            repair.restrict(&self.world)?;
        }
        if examined.is_repairable() {
            let path = repair.path.clone();
            let changes =
                apply_repairs(&self.world, &path, &stored, &examined, MAX_PASSES, &mut |lossy_utf8, result| {
                    // Replace the file only after the permissions are set, so that the kept original is private too.
                    if !options.dry_run {
                        repair.original = Some(swap(&self.world, &path, &log, &stored, lossy_utf8)?);
                    }
                    repair.left.extend(result.findings);
                    Ok(())
                })?;
            repair.changes.extend(changes);
        } else {
            repair.left.extend(examined.findings);
        }
        if let Some(turn) = &mut turn {
            turn.end_turn();
        }
        Ok(repair)
    }

    /// Appends the entries of a stray file to the session they belong to.
    fn append_stray(&self, stray: Stray, dry_run: bool) -> Result<Repair, SessionError> {
        let words = format!("{}: appended to that session", stray.words());
        let reunited = if dry_run { None } else { self.reunite(&stray.path)? };
        let changes = vec![change(Code::NoHeader, 1, 0, words)];
        Ok(Repair {
            path: stray.path,
            dry_run,
            changes,
            left: Vec::new(),
            original: reunited.map(|reunited| reunited.kept),
        })
    }

    /// Removes other users' access to the sessions of a working directory, or to all, and to their directories.
    /// Changes nothing else.
    ///
    /// A failure for one file does not affect the others.
    pub fn restrict_access(
        &self,
        cwd: Option<&Path>,
        dry_run: bool,
        cancel: &Cancel,
    ) -> Result<AccessReport, SessionError> {
        let mut restricted = AccessReport::default();
        // Report a directory with the first of its files, as if the files were handled one by one.
        let mut reported_directories = HashSet::new();
        for path in self.files_of(cwd)? {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            restricted.n_sessions += 1;
            match self.restrict_one(path, dry_run, &mut reported_directories) {
                Ok(repair) => restricted.repairs.extend(repair),
                Err(error) => restricted.failed.push(error),
            }
        }
        Ok(restricted)
    }

    fn restrict_one(
        &self,
        path: PathBuf,
        dry_run: bool,
        reported_directories: &mut HashSet<PathBuf>,
    ) -> Result<Option<Repair>, SessionError> {
        let left = exposure(&self.world, &path)?;
        if left.is_empty() {
            return Ok(None);
        }
        let is_first = path.parent().is_none_or(|directory| reported_directories.insert(directory.to_path_buf()));
        if !is_first && !left.iter().any(Finding::counts) {
            return Ok(None);
        }
        refuse_links(&self.world, &path)?;
        let mut repair = Repair { path, dry_run, changes: Vec::new(), left, original: None };
        repair.restrict(&self.world)?;
        Ok(Some(repair))
    }

    /// The files of a working directory's sessions, or of all.
    fn files_of(&self, cwd: Option<&Path>) -> Result<Vec<PathBuf>, SessionError> {
        let world = &self.world;
        let (directories, filter) = match cwd {
            Some(cwd) => (vec![world.session_dir_of(cwd)], world.filter_of(cwd)),
            None => (world.session_dirs()?, CwdFilter::All),
        };
        let mut files = Vec::new();
        for directory in directories {
            files.extend(identified(&self.world, &directory, &filter)?.into_iter().map(|session| session.path));
        }
        Ok(files)
    }

    /// Takes the session's lock for the repair.
    fn turn(&self, path: &Path, is_dry_run: bool) -> Result<Option<FileLog>, SessionError> {
        if is_dry_run {
            return Ok(None);
        }
        // Never repair while another process writes, whatever the caller's options are.
        let busy = Busy::Fail(LOCK_TIMEOUT);
        let mut log = FileLog::open(&self.world.os, path, WriteOptions { busy, ..self.world.writing })?;
        match log.begin_turn()? {
            Turn::Ours => Ok(Some(log)),
            // Locks are not available here, so no other process holds one either.
            Turn::Unlocked => Ok(None),
        }
    }
}

/// Refuses to rewrite a link, even in a dry run.
pub(crate) fn refuse_links(world: &World, path: &Path) -> Result<(), SessionError> {
    let stat = world.os().link_stat(path).map_err(|source| StoreError::io_at("access", path, source))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
    }
    Ok(())
}

/// How long a repair waits for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Restores acknowledged entries that have vanished, and reports that.
fn put_back(world: &World, turn: &mut FileLog) -> Result<Option<Change>, SessionError> {
    let Some(finding) = vanished(world, turn.path())?.restorable else { return Ok(None) };
    turn.recover()?;
    Ok(Some(change(finding.code, 1, 0, format!("{}: restored", finding.message))))
}

impl Repair {
    /// Removes other users' access to the file and its directory.
    fn restrict(&mut self, world: &World) -> Result<(), SessionError> {
        if !self.dry_run {
            make_private(world.os(), &self.path)?;
        }
        let restricted = |finding: Finding| {
            change(finding.code, 1, 0, format!("{}: access for other users is removed", finding.message))
        };
        self.changes.extend(self.left.drain(..).map(restricted));
        Ok(())
    }
}

fn change(code: Code, line: u64, offset: u64, message: String) -> Change {
    Change { code, line, offset, message }
}

/// Descriptions of the planned changes.
fn planned_changes(examined: &Examined) -> Vec<Change> {
    let original_position = |line, offset| match &examined.heading {
        Some(heading) => heading.before(line, offset),
        None => (line, offset),
    };
    let heading = examined.heading.as_ref();
    let heading = heading.map(|heading| change(Code::NoHeader, 1, 0, heading.done.clone()));
    let mark =
        examined.drops_mark.then(|| change(Code::ByteOrderMark, 1, 0, "the byte order mark is removed".to_owned()));
    let hidden = examined.hidden().map(|found| {
        let id = &found.id;
        let message = match (found.fate, found.is_header) {
            (RecordFate::IsCopy, _) => format!("the duplicate of record {id} is removed"),
            (_, true) => format!("header {id} gets its own line"),
            (_, false) => format!("record {id} gets its own line"),
        };
        (examined.code_at(found.line).unwrap_or(Code::Fused), found.line, found.at.offset, message)
    });
    let marks = examined.marks.iter().map(|mark| {
        let id = &mark.id;
        let message = match mark.stands_for {
            StandsFor::Record => format!("the remains of record {id} are kept as an incomplete record"),
            StandsFor::Remainder => format!("the remains of the line are kept as incomplete record {id}"),
            StandsFor::Lost => format!("an incomplete record replaces the lost entry {id}"),
        };
        (mark.code, mark.line, mark.at.offset, message)
    });
    let mut changes: Vec<_> = hidden.chain(marks).collect();
    changes.sort_by_key(|(_, _, offset, _)| *offset);
    let changes = changes.into_iter().map(|(code, line, offset, message)| {
        let (line, offset) = original_position(line, offset);
        change(code, line, offset, message)
    });
    heading.into_iter().chain(mark).chain(changes).collect()
}

/// The maximum number of passes. A pass may uncover damage that needs another pass.
const MAX_PASSES: usize = 8;

/// Repairs a text until there is nothing left to repair, and calls `finish` with the result. Returns the changes.
fn apply_repairs(
    world: &World,
    path: &Path,
    text: &dyn Text,
    examined: &Examined,
    n_passes: usize,
    finish: &mut dyn FnMut(&dyn Text, Examined) -> Result<(), SessionError>,
) -> Result<Vec<Change>, SessionError> {
    let headed = Spliced::new(text, examined.heading_splices());
    let lossy_utf8 = Spliced::new(&headed, &examined.splices);
    let result = check(world, path, (&headed, examined), &lossy_utf8)?;
    let mut changes = planned_changes(examined);
    if !result.is_repairable() {
        finish(&lossy_utf8, result)?;
    } else if n_passes > 1 {
        for later in apply_repairs(world, path, &lossy_utf8, &result, n_passes - 1, finish)? {
            let offset = headed.offset_below(lossy_utf8.offset_below(later.offset));
            changes.push(Change { line: line_at(text, offset)?, offset, ..later });
        }
    } else {
        let what = "there would still be something to repair";
        return Err(SessionError::RepairFailed { path: path.to_path_buf(), what });
    }
    Ok(changes)
}

/// The number of the line at an offset, counted from 1.
fn line_at(text: &dyn Text, offset: u64) -> Result<u64, StoreError> {
    let mut line = 1;
    text.chunks(Span { offset: 0, len: offset }, &mut |chunk| {
        line += memchr::memchr_iter(b'\n', chunk).count() as u64;
        Ok(())
    })?;
    Ok(line)
}

/// Checks that the new text contains everything in the old one, plus what was planned.
fn check(
    world: &World,
    path: &Path,
    (old, examined): (&dyn Text, &Examined),
    new: &dyn Text,
) -> Result<Examined, SessionError> {
    let wrong = |what| SessionError::RepairFailed { path: path.to_path_buf(), what };
    let result = examine(world, path, new)?;
    let before = prints(old, &examined.outline)?;
    let back = examined.hidden().filter(|found| found.fate == RecordFate::ComesBack);
    let back = back.map(|found| (found.at.offset, 1, print(&found.bytes)));
    let marks = examined.marks.iter().map(|mark| (mark.at.offset, 0, print(&mark.text)));
    let mut written: Vec<_> = back.chain(marks).collect();
    // A mark for a missing parent precedes the record that names it.
    written.sort_by_key(|(offset, order, _)| (*offset, *order));
    let mut before = before.into_iter().peekable();
    let mut written = written.into_iter().map(|(.., print)| print).peekable();
    for after in prints(new, &result.outline)? {
        let is_known = before.next_if_eq(&after).is_some() || written.next_if_eq(&after).is_some();
        if !is_known {
            return Err(wrong("an entry would change"));
        }
    }
    if before.next().is_some() || written.next().is_some() {
        return Err(wrong("an entry would be missing"));
    }
    Ok(result)
}

/// A fingerprint of the bytes of each row.
fn prints(text: &dyn Text, outline: &Outline) -> Result<Vec<u64>, StoreError> {
    outline.rows().map(|row| text.read(outline.span(row)).map(|line| print(&line))).collect()
}

fn print(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.trim_ascii().hash(&mut hasher);
    hasher.finish()
}

/// Replaces the file with the new text, and returns the path of the original.
fn swap(world: &World, path: &Path, log: &dyn Log, old: &dyn Text, new: &dyn Text) -> Result<PathBuf, SessionError> {
    let stamp = to_iso(world.environment().now()).replace([':', '.'], "-");
    let id = read_header(world, path).map(|header| header.id()).unwrap_or_default();
    let location = SessionLocation { path: path.to_path_buf(), id };
    let replaced = rewriting(world, Some(OperationKind::Repair), location, &stamp, || {
        replace(&world.os, path, old.length(), &stamp, &mut |out| {
            // If another file has replaced it by now, this fails, and that file stays.
            let actual = log.length()?;
            if actual < old.length() {
                let (path, expected) = (path.to_path_buf(), old.length());
                return Err(StoreError::Truncated { log: LogName::File(path), expected, actual }.into());
            }
            write(new, out, path).map_err(SessionError::from)
        })
    })?;
    Ok(replaced.original)
}
