//! The golden files of docs/format, from which other projects implement readers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessile::branch::BranchSummary;
use sessile::compaction::{Compaction, UsageNote};
use sessile::json::{Json, Raw, print};
use sessile::{EntryId, NewSession, SessionError, SessionManager};
use sessile_testkit::observe::observe;
use sessile_testkit::{SideBySide, call, static_call};

use crate::lines::n_lines;

/// The members of a golden file, with the name of each view.
const VIEWS: [(&str, &str); 10] = [
    ("header", "header"),
    ("entries", "entries"),
    ("leaf", "leaf"),
    ("path", "branch"),
    ("tree", "treeFlat"),
    ("labels", "labels"),
    ("name", "name"),
    ("contextEntries", "contextEntries"),
    ("context", "context"),
    ("llm", "llm"),
];

/// A session file and its expected views.
struct Golden {
    path: PathBuf,
    expected: Value,
}

impl Golden {
    /// Returns all golden files, by name.
    fn all() -> Vec<Self> {
        let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
        let mut paths: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        paths.sort();
        assert!(paths.len() >= 25, "only {} golden files", paths.len());
        let read =
            |path: PathBuf| Self { expected: parse(&fs::read_to_string(path.with_extension("json")).unwrap()), path };
        paths.into_iter().map(read).collect()
    }

