//! Importing sessions of other agents.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use sessile_agents::{Agent, ForeignSession, Losses, Origin, Plan, Reader, Title, TitleSource, Written};
use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::ObjectWriter;
use sessile_core::line::{Span, split};
use sessile_core::location::file_name;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_core::{EntryId, SessionId};
use sessile_store::{Expect, FileLog, Log, StoreError, create_directory, prepare_file};

use super::existing::Imported;
use super::source::{Source, Survey};
use super::stores::{self, ForeignFile};
use crate::compose::{self, Base};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, lock_activity};
use crate::record::{OperationKind, SessionLocation, Step};
use crate::session_file::lock_session;
use crate::sessions::Sessions;

/// How often an append starts over because another program has written to the session.
const MAX_TRIES: usize = 5;

/// How to import sessions of other agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentImportOptions {
    /// Whether to leave out the sessions of sub-agents.
    pub no_children: bool,
    /// Whether to only find out what would be done.
    pub dry_run: bool,
}

/// What an import did to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// It is new.
    Created,
    /// It was imported before and has new entries.
    Extended,
    /// It was imported before and has everything.
    Unchanged,
    /// The source has no messages, so nothing was written.
    Empty,
}

/// An imported session of another agent, or what a dry run would import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSession {
    /// The agent.
    pub agent: Agent,
    /// The agent's id for the session.
    pub foreign_id: String,
    /// Whether it is a sub-agent's.
    pub is_child: bool,
    /// The source file.
    pub from: PathBuf,
    /// What was done.
    pub state: ImportState,
    /// The file of the session.
    pub path: PathBuf,
    /// Its id.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The number of messages in the source.
    pub n_messages: usize,
    /// The number of entries that were written.
    pub n_written: usize,
    /// Whether the session opens where the agent goes on. If not, the user has gone on from another entry.
    pub follows_agent: bool,
    /// What is not kept.
    pub losses: Losses,
    /// Lines of the source that could not be read, with the reasons.
    pub damaged: Vec<DamagedLine>,
}

/// A line of a source that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLine {
    /// The file.
    pub path: PathBuf,
    /// The line, counting from 1.
    pub line: u64,
    /// The offset in the file.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// A session of another agent, for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignInfo {
    /// Its file.
    pub file: ForeignFile,
    /// The working directory.
    pub cwd: Option<String>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When its last line was written.
    pub ended: Option<Timestamp>,
    /// The version of the agent.
    pub version: Option<String>,
    /// Its title.
    pub title: Option<Title>,
    /// The first text of the user.
    pub first_prompt: Option<String>,
    /// The number of messages.
    pub n_messages: usize,
    /// The id that an import gives it.
    pub id: SessionId,
}

impl Sessions {
    /// The session files of agents, without those of sub-agents, the most recently written first. With `cwd`, files
    /// that certainly belong to other directories are left out.
    pub fn foreign_files(&self, agents: &[Agent], cwd: Option<&Path>) -> Vec<ForeignFile> {
        let cwd = cwd.map(|cwd| absolute(self.environment(), cwd));
        let of = |agent: &Agent| stores::files_of(&self.world, *agent, cwd.as_deref());
        let mut files: Vec<ForeignFile> = agents.iter().flat_map(of).collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.modified_ms));
        files
    }

    /// The session file of one of these agents at a path.
    pub fn foreign_file(&self, agents: &[Agent], path: &Path) -> Option<ForeignFile> {
        stores::file_at(&self.world, agents, &absolute(self.environment(), path))
    }

    /// What a file of another agent says about its session; `None` if it has no messages.
    pub fn describe_foreign(&self, file: &ForeignFile) -> Result<Option<ForeignInfo>, SessionError> {
        let source = Source::open(&self.world, &file.path)?;
        let Survey { mut sessions, .. } = source.survey(reader_of(file))?;
        if sessions.is_empty() || sessions[0].nodes.is_empty() {
            return Ok(None);
        }
        let session = sessions.swap_remove(0);
        let id = sessile_agents::session_id(session.agent, &session.id, session.started);
        Ok(Some(ForeignInfo {
            file: file.clone(),
            n_messages: session.n_messages(),
            cwd: session.cwd,
            started: session.started,
            ended: session.ended,
            version: session.version,
            title: session.title,
            first_prompt: session.first_prompt,
            id,
        }))
    }

    /// Imports sessions of other agents, with those of their sub-agents.
    ///
    /// A session that was imported before gets only what it lacks. If its user has gone on in the meantime, it still
    /// opens where the user was. Sources are only read.
    pub fn import_foreign(
        &self,
        files: &[ForeignFile],
        options: AgentImportOptions,
    ) -> Result<Vec<ImportedSession>, SessionError> {
        // Two concurrent imports must not both find that a session is new.
        let _turn = if options.dry_run { None } else { lock_activity(&self.world, "import")? };
        let known = self.list_all()?.into_iter().map(|session| (session.id, session.path)).collect();
        let recording = OnceCell::new();
        let mut import = Import { sessions: self, known, recording, options, n_files: files.len(), done: Vec::new() };
        for file in files {
            import.file(file)?;
        }
        if let Some(recording) = import.recording.into_inner() {
            recording.done();
        }
        Ok(import.done)
    }
}

