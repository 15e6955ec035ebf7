//! The files of Copilot CLI.

use std::path::Path;

use sessile_agents::Agent;
use sessile_store::os::{FileKind, Os, Stat};

use super::{ForeignFile, directories, listed, name_of, root, small_file, stem};
use crate::world::World;

pub(super) fn files(world: &World) -> Vec<ForeignFile> {
    let sessions = root(world.environment(), "COPILOT_HOME", ".copilot").join("session-state");
    let old = listed(world.os(), &sessions, ".jsonl");
    let mut files: Vec<ForeignFile> = old.into_iter().map(|(path, stat)| file(world.os(), &path, &stat)).collect();
    for directory in directories(world.os(), &sessions) {
        let path = directory.join("events.jsonl");
        let stat = world.os().stat(&path).ok().filter(|stat| stat.kind == FileKind::Regular);
        files.extend(stat.map(|stat| file(world.os(), &path, &stat)));
    }
    files
}

/// The session of a file: its id is the name of the file, or of its directory.
pub(super) fn file(os: &dyn Os, path: &Path, stat: &Stat) -> ForeignFile {
    let directory = path.parent().filter(|_| path.file_name().is_some_and(|name| name == "events.jsonl"));
    let id = directory.map(name_of).or_else(|| stem(path)).unwrap_or_default();
    let mut file = ForeignFile::new(Agent::Copilot, id, None, path.to_path_buf(), stat);
    file.title = directory.and_then(|directory| name(os, &directory.join("workspace.yaml")));
    file
}

/// The name in a `workspace.yaml`.
fn name(os: &dyn Os, path: &Path) -> Option<String> {
    let text = small_file(os, path)?;
    let text = String::from_utf8_lossy(&text);
    let name = text.lines().find_map(|line| line.strip_prefix("name:"))?.trim();
    let unquoted = name.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    Some(unquoted.unwrap_or(name).to_owned()).filter(|name| !name.is_empty() && name != "null")
}
