//! Removes secrets from sessions in place.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::date::parse_utc_iso;
use sessile_redact::{Level, Names, Pairing, Report};
use sessile_store::os::{FileKind, Stat};

use super::finder::{Finder, Learned};
use super::lines::{Pass, Source};
use super::names::names;
use super::options::random_key;
use super::pending::Pending;
use super::scrub_report::{ScrubbedSecrets, SecretScrub, SecretScrubOptions, SharingSession};
use super::scrubber::{Learner, RunNames, SecretScrubber, Watch};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::read_header;
use crate::record::SessionLocation;
use crate::redact_error::RedactError;
use crate::scrub::{MAX_ATTEMPTS, ScrubOptions, Scrubbed, Scrubber, Sharing, SharingSearch, is_replaced};
use crate::sessions::Sessions;

/// The passes over each session: learning, planning, findings, writing.
const N_PASSES: u64 = 4;

impl Sessions {
    /// Removes secrets from sessions in place, and from every copy of their lines that Sessile keeps.
    ///
    /// A value that is found once is found everywhere: in all these sessions, in those that have the same entries, and
    /// in their copies. A session stays the same tree, and its placeholders are those of
    /// [`scan_secrets`](Self::scan_secrets). A session without findings stays as it is.
    ///
    /// Fails if a session cannot be read completely, or is in use; nothing has changed then. Once sessions are changed,
    /// the errors of each are in the result. Another run finishes an interrupted one. The removal cannot be undone.
    pub fn scrub_secrets(
        &self,
        paths: &[PathBuf],
        options: &SecretScrubOptions<'_>,
    ) -> Result<SecretScrub, SessionError> {
        if options.level > Level::Pii {
            return Err(RedactError::NotInPlace { level: options.level }.into());
        }
        let mut chosen: Vec<PathBuf> = Vec::new();
        for path in paths.iter().map(|path| absolute(self.environment(), path)) {
            if !chosen.contains(&path) {
                chosen.push(path);
            }
        }
        for path in chosen.clone() {
            let id = read_header(&self.world, &path).map(|header| header.id()).unwrap_or_default();
            chosen.extend(self.tails_of(&SessionLocation { path, id })?);
        }
        let mut search = SharingSearch::new(self);
        let Sharing { sessions, unreadable: mut others } = search.related_to(&chosen, options.with_sharing)?;
        if options.with_sharing { &mut chosen } else { &mut others }.extend(sessions);
        if !options.dry_run {
            if self.world.is_read_only {
                return Err(SessionError::ReadOnly);
            }
            chosen.iter().try_for_each(|path| self.refuse_users(path))?;
        }
        let length = |path: &PathBuf| self.world.os().stat(path).map_or(0, |stat| stat.length);
        let total = N_PASSES * chosen.iter().chain(&others).map(length).sum::<u64>();
        let counted = AtomicU64::new(0);
        let on_bytes = |n_bytes: u64| {
            let n_done = counted.fetch_add(n_bytes, Relaxed) + n_bytes;
            options.on_progress.iter().for_each(|report| report(n_done.min(total), total));
        };
        let work = Work { sessions: self, options, on_bytes: &on_bytes, chosen, others };
        let mut result = work.run(&mut search);
        // Until sessions change, another scrub may be faster.
        for _ in 1..MAX_ATTEMPTS {
            if result.as_ref().is_err_and(is_replaced) {
                result = work.run(&mut search);
            }
        }
        result.map_err(|error| match error {
            SessionError::ScrubFailed { .. } if options.cancel.is_cancelled() => SessionError::Cancelled,
            error => error,
        })
    }
}

/// One run.
struct Work<'w> {
    sessions: &'w Sessions,
    options: &'w SecretScrubOptions<'w>,
    on_bytes: &'w (dyn Fn(u64) + Sync),
    /// The sessions to scrub.
    chosen: Vec<PathBuf>,
    /// Those that only have the same entries.
    others: Vec<PathBuf>,
}

