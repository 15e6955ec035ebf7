//! Where other agents keep their sessions.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod omp;
mod opencode;
mod places;
mod qwen;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sessile_agents::Agent;
use sessile_core::json::{Raw, Shape};
use sessile_store::os::{FileKind, Mode, Os, Stat, read_upto};

use super::listed::Listed;
use super::packed::{is_packed, read_head};
use crate::environment::Environment;
use crate::world::World;

/// How deep files can be below the directory of an agent.
const MAX_DEPTH: usize = 4;

/// How much of a small file is read.
const MAX_SMALL: u64 = 16 << 20;

/// A file with a session of another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    /// The agent.
    pub agent: Agent,
    /// Its id for the session, from the name or the beginning of the file.
    pub id: String,
    /// The id of the session that started it, if it is a sub-agent's.
    pub parent: Option<String>,
    /// The title that the agent keeps outside of the file.
    pub title: Option<String>,
    /// The working directory, if the agent keeps it outside of the file.
    pub cwd: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: i64,
}

impl ForeignFile {
    fn new(agent: Agent, id: String, parent: Option<&str>, path: PathBuf, stat: &Stat) -> Self {
        let parent = parent.map(str::to_owned);
        Self { agent, id, parent, title: None, cwd: None, path, size: stat.length, modified_ms: stat.modified_ms }
    }
}

/// A file that a session is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    /// Whether it is one JSON document instead of lines.
    pub(super) is_document: bool,
    /// Where to stop, if another file continues from there.
    pub(super) end: Option<u64>,
}

impl Part {
    fn whole(world: &World, path: &Path) -> Self {
        Self { path: path.to_path_buf(), is_document: is_document(world.os(), path), end: None }
    }
}

/// The stores of all agents, for one operation.
pub(super) struct Stores<'w> {
    world: &'w World,
    /// What is known of the files.
    pub(super) listed: Listed,
    /// The files of Codex with those of sub-agents, which are found by reading the beginnings of all files.
    codex: OnceLock<Vec<ForeignFile>>,
}

impl<'w> Stores<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        Self { world, listed: Listed::load(world), codex: OnceLock::new() }
    }

    fn codex(&self) -> &[ForeignFile] {
        self.codex.get_or_init(|| codex::files(self.world, &self.listed))
    }

    /// The files of an agent's sessions, without those of sub-agents, the most recently written first. With `cwd`, files
    /// that certainly belong to other directories are left out.
    pub(super) fn files_of(&self, agent: Agent, cwd: Option<&Path>) -> Vec<ForeignFile> {
        let mut files = match agent {
            Agent::Claude => claude::files(self.world, cwd),
            Agent::Codex => self.codex().iter().filter(|file| file.parent.is_none()).cloned().collect(),
            Agent::Copilot => copilot::files(self.world),
            Agent::Gemini => gemini::files(self.world, &self.listed, cwd),
            Agent::Opencode => {
                opencode::files(self.world, &self.listed).into_iter().filter(|file| file.parent.is_none()).collect()
            }
            Agent::Omp => omp::files(self.world),
            Agent::Qwen => {
                let files = qwen::files(self.world, &self.listed, cwd);
                files.into_iter().filter(|file| file.parent.is_none()).collect()
            }
        };
        files.sort_by(|a, b| b.modified_ms.cmp(&a.modified_ms).then_with(|| a.path.cmp(&b.path)));
        files
    }

    /// The files of the sub-agents that a session has started itself.
    pub(super) fn children_of(&self, file: &ForeignFile) -> Vec<ForeignFile> {
        let is_child = |child: &&ForeignFile| child.parent.as_ref() == Some(&file.id);
        match file.agent {
            Agent::Claude if file.parent.is_some() => Vec::new(),
            Agent::Claude => claude::children(self.world, file),
            Agent::Codex => self.codex().iter().filter(is_child).cloned().collect(),
            Agent::Gemini => gemini::children(self.world, file),
            Agent::Opencode => {
                opencode::siblings(self.world, &self.listed, file).iter().filter(is_child).cloned().collect()
            }
            Agent::Copilot => Vec::new(),
            Agent::Omp => omp::children(self.world, file),
            Agent::Qwen => qwen::children(self.world, &self.listed, file),
        }
    }
}

/// The directories that can have the images of a session of oh-my-pi.
pub(super) fn blob_directories(world: &World, session: &Path) -> Vec<PathBuf> {
    omp::blob_directories(world, session)
}

/// Whether opencode has a database.
pub(super) fn has_opencode_database(world: &World) -> bool {
    world.os().stat(&opencode::home(world).join("opencode.db")).is_ok()
}

/// The files that a session is read from, in order.
pub(super) fn parts_of(world: &World, file: &ForeignFile) -> Vec<Part> {
    match file.agent {
        Agent::Opencode => opencode::parts(world, file),
        Agent::Codex => codex::parts(world, file),
        _ => vec![Part::whole(world, &file.path)],
    }
}

