//! Searching sessions: on real files, and on a machine where every call can fail.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sessile::caches::Updated;
use sessile::date::Timestamp;
use sessile::format::head::{Kind, Role};
use sessile::search::{IndexOptions, OnPath, SearchHit, SearchOptions, SearchScope, Upkeep};
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;
use sessile::{SessionError, Sessions, System};
use sessile_testkit::sim::{Errno, SimOs, Tear};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

fn user(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn session(lines: &[String]) -> String {
    format!("{HEADER}\n{}\n", lines.join("\n"))
}

fn options() -> SearchOptions<'static> {
    SearchOptions { upkeep: Upkeep::Always, ..SearchOptions::default() }
}

fn search(sessions: &Sessions, query: &str, options: &SearchOptions<'_>) -> Vec<SearchHit> {
    sessions.search(&Query::parse(query).unwrap(), options).unwrap().hits
}

fn ids(hits: &[SearchHit]) -> Vec<String> {
    let mut ids: Vec<String> = hits.iter().map(|hit| hit.entry_id.as_ref().unwrap().to_string()).collect();
    ids.sort();
    ids
}

struct Scene {
    dir: tempfile::TempDir,
    sessions: Sessions,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let sessions = Sessions::new(System).caching(Some(dir.path().join("cache"))).with_session_dir(&store);
        std::fs::create_dir(store).unwrap();
        Self { dir, sessions }
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.store().join(name), text).unwrap();
    }
}

#[test]
fn hits_name_session_entry_and_position() {
    let scene = Scene::new();
    let lines =
        [user("a", "", "where is the quixotic needle"), user("b", "a", "nothing here"), user("c", "a", "a needle too")];
    scene.write("one.jsonl", &session(&lines));
    scene.write("two.jsonl", &session(&[user("d", "", "hay")]));
    scene.write("no.jsonl", &user("e", "", "needle without a header"));
    let hits = search(&scene.sessions, "needle", &options());
    assert_eq!(ids(&hits), ["a", "c"]);
    let hit = hits.iter().find(|hit| hit.offset == Some(HEADER.len() as u64 + 1)).unwrap();
    assert_eq!(hit.session_path, scene.store().join("one.jsonl"));
    assert_eq!(hit.excerpt.text, "where is the quixotic needle");
    assert_eq!(hit.excerpt.text.get(hit.excerpt.ranges[0].clone()), Some("needle"));
    assert_eq!(
        (hit.kind, hit.role, hit.time),
        (Kind::Message, Role::User, Some(Timestamp::from_ms(1_735_689_601_000)))
    );
    assert_eq!(hit.excerpt.utf16_ranges().first(), Some(&(22..28)));
}

#[test]
fn filters_scopes_and_paths_restrict_a_search() {
    let scene = Scene::new();
    let label = r#"{"type":"label","id":"l","parentId":"c","timestamp":"2025-01-02T00:00:00.000Z","targetId":"a","label":"needle"}"#;
    let lines = [user("a", "", "needle"), user("b", "a", "needle"), user("c", "a", "needle"), label.to_owned()];
    scene.write("one.jsonl", &session(&lines));
    let elsewhere = session(&[user("z", "", "needle")]).replace("/proj", "/other/deep").replace("s1", "s2");
    scene.write("two.jsonl", &elsewhere);
    let all = || options();
    let found = |options: SearchOptions<'_>| ids(&search(&scene.sessions, "needle", &options));
    assert_eq!(found(all()), ["a", "b", "c", "l", "z"]);
    assert_eq!(found(SearchOptions { on_path: Some(OnPath::Leaf), ..all() }), ["a", "c", "l", "z"]);
    assert_eq!(found(SearchOptions { on_path: Some(OnPath::Entry("b".into())), ..all() }), ["a", "b"]);
    assert_eq!(found(SearchOptions { cwd: Some("/other".into()), ..all() }), ["z"]);
    assert_eq!(found(SearchOptions { session: Some("s2".to_owned()), ..all() }), ["z"]);
    assert_eq!(found(SearchOptions { admits: Some(&|_, cwd| cwd == "/proj"), limit: 9, ..all() }).len(), 4);
    let labels = Filter { kinds: vec![DocumentKind::Label], ..Filter::default() };
    assert_eq!(found(SearchOptions { filter: labels, ..all() }), ["l"]);
    let late = Filter { since: Some(Timestamp::from_ms(1_735_700_000_000)), ..Filter::default() };
    assert_eq!(found(SearchOptions { filter: late, ..all() }), ["l"]);
    let scope = SearchScope::Cwd("/other/deep".into());
    assert_eq!(found(SearchOptions { scope, ..all() }), ["z"]);
    let scope = SearchScope::Files(vec![scene.store().join("two.jsonl"), scene.store().join("gone.jsonl")]);
    assert_eq!(found(SearchOptions { scope, ..all() }), ["z"]);
    assert_eq!(found(all()).len(), 5, "the other sessions are still indexed");
    let per_session = SearchOptions { per_session: true, ..all() };
    assert_eq!(search(&scene.sessions, "needle", &per_session).len(), 2);
    assert_eq!(found(SearchOptions { limit: 2, ..all() }).len(), 2);
}

