//! Finding and listing sessions: rows 69 to 76, 83 and 84.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use sessile::list::{ListOptions, Progress};
use sessile::{Cancel, SessionError};
use sessile_testkit::{SideBySide, SplitMix, static_call};

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
fn touch(sides: &SideBySide, name: &str, seconds: u64) {
    let set = |path: &Path| {
        File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    };
    sides.on_each_side(name, set);
}

fn ids(list: &[Value]) -> Vec<&str> {
    list.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// Continues the most recent session of a directory in both; `None` means the default one.
fn continue_recent(sides: &mut SideBySide, cwd: &str, dir: Option<&str>) {
    let args = [Some(sessile_testkit::quoted(cwd)), dir.map(|dir| sides.pi_argument(dir))];
    let args: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
    let dir = dir.map(|dir| sides.our_path(dir));
    sides
        .both(&static_call("continueRecent", &args), |sessions| {
            sessions.clone().with_session_dir(dir.unwrap_or_default()).continue_recent(cwd)
        })
        .done();
}

#[test]
fn row_69_a_chosen_directory_is_filtered_by_working_directory() {
    let mut sides = SideBySide::new();
    for (name, cwd) in [("a", "\"/tmp\""), ("b", "\"/var\""), ("c", "\"\""), ("d", "\"/tmp/../tmp/\""), ("e", "5")] {
        let header = header_with("\"/tmp\"", cwd).replace("s1", name);
        sides.write(&format!("s/{name}.jsonl"), file(&[header]));
    }
    let list = sides.same_list("/tmp", Some("s"));
    assert_eq!(ids(&list), ["d", "a"]);
    // Without a working directory there is nothing to filter by.
    let pi = sides.pi(&static_call("listAll", &[&sides.pi_argument("s")]));
    let dir = sides.our_path("s");
    let ours = sides.sessions().clone().with_session_dir(&dir).list_all().unwrap();
    assert_eq!(ids(pi.value().as_array().unwrap()), ours.iter().map(|row| row.id.as_str()).collect::<Vec<_>>());
    assert_eq!(ours.len(), 5);
    for (id, is_found) in [("a", true), ("b", false), ("c", false), ("d", true)] {
        let request = static_call("findById", &["\"/tmp\"", &format!("\"{id}\""), &sides.pi_argument("s")]);
        let pi = sides.pi(&request);
        let ours = sides.sessions().clone().with_session_dir(&dir).find_by_id("/tmp", id);
        assert_eq!((pi.text().is_some(), ours.is_some()), (is_found, is_found), "{id}");
    }
    continue_recent(&mut sides, "/var", Some("s"));
    sides.assert_view("sessionId", "\"b\"");
}

#[test]
fn row_70_pi_mixes_projects_whose_directories_share_a_name() {
    let mut sides = SideBySide::new();
    let content = file(&[&header_with("\"/tmp\"", "\"/a/b-c\""), &user("q", None)]);
    sides.write(".pi/agent/sessions/--a-b-c--/x.jsonl", content);
    let (pi, ours) = sides.lists("/a-b/c", None);
    assert_eq!((pi.len(), ours.len()), (1, 0));
    continue_recent(&mut sides, "/a-b/c", None);
    assert_eq!((sides.pi_view("branch").as_deref(), sides.our_view("branch").as_str()), (Ok("[\"q\"]"), "[]"));
    sides.assert_view("cwd", "\"/a-b/c\"");
    // For its own project the session is there in both.
    assert_eq!(ids(&sides.same_list("/a/b-c", None)), ["s1"]);
    continue_recent(&mut sides, "/a/b-c", None);
    sides.assert_view("sessionId", "\"s1\"");
    sides.assert_same();
}

#[test]
fn row_71_the_most_recent_session_is_chosen_by_file_time() {
    let mut sides = SideBySide::new();
    sides.write("s/a.jsonl", file(&[&header("a"), &user_at("x", "9000000000000")]));
    sides.write("s/b.jsonl", file(&[&header("b")]));
    touch(&sides, "s/a.jsonl", 1000);
    touch(&sides, "s/b.jsonl", 2000);
    continue_recent(&mut sides, "/tmp", Some("s"));
    sides.assert_view("sessionId", "\"b\"");
    sides.assert_same();
    // Lists are ordered by the messages.
    assert_eq!(ids(&sides.same_list("/tmp", Some("s"))), ["a", "b"]);
}

#[test]
fn row_72_pi_starts_a_new_session_because_of_a_dangling_link() {
    let mut sides = SideBySide::new();
    sides.write("s/a.jsonl", file(&[&header("a")]));
    sides.on_each_side("s/z.jsonl", |path| symlink("/nope/x", path).unwrap());
    continue_recent(&mut sides, "/tmp", Some("s"));
    assert_ne!(sides.pi_view("sessionId").as_deref(), Ok("\"a\""));
    assert_eq!(sides.our_view("sessionId"), "\"a\"");
}

#[test]
fn row_73_pi_lists_a_header_without_id() {
    let mut sides = SideBySide::new();
    sides.write("s/a.jsonl", file(&[header("a")]));
    sides.write("s/b.jsonl", "junk\n");
    sides.write("s/c.jsonl", "");
    sides.on_each_side("s/d.jsonl", |path| std::fs::create_dir(path).unwrap());
    sides.write("s/g.jsonl", file(&[HEADER.replace("\"id\":\"s1\",", "")]));
    sides.write("s/h.JSONL", file(&[HEADER]));
    sides.write("s/sub/i.jsonl", file(&[HEADER]));
    let (mut pi, ours) = sides.lists("/tmp", Some("s"));
    assert_eq!(ids(&ours), ["a"]);
    let without_id = pi.remove(0);
    assert_eq!((&without_id["id"], pi), (&Value::Null, ours));
    continue_recent(&mut sides, "/tmp", Some("s"));
    sides.assert_view("sessionId", "\"a\"");
}

#[test]
fn row_74_without_a_valid_message_time_the_header_time_counts() {
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
        let mut sides = SideBySide::new();
        sides.write("s/f.jsonl", file(&[vec![header], entries].concat()));
        touch(&sides, "s/f.jsonl", 1_700_000_000);
        let list = sides.same_list("/tmp", Some("s"));
        assert_eq!(list[0]["modified"], modified, "{name}");
    }
}

