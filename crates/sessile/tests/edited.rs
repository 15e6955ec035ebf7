//! Another program edits a large session in place and appends to it: everything shown matches the file.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests act as other programs and panic on failure")]

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sessile::search::SearchOptions;
use sessile::text::query::Query;
use sessile::{EntryId, SessionError, SessionManager, Sessions};
use sessile_testkit::Replay;

/// Far more bytes than the part that is compared completely.
const N_ENTRIES: usize = 3000;
const PADDING: usize = 1800;

fn id(number: usize) -> String {
    format!("{number:08x}")
}

fn line(number: usize, parent: Option<usize>, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", id(parent)));
    let padding = "x".repeat(PADDING);
    format!(
        r#"{{"type":"message","id":"{}","parentId":{parent},"timestamp":"2025-01-01T00:00:00.000Z","message":{{"role":"user","content":"{text} {padding}","timestamp":1}}}}"#,
        id(number)
    ) + "\n"
}

fn session_text() -> (String, Vec<usize>) {
    let mut text =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned() + "\n";
    let mut offsets = Vec::new();
    for number in 0..N_ENTRIES {
        offsets.push(text.len());
        text += &line(number, number.checked_sub(1), &format!("entry{number}"));
    }
    (text, offsets)
}

fn sessions(cache: Option<PathBuf>) -> Sessions {
    Sessions::new(Replay::new(1_763_164_800_000, 1)).caching(cache).read_only()
}

/// An edit that keeps the length.
#[derive(Clone, Debug)]
enum Edit {
    Text,
    Id,
    Parent,
    Kind,
    Role,
    Time,
    NoNewline,
    NewNewline,
    Damage,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        Just(Edit::Text),
        Just(Edit::Id),
        Just(Edit::Parent),
        Just(Edit::Kind),
        Just(Edit::Role),
        Just(Edit::Time),
        Just(Edit::NoNewline),
        Just(Edit::NewNewline),
        Just(Edit::Damage),
    ]
}

