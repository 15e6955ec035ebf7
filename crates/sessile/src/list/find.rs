//! One session of a directory, by its id or because it is the newest.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use sessile_core::head::{Kind, Parsed, read};
use sessile_core::header::Header;
use sessile_core::json::Json;
use sessile_index::Catalogue;
use sessile_store::{Found, find_sessions, read_head};

use crate::error::SessionError;
use crate::place::{CwdFilter, given_dir};
use crate::world::World;

/// The file written last whose header is valid and whose working directory fits.
pub(crate) fn most_recent(
    world: &World,
    cwd: &Path,
    given: Option<&Path>,
    dir: &Path,
) -> Result<Option<PathBuf>, SessionError> {
    let filter = CwdFilter::new(world.environment(), cwd, given_dir(world.environment(), given).as_deref());
    let mut files = find_sessions(world.os(), dir)?;
    files.sort_by_key(|file| Reverse(file.stat.modified_ms));
    let headers = Headers::of(world, dir);
    let fits = |file: &Found| headers.get(file).is_some_and(|(_, cwd)| filter.admits(world.environment(), &cwd));
    Ok(files.into_iter().find(fits).map(|file| file.path))
}

/// The first file by name whose header has exactly this id and whose working directory fits.
pub(crate) fn find_by_id(world: &World, cwd: &Path, id: &str, given: Option<&Path>, dir: &Path) -> Option<PathBuf> {
    let filter = CwdFilter::new(world.environment(), cwd, given_dir(world.environment(), given).as_deref());
    let files = find_sessions(world.os(), dir).ok()?;
    let headers = Headers::of(world, dir);
    let fits = |file: &Found| {
        headers.get(file).is_some_and(|(found, cwd)| found == id && filter.admits(world.environment(), &cwd))
    };
    files.into_iter().find(fits).map(|file| file.path)
}

/// A session as far as its header tells, and what it is about if somebody found that out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCandidate {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// The working directory its header names, or nothing.
    pub cwd: String,
    /// Its name, or else the first text of the user.
    pub title: Option<String>,
}

/// The sessions of a directory that a filter admits, by file name. No file is read beyond its header.
pub(crate) fn identified(world: &World, dir: &Path, filter: &CwdFilter) -> Result<Vec<SessionCandidate>, SessionError> {
    let headers = Headers::of(world, dir);
    let candidate = |file: Found| {
        let (id, cwd) = headers.get(&file)?;
        filter.admits(world.environment(), &cwd).then_some(SessionCandidate { path: file.path, id, cwd, title: None })
    };
    Ok(find_sessions(world.os(), dir)?.into_iter().filter_map(candidate).collect())
}

/// The headers of a directory's files: from the catalogue where it knows, else from the files.
///
/// Nothing is added to the catalogue: a few headers are read faster than whole files.
struct Headers<'w> {
    world: &'w World,
    catalogue: Catalogue,
}

impl<'w> Headers<'w> {
    fn of(world: &'w World, dir: &Path) -> Self {
        let catalogue = world.caches().map(|caches| Catalogue::load(&caches, dir)).unwrap_or_default();
        Self { world, catalogue }
    }

    /// The id and the working directory in a file's header; none if the file is no session.
    fn get(&self, file: &Found) -> Option<(String, String)> {
        let row = file.path.file_name().and_then(|name| self.catalogue.row(name));
        match row.and_then(|row| row.header(&file.stat)) {
            Some(None) => None,
            // One that stands further behind would not be found in the file either.
            Some(Some(header)) if header.offset < MOST_JUNK => Some((header.id, header.cwd)),
            _ => read_header(self.world, &file.path).map(|header| (header.id(), header.cwd().unwrap_or_default())),
        }
    }
}

/// The header of a file, read no further than needed; none if the file is no session.
pub(crate) fn read_header(world: &World, path: &Path) -> Option<Header> {
    let mut header = None;
    read_head(world.os(), path, &mut |line| {
        let Some(bytes) = line.without_bom().bytes else { return true };
        match read(bytes) {
            Parsed::Kept(head) => {
                let is_header = head.kind == Kind::Header && head.id.is_some();
                header = is_header.then(|| Json::parse(bytes).ok().map(Header::new)).flatten();
                false
            }
            _ => line.span.end() < MOST_JUNK,
        }
    })
    .ok()?;
    header
}

/// How much that is no header may stand before one; more than that is no session worth waiting for.
const MOST_JUNK: u64 = 16 << 20;