#[test]
fn row_75_tool_results_do_not_make_a_session_recent() {
    let mut sides = SideBySide::new();
    let header = HEADER.replace('}', ",\"parentSession\":\"/par.jsonl\"}");
    let blocks = r#"{"role":"user","content":[{"type":"text","text":"t1"},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"t2"}],"timestamp":1735689700000}"#;
    let tool = r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"toolout"}],"isError":false,"timestamp":1999999999999}"#;
    sides.write(
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
    let list = sides.same_list("/tmp", Some("s"));
    let expected = json!({
        "path": sides.pi_path("s/f.jsonl").to_string_lossy(),
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
fn row_76_progress_reports_partial_lists() {
    let mut sides = SideBySide::new();
    for place in 0..25 {
        let cwd = if place % 2 == 1 { "\"/tmp\"" } else { "\"/var\"" };
        let header = header_with("\"/tmp\"", cwd).replace("s1", &format!("x{place}"));
        sides.write(&format!("s/f{place:02}.jsonl"), file(&[header]));
    }
    let request = static_call("list", &["\"/tmp\"", &sides.pi_argument("s"), r#"{"$progress":true}"#]);
    let pi = sides.pi(&request);
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
    let dir = sides.our_path("s");
    let mut options = ListOptions { progress: Some(&mut progress), ..ListOptions::default() };
    let ours = sides.sessions().clone().with_session_dir(&dir).list_with("/tmp", &mut options).unwrap();
    assert_eq!(pi_parts, [1, 10, 20, 25]);
    assert_eq!(our_parts, [1, 10, 20, 25]);
    assert_eq!(ids(pi.value().as_array().unwrap()), ours.iter().map(|row| row.id.as_str()).collect::<Vec<_>>());
    sides.same_list("/tmp", Some("s"));
}

#[test]
fn row_83_pi_lists_no_message_with_a_raw_cr_inside() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None).replace("\"id\"", "\r\"id\"")]));
    sides.assert_view("count", "1");
    sides.assert_same();
    let (pi, ours) = sides.lists("/tmp", Some("s"));
    assert_eq!((&pi[0]["messageCount"], &ours[0]["messageCount"]), (&json!(0), &json!(1)));
}

#[test]
fn row_84_pi_lists_two_objects_of_one_malformed_line() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &format!("{}\r{}", user("a", None), assistant("b", "a"))]));
    sides.assert_view("count", "0");
    sides.assert_same();
    let (pi, ours) = sides.lists("/tmp", Some("s"));
    assert_eq!((&pi[0]["messageCount"], &ours[0]["messageCount"]), (&json!(2), &json!(0)));
}

#[test]
fn equal_times_are_listed_by_descending_name() {
    let mut sides = SideBySide::new();
    for (name, time) in [("a", 3), ("b", 1), ("c", 2), ("d", 2)] {
        let content = file(&[&header(name), &user_at("x", &format!("{time}000000000000"))]);
        sides.write(&format!("s/{name}.jsonl"), content);
    }
    assert_eq!(ids(&sides.same_list("/tmp", Some("s"))), ["a", "d", "c", "b"]);
}

