//! The files of Claude Code.

use std::path::{Path, PathBuf};

use sessile_agents::Agent;
use sessile_store::os::Stat;

use super::{ForeignFile, MAX_DEPTH, directories, encoded, first_member, listed, name_of, root, stem};
use crate::world::World;

pub(super) fn files(world: &World, cwd: Option<&Path>) -> Vec<ForeignFile> {
    let projects = root(world.environment(), "CLAUDE_CONFIG_DIR", ".claude").join("projects");
    let wanted = cwd.map(encoded);
    let mut files = Vec::new();
    for directory in directories(world.os(), &projects) {
        let name = name_of(&directory);
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

pub(super) fn children(world: &World, file: &ForeignFile) -> Vec<ForeignFile> {
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
        if is_child && first_member(world.os(), &path, None, "sessionId").as_deref() == Some(&*file.id) {
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
