//! Finds what is wrong with sessions.
//!
//! One function decides what is wrong and how to repair it: `verify` reports
//! its findings, `repair` applies them and examines the result, so the two
//! cannot disagree.

pub use sessile_core::headerless::Headerless;
pub use sessile_core::verify::{Code, Finding, Remedy};

mod damage;
mod examine;
mod heading;
mod marks;
mod skipped;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
use sessile_core::date::Timestamp;
use sessile_core::diagnostic::Severity;
use sessile_core::json::Json;
use sessile_core::location::encode_cwd;
use sessile_store::{FileLog, FoundFile, find_sessions, missing_lines, permissions, subdirectories};

use crate::directory::{absolute, default_session_dir};
use crate::error::SessionError;
use crate::list::{Candidate, Copies, read_header};
use crate::sessions::Sessions;
use crate::splice::Stored;
use crate::world::World;
pub(crate) use damage::RecordFate;
pub(crate) use examine::outline_of;
pub(crate) use examine::{Examined, examine};
pub(crate) use marks::StandsFor;

/// The findings for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// The findings in file order; empty if there is nothing to report.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether there are only notes, if anything.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::counts)
    }
}

/// A complete record in a damaged line. It is not an entry until repair gives it its own line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenRecord {
    /// The line it begins on, counted from 1.
    pub line: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// The record.
    pub record: Json,
}

/// The result for one of many sessions: see [`Sessions::verify_all`].
pub struct Verified<'v> {
    /// Its file, or a directory that could not be listed.
    pub path: &'v Path,
    /// The findings.
    pub report: Result<Report, SessionError>,
    /// The number of bytes of sessions verified so far.
    pub n_done: u64,
    /// The total number of bytes.
    pub n_bytes: u64,
}

impl Sessions {
    /// Finds everything that is wrong with a session. Changes nothing.
    pub fn verify(&self, path: impl AsRef<Path>) -> Result<Report, SessionError> {
        self.verify_beside(path.as_ref(), &mut Neighbours::default())
    }

    /// Verifies all sessions, and calls `on_verified` with each result.
    ///
    /// A file that cannot be read, or is not a session, does not affect the others. If several files hold the same
    /// session, all but one are reported as copies of that one.
    pub fn verify_all(&self, cancel: &Cancel, on_verified: &mut dyn FnMut(Verified<'_>)) -> Result<(), SessionError> {
        let listed: Vec<_> = (self.world.session_dirs()?.into_iter())
            .map(|directory| {
                let files = find_sessions(self.world.os(), &directory);
                (directory, files)
            })
            .collect();
        let files = || listed.iter().filter_map(|(_, files)| files.as_ref().ok()).flatten();
        let n_bytes = files().map(|file| file.stat.length).sum();
        let copies = copies(&self.world, files());
        let mut n_done = 0;
        let mut neighbours = Neighbours::default();
        for (directory, files) in listed {
            match files {
                Ok(files) => {
                    for file in files {
                        if cancel.is_cancelled() {
                            return Err(SessionError::Cancelled);
                        }
                        let report = self.verify_beside(&file.path, &mut neighbours).map(|mut report| {
                            report.findings.extend(copies.original_of(&file.path).map(same_session));
                            report
                        });
                        n_done += file.stat.length;
                        on_verified(Verified { path: &file.path, report, n_done, n_bytes });
                    }
                }
                Err(error) => on_verified(Verified { path: &directory, report: Err(error.into()), n_done, n_bytes }),
            }
        }
        Ok(())
    }

    /// Whether a directory holds no sessions itself but has subdirectories with sessions, like the root of pi's store.
    pub fn is_store_root(&self, dir: impl AsRef<Path>) -> bool {
        let dir = absolute(self.environment(), dir.as_ref());
        let has_sessions = |dir: &Path| find_sessions(self.world.os(), dir).is_ok_and(|files| !files.is_empty());
        let below = || subdirectories(self.world.os(), &dir).unwrap_or_default();
        !has_sessions(&dir) && below().iter().any(|dir| has_sessions(dir))
    }

    /// The complete records in a session's damaged lines that repair would restore.
    pub fn hidden_records(&self, path: impl AsRef<Path>) -> Result<Vec<HiddenRecord>, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let log = FileLog::open(&self.world.os, path.clone(), self.world.writing)?;
        let examined = examine(&self.world, &path, &Stored::new(&log)?)?;
        Ok(examined.hidden().filter_map(damage::Hidden::to_record).collect())
    }

