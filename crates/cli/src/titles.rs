//! Titles of sessions that no list shows, because they are deleted or about to be deleted.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use sessile::list::SessionInfo;
use sessile::operations::SessionLocation;

use crate::environment::CommandEnvironment;
use crate::measure::ShortIds;
use crate::screen::{DIM, Line, NAMED, PLAIN};

/// Short ids, titles and directories of some sessions.
pub(crate) struct Titles {
    ids: ShortIds,
    /// The list row and the directory of each session, by its present or former path.
    rows: HashMap<PathBuf, (SessionInfo, String)>,
}

impl Titles {
    /// Reads sessions that are at their normal paths.
    pub(crate) fn of(env: &CommandEnvironment, paths: &[PathBuf]) -> Self {
        Self::read(env, paths.iter().map(|path| (path.as_path(), path.as_path())).collect(), &[])
    }

    /// Reads sessions whose files may be elsewhere.
    pub(crate) fn of_files<'s>(
        env: &CommandEnvironment,
        sessions: impl IntoIterator<Item = (&'s SessionLocation, &'s Path)>,
    ) -> Self {
        let sessions: Vec<(&SessionLocation, &Path)> = sessions.into_iter().collect();
        let ids: Vec<&str> = sessions.iter().map(|(session, _)| session.id.as_str()).collect();
        let files = sessions.into_iter().map(|(session, file)| (session.path.as_path(), file)).collect();
        Self::read(env, files, &ids)
    }

    /// Reads files. `ids` are those of sessions that may not be readable: short ids differ from them too.
    fn read(env: &CommandEnvironment, files: Vec<(&Path, &Path)>, ids: &[&str]) -> Self {
        let directories: BTreeSet<&Path> = files.iter().filter_map(|(_, file)| file.parent()).collect();
        // A list uses its cache.
        let list = |dir: &Path| env.sessions.clone().with_session_dir(dir).list_all();
        let listed = directories.into_iter().filter_map(|dir| list(dir).ok()).flatten();
        let listed: HashMap<PathBuf, SessionInfo> = listed.map(|row| (row.path.clone(), row)).collect();
        let row = |(path, file): (&Path, &Path)| {
            // A session that cannot be read is left out.
            let row = listed.get(file).cloned().or_else(|| env.sessions.row(file).ok())?;
            let directory = env.short(&row.cwd);
            Some((path.to_path_buf(), (row, directory)))
        };
        let rows: HashMap<PathBuf, (SessionInfo, String)> = files.into_iter().filter_map(row).collect();
        let ids = rows.values().map(|(row, _)| row.id.as_str()).chain(ids.iter().copied());
        Self { ids: ShortIds::among(ids), rows }
    }

    /// Returns the id of a session and, if it could be read, its title in quotes, for a sentence.
    pub(crate) fn words(&self, session: &SessionLocation) -> String {
        let id = self.ids.of(session.id.as_str());
        let Some((row, _)) = self.rows.get(&session.path) else { return id };
        let title = row.name.as_ref().unwrap_or(&row.first_message).to_str();
        format!("{id} {:?}", shortened(title.trim()))
    }

    /// Appends id, title and directory of a session to a line; its path if it could not be read.
    pub(crate) fn put_after(&self, line: Line, session: &SessionLocation) -> Line {
        let line = line.styled(DIM, &self.ids.of(session.id.as_str())).text("  ");
        let Some((row, directory)) = self.rows.get(&session.path) else {
            return line.text(&session.path.to_string_lossy());
        };
        let line = match &row.name {
            Some(name) => line.styled(NAMED, name.to_str().trim()),
            None => line.styled(PLAIN, row.first_message.to_str().trim()),
        };
        line.styled(DIM, &format!("  {directory}"))
    }
}

/// Maximum number of characters of a title in a sentence.
const SHORT_TITLE: usize = 40;

fn shortened(title: &str) -> String {
    let line = title.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHORT_TITLE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(shortened("two\nlines"), "two");
        assert_eq!(shortened(&"ä".repeat(50)), format!("{}…", "ä".repeat(40)));
    }
}
