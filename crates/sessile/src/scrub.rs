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
mod report;
mod scrubber;
mod sharing;
mod swap;

use std::path::Path;

use sessile_core::date::to_iso;
use sessile_core::version::CURRENT_VERSION;
use sessile_store::{FileLog, Log, StoreError};

pub use self::report::{Scrubbed, ScrubbedCopy, ScrubbedKind};
pub use self::scrubber::{ScrubOptions, Scrubber};
pub use self::sharing::Sharing;
pub(crate) use self::sharing::SharingSearch;

use self::copies::{Cleaning, Known};
use self::plan::Plan;
use self::swap::Swapped;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, finish_scrubs, has_unfinished_scrub, settle_dead};
use crate::known::KnowingStores;
use crate::list::read_header;
use crate::record::{OperationKind, SessionLocation, Step};
use crate::repair::refuse_links;
use crate::session_file::{lock_session, with_ending};
use crate::sessions::Sessions;
use crate::splice::{Stored, Text};

/// How often a scrub begins again because another one has replaced the file.
pub(crate) const MAX_ATTEMPTS: usize = 4;

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
        let stat = self.world.os().link_stat(&path).map_err(|source| StoreError::io_at("access", &path, source))?;
        if !stat.is_own {
            // The new file would belong to this user.
            return Err(SessionError::NotOwn { path });
        }
        if self.world.is_read_only && !options.dry_run {
            return Err(SessionError::ReadOnly);
        }
        if !options.dry_run {
            settle_dead(&self.world);
            self.refuse_users(&path)?;
        }
        let known_id = read_header(&self.world, &path).map(|header| header.id()).unwrap_or_default();
        let remotes = if options.dry_run { None } else { Some(KnowingStores::of(&self.world, &known_id)?) };
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
            n_other_links: stat.n_links.saturating_sub(1),
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
        if let Some(remotes) = remotes.as_ref().filter(|_| !plan.splices.is_empty()) {
            remotes.note_scrub(&self.world, &known_id)?;
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
