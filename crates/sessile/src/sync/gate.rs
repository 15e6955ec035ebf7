//! What lines of other members must not do to a session.
//!
//! Lines of the owner come back byte for byte, however odd they are: a session must be the same on all machines. Another
//! member's line must not be able to stop pi, which neither survives a loop of parents nor shows an entry whose id a later
//! line takes.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sessile_core::json::{Raw, Shape};
use sessile_remote::Chain;
use sessile_store::os::Os;

use crate::error::SessionError;
use crate::known::lines::{SessionLines, Start};

/// What was read of a log, with the lines that members other than its owner have appended.
#[derive(Debug)]
pub(super) struct ForeignLines {
    /// Their numbers, in order.
    numbers: Vec<u64>,
    settled: Settled,
}

/// How much of a log a file may have without ending with an entry of another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) n_lines: u64,
    /// The chain after these lines.
    pub(super) chain: Chain,
}

impl ForeignLines {
    /// Begins after this number of lines, which have this chain.
    pub(super) fn after(n_lines: u64, chain: Chain) -> Self {
        Self { numbers: Vec::new(), settled: Settled { n_lines, chain } }
    }

    /// Adds the next line, after which the log has this chain.
    ///
    /// A session opens at its last entry. So entries of other members do not matter once the owner has written one after
    /// them: either it continues them, and the owner has accepted them, or they are on another branch.
    pub(super) fn add(&mut self, number: u64, line: &[u8], chain: Chain, is_foreign: bool) {
        if is_foreign {
            self.numbers.push(number);
        } else if self.settled.n_lines + 1 == number || is_entry(line) {
            self.settled = Settled { n_lines: number, chain };
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn settled(&self) -> Settled {
        self.settled
    }

    /// Checks these lines in a copy of the log, which begins with a header. Nothing is read if there are none.
    ///
    /// `session` is the file that the error names.
    pub(super) fn check(&self, os: &dyn Os, copy: &Path, start: Start, session: &Path) -> Result<(), SessionError> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let mut nodes = Nodes::default();
        let (mut number, mut left) = (0, self.numbers.as_slice());
        SessionLines::open(os, copy, start)?.lines_after(0, &mut |line| {
            number += 1;
            if left.first() == Some(&number) {
                left = &left[1..];
                if let Err(reason) = nodes.judge(line) {
                    // The header is line 1.
                    let line = number + 1;
                    return Err(SessionError::RemoteRefused { path: session.to_path_buf(), line, reason });
                }
            }
            nodes.add(line);
            Ok(true)
        })
    }
}

/// Whether a line is an entry, at which a session can open.
pub(super) fn is_entry(line: &[u8]) -> bool {
    Raw::parse(line).is_ok_and(|entry| entry.get("id").and_then(Raw::as_string).is_some_and(|id| !id.is_empty()))
}

/// Refuses a copy of a log whose parents form a loop, at which pi would stop. For logs of other members, whose lines are
/// otherwise as odd as they are.
pub(super) fn check_loops(os: &dyn Os, copy: &Path, start: Start, session: &Path) -> Result<(), SessionError> {
    let mut parents: HashMap<String, (Option<String>, u64)> = HashMap::new();
    let (mut number, mut is_in_order) = (0, true);
    SessionLines::open(os, copy, start)?.lines_after(0, &mut |line| {
        number += 1;
        let text = |key| Raw::parse(line).ok()?.get(key)?.as_string();
        let Some(id) = text("id") else { return Ok(true) };
        let parent = text("parentId");
        is_in_order &= parent.as_ref().is_none_or(|parent| *parent != id && parents.contains_key(parent));
        // pi uses the last entry with an id.
        is_in_order &= parents.insert(id, (parent, number)).is_none();
        Ok(true)
    })?;
    if is_in_order {
        return Ok(());
    }
    match loop_in(&parents) {
        // The header is line 1.
        Some(number) => Err(SessionError::RemoteRefused {
            path: session.to_path_buf(),
            line: number + 1,
            reason: "its parents form a loop",
        }),
        None => Ok(()),
    }
}

/// The last line of a loop, if there is one.
fn loop_in(parents: &HashMap<String, (Option<String>, u64)>) -> Option<u64> {
    let mut is_fine: HashSet<&str> = HashSet::new();
    for id in parents.keys() {
        let mut path: HashSet<&str> = HashSet::new();
        let (mut at, mut last) = (Some(id.as_str()), 0);
        while let Some(id) = at.filter(|id| !is_fine.contains(id)) {
            let Some((parent, number)) = parents.get(id) else { break };
            if !path.insert(id) {
                return Some(last);
            }
            last = last.max(*number);
            at = parent.as_deref();
        }
        is_fine.extend(path);
    }
    None
}

/// The entries before a line: a hash of each by its id.
#[derive(Default)]
struct Nodes(HashMap<String, Chain>);

impl Nodes {
    fn add(&mut self, line: &[u8]) {
        let id = Raw::parse(line).ok().and_then(|entry| entry.get("id")?.as_string());
        if let Some(id) = id {
            self.0.insert(id, Chain::EMPTY.after(line));
        }
    }

