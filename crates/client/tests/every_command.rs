//! Every command through the Rust client, against a server in the same process.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::json::{Json, Raw};
use sessile::{NewSession, SessionManager, Sessions, draft};
use sessile_client::{Client, ClientError, OrNull};
use sessile_rpc::catalogue::{COMMANDS, Origin};
use sessile_rpc::{Engine, Options, Start};
use tempfile::TempDir;

/// A server with its sessions in a temporary directory.
struct World {
    engine: Arc<Engine>,
    dir: TempDir,
}

impl World {
    fn new(start: &Start) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::default().caching(None).recording_operations(Some(dir.path().join("state")));
        let mut options = Options::new(sessions);
        options.cwd = dir.path().to_path_buf();
        options.sessions = options.sessions.with_session_dir(dir.path().join("sessions"));
        options.compaction.keep_recent_tokens = 1;
        Self { engine: Engine::start(options, start, None).unwrap(), dir }
    }

    fn client(&self) -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let engine = Arc::clone(&self.engine);
        thread::spawn(move || engine.serve(theirs.try_clone().unwrap(), theirs));
        Client::from_streams(ours.try_clone().unwrap(), ours).unwrap()
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join("sessions").join(name).to_string_lossy().into_owned()
    }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn user(text: &str) -> Json {
    draft::UserMessage::new(text, Timestamp::from_ms(1)).into()
}

fn answer(text: &str) -> Json {
    draft::AssistantMessage::new("acme", "acme-1", text, Timestamp::from_ms(2)).into()
}

fn n(data: &Json, key: &str) -> usize {
    data.raw().get(key).unwrap().items().count()
}

fn text(data: &Json, key: &str) -> String {
    data.raw().get(key).and_then(Raw::as_string).unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    match result.unwrap_err() {
        ClientError::Refused { code, .. } => code,
        other => panic!("{other}"),
    }
}

#[test]
fn every_command_has_a_method() {
    let mut known: Vec<&str> =
        COMMANDS.iter().filter(|command| command.origin != Origin::Agent).map(|command| command.name).collect();
    let mut methods = sessile_client::COMMANDS.to_vec();
    known.sort_unstable();
    methods.sort_unstable();
    assert_eq!(methods, known);
}

