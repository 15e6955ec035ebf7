//! Finds one session of a directory: by its id, or the newest.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::head::{Parsed, read};
use sessile_core::header::Header;
use sessile_core::json::Json;
use sessile_index::Catalogue;
use sessile_store::{FoundFile, find_sessions, read_head};

use crate::directory::CwdFilter;
use crate::error::SessionError;
use crate::world::World;

/// The most recently written file with a valid header and a matching working directory.
pub(crate) fn most_recent(world: &World, cwd: &Path) -> Result<Option<PathBuf>, SessionError> {
    most_recent_in(world, &world.session_dir_of(cwd), &world.filter_of(cwd))
}

/// The most recently written file of a directory with a valid header and a working directory that a filter admits.
pub(super) fn most_recent_in(world: &World, dir: &Path, filter: &CwdFilter) -> Result<Option<PathBuf>, SessionError> {
    let mut files = find_sessions(world.os(), dir)?;
    files.sort_by_key(|file| Reverse(file.stat.modified_ms));
    let headers = Headers::of(world, dir);
    let fits = |file: &FoundFile| headers.get(file).is_some_and(|(_, cwd)| filter.admits(world.environment(), &cwd));
    Ok(files.into_iter().find(fits).map(|file| file.path))
}

/// The first file by name whose header has exactly this id and a matching working directory.
pub(crate) fn find_by_id(world: &World, cwd: &Path, id: &SessionId) -> Option<PathBuf> {
    let (dir, filter) = (world.session_dir_of(cwd), world.filter_of(cwd));
    let files = find_sessions(world.os(), &dir).ok()?;
    let headers = Headers::of(world, &dir);
    let fits = |file: &FoundFile| {
        headers.get(file).is_some_and(|(found, cwd)| found == *id && filter.admits(world.environment(), &cwd))
    };
    files.into_iter().find(fits).map(|file| file.path)
}

/// A session with the data of its header, and its title if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCandidate {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: SessionId,
    /// The working directory in its header, or empty.
    pub cwd: String,
    /// Its name, or else the first text of the user.
    pub title: Option<String>,
}

/// The sessions of a directory that a filter admits, by file name. Reads only the headers.
pub(crate) fn identified(world: &World, dir: &Path, filter: &CwdFilter) -> Result<Vec<SessionCandidate>, SessionError> {
    let headers = Headers::of(world, dir);
    let candidate = |file: FoundFile| {
        let (id, cwd) = headers.get(&file)?;
        filter.admits(world.environment(), &cwd).then_some(SessionCandidate { path: file.path, id, cwd, title: None })
    };
    Ok(find_sessions(world.os(), dir)?.into_iter().filter_map(candidate).collect())
}

/// The headers of a directory's files: from the catalogue if it has them, else from the files.
///
/// Adds nothing to the catalogue: reading a few headers is faster than reading whole files.
struct Headers<'w> {
    world: &'w World,
    catalogue: Catalogue,
}

impl<'w> Headers<'w> {
    fn of(world: &'w World, dir: &Path) -> Self {
        let catalogue = world.caches().map(|caches| Catalogue::load(&caches, dir)).unwrap_or_default();
        Self { world, catalogue }
    }

    /// The id and the working directory in a file's header; `None` if the file is not a session.
    fn get(&self, file: &FoundFile) -> Option<(SessionId, String)> {
        let row = file.path.file_name().and_then(|name| self.catalogue.row(name));
        match row.and_then(|row| row.header(&file.stat)) {
            Some(None) => None,
            // A header further down would not be found in the file either.
            Some(Some(header)) if header.offset < MAX_JUNK => Some((header.id, header.cwd)),
            _ => read_header(self.world, &file.path).map(|header| (header.id(), header.cwd().unwrap_or_default())),
        }
    }
}

/// The header of a file, without reading more than necessary; `None` if the file is not a session.
pub(crate) fn read_header(world: &World, path: &Path) -> Option<Header> {
    let mut header = None;
    read_head(world.os(), path, &mut |line| {
        let Some(bytes) = line.without_bom().bytes else { return true };
        match read(bytes) {
            Parsed::Value(head) => {
                let is_header = head.is_session_header();
                header = is_header.then(|| Json::parse(bytes).ok().map(Header::new)).flatten();
                false
            }
            _ => line.span.end() < MAX_JUNK,
        }
    })
    .ok()?;
    header
}

/// The maximum number of bytes before a header; a file with more is not treated as a session.
const MAX_JUNK: u64 = 16 << 20;