#[test]
fn entries_of_old_files_have_their_migrated_ids() {
    let scene = Scene::new();
    let old = "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/proj\"}\n{\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"needle\"}}\n";
    scene.write("old.jsonl", old);
    let hits = search(&scene.sessions, "needle", &options());
    let opened = scene.sessions.clone().read_only().open(scene.store().join("old.jsonl")).unwrap();
    assert_eq!(hits[0].entry_id, opened.leaf_id());
    assert!(hits[0].entry_id.is_some());
}

#[test]
fn without_caches_everything_is_read() {
    let scene = Scene::new();
    scene.write("one.jsonl", &session(&[user("a", "", "needle")]));
    let sessions = Sessions::new(System).caching(None).with_session_dir(scene.store());
    assert_eq!(ids(&search(&sessions, "needle", &options())), ["a"]);
    assert_eq!(search(&sessions, "hay", &options()), []);
}

/// A simulated machine with two sessions.
fn machine() -> SimOs {
    let os = SimOs::new();
    os.make_directories("/store");
    for number in 0..3 {
        let lines: Vec<String> = (0..20)
            .map(|index| user(&format!("{number}-{index}"), "", &format!("needle word{index} the hay")))
            .collect();
        os.foreign_append(format!("/store/{number}.jsonl"), session(&lines));
    }
    os
}

fn on(os: &SimOs) -> Sessions {
    Sessions::new(System).on(Arc::new(os.clone())).caching(Some("/cache".into())).with_session_dir("/store")
}

fn update(os: &SimOs) -> Result<Updated, SessionError> {
    on(os).update_text_index(&SearchScope::All, &IndexOptions::default())
}

fn answers(os: &SimOs) -> Vec<Vec<String>> {
    let options = SearchOptions { upkeep: Upkeep::Never, limit: 100, ..options() };
    ["needle", "\"word3 the\"", "word1*"].map(|query| ids(&search(&on(os), query, &options))).to_vec()
}

#[test]
fn an_interruption_at_any_call_does_no_harm() {
    let fresh = machine();
    let expected = answers(&fresh);
    assert_eq!(expected[0].len(), 60);
    let before = fresh.read_file("/store/0.jsonl");
    let counting = fresh.fork();
    counting.clear_calls();
    assert_eq!(update(&counting).unwrap(), Updated::Done);
    let n_calls = counting.calls().len() as u64;
    assert_eq!(answers(&counting), expected);
    for call in 1..=n_calls {
        for tear in [Tear::Nothing, Tear::Half, Tear::All] {
            let os = fresh.fork();
            os.crash_at(call, tear);
            drop(update(&os));
            let next = os.process(2000);
            assert_eq!(answers(&next), expected, "call {call}, {tear:?}");
            assert_eq!(update(&next).unwrap(), Updated::Done, "call {call}, {tear:?}");
            assert_eq!(answers(&next), expected, "lossy_utf8, call {call}, {tear:?}");
            assert_eq!(next.read_file("/store/0.jsonl"), before);
        }
        let os = fresh.fork();
        os.fail_call(call, Errno::NOSPC);
        drop(update(&os));
        assert_eq!(answers(&os), expected, "failed call {call}");
    }
}

#[test]
fn an_interrupted_second_update_does_no_harm() {
    let fresh = machine();
    update(&fresh).unwrap();
    fresh.foreign_append("/store/1.jsonl", user("late", "", "needle of late") + "\n");
    fresh.foreign_replace("/store/2.jsonl", session(&[user("new", "", "a new needle")]));
    fresh.foreign_remove("/store/0.jsonl");
    let expected = answers(&fresh);
    assert_eq!(expected[0].len(), 22);
    let counting = fresh.fork();
    counting.clear_calls();
    update(&counting).unwrap();
    for call in 1..=counting.calls().len() as u64 {
        let os = fresh.fork();
        os.crash_at(call, Tear::Half);
        drop(update(&os));
        assert_eq!(answers(&os.process(2000)), expected, "call {call}");
    }
}

fn append(path: &Path, line: &str) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[test]
fn every_change_is_seen_by_the_next_search() {
    let scene = Scene::new();
    scene.write("one.jsonl", &session(&[user("a", "", "needle")]));
    scene.write("two.jsonl", &session(&[user("b", "", "needle")]));
    let look = SearchOptions { upkeep: Upkeep::Never, ..options() };
    let found = |options: &SearchOptions<'_>| ids(&search(&scene.sessions, "needle", options));
    // Before that, the times of files prove nothing, and every file is read.
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(found(&options()), ["a", "b"]);
    append(&scene.store().join("one.jsonl"), &user("c", "a", "needle"));
    assert_eq!(found(&look), ["a", "b", "c"], "an added entry");
    scene.write("three.jsonl", &session(&[user("d", "", "needle")]));
    assert_eq!(found(&look), ["a", "b", "c", "d"], "a new session");
    scene.write("one.jsonl", &session(&[user("c", "", "hay")]));
    assert_eq!(found(&look), ["b", "d"], "a rewritten session");
    std::fs::remove_file(scene.store().join("two.jsonl")).unwrap();
    assert_eq!(found(&look), ["d"], "a deleted session");
}
