//! The index returns the same results as reading every file, whatever happened to either.
#![expect(clippy::disallowed_methods, reason = "tests act as other programs")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use sessile_core::date::Timestamp;
use sessile_core::search::filter::Filter;
use sessile_core::search::query::Query;
use sessile_core::search::texts::DocumentKind;
use sessile_index::Caches;
use sessile_store::os::RealOs;
use sessile_text::{Findings, Hit, Paging, Request, SurveyedFile, TextIndex, UpdateOptions, Updated, survey};

/// Few words, so that they coincide.
const WORDS: [&str; 18] = [
    "foo",
    "bar",
    "fooBar",
    "foo_bar",
    "foobar",
    "E0599",
    "path/to/file.rs",
    "東京都",
    "京",
    "東",
    "세션을",
    "👍",
    "👩‍💻",
    "the",
    "The",
    "x\\n\\\"y\\\"",
    "ſoap",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
];

const QUERIES: &[&str] = &[
    "foo",
    "the",
    "foo bar",
    "\"foo bar\"",
    "fooBar",
    "foobar",
    "foo_b*",
    "fo*",
    "*oo*",
    "*oob* fo*",
    "*ar",
    "*needle* ",
    "*read*",
    "東京",
    "東京都",
    "京",
    "京都 the",
    "세션",
    "👍",
    "👩‍💻",
    "e0599",
    "file.rs",
    "\"the the\"",
    "\"the foo\" bar",
    "re:o.b",
    "re:foo|word",
    r"re:foo\s+bar",
    "re:(the|file) foo",
    "re:[a-z]*case\\b",
    "re:aaaa",
    "re:soap",
    "re:aab$",
    "->",
    "\"to fi*\"",
];

struct Store {
    _directory: tempfile::TempDir,
    sessions: PathBuf,
    caches: Caches,
}

impl Store {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path().join("sessions");
        std::fs::create_dir(&sessions).unwrap();
        let caches = Caches::new(Arc::new(RealOs), directory.path().join("caches"));
        Self { _directory: directory, sessions, caches }
    }

    fn file(&self, number: usize) -> PathBuf {
        self.sessions.join(format!("{number}.jsonl"))
    }

    fn files(&self) -> Vec<SurveyedFile> {
        survey(&RealOs, std::slice::from_ref(&self.sessions))
    }

    fn update(&self, memory: usize, merges_all: bool) {
        let options = UpdateOptions { is_gone: &|_| true, memory, merges_all, ..UpdateOptions::default() };
        assert_eq!(TextIndex::open(self.caches.clone()).update(&self.files(), &options).unwrap(), Updated::Done);
    }

    fn cache_files(&self) -> Vec<PathBuf> {
        let Ok(found) = std::fs::read_dir(self.caches.root().join("text")) else { return Vec::new() };
        let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| !path.ends_with("lock"));
        found.sort();
        found
    }

    /// Compares the results of the index with those of reading the files.
    #[track_caller]
    fn check(&self, why: &str) {
        let files = self.files();
        let (mut index, mut none) = (TextIndex::open(self.caches.clone()), TextIndex::none(Arc::new(RealOs)));
        for query in QUERIES {
            for filter in filters() {
                for (limit, per_session) in [(usize::MAX, false), (3, false), (usize::MAX, true)] {
                    let expected = find(&mut none, &files, query, &filter, limit, per_session);
                    let found = find(&mut index, &files, query, &filter, limit, per_session);
                    assert_eq!(found, expected, "{why}: {query} with {filter:?}, {limit} {per_session}");
                }
            }
        }
    }
}

fn filters() -> Vec<Filter> {
    vec![
        Filter::default(),
        Filter { kinds: vec![DocumentKind::User, DocumentKind::Name], ..Filter::default() },
        Filter { tool: Some("Bash".to_owned()), ..Filter::default() },
        Filter {
            model: Some("claude".to_owned()),
            since: Some(Timestamp::from_ms(1_735_689_605_000)),
            ..Filter::default()
        },
    ]
}

fn find(
    index: &mut TextIndex,
    files: &[SurveyedFile],
    query: &str,
    filter: &Filter,
    limit: usize,
    per_session: bool,
) -> Vec<Hit> {
    let query = Query::parse(query).unwrap();
    let request = Request {
        query: &query,
        filter,
        admits: Some(&|_: &Path, id: &str, cwd: &str| !id.is_empty() && cwd != "/elsewhere"),
        limit,
        paging: None,
        per_session,
        now: Timestamp::from_ms(1_735_700_000_000),
        is_cancelled: &|| false,
        is_late: &|| false,
        on_progress: &|_, _| {},
    };
    let Findings { hits, .. } = index.find(files, &request).unwrap();
    hits
}