    /// The entries of a file that has lost its header; `None` if it is a session or does not consist of entries.
    ///
    /// pi writes a file like this when the session that it has open is moved or deleted. In that case the first
    /// parent is an entry of that session.
    pub fn headerless(&self, path: impl AsRef<Path>) -> Result<Option<Headerless>, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let log = FileLog::open(&self.world.os, path, self.world.writing)?;
        let outline = outline_of(self.environment(), &Stored::new(&log)?)?;
        Ok(Headerless::of(&outline))
    }

    fn verify_beside(&self, path: &Path, neighbours: &mut Neighbours) -> Result<Report, SessionError> {
        let environment = self.environment();
        let path = absolute(environment, path);
        let log = FileLog::open(&self.world.os, path.clone(), self.world.writing)?;
        let examined = examine(&self.world, &path, &Stored::new(&log)?)?;
        // The whole file was read, so compare its caches as well; drop a wrong cache.
        if let Some(caches) = self.world.caches() {
            caches.check_outline(&path);
        }
        let mut findings = exposure(&self.world, &path)?;
        let Vanished { restorable, expired } = vanished(&self.world, &path)?;
        findings.extend(restorable.into_iter().chain(expired));
        findings.extend(neighbours.collision(&self.world, &path, &examined.cwd));
        findings.extend(examined.findings);
        if let Some(lost) = findings.iter_mut().find(|finding| finding.code == Code::NoHeader)
            && let Some(stray) = self.stray(&path)?
        {
            lost.message = format!("the header is missing: {}", stray.words());
            lost.remedy = Remedy::Repair("appends the entries to that session".to_owned());
        }
        Ok(Report { path, findings })
    }
}

/// Finds files that hold the same session.
fn copies<'f>(world: &World, files: impl Iterator<Item = &'f FoundFile>) -> Copies {
    let known = |file: &'f FoundFile| {
        let header = read_header(world, &file.path)?;
        Some((file, header.id(), header.cwd().unwrap_or_default()))
    };
    let known: Vec<(&FoundFile, SessionId, String)> = files.filter_map(known).collect();
    Copies::among_files(known.iter().map(|(file, id, cwd)| Candidate {
        path: &file.path,
        id,
        cwd,
        used: Timestamp::from_ms(file.stat.modified_ms),
        size: file.stat.length,
    }))
}

fn same_session(original: &Path) -> Finding {
    let message = format!("the file contains the same session as {}", original.display());
    Finding::new(Code::SameSession, 1, 0, message)
}

/// Whether other users can read a file.
pub(crate) fn exposure(world: &World, path: &Path) -> Result<Vec<Finding>, SessionError> {
    let found = permissions(world.os(), path)?;
    if found.are_private() {
        return Ok(Vec::new());
    }
    let directory = found.directory.map(|mode| format!(", its directory has {mode:04o}")).unwrap_or_default();
    let message = format!("the file has mode {:04o}{directory}", found.file);
    let remedy = Remedy::Permissions("with --permissions: sets the modes to 0600 and 0700".to_owned());
    let finding = Finding::new(Code::Permissions, 1, 0, message).with(remedy);
    // A private file in an open directory shows other users its name, not its content.
    let severity = if found.is_file_private() { Severity::Note } else { finding.severity };
    Ok(vec![Finding { severity, ..finding }])
}

/// Acknowledged entries that are no longer in a file, according to its guard.
#[derive(Default)]
pub(crate) struct Vanished {
    /// The entries that can be restored.
    pub(crate) restorable: Option<Finding>,
    /// The entries that are too old to be restored.
    pub(crate) expired: Option<Finding>,
}

/// Finds acknowledged entries that are no longer in a file, and whether they can be restored.
pub(crate) fn vanished(world: &World, path: &Path) -> Result<Vanished, SessionError> {
    let missing = missing_lines(world.os(), path)?;
    let finding = |n_missing: usize, rest: &str| {
        let entries_are = if n_missing == 1 { "entry is" } else { "entries are" };
        let message = format!("{n_missing} acknowledged {entries_are} not in the file{rest}");
        (n_missing > 0).then(|| Finding::new(Code::Vanished, 1, 0, message))
    };
    let back = "restores them at the end of the file; so does the next command that writes to the session within an hour \
                of their acknowledgement";
    let old = ", and more than an hour old: the next command that writes to the session drops them";
    let restorable = finding(missing.restorable.len(), "");
    let expired = finding(missing.expired.len(), old);
    Ok(Vanished {
        restorable: restorable.map(|finding| finding.with(Remedy::Repair(back.to_owned()))),
        // There is no way to tell whether they were destroyed or removed on purpose.
        expired: expired.map(|finding| Finding { severity: Severity::Note, ..finding }),
    })
}

/// The working directories whose sessions share a directory, looked up once per directory.
#[derive(Default)]
struct Neighbours(HashMap<PathBuf, BTreeSet<PathBuf>>);

impl Neighbours {
    /// Whether a session shares its default directory with sessions of another working directory.
    fn collision(&mut self, world: &World, path: &Path, cwd: &str) -> Option<Finding> {
        let environment = world.environment();
        let cwd = absolute(environment, Path::new(cwd));
        let directory = path.parent().filter(|directory| *directory == default_session_dir(environment, &cwd))?;
        let all = self.0.entry(directory.to_path_buf()).or_insert_with(|| {
            let files = find_sessions(world.os(), directory).unwrap_or_default();
            let named = files.iter().filter_map(|file| read_header(world, &file.path)?.cwd());
            named.filter(|named| !named.is_empty()).map(|named| absolute(environment, Path::new(&named))).collect()
        });
        let other = all.iter().find(|other| **other != cwd && encode_cwd(other) == encode_cwd(&cwd))?;
        let message = format!("{} and {} share this directory", cwd.display(), other.display());
        Some(Finding::new(Code::DirectoryCollision, 1, 0, message))
    }
}
