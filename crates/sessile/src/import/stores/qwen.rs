//! The files of Qwen Code.

use std::path::{Path, PathBuf};

use sessile_agents::Agent;
use sessile_core::json::Raw;
use sessile_store::os::Os;
use sessile_store::read_head;

use super::{ForeignFile, directories, encoded, listed, name_of, small_file, stem};
use crate::environment::Environment;
use crate::import::listed::{Head, Listed};
use crate::world::World;

/// How many lines can be before the one that names the parent.
const MAX_LINES: usize = 8;

/// The directory with the sessions of all projects. Qwen Code looks at the variables in this order.
pub(super) fn projects(environment: &dyn Environment) -> PathBuf {
    let given = |name| environment.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = environment.home();
    let root = match given("QWEN_RUNTIME_DIR").or_else(|| given("QWEN_HOME")) {
        None => home.join(".qwen"),
        Some(given) => match given.strip_prefix("~") {
            Ok(in_home) => home.join(in_home),
            Err(_) => given,
        },
    };
    root.join("projects")
}

/// All files, with those of sub-agents that have a session of their own.
pub(super) fn files(world: &World, known: &Listed, cwd: Option<&Path>) -> Vec<ForeignFile> {
    let wanted = cwd.map(encoded);
    let mut files = Vec::new();
    for directory in directories(world.os(), &projects(world.environment())) {
        if wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(&name_of(&directory))) {
            files.extend(in_directory(world.os(), known, &directory.join("chats")));
        }
    }
    files
}

/// The sub-agents that a session has started: sessions beside it that name it, and the files of agents.
pub(super) fn children(world: &World, known: &Listed, file: &ForeignFile) -> Vec<ForeignFile> {
    let Some(directory) = file.path.parent() else { return Vec::new() };
    let mut files = match name_of(directory).as_str() {
        "chats" => {
            let mut files = in_directory(world.os(), known, directory);
            let agents = directory.parent().map(|project| project.join("subagents").join(sanitized(&file.id)));
            files.extend(agents.map(|agents| agents_of(world.os(), &agents, &file.id)).unwrap_or_default());
            files
        }
        // An agent: those that it has started are beside it.
        _ => match (&file.parent, file.id.split_once('/')) {
            (Some(_), Some((session, _))) => agents_of(world.os(), directory, session),
            _ => Vec::new(),
        },
    };
    files.retain(|child| child.parent.as_ref() == Some(&file.id));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn in_directory(os: &dyn Os, known: &Listed, chats: &Path) -> Vec<ForeignFile> {
    let mut files = Vec::new();
    for (path, stat) in listed(os, chats, ".jsonl") {
        let Some(id) = stem(&path) else { continue };
        let head = known.head(&path, &stat, || Head { id: None, parent: parent(os, &path) });
        files.push(ForeignFile::new(Agent::Qwen, id, head.parent.as_deref(), path, &stat));
    }
    files
}

/// The files `agent-<id>.jsonl` of a session. Their ids are that of the session, a slash and their names.
fn agents_of(os: &dyn Os, directory: &Path, session: &str) -> Vec<ForeignFile> {
    let mut files = Vec::new();
    for (path, stat) in listed(os, directory, ".jsonl") {
        let Some(name) = stem(&path).filter(|name| name.starts_with("agent-")) else { continue };
        let starter = starter(os, &path.with_extension("meta.json"));
        let parent =
            starter.map_or_else(|| session.to_owned(), |agent| format!("{session}/agent-{}", sanitized(&agent)));
        files.push(ForeignFile::new(Agent::Qwen, format!("{session}/{name}"), Some(&parent), path, &stat));
    }
    files
}

/// The agent that has started an agent, if it was not the session.
fn starter(os: &dyn Os, path: &Path) -> Option<String> {
    let bytes = small_file(os, path)?;
    Raw::parse(&bytes).ok()?.get("parentAgentId").and_then(Raw::as_string).filter(|agent| !agent.is_empty())
}

/// An id as Qwen Code writes it in names of files.
fn sanitized(id: &str) -> String {
    let keeps = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    id.chars().map(|char| if keeps(char) { char } else { '_' }).collect()
}

/// The session that started a session, from the first lines of its file.
fn parent(os: &dyn Os, path: &Path) -> Option<String> {
    let mut parent = None;
    let mut n_left = MAX_LINES;
    let read = read_head(os, path, &mut |line| {
        n_left -= 1;
        let value = line.bytes.and_then(|bytes| Raw::parse(bytes).ok()).unwrap_or(Raw::NULL);
        let [subtype, payload] = value.pick(["subtype", "systemPayload"]);
        if subtype.and_then(Raw::as_text).is_some_and(|subtype| subtype == "parent_session") {
            parent = payload.and_then(|payload| payload.get("parentSessionId")).and_then(Raw::as_string);
        }
        parent.is_none() && n_left > 0
    });
    read.ok().and(parent)
}