#[test]
fn among_equal_session_ids_the_first_file_name_is_found() {
    let mut sides = SideBySide::new();
    for name in ["b", "a"] {
        sides.write(&format!("s/{name}.jsonl"), file(&[header("dup")]));
    }
    let dir = sides.our_path("s");
    for (id, found) in [("dup", Some("s/a.jsonl")), ("du", None)] {
        let pi = sides.pi(&static_call("findById", &["\"/tmp\"", &format!("\"{id}\""), &sides.pi_argument("s")]));
        assert_eq!(pi.text().map(str::to_owned), found.map(|name| sides.pi_argument(name)));
        assert_eq!(
            sides.sessions().clone().with_session_dir(&dir).find_by_id("/tmp", id),
            found.map(|name| sides.our_path(name))
        );
    }
}

#[test]
fn a_missing_directory_has_no_sessions_and_is_not_created() {
    let mut sides = SideBySide::new();
    assert_eq!(sides.same_list("/tmp", Some("nope")), [Value::Null; 0]);
    assert!(!sides.pi_path("nope").exists() && !sides.our_path("nope").exists());
    continue_recent(&mut sides, "/tmp", Some("c"));
    sides.assert_same();
    assert!(sides.pi_path("c").exists() && sides.our_path("c").exists());
}

#[test]
fn all_sessions_are_one_level_below_the_root() {
    let mut sides = SideBySide::new();
    for (name, id) in [
        (".pi/agent/sessions/d1/a.jsonl", "a"),
        (".pi/agent/sessions/d2/deep/b.jsonl", "b"),
        (".pi/agent/sessions/root.jsonl", "r"),
        ("other/c.jsonl", "c"),
    ] {
        sides.write(name, file(&[header(id)]));
    }
    for other in [sides.pi_path(""), sides.our_path("")] {
        symlink(other.join("other"), other.join(".pi/agent/sessions/link")).unwrap();
    }
    let pi = sides.pi(&static_call("listAll", &[]));
    let mut pi: Vec<_> = ids(pi.value().as_array().unwrap()).into_iter().map(str::to_owned).collect();
    pi.sort();
    let ours = sides.sessions().list_all().unwrap();
    let mut ours: Vec<_> = ours.into_iter().map(|row| row.id).collect();
    ours.sort();
    assert_eq!(pi, ["a", "c"]);
    assert_eq!(ours, ["a", "c"]);
}

#[test]
fn a_list_can_be_stopped() {
    let mut sides = SideBySide::new();
    sides.write("s/a.jsonl", file(&[HEADER]));
    let args = ["\"/tmp\"", &sides.pi_argument("s"), r#"{"$undefined":true}"#, r#"{"$aborted":true}"#];
    let pi = sides.pi(&static_call("list", &args));
    assert!(pi.error().unwrap().starts_with("AbortError"), "{pi:?}");
    let cancel = Cancel::default();
    cancel.cancel();
    let mut options = ListOptions { cancel, ..ListOptions::default() };
    let dir = sides.our_path("s");
    let ours = sides.sessions().clone().with_session_dir(&dir).list_with("/tmp", &mut options).unwrap_err();
    assert!(matches!(ours, SessionError::Cancelled), "{ours}");
}

#[test]
fn pi_hides_a_session_because_of_one_odd_entry() {
    for odd in [
        message("a", None, 1, r#"{"role":"user","content":{"a":1}}"#),
        message("a", None, 1, r#"{"role":"user","content":[null,{"type":"text","text":"t"}]}"#),
        entry("session_info", "i", None, 4, "\"name\":5"),
    ] {
        let mut sides = SideBySide::new();
        sides.write("s/f.jsonl", file(&[HEADER, &odd, &user("b", None)]));
        let (pi, ours) = sides.lists("/tmp", Some("s"));
        assert_eq!((pi.len(), ours.len()), (0, 1), "{odd}");
    }
}

#[test]
fn texts_of_a_list_equal_pis() {
    let mut sides = SideBySide::new();
    let without_text = message("d", "c", 1, r#"{"role":"user","content":[{"type":"text"}],"timestamp":1}"#);
    sides.write(
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
    let list = sides.same_list("/tmp", Some("s"));
    assert_eq!(list[0]["firstMessage"], "  first real ");
}

/// Makes random changes to a store as pi leaves it: the lists from the catalogue, from a scan and from pi are equal.
#[test]
fn a_kept_catalogue_agrees_with_pi() {
    let mut random = SplitMix::new(11);
    let mut sides = SideBySide::new();
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
        let old = sides.our_bytes(&name).map(|bytes| String::from_utf8(bytes).unwrap());
        match (random.below(8), old) {
            (0, Some(_)) => sides.on_each_side(&name, |path| std::fs::remove_file(path).unwrap()),
            (1, _) | (_, None) => sides.write(&name, file(&[&header, &line])),
            (_, Some(old)) => sides.write(&name, old + &file(&[line])),
        }
        for cwd in ["/tmp", "/var"] {
            sides.same_list(cwd, Some("s"));
        }
    }
}
