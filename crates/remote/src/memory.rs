//! A server in memory: the simple twin of the real one.

mod store;
mod team;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::batch::Batch;
use crate::chain::{Chain, Position};
use crate::error::RemoteError;
use crate::limits;
use crate::server::Server;
use crate::stored::{
    About, AuthorRun, Candidate, Candidates, Head, NewSession, Replacement, ServerLine, ServerTime, SessionNo,
    Tombstone,
};

use store::{Line, Noted, REMOTE, Rights, Session, Store, Target, check_epoch, lost, no_such};

/// A client of a store in memory, for tests. Clones and other [members](Self::login) share the store.
///
/// It does what the real server does, in the simplest way, and can fail on request.
#[derive(Clone, Debug)]
pub struct MemoryServer {
    store: Arc<Mutex<Store>>,
    member: String,
    device: Option<String>,
    /// What happens to the next calls that write.
    fault: Option<Fault>,
    is_connected: bool,
    has_one_connection: bool,
}

/// A failure of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next call that writes fails, and the server has not done it.
    BeforeCommit,
    /// The next call that writes fails, although the server has done it.
    AfterCommit,
}

impl MemoryServer {
    /// Makes an empty store, and returns a client of a member of it.
    pub fn new(member: &str) -> Self {
        Self::of(Arc::default(), member)
    }

    fn of(store: Arc<Mutex<Store>>, member: &str) -> Self {
        let member_name = member.to_owned();
        let server = Self {
            store,
            member: member_name,
            device: None,
            fault: None,
            is_connected: true,
            has_one_connection: false,
        };
        server.lock().join(member);
        server
    }

    /// Returns a client of another member, or of the same, of this store.
    #[must_use]
    pub fn login(&self, member: &str) -> Self {
        Self::of(Arc::clone(&self.store), member)
    }

    /// Returns the same client under the name of a device, which the store notes with each line.
    #[must_use]
    pub fn on_device(mut self, name: &str) -> Self {
        self.device = Some(name.to_owned());
        self
    }

    /// Returns the same client on a server that allows one connection.
    #[must_use]
    pub fn on_one_connection(mut self) -> Self {
        self.has_one_connection = true;
        self
    }

    /// Makes the next call of this client that writes lose its connection.
    pub fn fail_next(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// Loses all lines of a session of this member after the first `n_lines`, as a failover to a standby that lagged
    /// does. The epoch stays the same.
    pub fn lose_tail(&self, header_id: &str, n_lines: usize) {
        let mut store = self.lock();
        let no = store.no_of(&self.member, header_id);
        let now = store.tick();
        if let Some(session) = no.and_then(|no| store.sessions.get_mut(&no)) {
            session.lines.truncate(n_lines);
            session.terms.retain(|noted| noted.to <= n_lines as u64);
            session.seen_at = now;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connected(&self) -> Result<(), RemoteError> {
        if !self.is_connected {
            return Err(lost());
        }
        if !self.lock().is_member(&self.member) {
            return Err(RemoteError::NotAMember { remote: REMOTE.to_owned(), user: self.member.clone() });
        }
        Ok(())
    }

    /// Runs a call that writes, with the fault that was asked for.
    fn write<T>(&mut self, act: impl FnOnce(&Self, &mut Store) -> Result<T, RemoteError>) -> Result<T, RemoteError> {
        self.connected()?;
        let fault = self.fault.take();
        if fault == Some(Fault::BeforeCommit) {
            self.is_connected = false;
            return Err(lost());
        }
        let result = act(self, &mut self.lock());
        if fault == Some(Fault::AfterCommit) {
            self.is_connected = false;
            return Err(lost());
        }
        result
    }

    /// Returns a head as this member sees it.
    fn head_of(&self, store: &Store, no: SessionNo, session: &Session, rights: Rights) -> Head {
        let project = session.project.clone();
        let project = project.filter(|name| store.project(&self.member, name).is_some());
        Head { project, ..session.head(no, rights) }
    }

    /// Returns the session if this member sees it.
    fn seen<'s>(&self, store: &'s Store, no: SessionNo) -> Result<&'s Session, RemoteError> {
        let is_seen = store.rights(&self.member, no).is_some();
        store.sessions.get(&no).filter(|_| is_seen).ok_or_else(|| no_such(no))
    }

    /// Returns the session if this member has these rights.
    fn with_rights<'s>(
        &self,
        store: &'s mut Store,
        no: SessionNo,
        needed: Rights,
    ) -> Result<&'s mut Session, RemoteError> {
        let rights = store.rights(&self.member, no).ok_or_else(|| no_such(no))?;
        if rights < needed {
            let reason = "the member may not do this with the session".to_owned();
            return Err(RemoteError::PermissionDenied { remote: REMOTE.to_owned(), reason });
        }
        store.sessions.get_mut(&no).ok_or_else(|| no_such(no))
    }

    fn stored(&self, batch: &Batch) -> impl Iterator<Item = Line> {
        let line = |(bytes, _): (&[u8], Chain)| Line {
            author: self.member.clone(),
            device: self.device.clone(),
            bytes: bytes.to_vec(),
        };
        batch.lines().map(line).collect::<Vec<_>>().into_iter()
    }
}

