//! Importing sessions of other agents.

use std::collections::{HashSet, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sessile_agents::{
    Agent, Earlier, ForeignSession, ImportChoices, Losses, Origin, Plan, Reader, Title, TitleSource, Written,
};
use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::{ObjectWriter, Raw};
use sessile_core::line::{Span, split};
use sessile_core::location::file_name;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_core::{EntryId, SessionId};
use sessile_store::{Expect, FileLog, Log, StoreError, create_directory, prepare_file};

use super::abandoned::Abandoned;
use super::source::{Source, Survey};
use super::stores::{self, ForeignFile, Stores};
use super::turns::Turns;
use crate::compose::{self, Base};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, lock_activity};
use crate::parallel;
use crate::record::{OperationKind, SessionLocation, Step};
use crate::session_file::lock_session;
use crate::sessions::Sessions;

/// How often an append starts over because another program has written to the session.
const MAX_TRIES: usize = 5;

/// How to import sessions of other agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentImportOptions {
    /// What new sessions have. Sessions that were imported before keep the choices of their first import.
    pub choices: ImportChoices,
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
    /// It was imported before without a choice that this import asks for, so nothing was written.
    Refused,
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
    /// The choices of its first import.
    pub choices: ImportChoices,
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

/// What an import of sessions of other agents did, or what a dry run would do.
#[derive(Debug, Default)]
pub struct AgentImport {
    /// The sessions.
    pub sessions: Vec<ImportedSession>,
    /// Why files could not be read. The others were imported.
    pub unreadable: Vec<SessionError>,
}