/// The position of an edit in a line, and its new bytes.
fn put(edit: &Edit, number: usize) -> (usize, String) {
    let text = line(number, number.checked_sub(1), &format!("entry{number}"));
    let offset = |word: &str| text.find(word).unwrap();
    match edit {
        Edit::Text => (offset("entry"), "other".to_owned()),
        Edit::Id => (offset("\"id\":\"") + 6, "f".to_owned()),
        Edit::Parent => (offset("\"parentId\":") + 12, "e".to_owned()),
        Edit::Kind => (offset("message"), "massage".to_owned()),
        Edit::Role => (offset("\"user\""), "\"uses\"".to_owned()),
        Edit::Time => (offset("2025"), "2026".to_owned()),
        Edit::NoNewline => (text.len() - 1, " ".to_owned()),
        Edit::NewNewline => (offset("{\"role\""), "\n".to_owned()),
        Edit::Damage => (offset("}}"), "]".to_owned()),
    }
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// The result of a read, and whether it needed a refresh because the data was stale.
fn look<T>(session: &mut SessionManager, look: impl Fn(&SessionManager) -> Result<T, SessionError>) -> (T, bool) {
    match look(session) {
        Ok(shown) => (shown, false),
        Err(SessionError::Stale { .. }) => {
            session.refresh().unwrap();
            (look(session).unwrap(), true)
        }
        Err(error) => panic!("{error}"),
    }
}

fn entry(session: &SessionManager, id: &str) -> Result<Option<String>, SessionError> {
    Ok(session.entry(EntryId::from(id))?.map(|entry| entry.json().to_text().into_owned()))
}

fn context(session: &SessionManager) -> Result<String, SessionError> {
    Ok(session.build_session_context()?.to_json().to_text().into_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn shown_entries_equal_the_file(
        edits in proptest::collection::vec((edit(), 1..N_ENTRIES - 1), 1..4),
        asked in proptest::collection::vec(0..N_ENTRIES, 8),
        reopens in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let cache = directory.path().join("cache");
        let (text, offsets) = session_text();
        fs::write(&path, &text).unwrap();
        // Saves the outline, unless the file is so new that it is read again.
        let known = sessions(Some(cache.clone())).open(&path).unwrap();
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        for (edit, number) in &edits {
            let (at, bytes) = put(edit, *number);
            file.seek(SeekFrom::Start((offsets[*number] + at) as u64)).unwrap();
            file.write_all(bytes.as_bytes()).unwrap();
        }
        drop(file);
        append(&path, &line(N_ENTRIES, Some(N_ENTRIES - 1), "appended"));
        // Either another process opens it, or the one that has it open reads it again.
        let mut cached = if reopens {
            sessions(Some(cache.clone())).open(&path).unwrap()
        } else {
            let mut known = known;
            known.refresh().unwrap();
            known.follow_leaf().unwrap();
            known
        };
        let plain = sessions(None).open(&path).unwrap();
        let edited = edits.iter().map(|(_, number)| *number);
        for number in asked.iter().copied().chain(edited) {
            let (shown, _) = look(&mut cached, |session| entry(session, &id(number)));
            prop_assert_eq!(shown, entry(&plain, &id(number)).unwrap());
        }
        // The whole path is shown, so every line of it was compared.
        cached.follow_leaf().unwrap();
        let (shown, _) = look(&mut cached, context);
        prop_assert_eq!(shown, context(&plain).unwrap());
        // The next process does not find stale data again.
        let again = sessions(Some(cache)).open(&path).unwrap();
        for number in asked {
            match entry(&again, &id(number)) {
                Err(SessionError::Stale { .. }) => {}
                shown => prop_assert_eq!(shown.unwrap(), entry(&plain, &id(number)).unwrap()),
            }
        }
    }
}

#[test]
fn a_check_finds_and_drops_wrong_rows_before_a_user_sees_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions/s.jsonl");
    fs::create_dir(directory.path().join("sessions")).unwrap();
    let cache = directory.path().join("cache");
    let (text, offsets) = session_text();
    fs::write(&path, &text).unwrap();
    let sessions = sessions(Some(cache));
    let cancel = sessile::Cancel::default();
    drop(sessions.open(&path).unwrap());
    let dir = path.parent().unwrap();
    let sessions = sessions.with_session_dir(dir);
    let list = || sessions.list_all().unwrap();
    list();
    let search = |word: &str| {
        let options = SearchOptions { upkeep: sessile::search::Upkeep::Always, ..SearchOptions::default() };
        sessions.search(&Query::parse(word).unwrap(), &options).unwrap().hits.len()
    };
    assert_eq!(search("entry1500"), 1);
    // A file that was just written may be reported as unproven, but nothing is wrong.
    let is_right = || sessions.check_caches(&cancel).unwrap().unwrap().iter().all(|dropped| !dropped.is_wrong);
    assert!(is_right());
    assert_eq!(search("entry1500"), 1);
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    for (edit, number) in [(Edit::Kind, 1500), (Edit::Text, 1510)] {
        let (at, bytes) = put(&edit, number);
        file.seek(SeekFrom::Start((offsets[number] + at) as u64)).unwrap();
        file.write_all(bytes.as_bytes()).unwrap();
    }
    append(&path, &line(N_ENTRIES, Some(N_ENTRIES - 1), "appended"));
    // The edits are between two of the positions that are always compared. A hit that no longer exists is never
    // shown, but a new word at such a position is not found yet.
    assert_eq!((search("entry1510"), search("appended")), (0, 1));
    list();
    let dropped = sessions.check_caches(&cancel).unwrap().unwrap();
    let found: Vec<_> = dropped.iter().map(|dropped| (dropped.cache, dropped.is_wrong)).collect();
    assert_eq!(found, [("outline", true), ("catalogue", true), ("text", false)]);
    assert_eq!(search("other1510"), 1);
    assert_eq!(list()[0].facts.entries, (N_ENTRIES + 1) as u64);
    drop(sessions.open(&path).unwrap());
    assert!(is_right());
}
