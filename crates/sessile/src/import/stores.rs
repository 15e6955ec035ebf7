//! Where other agents keep their sessions.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sessile_agents::Agent;
use sessile_core::json::Raw;
use sessile_store::os::{FileKind, Mode, Os, Stat};
use sessile_store::{LineReader, read_head};

use crate::environment::Environment;
use crate::world::World;

/// How deep the files of sub-agents can be below the directory of their session.
const MAX_DEPTH: usize = 4;

/// A file with a session of another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFile {
    /// The agent.
    pub agent: Agent,
    /// Its id for the session, from the name of the file.
    pub id: String,
    /// The id of the session that started it, if it is a sub-agent's.
    pub parent: Option<String>,
    /// The title that the agent keeps outside of the file.
    pub title: Option<String>,
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
        Self { agent, id, parent, title: None, path, size: stat.length, modified_ms: stat.modified_ms }
    }
}

/// The files of an agent's sessions, without those of sub-agents, the most recently written first. With `cwd`, files
/// that certainly belong to other directories are left out.
pub(super) fn files_of(world: &World, agent: Agent, cwd: Option<&Path>) -> Vec<ForeignFile> {
    let mut files = match agent {
        Agent::Claude => claude_files(world, cwd),
        Agent::Qwen => qwen_files(world, cwd),
        Agent::Codex => codex_files(world).into_iter().filter(|file| file.parent.is_none()).collect(),
    };
    files.sort_by(|a, b| b.modified_ms.cmp(&a.modified_ms).then_with(|| a.path.cmp(&b.path)));
    files
}

/// The files of the sub-agents of a session.
pub(super) fn children_of(world: &World, file: &ForeignFile) -> Vec<ForeignFile> {
    match file.agent {
        Agent::Claude => claude_children(world, file),
        Agent::Qwen => Vec::new(),
        Agent::Codex => {
            let is_child = |child: &ForeignFile| child.parent.as_ref() == Some(&file.id);
            codex_files(world).into_iter().filter(is_child).collect()
        }
    }
}

/// The file at a path, if an agent of these wrote it.
pub(super) fn file_at(world: &World, agents: &[Agent], path: &Path) -> Option<ForeignFile> {
    let stat = world.os().stat(path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
    let mut found = None;
    let mut n_left = 20;
    let mut look = |line: sessile_core::line::Line<'_>| {
        n_left -= 1;
        found = line.bytes.and_then(Agent::of_line);
        found.is_none() && n_left > 0
    };
    read_head(world.os(), path, &mut look).ok()?;
    let agent = match (found, agents) {
        (Some(agent), agents) if agents.contains(&agent) => agent,
        (None, [agent]) => *agent,
        _ => return None,
    };
    let id = match agent {
        Agent::Codex => codex_id(path)?,
        Agent::Claude | Agent::Qwen => stem(path)?,
    };
    Some(ForeignFile::new(agent, id, None, path.to_path_buf(), &stat))
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

fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let name = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json")).unwrap_or(&name);
    Some(name.to_owned())
}

fn claude_files(world: &World, cwd: Option<&Path>) -> Vec<ForeignFile> {
    let projects = root(world.environment(), "CLAUDE_CONFIG_DIR", ".claude").join("projects");
    let wanted = cwd.map(encoded);
    let mut files = Vec::new();
    for directory in directories(world.os(), &projects) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        // Claude Code shortens long names, so a beginning may do.
        if wanted.as_ref().is_some_and(|wanted| *wanted != name && wanted.len() <= 200) {
            continue;
        }
        for (path, stat) in listed(world.os(), &directory, ".jsonl") {
            if let Some(id) = stem(&path).filter(|id| !id.starts_with("agent-")) {
                files.push(ForeignFile::new(Agent::Claude, id, None, path, &stat));
            }
        }
    }
    files
}

fn qwen_files(world: &World, cwd: Option<&Path>) -> Vec<ForeignFile> {
    let projects = world.environment().home().join(".qwen/projects");
    let wanted = cwd.map(encoded);
    let mut files = Vec::new();
    for directory in directories(world.os(), &projects) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        if wanted.as_ref().is_some_and(|wanted| !wanted.eq_ignore_ascii_case(&name)) {
            continue;
        }
        for (path, stat) in listed(world.os(), &directory.join("chats"), ".jsonl") {
            files.extend(stem(&path).map(|id| ForeignFile::new(Agent::Qwen, id, None, path, &stat)));
        }
    }
    files
}