impl Server for MemoryServer {
    fn about(&mut self) -> Result<About, RemoteError> {
        self.connected()?;
        let store = self.lock();
        Ok(About {
            store: "00000000-0000-4000-8000-000000000000".to_owned(),
            schema_version: 0,
            server_version: "memory".to_owned(),
            member: self.member.clone(),
            is_admin: store.is_admin(&self.member),
            now: ServerTime(store.now),
        })
    }

    fn heads(
        &mut self,
        since: Option<ServerTime>,
        on_head: &mut dyn FnMut(Head) -> ControlFlow<()>,
    ) -> Result<ServerTime, RemoteError> {
        self.connected()?;
        let store = self.lock();
        for (no, session) in &store.sessions {
            let Some(rights) = store.rights(&self.member, *no) else { continue };
            let is_changed = since.is_none_or(|since| session.seen_at >= since);
            if is_changed && on_head(self.head_of(&store, *no, session, rights)).is_break() {
                break;
            }
        }
        Ok(ServerTime(store.now))
    }

    fn head(&mut self, owner: Option<&str>, header_id: &str) -> Result<Option<Head>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        let no = store.no_of(owner.unwrap_or(&self.member), header_id);
        Ok(no.and_then(|no| {
            let rights = store.rights(&self.member, no)?;
            Some(self.head_of(&store, no, &store.sessions[&no], rights))
        }))
    }

    fn create(&mut self, new: &NewSession<'_>) -> Result<Head, RemoteError> {
        limits::check_session(REMOTE, new)?;
        self.write(|this, store| {
            if let Some(no) = store.no_of(&this.member, new.header_id) {
                return Ok(this.head_of(store, no, &store.sessions[&no], Rights::Own));
            }
            let is_this =
                |tombstone: &Tombstone| tombstone.owner == this.member && tombstone.header_id == new.header_id;
            let buried = store.tombstones.iter().position(is_this);
            if buried.is_some() && !new.restore {
                return Err(RemoteError::Buried { remote: REMOTE.to_owned(), header_id: new.header_id.to_owned() });
            }
            let epoch = buried.map_or(0, |at| store.tombstones.remove(at).epoch + 1);
            let seen_at = store.tick();
            store.last_no += 1;
            let no = SessionNo(store.last_no);
            let session = Session {
                project: None,
                owner: this.member.clone(),
                header_id: new.header_id.to_owned(),
                header: new.header.to_vec(),
                epoch,
                lines: Vec::new(),
                terms: Vec::new(),
                summary: new.summary.map(<[u8]>::to_vec),
                seen_at,
            };
            let head = session.head(no, Rights::Own);
            store.sessions.insert(no, session);
            Ok(head)
        })
    }

    fn append(
        &mut self,
        session: SessionNo,
        batch: &Batch,
        summary: Option<&[u8]>,
    ) -> Result<Option<Position>, RemoteError> {
        limits::check_summary(REMOTE, summary)?;
        self.write(|this, store| {
            if this.with_rights(store, session, Rights::Write)?.position() != batch.start() {
                return Ok(None);
            }
            let now = store.tick();
            let session = this.with_rights(store, session, Rights::Write)?;
            session.lines.extend(this.stored(batch));
            session.terms.extend(Noted::of(batch, now));
            if let Some(summary) = summary {
                session.summary = Some(summary.to_vec());
            }
            session.seen_at = now;
            Ok(Some(batch.end()))
        })
    }

    fn read(
        &mut self,
        session: SessionNo,
        epoch: u32,
        from: u64,
        to: u64,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        self.connected()?;
        let lines: Vec<(u64, Line)> = {
            let store = self.lock();
            let seen = self.seen(&store, session)?;
            check_epoch(seen, session, epoch)?;
            let numbered = (1..).zip(seen.lines.iter().cloned());
            numbered.filter(|(number, _)| *number > from && *number <= to).collect()
        };
        for (number, Line { author, device, bytes }) in &lines {
            let line = ServerLine { number: *number, author, device: device.as_deref(), bytes };
            if on_line(line).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn chains(&mut self, session: SessionNo, epoch: u32, at: &[u64]) -> Result<Vec<Option<Chain>>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        let seen = self.seen(&store, session)?;
        check_epoch(seen, session, epoch)?;
        Ok(at.iter().map(|n_lines| seen.chain(*n_lines)).collect())
    }

    fn authors(&mut self, session: SessionNo, epoch: u32) -> Result<Vec<AuthorRun>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        let seen = self.seen(&store, session)?;
        check_epoch(seen, session, epoch)?;
        let mut runs: Vec<AuthorRun> = Vec::new();
        for (first, Line { author, device, .. }) in (1..).zip(&seen.lines) {
            match runs.last_mut() {
                Some(run) if run.author == *author && run.device == *device => run.n_lines += 1,
                _ => runs.push(AuthorRun { first, n_lines: 1, author: author.clone(), device: device.clone() }),
            }
        }
        Ok(runs)
    }

    fn candidates(&mut self, terms: &[u32], before: Option<ServerTime>, limit: u32) -> Result<Candidates, RemoteError> {
        limits::check_search(REMOTE, terms, limit)?;
        self.connected()?;
        let store = self.lock();
        let seen = store.sessions.iter().filter(|(no, _)| self.seen(&store, **no).is_ok());
        let found = seen.flat_map(|(no, session)| session.candidates(*no, terms));
        let mut found: Vec<Candidate> = found.filter(|found| before.is_none_or(|before| found.at < before)).collect();
        found.sort_by_key(|found| std::cmp::Reverse(found.at));
        let n_wanted = limit.min(limits::MOST_CANDIDATES) as usize;
        let last = found.get(n_wanted - 1).map(|last| last.at);
        found.retain(|found| last.is_none_or(|last| found.at >= last));
        Ok(Candidates { found, until: last })
    }

    fn replace(
        &mut self,
        session: SessionNo,
        at: &Position,
        replacement: &Replacement<'_>,
        next_batch: &mut dyn FnMut(Position) -> Option<Batch>,
    ) -> Result<Option<Position>, RemoteError> {
        limits::check_replacement(REMOTE, replacement)?;
        self.write(|this, store| {
            let own = this.with_rights(store, session, Rights::Own)?;
            if own.position() != *at {
                return Ok(None);
            }
            let mut end = Position::start(own.epoch + 1);
            let (mut lines, mut terms) = (Vec::new(), Vec::new());
            let now = store.tick();
            while let Some(batch) = next_batch(end) {
                limits::check_start(REMOTE, &batch, &end)?;
                end = batch.end();
                lines.extend(this.stored(&batch));
                terms.extend(Noted::of(&batch, now));
            }
            let own = this.with_rights(store, session, Rights::Own)?;
            own.epoch = end.epoch;
            own.lines = lines;
            own.terms = terms;
            if let Some(header) = replacement.header {
                own.header = header.to_vec();
            }
            own.summary = replacement.summary.map(<[u8]>::to_vec);
            own.seen_at = now;
            Ok(Some(end))
        })
    }

    fn bury(&mut self, header_id: &str) -> Result<bool, RemoteError> {
        self.write(|this, store| {
            let Some(no) = store.no_of(&this.member, header_id) else { return Ok(false) };
            let Some(session) = store.sessions.remove(&no) else { return Ok(false) };
            store.access.retain(|access| access.to != Target::Session(no));
            let at = store.tick();
            let Session { owner, header_id, epoch, .. } = session;
            store.tombstones.push(Tombstone { owner, header_id, epoch, by: this.member.clone(), at });
            Ok(true)
        })
    }

    fn tombstones(
        &mut self,
        since: Option<ServerTime>,
        on_tombstone: &mut dyn FnMut(Tombstone),
    ) -> Result<(), RemoteError> {
        self.connected()?;
        let store = self.lock();
        let own = store.tombstones.iter().filter(|tombstone| tombstone.owner == self.member);
        own.filter(|tombstone| since.is_none_or(|since| tombstone.at >= since)).cloned().for_each(on_tombstone);
        Ok(())
    }

    fn another(&self) -> Result<Option<Box<dyn Server>>, RemoteError> {
        self.connected()?;
        if self.has_one_connection {
            return Ok(None);
        }
        Ok(Some(Box::new(Self { fault: None, ..self.clone() })))
    }

    fn reconnect(&mut self) -> Result<(), RemoteError> {
        self.is_connected = true;
        Ok(())
    }
}
