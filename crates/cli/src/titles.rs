//! What sessions are about, where the list does not say: those that are deleted, or about to be.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use sessile::{ListOptions, SessionInfo, SessionPlace};

use crate::measure::ShortIds;
use crate::screen::{DIM, Line, NAMED, PLAIN};
use crate::surroundings::Surroundings;

/// Ids in short, titles and directories of some sessions.
pub(crate) struct Titles {
    ids: ShortIds,
    /// By where the sessions are or were: what a list would show of each, and its directory.
    rows: HashMap<PathBuf, (SessionInfo, String)>,
}

impl Titles {
    /// Of sessions that are in their place.
    pub(crate) fn of(surroundings: &Surroundings, paths: &[PathBuf]) -> Self {
        Self::read(surroundings, paths.iter().map(|path| (path.as_path(), path.as_path())))
    }

    /// Of sessions whose files may be elsewhere.
    pub(crate) fn of_files<'s>(
        surroundings: &Surroundings,
        sessions: impl IntoIterator<Item = (&'s SessionPlace, &'s Path)>,
    ) -> Self {
        Self::read(surroundings, sessions.into_iter().map(|(session, file)| (session.path.as_path(), file)))
    }

    fn read<'s>(surroundings: &Surroundings, files: impl Iterator<Item = (&'s Path, &'s Path)>) -> Self {
        let files: Vec<(&Path, &Path)> = files.collect();
        let directories: BTreeSet<&Path> = files.iter().filter_map(|(_, file)| file.parent()).collect();
        // A list need not read what it has read before.
        let list = |dir: &Path| surroundings.sessions.list_all(Some(dir), &mut ListOptions::default());
        let listed = directories.into_iter().filter_map(|dir| list(dir).ok()).flatten();
        let listed: HashMap<PathBuf, SessionInfo> = listed.map(|row| (row.path.clone(), row)).collect();
        let row = |(path, file): (&Path, &Path)| {
            // A session that cannot be read goes without.
            let row = listed.get(file).cloned().or_else(|| surroundings.sessions.row(file).ok())?;
            let place = surroundings.short(&row.cwd);
            Some((path.to_path_buf(), (row, place)))
        };
        let rows: HashMap<PathBuf, (SessionInfo, String)> = files.into_iter().filter_map(row).collect();
        Self { ids: ShortIds::among(rows.values().map(|(row, _)| row.id.as_str())), rows }
    }

    /// Adds id, title and directory of a session to a line; of one that could not be read, its file.
    pub(crate) fn put_after(&self, line: Line, session: &SessionPlace) -> Line {
        let line = line.styled(DIM, &self.ids.of(&session.id)).text("  ");
        let Some((row, place)) = self.rows.get(&session.path) else {
            return line.text(&session.path.to_string_lossy());
        };
        let line = match &row.name {
            Some(name) => line.styled(NAMED, name.to_str().trim()),
            None => line.styled(PLAIN, row.first_message.to_str().trim()),
        };
        line.styled(DIM, &format!("  {place}"))
    }
}