/// A working directory as the name of a directory of Claude Code or Qwen Code.
fn encoded(cwd: &Path) -> String {
    cwd.to_string_lossy().chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect()
}

fn claude_children(world: &World, file: &ForeignFile) -> Vec<ForeignFile> {
    let Some(directory) = file.path.parent() else { return Vec::new() };
    let mut children = Vec::new();
    let mut add = |path: PathBuf, stat: &Stat| {
        if let Some(id) = stem(&path) {
            children.push(ForeignFile::new(Agent::Claude, id, Some(&file.id), path, stat));
        }
    };
    // Earlier versions put all files of a project into one directory.
    for (path, stat) in listed(world.os(), directory, ".jsonl") {
        let is_child = stem(&path).is_some_and(|id| id.starts_with("agent-"));
        if is_child && first_session_id(world.os(), &path).as_deref() == Some(&*file.id) {
            add(path, &stat);
        }
    }
    let mut waiting = vec![(directory.join(&file.id).join("subagents"), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for (path, stat) in listed(world.os(), &directory, ".jsonl") {
            add(path, &stat);
        }
        if depth < MAX_DEPTH {
            waiting.extend(directories(world.os(), &directory).into_iter().map(|found| (found, depth + 1)));
        }
    }
    children.sort_by(|a, b| a.path.cmp(&b.path));
    children
}

/// The session id in the first line of a file.
fn first_session_id(os: &dyn Os, path: &Path) -> Option<String> {
    let mut id = None;
    let read = read_head(os, path, &mut |line| {
        let value = line.bytes.and_then(|bytes| Raw::parse(bytes).ok());
        id = value.and_then(|value| value.get("sessionId")).and_then(Raw::as_string);
        false
    });
    read.ok().and(id)
}

/// The files of Codex, with those of sub-agents.
fn codex_files(world: &World) -> Vec<ForeignFile> {
    let home = root(world.environment(), "CODEX_HOME", ".codex");
    let titles = codex_titles(world.os(), &home.join("session_index.jsonl"));
    let mut files = Vec::new();
    let mut waiting = vec![(home.join("sessions"), 0), (home.join("archived_sessions"), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for (path, stat) in listed(world.os(), &directory, ".jsonl") {
            let Some(id) = codex_id(&path) else { continue };
            let parent = codex_parent(world.os(), &path);
            let mut file = ForeignFile::new(Agent::Codex, id, parent.as_deref(), path, &stat);
            file.title = titles.get(&file.id).cloned();
            files.push(file);
        }
        if depth < MAX_DEPTH {
            waiting.extend(directories(world.os(), &directory).into_iter().map(|found| (found, depth + 1)));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The id in the name `rollout-<time>-<id>[_<rollout>].jsonl`: five groups of digits after the time.
fn codex_id(path: &Path) -> Option<String> {
    let name = stem(path)?;
    let name = name.strip_prefix("rollout-").map_or(name.as_str(), |rest| rest.split('_').next().unwrap_or(rest));
    let groups: Vec<&str> = name.split('-').collect();
    Some(groups.get(groups.len().saturating_sub(5)..).unwrap_or_default().join("-"))
}

/// The session that started a sub-agent, from the first line of its file.
fn codex_parent(os: &dyn Os, path: &Path) -> Option<String> {
    let mut parent = None;
    let read = read_head(os, path, &mut |line| {
        let value = line.bytes.and_then(|bytes| Raw::parse(bytes).ok());
        let payload = value.and_then(|value| value.get("payload"));
        parent = payload.and_then(|payload| payload.get("parent_thread_id")).and_then(Raw::as_string);
        false
    });
    read.ok().and(parent)
}

/// The names of sessions; the last one of each counts.
fn codex_titles(os: &dyn Os, path: &Path) -> HashMap<String, String> {
    let mut titles = HashMap::new();
    let Ok(file) = os.open(path, Mode::Read) else { return titles };
    let mut note = |line: sessile_core::line::Line<'_>| {
        let value = line.bytes.and_then(|bytes| Raw::parse(bytes).ok());
        let [id, name] = value.unwrap_or(Raw::NULL).pick(["id", "thread_name"]);
        if let (Some(id), Some(name)) = (id.and_then(Raw::as_string), name.and_then(Raw::as_string)) {
            titles.insert(id, name);
        }
        true
    };
    drop(LineReader::default().read(file.as_ref(), path, 0, &mut note));
    titles
}
