//! The files of Codex.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sessile_agents::Agent;
use sessile_core::json::Raw;
use sessile_store::LineReader;
use sessile_store::os::{Mode, Os, Stat};

use super::{ForeignFile, MAX_DEPTH, Part, directories, first_member, listed, root, stem};
use crate::import::listed::{Head, Listed};
use crate::import::packed::read_head;
use crate::world::World;

/// How many files can have the beginning of a session.
const MAX_BASES: usize = 32;

/// All files, with those of sub-agents.
pub(super) fn files(world: &World, known: &Listed) -> Vec<ForeignFile> {
    let home = root(world.environment(), "CODEX_HOME", ".codex");
    let titles = titles(world.os(), &home.join("session_index.jsonl"));
    let mut files = Vec::new();
    for directory in all_directories(world) {
        for (path, stat) in of_directory(world.os(), &directory) {
            let Some(id) = id(&path) else { continue };
            let read = || first_member(world.os(), &path, Some("payload"), "parent_thread_id");
            let head = known.head(&path, &stat, || Head { id: None, parent: read() });
            let mut file = ForeignFile::new(Agent::Codex, id, head.parent.as_deref(), path, &stat);
            file.title = titles.get(&file.id).cloned();
            files.push(file);
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The directories that can have sessions.
fn all_directories(world: &World) -> Vec<PathBuf> {
    let home = root(world.environment(), "CODEX_HOME", ".codex");
    let mut waiting = vec![(home.join("sessions"), 0), (home.join("archived_sessions"), 0)];
    let mut found = Vec::new();
    while let Some((directory, depth)) = waiting.pop() {
        if depth < MAX_DEPTH {
            waiting.extend(directories(world.os(), &directory).into_iter().map(|inner| (inner, depth + 1)));
        }
        found.push(directory);
    }
    found
}

/// The sessions of a directory. Codex compresses a file that has not changed for long, and then removes it; while both
/// are there, the compressed one does not count.
fn of_directory(os: &dyn Os, directory: &Path) -> Vec<(PathBuf, Stat)> {
    let mut files = listed(os, directory, ".jsonl");
    let plain: HashSet<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let packed = listed(os, directory, ".jsonl.zst").into_iter();
    files.extend(packed.filter(|(path, _)| !plain.contains(&path.with_extension(""))));
    // Early versions wrote one document.
    files.extend(listed(os, directory, ".json"));
    // Users and tools keep other files beside the sessions.
    files.retain(|(path, _)| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-")));
    files
}

/// The file, and before it the files that have the beginning of the session.
pub(super) fn parts(world: &World, file: &ForeignFile) -> Vec<Part> {
    let mut parts = vec![Part::whole(world, &file.path)];
    let mut seen = vec![file.path.clone()];
    while let Some((thread, end)) = seen.last().and_then(|path| base_of(world.os(), path)) {
        let all = all_directories(world);
        let found = all.iter().flat_map(|directory| of_directory(world.os(), directory));
        let found = found.map(|(path, _)| path).find(|path| id(path).is_some_and(|id| id == thread));
        let Some(path) = found.filter(|path| !seen.contains(path) && seen.len() < MAX_BASES) else { break };
        parts.insert(0, Part { end: Some(end), ..Part::whole(world, &path) });
        seen.push(path);
    }
    parts
}

/// The session that has the beginning of a session, and where that beginning ends.
fn base_of(os: &dyn Os, path: &Path) -> Option<(String, u64)> {
    let mut base = None;
    let read = read_head(os, path, &mut |line| {
        let value = line.bytes.and_then(|bytes| Raw::parse(bytes).ok());
        let found = value.and_then(|value| value.get("payload")).and_then(|payload| payload.get("history_base"));
        let [thread, end] = found.unwrap_or(Raw::NULL).pick(["thread_id", "end_byte_offset"]);
        base = thread.and_then(Raw::as_string).zip(end.and_then(Raw::as_integer));
        false
    });
    read.ok()?;
    let (thread, end) = base?;
    Some((thread, u64::try_from(end).ok()?))
}

/// The id in the name `rollout-<time>-<id>[_<rollout>].jsonl[.zst]`: five groups of digits after the time.
pub(super) fn id(path: &Path) -> Option<String> {
    let name = stem(path)?;
    let name = name.strip_prefix("rollout-").map_or(&*name, |rest| rest.split('_').next().unwrap_or(rest));
    let groups: Vec<&str> = name.split('-').collect();
    Some(groups.get(groups.len().saturating_sub(5)..).unwrap_or_default().join("-"))
}

/// The names of sessions; the last one of each counts.
fn titles(os: &dyn Os, path: &Path) -> HashMap<String, String> {
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