/// The file at a path, if an agent of these wrote it.
pub(super) fn file_at(world: &World, agents: &[Agent], path: &Path) -> Option<ForeignFile> {
    let stat = world.os().stat(path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
    // A database of opencode has no session of its own, and may be very large.
    if starts_with(world.os(), path, b"SQLite format 3\0") {
        return None;
    }
    // No other agent compresses its files.
    let found = if is_packed(path) { Some(Agent::Codex) } else { writer_of(world.os(), path) };
    let agent = match (found, agents) {
        (Some(agent), agents) if agents.contains(&agent) => agent,
        (None, [agent]) => *agent,
        _ => return None,
    };
    match agent {
        Agent::Codex => Some(ForeignFile::new(agent, codex::id(path)?, None, path.to_path_buf(), &stat)),
        Agent::Copilot => Some(copilot::file(world.os(), path, &stat)),
        Agent::Claude | Agent::Omp | Agent::Qwen => {
            Some(ForeignFile::new(agent, stem(path)?, None, path.to_path_buf(), &stat))
        }
        Agent::Gemini => gemini::file(world, path, &stat),
        Agent::Opencode => Some(opencode::file(world.os(), path, &stat)),
    }
}

/// Whether a file begins with these bytes.
fn starts_with(os: &dyn Os, path: &Path, bytes: &[u8]) -> bool {
    let head = os.open(path, Mode::Read).and_then(|file| read_upto(file.as_ref(), 0, bytes.len() as u64));
    head.is_ok_and(|head| head == bytes)
}

/// The agent that wrote a file, if its beginning shows it.
fn writer_of(os: &dyn Os, path: &Path) -> Option<Agent> {
    if is_document(os, path) {
        return Agent::of_line(&small_file(os, path)?);
    }
    let mut found = None;
    let mut n_left = 20;
    let mut look = |line: sessile_core::line::Line<'_>| {
        n_left -= 1;
        found = line.bytes.and_then(Agent::of_line);
        found.is_none() && n_left > 0
    };
    read_head(os, path, &mut look).ok()?;
    found
}

/// Whether a file is one JSON document instead of lines: by its name, or because its first line alone is not JSON.
fn is_document(os: &dyn Os, path: &Path) -> bool {
    match path.extension().and_then(OsStr::to_str) {
        Some("json") => return true,
        Some("jsonl" | "zst") => return false,
        _ => {}
    }
    let mut is_document = false;
    let read = read_head(os, path, &mut |line| {
        let bytes = line.bytes.unwrap_or_default();
        is_document = bytes.trim_ascii_start().starts_with(b"{") && Raw::parse(bytes).is_err();
        false
    });
    read.is_ok() && is_document
}

/// The bytes of a file that is not large.
fn small_file(os: &dyn Os, path: &Path) -> Option<Vec<u8>> {
    let file = os.open(path, Mode::Read).ok()?;
    read_upto(file.as_ref(), 0, file.stat().ok()?.length.min(MAX_SMALL)).ok()
}

/// A directory from a variable, or below the user's home.
fn root(environment: &dyn Environment, variable: &str, in_home: &str) -> PathBuf {
    let given = environment.variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    given.unwrap_or_else(|| environment.home().join(in_home))
}

/// The regular files with an ending in a directory, with their metadata.
fn listed(os: &dyn Os, directory: &Path, ending: &str) -> Vec<(PathBuf, Stat)> {
    let is_wanted = |name: &OsStr| name.as_encoded_bytes().ends_with(ending.as_bytes());
    let found = os.list_stats(directory, &is_wanted).unwrap_or_default();
    let regular = |(path, stat): (PathBuf, Option<Stat>)| Some((path, stat?));
    found.into_iter().filter_map(regular).filter(|(_, stat)| stat.kind == FileKind::Regular).collect()
}

/// The directories in a directory.
fn directories(os: &dyn Os, directory: &Path) -> Vec<PathBuf> {
    let found = os.list_stats(directory, &|_| true).unwrap_or_default();
    let is_directory = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.kind == FileKind::Directory);
    found.into_iter().filter(|(_, stat)| is_directory(stat)).map(|(path, _)| path).collect()
}

/// The name of a file without its ending.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    let name = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json")).unwrap_or(name);
    Some(name.to_owned())
}

/// The name of a directory.
fn name_of(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A working directory as the name of a directory of Claude Code or Qwen Code.
fn encoded(cwd: &Path) -> String {
    cwd.to_string_lossy().chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect()
}

/// A member of the first line of a file, below an object of that line if `within` names one.
fn first_member(os: &dyn Os, path: &Path, within: Option<&str>, member: &str) -> Option<String> {
    let mut found = None;
    let read = read_head(os, path, &mut |line| {
        let value = line.bytes.and_then(|bytes| Raw::parse(bytes).ok()).filter(|value| value.shape() == Shape::Object);
        let value = within.map_or(value, |within| value.and_then(|value| value.get(within)));
        found = value.and_then(|value| value.get(member)).and_then(Raw::as_string);
        false
    });
    read.ok().and(found)
}