/// An import in progress.
struct Import<'i> {
    sessions: &'i Sessions,
    /// The sessions of the store.
    known: HashMap<SessionId, PathBuf>,
    /// The operation, which begins with the first change.
    recording: OnceCell<Recording<'i>>,
    n_files: usize,
    options: AgentImportOptions,
    done: Vec<ImportedSession>,
}

impl<'i> Import<'i> {
    fn recording(&self) -> Result<&Recording<'i>, SessionError> {
        if let Some(recording) = self.recording.get() {
            return Ok(recording);
        }
        let begun = Recording::begin(&self.sessions.world, OperationKind::Import, self.n_files, None)?;
        Ok(self.recording.get_or_init(|| begun))
    }

    /// Imports a file, and those of its sub-agents.
    fn file(&mut self, file: &ForeignFile) -> Result<(), SessionError> {
        let parent = self.one_file(file, None)?;
        if self.options.no_children {
            return Ok(());
        }
        for child in stores::children_of(&self.sessions.world, file) {
            self.one_file(&child, parent.as_deref())?;
        }
        Ok(())
    }

    /// Imports the sessions of one file, and returns the path of the first.
    fn one_file(&mut self, file: &ForeignFile, parent: Option<&Path>) -> Result<Option<PathBuf>, SessionError> {
        let mut source = Source::open(&self.sessions.world, &file.path)?;
        let Survey { sessions, sha256 } = source.survey(reader_of(file))?;
        let mut first = None;
        for session in &sessions {
            if session.parent.is_some() && self.options.no_children {
                continue;
            }
            let parent = parent.or(first.as_deref());
            let imported = self.session(file, session, &mut source, &sha256, parent)?;
            if first.is_none() && imported.state != ImportState::Empty {
                first = Some(imported.path.clone());
            }
            self.done.push(imported);
        }
        Ok(first)
    }

    fn session(
        &self,
        file: &ForeignFile,
        session: &ForeignSession,
        source: &mut Source,
        sha256: &str,
        parent: Option<&Path>,
    ) -> Result<ImportedSession, SessionError> {
        let mut plan = Plan::new(session);
        let id = plan.session_id();
        let cwd = session.cwd.as_deref().filter(|cwd| Path::new(cwd).is_absolute());
        let cwd = cwd.map_or_else(|| self.sessions.environment().current_dir(), PathBuf::from);
        let directory = self.sessions.world.session_dir_of(&cwd);
        let started = session.started.unwrap_or(Timestamp::EPOCH);
        let known = self.known.get(&id).cloned();
        let path = known.clone().unwrap_or_else(|| directory.join(file_name(&to_iso(started), &id)));
        let from = file.path.to_string_lossy();
        let origin = Origin { path: &from, sha256 };
        let target = Target { path: &path, id: &id, cwd: &cwd, parent };
        let (state, written) = if session.nodes.is_empty() {
            (ImportState::Empty, None)
        } else if known.is_some() {
            let written = self.extend(&mut plan, &origin, source, &target)?;
            let state = if written.n_lines > 0 { ImportState::Extended } else { ImportState::Unchanged };
            (state, Some(written))
        } else {
            (ImportState::Created, Some(self.create(&mut plan, &origin, source, &target)?))
        };
        let damaged = session.damages.iter().map(|damage| DamagedLine {
            path: file.path.clone(),
            line: damage.line,
            offset: damage.offset,
            reason: damage.reason,
        });
        Ok(ImportedSession {
            agent: session.agent,
            foreign_id: session.id.clone(),
            is_child: session.parent.is_some(),
            from: file.path.clone(),
            state,
            id,
            title: session.title.as_ref().map(|title| title.text.clone()).or_else(|| session.first_prompt.clone()),
            n_messages: session.n_messages(),
            n_written: written.as_ref().map_or(0, |written| written.n_entries),
            follows_agent: written.is_none_or(|written| written.follows_agent),
            losses: session.losses.clone(),
            damaged: damaged.collect(),
            path,
        })
    }

    /// Writes a new session.
    fn create(
        &self,
        plan: &mut Plan<'_>,
        origin: &Origin<'_>,
        source: &mut Source,
        target: &Target<'_>,
    ) -> Result<Written, SessionError> {
        if self.options.dry_run {
            return plan.write(origin, &mut (), &mut |place, into| source.read(place, into), &mut |_| Ok(()));
        }
        let os = self.sessions.world.os();
        if let Some(directory) = target.path.parent() {
            create_directory(os, directory, true)?;
        }
        let parent = target.parent.map(Path::to_string_lossy);
        let mut header = plan.header(origin, &target.cwd.to_string_lossy(), parent.as_deref()).into_bytes();
        header.push(b'\n');
        let mut written = None;
        let prepared = prepare_file(os, target.path, true, &mut |out: &mut dyn Write| {
            let failed = |error| SessionError::from(StoreError::io_at("write", target.path, error));
            out.write_all(&header).map_err(failed)?;
            let mut read = |place, into: &mut Vec<u8>| source.read(place, into);
            let mut sink = |line: &[u8]| out.write_all(line).map_err(failed);
            written = Some(plan.write(origin, &mut (), &mut read, &mut sink)?);
            Ok::<(), SessionError>(())
        })?;
        let step = Step::Create {
            session: target.location(),
            length: prepared.length(),
            source: Some(PathBuf::from(origin.path)),
        };
        self.recording()?.step(&step, || Ok(prepared.publish().map(drop)?))?;
        written.ok_or_else(|| SessionError::NotASession { path: target.path.to_path_buf() })
    }

    /// Appends what a session lacks.
    fn extend(
        &self,
        plan: &mut Plan<'_>,
        origin: &Origin<'_>,
        source: &mut Source,
        target: &Target<'_>,
    ) -> Result<Written, SessionError> {
        if self.options.dry_run {
            let log = FileLog::open(&self.sessions.world.os, target.path, self.sessions.world.writing)?;
            let mut existing = Imported::read(&log)?;
            return plan.write(origin, &mut existing, &mut |place, into| source.read(place, into), &mut |_| Ok(()));
        }
        let mut manager = self.sessions.open(target.path)?;
        manager.check_writable()?;
        manager.recover()?;
        drop(manager);
        let mut log = lock_session(&self.sessions.world, target.path)?;
        let mut n_left = MAX_TRIES;
        loop {
            n_left -= 1;
            let mut existing = Imported::read(&log)?;
            let mut lines = Vec::new();
            let mut sink = |line: &[u8]| {
                lines.extend_from_slice(line);
                Ok(())
            };
            let written = plan.write(origin, &mut existing, &mut |place, into| source.read(place, into), &mut sink)?;
            let end = existing.outline.end();
            let Some(mark) = written.last.clone().filter(|_| written.n_lines > 0) else { return Ok(written) };
            let from = vec![PathBuf::from(origin.path)];
            let step = Step::Merge { session: target.location(), from, mark };
            match self.recording()?.step(&step, || self.append(&mut log, &lines, end)) {
                Err(SessionError::Store(StoreError::Grown { .. })) if n_left > 0 => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(written),
            }
        }
    }

    /// Appends lines at a known end. If a program without the lock has written just before them, a mark keeps its place.
    fn append(&self, log: &mut FileLog, lines: &[u8], end: u64) -> Result<(), SessionError> {
        let mut appended = log.append(lines, Expect::Length(end))?;
        let mut end = end;
        loop {
            let between = log.read(Span { offset: end, len: appended.offset.saturating_sub(end) })?;
            let mut others = Outline::new();
            for line in split(&between) {
                others.push(line, &mut StableIds);
            }
            let Some(leaf) = others.leaf().and_then(|row| others.id(row)) else { break };
            end = appended.end;
            appended = log.append(&self.mark(&leaf), Expect::Length(end))?;
        }
        log.make_durable()?;
        Ok(())
    }

    /// A mark after an entry, so that the session opens there.
    fn mark(&self, leaf: &EntryId) -> Vec<u8> {
        let environment = self.sessions.environment();
        let id = EntryId::from(environment.entry_uuid());
        let timestamp = to_iso(environment.now());
        let base = Base { id: &id, parent: Some(leaf), timestamp: &timestamp };
        let data = ObjectWriter::new().finish();
        let mut line = compose::custom(&base, "sessile.import", Some(data.raw())).into_bytes();
        line.push(b'\n');
        line
    }
}

/// A reader for a file.
fn reader_of(file: &ForeignFile) -> Reader {
    let mut reader = match &file.parent {
        Some(parent) => Reader::of_child(file.agent, &file.id, parent),
        None => Reader::new(file.agent, &file.id),
    };
    if let Some(title) = &file.title {
        reader.entitle(title, TitleSource::User);
    }
    reader
}

/// The session that an import writes.
struct Target<'t> {
    path: &'t Path,
    id: &'t SessionId,
    cwd: &'t Path,
    /// The session that started it.
    parent: Option<&'t Path>,
}

impl Target<'_> {
    fn location(&self) -> SessionLocation {
        SessionLocation { path: self.path.to_path_buf(), id: self.id.clone() }
    }
}