/// The hits of the first two pages, and the number of all hits.
fn two_pages(
    index: &mut TextIndex,
    files: &[SurveyedFile],
    query: &str,
    filter: &Filter,
    limit: usize,
) -> (Vec<Hit>, usize) {
    let query = Query::parse(query).unwrap();
    let (mut hits, mut total) = (Vec::<Hit>::new(), None);
    loop {
        let last = hits.last().map(|hit| (hit.file, hit.span.offset));
        let is_before = |file: usize, offset: u64| last == Some((file, offset));
        let is_before: Option<&(dyn Fn(usize, u64) -> bool + Sync)> =
            if last.is_some() { Some(&is_before) } else { None };
        let request = Request {
            query: &query,
            filter,
            admits: None,
            limit,
            paging: Some(Paging { per_turn: 3, is_before }),
            per_session: false,
            now: Timestamp::from_ms(1_735_700_000_000),
            is_cancelled: &|| false,
            is_late: &|| false,
            on_progress: &|_, _| {},
        };
        let found = index.find(files, &request).unwrap();
        let counts = found.counts.unwrap();
        hits.extend(found.hits);
        assert_eq!(counts.left, counts.total - hits.len());
        assert_eq!(*total.get_or_insert(counts.total), counts.total);
        if last.is_some() || counts.left == 0 {
            return (hits, counts.total);
        }
    }
}

/// An action of a user or program on a store.
#[derive(Clone, Debug)]
enum Act {
    Append(usize, Vec<String>),
    /// An unfinished line.
    Tear(usize, String),
    Rewrite(usize, Vec<String>),
    /// Changes a byte in the middle; the length stays.
    Edit(usize, Index),
    Delete(usize),
    Rename(usize, usize),
    NoSession(usize),
    Update(usize, bool),
    Damage(Damage, Index, Index),
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Cut,
    Flip,
    Delete,
    Swap,
    OtherOrder,
}

