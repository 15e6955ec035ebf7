//! Saved outlines never change a result, whatever happens to the session or to the cache between two reads.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests act as other programs and panic on failure")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sessile::date::Timestamp;
use sessile::{SessionManager, Sessions, draft};
use sessile_testkit::Replay;

/// Enough entries that the outline is saved.
const N_ENTRIES: usize = 400;

fn line(number: usize, parent: Option<usize>, text: &str) -> String {
    let id = |number: usize| format!("{number:08x}");
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", id(parent)));
    let padding = "x".repeat(1000);
    format!(
        r#"{{"type":"message","id":"{}","parentId":{parent},"timestamp":"2025-01-01T00:00:00.000Z","message":{{"role":"user","content":"{text} {padding}","timestamp":1}}}}"#,
        id(number)
    ) + "\n"
}

fn session_text() -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#;
    let mut text = format!("{header}\n");
    for number in 0..N_ENTRIES {
        text += &line(number, number.checked_sub(1 + number % 2), "first");
        if number % 50 == 7 {
            text += "no JSON\n\n";
        }
    }
    text
}

fn sessions(cache: Option<PathBuf>) -> Sessions {
    Sessions::new(Replay::new(1_763_164_800_000, 1)).caching(cache).read_only()
}

/// Everything that a session shows.
fn shown(session: &SessionManager) -> String {
    let entries: Vec<_> = session.entries().map(|entry| entry.unwrap().json().to_text().into_owned()).collect();
    let context = session.build_session_context().unwrap().to_json();
    let tree: Vec<_> = session.tree().unwrap().into_iter().map(|node| (node.row, node.depth, node.on_path)).collect();
    format!("{entries:?} {} {tree:?} {:?} {:?}", context.to_text(), session.diagnostics(), session.leaf_id())
}

/// What happens between two reads.
#[derive(Clone, Debug)]
enum Change {
    Append(u8),
    Torn,
    EditInPlace(usize),
    Truncate(usize),
    Replace,
    FlipCacheBit(usize),
    CutCache(usize),
    ForeignCache,
    DropCache,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (1u8..4).prop_map(Change::Append),
        1 => Just(Change::Torn),
        2 => any::<usize>().prop_map(Change::EditInPlace),
        1 => any::<usize>().prop_map(Change::Truncate),
        1 => Just(Change::Replace),
        3 => any::<usize>().prop_map(Change::FlipCacheBit),
        1 => any::<usize>().prop_map(Change::CutCache),
        1 => Just(Change::ForeignCache),
        1 => Just(Change::DropCache),
    ]
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn cache_files(cache: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(cache.join("outlines"));
    found.map(|found| found.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

fn apply(change: &Change, step: usize, path: &Path, cache: &Path) {
    let damage = |edit: &dyn Fn(&mut Vec<u8>)| {
        for file in cache_files(cache) {
            let mut bytes = fs::read(&file).unwrap();
            edit(&mut bytes);
            fs::write(&file, bytes).unwrap();
        }
    };
    match change {
        Change::Append(n_lines) => {
            for index in 0..usize::from(*n_lines) {
                append(path, &line(10_000 + step * 10 + index, Some(index), "appended"));
            }
        }
        Change::Torn => append(path, r#"{"type":"message","id":"torn"#),
        Change::EditInPlace(at) => {
            let mut bytes = fs::read(path).unwrap();
            let at = at % bytes.len();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            fs::write(path, bytes).unwrap();
        }
        Change::Truncate(at) => {
            let bytes = fs::read(path).unwrap();
            let kept = (at % bytes.len()).max(200);
            fs::write(path, &bytes[..kept.min(bytes.len())]).unwrap();
        }
        Change::Replace => {
            let other = path.with_extension("other");
            fs::write(&other, session_text().replace("first", "other")).unwrap();
            fs::rename(other, path).unwrap();
        }
        Change::FlipCacheBit(bit) => damage(&|bytes| {
            if !bytes.is_empty() {
                let bit = bit % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }),
        Change::CutCache(at) => damage(&|bytes| bytes.truncate(at % (bytes.len() + 1))),
        // Like another byte order, or another program's idea of such a file.
        Change::ForeignCache => damage(&|bytes| bytes.chunks_mut(4).for_each(<[u8]>::reverse)),
        Change::DropCache => drop(fs::remove_dir_all(cache)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn a_saved_outline_changes_no_answer(changes in proptest::collection::vec(change(), 1..8)) {
        let directory = tempfile::tempdir().unwrap();
        let (path, cache) = (directory.path().join("s.jsonl"), directory.path().join("cache"));
        fs::write(&path, session_text()).unwrap();
        for (step, change) in changes.iter().enumerate() {
            let cached = sessions(Some(cache.clone())).open(&path);
            let scanned = sessions(None).open(&path);
            match (cached, scanned) {
                (Ok(cached), Ok(scanned)) => prop_assert_eq!(shown(&cached), shown(&scanned)),
                // An edit may have changed the header.
                (cached, scanned) => prop_assert_eq!(cached.is_err(), scanned.is_err()),
            }
            apply(change, step, &path, &cache);
        }
    }
}

#[test]
fn a_large_session_is_not_read_twice() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path().join("s.jsonl"), directory.path().join("cache"));
    fs::write(&path, session_text()).unwrap();
    let open = || sessions(Some(cache.clone())).open(&path).unwrap();
    let first = shown(&open());
    assert_eq!(cache_files(&cache).len(), 1);
    // The second open shows the same, and does not save the outline again.
    let saved = fs::read(&cache_files(&cache)[0]).unwrap();
    assert_eq!(shown(&open()), first);
    assert_eq!(fs::read(&cache_files(&cache)[0]).unwrap(), saved);
    append(&path, &line(9_999, None, "later"));
    assert!(shown(&open()).contains("later"));
}

#[test]
fn a_fork_of_a_large_session_is_what_reading_it_shows() {
    let directory = tempfile::tempdir().unwrap();
    let (path, cache) = (directory.path().join("s.jsonl"), directory.path().join("cache"));
    fs::write(&path, session_text()).unwrap();
    let world = || Sessions::new(Replay::new(1_763_164_800_000, 2));
    let forks = directory.path().join("forks");
    let mut fork = world().caching(Some(cache)).with_session_dir(&forks).fork_from(&path, "/proj").unwrap();
    let scanned = world().caching(None).open(fork.session_file().unwrap()).unwrap();
    assert_eq!(shown(&fork), shown(&scanned));
    let body = |path: &Path| fs::read_to_string(path).unwrap().split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(fork.session_file().unwrap()), body(&path));
    fork.append_message(draft::UserMessage::new("more", Timestamp::from_ms(1))).unwrap();
    assert_eq!(fork.entry_count(), N_ENTRIES + 1);
}