    fn name(&self) -> String {
        self.path.file_stem().unwrap().to_string_lossy().into_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    /// Whether the ids of its entries are made up.
    fn is_version_1(&self) -> bool {
        self.name().contains("-v1")
    }

    /// Returns the view with the golden file's ids in place of those that the entries got when they were read.
    fn with_own_ids(&self, view: &str, entries: &str) -> Value {
        if !self.is_version_1() {
            return parse(view);
        }
        let mut view = view.to_owned();
        let (theirs, own) = (parse(entries), &self.expected["entries"]);
        for (their, own) in theirs.as_array().unwrap().iter().zip(own.as_array().unwrap()) {
            if let (Some(their), Some(own)) = (their["id"].as_str(), own["id"].as_str()) {
                view = view.replace(&format!("\"{their}\""), &format!("\"{own}\""));
            }
        }
        parse(&view)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/format")
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn pi_and_we_agree_with_the_golden_files() {
    for golden in Golden::all() {
        let (name, expected) = (golden.name(), &golden.expected);
        let mut sides = SideBySide::new();
        sides.write("s/f.jsonl", golden.bytes());
        let opened = sides.try_open("s/f.jsonl");
        if expected.get("error").is_some() {
            opened.refused();
            continue;
        }
        let pi_refuses = expected["pi"].get("error").is_some();
        if pi_refuses {
            opened.only_pi_refused();
        } else {
            opened.done();
        }
        let our_entries = sides.our_view("entries");
        for (member, view) in VIEWS {
            let ours = golden.with_own_ids(&sides.our_view(view), &our_entries);
            assert_eq!(ours, expected[member], "{name}: what we show as {member}");
        }
        if pi_refuses {
            continue;
        }
        let pi_entries = sides.pi_view("entries").unwrap();
        for (member, view) in VIEWS {
            let expected = expected["pi"].get(member).unwrap_or(&expected[member]);
            match sides.pi_view(view) {
                Ok(pi) => assert_eq!(golden.with_own_ids(&pi, &pi_entries), *expected, "{name}: pi's {member}"),
                Err(error) => assert_eq!(error.split(':').next(), expected["throws"].as_str(), "{name}: pi's {member}"),
            }
        }
    }
}

#[test]
fn ids_of_old_golden_files_follow_the_formula() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.jsonl");
    for golden in Golden::all().into_iter().filter(Golden::is_version_1) {
        fs::write(&path, golden.bytes()).unwrap();
        let seen = observe(&SessionManager::open(&path).unwrap());
        for (member, view) in VIEWS {
            let shown = parse(seen[view].as_deref().unwrap());
            assert_eq!(shown, golden.expected[member], "{}: {member}", golden.name());
        }
    }
}

/// Makes a call of pi's session manager with ours.
fn call_ours(ours: &mut SessionManager, method: &str, args: &[Raw<'_>]) -> Result<(), SessionError> {
    let json = |place: usize| args.get(place).map(|arg| arg.to_json());
    let optional_text = |place: usize| args.get(place).and_then(|arg| arg.as_string());
    let text = |place: usize| optional_text(place).unwrap();
    let flag = |place: usize| args.get(place).and_then(|arg| arg.as_bool());
    match method {
        "appendMessage" => drop(ours.append_message(json(0).unwrap())?),
        "appendThinkingLevelChange" => drop(ours.append_thinking_level_change(&text(0))?),
        "appendModelChange" => drop(ours.append_model_change(&text(0), &text(1))?),
        "appendUsage" => drop(ours.append_usage(&UsageNote {
            kind: text(0),
            provider: text(1),
            model: text(2),
            usage: json(3).unwrap(),
            note: optional_text(4),
        })?),
        "appendCompaction" => drop(ours.append_compaction(&Compaction {
            summary: text(0),
            first_kept_entry_id: optional_text(1).map(EntryId::from),
            tokens_before: args[2].as_number().unwrap(),
            details: json(3),
            from_hook: flag(4),
            usage: json(5),
        })?),
        "appendCustomEntry" => drop(ours.append_custom_entry(&text(0), json(1).as_ref())?),
        "appendCustomMessageEntry" => {
            let (content, is_shown) = (json(1).unwrap(), flag(2).unwrap());
            drop(ours.append_custom_message_entry(&text(0), content, is_shown, json(3).as_ref())?);
        }
        "appendSessionInfo" => drop(ours.append_session_info(&text(0))?),
        "appendLabelChange" => drop(ours.append_label_change(text(0), optional_text(1).as_deref())?),
        "appendContextEdit" => drop(ours.append_context_edit(text(0), &json(1).unwrap())?),
        "branchWithSummary" => {
            let summary = BranchSummary { summary: text(1), details: json(2), from_hook: flag(3), usage: json(4) };
            drop(ours.branch_with_summary(optional_text(0).map(EntryId::from).as_ref(), &summary)?);
        }
        "createBranchedSession" => drop(ours.create_branched_session(text(0))?),
        other => panic!("{other} is not a call of writing.json"),
    }
    Ok(())
}

/// Returns the lines of a file after its header, which names paths and a new session.
fn body(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    text.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn pi_and_we_write_the_golden_files() {
    let golden = |name: &str| fs::read(folder().join(name)).unwrap();
    let writing = Json::parse(String::from_utf8(golden("writing.json")).unwrap()).unwrap();
    let mut sides = SideBySide::new();
    let request = static_call("create", &["\"/proj/tide/\"", &sides.pi_argument("s"), r#"{"id":"tide-1"}"#]);
    let dir = sides.our_path("s");
    let options = NewSession { id: Some("tide-1".to_owned().into()), ..NewSession::default() };
    sides
        .both(&request, |sessions| sessions.clone().with_session_dir(&dir).create_with("/proj/tide/", &options))
        .done();
    for step in writing.raw().get("calls").unwrap().items() {
        let method = step.get("method").and_then(Raw::as_string).unwrap();
        if method == "createBranchedSession" {
            let expected = String::from_utf8(golden("77-written.jsonl")).unwrap();
            assert_eq!(String::from_utf8(sides.pi_session()).unwrap(), expected, "pi's file");
            assert_eq!(String::from_utf8(sides.our_session()).unwrap(), expected, "our file");
        }
        let args: Vec<Raw<'_>> = step.get("args").unwrap().items().collect();
        let texts: Vec<String> = args.iter().map(|arg| print(*arg).to_text().into_owned()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        sides.wait(1000);
        sides.change(&call(&method, &texts), |ours| call_ours(ours, &method, &args)).done();
        let expected = step.get("lines").unwrap().to_text().into_owned();
        assert_eq!(n_lines(&sides.pi_session()).to_string(), expected, "lines of pi after {method}");
        assert_eq!(n_lines(&sides.our_session()).to_string(), expected, "our lines after {method}");
    }
    let expected = body(&golden("78-copied-branch.jsonl"));
    assert_eq!(body(&sides.pi_session()), expected, "pi's branch");
    assert_eq!(body(&sides.our_session()), expected, "our branch");
}
