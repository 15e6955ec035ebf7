//! Answers have the shapes that the catalogue describes, and the bytes that clients know.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

use sessile::compaction::{CompactOptions, Compacted, CompactionSettings, Prepared};
use sessile::date::Timestamp;
use sessile::format::info::SessionFacts;
use sessile::json::{JsText, Json, Raw};
use sessile::list::{Copies, SessionInfo};
use sessile::operations::{Deletion, TrashedTo};
use sessile::sample::write_sample;
use sessile::search::{SearchOptions, SearchScope};
use sessile::text::query::Query;
use sessile::users::{AgentSign, SessionUser};
use sessile::{EntryId, NewSession, SessionManager, Sessions, draft};
use sessile_rpc::answer;
use sessile_rpc::catalogue::{Command, named_shapes};
use sessile_rpc::shape::Shape;
use sessile_summarize::Extractive;

/// Shapes of session files, which may have further members.
const STORED: [&str; 3] = ["Entry", "Message", "Header"];

fn named(name: &str) -> &'static Shape {
    named_shapes().find(|(known, _, _)| *known == name).map(|(_, shape, _)| shape).unwrap()
}

/// Checks that a value has a shape, and no member that the shape does not mention.
#[track_caller]
fn check_shape(shape: &Shape, value: &Json) {
    assert!(shape.admits(value.raw()), "{value} is not {shape:?}");
    assert_eq!(undescribed_members(shape, value.raw()), Vec::<String>::new(), "{value}");
}

/// Checks that a value is the data of a command.
#[track_caller]
fn check(command: &str, data: &Json) {
    check_shape(&Command::of(command).unwrap().data.unwrap(), data);
}

