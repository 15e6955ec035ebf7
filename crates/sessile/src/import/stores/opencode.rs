//! The files of opencode: exports, and the directories of versions before its database.

use std::path::{Component, Path, PathBuf};

use sessile_agents::Agent;
use sessile_core::json::Raw;
use sessile_store::os::{Os, Stat};

use super::{ForeignFile, Part, directories, listed, root, small_file, stem};
use crate::import::listed::{Head, Listed};
use crate::world::World;

/// The directory of opencode.
pub(super) fn home(world: &World) -> PathBuf {
    root(world.environment(), "XDG_DATA_HOME", ".local/share").join("opencode")
}

/// All sessions of the directories, with those of sub-agents.
pub(super) fn files(world: &World, known: &Listed) -> Vec<ForeignFile> {
    let sessions = home(world).join("storage/session");
    let mut files = Vec::new();
    for project in directories(world.os(), &sessions) {
        let found = listed(world.os(), &project, ".json");
        files.extend(found.into_iter().map(|(path, stat)| known_file(world.os(), known, &path, &stat)));
    }
    files
}

/// The sessions of the same project.
pub(super) fn siblings(world: &World, known: &Listed, of: &ForeignFile) -> Vec<ForeignFile> {
    let project = of.path.parent().filter(|_| storage(&of.path).is_some());
    let found = project.map(|project| listed(world.os(), project, ".json")).unwrap_or_default();
    let file = |(path, stat): (PathBuf, Stat)| known_file(world.os(), known, &path, &stat);
    let mut files: Vec<ForeignFile> = found.into_iter().map(file).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The session of a file.
pub(super) fn file(os: &dyn Os, path: &Path, stat: &Stat) -> ForeignFile {
    of_head(head(os, path), path, stat)
}

fn known_file(os: &dyn Os, known: &Listed, path: &Path, stat: &Stat) -> ForeignFile {
    of_head(known.head(path, stat, || head(os, path)), path, stat)
}

fn of_head(head: Head, path: &Path, stat: &Stat) -> ForeignFile {
    let id = head.id.unwrap_or_default();
    ForeignFile::new(Agent::Opencode, id, head.parent.as_deref(), path.to_path_buf(), stat)
}

fn head(os: &dyn Os, path: &Path) -> Head {
    let text = small_file(os, path).unwrap_or_default();
    let value = Raw::parse(&text).unwrap_or(Raw::NULL);
    let [id, parent] = value.get("info").unwrap_or(value).pick(["id", "parentID"]);
    Head { id: id.and_then(Raw::as_string).or_else(|| stem(path)), parent: parent.and_then(Raw::as_string) }
}

/// The directory `storage`, if a file is in `storage/session/<project>`.
fn storage(path: &Path) -> Option<&Path> {
    let sessions = path.parent()?.parent()?;
    sessions.parent().filter(|_| sessions.file_name().is_some_and(|name| name == "session"))
}

/// An export, or the session, its messages and their parts. Their ids grow with time.
pub(super) fn parts(world: &World, file: &ForeignFile) -> Vec<Part> {
    let part = |path: PathBuf| Part { path, is_document: true, end: None };
    let mut parts = vec![part(file.path.clone())];
    let Some(storage) = storage(&file.path) else { return parts };
    let sorted = |directory: &Path| {
        let mut paths: Vec<PathBuf> =
            listed(world.os(), directory, ".json").into_iter().map(|(path, _)| path).collect();
        paths.sort();
        paths
    };
    // An id is the name of a directory, and not a path to another one.
    let mut name = Path::new(&file.id).components();
    if !matches!((name.next(), name.next()), (Some(Component::Normal(_)), None)) {
        return parts;
    }
    for message in sorted(&storage.join("message").join(&file.id)) {
        let of_message = stem(&message).map(|id| sorted(&storage.join("part").join(id)));
        parts.push(part(message));
        parts.extend(of_message.unwrap_or_default().into_iter().map(part));
    }
    parts
}
