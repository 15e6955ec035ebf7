//! Files that hold the same session: sync conflicts, backups, copies made by hand.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::date::Timestamp;
use sessile_core::location::encode_cwd;

use super::SessionInfo;

/// The sessions of a list that are copies of others: files with the same session id.
///
/// The original is the file with the name and the directory that pi gives it; of several, the most recently used one.
/// All others are copies of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    original_of: HashMap<PathBuf, PathBuf>,
}

/// The data that decides which of several files is the original.
pub(crate) struct Candidate<'c> {
    pub(crate) path: &'c Path,
    pub(crate) id: &'c SessionId,
    pub(crate) cwd: &'c str,
    /// The time of its last use.
    pub(crate) used: Timestamp,
    pub(crate) size: u64,
}

impl<'c> From<&'c SessionInfo> for Candidate<'c> {
    fn from(session: &'c SessionInfo) -> Self {
        let SessionInfo { path, id, cwd, modified, size, .. } = session;
        Self { path, id, cwd, used: *modified, size: *size }
    }
}

impl Copies {
    /// Finds the copies in a list.
    pub fn among(sessions: &[SessionInfo]) -> Self {
        // Most lists have none, and this check is quick.
        let mut met: HashSet<&str> = HashSet::with_capacity(sessions.len());
        if sessions.iter().all(|session| session.id.is_empty() || met.insert(session.id.as_str())) {
            return Self::default();
        }
        Self::among_files(sessions.iter().map(Candidate::from))
    }

    /// Like [`among`](Self::among), for files known only by the necessary data.
    pub(crate) fn among_files<'c>(files: impl Iterator<Item = Candidate<'c>>) -> Self {
        let mut by_id: HashMap<&str, Vec<Candidate<'_>>> = HashMap::new();
        for file in files.filter(|file| !file.id.is_empty()) {
            by_id.entry(file.id.as_str()).or_default().push(file);
        }
        let mut original_of = HashMap::new();
        for files in by_id.into_values().filter(|files| files.len() > 1) {
            let Some(original) = files.iter().min_by_key(|file| rank(file)) else { continue };
            let copies = files.iter().filter(|file| file.path != original.path);
            original_of.extend(copies.map(|copy| (copy.path.to_path_buf(), original.path.to_path_buf())));
        }
        Self { original_of }
    }

    /// The original of a copy.
    pub fn original_of(&self, path: &Path) -> Option<&Path> {
        self.original_of.get(path).map(PathBuf::as_path)
    }

    /// The copies of a file, sorted by path.
    pub fn of(&self, path: &Path) -> Vec<&Path> {
        let is_copy = |(_, original): &(&PathBuf, &PathBuf)| original.as_path() == path;
        let mut copies: Vec<&Path> = self.original_of.iter().filter(is_copy).map(|(copy, _)| copy.as_path()).collect();
        copies.sort_unstable();
        copies
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.original_of.is_empty()
    }
}

/// The sort key by which the original comes first.
fn rank<'c>(file: &Candidate<'c>) -> (bool, bool, Reverse<Timestamp>, Reverse<u64>, &'c Path) {
    let own_name = format!("_{}.jsonl", file.id);
    let has_own_name = file.path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&own_name));
    let directory = file.path.parent().and_then(Path::file_name);
    let is_at_home = directory.is_some_and(|name| *name == *encode_cwd(Path::new(file.cwd)));
    (!has_own_name, !is_at_home, Reverse(file.used), Reverse(file.size), file.path)
}

#[cfg(test)]
mod tests {
    use sessile_core::info::SessionFacts;

    use super::*;

    fn file(path: &str, id: &str, modified: i64) -> SessionInfo {
        SessionInfo {
            path: path.into(),
            id: id.to_owned().into(),
            cwd: "/home/u/x".to_owned(),
            name: None,
            is_archived: false,
            is_redacted: false,
            imported_from: None,
            member: None,
            project: None,
            repository: None,
            parent_session_path: None,
            created: None,
            modified: Timestamp::from_ms(modified),
            message_count: 1,
            first_message: "".into(),
            all_messages_text: "".into(),
            size: 1,
            written: Timestamp::EPOCH,
            facts: SessionFacts::default(),
        }
    }

    #[test]
    fn the_file_with_pis_name_and_directory_is_the_original() {
        let original = "/s/--home-u-x--/2025_a.jsonl";
        let list = [
            file("/s/--home-u-x--/2025_a.sync-conflict-1.jsonl", "a", 9),
            file("/s/--backup--/2025_a.jsonl", "a", 8),
            file(original, "a", 1),
            file("/s/--home-u-x--/2025_b.jsonl", "b", 2),
            file("/s/--home-u-x--/odd1.jsonl", "", 2),
            file("/s/--home-u-x--/odd2.jsonl", "", 2),
        ];
        let copies = Copies::among(&list);
        let found: Vec<Option<&Path>> = list.iter().map(|session| copies.original_of(&session.path)).collect();
        assert_eq!(found, [Some(Path::new(original)), Some(Path::new(original)), None, None, None, None]);
        assert_eq!(copies.of(Path::new(original)), [list[1].path.as_path(), list[0].path.as_path()]);
        assert!(Copies::among(&list[3..]).is_empty());
    }

    #[test]
    fn without_pis_name_the_last_used_file_is_the_original() {
        let list = [file("/s/one.jsonl", "a", 1), file("/s/two.jsonl", "a", 2)];
        assert_eq!(Copies::among(&list).original_of(Path::new("/s/one.jsonl")), Some(Path::new("/s/two.jsonl")));
    }
}
