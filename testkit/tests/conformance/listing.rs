//! Finding and listing sessions: rows 69 to 76, 83 and 84.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use sessile::{Cancel, ListOptions, Progress, SessionError};
use sessile_testkit::{SplitMix, Stage, statically};

use crate::lines::{HEADER, assistant, entry, file, header_with, message, user, user_saying};

/// Returns the header of a session with this id.
fn header(id: &str) -> String {
    HEADER.replace("s1", id)
}

/// Returns a user message with its own timestamp, in milliseconds.
fn user_at(id: &str, time: &str) -> String {
    message(id, None, 1, &format!(r#"{{"role":"user","content":"x","timestamp":{time}}}"#))
}

/// Sets the modification time of a file, in seconds.
fn touch(stage: &Stage, name: &str, seconds: u64) {
    let set = |path: &Path| {
        File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    };
    stage.on_each_side(name, set);
}

fn ids(list: &[Value]) -> Vec<&str> {
    list.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// Continues the most recent session of a directory in both; `None` means the default one.
fn continue_recent(stage: &mut Stage, cwd: &str, dir: Option<&str>) {
    let args = [Some(sessile_testkit::quoted(cwd)), dir.map(|dir| stage.pi_argument(dir))];
    let args: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
    let dir = dir.map(|dir| stage.our_path(dir));
    stage
        .both(&statically("continueRecent", &args), |sessions| {
            sessions.clone().with_session_dir(dir.unwrap_or_default()).continue_recent(cwd)
        })
        .done();
}

#[test]
fn row_69_a_chosen_directory_is_filtered_by_working_directory() {
    let mut stage = Stage::new();
    for (name, cwd) in [("a", "\"/tmp\""), ("b", "\"/var\""), ("c", "\"\""), ("d", "\"/tmp/../tmp/\""), ("e", "5")] {
        let header = header_with("\"/tmp\"", cwd).replace("s1", name);
        stage.write(&format!("s/{name}.jsonl"), file(&[header]));
    }
    let list = stage.same_list("/tmp", Some("s"));
    assert_eq!(ids(&list), ["d", "a"]);
    // Without a working directory there is nothing to filter by.
    let pi = stage.pi(&statically("listAll", &[&stage.pi_argument("s")]));
    let dir = stage.our_path("s");
    let ours = stage.sessions().clone().with_session_dir(&dir).list_all().unwrap();
    assert_eq!(ids(pi.value().as_array().unwrap()), ours.iter().map(|row| row.id.as_str()).collect::<Vec<_>>());
    assert_eq!(ours.len(), 5);
    for (id, is_found) in [("a", true), ("b", false), ("c", false), ("d", true)] {
        let request = statically("findById", &["\"/tmp\"", &format!("\"{id}\""), &stage.pi_argument("s")]);
        let pi = stage.pi(&request);
        let ours = stage.sessions().clone().with_session_dir(&dir).find_by_id("/tmp", id);
        assert_eq!((pi.text().is_some(), ours.is_some()), (is_found, is_found), "{id}");
    }
    continue_recent(&mut stage, "/var", Some("s"));
    stage.both_see("sessionId", "\"b\"");
}

#[test]
fn row_70_pi_mixes_projects_whose_directories_share_a_name() {
    let mut stage = Stage::new();
    let content = file(&[&header_with("\"/tmp\"", "\"/a/b-c\""), &user("q", None)]);
    stage.write(".pi/agent/sessions/--a-b-c--/x.jsonl", content);
    let (pi, ours) = stage.lists("/a-b/c", None);
    assert_eq!((pi.len(), ours.len()), (1, 0));
    continue_recent(&mut stage, "/a-b/c", None);
    assert_eq!((stage.pi_sees("branch").as_deref(), stage.we_see("branch").as_str()), (Ok("[\"q\"]"), "[]"));
    stage.both_see("cwd", "\"/a-b/c\"");
    // For its own project the session is there in both.
    assert_eq!(ids(&stage.same_list("/a/b-c", None)), ["s1"]);
    continue_recent(&mut stage, "/a/b-c", None);
    stage.both_see("sessionId", "\"s1\"");
    stage.assert_same();
}

#[test]
fn row_71_continuing_goes_by_the_time_of_the_file() {
    let mut stage = Stage::new();
    stage.write("s/a.jsonl", file(&[&header("a"), &user_at("x", "9000000000000")]));
    stage.write("s/b.jsonl", file(&[&header("b")]));
    touch(&stage, "s/a.jsonl", 1000);
    touch(&stage, "s/b.jsonl", 2000);
    continue_recent(&mut stage, "/tmp", Some("s"));
    stage.both_see("sessionId", "\"b\"");
    stage.assert_same();
    // Lists are ordered by the messages.
    assert_eq!(ids(&stage.same_list("/tmp", Some("s"))), ["a", "b"]);
}

#[test]
fn row_72_pi_starts_a_new_session_because_of_a_dangling_link() {
    let mut stage = Stage::new();
    stage.write("s/a.jsonl", file(&[&header("a")]));
    stage.on_each_side("s/z.jsonl", |path| symlink("/nope/x", path).unwrap());
    continue_recent(&mut stage, "/tmp", Some("s"));
    assert_ne!(stage.pi_sees("sessionId").as_deref(), Ok("\"a\""));
    assert_eq!(stage.we_see("sessionId"), "\"a\"");
}

#[test]
fn row_73_pi_lists_a_header_without_id() {
    let mut stage = Stage::new();
    stage.write("s/a.jsonl", file(&[header("a")]));
    stage.write("s/b.jsonl", "junk\n");
    stage.write("s/c.jsonl", "");
    stage.on_each_side("s/d.jsonl", |path| std::fs::create_dir(path).unwrap());
    stage.write("s/g.jsonl", file(&[HEADER.replace("\"id\":\"s1\",", "")]));
    stage.write("s/h.JSONL", file(&[HEADER]));
    stage.write("s/sub/i.jsonl", file(&[HEADER]));
    let (mut pi, ours) = stage.lists("/tmp", Some("s"));
    assert_eq!(ids(&ours), ["a"]);
    let without_id = pi.remove(0);
    assert_eq!((&without_id["id"], pi), (&Value::Null, ours));
    continue_recent(&mut stage, "/tmp", Some("s"));
    stage.both_see("sessionId", "\"a\"");
}

#[test]
fn row_74_a_message_without_a_sensible_time_leaves_that_of_the_header() {
    const HEADER_TIME: &str = "2025-01-01T00:00:00.000Z";
    const FILE_TIME: &str = "2023-11-14T22:13:20.000Z";
    let bare = |time: &str| message("a", None, 1, &format!(r#"{{"role":"user","content":"x"{time}}}"#));
    let tool = r#"{"role":"toolResult","content":[],"timestamp":1746403200000}"#;
    for (name, header, entries, modified) in [
        ("zero", HEADER.to_owned(), vec![user_at("a", "0")], HEADER_TIME),
        ("negative", HEADER.to_owned(), vec![user_at("a", "-5")], HEADER_TIME),
        ("none", HEADER.to_owned(), vec![], HEADER_TIME),
        ("tool", HEADER.to_owned(), vec![message("a", None, 1, tool)], HEADER_TIME),
        ("entry", HEADER.to_owned(), vec![bare("")], "2025-01-01T00:00:01.000Z"),
        ("text", HEADER.to_owned(), vec![bare(",\"timestamp\":\"1800000000000\"")], "2025-01-01T00:00:01.000Z"),
        (
            "max",
            HEADER.to_owned(),
            vec![user_at("a", "1800000000000"), user_at("b", "1750000000000")],
            "2027-01-15T08:00:00.000Z",
        ),
        ("odd", header_with("\"2025-01-01T00:00:00.000Z\"", "\"zzz\""), vec![], FILE_TIME),
        ("number", header_with("\"2025-01-01T00:00:00.000Z\"", "1735689600000"), vec![], FILE_TIME),
        ("absent", header_with("\"timestamp\":\"2025-01-01T00:00:00.000Z\",", ""), vec![], FILE_TIME),
    ] {
        let mut stage = Stage::new();
        stage.write("s/f.jsonl", file(&[vec![header], entries].concat()));
        touch(&stage, "s/f.jsonl", 1_700_000_000);
        let list = stage.same_list("/tmp", Some("s"));
        assert_eq!(list[0]["modified"], modified, "{name}");
    }
}

#[test]
fn row_75_tool_results_do_not_make_a_session_recent() {
    let mut stage = Stage::new();
    let header = HEADER.replace('}', ",\"parentSession\":\"/par.jsonl\"}");
    let blocks = r#"{"role":"user","content":[{"type":"text","text":"t1"},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"t2"}],"timestamp":1735689700000}"#;
    let tool = r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"toolout"}],"isError":false,"timestamp":1999999999999}"#;
    stage.write(
        "s/f.jsonl",
        file(&[
            &header,
            &assistant("z", None),
            &message("a", "z", 1, blocks),
            &message("tr", "a", 3, tool),
            &user_saying("b", "tr", "later"),
            &entry("session_info", "i", "b", 4, "\"name\":\" Nm \""),
        ]),
    );
    let list = stage.same_list("/tmp", Some("s"));
    let expected = json!({
        "path": stage.pi_path("s/f.jsonl").to_string_lossy(),
        "id": "s1",
        "cwd": "/tmp",
        "name": "Nm",
        "parentSessionPath": "/par.jsonl",
        "created": "2025-01-01T00:00:00.000Z",
        "modified": "2025-01-01T00:01:40.000Z",
        "messageCount": 4,
        "firstMessage": "t1 t2",
        "allMessagesText": "z t1 t2 later",
    });
    assert_eq!(list, [expected]);
}

#[test]
fn row_76_progress_brings_parts_of_the_list() {
    let mut stage = Stage::new();
    for place in 0..25 {
        let cwd = if place % 2 == 1 { "\"/tmp\"" } else { "\"/var\"" };
        let header = header_with("\"/tmp\"", cwd).replace("s1", &format!("x{place}"));
        stage.write(&format!("s/f{place:02}.jsonl"), file(&[header]));
    }
    let request = statically("list", &["\"/tmp\"", &stage.pi_argument("s"), r#"{"$progress":true}"#]);
    let pi = stage.pi(&request);
    let calls = pi.0["calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 25);
    let pi_parts: Vec<_> = calls.iter().filter(|it| !it[2].is_null()).map(|it| it[0].as_u64().unwrap()).collect();
    let mut our_parts = Vec::new();
    let mut n_calls = 0;
    let mut progress = |progress: Progress<'_>| {
        n_calls += 1;
        assert_eq!((progress.loaded, progress.total), (n_calls, 25));
        if progress.partial.is_some() {
            our_parts.push(progress.loaded as u64);
        }
    };
    let dir = stage.our_path("s");
    let mut options = ListOptions { progress: Some(&mut progress), ..ListOptions::default() };
    let ours = stage.sessions().clone().with_session_dir(&dir).list_with("/tmp", &mut options).unwrap();
    assert_eq!(pi_parts, [1, 10, 20, 25]);
    assert_eq!(our_parts, [1, 10, 20, 25]);
    assert_eq!(ids(pi.value().as_array().unwrap()), ours.iter().map(|row| row.id.as_str()).collect::<Vec<_>>());
    stage.same_list("/tmp", Some("s"));
}

#[test]
fn row_83_pi_lists_no_message_with_a_raw_cr_inside() {
    let mut stage = Stage::new();
    stage.start(file(&[HEADER, &user("a", None).replace("\"id\"", "\r\"id\"")]));
    stage.both_see("count", "1");
    stage.assert_same();
    let (pi, ours) = stage.lists("/tmp", Some("s"));
    assert_eq!((&pi[0]["messageCount"], &ours[0]["messageCount"]), (&json!(0), &json!(1)));
}

#[test]
fn row_84_pi_lists_two_objects_of_one_malformed_line() {
    let mut stage = Stage::new();
    stage.start(file(&[HEADER, &format!("{}\r{}", user("a", None), assistant("b", "a"))]));
    stage.both_see("count", "0");
    stage.assert_same();
    let (pi, ours) = stage.lists("/tmp", Some("s"));
    assert_eq!((&pi[0]["messageCount"], &ours[0]["messageCount"]), (&json!(2), &json!(0)));
}

#[test]
fn equal_times_are_listed_by_descending_name() {
    let mut stage = Stage::new();
    for (name, time) in [("a", 3), ("b", 1), ("c", 2), ("d", 2)] {
        let content = file(&[&header(name), &user_at("x", &format!("{time}000000000000"))]);
        stage.write(&format!("s/{name}.jsonl"), content);
    }
    assert_eq!(ids(&stage.same_list("/tmp", Some("s"))), ["a", "d", "c", "b"]);
}

#[test]
fn of_equal_session_ids_the_first_name_is_found() {
    let mut stage = Stage::new();
    for name in ["b", "a"] {
        stage.write(&format!("s/{name}.jsonl"), file(&[header("dup")]));
    }
    let dir = stage.our_path("s");
    for (id, found) in [("dup", Some("s/a.jsonl")), ("du", None)] {
        let pi = stage.pi(&statically("findById", &["\"/tmp\"", &format!("\"{id}\""), &stage.pi_argument("s")]));
        assert_eq!(pi.text().map(str::to_owned), found.map(|name| stage.pi_argument(name)));
        assert_eq!(
            stage.sessions().clone().with_session_dir(&dir).find_by_id("/tmp", id),
            found.map(|name| stage.our_path(name))
        );
    }
}

#[test]
fn a_missing_directory_has_no_sessions_and_is_not_made() {
    let mut stage = Stage::new();
    assert_eq!(stage.same_list("/tmp", Some("nope")), [Value::Null; 0]);
    assert!(!stage.pi_path("nope").exists() && !stage.our_path("nope").exists());
    continue_recent(&mut stage, "/tmp", Some("c"));
    stage.assert_same();
    assert!(stage.pi_path("c").exists() && stage.our_path("c").exists());
}

#[test]
fn all_sessions_are_those_one_level_below_the_root() {
    let mut stage = Stage::new();
    for (name, id) in [
        (".pi/agent/sessions/d1/a.jsonl", "a"),
        (".pi/agent/sessions/d2/deep/b.jsonl", "b"),
        (".pi/agent/sessions/root.jsonl", "r"),
        ("other/c.jsonl", "c"),
    ] {
        stage.write(name, file(&[header(id)]));
    }
    for other in [stage.pi_path(""), stage.our_path("")] {
        symlink(other.join("other"), other.join(".pi/agent/sessions/link")).unwrap();
    }
    let pi = stage.pi(&statically("listAll", &[]));
    let mut pi: Vec<_> = ids(pi.value().as_array().unwrap()).into_iter().map(str::to_owned).collect();
    pi.sort();
    let ours = stage.sessions().list_all().unwrap();
    let mut ours: Vec<_> = ours.into_iter().map(|row| row.id).collect();
    ours.sort();
    assert_eq!(pi, ["a", "c"]);
    assert_eq!(ours, ["a", "c"]);
}

#[test]
fn a_list_can_be_stopped() {
    let mut stage = Stage::new();
    stage.write("s/a.jsonl", file(&[HEADER]));
    let args = ["\"/tmp\"", &stage.pi_argument("s"), r#"{"$undefined":true}"#, r#"{"$aborted":true}"#];
    let pi = stage.pi(&statically("list", &args));
    assert!(pi.error().unwrap().starts_with("AbortError"), "{pi:?}");
    let cancel = Cancel::default();
    cancel.cancel();
    let mut options = ListOptions { cancel, ..ListOptions::default() };
    let dir = stage.our_path("s");
    let ours = stage.sessions().clone().with_session_dir(&dir).list_with("/tmp", &mut options).unwrap_err();
    assert!(matches!(ours, SessionError::Cancelled), "{ours}");
}

#[test]
fn pi_hides_a_session_because_of_one_odd_entry() {
    for odd in [
        message("a", None, 1, r#"{"role":"user","content":{"a":1}}"#),
        message("a", None, 1, r#"{"role":"user","content":[null,{"type":"text","text":"t"}]}"#),
        entry("session_info", "i", None, 4, "\"name\":5"),
    ] {
        let mut stage = Stage::new();
        stage.write("s/f.jsonl", file(&[HEADER, &odd, &user("b", None)]));
        let (pi, ours) = stage.lists("/tmp", Some("s"));
        assert_eq!((pi.len(), ours.len()), (0, 1), "{odd}");
    }
}

#[test]
fn texts_of_a_list_are_those_of_pi() {
    let mut stage = Stage::new();
    let without_text = message("d", "c", 1, r#"{"role":"user","content":[{"type":"text"}],"timestamp":1}"#);
    stage.write(
        "s/f.jsonl",
        file(&[
            HEADER,
            &user_saying("a", None, ""),
            &assistant("b", "a"),
            &user_saying("c", "b", "  first real "),
            &without_text,
            "123",
            &entry("session_info", "i", "d", 4, "\"name\":\"A\""),
            &entry("session_info", "j", "i", 4, "\"name\":\"  \""),
        ]),
    );
    let list = stage.same_list("/tmp", Some("s"));
    assert_eq!(list[0]["firstMessage"], "  first real ");
}

/// Makes random changes to a store as pi leaves it: the lists from the catalogue, from a scan and from pi are equal.
#[test]
fn a_catalogue_that_is_kept_says_what_pi_says() {
    let mut random = SplitMix::new(11);
    let mut stage = Stage::new();
    for step in 0..60 {
        let name = format!("s/{}.jsonl", random.below(5));
        let cwd = random.pick(&["\"/tmp\"", "\"/var\""]);
        let header = header_with("\"/tmp\"", cwd).replace("s1", &format!("x{step}"));
        let line = match random.below(4) {
            0 => user_at("u", &format!("17000000{:02}000", random.below(100))),
            1 => entry("session_info", "i", None, 4, &format!("\"name\":\"name {step}\"")),
            2 => assistant("b", "u"),
            _ => user_saying("c", "u", &format!("said at {step}")),
        };
        let old = stage.our_bytes(&name).map(|bytes| String::from_utf8(bytes).unwrap());
        match (random.below(8), old) {
            (0, Some(_)) => stage.on_each_side(&name, |path| std::fs::remove_file(path).unwrap()),
            (1, _) | (_, None) => stage.write(&name, file(&[&header, &line])),
            (_, Some(old)) => stage.write(&name, old + &file(&[line])),
        }
        for cwd in ["/tmp", "/var"] {
            stage.same_list(cwd, Some("s"));
        }
    }
}
