//! Removing text from a session for good.
//!
//! A scrub replaces lines of a session in place, and then every copy of them that Sessile keeps: originals of
//! rewrites, the guard, the trash, the log of operations, caches and leftovers. It keeps ids, parents, order, number of
//! lines and the leaf. What to remove is up to a [`Scrubber`].
//!
//! A process may die at any step: the session then has its old or its new lines. The next scrub finds the copies that
//! are left by looking for them, and finishes.

mod audit;
mod copies;
mod notes;
mod plan;
mod sharing;
mod swap;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use sessile_core::date::to_iso;
use sessile_core::json::{Json, ObjectWriter};
use sessile_core::version::CURRENT_VERSION;
use sessile_store::{FileLog, Log, StoreError};

use self::copies::{Cleaning, Known};
use self::plan::Plan;
use self::swap::Swapped;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, finish_scrubs, has_unfinished_scrub, settle_dead};
use crate::list::read_header;
use crate::record::{OperationKind, SessionLocation, Step};
use crate::repair::refuse_links;
use crate::session_file::{lock_session, with_ending};
use crate::sessions::Sessions;
use crate::splice::{Stored, Text};

/// How often a scrub begins again because another one has replaced the file.
pub(crate) const MAX_ATTEMPTS: usize = 4;

/// Decides what goes.
pub trait Scrubber {
    /// Called before the lines of a file, in order, are passed to [`line`](Self::line).
    ///
    /// If other programs append to the session meanwhile, their lines follow later, without another call of this.
    fn begin(&mut self, _kind: ScrubbedKind, _path: &Path) {}

    /// Returns what to store instead of a line, which has no newline. Any bytes may come: a header, an entry, a torn
    /// line, or no JSON at all.
    ///
    /// The new line must have the same type, id, parent, time and role, and no newline. Otherwise, and if this returns
    /// a reason to refuse, the file stays as it is. A line that was returned once must be returned unchanged.
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String>;

    /// Returns what to store instead of a text: a name or a label.
    ///
    /// It must be what [`line`](Self::line) puts in place of the same text in an entry, so that names and labels in the
    /// log of operations stay equal to those in the session.
    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str>;

    /// Returns what to store instead of a working directory: what [`line`](Self::line) puts into a header.
    fn directory<'t>(&mut self, path: &'t str) -> Cow<'t, str> {
        self.text(path)
    }

    /// Whether a saved note, which consists of paths and ids, has to go.
    fn drops_note(&mut self, note: &str) -> bool {
        *self.text(note) != *note
    }

    /// Returns an object whose members go into the audit, after those of [`Scrubbed`], without any removed text.
    ///
    /// Called once, after all lines.
    fn audit(&mut self) -> Json {
        ObjectWriter::new().finish()
    }
}

/// How to scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubOptions {
    /// Report what would be done, and do nothing.
    pub dry_run: bool,
    /// Keep the original beside the session, with the removed text in it.
    pub keep_original: bool,
}

/// The kinds of files that hold lines of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubbedKind {
    /// The session.
    Session,
    /// Its guard.
    Guard,
    /// An original that a rewrite has kept.
    Original,
    /// The session, or one that shares entries with it, in the trash.
    Trash,
    /// A file that an interrupted program has left.
    Leftover,
}

impl ScrubbedKind {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Guard => "guard",
            Self::Original => "original",
            Self::Trash => "trash",
            Self::Leftover => "leftover",
        }
    }
}

/// A copy of lines of the session that had text to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubbedCopy {
    /// The file.
    pub path: PathBuf,
    /// Its kind.
    pub kind: ScrubbedKind,
    /// The number of lines that had such text.
    pub n_changed: usize,
}

