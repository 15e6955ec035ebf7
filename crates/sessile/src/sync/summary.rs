//! The note about a session on a server: what other machines need before they have read its lines.

use std::path::{Path, PathBuf};

use sessile_core::info::TokenCounts;
use sessile_core::json::{ObjectWriter, Raw};

use crate::list::SessionInfo;
use crate::repository::{Place, place_of};
use crate::world::World;

/// How many characters of the first message are in a note.
const MAX_FIRST_MESSAGE: usize = 400;

/// Where a session's working directory is, in terms that have a meaning on other machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Whereabouts {
    pub(crate) cwd: PathBuf,
    /// The home directory of the machine.
    home: Option<PathBuf>,
    /// The repository and the directory in it.
    repository: Option<(String, PathBuf)>,
}

impl Whereabouts {
    /// Describes a working directory of this machine.
    pub(crate) fn of(world: &World, cwd: &str) -> Self {
        let cwd = PathBuf::from(cwd);
        let place = place_of(world.os(), &cwd);
        Self {
            home: Some(world.environment().home()),
            repository: place.map(|Place { repository, inside, .. }| (repository, inside)),
            cwd,
        }
    }

    /// The note as JSON, with what a list shows of the session.
    pub(crate) fn to_note(&self, row: Option<&SessionInfo>) -> Vec<u8> {
        let mut note = ObjectWriter::new();
        note.string("cwd", &self.cwd.to_string_lossy());
        if let Some(home) = &self.home {
            note.string("home", &home.to_string_lossy());
        }
        if let Some((repository, inside)) = &self.repository {
            note.string("repository", repository).string("inside", &inside.to_string_lossy());
        }
        if let Some(row) = row {
            put_row(&mut note, row);
        }
        note.finish().to_text().into_owned().into_bytes()
    }

    /// Reads a note. A note of another version has at least a part of this.
    pub(crate) fn read(note: &[u8], cwd: &str) -> Self {
        let note = Raw::parse(note).ok();
        let text = |key| note?.get(key)?.as_string();
        let repository = text("repository").map(|repository| (repository, text("inside").unwrap_or_default().into()));
        Self { cwd: cwd.into(), home: text("home").map(PathBuf::from), repository }
    }

    /// The directory on this machine: of the same repository, else at the same place below the home directory, else the
    /// same path. `known` are the working directories of this machine's sessions; the current directory comes before them.
    pub(crate) fn here(&self, world: &World, known: &mut dyn Iterator<Item = PathBuf>) -> PathBuf {
        let os = world.os();
        let is_directory = |path: &Path| os.stat(path).is_ok();
        if let Some((repository, inside)) = &self.repository
            && inside.components().all(|part| matches!(part, std::path::Component::Normal(_)))
        {
            let is_same = |place: &Place| place.repository == *repository;
            // The same path first: it may be one of several clones.
            let mut candidates = [self.cwd.clone(), world.environment().current_dir()].into_iter().chain(known);
            if let Some(place) = candidates.find_map(|cwd| place_of(os, &cwd).filter(is_same)) {
                // By parts, because `join("")` would end with a slash, and be another directory for pi.
                return place.root.components().chain(inside.components()).collect();
            }
        }
        let below_home = self.home.as_ref().and_then(|home| self.cwd.strip_prefix(home).ok());
        let moved = below_home.map(|path| world.environment().home().join(path));
        match moved {
            Some(moved) if !is_directory(&self.cwd) => moved,
            _ => self.cwd.clone(),
        }
    }
}

fn put_row(note: &mut ObjectWriter, row: &SessionInfo) {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    if let Some(name) = &row.name {
        note.string("name", &name.to_str());
    }
    let first: String = row.first_message.to_str().chars().take(MAX_FIRST_MESSAGE).collect();
    note.string("firstMessage", &first)
        .integer("messages", i64::try_from(row.message_count).unwrap_or(i64::MAX))
        .integer("entries", count(row.facts.entries))
        .integer("modified", row.modified.as_ms())
        .number("cost", row.facts.cost)
        .integer("compactions", count(row.facts.compactions));
    let TokenCounts { input, output, cache_read, cache_write } = row.facts.tokens;
    let tokens = ObjectWriter::new()
        .number("input", input)
        .number("output", output)
        .number("cacheRead", cache_read)
        .number("cacheWrite", cache_write)
        .finish();
    note.raw("tokens", tokens.raw());
    let mut roles = ObjectWriter::new();
    for (role, number) in row.facts.messages.iter() {
        if let Some(word) = role.word() {
            roles.integer(word, count(number));
        }
    }
    note.raw("roles", roles.finish().raw());
    if row.facts.has_branches {
        note.bool("branches", true);
    }
    if row.is_archived {
        note.bool("archived", true);
    }
}
