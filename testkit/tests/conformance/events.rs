//! The events that extensions get and the effect of their answers, in a whole pi and in our host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sessile::branch::{ForkPosition, NavigateOptions};
use sessile::compaction::{CompactOptions, CompactionSettings};
use sessile::event::{EventKind, EventSet, Handlers, Outcome, Reply};
use sessile::json::Raw;
use sessile::{SessionHost, Sessions};
use sessile_testkit::compaction::CountingSummarizer;
use sessile_testkit::{Oracle, Replay, quoted};
use tempfile::TempDir;

const NOW_MS: i64 = 1_767_400_000_000;
const KEEP: u64 = 20;

/// The events that only we have.
const OURS: &[EventKind] = &[
    EventKind::SessionFork,
    EventKind::EntryAppended,
    EventKind::LeafMoved,
    EventKind::Divergence,
    EventKind::Recovered,
    EventKind::FileChanged,
    EventKind::FileGone,
    EventKind::WrittenUnlocked,
    EventKind::WrittenUnguarded,
];

/// The answers by handler and event.
type Answers = Arc<Mutex<BTreeMap<(String, String), Value>>>;

/// The events since the last step.
type RecordedEvents = Arc<Mutex<Vec<(String, String)>>>;

fn session_file(dir: &Path, name: &str) -> PathBuf {
    let cwd = quoted(dir.to_str().unwrap());
    let mut lines = vec![format!(
        r#"{{"type":"session","version":3,"id":"{name}","timestamp":"2026-01-02T03:04:05.000Z","cwd":{cwd}}}"#
    )];
    let mut parent = "null".to_owned();
    let mut add = |id: &str, rest: &str| {
        let (kind, rest) = rest.split_once(' ').unwrap();
        lines.push(format!(
            r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:06.000Z",{rest}}}"#
        ));
        parent = quoted(id);
    };
    add("00000001", r#"model_change "provider":"mock","modelId":"mock-1""#);
    add("00000002", r#"thinking_level_change "thinkingLevel":"off""#);
    for turn in 1..=4 {
        let answer = r#""api":"x","provider":"mock","model":"mock-1","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":2"#;
        add(
            &format!("000000{turn}0"),
            &format!(
                r#"message "message":{{"role":"user","content":[{{"type":"text","text":"question {turn}"}}],"timestamp":1}}"#
            ),
        );
        add(
            &format!("000000{turn}1"),
            &format!(
                r#"message "message":{{"role":"assistant","content":[{{"type":"text","text":"answer {turn}, at some length, so that it counts"}},{{"type":"toolCall","id":"c","name":"read","arguments":{{"path":"f{turn}"}}}}],{answer}}}"#
            ),
        );
    }
    let path = dir.join(format!("{name}.jsonl"));
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// Registers a handler that records events and returns the answers of the test.
fn register(handlers: &Handlers, name: &str, answers: &Answers, seen: &RecordedEvents) {
    let (name, answers, seen) = (name.to_owned(), Arc::clone(answers), Arc::clone(seen));
    handlers.on(EventSet::ALL, name.clone(), move |event, _| {
        if OURS.contains(&event.kind()) {
            return Ok(None);
        }
        seen.lock().unwrap().push((name.clone(), event.to_json().to_text().into_owned()));
        match answers.lock().unwrap().get(&(name.clone(), event.kind().name().to_owned())) {
            Some(Value::String(_)) => Err("on purpose".into()),
            Some(answer) => Ok(Reply::from_json(Raw::parse(answer.to_string().as_bytes()).unwrap())?),
            None => Ok(None),
        }
    });
}

/// Performs a step with our host. Returns whether it was done.
fn take(host: &mut SessionHost, answers: &Answers, summarizer: &CountingSummarizer, step: &Value) -> bool {
    let (name, argument) = step.as_object().unwrap().iter().next().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match name.as_str() {
        "name" => host.set_session_name(argument.as_str().unwrap()).is_ok(),
        "compact" => {
            let settings =
                CompactionSettings { enabled: false, keep_recent_tokens: KEEP, ..CompactionSettings::default() };
            let requested =
                CompactOptions { settings, custom_instructions: text(argument), ..CompactOptions::default() };
            matches!(
                host.session_mut().compact(requested, summarizer, &mut |_| {}),
                Ok(sessile::compaction::Compacted::Done(_))
            )
        }
        "navigate" => {
            let options = &argument[1];
            let requested = NavigateOptions {
                custom_instructions: text(&options["customInstructions"]),
                replace_instructions: options["replaceInstructions"] == true,
                label: text(&options["label"]),
                ..NavigateOptions::default()
            };
            let target = argument[0].as_str().unwrap();
            let wanted = (options["summarize"] == true).then_some(summarizer as &dyn sessile::compaction::Summarizer);
            matches!(host.session_mut().navigate(target, requested, wanted, &mut |_| {}), Ok(Outcome::Done(_)))
        }
        "newSession" => host.new_session(sessile::NewSession::default()).is_ok_and(|outcome| !outcome.is_cancelled()),
        "switchSession" => host.switch_session(argument.as_str().unwrap()).is_ok_and(|it| !it.is_cancelled()),
        "fork" => {
            let position = if argument[1] == "at" { ForkPosition::At } else { ForkPosition::Before };
            host.fork(argument[0].as_str().unwrap(), position).is_ok_and(|outcome| !outcome.is_cancelled())
        }
        "answers" => {
            let handler = argument[0].as_str().unwrap();
            let mut answers = answers.lock().unwrap();
            answers.retain(|(by, _), _| by != handler);
            for (event, answer) in argument[1].as_object().unwrap() {
                answers.insert((handler.to_owned(), event.clone()), answer.clone());
            }
            true
        }
        other => panic!("{other}"),
    }
}

/// Gives directories, new files and new ids the same names on both sides.
struct Names {
    dir: String,
    known: BTreeMap<String, String>,
}

impl Names {
    fn of(&mut self, text: &str) -> String {
        let text = text.replace(&self.dir, "DIR").replace(r#","generator":"model""#, "");
        let mut words: Vec<String> = Vec::new();
        for word in text.split('"') {
            let is_new_id =
                word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && !word.starts_with("0000");
            let is_new_file = word.starts_with("DIR/20");
            // Only the text before the causes is equal.
            let failure = word.strip_prefix("Compaction failed: ").filter(|why| !why.starts_with("Already"));
            let n_known = self.known.len();
            words.push(if is_new_id || is_new_file {
                self.known.entry(word.to_owned()).or_insert_with(|| format!("new {n_known}")).clone()
            } else if failure.is_some() {
                "Compaction failed".to_owned()
            } else {
                word.to_owned()
            });
        }
        words.join("\"")
    }
}

fn compare(steps: &[Value]) {
    let home = TempDir::new().unwrap();
    let (theirs, ours) = (home.path().join("theirs"), home.path().join("ours"));
    for dir in [&theirs, &ours] {
        std::fs::create_dir(dir).unwrap();
        session_file(dir, "first");
        session_file(dir, "second");
        std::fs::write(dir.join("list"), "a shopping list\n").unwrap();
    }
    let with_directory = |dir: &Path| -> Vec<Value> {
        let text = Value::from(steps.to_vec()).to_string().replace("DIR", dir.to_str().unwrap());
        serde_json::from_str(&text).unwrap()
    };
    let mut oracle = Oracle::start(home.path());
    oracle.ask(format!(r#"{{"cmd":"reset","clock":{NOW_MS},"idSeed":1}}"#));
    let request = json!({
        "cmd": "host", "file": theirs.join("first.jsonl"), "dir": theirs, "keepRecentTokens": KEEP,
        "extensions": ["one", "two"], "steps": with_directory(&theirs),
    });
    let answer = oracle.ask(request.to_string());
    assert_eq!(answer.error(), None);
    let reported = answer.value().as_array().unwrap();

    let (handlers, answers, seen) = (Handlers::new(), Answers::default(), RecordedEvents::default());
    register(&handlers, "one", &answers, &seen);
    register(&handlers, "two", &answers, &seen);
    let environment = Replay::new(NOW_MS, 5);
    environment.set_current_dir(&ours);
    let sessions = Sessions::new(environment).with_handlers(handlers);
    let session = sessions.open(ours.join("first.jsonl")).unwrap();
    let mut host = SessionHost::new(sessions, session);
    let summarizer = CountingSummarizer::default();
    let mut their_names = Names { dir: theirs.to_str().unwrap().to_owned(), known: BTreeMap::new() };
    let mut our_names = Names { dir: ours.to_str().unwrap().to_owned(), known: BTreeMap::new() };
    let mut check = |what: &str, reported: &Value| {
        let theirs: Vec<(String, String)> = (reported["seen"].as_array().unwrap().iter())
            .map(|seen| (seen["by"].as_str().unwrap().to_owned(), their_names.of(seen["event"].as_str().unwrap())))
            .collect();
        let ours: Vec<(String, String)> = std::mem::take(&mut *seen.lock().unwrap())
            .into_iter()
            .map(|(by, event)| (by, our_names.of(&event)))
            .collect();
        assert_eq!(theirs, ours, "{what}");
    };
    host.start();
    check("at the start", &reported[0]);
    for (step, reported) in with_directory(&ours).iter().zip(&reported[1..]) {
        let was_done = take(&mut host, &answers, &summarizer, step);
        let value = reported["value"].as_str().unwrap_or(r#"{"cancelled":true}"#);
        assert_eq!(was_done, !value.contains(r#""cancelled":true"#), "{step}: {reported}");
        check(&step.to_string(), reported);
    }
    host.shutdown();
    check("at the end", reported.last().unwrap());
}

#[test]
fn both_send_extensions_the_same_events_in_the_same_order() {
    compare(&[
        json!({"name": " a\nb "}),
        json!({"navigate": ["00000021", {}]}),
        json!({"navigate": ["00000021", {}]}),
        json!({"navigate": ["00000040", {"label": "here"}]}),
        json!({"navigate": ["nobody", {}]}),
        json!({"navigate": ["00000020", {"summarize": true, "label": "sum", "customInstructions": "i"}]}),
        json!({"navigate": ["00000041", {"summarize": true, "customInstructions": "i", "replaceInstructions": true}]}),
        json!({"compact": "focus"}),
        json!({"compact": null}),
        json!({"switchSession": "DIR/second.jsonl"}),
        json!({"switchSession": "DIR/list"}),
        json!({"fork": ["nobody", "before"]}),
        json!({"fork": ["00000021", "before"]}),
        json!({"fork": ["00000020", "before"]}),
        json!({"switchSession": "DIR/second.jsonl"}),
        json!({"fork": ["00000021", "at"]}),
        json!({"newSession": null}),
        json!({"switchSession": "DIR/yet-to-be.jsonl"}),
    ]);
}

#[test]
fn both_accept_the_same_replies() {
    compare(&[
        json!({"answers": ["one", {"session_before_fork": {"cancel": true}, "session_before_switch": {"cancel": true},
            "session_before_tree": {"cancel": true}, "session_before_compact": {"cancel": true}}]}),
        json!({"fork": ["nobody", "before"]}),
        json!({"newSession": null}),
        json!({"switchSession": "DIR/list"}),
        json!({"navigate": ["00000020", {"summarize": true}]}),
        json!({"compact": null}),
        json!({"answers": ["one", {"session_before_tree": {"summary": {"summary": "one"}, "label": "one"}}]}),
        json!({"answers": ["two", {"session_before_tree": {"summary": {"summary": "two", "details": {"x": 1}}}}]}),
        json!({"navigate": ["00000020", {"summarize": true}]}),
        json!({"navigate": ["00000041", {}]}),
        json!({"answers": ["two", {"session_before_tree": "throw", "session_before_compact": "throw", "session_start": "throw"}]}),
        json!({"navigate": ["00000030", {"summarize": true, "label": "given"}]}),
        json!({"navigate": ["00000041", {"label": "given"}]}),
        json!({"answers": ["one", {"session_before_compact":
            {"compaction": {"summary": "theirs", "firstKeptEntryId": "00000031", "tokensBefore": 7, "details": {"y": 2}}}}]}),
        json!({"compact": null}),
        json!({"newSession": null}),
    ]);
}
