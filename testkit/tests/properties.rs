//! Properties of every session, however odd its bytes are.
#![expect(clippy::disallowed_methods, reason = "tests access files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sessile::format::head::{Parsed, read};
use sessile::json::Json;
use sessile::{SessionManager, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::observe::observe;
use tempfile::TempDir;

const HEADER: &[u8] =
    br#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp"}"#;

/// A directory and sessions in a deterministic environment.
struct TestStore {
    directory: TempDir,
    sessions: Sessions,
}

impl TestStore {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let world = Replay::new(1_735_689_600_000, 7);
        world.set_home(directory.path());
        world.set_current_dir(directory.path());
        Self { directory, sessions: Sessions::new(world) }
    }

    /// Writes a session file.
    fn put(&self, bytes: &[u8]) -> PathBuf {
        let path = self.directory.path().join("f.jsonl");
        fs::write(&path, bytes).unwrap();
        path
    }

    fn open(&self, path: &Path) -> SessionManager {
        self.sessions.open(path).unwrap()
    }
}

/// Pieces of payloads that are hard for other programs.
fn odd_payload() -> impl Strategy<Value = Vec<u8>> {
    let deep = [b"[".repeat(5000), b"]".repeat(5000)].concat();
    select(vec![
        b"1e999".to_vec(),
        b"-0".to_vec(),
        b"12345678901234567890".to_vec(),
        b"1.0".to_vec(),
        br#""\ud800""#.to_vec(),
        br#""\u00e9\/\u0041""#.to_vec(),
        b"\"\xff\xc3\xed\xa0\x80\"".to_vec(),
        "\"\u{2028}日本😀\"".as_bytes().to_vec(),
        br#"{"a":1,"a":2,"2":0,"1":0,"__proto__":[]}"#.to_vec(),
        br#" { "spaced" : [ 1 , 2 ] } "#.to_vec(),
        deep,
    ])
}

/// Returns an entry that follows the one before it, with odd bytes in it. Entries are numbered from 0.
fn entry(store: usize, payload: &[u8], with_cr: bool) -> Vec<u8> {
    let parent = store.checked_sub(1).map_or_else(|| "null".to_owned(), |before| format!("\"e{before}\""));
    let head = format!(
        r#"{{"type":"message","id":"e{store}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"text {store}","timestamp":1,"odd":"#
    );
    let end: &[u8] = if with_cr { b"}}\r" } else { b"}}" };
    [head.as_bytes(), payload, end].concat()
}

/// Lines that are not entries.
fn junk() -> impl Strategy<Value = Vec<u8>> {
    select(vec![
        b"{broken".to_vec(),
        b"".to_vec(),
        b"   \t".to_vec(),
        b"null".to_vec(),
        b"\x00\x00\x00".to_vec(),
        b"\xff\xfe".to_vec(),
        b"{\"a\":1}{\"b\":2}".to_vec(),
    ])
}

/// A chain of entries, each with an optional line of junk after it.
fn odd_entries() -> impl Strategy<Value = Vec<(Vec<u8>, Option<Vec<u8>>)>> {
    let piece = (odd_payload(), any::<bool>(), proptest::option::weighted(0.3, junk()));
    vec(piece, 1..8).prop_map(|pieces| {
        let entries = pieces.into_iter().enumerate();
        entries.map(|(store, (payload, with_cr, junk))| (entry(store, &payload, with_cr), junk)).collect()
    })
}

/// Returns the lines of such a chain after a header.
fn lines_of(entries: &[(Vec<u8>, Option<Vec<u8>>)]) -> Vec<Vec<u8>> {
    let mut lines = vec![HEADER.to_vec()];
    for (entry, junk) in entries {
        lines.push(entry.clone());
        lines.extend(junk.clone());
    }
    lines
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect()
}

fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    assert_eq!(lines.pop(), Some(Vec::new()), "the last line is ended");
    lines
}

