//! Copies of sessions without secrets.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
use sessile_redact::{CopyIdentity, CopyPlan, Level, Names, Refusal, Report, Rewriter, RunKey, is_secret_source};
use sessile_store::{Prepared, StoreError, prepare_file, replace_file};

use super::finder::{Finder, Learned};
use super::lines::{Pass, Source};
use super::names::names;
use super::options::{SecretOptions, random_key};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::manager::{SessionManager, is_precious};
use crate::redact_error::RedactError;
use crate::sessions::Sessions;

/// How to make a redacted copy.
#[derive(Clone, Default)]
pub struct RedactOptions<'o> {
    /// How much goes.
    pub level: Level,
    /// What counts as a secret.
    pub secrets: SecretOptions,
    /// Words to replace wherever they stand, such as names of people.
    pub also: Vec<String>,
    /// Whether the same value has the same placeholder in all copies of this store, and not only in this one.
    pub stable: bool,
    /// Checked before each line.
    pub cancel: Cancel,
    /// Called with the number of bytes done and the total of all passes.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// A redacted copy. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedCopy {
    /// The copy; `None` if it was only made for a document.
    pub path: Option<PathBuf>,
    /// The id of the copy.
    pub id: SessionId,
    /// How much went.
    pub level: Level,
    /// What was done.
    pub report: Report,
    /// The length of the copy in bytes.
    pub size: u64,
}

/// The number of passes over a session: learning, planning, writing, and the scan of the copy.
const N_PASSES: u64 = 4;

impl Sessions {
    /// Writes a copy of a session without secrets to a new file of mode 0600, or replaces an existing file if
    /// `overwrite` is set. Never replaces a session, or a file that belongs to one.
    ///
    /// The copy is a session of its own with every branch: it has a new id and a mark, and the ids, parents, times and
    /// usage of the source. It is scanned before it gets its name, and any finding is an error. The source is only read.
    pub fn export_redacted(
        &self,
        source: impl AsRef<Path>,
        options: &RedactOptions<'_>,
        target: impl AsRef<Path>,
        overwrite: bool,
    ) -> Result<RedactedCopy, SessionError> {
        let [source, target] = [source.as_ref(), target.as_ref()].map(|path| absolute(self.environment(), path));
        let os = self.world.os();
        let is_free = os.link_stat(&target).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        let path = Some(target.clone());
        if is_free || !overwrite || is_precious(&self.world, Some(&source), source.parent(), &target) {
            let (prepared, copy) = self.prepare_redacted(&source, options, &target)?;
            prepared.publish()?;
            return Ok(RedactedCopy { path, ..copy });
        }
        let (prepared, copy) = self.prepare_redacted(&source, options, &target.with_file_name(copy_name(self)))?;
        let whole = Source::open(os, prepared.temporary())?;
        replace_file(os, &target, false, &mut |out: &mut dyn Write| {
            whole.copy_to(&mut |bytes| {
                out.write_all(bytes).map_err(|error| StoreError::io_at("write", &target, error).into())
            })
        })?;
        Ok(RedactedCopy { path, ..copy })
    }

    /// Makes a copy without secrets for a document, and removes it after `work`. The copy is opened read-only.
    ///
    /// Until then it is a file of mode 0600 with a temporary name in `directory`.
    pub fn with_redacted<R, E: From<SessionError>>(
        &self,
        source: impl AsRef<Path>,
        options: &RedactOptions<'_>,
        directory: impl AsRef<Path>,
        work: impl FnOnce(SessionManager, &RedactedCopy) -> Result<R, E>,
    ) -> Result<R, E> {
        let [source, directory] = [source.as_ref(), directory.as_ref()].map(|path| absolute(self.environment(), path));
        let (prepared, copy) = self.prepare_redacted(&source, options, &directory.join(copy_name(self)))?;
        let session = self.clone().read_only().caching(None).forgetting_leaves().open(prepared.temporary())?;
        work(session, &copy)
    }

