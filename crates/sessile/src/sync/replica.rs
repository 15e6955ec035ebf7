//! One session and its log.

use std::path::{Path, PathBuf};

use sessile_core::header::Header;
use sessile_core::search::terms::LineTerms;
use sessile_core::version::CURRENT_VERSION;
use sessile_remote::{Batch, Chain, Head, NewSession, Server};
use sessile_store::{Expect, Log, StoreError, read_head};

use super::summary::Whereabouts;
use super::{Direction, SyncOptions, SyncState, Synced};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::known::KnownSession;
use crate::known::lines::{Mark, SessionLines, Start};
use crate::list::SessionInfo;
use crate::redact::SecretFinding;
use crate::session_file::{header_of, lock_session};
use crate::sessions::Sessions;

/// How often a session is compared again because another program or another client was faster.
const MAX_RACES: usize = 8;

/// How many bytes are appended to the file at a time.
pub(super) const CHUNK: usize = 8 << 20;

/// How many points of a log are compared in one round trip when looking for its common beginning.
const N_POINTS: u64 = 64;

/// How far a file and a log agree.
pub(super) enum Relation {
    Equal,
    Ahead,
    Behind,
    /// They agree up to this number of lines, and both go on.
    Diverged {
        n_common: u64,
    },
}

/// What is known about a session before it is synchronized.
#[derive(Clone, Copy, Default)]
pub(crate) struct KnownReplica<'k> {
    /// The state when both sides were last equal.
    pub(crate) known: Option<&'k KnownSession>,
    /// What a list shows of it.
    pub(crate) row: Option<&'k SessionInfo>,
    /// The member that owns the log; `None` for this member.
    pub(crate) owner: Option<&'k str>,
}

/// The outcome of one comparison.
pub(super) enum Attempt {
    /// The two sides relate like this now.
    Done(SyncState),
    /// The two sides have to be compared again.
    Again,
}

/// A session that is being synchronized.
pub(super) struct Replica<'r> {
    pub(super) sessions: &'r Sessions,
    pub(super) server: &'r mut dyn Server,
    pub(super) options: &'r SyncOptions,
    pub(super) path: PathBuf,
    pub(super) header: Header,
    /// What a list shows of the session, for the note on the server.
    pub(super) row: Option<&'r SessionInfo>,
    /// The member that owns the log; `None` for this member.
    pub(super) owner: Option<String>,
    /// The end of the header's line, with its newline.
    pub(super) head_end: u64,
    /// What is known about the beginning of the file, until it turns out to be wrong.
    pub(super) known: Option<KnownSession>,
    /// The end of the lines when they were compared last.
    end: u64,
    pub(super) done: Synced,
}

impl Sessions {
    /// Makes a session of this member equal to its log on a server, which is created if it is new.
    ///
    /// Stops at secrets in lines to be pushed. An interruption at any moment loses nothing, and the next call continues.
    pub fn sync_session(
        &self,
        server: &mut dyn Server,
        path: &Path,
        options: &SyncOptions,
    ) -> Result<Synced, SessionError> {
        self.sync_known(server, path, &KnownReplica::default(), options).map(|(synced, _)| synced)
    }

    /// Like [`sync_session`](Self::sync_session), with what is known about the session. Also returns the end of its lines.
    pub(crate) fn sync_known(
        &self,
        server: &mut dyn Server,
        path: &Path,
        known: &KnownReplica<'_>,
        options: &SyncOptions,
    ) -> Result<(Synced, u64), SessionError> {
        let path = absolute(self.environment(), path);
        self.upgrade_old(&path, options)?;
        let (header, span) = header_of(&self.world, &path)?;
        let head_end = self.end_of_first_line(&path)?;
        if span.end() >= head_end {
            return Err(SessionError::NotASession { path });
        }
        let done = Synced { path: path.clone(), ..Synced::new(header.id()) };
        let &KnownReplica { known, row, owner } = known;
        let (owner, known, end) = (owner.map(str::to_owned), known.cloned(), head_end);
        Replica { sessions: self, server, options, path, header, row, owner, head_end, known, end, done }.sync()
    }
}