/// Creates a realistic session, with branches, labels and compactions.
fn ordinary_session() -> Vec<u8> {
    let store = TestStore::new();
    let mut session = store.open(&store.put(&joined(&[HEADER.to_vec()])));
    let message = |role: &str, text: &str| Json::parse(format!(r#"{{"role":"{role}","content":"{text}"}}"#)).unwrap();
    let first = session.append_message(message("user", "first é 日本")).unwrap();
    session.append_message(message("assistant", "answer")).unwrap();
    session.append_label_change(&first, Some("label")).unwrap();
    session
        .append_compaction(&sessile::compaction::Compaction { summary: "sum".to_owned(), ..Default::default() })
        .unwrap();
    session.branch(&first).unwrap();
    session.append_session_info("name").unwrap();
    session.append_context_edit(&first, &Json::null()).unwrap();
    session.append_message(message("system", "rules")).unwrap();
    session
        .branch_with_summary(None, &sessile::branch::BranchSummary { summary: "s".to_owned(), ..Default::default() })
        .unwrap();
    session.append_custom_message_entry("x", Json::string("c"), true, None).unwrap();
    fs::read(session.session_file().unwrap()).unwrap()
}

/// Calls everything that a session shows.
fn compute_all_views(manager: &SessionManager) {
    drop(observe(manager));
    drop(manager.diagnostics());
    drop(manager.branch_points());
    assert!(manager.branch_statistics().entries <= manager.outline().n_entries());
    drop(manager.compactions());
    drop(manager.fork_links());
    for entry in manager.entries().flatten() {
        assert_eq!(entry.payload().raw().as_bytes(), entry.raw().as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_copies_every_line_byte_for_byte(entries in odd_entries(), is_ended in any::<bool>()) {
        let store = TestStore::new();
        let lines = lines_of(&entries);
        let mut bytes = joined(&lines);
        // Without a newline an empty line is not a line at all.
        if !is_ended && lines.last().is_some_and(|line| !line.is_empty()) {
            bytes.pop();
        }
        let source = store.put(&bytes);
        let target = store.directory.path().join("forks");
        let fork = store.sessions.clone().with_session_dir(&target).fork_from(&source, "/other").unwrap();
        let copied = split(&fs::read(fork.session_file().unwrap()).unwrap());
        prop_assert_eq!(&copied[1..], &lines[1..]);
        prop_assert_eq!(fs::read(&source).unwrap(), bytes);
    }

    #[test]
    fn a_branch_copies_every_entry_byte_for_byte(entries in odd_entries(), at in any::<Index>()) {
        let store = TestStore::new();
        let bytes = joined(&lines_of(&entries));
        let source = store.put(&bytes);
        let mut session = store.open(&source);
        let last = at.index(entries.len());
        session.create_branched_session(format!("e{last}")).unwrap();
        let copied = split(&fs::read(session.session_file().unwrap()).unwrap());
        let expected: Vec<Vec<u8>> = entries[..=last].iter().map(|(entry, _)| entry.clone()).collect();
        prop_assert_eq!(&copied[1..], &expected);
        prop_assert_eq!(fs::read(&source).unwrap(), bytes);
    }

    #[test]
    fn opening_and_looking_write_nothing(entries in odd_entries(), is_ended in any::<bool>(), version in 1..=4) {
        let store = TestStore::new();
        let mut bytes = joined(&lines_of(&entries));
        if !is_ended {
            bytes.pop();
        }
        let at = bytes.windows(11).position(|window| window == b"\"version\":3").unwrap() + 10;
        bytes[at] = b'0' + u8::try_from(version).unwrap();
        let path = store.put(&bytes);
        let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        let session = store.open(&path);
        compute_all_views(&session);
        store.sessions.clone().with_session_dir(store.directory.path()).list("/tmp").unwrap();
        store.sessions.clone().with_session_dir(store.directory.path()).find_by_id("/tmp", "s1");
        store.sessions.clone().with_session_dir(store.directory.path()).continue_recent("/tmp").unwrap();
        prop_assert_eq!(fs::read(&path).unwrap(), bytes);
        prop_assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
        prop_assert_eq!(fs::read_dir(store.directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn damage_never_panics_and_an_append_changes_no_other_line(
        length in any::<Index>(), flip in proptest::option::of((any::<Index>(), 0..8u8)), entries in odd_entries(),
        is_ordinary in any::<bool>(),
    ) {
        let bytes = if is_ordinary { ordinary_session() } else { joined(&lines_of(&entries)) };
        let damaged = match flip {
            Some((at, bit)) => {
                let mut flipped = bytes.clone();
                flipped[at.index(bytes.len())] ^= 1 << bit;
                flipped
            }
            None => bytes[..length.index(bytes.len() + 1)].to_vec(),
        };
        let store = TestStore::new();
        let path = store.put(&damaged);
        let Ok(mut session) = store.sessions.open(&path) else {
            // A file that is no longer a session is left alone.
            prop_assert_eq!(fs::read(&path).unwrap(), damaged);
            return Ok(());
        };
        compute_all_views(&session);
        let is_old = session.outline().upgrade().is_needed();
        let id = session.append_thinking_level_change("high");
        if is_old || id.is_err() {
            // A flipped bit in the version requires an upgrade, which keeps the original, or forbids writing.
            prop_assert!(is_old || session.outline().upgrade().is_newer());
            return Ok(());
        }
        compute_all_views(&session);
        let after = fs::read(&path).unwrap();
        prop_assert!(after.starts_with(&damaged));
        let reopened = store.open(&path);
        prop_assert_eq!(reopened.leaf_id(), Some(id.unwrap()));
    }

    #[test]
    fn an_outline_built_in_two_parts_is_the_same(
        entries in odd_entries(), cut in any::<Index>(), is_ordinary in any::<bool>(),
    ) {
        let bytes = if is_ordinary { ordinary_session() } else { joined(&lines_of(&entries)) };
        let header_end = HEADER.len() + 1;
        let cut = header_end + cut.index(bytes.len() - header_end + 1);
        let store = TestStore::new();
        let path = store.put(&bytes[..cut]);
        let mut session = store.open(&path);
        fs::write(&path, &bytes).unwrap();
        session.refresh().unwrap();
        session.follow_leaf().unwrap();
        let at_once = store.open(&path);
        prop_assert_eq!(observe(&session), observe(&at_once));
        prop_assert_eq!(session.diagnostics(), at_once.diagnostics());
        prop_assert_eq!(session.outline().n_lines(), at_once.outline().n_lines());
        prop_assert_eq!(session.outline().end(), at_once.outline().end());
    }

    #[test]
    fn appended_entries_are_read_back(texts in vec(any::<String>(), 1..6)) {
        let store = TestStore::new();
        let path = store.put(&joined(&[HEADER.to_vec()]));
        let mut session = store.open(&path);
        for text in &texts {
            session.append_custom_entry(text, Some(&Json::string(text))).unwrap();
        }
        prop_assert_eq!(observe(&session), observe(&store.open(&path)));
        for line in split(&fs::read(&path).unwrap()) {
            prop_assert!(matches!(read(&line), Parsed::Value(_)));
        }
    }
}

/// The number of entries in a huge session. One million; fewer without optimisation, which is some twenty times slower.
const N_HUGE: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// Returns a session of `N_HUGE` messages; `parent` gives the index of each parent.
fn huge_session(parent: impl Fn(usize) -> Option<usize>) -> Vec<u8> {
    let mut text = String::from_utf8(HEADER.to_vec()).unwrap() + "\n";
    for store in 0..N_HUGE {
        let parent = parent(store).map_or_else(|| "null".to_owned(), |parent| format!("\"e{parent}\""));
        writeln!(
            text,
            r#"{{"type":"message","id":"e{store}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"x","timestamp":1}}}}"#
        )
        .unwrap();
    }
    text.into_bytes()
}

#[test]
fn a_chain_of_a_million_entries_is_walked() {
    let store = TestStore::new();
    let session = store.open(&store.put(&huge_session(|store| store.checked_sub(1))));
    assert_eq!(session.path().len(), N_HUGE);
    let tree = session.tree().unwrap();
    assert_eq!((tree.len(), tree.last().unwrap().depth), (N_HUGE, N_HUGE - 1));
    assert_eq!(session.build_session_context().unwrap().messages.len(), N_HUGE);
    assert_eq!(session.branch_statistics().deepest, N_HUGE);
}

#[test]
fn a_million_siblings_are_walked() {
    let store = TestStore::new();
    let session = store.open(&store.put(&huge_session(|store| (store > 0).then_some(0))));
    assert_eq!(session.path().len(), 2);
    let tree = session.tree().unwrap();
    assert_eq!((tree.len(), tree.last().unwrap().depth), (N_HUGE, 1));
    assert_eq!(session.build_session_context().unwrap().messages.len(), 2);
    assert_eq!(session.children(&"e0".into()).unwrap().len(), N_HUGE - 1);
    assert_eq!(session.branch_statistics().widest, N_HUGE - 1);
}

#[test]
fn a_loop_of_a_million_entries_is_cut() {
    let store = TestStore::new();
    let bytes = huge_session(|store| Some(store.checked_sub(1).unwrap_or(N_HUGE - 1)));
    let session = store.open(&store.put(&bytes));
    assert_eq!(session.path().len(), N_HUGE);
    assert_eq!(session.tree().unwrap().len(), N_HUGE);
    assert_eq!(session.build_session_context().unwrap().messages.len(), N_HUGE);
}