impl Work<'_> {
    fn run(&self, search: &mut SharingSearch<'_>) -> Result<SecretScrub, SessionError> {
        let (sessions, options) = (self.sessions, self.options);
        let store_key = || {
            if options.dry_run {
                return sessions.saved_store_key();
            }
            sessions.store_key()?.map_or_else(|| Ok(random_key()?), Ok)
        };
        // A scan that finds nothing writes nothing, not even a key.
        let allowed_key = if options.secrets.allowed.is_empty() { None } else { Some(store_key()?) };
        let mut pending = sessions.pending_of(&self.chosen);
        let traces = pending.iter().map(Pending::traces).collect();
        let learned =
            self.learn(&Finder::tracing(&options.secrets, Learned::default(), traces, allowed_key.as_ref())?)?;
        let key = if learned.is_empty() { random_key()? } else { store_key()? };
        let finder = Finder::new(&options.secrets, learned.clone(), Some(&key))?;
        let found = names(sessions.environment(), sessions.world.os(), options.level, &[]);
        let texts = found.map_err(|error| RedactError::BadNames { source: error.into() })?;
        let mut names = RunNames { texts, headers: Names::new() };
        let mut scrubber = SecretScrubber::new(&finder, &key, options.level, &mut names, self.watch());
        let mut scrub = self.plan(&mut scrubber)?;
        for session in &mut scrub.sessions {
            if session.report.findings() > 0 {
                let pass = Pass { cancel: &options.cancel, on_bytes: self.on_bytes };
                let path = &session.scrubbed.session.path;
                session.findings = Source::open(sessions.world.os(), path)?.findings(path, &finder, &key, pass)?;
                session.full_outputs = self.full_outputs(&session.report, &finder);
            }
        }
        if options.dry_run {
            return Ok(scrub);
        }
        if options.secrets.certain_only {
            // Likely values stay, so this run cannot finish an earlier one.
            pending.clear();
        }
        sessions.sweep_pending()?;
        let own = if scrub.is_needed() { sessions.save_pending(&self.chosen, &learned)? } else { None };
        let done = self.apply(&mut scrub, &mut scrubber);
        self.apply_late(&mut scrub, &mut scrubber, search);
        let is_unfinished = |error: &SessionError| matches!(error, SessionError::ScrubUnfinished { .. });
        let is_unchanged = scrub.sessions.iter().all(|session| !session.scrubbed.is_needed());
        match own {
            Some(own) if is_unchanged && !scrub.failed.iter().any(is_unfinished) => sessions.forget_pending(&own)?,
            own => pending.extend(own),
        }
        for pending in &mut pending {
            scrub.failed.extend(sessions.settle_pending(pending, &done).err());
        }
        Ok(scrub)
    }

    fn watch(&self) -> Watch<'_> {
        Watch { cancel: Some(&self.options.cancel), on_bytes: self.on_bytes }
    }

    fn dry_run(&self, path: &Path, scrubber: &mut dyn Scrubber) -> Result<Scrubbed, SessionError> {
        let options = ScrubOptions { dry_run: true, keep_original: self.options.keep_original };
        self.sessions.scrub(path, options, scrubber)
    }

    /// Remembers the values in all sessions and their copies.
    fn learn(&self, finder: &Finder) -> Result<Learned, SessionError> {
        let (learned, pairing) = (Learned::default(), Pairing::default());
        let mut values = Learner { finder, learned, watch: self.watch(), pairing };
        for path in &self.chosen {
            self.dry_run(path, &mut values)?;
        }
        for path in &self.others {
            // A session that stays need not be readable; the plan says so.
            drop(self.dry_run(path, &mut values));
        }
        Ok(values.learned)
    }

    /// Computes what changes. Ids of calls can change after their results were seen, and then a second pass is needed.
    fn plan(&self, scrubber: &mut SecretScrubber<'_>) -> Result<SecretScrub, SessionError> {
        let mut scrub =
            SecretScrub { level: self.options.level, dry_run: self.options.dry_run, ..SecretScrub::default() };
        for _ in 0..2 {
            (scrub.sessions, scrub.sharing) = (Vec::new(), Vec::new());
            for path in &self.chosen {
                scrubber.start(Vec::new(), true);
                let outcome = self.dry_run(path, scrubber)?;
                let created = read_header(&self.sessions.world, path)
                    .and_then(|header| parse_utc_iso(header.timestamp()?.as_bytes()));
                let (findings, full_outputs) = (Vec::new(), Vec::new());
                let report = scrubber.report();
                scrub.sessions.push(ScrubbedSecrets { scrubbed: outcome, report, findings, full_outputs, created });
            }
            for path in &self.others {
                scrubber.start(Vec::new(), true);
                let n_lines = self.dry_run(path, scrubber).ok().map(|scrubbed| scrubbed.n_changed);
                if self.options.cancel.is_cancelled() {
                    return Err(SessionError::Cancelled);
                }
                scrub.sharing.push(SharingSession { path: path.clone(), n_lines });
            }
            if scrub.sessions.iter().all(|session| session.report.cut_calls == 0) {
                break;
            }
        }
        scrub.sharing.retain(|sharing| sharing.n_lines != Some(0));
        for session in &mut scrub.sessions {
            session.scrubbed.dry_run = self.options.dry_run;
        }
        Ok(scrub)
    }

    /// Scrubs the sessions that need it. Returns those that are done.
    fn apply(&self, scrub: &mut SecretScrub, scrubber: &mut SecretScrubber<'_>) -> Vec<PathBuf> {
        let options = ScrubOptions { dry_run: false, keep_original: self.options.keep_original };
        let mut done = Vec::new();
        let mut sessions = std::mem::take(&mut scrub.sessions);
        sessions.retain_mut(|session| {
            let path = session.scrubbed.session.path.clone();
            if session.scrubbed.is_needed() {
                scrubber.start(session.findings.clone(), false);
                match self.sessions.scrub(&path, options, scrubber) {
                    Ok(outcome) => (session.scrubbed, session.report) = (outcome, scrubber.report()),
                    Err(error) => {
                        scrub.failed.push(error);
                        return false;
                    }
                }
            }
            done.push(path);
            true
        });
        scrub.sessions = sessions;
        done
    }

    /// Looks for sessions that other programs have made from the old lines meanwhile.
    fn apply_late(&self, scrub: &mut SecretScrub, scrubber: &mut SecretScrubber<'_>, search: &mut SharingSearch<'_>) {
        let Sharing { sessions, unreadable } = match search.made_since() {
            Ok(late) => late,
            Err(error) => return scrub.failed.push(error),
        };
        scrub.sharing.extend(unreadable.into_iter().map(|path| SharingSession { path, n_lines: None }));
        for path in sessions {
            scrubber.start(Vec::new(), false);
            if !self.options.with_sharing {
                let n_lines = self.dry_run(&path, scrubber).ok().map(|scrubbed| scrubbed.n_changed);
                scrub.sharing.extend((n_lines != Some(0)).then_some(SharingSession { path, n_lines }));
                continue;
            }
            let options = ScrubOptions { dry_run: false, keep_original: self.options.keep_original };
            match self.sessions.scrub(&path, options, scrubber) {
                Ok(outcome) => scrub.sessions.push(ScrubbedSecrets {
                    scrubbed: outcome,
                    report: scrubber.report(),
                    findings: Vec::new(),
                    full_outputs: Vec::new(),
                    created: None,
                }),
                Err(error) => scrub.failed.push(error),
            }
        }
    }

    /// The files with whole outputs that still have secrets, or that cannot be read.
    fn full_outputs(&self, report: &Report, finder: &Finder) -> Vec<PathBuf> {
        let os = self.sessions.world.os();
        let mut files: Vec<PathBuf> = report.full_outputs.iter().map(PathBuf::from).collect();
        files.sort();
        files.dedup();
        files.retain(|path| {
            let is_file = |stat: Stat| stat.kind == FileKind::Regular && stat.is_own;
            let is_own = path.is_absolute() && os.stat(path).is_ok_and(is_file);
            let mut has_secret = false;
            let pass = Pass { cancel: &self.options.cancel, on_bytes: &|_| {} };
            let scanned =
                Source::open(os, path).and_then(|file| file.each_finding(finder, pass, &mut |_, _| has_secret = true));
            is_own && (has_secret || scanned.is_err())
        });
        files
    }
}