    fn prepare_redacted(
        &self,
        source: &Path,
        options: &RedactOptions<'_>,
        target: &Path,
    ) -> Result<(Prepared<'_>, RedactedCopy), SessionError> {
        let os = self.world.os();
        let key = if options.stable { self.stable_key()? } else { random_key()? };
        let store_key = if options.secrets.allowed.is_empty() { None } else { Some(self.stable_key()?) };
        let session = Source::open(os, source)?;
        let total = N_PASSES * session.length;
        let counted = AtomicU64::new(0);
        let on_bytes = |n_bytes: u64| {
            let n_done = counted.fetch_add(n_bytes, Relaxed) + n_bytes;
            options.on_progress.iter().for_each(|report| report(n_done.min(total), total));
        };
        let pass = Pass { cancel: &options.cancel, on_bytes: &on_bytes };
        let mut learned = Learned::default();
        session.learn(&Finder::new(&options.secrets, Learned::default(), store_key.as_ref())?, pass, &mut learned)?;
        let finder = Finder::new(&options.secrets, learned, store_key.as_ref())?;
        let mut names = names(self.environment(), os, options.level, &options.also)
            .map_err(|error| RedactError::BadNames { source: error.into() })?;
        let work = Work { session: &session, source, finder: &finder, key: &key, level: options.level, pass };
        let identity = CopyIdentity {
            session_id: self.environment().session_uuid().as_str().to_owned(),
            time: self.environment().now(),
            by: concat!("sessile ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        let id = SessionId::from(identity.session_id.clone());
        let (prepared, report) = work.write(self, identity, &mut names, target)?;
        work.check(&Source::open(os, prepared.temporary())?)?;
        let size = prepared.length();
        Ok((prepared, RedactedCopy { path: None, id, level: options.level, report, size }))
    }
}

/// A name for a file that is never published under it.
fn copy_name(sessions: &Sessions) -> String {
    format!("sessile-redacted-{}.jsonl", sessions.environment().session_uuid().as_str())
}

/// One copy in the making.
struct Work<'w> {
    session: &'w Source,
    source: &'w Path,
    finder: &'w Finder,
    key: &'w RunKey,
    level: Level,
    pass: Pass<'w>,
}

impl Work<'_> {
    /// Plans and writes the copy, under a temporary name.
    fn write<'o>(
        &self,
        sessions: &'o Sessions,
        identity: CopyIdentity,
        names: &mut Names,
        target: &Path,
    ) -> Result<(Prepared<'o>, Report), SessionError> {
        let refused = |line, source| RedactError::Refused { path: self.source.to_path_buf(), line, source };
        let rewriter = Rewriter::new(self.finder, &is_secret_source, self.key, self.level, names);
        let mut plan = CopyPlan::new(rewriter, identity);
        self.session.each_line(self.pass, &mut |number, line| {
            plan.read(line).map_err(|source| match source {
                Refusal::NotASession => SessionError::NotASession { path: self.source.to_path_buf() },
                source => refused(number, source).into(),
            })
        })?;
        let mut writer =
            plan.finish().map_err(|_refusal| SessionError::NotASession { path: self.source.to_path_buf() })?;
        let failed = |error| SessionError::from(StoreError::io_at("write", target, error));
        let prepared = prepare_file(sessions.world.os(), target, false, &mut |out: &mut dyn Write| {
            self.session.each_line(self.pass, &mut |number, line| {
                let copied = writer.line(line).map_err(|source| refused(number, source))?;
                out.write_all(&copied).and_then(|()| out.write_all(b"\n")).map_err(failed)
            })?;
            out.write_all(&writer.last_line()).and_then(|()| out.write_all(b"\n")).map_err(failed)
        })?;
        let report = writer.report();
        Ok((prepared, report))
    }

    /// Scans the copy. Any finding is an error.
    fn check(&self, copy: &Source) -> Result<(), SessionError> {
        let mut n_findings = 0;
        let mut first = None;
        copy.each_finding(self.finder, self.pass, &mut |line, located| {
            n_findings += 1;
            first.get_or_insert_with(|| (line, located.finding.rule.to_string()));
        })?;
        match first {
            None => Ok(()),
            Some((line, rule)) => {
                Err(RedactError::SecretsLeft { path: self.source.to_path_buf(), n_findings, line, rule }.into())
            }
        }
    }
}
