//! The files of Gemini CLI.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sessile_agents::Agent;
use sessile_core::json::Raw;
use sessile_store::os::{Os, Stat};
use sessile_store::read_head;
use sha2::{Digest, Sha256};

use super::{ForeignFile, directories, listed, name_of, small_file, stem};
use crate::import::listed::{Head, Listed};
use crate::world::World;

pub(super) fn files(world: &World, known: &Listed, cwd: Option<&Path>) -> Vec<ForeignFile> {
    let projects = Projects::read(world, cwd);
    let mut files = Vec::new();
    for directory in directories(world.os(), &projects.home.join("tmp")) {
        let found = projects.cwd_of(world.os(), &directory);
        if let (Some(found), Some(wanted)) = (&found, cwd)
            && Path::new(found) != wanted
        {
            continue;
        }
        let chats = directory.join("chats");
        let lines = listed(world.os(), &chats, ".jsonl");
        let mut documents = listed(world.os(), &chats, ".json");
        // When an old session goes on, it is copied into lines.
        documents.retain(|(path, _)| !lines.iter().any(|(lines, _)| lines.with_extension("json") == *path));
        for (path, stat) in lines.into_iter().chain(documents) {
            if !stem(&path).is_some_and(|name| name.starts_with("session-")) {
                continue;
            }
            let head = known.head(&path, &stat, || Head { id: id(world.os(), &path), parent: None });
            let Some(id) = head.id else { continue };
            let mut file = ForeignFile::new(Agent::Gemini, id, None, path, &stat);
            file.cwd.clone_from(&found);
            files.push(file);
        }
    }
    files
}

/// The session file at a path.
pub(super) fn file(world: &World, path: &Path, stat: &Stat) -> Option<ForeignFile> {
    let mut file = ForeignFile::new(Agent::Gemini, id(world.os(), path)?, None, path.to_path_buf(), stat);
    let project = path.parent().and_then(Path::parent);
    file.cwd = project.and_then(|project| Projects::read(world, None).cwd_of(world.os(), project));
    Some(file)
}

/// The sub-agents of a session: files in the directory with its id.
pub(super) fn children(world: &World, file: &ForeignFile) -> Vec<ForeignFile> {
    let own = file.id.rsplit('/').next().unwrap_or(&file.id);
    let directory = if file.parent.is_some() {
        // The directories of all sessions are beside each other.
        file.path.parent().and_then(Path::parent)
    } else {
        file.path.parent()
    };
    let Some(directory) = directory.map(|directory| directory.join(own)).filter(|_| !own.is_empty()) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for (path, stat) in listed(world.os(), &directory, ".jsonl") {
        let Some(id) = id(world.os(), &path) else { continue };
        let mut child = ForeignFile::new(Agent::Gemini, id, Some(&file.id), path, &stat);
        child.cwd.clone_from(&file.cwd);
        children.push(child);
    }
    children.sort_by(|a, b| a.path.cmp(&b.path));
    children
}

/// The id in the first lines of a file, else its name. The first line of a document is only a brace.
fn id(os: &dyn Os, path: &Path) -> Option<String> {
    let mut found = None;
    let mut n_left = 5;
    let mut look = |line: sessile_core::line::Line<'_>| {
        n_left -= 1;
        let text = line.bytes.unwrap_or_default().trim_ascii();
        let member = text.strip_suffix(b",").unwrap_or(text);
        let wrapped = [b"{", member, b"}"].concat();
        let value = Raw::parse(text).or_else(|_| Raw::parse(&wrapped)).ok();
        found = value.and_then(|value| value.get("sessionId")).and_then(Raw::as_string);
        found.is_none() && n_left > 0
    };
    drop(read_head(os, path, &mut look));
    found.filter(|id| !id.is_empty()).or_else(|| stem(path))
}

/// Which directory of Gemini CLI belongs to which working directory.
struct Projects {
    home: PathBuf,
    /// The working directories by the names of their directories.
    by_name: HashMap<String, String>,
}

impl Projects {
    /// Reads the names of projects. Earlier versions used a hash of the working directory, so `cwd` may be one more.
    fn read(world: &World, cwd: Option<&Path>) -> Self {
        let home = super::root(world.environment(), "GEMINI_CLI_HOME", "").join(".gemini");
        let text = small_file(world.os(), &home.join("projects.json")).unwrap_or_default();
        let value = Raw::parse(&text).unwrap_or(Raw::NULL);
        let mut by_name = HashMap::new();
        for member in value.get("projects").into_iter().flat_map(Raw::properties) {
            let (path, name) = (member.0.to_str().into_owned(), member.1.as_string());
            by_name.extend(name.map(|name| (name, path.clone())));
            by_name.insert(hash(&path), path);
        }
        if let Some(cwd) = cwd.map(|cwd| cwd.to_string_lossy().into_owned()) {
            by_name.insert(hash(&cwd), cwd);
        }
        Self { home, by_name }
    }

    fn cwd_of(&self, os: &dyn Os, directory: &Path) -> Option<String> {
        let marker = small_file(os, &directory.join(".project_root")).unwrap_or_default();
        let marker = String::from_utf8_lossy(&marker).trim().to_owned();
        let marker = Some(marker).filter(|marker| Path::new(marker).is_absolute());
        marker.or_else(|| self.by_name.get(&name_of(directory)).cloned())
    }
}

fn hash(path: &str) -> String {
    format!("{:x}", Sha256::digest(path.as_bytes()))
}
