//! What programs have acknowledged, and the check that it is in the store.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::SplitMix;

/// The word that marks what a soak writes. A number follows, which is used once.
const MARK: &str = "soak-";

/// The sessions that actors use, and what was acknowledged in each.
#[derive(Default)]
pub(super) struct Board(Mutex<State>);

#[derive(Default)]
struct State {
    sessions: BTreeMap<PathBuf, Known>,
    n_marks: u64,
    n_acknowledged: u64,
    n_verified: u64,
}

/// An entry that a program has acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) mark: String,
    /// Whether pi wrote it on its own engine, which does not look at the end of the file.
    pub(super) is_of_pi: bool,
}

struct Known {
    acknowledged: Vec<Acknowledged>,
    n_users: u32,
    born: Instant,
    is_retired: bool,
}

impl Board {
    /// Returns a text that occurs nowhere else.
    pub(super) fn mark(&self) -> String {
        let mut state = self.0.lock().unwrap();
        state.n_marks += 1;
        format!("{MARK}{}", state.n_marks)
    }

    /// Adds a session that its caller uses.
    pub(super) fn add(&self, path: &Path) {
        let known = Known { acknowledged: Vec::new(), n_users: 1, born: Instant::now(), is_retired: false };
        self.0.lock().unwrap().sessions.entry(path.to_path_buf()).or_insert(known);
    }

    /// Returns a random session to use; `None` if there are fewer than `enough`.
    pub(super) fn claim(&self, random: &mut SplitMix, enough: usize) -> Option<PathBuf> {
        let mut state = self.0.lock().unwrap();
        let usable: Vec<PathBuf> =
            state.sessions.iter().filter(|(_, known)| !known.is_retired).map(|(path, _)| path.clone()).collect();
        if usable.is_empty() || usable.len() < enough {
            return None;
        }
        let path = usable[random.below(usable.len())].clone();
        state.sessions.get_mut(&path).unwrap().n_users += 1;
        Some(path)
    }

    /// Uses a session that is in use a second time.
    pub(super) fn claim_again(&self, path: &Path) -> Option<PathBuf> {
        self.0.lock().unwrap().sessions.get_mut(path)?.n_users += 1;
        Some(path.to_path_buf())
    }

    /// Ends the use of a session.
    pub(super) fn release(&self, path: &Path) {
        if let Some(known) = self.0.lock().unwrap().sessions.get_mut(path) {
            known.n_users -= 1;
        }
    }

    /// Records that Sessile has acknowledged a mark in a session.
    pub(super) fn acknowledge(&self, path: &Path, mark: String) {
        self.add_acknowledged(path, Acknowledged { mark, is_of_pi: false });
    }

    /// Records that pi on its own engine has acknowledged a mark.
    pub(super) fn acknowledge_of_pi(&self, path: &Path, mark: String) {
        self.add_acknowledged(path, Acknowledged { mark, is_of_pi: true });
    }

    fn add_acknowledged(&self, path: &Path, entry: Acknowledged) {
        let mut state = self.0.lock().unwrap();
        state.n_acknowledged += 1;
        if let Some(known) = state.sessions.get_mut(path) {
            known.acknowledged.push(entry);
        }
    }

    /// Stops the use of old sessions, and returns one that no actor uses any more, with its acknowledged entries.
    pub(super) fn retire(&self, age: Duration) -> Option<(PathBuf, Vec<Acknowledged>)> {
        let mut state = self.0.lock().unwrap();
        for known in state.sessions.values_mut().filter(|known| known.born.elapsed() > age) {
            known.is_retired = true;
        }
        let mut unused = state.sessions.iter().filter(|(_, known)| known.is_retired && known.n_users == 0);
        let (path, known) = unused.next()?;
        Some((path.clone(), known.acknowledged.clone()))
    }

    /// Forgets a session that was verified, and is to be deleted.
    pub(super) fn forget(&self, path: &Path) {
        let mut state = self.0.lock().unwrap();
        if let Some(known) = state.sessions.remove(path) {
            state.n_verified += known.acknowledged.len() as u64;
        }
    }

    /// Whether a session is one of an actor.
    pub(super) fn knows(&self, path: &Path) -> bool {
        self.0.lock().unwrap().sessions.contains_key(path)
    }

    /// Returns all sessions with their acknowledged entries.
    pub(super) fn all(&self) -> Vec<(PathBuf, Vec<Acknowledged>)> {
        let state = self.0.lock().unwrap();
        state.sessions.iter().map(|(path, known)| (path.clone(), known.acknowledged.clone())).collect()
    }

    /// Returns how many entries were acknowledged.
    pub(super) fn n_acknowledged(&self) -> u64 {
        self.0.lock().unwrap().n_acknowledged
    }
}

/// Returns the marks that whole lines of a session have. The reader is not the engine: it splits at newlines and parses
/// with `serde_json`.
pub(super) fn marks_in(session: &[u8]) -> HashSet<String> {
    let lines = session.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut marks = HashSet::new();
    lines.for_each(|line| collect(&line, &mut marks));
    marks
}

/// Returns the marks of whole entries that follow a torn one on the same line. On a full disk, pi leaves a torn line, and
/// when pi opens the session again, it appends to that line.
pub(super) fn marks_after_torn(session: &[u8]) -> HashSet<String> {
    const BEGIN: &[u8] = b"{\"type\":";
    let mut marks = HashSet::new();
    let lines = session.split(|byte| *byte == b'\n');
    for line in lines.filter(|line| serde_json::from_slice::<IgnoredAny>(line).is_err()) {
        let begins = (1..line.len()).filter(|at| line[*at..].starts_with(BEGIN));
        begins
            .filter_map(|at| serde_json::from_slice::<Value>(&line[at..]).ok())
            .for_each(|entry| collect(&entry, &mut marks));
    }
    marks
}

fn collect(value: &Value, marks: &mut HashSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, marks)),
        Value::Object(members) => members.values().for_each(|member| collect(member, marks)),
        Value::String(text) => marks.extend(text.split(' ').filter(|word| word.starts_with(MARK)).map(str::to_owned)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_count() {
        let text = b"{\"message\":{\"content\":\"soak-1 x\"}}\n{\"message\":{\"content\":[{\"text\":\"soak-2 x\"}]}}\n{\"message\":{\"content\":\"soak-3 x";
        let mut marks: Vec<String> = marks_in(text).into_iter().collect();
        marks.sort();
        assert_eq!(marks, ["soak-1", "soak-2"]);
    }

    #[test]
    fn whole_entries_after_a_torn_one_are_found() {
        let text = concat!(
            r#"{"type":"message","message":{"content":"soak-1"#,
            r#"{"type":"message","message":{"content":"soak-2 x"}}"#,
            "\n",
            r#"{"type":"message","message":{"content":"soak-3 {\"type\":\"soak-4 x\"}"}}"#,
            "\n",
            r#"{"type":"message","message":{"content":"soak-5 x"#,
        );
        assert_eq!(marks_after_torn(text.as_bytes()), HashSet::from(["soak-2".to_owned()]));
    }

    #[test]
    fn a_session_in_use_is_not_retired() {
        let (board, path) = (Board::default(), Path::new("a"));
        board.add(path);
        board.acknowledge(path, board.mark());
        assert_eq!(board.retire(Duration::ZERO), None);
        assert_eq!(board.claim(&mut SplitMix::new(1), 1), None, "it is retired");
        board.release(path);
        let entry = Acknowledged { mark: "soak-1".to_owned(), is_of_pi: false };
        assert_eq!(board.retire(Duration::ZERO), Some((path.to_path_buf(), vec![entry])));
    }
}
