//! The files of oh-my-pi.

use std::path::{Path, PathBuf};

use sessile_agents::Agent;

use super::{ForeignFile, directories, listed, stem};
use crate::world::World;

pub(super) fn files(world: &World) -> Vec<ForeignFile> {
    let mut files = Vec::new();
    for root in roots(world) {
        for directory in directories(world.os(), &root.join("sessions")) {
            files.extend(in_directory(world, &directory, None));
        }
    }
    files
}

/// The sub-agents of a session: files in the directory with its name.
pub(super) fn children(world: &World, file: &ForeignFile) -> Vec<ForeignFile> {
    let mut files = in_directory(world, &file.path.with_extension(""), Some(&file.id));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The directories that can have the images of a session: the one of its own store first.
pub(in crate::import) fn blob_directories(world: &World, session: &Path) -> Vec<PathBuf> {
    let is_store = |directory: &&Path| directory.file_name().is_some_and(|name| name == "sessions");
    let own = session.ancestors().skip(1).find(is_store).and_then(Path::parent).map(Path::to_path_buf);
    own.into_iter().chain(roots(world)).map(|root| root.join("blobs")).collect()
}

/// The directories with `sessions` and `blobs`: of the user, and of each profile.
fn roots(world: &World) -> Vec<PathBuf> {
    let environment = world.environment();
    let home = environment.home().join(".omp");
    let mut roots = vec![home.join("agent")];
    roots.extend(directories(world.os(), &home.join("profiles")).into_iter().map(|profile| profile.join("agent")));
    // oh-my-pi uses this one only after `omp config init-xdg`.
    if let Some(data) = environment.variable("XDG_DATA_HOME").filter(|value| !value.is_empty()) {
        let data = PathBuf::from(data).join("omp");
        roots.extend(directories(world.os(), &data.join("profiles")));
        roots.push(data);
    }
    roots
}

/// The sessions in a directory. Their names are the time and the id; those of sub-agents are only the id.
fn in_directory(world: &World, directory: &Path, parent: Option<&str>) -> Vec<ForeignFile> {
    let file = |(path, stat): (PathBuf, sessile_store::os::Stat)| {
        let name = stem(&path)?;
        let id = if parent.is_some() { &*name } else { name.rsplit('_').next().unwrap_or(&name) };
        Some(ForeignFile::new(Agent::Omp, id.to_owned(), parent, path, &stat))
    };
    listed(world.os(), directory, ".jsonl").into_iter().filter_map(file).collect()
}