#[test]
fn a_session_is_written_and_read() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let question = here.expecting(None).append_message(&user("Why is the tide late?")).unwrap();
    assert_eq!(question.durable, "page-cache");
    assert_eq!(question.leaf_id.as_ref(), Some(&question.entry_id));
    let question_id = question.entry_id.to_string();
    let answered = here.expecting(Some(&question_id)).append_message(&answer("Wind.")).unwrap();
    assert_eq!(code(here.expecting(Some(&question_id)).append_message(&user("stale"))), "LEAF_MOVED");
    here.append_thinking_level_change("high").unwrap();
    here.append_model_change("acme", "acme-2").unwrap();
    here.append_usage("cache_warm", "acme", "acme-1", &json(r#"{"input":1}"#), Some("note")).unwrap();
    here.append_custom_entry("x.state", Some(&json(r#"{"n":1}"#))).unwrap();
    here.append_custom_message_entry("x.said", &json(r#""aside""#), true, None).unwrap();
    here.append_session_info("Tides").unwrap();
    here.append_label_change(&question_id, Some("start")).unwrap();
    here.set_label(&answered.entry_id.to_string(), Some("end")).unwrap();
    here.append_context_edit(&question_id, &json(r#"{"content":"Why?"}"#)).unwrap();
    let state = here.get_state().unwrap();
    assert_eq!(state.session_name.as_deref(), Some("Tides"));
    assert_eq!(state.model, Some(("acme".to_owned(), "acme-2".to_owned())));
    assert_eq!(state.thinking_level, "high");
    assert_eq!(n(&here.get_messages().unwrap(), "messages"), 3);
    let entries = here.get_entries(None).unwrap();
    assert_eq!(n(&entries, "entries"), 11);
    assert_eq!(n(&here.get_entries(Some(&question_id)).unwrap(), "entries"), 10);
    assert_eq!(n(&here.get_tree().unwrap(), "tree"), 1);
    assert_eq!(text(&here.get_last_assistant_text().unwrap(), "text"), "Wind.");
    assert_eq!(n(&here.get_fork_messages().unwrap(), "messages"), 1);
    assert_eq!(here.get_session_stats().unwrap().raw().get("userMessages").unwrap().as_number(), Some(1.0));
    assert_eq!(n(&here.get_branch(Some(&question_id)).unwrap(), "entries"), 1);
    assert_eq!(n(&here.get_children(OrNull(None)).unwrap(), "entries"), 1);
    assert_eq!(n(&here.get_children(OrNull(Some(&question_id))).unwrap(), "entries"), 1);
    assert!(here.get_entry("nope").unwrap().raw().get("entry").is_none());
    assert!(here.get_entry(&question_id).unwrap().raw().get("entry").is_some());
    assert_eq!(text(&here.get_label(&question_id).unwrap(), "label"), "start");
    assert!(here.get_header().unwrap().raw().get("header").is_some());
    assert_eq!(n(&here.build_session_context(None).unwrap(), "messages"), 3);
    assert_eq!(n(&here.build_session_context(Some(OrNull(Some(&question_id)))).unwrap(), "messages"), 1);
    assert_eq!(n(&here.build_session_context(Some(OrNull(None))).unwrap(), "messages"), 0);
    assert_eq!(n(&here.build_context_entries(Some(OrNull(Some(&question_id)))).unwrap(), "entries"), 1);
    assert!(n(&here.build_context_entries(None).unwrap(), "entries") >= 3);
    assert_eq!(n(&here.verify().unwrap(), "findings"), 0);
    let page = world.path("page.html");
    assert_eq!(text(&here.export_html(Some(&page), None).unwrap(), "path"), page);
    let document = world.path("page.md");
    here.export_html(Some(&document), Some("md")).unwrap();
    assert!(std::path::Path::new(&document).is_file());
    assert_eq!(code(here.export_html(None, Some("docx"))), "INVALID_ARGUMENT");
}

#[test]
fn the_tree_is_walked_and_compacted() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let first = here.append_message(&user(&"old ".repeat(100))).unwrap().entry_id.to_string();
    here.append_message(&answer(&"older ".repeat(100))).unwrap();
    let second = here.append_message(&user("new")).unwrap().entry_id.to_string();
    let last = here.append_message(&answer("newest")).unwrap().entry_id.to_string();
    assert_eq!(here.branch(&first).unwrap().leaf_id.unwrap(), first.as_str());
    // After a deliberate move, the target is the expected leaf.
    let side = here.expecting(Some(&first)).append_message(&answer("another")).unwrap().entry_id.to_string();
    assert_eq!(here.reset_leaf().unwrap().leaf_id, None);
    assert_eq!(here.follow_leaf().unwrap().leaf_id.unwrap(), side.as_str());
    let navigated = here.navigate_tree(&second, Some(true), Some("short"), Some(false), Some("back")).unwrap();
    assert_eq!(navigated.editor_text.as_deref(), Some("new"));
    assert!(navigated.summary_entry.is_some() && !navigated.cancelled);
    here.branch_with_summary(OrNull(Some(&last)), "went elsewhere", None, Some(false), None).unwrap();
    let prepared = here.prepare_compaction(Some(1)).unwrap();
    assert!(prepared.raw().get("preparation").is_some());
    let compacted = here.compact(Some("tides")).unwrap();
    assert!(!compacted.summary.is_empty());
    assert_eq!(code(here.compact(None)), "INVALID_ARGUMENT");
    here.append_compaction("all of it", OrNull(None), 12.0, Some(&json("{}")), Some(true), None).unwrap();
    assert_eq!(n(&here.get_messages().unwrap(), "messages"), 1);
    assert_eq!(code(here.append_compaction("x", OrNull(Some("nope")), 1.0, None, None, None)), "NOT_FOUND");
    here.abort().unwrap();
}

#[test]
fn sessions_are_switched_listed_and_searched() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let question = here.append_message(&user("harmonic sums")).unwrap().entry_id.to_string();
    here.append_message(&answer("constituents")).unwrap();
    let second = here.append_message(&user("second")).unwrap().entry_id.to_string();
    let original = here.get_state().unwrap().session_file.unwrap();
    assert_eq!(here.fork(&second).unwrap().text.as_deref(), Some("second"));
    assert!(!here.clone_session().unwrap().cancelled);
    let branched = here.create_branched_session(&question).unwrap();
    assert_eq!(here.get_state().unwrap().session_file, branched.session_path);
    assert!(!here.new_session(Some(&original), None).unwrap().cancelled);
    assert_eq!(code(here.clone_session()), "INVALID_ARGUMENT");
    here.set_session_name("New").unwrap();
    here.switch_session(&original).unwrap();
    client.at(&original).rename_session(&original, "Original").unwrap();
    assert_eq!(here.get_state().unwrap().session_name.as_deref(), Some("Original"));
    assert_eq!(
        n(
            &here.list_sessions(Some("all"), None, Some(10), Some(false), Some("shown"), Some("shown")).unwrap(),
            "sessions"
        ),
        4
    );
    assert_eq!(n(&here.list_sessions(Some("all"), None, None, Some(true), None, None).unwrap(), "sessions"), 1);
    assert_eq!(n(&here.list_sessions(None, None, None, None, Some("hidden"), None).unwrap(), "sessions"), 1);
    let rows = |archived| n(&here.list_sessions(Some("all"), None, None, None, None, archived).unwrap(), "sessions");
    assert_eq!(code(here.archive_session(Some(&question), None)), "INVALID_ARGUMENT", "the leaf is on that branch");
    client.at(&original).archive_session(None, None).unwrap();
    assert_eq!([None, Some("shown"), Some("only")].map(rows), [3, 4, 1]);
    client.at(&original).archive_session(None, Some(false)).unwrap();
    assert_eq!(rows(None), 4);
    let results =
        here.search("constituents", Some("all"), Some(5), Some(&json(r#"{"role":"assistant"}"#)), None).unwrap();
    assert!(!results.hits.is_empty());
    let family = here.family().unwrap();
    assert_eq!(text(&family, "root"), original);
    assert_eq!(n(&family, "nodes"), 4);
    assert_eq!(code(client.at("/no/such.jsonl").get_state()), "NOT_FOUND");
    let copy = branched.session_path.unwrap();
    let trashed = world.dir.path().join("trash");
    // Deleting would use the user's own trash, so the test deletes and restores only missing sessions.
    assert_eq!(code(here.delete_session(&world.path("missing.jsonl"))), "NOT_FOUND");
    assert_eq!(code(here.restore_session(&copy)), "NOT_FOUND");
    drop(trashed);
}

#[test]
fn settings_work_and_agent_commands_are_refused() {
    let world = World::new(&Start::Memory);
    let client = world.client();
    let here = client.current();
    assert_eq!(n(&here.get_available_models().unwrap(), "models"), 0);
    let model = here.set_model("acme", "acme-1").unwrap();
    assert_eq!((text(&model, "id"), text(&model, "name")), ("acme-1".to_owned(), "acme-1".to_owned()));
    let models = here.get_available_models().unwrap();
    assert_eq!(models.to_text(), format!(r#"{{"models":[{}]}}"#, model.to_text()));
    assert!(here.cycle_model().unwrap().raw().is_null());
    here.set_thinking_level("low").unwrap();
    assert_eq!(n(&here.get_available_thinking_levels().unwrap(), "levels"), 7);
    assert!(here.cycle_thinking_level().unwrap().raw().is_null());
    here.set_auto_compaction(false).unwrap();
    here.set_steering_mode("all").unwrap();
    here.set_follow_up_mode("all").unwrap();
    here.set_auto_retry(true).unwrap();
    here.abort_retry().unwrap();
    here.abort_bash().unwrap();
    here.clear_queue().unwrap();
    assert_eq!(n(&here.get_commands().unwrap(), "commands"), 0);
    let state = here.get_state().unwrap();
    assert_eq!((state.thinking_level.as_str(), state.auto_compaction_enabled), ("low", false));
    assert_eq!(state.session_file, None);
    assert_eq!(n(&here.get_entries(None).unwrap(), "entries"), 2);
    // Setting the current value again adds no entry.
    here.set_model("acme", "acme-1").unwrap();
    here.set_thinking_level("low").unwrap();
    assert_eq!(n(&here.get_entries(None).unwrap(), "entries"), 2);
    for command in COMMANDS.iter().filter(|command| command.origin == Origin::Agent) {
        assert_eq!(code(client.call(command.name, &json("{}"))), "NOT_SUPPORTED");
    }
    assert_eq!(code(client.call("navigate_tree", &json("{}"))), "INVALID_ARGUMENT");
    assert_eq!(client.close(), None);
}

/// Returns the next record of a type and skips others.
fn next_of_type(client: &Client, kind: &str) -> Json {
    loop {
        let record = client.next_event(Duration::from_mins(2)).unwrap().unwrap_or_else(|| panic!("no {kind} came"));
        if text(&record, "type") == kind {
            return record;
        }
    }
}

#[test]
fn a_subscription_resumes_at_its_cursor() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    here.append_message(&user("before")).unwrap();
    let subscribed = here.subscribe(Some(&["entry_appended"]), None, None).unwrap();
    let mut cursors = vec![subscribed.cursor.clone()];
    for index in 0..5 {
        here.append_message(&user(&index.to_string())).unwrap();
        let event = next_of_type(&client, "event");
        assert_eq!(text(&event, "subscription"), subscribed.subscription);
        let entry = event.raw().get("event").unwrap();
        assert_eq!(entry.get("own").and_then(Raw::as_bool), Some(true));
        cursors.push(text(&event, "cursor"));
    }
    here.unsubscribe(&subscribed.subscription).unwrap();
    assert_eq!(code(here.unsubscribe(&subscribed.subscription)), "NOT_FOUND");
    here.append_message(&user("while away")).unwrap();
    let path = here.get_state().unwrap().session_file.unwrap();
    drop(client);
    // A later client gets exactly what it missed.
    for (n_seen, cursor) in cursors.iter().enumerate() {
        let client = world.client();
        client.at(&path).subscribe(Some(&["entry_appended"]), Some(cursor), None).unwrap();
        let missed: Vec<Json> = (n_seen..6).map(|_| next_of_type(&client, "event")).collect();
        let texts: Vec<String> = missed
            .iter()
            .map(|event| event.raw().get("event").unwrap().get("entry").unwrap().get("message").unwrap().to_json())
            .map(|message| message.raw().get("content").unwrap().to_text().into_owned())
            .collect();
        assert_eq!(texts.len(), 6 - n_seen);
        assert!(texts.last().unwrap().contains("while away"));
        assert!(client.next_event(Duration::from_millis(200)).unwrap().is_none());
    }
    let client = world.client();
    assert_eq!(code(client.at(&path).subscribe(None, Some("nonsense"), None)), "INVALID_ARGUMENT");
}

#[test]
fn entries_without_an_id_are_sent_once() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    here.append_message(&user("before")).unwrap();
    here.subscribe(Some(&["entry_appended"]), None, None).unwrap();
    here.subscribe(Some(&["entry_appended"]), None, Some("store")).unwrap();
    // Another program appends an entry without an id.
    let path = here.get_state().unwrap().session_file.unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"type\":\"custom\",\"customType\":\"odd\",\"parentId\":null}\n").unwrap();
    let received = |n: usize| {
        let events = (0..n).map(|_| next_of_type(&client, "event").raw().get("event").unwrap().to_json());
        let own = |event: Json| {
            let entry = event.raw().get("entry").unwrap().to_json();
            (entry.raw().get("customType").is_some(), event.raw().get("own").and_then(Raw::as_bool).unwrap())
        };
        events.map(own).collect::<Vec<_>>()
    };
    assert_eq!(received(2), [(true, false); 2]);
    assert!(client.next_event(Duration::from_millis(400)).unwrap().is_none());
    here.append_message(&user("after")).unwrap();
    assert_eq!(received(2), [(false, true); 2]);
    assert!(client.next_event(Duration::from_millis(400)).unwrap().is_none());
}

#[test]
fn a_store_subscription_covers_all_sessions() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    here.append_message(&user("before")).unwrap();
    let first = here.get_state().unwrap().session_file.unwrap();
    let events = ["entry_appended", "session_deleted"];
    let subscribed = here.subscribe(Some(&events), None, Some("store")).unwrap();
    // Another program creates a session.
    let sessions = Sessions::default().caching(None);
    let dir = world.dir.path().join("sessions");
    let mut other = sessions.clone().with_session_dir(&dir).create(world.dir.path()).unwrap();
    other.append_message(draft::UserMessage::new("theirs 0", Timestamp::from_ms(1))).unwrap();
    let event = next_of_type(&client, "event");
    let event_in = |event: &Json| event.raw().get("event").unwrap().to_json();
    assert_eq!(text(&event_in(&event), "sessionPath"), other.session_file().unwrap().to_string_lossy());
    let cursor = text(&event, "cursor");
    here.append_message(&user("ours")).unwrap();
    assert_eq!(text(&event_in(&next_of_type(&client, "event")), "sessionPath"), first);
    here.unsubscribe(&subscribed.subscription).unwrap();
    other.append_message(draft::UserMessage::new("theirs 1", Timestamp::from_ms(1))).unwrap();
    // A client that returns with a cursor gets what it missed, for every session.
    let back = world.client();
    back.current().subscribe(Some(&events), Some(&cursor), Some("store")).unwrap();
    let mut missed: Vec<String> =
        (0..2).map(|_| event_in(&next_of_type(&back, "event")).to_text().into_owned()).collect();
    missed.sort();
    assert!(missed.iter().any(|event| event.contains("theirs 1")), "{missed:?}");
    assert!(missed.iter().any(|event| event.contains("ours")), "{missed:?}");
    assert!(back.next_event(Duration::from_millis(300)).unwrap().is_none());
    std::fs::remove_file(other.session_file().unwrap()).unwrap();
    assert_eq!(text(&event_in(&next_of_type(&back, "event")), "type"), "session_deleted");
    assert_eq!(code(here.subscribe(None, Some("store:x"), Some("store"))), "INVALID_ARGUMENT");
}

#[test]
fn a_stale_append_is_refused_with_the_actual_leaf() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let first = here.append_message(&user("ours")).unwrap().entry_id;
    let path = here.get_state().unwrap().session_file.unwrap();
    let mut other = SessionManager::open(Path::new(&path)).unwrap();
    let theirs = other.append_message(draft::UserMessage::new("theirs", Timestamp::from_ms(1))).unwrap();
    let ClientError::Refused { code: refused, leaf_id, .. } =
        here.expecting(Some(&first.to_string())).append_message(&user("x")).unwrap_err()
    else {
        panic!("the request was not refused")
    };
    assert_eq!((refused.as_str(), leaf_id.as_ref()), ("LEAF_MOVED", Some(&theirs)));
    // With the reported leaf the append succeeds, and continues after it.
    let written = here.expecting(Some(&theirs.to_string())).append_message(&user("behind")).unwrap();
    let entry = here.get_entry(&written.entry_id.to_string()).unwrap();
    assert_eq!(text(&entry.raw().get("entry").unwrap().to_json(), "parentId"), theirs.to_string());
}

#[test]
fn every_write_can_expect_a_leaf() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let first = here.append_message(&user(&"long ago ".repeat(50))).unwrap().entry_id.to_string();
    here.append_message(&answer(&"and far away ".repeat(50))).unwrap();
    here.append_message(&user("now")).unwrap();
    let before = here.get_entries(None).unwrap();
    let late = || here.expecting(Some("nope"));
    assert_eq!(code(late().set_session_name("x")), "LEAF_MOVED");
    assert_eq!(code(late().set_model("p", "m")), "LEAF_MOVED");
    assert_eq!(code(late().set_thinking_level("high")), "LEAF_MOVED");
    assert_eq!(code(late().compact(None)), "LEAF_MOVED");
    assert_eq!(code(late().navigate_tree(&first, Some(true), None, None, None)), "LEAF_MOVED");
    assert_eq!(code(late().set_label(&first, Some("x"))), "LEAF_MOVED");
    assert_eq!(here.get_entries(None).unwrap(), before);
    let leaf = text(&before, "leafId");
    here.expecting(Some(&leaf)).set_session_name("x").unwrap();
}

#[test]
fn commands_accept_session_ids_and_fork_other_sessions() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    here.append_message(&user("one")).unwrap();
    here.append_message(&answer("two")).unwrap();
    let second = here.append_message(&user("three")).unwrap().entry_id.to_string();
    let first = here.get_state().unwrap();
    let elsewhere = world.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    here.new_session(None, Some(&elsewhere.to_string_lossy())).unwrap();
    assert_eq!(
        text(&here.get_header().unwrap().raw().get("header").unwrap().to_json(), "cwd"),
        elsewhere.to_string_lossy()
    );
    assert_eq!(code(here.new_session(None, Some("/no/such/directory"))), "NOT_FOUND");
    here.append_message(&user("mine")).unwrap();
    let mine = here.get_state().unwrap().session_file;
    let other_session = client.at(first.session_id.as_str());
    assert_eq!(other_session.get_state().unwrap().session_file, first.session_file);
    let forked = other_session.fork(&second).unwrap();
    assert_eq!(forked.text.as_deref(), Some("three"));
    let cloned = other_session.clone_session().unwrap();
    for (path, n_entries) in [(forked.new_session_path, 2), (cloned.new_session_path, 3)] {
        assert_eq!(n(&client.at(&path.unwrap()).get_entries(None).unwrap(), "entries"), n_entries);
    }
    // The same holds for the client's own session.
    let own = client.at(mine.as_deref().unwrap());
    assert!(own.clone_session().unwrap().new_session_path.is_some());
    let leaf = text(&own.get_entries(None).unwrap(), "leafId");
    own.create_branched_session(&leaf).unwrap();
    assert_eq!(here.get_state().unwrap().session_file, mine);
    // A reference that matches no session must not create a file.
    assert_eq!(code(here.switch_session("nonsense")), "NOT_FOUND");
    assert!(!world.dir.path().join("nonsense").exists());
    here.switch_session(first.session_id.as_str()).unwrap();
    assert_eq!(here.get_fork_messages().map(|data| n(&data, "messages")).unwrap(), 2);
}

#[test]
fn abort_stops_work_only_in_the_targeted_session() {
    let world = World::new(&Start::New);
    let (client, guard) = (world.client(), world.client());
    let here = client.current();
    here.append_message(&user(&"old ".repeat(50))).unwrap();
    here.append_message(&answer(&"older ".repeat(50))).unwrap();
    here.append_message(&user("new")).unwrap();
    let path = here.get_state().unwrap().session_file.unwrap();
    here.new_session(None, None).unwrap();
    // A compaction that waits for a slow hook.
    guard.current().hook_register(&["session_before_compact"], Some(60_000)).unwrap();
    let compacting = {
        let (client, path) = (world.client(), path.clone());
        thread::spawn(move || code(client.at(&path).compact(None)))
    };
    next_of_type(&guard, "hook_request");
    assert!(client.at(&path).get_state().unwrap().is_compacting);
    // An abort in this session does not stop work in the other one.
    here.abort().unwrap();
    assert!(client.at(&path).get_state().unwrap().is_compacting);
    client.at(&path).abort().unwrap();
    assert_eq!(compacting.join().unwrap(), "CANCELLED");
}

#[test]
fn a_search_filter_selects_the_directory() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let elsewhere = world.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    here.new_session(None, Some(&elsewhere.to_string_lossy())).unwrap();
    here.append_message(&user("constituents")).unwrap();
    here.new_session(None, Some(&world.dir.path().to_string_lossy())).unwrap();
    let n_hits = |filters: Option<&Json>| here.search("constituents", None, None, filters, None).unwrap().hits.len();
    assert_eq!(n_hits(None), 0);
    let filters = json(&format!(r#"{{"cwd":"{}"}}"#, elsewhere.display()));
    assert_eq!(n_hits(Some(&filters)), 1);
}

#[test]
fn subscribers_receive_the_shutdown_event() {
    let world = World::new(&Start::New);
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let engine = Arc::clone(&world.engine);
    let serving = thread::spawn(move || engine.serve(theirs.try_clone().unwrap(), theirs));
    ours.write_all(b"{\"type\":\"subscribe\"}\n").unwrap();
    ours.write_all(b"{\"type\":\"append_custom_entry\",\"customType\":\"x\"}\n").unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut output = String::new();
    ours.read_to_string(&mut output).unwrap();
    serving.join().unwrap();
    let last = output.lines().last().unwrap();
    assert!(last.contains("\"session_shutdown\"") && output.contains("\"entry_appended\""), "{output}");
}

#[test]
fn entries_of_a_returning_session_are_not_sent_again() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    here.append_message(&user("one")).unwrap();
    let path = PathBuf::from(here.get_state().unwrap().session_file.unwrap());
    here.new_session(None, None).unwrap();
    here.subscribe(Some(&["entry_appended", "session_deleted"]), None, Some("store")).unwrap();
    let moved_aside = world.dir.path().join("aside.jsonl");
    std::fs::rename(&path, &moved_aside).unwrap();
    let kind = || text(&next_of_type(&client, "event").raw().get("event").unwrap().to_json(), "type");
    assert_eq!(kind(), "session_deleted");
    std::fs::rename(&moved_aside, &path).unwrap();
    thread::sleep(Duration::from_millis(300));
    client.at(&path.to_string_lossy()).append_message(&user("two")).unwrap();
    let event = next_of_type(&client, "event");
    assert!(event.to_text().contains("two"), "{}", event.to_text());
    assert!(client.next_event(Duration::from_millis(300)).unwrap().is_none());
}

#[test]
fn a_returning_session_is_shared_by_all_clients() {
    let world = World::new(&Start::New);
    let (stays, other) = (world.client(), world.client());
    stays.current().append_message(&user("one")).unwrap();
    let path = PathBuf::from(stays.current().get_state().unwrap().session_file.unwrap());
    other.current().new_session(None, None).unwrap();
    let subscribed = other.current().subscribe(Some(&["session_deleted"]), None, Some("store")).unwrap();
    let moved_aside = world.dir.path().join("aside.jsonl");
    std::fs::rename(&path, &moved_aside).unwrap();
    next_of_type(&other, "event");
    other.current().unsubscribe(&subscribed.subscription).unwrap();
    std::fs::rename(&moved_aside, &path).unwrap();
    let second = other.at(&path.to_string_lossy()).append_message(&user("two")).unwrap().entry_id;
    let third = stays.current().append_message(&user("three")).unwrap().entry_id;
    let entry = stays.current().get_entry(&third.to_string()).unwrap();
    assert_eq!(text(&entry.raw().get("entry").unwrap().to_json(), "parentId"), second.to_string());
}

#[test]
fn a_cursor_remembers_missing_sessions() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    let events = ["entry_appended", "session_deleted"];
    here.append_message(&user("start")).unwrap();
    let path = PathBuf::from(here.get_state().unwrap().session_file.unwrap());
    here.subscribe(Some(&events), None, Some("store")).unwrap();
    here.append_message(&user("one")).unwrap();
    let cursor = text(&next_of_type(&client, "event"), "cursor");
    let moved_aside = world.dir.path().join("aside.jsonl");
    std::fs::rename(&path, &moved_aside).unwrap();
    let after = text(&next_of_type(&client, "event"), "cursor");
    // A client that subscribes while the session is away, whether or not it saw the deletion, gets only what is new
    // once the session is back.
    let late: Vec<Client> = [cursor, after]
        .iter()
        .map(|cursor| {
            let late = world.client();
            late.current().subscribe(Some(&events), Some(cursor), Some("store")).unwrap();
            late
        })
        .collect();
    std::fs::rename(&moved_aside, &path).unwrap();
    thread::sleep(Duration::from_millis(300));
    SessionManager::open(&path).unwrap().append_message(draft::UserMessage::new("two", Timestamp::from_ms(1))).unwrap();
    for client in &late {
        assert!(next_of_type(client, "event").to_text().contains("two"));
        assert!(client.next_event(Duration::from_millis(200)).unwrap().is_none());
    }
    let refused = here.subscribe(Some(&["leaf_moved"]), None, Some("store"));
    assert_eq!(code(refused), "INVALID_ARGUMENT");
}

#[test]
fn registering_again_replaces_the_hook() {
    let world = World::new(&Start::New);
    let (client, guard) = (world.client(), world.client());
    client.current().append_message(&user("x")).unwrap();
    let before = ["session_before_switch"];
    guard.current().hook_register(&before, Some(10_000)).unwrap();
    guard.current().hook_register(&before, Some(10_000)).unwrap();
    let answering = thread::spawn(move || {
        let request = next_of_type(&guard, "hook_request");
        guard.current().hook_response(&text(&request, "requestId"), None, None).unwrap();
        assert!(guard.next_event(Duration::from_millis(200)).unwrap().is_none());
        guard.current().hook_register(&[], None).unwrap();
        guard
    });
    assert!(!client.current().new_session(None, None).unwrap().cancelled);
    let guard = answering.join().unwrap();
    assert!(!client.current().new_session(None, None).unwrap().cancelled);
    assert!(guard.next_event(Duration::from_millis(200)).unwrap().is_none());
}

#[test]
fn slow_clients_receive_the_number_of_lost_events() {
    let world = World::new(&Start::New);
    let mut slow = {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let engine = Arc::clone(&world.engine);
        thread::spawn(move || engine.serve(theirs.try_clone().unwrap(), theirs));
        ours
    };
    let client = world.client();
    let here = client.current();
    let first = here.append_message(&user("one")).unwrap().entry_id.to_string();
    let second = here.append_message(&user("two")).unwrap().entry_id.to_string();
    slow.write_all(b"{\"type\":\"subscribe\",\"events\":[\"leaf_moved\"]}\n").unwrap();
    let mut reader = BufReader::new(slow.try_clone().unwrap());
    let mut output = String::new();
    reader.read_line(&mut output).unwrap();
    for _ in 0..2_500 {
        here.branch(&first).unwrap();
        here.branch(&second).unwrap();
    }
    // Large entries that were not subscribed to do not hide how many events were lost.
    for index in 0..2_500 {
        here.append_message(&user(&format!("{index} {}", "x".repeat(500)))).unwrap();
        here.branch(&first).unwrap();
        here.branch(&second).unwrap();
    }
    slow.shutdown(std::net::Shutdown::Write).unwrap();
    reader.read_to_string(&mut output).unwrap();
    let records: Vec<Json> = output.lines().map(json).filter(|record| text(record, "type") == "event").collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let lost = |record: &Json| record.raw().get("lost").and_then(Raw::as_number).unwrap_or_default() as usize;
    let n_lost: usize = records.iter().map(lost).sum();
    assert_eq!(records.len() + n_lost, 10_000);
    assert!(n_lost > 0);
}

#[test]
fn entries_of_other_programs_are_sent_in_file_order() {
    let world = World::new(&Start::New);
    let client = world.client();
    let here = client.current();
    here.append_message(&user("ours")).unwrap();
    let path = here.get_state().unwrap().session_file.unwrap();
    here.subscribe(None, None, None).unwrap();
    let mut other = SessionManager::open(Path::new(&path)).unwrap();
    for index in 0..20 {
        other.append_message(draft::UserMessage::new(format!("theirs {index}"), Timestamp::from_ms(1))).unwrap();
    }
    for index in 0..20 {
        let event = next_of_type(&client, "event");
        let event = event.raw().get("event").unwrap();
        assert_eq!(event.get("own").and_then(Raw::as_bool), Some(false));
        assert!(
            event.to_text().contains(&format!("theirs {index}\"")),
            "expected event {index}, got {}",
            event.to_text()
        );
    }
    // Our leaf stayed, so our entry diverges from theirs; the divergence is reported after the entry.
    here.append_message(&user("beside")).unwrap();
    let kinds: Vec<String> =
        (0..2).map(|_| text(&next_of_type(&client, "event").raw().get("event").unwrap().to_json(), "type")).collect();
    assert_eq!(kinds, ["entry_appended", "divergence"]);
    here.reset_leaf().unwrap();
    let moved = next_of_type(&client, "event");
    assert_eq!(text(&moved.raw().get("event").unwrap().to_json(), "type"), "leaf_moved");
}

#[test]
fn a_hook_can_cancel_and_supply_summaries() {
    let world = World::new(&Start::New);
    let (client, guard) = (world.client(), world.client());
    let here = client.current();
    let first = here.append_message(&user(&"old ".repeat(50))).unwrap().entry_id.to_string();
    here.append_message(&answer(&"older ".repeat(50))).unwrap();
    let second = here.append_message(&user("new")).unwrap().entry_id.to_string();
    let events = ["session_before_fork", "session_before_compact", "session_before_tree", "session_before_switch"];
    guard.current().hook_register(&events, Some(10_000)).unwrap();
    let guarding = thread::spawn(move || {
        for result in [
            r#"{"cancel":true}"#,
            r#"{"cancel":true}"#,
            r#"{"cancel":true}"#,
            r#"{"compaction":{"summary":"SUPPLIED","tokensBefore":5}}"#,
            r#"{"summary":{"summary":"LEFT"},"label":"from the hook"}"#,
        ] {
            let request = next_of_type(&guard, "hook_request");
            // A hook client may read the session while it is being asked.
            guard.current().get_messages().unwrap();
            guard.current().hook_response(&text(&request, "requestId"), Some(&json(result)), None).unwrap();
        }
        guard
    });
    assert!(here.fork(&second).unwrap().cancelled);
    assert!(here.new_session(None, None).unwrap().cancelled);
    assert_eq!(code(here.compact(None)), "CANCELLED");
    let compacted = here.compact(None).unwrap();
    assert_eq!((compacted.summary.as_str(), compacted.tokens_before), ("SUPPLIED", 5.0));
    let navigated = here.navigate_tree(&first, Some(true), None, None, None).unwrap();
    assert!(navigated.summary_entry.unwrap().to_text().contains("LEFT"));
    let guard = guarding.join().unwrap();
    assert_eq!(code(guard.current().hook_response("h99", None, None)), "NOT_FOUND");
    drop(guard);
    // A client that has disconnected is not asked any more.
    assert!(!here.new_session(None, None).unwrap().cancelled);
}

#[test]
fn a_hook_without_an_answer_times_out() {
    let world = World::new(&Start::New);
    let (client, silent) = (world.client(), world.client());
    client.current().append_message(&user("x")).unwrap();
    silent.current().hook_register(&["session_before_switch"], Some(50)).unwrap();
    assert!(!client.current().new_session(None, None).unwrap().cancelled);
    let request = next_of_type(&silent, "hook_request");
    assert_eq!(text(&next_of_type(&silent, "hook_cancel"), "requestId"), text(&request, "requestId"));
}

#[test]
fn a_hook_that_fails_is_reported_and_changes_nothing() {
    let world = World::new(&Start::New);
    let (client, failing) = (world.client(), world.client());
    client.current().append_message(&user("x")).unwrap();
    failing.current().hook_register(&["session_before_switch"], None).unwrap();
    let answering = thread::spawn(move || {
        let request = next_of_type(&failing, "hook_request");
        failing.current().hook_response(&text(&request, "requestId"), None, Some("out of ink")).unwrap();
    });
    assert!(!client.current().new_session(None, None).unwrap().cancelled);
    assert_eq!(text(&next_of_type(&client, "extension_error"), "error"), "out of ink");
    answering.join().unwrap();
}

#[test]
fn many_clients_lose_nothing() {
    let world = World::new(&Start::New);
    let first = world.client();
    first.current().append_message(&user("start")).unwrap();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let client = world.client();
            thread::spawn(move || {
                for index in 0..50 {
                    let data = json(&format!("[{writer},{index}]"));
                    client.current().append_custom_entry("w", Some(&data)).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let entries = first.current().get_entries(None).unwrap();
    assert_eq!(n(&entries, "entries"), 401);
    // The entries form one chain, without branches.
    assert_eq!(n(&first.current().get_branch(None).unwrap(), "entries"), 401);
    let path = first.current().get_state().unwrap().session_file.unwrap();
    let session = SessionManager::open(Path::new(&path)).unwrap();
    assert_eq!(session.entry_count(), 401);
}

#[test]
fn a_session_started_with_an_id_has_that_id() {
    let world = World::new(&Start::WithId("tide-1".to_owned().into()));
    let client = world.client();
    client.current().append_message(&user("x")).unwrap();
    assert_eq!(client.current().get_state().unwrap().session_id, "tide-1");
    let sessions = Sessions::default().caching(None);
    let dir = world.dir.path().join("sessions");
    let error = sessions
        .clone()
        .with_session_dir(&dir)
        .create_with(world.dir.path(), &NewSession { id: Some("../x".into()), parent_session: None });
    assert!(error.is_err());
}