/// Sessions of other agents.
#[derive(Debug, Default)]
pub struct ForeignList {
    /// The sessions, the most recently written first.
    pub sessions: Vec<ForeignInfo>,
    /// Why files could not be read.
    pub unreadable: Vec<SessionError>,
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
        let stores = Stores::new(&self.world);
        let of = |agent: &Agent| stores.files_of(*agent, cwd.as_deref());
        let mut files: Vec<ForeignFile> = agents.iter().flat_map(of).collect();
        stores.listed.save(false);
        files.sort_by_key(|file| std::cmp::Reverse(file.modified_ms));
        files
    }

    /// The session file of one of these agents at a path.
    pub fn foreign_file(&self, agents: &[Agent], path: &Path) -> Option<ForeignFile> {
        stores::file_at(&self.world, agents, &absolute(self.environment(), path))
    }

    /// The sessions of agents, without those of sub-agents, the most recently written first: all of them, or only those
    /// of a working directory. Sessions without messages are left out.
    ///
    /// A cache of what the files say is used and kept current, so files that have not changed are not read.
    pub fn list_foreign(&self, agents: &[Agent], cwd: Option<&Path>) -> ForeignList {
        let cwd = cwd.map(|cwd| absolute(self.environment(), cwd));
        let stores = Stores::new(&self.world);
        let mut list = ForeignList::default();
        for file in agents.iter().flat_map(|agent| stores.files_of(*agent, cwd.as_deref())) {
            let info = if let Some(known) = stores.listed.described(&file) {
                known
            } else {
                let info = match self.describe_foreign(&file) {
                    // It was removed since the directory was listed.
                    Err(SessionError::Store(error)) if error.is_not_found() => continue,
                    Err(error) => {
                        list.unreadable.push(error);
                        continue;
                    }
                    Ok(described) => described,
                };
                stores.listed.note(&file, info.as_ref());
                info
            };
            let of_cwd = |info: &ForeignInfo, cwd: &Path| {
                info.cwd.as_ref().is_some_and(|found| absolute(self.environment(), Path::new(found)) == cwd)
            };
            list.sessions.extend(info.filter(|info| cwd.as_ref().is_none_or(|cwd| of_cwd(info, cwd))));
        }
        stores.listed.save(cwd.is_none() && agents.len() == Agent::ALL.len());
        list.sessions.sort_by_key(|info| std::cmp::Reverse(info.file.modified_ms));
        list
    }

    /// How to get at sessions of these agents that are in a place which cannot be read here; at a certain one, if `id` is
    /// its id.
    pub fn foreign_hint(&self, agents: &[Agent], id: Option<&str>) -> Option<String> {
        if !agents.contains(&Agent::Opencode) || !stores::has_opencode_database(&self.world) {
            return None;
        }
        let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let id = id.filter(|id| id.starts_with("ses_") && id.chars().all(is_plain));
        let list = if id.is_some() { "" } else { "  opencode session list\n" };
        let (id, file) = (id.unwrap_or("ID"), format!("{}.json", id.unwrap_or("session")));
        Some(format!(
            "opencode keeps its sessions in a database, which is not read. Export a session, and import the file:\n\
             {list}  opencode export {id} > {file}\n  sessile import --from opencode {file}"
        ))
    }

    /// What a file of another agent says about its session; `None` if it has no messages.
    pub fn describe_foreign(&self, file: &ForeignFile) -> Result<Option<ForeignInfo>, SessionError> {
        let Survey { mut sessions, .. } = Source::of(&self.world, file).survey(reader_of(file))?;
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
    ///
    /// It keeps the choices of its first import, also for what is new. A session that lacks a choice that the options ask
    /// for is not changed; the others are imported.
    pub fn import_foreign(
        &self,
        files: &[ForeignFile],
        options: AgentImportOptions,
    ) -> Result<AgentImport, SessionError> {
        // Two concurrent imports must not both find that a session is new.
        let turn = if options.dry_run { None } else { lock_activity(&self.world, "import")? };
        let known = self.list_all()?.into_iter().map(|session| (session.id, session.path)).collect();
        let import = Import {
            sessions: self,
            abandoned: Abandoned::new(turn),
            stores: Stores::new(&self.world),
            turns: Turns::new(known),
            recording: Mutex::new(None),
            unreadable: Mutex::default(),
            n_files: files.len(),
            options,
        };
        let mut done: Vec<Vec<ImportedSession>> = vec![Vec::new(); files.len()];
        let mut failure = None;
        // Most of the time goes into reading and writing JSON, which all cores can do.
        let worker = || |nth: usize| files.get(nth).map_or_else(|| Ok(Vec::new()), |file| import.file(file));
        parallel::stream(self.world.os(), files.len(), worker, &mut |nth, imported| {
            match imported {
                Ok(imported) => done[nth] = imported,
                Err(error) => failure = Some(error),
            }
            failure.is_none()
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(recording) = import.recording.into_inner().unwrap_or_else(PoisonError::into_inner) {
            recording.done();
        }
        let unreadable = import.unreadable.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(AgentImport { sessions: done.into_iter().flatten().collect(), unreadable })
    }
}

/// An import in progress.
struct Import<'i> {
    sessions: &'i Sessions,
    abandoned: Abandoned,
    stores: Stores<'i>,
    turns: Turns,
    /// The operation, which begins with the first change. Its steps are done one after the other.
    recording: Mutex<Option<Recording<'i>>>,
    /// Why files could not be read.
    unreadable: Mutex<Vec<SessionError>>,
    n_files: usize,
    options: AgentImportOptions,
}

impl Import<'_> {
    /// Logs a step and does it.
    fn step(&self, step: &Step, act: impl FnOnce() -> Result<(), SessionError>) -> Result<(), SessionError> {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = match recording.take() {
            Some(begun) => begun,
            None => Recording::begin(&self.sessions.world, OperationKind::Import, self.n_files, None)?,
        };
        recording.insert(begun).step(step, act)
    }

    /// Imports a file, then those of its sub-agents, and of theirs.
    fn file(&self, file: &ForeignFile) -> Result<Vec<ImportedSession>, SessionError> {
        let mut done = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting = VecDeque::from([(file.clone(), None::<Parent>)]);
        while let Some((file, parent)) = waiting.pop_front() {
            // Files of hostile agents may name each other as parents.
            if !seen.insert(file.path.clone()) {
                continue;
            }
            let first = self.one_file(&file, parent.as_ref(), &mut done)?;
            // Nothing of a refused session changes.
            let is_refused = done.last().is_some_and(|imported| imported.state == ImportState::Refused);
            if !self.options.no_children && !is_refused {
                let children = self.stores.children_of(&file);
                waiting.extend(children.into_iter().map(|child| (child, first.clone())));
            }
        }
        Ok(done)
    }

    /// Imports the sessions of one file, and returns the first.
    fn one_file(
        &self,
        file: &ForeignFile,
        parent: Option<&Parent>,
        done: &mut Vec<ImportedSession>,
    ) -> Result<Option<Parent>, SessionError> {
        let mut source = Source::of(&self.sessions.world, file);
        let Survey { mut sessions, sha256 } = match source.survey(reader_of(file)) {
            Ok(survey) => survey,
            Err(error) => {
                self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                return Ok(None);
            }
        };
        // No format has both images in other files and sub-agents in the same file.
        if let Some(session) = sessions.first_mut() {
            source.find_blobs(file, session);
        }
        let mut first = None;
        // The first one is the file's own; the others are sub-agents in the same file.
        let n_wanted = if self.options.no_children { 1 } else { usize::MAX };
        for session in sessions.iter().take(n_wanted) {
            let parent = parent.or(first.as_ref());
            let imported = self.session(file, session, &mut source, &sha256, parent)?;
            if first.is_none() && imported.state != ImportState::Empty {
                first = Some(Parent { path: imported.path.clone(), choices: imported.choices.clone() });
            }
            let is_refused = imported.state == ImportState::Refused;
            done.push(imported);
            if is_refused {
                break;
            }
        }
        Ok(first)
    }

    fn session(
        &self,
        file: &ForeignFile,
        session: &ForeignSession,
        source: &mut Source<'_>,
        sha256: &str,
        parent: Option<&Parent>,
    ) -> Result<ImportedSession, SessionError> {
        let mut plan = Plan::new(session);
        let asked = &self.options.choices;
        let mut choices = parent.map_or_else(|| asked.clone(), |parent| asked.joined(&parent.choices));
        plan.choose(choices.clone());
        let id = plan.session_id();
        let cwd = session.cwd.as_deref().filter(|cwd| Path::new(cwd).is_absolute());
        let cwd = cwd.map_or_else(|| self.sessions.environment().current_dir(), PathBuf::from);
        let directory = self.sessions.world.session_dir_of(&cwd);
        let started = session.started.unwrap_or(Timestamp::EPOCH);
        let turn = self.turns.take(&id);
        let path = turn.path.clone().unwrap_or_else(|| directory.join(file_name(&to_iso(started), &id)));
        let from = file.path.to_string_lossy();
        let origin = Origin { path: &from, sha256 };
        let target = Target { path: &path, id: &id, cwd: &cwd, parent: parent.map(|parent| parent.path.as_path()) };
        let earlier = if turn.path.is_some() { self.choices_of(&plan, &path)? } else { None };
        let (state, written) = if session.nodes.is_empty() {
            (ImportState::Empty, None)
        } else if earlier.as_ref().is_some_and(|earlier| !earlier.include(asked)) {
            (ImportState::Refused, None)
        } else if turn.path.is_some() {
            // Images in other files may have come since. If one is missing, the session keeps what it has.
            let has_images = !session.blobs.is_empty() && session.losses.of("images") == 0;
            let unchanged = if has_images { None } else { self.unchanged(file, &plan, &origin, &target)? };
            let written = match unchanged {
                Some(unchanged) => unchanged,
                None => self.extend(&mut plan, &origin, source, &target)?,
            };
            let state = if written.n_lines > 0 { ImportState::Extended } else { ImportState::Unchanged };
            (state, Some(written))
        } else {
            let written = self.create(&mut plan, &origin, source, &target)?;
            if !self.options.dry_run {
                turn.created(path.clone());
            }
            (ImportState::Created, Some(written))
        };
        choices = earlier.or(written.as_ref().map(|written| written.choices.clone())).unwrap_or(choices);
        let damaged = session.damages.iter().map(|damage| DamagedLine {
            path: source.path(damage.file),
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
            losses: choices.losses(session),
            choices,
            damaged: damaged.collect(),
            path,
        })
    }

    /// The choices of an earlier import, if this one has choices of its own.
    fn choices_of(&self, plan: &Plan<'_>, path: &Path) -> Result<Option<ImportChoices>, SessionError> {
        if self.options.choices.is_default() {
            return Ok(None);
        }
        let log = FileLog::open(&self.sessions.world.os, path, self.sessions.world.writing)?;
        let mut outline = Outline::new();
        log.scan(0, &mut |line| outline.push(line, &mut StableIds))?;
        plan.choices_of(&mut Earlier::new(outline, |span| Ok::<_, SessionError>(log.read(span)?))?)
    }

    /// Writes a new session.
    fn create(
        &self,
        plan: &mut Plan<'_>,
        origin: &Origin<'_>,
        source: &mut Source<'_>,
        target: &Target<'_>,
    ) -> Result<Written, SessionError> {
        if self.options.dry_run {
            return plan.write(origin, &mut (), &mut |place, into| source.read(place, into), &mut |_| Ok(()));
        }
        let os = self.sessions.world.os();
        if let Some(directory) = target.path.parent() {
            create_directory(os, directory, true)?;
        }
        self.abandoned.remove(os, target.path);
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
        self.step(&step, || Ok(prepared.publish().map(drop)?))?;
        written.ok_or_else(|| SessionError::NotASession { path: target.path.to_path_buf() })
    }

    /// The outcome for a session that has all of its source, without comparing them: the source is still what it was when
    /// the session was created. `None` if the two must be compared.
    fn unchanged(
        &self,
        file: &ForeignFile,
        plan: &Plan<'_>,
        origin: &Origin<'_>,
        target: &Target<'_>,
    ) -> Result<Option<Written>, SessionError> {
        // A title that is kept elsewhere may have changed.
        if file.title.is_some() {
            return Ok(None);
        }
        let manager = self.sessions.open(target.path)?;
        let created = manager.header().json().raw().get("importedFrom").and_then(|from| from.get("sha256"));
        if created.and_then(Raw::as_text).is_none_or(|sha256| sha256 != *origin.sha256) {
            return Ok(None);
        }
        let log = FileLog::open(&self.sessions.world.os, target.path, self.sessions.world.writing)?;
        let read = |span| Ok::<_, SessionError>(log.read(span)?);
        plan.nothing_new(&mut Earlier::new(manager.outline().clone(), read)?).map(Some)
    }

    /// Appends what a session lacks.
    fn extend(
        &self,
        plan: &mut Plan<'_>,
        origin: &Origin<'_>,
        source: &mut Source<'_>,
        target: &Target<'_>,
    ) -> Result<Written, SessionError> {
        if self.options.dry_run {
            let log = FileLog::open(&self.sessions.world.os, target.path, self.sessions.world.writing)?;
            let mut existing = Earlier::new(outline_of(&log)?, |span| Ok::<_, SessionError>(log.read(span)?))?;
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
            let mut existing = Earlier::new(outline_of(&log)?, |span| Ok::<_, SessionError>(log.read(span)?))?;
            let mut lines = Vec::new();
            let mut sink = |line: &[u8]| {
                lines.extend_from_slice(line);
                Ok(())
            };
            let written = plan.write(origin, &mut existing, &mut |place, into| source.read(place, into), &mut sink)?;
            let end = existing.outline.end();
            let Some(mark) = written.last.clone().filter(|_| written.n_lines > 0) else { return Ok(written) };
            // It reads the file through the log, which is written next.
            drop(existing);
            let step = Step::Extend { session: target.location(), source: PathBuf::from(origin.path), mark };
            match self.step(&step, || self.append(&mut log, &lines, end)) {
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

/// The outline of the session of an earlier import.
fn outline_of(log: &FileLog) -> Result<Outline, SessionError> {
    let mut outline = Outline::new();
    log.scan(0, &mut |line| outline.push(line, &mut StableIds))?;
    Ok(outline)
}

/// A reader for a file.
fn reader_of(file: &ForeignFile) -> Reader {
    let mut reader = match &file.parent {
        Some(parent) => Reader::of_child(file.agent, &file.id, parent),
        None => Reader::new(file.agent, &file.id),
    };
    if let Some(cwd) = &file.cwd {
        reader.set_cwd(cwd);
    }
    if let Some(title) = &file.title {
        reader.entitle(title, TitleSource::User);
    }
    reader
}

/// The session that has started sub-agents.
#[derive(Clone)]
struct Parent {
    path: PathBuf,
    choices: ImportChoices,
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