/// Returns the members that a shape does not mention.
fn undescribed_members(shape: &Shape, value: Raw<'_>) -> Vec<String> {
    match shape {
        Shape::Named(name) if STORED.contains(name) => Vec::new(),
        Shape::Named(name) => undescribed_members(named(name), value),
        Shape::List(shape) => value.items().flat_map(|item| undescribed_members(shape, item)).collect(),
        Shape::OneOf(shapes) => {
            let fitting = shapes.iter().find(|shape| shape.admits(value));
            fitting.map(|shape| undescribed_members(shape, value)).unwrap_or_default()
        }
        Shape::Object(fields) => value
            .members()
            .flat_map(|member| {
                let key = member.key.as_string().unwrap();
                match fields.iter().find(|field| field.name == key) {
                    Some(field) => undescribed_members(&field.shape, member.value),
                    None => vec![key],
                }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn parsed(text: &[u8]) -> Json {
    Json::parse(text).unwrap()
}

/// Checks the answers about one session.
fn check_session(session: &SessionManager) {
    let messages = parsed(&answer::messages(session).unwrap());
    check("get_messages", &messages);
    let context = session.build_session_context().unwrap();
    let written: Vec<Json> = messages.raw().get("messages").unwrap().items().map(Raw::to_json).collect();
    assert_eq!(written, context.messages);
    check("build_session_context", &context.to_json());
    let n_entries = session.outline().n_entries();
    for n_skipped in [0, 1, n_entries] {
        let entries = parsed(&answer::entries_and_leaf(session, n_skipped).unwrap());
        check("get_entries", &entries);
        let n_written = entries.raw().get("entries").unwrap().items().count();
        assert_eq!(n_written, n_entries.saturating_sub(n_skipped));
    }
    let tree = answer::tree_and_leaf(session).unwrap();
    check("get_tree", &parsed(&tree));
    let nodes = session.tree().unwrap();
    assert_eq!(String::from_utf8_lossy(&tree).matches(r#""children":["#).count(), nodes.len());
    let tally = session.tally().unwrap();
    for window in [None, Some(200_000)] {
        let usage = window.map(|window| session.context_usage(window).unwrap());
        check("get_session_stats", &answer::session_totals(session, &tally, usage.as_ref()));
    }
    check("get_fork_messages", &answer::fork_messages(&session.fork_messages().unwrap()));
    check("get_last_assistant_text", &answer::last_answer(session.last_assistant_text().unwrap().as_ref()));
    check("get_branch", &answer::entries(&session.branch_path().unwrap()));
    check("get_header", &answer::header(session.header()));
    let settings = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    if let Prepared::Ready(prepared) = session.prepare_compaction(&settings).unwrap() {
        let history = session.messages_of(&prepared.history).unwrap();
        let prefix = session.messages_of(&prepared.turn_prefix).unwrap();
        check("prepare_compaction", &answer::preparation(&prepared, (&history, &prefix), &settings));
    }
    check("family", &answer::lone_family(session, true));
}

#[test]
fn answers_about_sessions_have_their_shapes() {
    let directory = tempfile::tempdir().unwrap();
    let sample = write_sample(directory.path()).unwrap();
    let sessions = sample.sessions().read_only();
    let rows = sessions.list_all().unwrap();
    check("list_sessions", &answer::sessions(&rows, &Copies::among(&rows)));
    for row in &rows {
        check_session(&sessions.open(&row.path).unwrap());
        let family = sessions.family_of(&rows, &row.path).unwrap();
        check("family", &answer::family(&family, &rows));
        check("verify", &answer::findings(&sessions.verify(&row.path).unwrap().findings));
    }
    let options = SearchOptions { scope: SearchScope::All, limit: 20, ..SearchOptions::default() };
    let results = sessions.search(&Query::parse("the").unwrap(), &options).unwrap();
    assert!(!results.hits.is_empty());
    check("search", &answer::search_result(&results));
    check_session(&Sessions::default().in_memory("/proj/x", NewSession::default()).unwrap());
}

#[test]
fn damage_has_its_shape() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    std::fs::write(&path, "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\nnonsense\n").unwrap();
    let report = Sessions::default().caching(None).verify(&path).unwrap();
    assert!(!report.findings.is_empty());
    check("verify", &answer::findings(&report.findings));
    let findings = answer::report(&report).raw().get("findings").unwrap().to_json();
    assert_eq!(answer::findings(&report.findings).raw().get("findings").unwrap().to_json(), findings);
}

#[test]
fn answers_to_changes_have_their_shapes() {
    let sessions = Sessions::default().caching(None);
    let mut session = sessions.in_memory("/proj/x", NewSession::default()).unwrap();
    let first = session.append_message(draft::UserMessage::new("one", Timestamp::from_ms(1))).unwrap();
    session.append_message(draft::AssistantMessage::new("p", "m", "two", Timestamp::from_ms(2))).unwrap();
    let durable = session.last_acknowledgement().unwrap().durable;
    check_shape(named("Written"), &answer::written(&first, None, durable));
    check_shape(named("Written"), &answer::written(&first, Some(&first), durable));
    check("branch", &answer::leaf(Some(&first)));
    check("reset_leaf", &answer::leaf(None));
    check("get_entry", &answer::entry(session.entry(&first).unwrap().as_ref()));
    check("get_entry", &answer::entry(None));
    check("get_label", &answer::label(Some("a")));
    check("get_label", &answer::label(None));
    check("build_session_context", &answer::no_context());
    let model = answer::model("p", "m", &answer::ModelFacts::default());
    check("set_model", &model);
    check("get_available_models", &answer::models(Some(&model)));
    check("get_available_models", &answer::models(None));
    check("get_available_thinking_levels", &answer::thinking_levels(&["off", "high"]));
    check("cycle_thinking_level", &answer::thinking_level("high"));
    check("cycle_thinking_level", &Json::null());
    let facts = answer::ModelFacts { context_window: Some(200_000), ..answer::ModelFacts::default() };
    check_shape(named("Model"), &answer::model("p", "m", &facts));
    check("clear_queue", &answer::no_queues());
    check("get_commands", &answer::no_commands());
    check("new_session", &answer::cancelled(true));
    check("fork", &answer::forked("one", Some("/s".as_ref())));
    check("clone", &answer::cloned(None));
    check("create_branched_session", &answer::branched(Some("/s".as_ref()), &"s".into(), Some(&first)));
    check("delete_session", &answer::trashed(Some(&TrashedTo::Program)));
    check("restore_session", &answer::restored_path("/s".as_ref()));
    check("subscribe", &answer::subscribed("s1", "c"));
    for command in ["unsubscribe", "hook_register", "hook_response", "prepare_compaction"] {
        check(command, &answer::nothing());
    }
    let settings = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    let options = CompactOptions { settings, ..CompactOptions::default() };
    let Compacted::Done(report) = session.compact(options, &Extractive::default(), &mut |_| {}).unwrap() else {
        panic!("there is something to compact");
    };
    let written = answer::compaction_report(&report);
    check("compact", &written);
    let text = answer::compacted(&report).to_text().into_owned();
    let expected = written.to_text().replacen('{', &format!("{{\"entryId\":\"{}\",", report.entry_id), 1);
    assert_eq!(text, expected);
    let entry = session.entry(&report.entry_id).unwrap().unwrap().into_json();
    check("navigate_tree", &answer::navigated(false, None, Some(&entry), Some(&report.entry_id)));
    check_session(&session);
}

#[test]
fn rows_omit_absent_values() {
    let session = SessionInfo {
        path: "/s/a.jsonl".into(),
        id: "a".to_owned().into(),
        cwd: String::new(),
        name: None,
        is_archived: false,
        is_redacted: false,
        imported_from: None,
        member: None,
        project: None,
        repository: None,
        parent_session_path: None,
        created: None,
        modified: Timestamp::from_ms(0),
        message_count: 2,
        first_message: "hi\u{1b}".into(),
        all_messages_text: "hi ho".into(),
        size: 0,
        written: Timestamp::EPOCH,
        facts: SessionFacts::default(),
    };
    let row = |session: &SessionInfo, with_texts| answer::session_info(session, with_texts, &Copies::default());
    let bare = r#"{"path":"/s/a.jsonl","id":"a","cwd":"","created":null,"modified":"1970-01-01T00:00:00.000Z","messageCount":2,"firstMessage":"hi\u001b"}"#;
    assert_eq!(row(&session, false).to_text(), bare);
    check_shape(named("SessionRow"), &row(&session, false));
    let name = Json::parse(r#""\ud800""#).unwrap().raw().as_text().map(JsText::into_owned);
    let session = SessionInfo {
        name,
        is_archived: true,
        is_redacted: true,
        imported_from: Some("claude".to_owned()),
        member: None,
        project: None,
        repository: None,
        parent_session_path: Some("/p".into()),
        created: Some(Timestamp::from_ms(1)),
        ..session
    };
    let full = r#"{"path":"/s/a.jsonl","id":"a","cwd":"","name":"\ud800","parentSessionPath":"/p","created":"1970-01-01T00:00:00.001Z","modified":"1970-01-01T00:00:00.000Z","messageCount":2,"firstMessage":"hi\u001b","allMessagesText":"hi ho","archived":true,"redacted":true,"importedFrom":"claude"}"#;
    assert_eq!(row(&session, true).to_text(), full);
    check_shape(named("SessionRow"), &row(&session, false));
}

#[test]
fn hits_name_session_entry_and_offset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;
    let entry = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"a 𝄞 needle","timestamp":1}}"#;
    std::fs::write(&path, format!("{header}\n{entry}\n")).unwrap();
    let scope = SearchScope::Files(vec![path.clone()]);
    let options = SearchOptions { scope, limit: 9, ..SearchOptions::default() };
    let sessions = Sessions::default().caching(None);
    let mut results = sessions.search(&Query::parse("needle").unwrap(), &options).unwrap();
    let mut hit = results.hits.pop().unwrap();
    hit.score = 1.234_567;
    let expected = format!(
        r#"{{"sessionPath":"{}","entryId":"a","role":"user","score":1.2346,"excerpt":"a 𝄞 needle","ranges":[[5,11]],"type":"message","timestamp":"2025-01-01T00:00:01.000Z","offset":{}}}"#,
        path.display(),
        header.len() + 1
    );
    assert_eq!(answer::search_hit(&hit).to_text(), expected);
    check_shape(named("SearchHit"), &answer::search_hit(&hit));
}

#[test]
fn users_are_described() {
    let user = SessionUser::Agent { pid: 7, program: "pi".to_owned(), why: AgentSign::SameDirectory };
    let expected = r#"{"kind":"agent","pid":7,"program":"pi","why":"sameDirectory","message":"pi is running in its directory (process 7)"}"#;
    assert_eq!(answer::session_user(&user).to_text(), expected);
}

/// An operation is logged and answered with the same members.
#[test]
fn steps_are_answered_as_they_are_logged() {
    let directory = tempfile::tempdir().unwrap();
    let (state, store) = (directory.path().join("state"), directory.path().join("sessions"));
    let sessions = Sessions::default().caching(None).recording_operations(Some(state.clone())).ignoring_users();
    let mut session = sessions.clone().with_session_dir(&store).create(directory.path()).unwrap();
    let entry: EntryId = session.append_message(draft::UserMessage::new("one", Timestamp::from_ms(1))).unwrap();
    session.append_message(draft::AssistantMessage::new("p", "m", "two", Timestamp::from_ms(2))).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    drop(session);
    sessions.rename(&path, Some("a \u{1b} name"), false).unwrap();
    sessions.relabel(&path, &entry, Some("l"), false).unwrap();
    sessions.delete(std::slice::from_ref(&path), Deletion::Permanent, false).unwrap();
    let log = std::fs::read_to_string(state.join("operations.jsonl")).unwrap();
    let logged: Vec<String> = log
        .lines()
        .filter_map(|line| Some(parsed(line.as_bytes()).raw().get("does")?.to_text().into_owned()))
        .collect();
    let operations = sessions.operations().unwrap();
    let steps = operations.iter().flat_map(|operation| &operation.steps);
    let answered: Vec<String> = steps.map(|step| answer::step(step).to_text().into_owned()).collect();
    assert_eq!(answered.len(), 3);
    assert_eq!(answered, logged);
}