fn line() -> impl Strategy<Value = String> {
    let text = proptest::collection::vec(select(&WORDS[..]), 1..8).prop_map(|words| words.join(" "));
    (text, 0usize..9, 0u32..20).prop_map(|(text, kind, second)| {
        let rest = match kind {
            0 => format!(r#""type":"session_info","name":"{text}""#),
            1 => format!(r#""type":"label","targetId":"a","label":"{text}""#),
            2 => format!(r#""type":"compaction","summary":"{text}""#),
            3 => format!(
                r#""type":"message","message":{{"role":"assistant","provider":"p","model":"Claude-1","content":[{{"type":"text","text":"{text}"}},{{"type":"toolCall","name":"bash","arguments":{{"command":"{text}"}}}}]}}"#
            ),
            4 => format!(
                r#""type":"message","message":{{"role":"toolResult","toolName":"bash","content":[{{"type":"text","text":"{text} -> 1"}}]}}"#
            ),
            5 => format!(r#""type":"message","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}},{{"type":"text","text":"the foo"}}]}}"#),
            6 => format!(r#""type":"custom","data":"{text}""#),
            7 => format!(r#""type":"message","broken {text}"#),
            _ => format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#),
        };
        format!(r#"{{{rest},"id":"a","parentId":null,"timestamp":"2025-01-01T00:00:{second:02}.000Z"}}"#)
    })
}

fn act() -> impl Strategy<Value = Act> {
    let lines = || proptest::collection::vec(line(), 1..6);
    let damage = select(vec![Damage::Cut, Damage::Flip, Damage::Delete, Damage::Swap, Damage::OtherOrder]);
    prop_oneof![
        6 => (0usize..4, lines()).prop_map(|(file, lines)| Act::Append(file, lines)),
        1 => (0usize..4, line()).prop_map(|(file, line)| Act::Tear(file, line)),
        1 => (0usize..4, lines()).prop_map(|(file, lines)| Act::Rewrite(file, lines)),
        1 => (0usize..4, any::<Index>()).prop_map(|(file, at)| Act::Edit(file, at)),
        1 => (0usize..4).prop_map(Act::Delete),
        1 => (0usize..4, 0usize..4).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => (0usize..4).prop_map(Act::NoSession),
        4 => (select(vec![1usize, 2000, 1 << 20]), any::<bool>()).prop_map(|(memory, all)| Act::Update(memory, all)),
        2 => (damage, any::<Index>(), any::<Index>()).prop_map(|(damage, file, at)| Act::Damage(damage, file, at)),
    ]
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/here"}"#;

fn perform(store: &Store, act: &Act) {
    let append = |file: usize, text: &str| {
        let mut bytes = std::fs::read(store.file(file)).unwrap_or_else(|_| format!("{HEADER}\n").into_bytes());
        bytes.extend_from_slice(text.as_bytes());
        std::fs::write(store.file(file), bytes).unwrap();
    };
    match act {
        Act::Append(file, lines) => append(*file, &(lines.join("\n") + "\n")),
        Act::Tear(file, line) => append(*file, line),
        Act::Rewrite(file, lines) => {
            let text = format!("{HEADER}\n{}\n", lines.join("\n"));
            std::fs::write(store.file(*file), text).unwrap();
        }
        Act::Edit(file, at) => {
            if let Ok(mut bytes) = std::fs::read(store.file(*file))
                .map_err(drop)
                .and_then(|bytes| if bytes.len() > 200 { Ok(bytes) } else { Err(()) })
            {
                let at = 120 + at.index(bytes.len() - 120);
                bytes[at] = if bytes[at] == b'\n' { b'\n' } else { b'o' };
                std::fs::write(store.file(*file), bytes).unwrap();
            }
        }
        Act::Delete(file) => drop(std::fs::remove_file(store.file(*file))),
        Act::Rename(from, to) => drop(std::fs::rename(store.file(*from), store.file(*to))),
        Act::NoSession(file) => std::fs::write(store.file(*file), "{\"type\":\"label\",\"label\":\"foo\"}\n").unwrap(),
        Act::Update(memory, all) => store.update(*memory, *all),
        Act::Damage(damage, file, at) => {
            let files = store.cache_files();
            if files.is_empty() {
                return;
            }
            damage_file(*damage, &files, file.index(files.len()), *at);
        }
    }
}

fn damage_file(damage: Damage, files: &[PathBuf], file: usize, at: Index) {
    let path = &files[file];
    let mut bytes = std::fs::read(path).unwrap();
    match damage {
        Damage::Delete => return std::fs::remove_file(path).unwrap(),
        Damage::Swap => bytes = std::fs::read(&files[at.index(files.len())]).unwrap(),
        Damage::Cut => bytes.truncate(at.index(bytes.len().max(1))),
        Damage::Flip if !bytes.is_empty() => {
            let bit = at.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        Damage::Flip => {}
        Damage::OtherOrder => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
    }
    std::fs::write(path, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_index_agrees_with_the_files(acts in proptest::collection::vec(act(), 1..14)) {
        let store = Store::new();
        for act in &acts {
            perform(&store, act);
        }
        store.check("at the end");
        // A query changes nothing, and an update repairs everything.
        store.check("once more");
        store.update(2000, false);
        store.check("up to date");
    }
}

/// Creates a store of a few sessions whose index has several segments.
fn filled() -> Store {
    let store = Store::new();
    for number in 0..4 {
        let mut text = format!("{HEADER}\n");
        for place in 0..60 {
            let words: Vec<&str> =
                (0..9).map(|word| WORDS[(number * 7 + place * 3 + word * (place + 1)) % WORDS.len()]).collect();
            let said = words.join(" ");
            let line = format!(
                r#"{{"type":"message","id":"{place:08x}","timestamp":"2025-01-01T00:00:{place:02}.000Z","message":{{"role":"user","content":"{said}"}}}}"#
            );
            text.push_str(&line);
            text.push('\n');
        }
        std::fs::write(store.file(number), text).unwrap();
        store.update(4000, false);
    }
    store
}

#[test]
fn a_flipped_bit_never_changes_a_result() {
    let store = filled();
    let files = store.files();
    let mut none = TextIndex::none(Arc::new(RealOs));
    let queries = ["the", "\"the foo\"", "foob*"];
    let expected = queries.map(|query| find(&mut none, &files, query, &Filter::default(), 20, false));
    for path in store.cache_files() {
        let whole = std::fs::read(&path).unwrap();
        // Every bit of a small file, and many of a larger one.
        let step = (whole.len() * 8 / 300).max(1);
        for bit in (0..whole.len() * 8).step_by(step) {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            let mut index = TextIndex::open(store.caches.clone());
            for (query, expected) in queries.iter().zip(&expected) {
                assert_eq!(find(&mut index, &files, query, &Filter::default(), 20, false), *expected, "bit {bit}");
            }
            std::fs::write(&path, &whole).unwrap();
        }
    }
}

#[test]
fn the_next_update_repairs_damage() {
    let store = filled();
    let files = store.files();
    let segment = store.cache_files().into_iter().find(|path| path.extension().is_some()).unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes.iter_mut().skip(middle).for_each(|byte| *byte ^= 0xff);
    std::fs::write(&segment, bytes).unwrap();
    assert_eq!(TextIndex::open(store.caches.clone()).n_uncovered(&files), 0);
    store.check("damaged");
    assert!(!segment.exists(), "the damaged segment is removed");
    store.update(1 << 20, false);
    let mut index = TextIndex::open(store.caches.clone());
    assert_eq!(index.n_uncovered(&files), 0);
    store.check("lossy_utf8");
}

#[test]
fn a_match_is_found_wherever_it_is() {
    let store = Store::new();
    for number in 0..50 {
        let needle = if number % 7 == 3 { "quixoticNeedle42" } else { "quixotic needle 42" };
        let text = format!(
            "{HEADER}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"x {needle} y\"}}}}\n"
        );
        std::fs::write(store.file(number), text).unwrap();
    }
    store.update(1 << 20, false);
    let mut index = TextIndex::open(store.caches.clone());
    let files = store.files();
    for query in ["quixoticNeedle42", "quixoticneedle42", "quixoticNee*"] {
        let found = find(&mut index, &files, query, &Filter::default(), usize::MAX, true);
        let mut found: Vec<PathBuf> = found.iter().map(|hit| files[hit.file].path.clone()).collect();
        found.sort();
        let mut expected: Vec<PathBuf> =
            (0..50).filter(|number| number % 7 == 3).map(|number| store.file(number)).collect();
        expected.sort();
        if query == "quixoticNee*" {
            assert_eq!(found.len(), 50, "a prefix also finds the separate words");
        } else {
            assert_eq!(found, expected, "{query}");
        }
    }
}

#[test]
fn an_update_in_a_hurry_leaves_large_merges_to_the_next() {
    let store = Store::new();
    let mut index = TextIndex::open(store.caches.clone());
    for number in 0..20 {
        std::fs::write(store.file(number), format!("{HEADER}\n{{\"type\":\"label\",\"label\":\"word{number}\"}}\n"))
            .unwrap();
        let options = UpdateOptions { is_gone: &|_| true, max_merged: 0, ..UpdateOptions::default() };
        index.update(&store.files(), &options).unwrap();
    }
    assert_eq!(index.n_segments(), 20);
    assert_eq!(find(&mut index, &store.files(), "word*", &Filter::default(), usize::MAX, false).len(), 20);
    store.update(1 << 20, false);
    assert!(TextIndex::open(store.caches.clone()).n_segments() < 10);
    store.check("merged later");
}

#[test]
fn many_small_updates_make_few_segments() {
    let store = Store::new();
    for number in 0..100 {
        let line = format!("{{\"type\":\"label\",\"label\":\"word{number}\"}}\n");
        let mut bytes = std::fs::read(store.file(0)).unwrap_or_else(|_| format!("{HEADER}\n").into_bytes());
        bytes.extend_from_slice(line.as_bytes());
        std::fs::write(store.file(0), bytes).unwrap();
        store.update(1 << 20, false);
    }
    let mut index = TextIndex::open(store.caches.clone());
    assert!(index.n_segments() < 16, "{}", index.n_segments());
    assert_eq!(store.cache_files().len(), index.n_segments() + 1, "nothing is left behind");
    assert_eq!(find(&mut index, &store.files(), "word*", &Filter::default(), usize::MAX, false).len(), 100);
    store.update(1 << 20, true);
    assert_eq!(TextIndex::open(store.caches.clone()).n_segments(), 1);
    store.check("merged");
}

#[test]
fn only_one_process_updates_at_a_time() {
    let store = filled();
    std::fs::remove_file(store.file(0)).unwrap();
    let files = store.files();
    let (mut one, mut other) = (TextIndex::open(store.caches.clone()), TextIndex::open(store.caches.clone()));
    let meanwhile = std::sync::Mutex::new(None);
    let options = UpdateOptions {
        is_gone: &|_| {
            let mut meanwhile = meanwhile.lock().unwrap();
            if meanwhile.is_none() {
                *meanwhile = Some(other_update(&store));
            }
            true
        },
        ..UpdateOptions::default()
    };
    assert_eq!(one.update(&files, &options).unwrap(), Updated::Done);
    assert_eq!(*meanwhile.lock().unwrap(), Some(Updated::Busy));
    assert_eq!(other.update(&files, &UpdateOptions::default()).unwrap(), Updated::Done);
    store.check("after both");
}

fn other_update(store: &Store) -> Updated {
    TextIndex::open(store.caches.clone()).update(&store.files(), &UpdateOptions::default()).unwrap()
}

#[test]
fn a_cancelled_update_keeps_its_progress() {
    let store = filled();
    for path in store.cache_files() {
        std::fs::remove_file(path).unwrap();
    }
    let n_asked = std::sync::atomic::AtomicUsize::new(0);
    let options = UpdateOptions {
        is_cancelled: &|| n_asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 90,
        memory: 4000,
        ..UpdateOptions::default()
    };
    let files = store.files();
    assert_eq!(TextIndex::open(store.caches.clone()).update(&files, &options).unwrap(), Updated::Cancelled);
    let total: u64 = files.iter().map(|file| file.stat.length).sum();
    let left = TextIndex::open(store.caches.clone()).n_uncovered(&files);
    assert!(0 < left && left < total, "{left} of {total}");
    store.check("in between");
    store.update(1 << 20, false);
    assert_eq!(TextIndex::open(store.caches.clone()).n_uncovered(&files), 0);
    store.check("in the end");
}

/// Enough entries that only the most promising of them are checked.
#[test]
fn the_best_of_many_are_the_same_with_and_without_an_index() {
    let store = Store::new();
    let mut state = 12345u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for number in 0..3 {
        let mut text = format!("{HEADER}\n");
        for place in 0..1500 {
            let n_words = 1 + random(6) * random(12);
            let words: Vec<&str> =
                (0..=n_words).map(|_| ["of", "the", "a", "of the", "word", "rare"][random(6)]).collect();
            let role = ["user", "assistant", "toolResult"][random(3)];
            let (minute, second) = (random(60), random(60));
            let said = words.join(" ");
            let line = format!(
                r#"{{"type":"message","id":"{place:08x}","timestamp":"2024-12-{:02}T00:{minute:02}:{second:02}.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{said}"}}]}}}}"#,
                1 + random(28)
            );
            text.push_str(&line);
            text.push('\n');
        }
        std::fs::write(store.file(number), text).unwrap();
    }
    store.update(1 << 20, false);
    let files = store.files();
    let (mut index, mut none) = (TextIndex::open(store.caches.clone()), TextIndex::none(Arc::new(RealOs)));
    let since = Filter {
        since: Some(Timestamp::from_ms(1_734_000_000_000)),
        kinds: vec![DocumentKind::User],
        ..Filter::default()
    };
    for query in ["the", "of", "rare", "\"of the\"", "\"the of the\"", "of rare", "\"a word\" \"of the\"", "th*"] {
        for filter in [Filter::default(), since.clone()] {
            for (limit, per_session) in [(1, false), (10, false), (50, false), (usize::MAX, false), (2, true)] {
                let expected = find(&mut none, &files, query, &filter, limit, per_session);
                let found = find(&mut index, &files, query, &filter, limit, per_session);
                assert_eq!(found, expected, "{query}, {limit} {per_session}");
            }
            // The first turn has nine hits, so a page of ten needs more than the best.
            for limit in [5, 10] {
                let (expected, total) = two_pages(&mut none, &files, query, &filter, limit);
                assert_eq!(two_pages(&mut index, &files, query, &filter, limit), (expected, total), "{query}, {limit}");
                assert_eq!(total, find(&mut none, &files, query, &filter, usize::MAX, false).len(), "{query}");
            }
        }
    }
    // With a session that does not count, the index has documents that are no hits.
    let fewer = &files[1..];
    let expected = two_pages(&mut none, fewer, "the", &Filter::default(), 5);
    assert_eq!(two_pages(&mut index, fewer, "the", &Filter::default(), 5), expected);
}