    /// Says why a line of another member cannot follow.
    fn judge(&self, line: &[u8]) -> Result<(), &'static str> {
        let entry = Raw::parse(line).ok().filter(|entry| entry.shape() == Shape::Object);
        let entry = entry.filter(|_| std::str::from_utf8(line).is_ok()).ok_or("it is not a JSON object")?;
        if entry.get("type").and_then(Raw::as_string).as_deref() == Some("session") {
            return Err("it is a second header");
        }
        let id = entry.get("id").and_then(Raw::as_string).filter(|id| !id.is_empty()).ok_or("it has no id")?;
        // The same line again is harmless.
        if self.0.get(&id).is_some_and(|known| *known != Chain::EMPTY.after(line)) {
            return Err("another entry has its id");
        }
        match entry.get("parentId").filter(|parent| !parent.is_null()) {
            None => Ok(()),
            Some(parent) => match parent.as_string() {
                Some(parent) if parent != id && self.0.contains_key(&parent) => Ok(()),
                _ => Err("its parent is not an earlier entry"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(before: &[&str], line: &[u8]) -> Result<(), &'static str> {
        let mut nodes = Nodes::default();
        for line in before {
            nodes.add(line.as_bytes());
        }
        nodes.judge(line)
    }

    #[test]
    fn lines_that_continue_the_session_pass() {
        let a = r#"{"type":"message","id":"a","parentId":null}"#;
        assert_eq!(verdict(&[], a.as_bytes()), Ok(()));
        assert_eq!(verdict(&[a], br#"{"type":"message","id":"b","parentId":"a"}"#), Ok(()));
        assert_eq!(verdict(&[a], a.as_bytes()), Ok(()), "the same line again");
        assert_eq!(verdict(&[a, "odd"], br#"{"id":"b","parentId":"a","__proto__":{"x":1}}"#), Ok(()));
    }

    #[test]
    fn a_log_is_settled_up_to_the_last_entry_of_its_owner() {
        let settled = |lines: &[(&str, bool)]| {
            let mut read = ForeignLines::after(2, Chain::EMPTY);
            for (number, (line, is_foreign)) in (3..).zip(lines) {
                read.add(number, line.as_bytes(), Chain::EMPTY.after(&[u8::try_from(number).unwrap()]), *is_foreign);
            }
            let Settled { n_lines, chain } = read.settled();
            let expected =
                if n_lines == 2 { Chain::EMPTY } else { Chain::EMPTY.after(&[u8::try_from(n_lines).unwrap()]) };
            assert_eq!(chain, expected);
            n_lines
        };
        let (entry, odd) = (r#"{"type":"message","id":"a"}"#, "odd");
        assert_eq!(settled(&[]), 2);
        assert_eq!(settled(&[(entry, false), (odd, false)]), 4);
        assert_eq!(settled(&[(entry, true)]), 2);
        assert_eq!(settled(&[(entry, false), (entry, true), (entry, true)]), 3);
        assert_eq!(settled(&[(entry, true), (entry, false), (entry, true)]), 4, "the owner went on");
        assert_eq!(settled(&[(entry, true), (odd, false)]), 2, "a session does not open at such a line");
    }

    #[test]
    fn loops_are_found() {
        let number_of = |links: &[(&str, &str)]| {
            let parent = |parent: &str| (!parent.is_empty()).then(|| parent.to_owned());
            let links = (1..).zip(links).map(|(number, (id, up))| ((*id).to_owned(), (parent(up), number)));
            loop_in(&links.collect())
        };
        assert_eq!(number_of(&[("a", ""), ("b", "a"), ("c", "missing"), ("d", "b")]), None);
        assert_eq!(number_of(&[("a", "b"), ("b", "")]), None, "a parent that comes later");
        assert_eq!(number_of(&[("a", ""), ("b", "b")]), Some(2));
        assert_eq!(number_of(&[("a", "c"), ("b", "a"), ("c", "b")]), Some(3));
    }

    #[test]
    fn lines_that_stop_pi_do_not() {
        let a = r#"{"type":"message","id":"a","parentId":null}"#;
        for (line, reason) in [
            (b"".as_slice(), "it is not a JSON object"),
            (b"[1]", "it is not a JSON object"),
            (b"{\"id\":\"b\",\"x\":\"\0\"}", "it is not a JSON object"),
            (b"{\"id\":\"b\",\"x\":\"\xff\"}", "it is not a JSON object"),
            (br#"{"type":"session","id":"b"}"#, "it is a second header"),
            (br#"{"type":"message"}"#, "it has no id"),
            (br#"{"type":"message","id":7}"#, "it has no id"),
            (br#"{"type":"message","id":"a","parentId":null,"x":1}"#, "another entry has its id"),
            (br#"{"type":"message","id":"b","parentId":"b"}"#, "its parent is not an earlier entry"),
            (br#"{"type":"message","id":"b","parentId":"later"}"#, "its parent is not an earlier entry"),
            (br#"{"type":"message","id":"b","parentId":{"a":1}}"#, "its parent is not an earlier entry"),
        ] {
            assert_eq!(verdict(&[a], line), Err(reason), "{}", String::from_utf8_lossy(line));
        }
    }
}