impl Sessions {
    /// The offset after the first line of a file and its newline; 0 if it has none.
    pub(crate) fn end_of_first_line(&self, path: &Path) -> Result<u64, SessionError> {
        let mut end = 0;
        read_head(self.world.os(), path, &mut |line| {
            end = if line.terminated { line.span.end() + 1 } else { 0 };
            false
        })?;
        Ok(end)
    }

    /// Brings a session of an older version to the current one, because the entries of a log have ids. Refuses a newer one.
    fn upgrade_old(&self, path: &Path, options: &SyncOptions) -> Result<(), SessionError> {
        let (header, _) = header_of(&self.world, path)?;
        let version = header.version().unwrap_or(1.0);
        if version > f64::from(CURRENT_VERSION) {
            return Err(SessionError::NewerVersion { path: path.to_path_buf(), version: version.to_string() });
        }
        if version < f64::from(CURRENT_VERSION) && options.direction != Direction::Compare {
            self.open(path)?.upgrade()?;
        }
        Ok(())
    }
}

impl Replica<'_> {
    fn sync(mut self) -> Result<(Synced, u64), SessionError> {
        let mut n_left = MAX_RACES;
        loop {
            n_left -= 1;
            match self.attempt() {
                Ok(Attempt::Done(state)) => return Ok((Synced { state, ..self.done }, self.end)),
                // Another client or another program was faster.
                Ok(Attempt::Again)
                | Err(
                    SessionError::WrittenMeanwhile { .. }
                    | SessionError::Store(StoreError::Grown { .. } | StoreError::Replaced { .. }),
                ) if n_left > 0 => {}
                Err(SessionError::Remote(error)) if error.is_disconnected() && n_left > 0 => self.server.reconnect()?,
                Ok(Attempt::Again) => return Err(SessionError::WrittenMeanwhile { path: self.path }),
                Err(error) => return Err(error),
            }
        }
    }

    /// Compares the two sides once, and does what follows from it.
    fn attempt(&mut self) -> Result<Attempt, SessionError> {
        if self.options.cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let Some(head) = self.head()? else { return Ok(Attempt::Done(SyncState::Ahead)) };
        self.done.position = head.position;
        if !self.is_of_known_epoch(&head)? {
            return Ok(Attempt::Again);
        }
        let lines = self.lines(&head)?;
        self.end = lines.end();
        let relation = self.relation(&lines, &head)?;
        let direction = self.options.direction;
        let may_push = matches!(direction, Direction::Both | Direction::Push) && head.may_append;
        let may_pull = matches!(direction, Direction::Both | Direction::Pull);
        match relation {
            Relation::Equal => Ok(Attempt::Done(SyncState::Equal)),
            Relation::Ahead if !may_push => Ok(Attempt::Done(SyncState::Ahead)),
            Relation::Behind if !may_pull => Ok(Attempt::Done(SyncState::Behind)),
            Relation::Diverged { n_common } if !head.may_append && may_pull => self.absorb(&lines, &head, n_common),
            Relation::Diverged { .. } if !may_push || !may_pull => Ok(Attempt::Done(SyncState::Diverged)),
            Relation::Ahead => {
                let n_known = head.position.n_lines;
                if let Some(found) = self.secrets_after(&lines, n_known)? {
                    return Ok(Attempt::Done(SyncState::Secrets(found)));
                }
                let pushed = self.push(&head, &mut |push| lines.lines_after(n_known, &mut |line| push(line)))?;
                if pushed { Ok(Attempt::Done(SyncState::Equal)) } else { Ok(Attempt::Again) }
            }
            Relation::Behind => self.pull(&lines, &head),
            Relation::Diverged { n_common } => self.join(&lines, &head, n_common),
        }
    }

    /// The head of the log. Creates the log if the session is new to the server, unless the server may not change.
    fn head(&mut self) -> Result<Option<Head>, SessionError> {
        let id = self.header.id();
        if let Some(head) = self.server.head(self.owner.as_deref(), id.as_str())? {
            return Ok(Some(head));
        }
        if self.owner.is_some() {
            return Err(SessionError::NotOnRemote { id });
        }
        if matches!(self.options.direction, Direction::Pull | Direction::Compare) {
            return Ok(None);
        }
        let header = self.header.json().to_text();
        let note = self.note();
        let new = NewSession {
            header_id: id.as_str(),
            header: header.as_bytes(),
            summary: Some(&note),
            restore: self.options.restores,
        };
        let head = self.server.create(&new)?;
        if self.options.restores {
            // The known lines were in the log that was deleted.
            self.known = None;
        }
        Ok(Some(head))
    }

    /// What other machines need to know before they have read the lines. Only the owner notes it.
    pub(super) fn note(&self) -> Vec<u8> {
        Whereabouts::of(&self.sessions.world, &self.header.cwd().unwrap_or_default()).to_note(self.row)
    }

    /// The lines of the file: those after the known ones if these are still the same, and the log is not shorter.
    fn lines(&mut self, head: &Head) -> Result<SessionLines, SessionError> {
        let os = self.sessions.world.os();
        let is_usable =
            |known: &&KnownSession| !self.options.is_thorough && known.position.n_lines <= head.position.n_lines;
        if let Some(known) = self.known.as_ref().filter(is_usable) {
            let lines = SessionLines::open(os, &self.path, known.start())?;
            let there = if known.position.n_lines == head.position.n_lines {
                Some(head.position.chain)
            } else {
                self.server.chains(head.no, head.position.epoch, &[known.position.n_lines])?.first().copied().flatten()
            };
            if there == Some(known.position.chain) && known.is_beginning_of(&lines)? {
                return Ok(lines);
            }
        }
        self.all_lines()
    }

    /// All lines of the file.
    pub(super) fn all_lines(&self) -> Result<SessionLines, SessionError> {
        SessionLines::open(self.sessions.world.os(), &self.path, self.first_line())
    }

    pub(super) fn first_line(&self) -> Start {
        Start { n_lines: 0, mark: Mark { end: self.head_end, chain: Chain::EMPTY } }
    }

    fn relation(&mut self, lines: &SessionLines, head: &Head) -> Result<Relation, SessionError> {
        let (ours, theirs) = (lines.n_lines(), head.position.n_lines);
        if let Some(mark) = lines.mark(theirs) {
            if mark.chain == head.position.chain {
                return Ok(if ours == theirs { Relation::Equal } else { Relation::Ahead });
            }
        } else if theirs > ours {
            let there = self.server.chains(head.no, head.position.epoch, &[ours])?;
            if there.first().copied().flatten() == Some(lines.position(0).chain) {
                return Ok(Relation::Behind);
            }
        }
        Ok(Relation::Diverged { n_common: self.n_common(lines, head)? })
    }

    /// The number of lines that both sides begin with. The chains of many points are asked for at a time.
    fn n_common(&mut self, lines: &SessionLines, head: &Head) -> Result<u64, SessionError> {
        // They agree after `low` lines, and differ after `high`.
        let (mut low, mut high) = (lines.n_before(), lines.n_lines().min(head.position.n_lines) + 1);
        while high - low > 1 {
            let step = (high - low).div_ceil(N_POINTS).max(1);
            let points: Vec<u64> =
                (1..=N_POINTS).map(|index| low + index * step).filter(|point| *point < high).collect();
            let chains = self.server.chains(head.no, head.position.epoch, &points)?;
            let is_equal = |(point, chain): &(&u64, &Option<Chain>)| {
                chain.is_some() && lines.mark(**point).map(|mark| mark.chain) == **chain
            };
            let n_equal = points.iter().zip(&chains).take_while(is_equal).count();
            if let Some(differs) = points.get(n_equal) {
                high = *differs;
            }
            if let Some(agrees) = n_equal.checked_sub(1).and_then(|index| points.get(index)) {
                low = *agrees;
            }
        }
        Ok(low)
    }

    /// Appends lines to the log, from its end on. False if another client was first.
    pub(super) fn push(&mut self, head: &Head, each_line: EachLine<'_>) -> Result<bool, SessionError> {
        let mut batch = Batch::at(head.position);
        let note = (self.owner.is_none() && self.row.is_some()).then(|| self.note());
        let mut terms = LineTerms::default();
        let (server, done) = (&mut *self.server, &mut self.done);
        let mut is_first = true;
        let mut send = |batch: &mut Batch, is_first: &mut bool| -> Result<(), SessionError> {
            if *is_first && !batch.is_empty() {
                *is_first = server.append(head.no, batch, note.as_deref())?.is_some();
                if *is_first {
                    done.n_pushed += batch.len() as u64;
                    done.position = batch.end();
                    *batch = Batch::at(batch.end());
                }
            }
            Ok(())
        };
        let path = &self.path;
        each_line(&mut |line| {
            if batch.is_full() {
                send(&mut batch, &mut is_first)?;
            }
            if is_first {
                let number = batch.end().n_lines + 2;
                batch
                    .push(line)
                    .map_err(|_too_long| SessionError::LineTooLongForRemote { path: path.clone(), line: number })?;
                batch.add_terms(terms.of(line));
            }
            Ok(is_first)
        })?;
        send(&mut batch, &mut is_first)?;
        Ok(is_first)
    }

    /// Appends the lines that only the log has to the file.
    fn pull(&mut self, lines: &SessionLines, head: &Head) -> Result<Attempt, SessionError> {
        if lines.is_torn() && self.is_used()? {
            // Another program may be writing its last line.
            return Ok(Attempt::Done(SyncState::Behind));
        }
        // Nothing is appended before all lines have the hash that the server claims.
        let copy = self.spool(lines, head, lines.n_lines(), lines.position(0).chain)?;
        let to = if self.accepts_members() { head.position.n_lines } else { copy.settled.n_lines };
        if to == lines.n_lines() {
            return Ok(Attempt::Done(SyncState::Others));
        }
        let os = self.sessions.world.os();
        let start = Start { n_lines: lines.n_lines(), mark: Mark { end: lines.end(), chain: lines.position(0).chain } };
        let new = SessionLines::open(os, &copy.path, start)?;
        let mut log = lock_session(&self.sessions.world, &self.path)?;
        let mut end = lines.opened.length;
        let mut text = Vec::new();
        let mut append = |text: &mut Vec<u8>| -> Result<(), SessionError> {
            end = log.append(text, Expect::Length(end))?.end;
            text.clear();
            Ok(())
        };
        let mut number = lines.n_lines();
        new.lines_after(number, &mut |line| {
            text.extend_from_slice(line);
            text.push(b'\n');
            if text.len() >= CHUNK {
                append(&mut text)?;
            }
            number += 1;
            Ok(number < to)
        })?;
        append(&mut text)?;
        log.make_durable()?;
        self.end = end;
        self.done.n_pulled += to - lines.n_lines();
        // A torn line was ended, so it is a line that the server lacks.
        if lines.is_torn() {
            return Ok(Attempt::Again);
        }
        let state = if to == head.position.n_lines { SyncState::Equal } else { SyncState::Others };
        Ok(Attempt::Done(state))
    }

    /// Whether the file may end with lines of other members. A colleague's text must not become the context of a user who
    /// did not ask for it.
    pub(super) fn accepts_members(&self) -> bool {
        self.owner.is_some() || self.options.accepts_members
    }

    /// Whether another program seems to use the file.
    pub(super) fn is_used(&self) -> Result<bool, SessionError> {
        match self.sessions.refuse_users(&self.path) {
            Ok(()) => Ok(false),
            Err(SessionError::InUse { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The secrets in the lines after the first `from`, if there are any.
    pub(super) fn secrets_after(
        &self,
        lines: &SessionLines,
        from: u64,
    ) -> Result<Option<Vec<SecretFinding>>, SessionError> {
        let (Some(secrets), Some(mark)) = (&self.options.secrets, lines.mark(from)) else { return Ok(None) };
        // The header is pushed with the first lines.
        let start = if from == 0 { 0 } else { mark.end };
        let n_before = if from == 0 { 0 } else { from + 1 };
        let found = self.sessions.secrets_between(
            lines.path(),
            (start, lines.end()),
            n_before,
            secrets,
            &self.options.cancel,
        )?;
        Ok(if found.is_empty() { None } else { Some(found) })
    }
}

/// Calls its argument for each line, until that returns false.
pub(super) type EachLine<'e> =
    &'e mut dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<bool, SessionError>) -> Result<(), SessionError>;