/// A scrubbed session, or one that a dry run would scrub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed {
    /// The operation's id; `None` if the session's file did not change.
    pub operation: Option<String>,
    /// The session.
    pub session: SessionLocation,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// The number of lines of the session at the beginning.
    pub n_lines: usize,
    /// The number of them that changed, or would.
    pub n_changed: usize,
    /// The length of the file before.
    pub size_before: u64,
    /// The length of the file after.
    pub size_after: u64,
    /// The SHA-256 of the file after, in hexadecimal; `None` in a dry run.
    pub sha256: Option<String>,
    /// The original, if it is kept. It holds the removed text.
    pub original: Option<PathBuf>,
    /// The copies that had text to remove.
    pub copies: Vec<ScrubbedCopy>,
    /// The number of lines in the log of operations, and of saved notes, that had text to remove.
    pub n_notes: usize,
    /// Whether an earlier scrub of the session was interrupted. Only a scrub that is not a dry run finishes it.
    pub was_unfinished: bool,
}

impl Scrubbed {
    /// Whether there was anything to do.
    pub fn is_needed(&self) -> bool {
        self.n_changed > 0 || !self.copies.is_empty() || self.n_notes > 0 || self.was_unfinished
    }
}

impl Sessions {
    /// Removes text from a session, and from every copy of it that Sessile keeps.
    ///
    /// Fails with [`SessionError::InUse`] while another program uses the session, unless the caller
    /// [ignores users](Self::ignoring_users), and as busy while another process writes to it. Lines that other programs
    /// append meanwhile are kept, and scrubbed as well. Other sessions that share entries are not touched: see
    /// [`sharing`](Self::sharing). The operation cannot be undone.
    ///
    /// A second scrub with the same scrubber changes nothing, or finishes what an interrupted one has left.
    pub fn scrub(
        &self,
        path: impl AsRef<Path>,
        options: ScrubOptions,
        scrubber: &mut dyn Scrubber,
    ) -> Result<Scrubbed, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        refuse_links(&self.world, &path)?;
        if self.world.is_read_only && !options.dry_run {
            return Err(SessionError::ReadOnly);
        }
        if !options.dry_run {
            settle_dead(&self.world);
            self.refuse_users(&path)?;
        }
        let log = if options.dry_run {
            FileLog::open(&self.world.os, &path, self.world.writing)?
        } else {
            self.lock_scrubbable(&path)?
        };
        let session = self.scrubbable(&path)?;
        let was_unfinished = has_unfinished_scrub(&self.world, &session)?;
        let stored = Stored::new(&log)?;
        let plan = Plan::new(&path, &stored, 0, ScrubbedKind::Session, scrubber)?;
        let mut report = Scrubbed {
            operation: None,
            session,
            dry_run: options.dry_run,
            n_lines: plan.n_lines,
            n_changed: plan.splices.len(),
            size_before: stored.length(),
            size_after: plan.length_after(&stored),
            sha256: None,
            original: None,
            copies: Vec::new(),
            n_notes: 0,
            was_unfinished,
        };
        let mut known = Known::of(self, &report.session)?;
        if options.dry_run {
            let (world, found) = (&self.world, Vec::new());
            let mut cleaning = Cleaning { world, known: &mut known, scrubber, applies: false, found };
            cleaning.guard(&path)?;
            cleaning.originals(options.keep_original, None)?;
            cleaning.trash()?;
            cleaning.leftovers()?;
            report.copies = cleaning.found;
            report.n_notes = notes::clean(self, &known, false, scrubber)?;
            return Ok(report);
        }
        self.apply_scrub(report, (log, plan), &mut known, options, scrubber)
    }

    /// Takes the lock. Another scrub may swap the file while this one waits for it.
    fn lock_scrubbable(&self, path: &Path) -> Result<FileLog, SessionError> {
        let lock = || {
            let log = lock_session(&self.world, path)?;
            log.length()?;
            Ok(log)
        };
        let mut locked = lock();
        for _ in 1..MAX_ATTEMPTS {
            if locked.as_ref().is_err_and(is_replaced) {
                locked = lock();
            }
        }
        locked
    }

    /// The session in a file that this version may rewrite. A damaged one may lack a header.
    fn scrubbable(&self, path: &Path) -> Result<SessionLocation, SessionError> {
        let header = read_header(&self.world, path);
        let version = header.as_ref().and_then(sessile_core::header::Header::version);
        if let Some(version) = version.filter(|version| *version > f64::from(CURRENT_VERSION)) {
            return Err(SessionError::NewerVersion { path: path.to_path_buf(), version: version.to_string() });
        }
        let id = header.map(|header| header.id()).unwrap_or_default();
        Ok(SessionLocation { path: path.to_path_buf(), id })
    }

    fn apply_scrub(
        &self,
        mut report: Scrubbed,
        (mut log, plan): (FileLog, Plan),
        known: &mut Known,
        options: ScrubOptions,
        scrubber: &mut dyn Scrubber,
    ) -> Result<Scrubbed, SessionError> {
        let (world, path) = (&self.world, report.session.path.clone());
        let mut recording = None;
        let mut swapped = Swapped::default();
        if !plan.splices.is_empty() {
            let stamp = to_iso(world.environment().now()).replace([':', '.'], "-");
            let original = options.keep_original.then(|| with_ending(&path, &format!(".orig-{stamp}")));
            let step = Step::Scrub { session: report.session.clone(), original };
            let begun = Recording::begin(world, OperationKind::Scrub, 1, None)?;
            match begun.step(&step, || swap::swap(world, &log, plan, &stamp, scrubber)) {
                Ok(done) => swapped = done,
                Err(error) if swap::is_swapped(world, &log) => {
                    begun.unfinished();
                    return Err(unfinished(&path, error));
                }
                Err(error) => return Err(error),
            }
            report.n_changed += swapped.n_late;
            report.operation = Some(begun.id.clone());
            recording = Some(begun);
        }
        let mut clean = || -> Result<(), SessionError> {
            let mut cleaning = Cleaning { world, known, scrubber, applies: true, found: Vec::new() };
            cleaning.guard(&path)?;
            report.original = swapped.settle_originals(world, options.keep_original)?;
            cleaning.originals(options.keep_original, report.original.as_deref())?;
            report.copies = cleaning.found;
            let log = FileLog::open(&world.os, &path, world.writing)?;
            let stored = Stored::new(&log)?;
            report.size_after = stored.length();
            report.sha256 = Some(audit::digest(&stored)?);
            Ok(())
        };
        let cleaned = clean();
        // Other programs may write again while the rest is cleaned.
        drop(swapped);
        log.end_turn();
        drop(log);
        let finished = cleaned.and_then(|()| self.finish_scrub(&mut report, known, scrubber));
        match (finished, recording) {
            (Ok(()), recording) => {
                if let Some(recording) = recording {
                    recording.done();
                }
                Ok(report)
            }
            (Err(error), recording) => {
                if let Some(recording) = recording {
                    recording.unfinished();
                }
                Err(unfinished(&path, error))
            }
        }
    }

    /// Cleans what does not need the session's lock, and writes the audit.
    fn finish_scrub(
        &self,
        report: &mut Scrubbed,
        known: &mut Known,
        scrubber: &mut dyn Scrubber,
    ) -> Result<(), SessionError> {
        let world = &self.world;
        let mut cleaning = Cleaning { world, known, scrubber, applies: true, found: Vec::new() };
        cleaning.trash()?;
        cleaning.leftovers()?;
        report.copies.extend(cleaning.found);
        report.n_notes = notes::clean(self, known, true, scrubber)?;
        copies::drop_caches(world, known)?;
        if report.is_needed() {
            audit::write(world, report, &scrubber.audit())?;
        }
        finish_scrubs(world, &report.session)
    }
}

/// Whether another program has replaced the file since it was opened. Another attempt may work.
pub(crate) fn is_replaced(error: &SessionError) -> bool {
    matches!(error, SessionError::Store(StoreError::Replaced { .. }))
}

fn unfinished(path: &Path, error: SessionError) -> SessionError {
    SessionError::ScrubUnfinished { path: path.to_path_buf(), source: Box::new(error) }
}
