//! Tokens and costs of sessions.

use super::*;

fn answer(id: &str, parent: &str, second: u32, model: &str, cost: f64) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2025-01-01T00:00:{second:02}.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"read","arguments":{{}}}}],"provider":"p","model":"{model}","usage":{{"input":1,"output":2,"cacheRead":3,"cacheWrite":0,"cost":{{"total":{cost}}}}},"timestamp":1}}}}"#
    )
}

/// Writes a fork of a session with its own entries.
fn fork(home: &Home, name: &str, parent: &Path, lines: &[String]) -> PathBuf {
    let path = home.session(name, lines);
    let text = std::fs::read_to_string(&path).unwrap().replace("\"s1\"", &format!("{name:?}"));
    let text = text.replace("00:00:00.000Z\",\"cwd", "01:00:00.000Z\",\"cwd");
    let parent = format!("\"parentSession\":{:?},\"cwd\"", parent.to_str().unwrap());
    std::fs::write(&path, text.replacen("\"cwd\"", &parent, 1)).unwrap();
    path
}

fn family(home: &Home) -> (PathBuf, PathBuf) {
    let shared = vec![user("a", None, "question"), answer("b", "a", 2, "m", 6.0)];
    let root = home.session("root.jsonl", &shared);
    let mut last = root.clone();
    for n in 0..36 {
        let mut lines = shared.clone();
        lines.push(answer(&format!("f{n}"), "b", 10 + n, "n", 0.25));
        last = fork(home, &format!("fork{n}.jsonl"), &root, &lines);
    }
    (root, last)
}

#[test]
fn forks_are_counted_once() {
    let home = Home::new();
    let (_, last) = family(&home);
    for words in [&["stats", "--json"][..], &["stats", "--all", "--json"], &["stats", "--json", "--by", "model"]] {
        let stats = home.run(words).json();
        // 36 forks of a session of 6 dollars, with a quarter of a dollar each: not 231.
        assert_eq!(stats["cost"].as_f64(), Some(15.0), "{words:?}");
        assert_eq!((stats["sessions"].as_u64(), stats["forks"].as_u64()), (Some(37), Some(36)));
        assert_eq!((stats["copiedEntries"].as_u64(), stats["totalMessages"].as_u64()), (Some(72), Some(38)));
    }
    let models = home.run(&["stats", "--json", "--by", "model"]).json();
    assert_eq!((models["groups"][0]["key"].as_str(), models["groups"][0]["cost"].as_f64()), (Some("p/n"), Some(9.0)));
    assert_eq!(models["groups"][1]["toolCalls"], 1);
    // A single fork counts everything in its file, as pi does, and reports which part was copied.
    let one = home.json(&["stats", "--json"], &last);
    assert_eq!((one["cost"].as_f64(), one["copied"]["cost"].as_f64()), (Some(6.25), Some(6.0)));
    let root = home.json(&["stats", "--json"], &home.session_dir().join("root.jsonl"));
    assert_eq!(root["forks"].as_array().unwrap().len(), 36);
}

#[test]
fn copies_of_a_session_are_counted_once() {
    let home = Home::new();
    let lines = [user("a", None, "question"), answer("b", "a", 2, "m", 6.0)];
    home.session("one.jsonl", &lines);
    home.session("copy.jsonl", &lines);
    assert_eq!(home.run(&["stats", "--json"]).json()["cost"].as_f64(), Some(6.0));
    // Equal ids in unrelated sessions are a coincidence.
    let stranger = home.session("stranger.jsonl", &lines);
    let text = std::fs::read_to_string(&stranger).unwrap();
    std::fs::write(&stranger, text.replace("\"s1\"", "\"s2\"")).unwrap();
    assert_eq!(home.run(&["stats", "--json"]).json()["cost"].as_f64(), Some(12.0));
}

/// Entries of version 1 have no ids, and get them when the file is upgraded.
#[test]
fn copies_of_old_sessions_are_counted_once() {
    let home = Home::new();
    let lines = [user("a", None, "question"), answer("b", "a", 2, "m", 6.0)];
    let (one, copy) = (home.session("one.jsonl", &lines), home.session("copy.jsonl", &lines));
    let new = std::fs::read_to_string(&one).unwrap();
    let old = new.replace("\"version\":3,", "").replace("\"id\":\"a\",\"parentId\":null,", "");
    let old = old.replace("\"id\":\"b\",\"parentId\":\"a\",", "");
    assert!(!old.contains("parentId"), "{old}");
    let count = || {
        let stats = home.run(&["stats", "--json"]).json();
        (stats["cost"].as_f64().unwrap(), stats["entries"].as_u64().unwrap(), stats["copiedEntries"].as_u64().unwrap())
    };
    for (first, second) in [(&old, &old), (&old, &new), (&new, &old)] {
        std::fs::write(&one, first).unwrap();
        std::fs::write(&copy, second).unwrap();
        assert_eq!(count(), (6.0, 2, 2));
    }
    // A repetition within one session counts twice.
    let twice = format!("{old}{}", old.split_once('\n').unwrap().1);
    std::fs::write(&one, &twice).unwrap();
    std::fs::remove_file(&copy).unwrap();
    assert_eq!(count(), (12.0, 4, 0));
}

#[test]
fn totals_are_the_same_from_the_list_and_from_the_files() {
    let home = Home::new();
    family(&home);
    let quick = home.run(&["stats", "--json"]).json();
    let read = home.run(&["stats", "--json", "--by", "tool"]).json();
    for key in ["entries", "totalMessages", "userMessages", "tokens", "cost", "cacheHitRate", "copiedEntries"] {
        assert_eq!(quick[key], read[key], "{key}");
    }
    assert!(quick.get("toolCalls").is_none() && read["toolCalls"] == 37);
}

#[test]
fn since_and_until_select_days_and_sessions() {
    let home = Home::new();
    let late = answer("c", "b", 3, "m", 1.0).replace("2025-01-01", "2025-01-02");
    home.session("x.jsonl", &[user("a", None, "q"), answer("b", "a", 2, "m", 6.0), late]);
    let cost = |words: &[&str]| home.run(&[&["stats", "--json"], words].concat()).json()["cost"].as_f64().unwrap();
    assert!((cost(&["--since", "2025-01-02"]) - 1.0).abs() < 1e-9);
    assert!((cost(&["--until", "2025-01-01"]) - 6.0).abs() < 1e-9);
    assert!((cost(&["--since", "2025-02-01"])).abs() < 1e-9);
    let sessions = |words: &[&str]| {
        let stats = home.run(&[&["stats", "--json"], words].concat()).json();
        (stats["sessions"].as_u64().unwrap(), stats["branchedSessions"].as_u64().unwrap())
    };
    home.session("y.jsonl", &small());
    assert_eq!((sessions(&[]), sessions(&["--until", "2025-01-01"])), ((2, 1), (2, 1)));
    assert_eq!(sessions(&["--since", "2025-01-02"]), (1, 0), "the other session has no entries in that period");
    assert_eq!(sessions(&["--since", "2025-02-01"]), (0, 0));
    let output = output_of(home.command(&["stats", "--by", "day"]).env("TZ", "UTC"));
    assert!(output.out.contains("\n2025-01-01 ") && output.out.contains("\n2025-01-02 "), "{}", output.out);
    assert_eq!(home.run(&["stats", "--since", "whenever"]).code, 2);
    assert_eq!(home.run(&["stats", "x", "--all"]).code, 2);
}

/// Creates two projects, with three days in two weeks and two months.
fn year_end(home: &Home) {
    let at = |day: &str, id: &str, cost| answer(id, "a", 2, "m", cost).replace("2025-01-01", day);
    home.session("x.jsonl", &[at("2024-12-29", "b", 1.0), at("2024-12-31", "c", 2.0), at("2025-01-01", "d", 4.0)]);
    let other = home.agent_dir().join("sessions/--other--/y.jsonl");
    with_id(write_session(&other, "/other", &[at("2025-01-01", "b", 8.0)]), "s2-=and,more");
}

#[test]
fn groups_have_one_or_two_keys() {
    let home = Home::new();
    year_end(&home);
    let stats =
        |by: &str, format: &str| output_of(home.command(&["stats", "--all", "--by", by, format]).env("TZ", "UTC"));
    let groups = |by: &str| -> Vec<(String, f64)> {
        let stats = stats(by, "--json").json();
        assert_eq!(stats["by"].as_array().unwrap().len(), by.split(',').count());
        let key = |group: &Value| match group["keys"].as_array() {
            Some(keys) => keys.iter().map(|key| key.as_str().unwrap()).collect::<Vec<_>>().join(" "),
            None => group["key"].as_str().unwrap().to_owned(),
        };
        stats["groups"].as_array().unwrap().iter().map(|it| (key(it), it["cost"].as_f64().unwrap())).collect()
    };
    let is = |by: &str, expected: &[(&str, f64)]| {
        let expected: Vec<(String, f64)> = expected.iter().map(|(key, cost)| ((*key).to_owned(), *cost)).collect();
        assert_eq!(groups(by), expected, "{by}");
    };
    let project = home.project().to_string_lossy().into_owned();
    is("month", &[("2024-12", 3.0), ("2025-01", 12.0)]);
    is("week", &[("2024-W52", 1.0), ("2025-W01", 14.0)]);
    let other = if cfg!(windows) { r"C:\other" } else { "/other" };
    is("project", &[(other, 8.0), (&project, 7.0)]);
    let (early, late) = (format!("2024-W52 {project}"), format!("2025-W01 {project}"));
    is("week,project", &[(&early, 1.0), (&format!("2025-W01 {other}"), 8.0), (&late, 6.0)]);
    is(
        "project,month",
        &[
            (&format!("{other} 2025-01"), 8.0),
            (&format!("{project} 2024-12"), 3.0),
            (&format!("{project} 2025-01"), 4.0),
        ],
    );
    is("model,tool", &[("p/m read", 0.0)]);
    assert_eq!(stats("model,tool", "--json").json()["groups"][0]["toolCalls"], 4);
    let weeks = stats("week", "--json").json();
    assert_eq!((&weeks["groups"][0]["sessions"], &weeks["groups"][1]["sessions"]), (&1.into(), &2.into()));
    let sessions = stats("session", "--json").json();
    assert_eq!((&sessions["groups"][0]["id"], &sessions["groups"][1]["id"]), (&"s2-=and,more".into(), &"s1".into()));
    let out = stats("week,project", "--plot=always").out;
    let rows: Vec<&str> = out.lines().skip_while(|line| !line.starts_with("week")).collect();
    assert!(rows[0].starts_with("week      project    sessions  messages") && rows[0].ends_with("cost"), "{out}");
    assert!(rows[2].starts_with(&format!("2025-W01  {other} ")) && rows[2].ends_with(&"█".repeat(30)), "{out}");
    assert!(rows[3].contains(&native("  ~/project  ")) && rows[3].contains("  $6.00  "), "{out}");
    assert!(!stats("week", "--plot=auto").out.contains('█'), "no plot without a terminal");
    let out = stats("session", "--plot=never").out;
    assert!(out.contains("\ns2-=and,  (no messages)") && out.contains("\ns1        (no messages)"), "{out}");
    for wrong in ["week,week", "week,day,tool", "colour", ""] {
        assert_eq!(stats(wrong, "--json").code, 2, "{wrong}");
    }
}

#[test]
fn groups_are_written_as_csv() {
    let home = Home::new();
    year_end(&home);
    let csv =
        |words: &[&str]| output_of(home.command(&[&["stats", "--all", "--csv"], words].concat()).env("TZ", "UTC")).out;
    let figures = "sessions,messages,user_messages,assistant_messages,tool_calls,tool_errors,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,tokens,cost";
    let expected =
        format!("month,{figures}\n2024-12,1,2,0,2,2,0,2,4,6,0,12,3.000000\n2025-01,2,2,0,2,2,0,2,4,6,0,12,12.000000\n");
    assert_eq!(csv(&["--by", "month"]), expected);
    assert_eq!(csv(&[]), format!("{figures}\n2,4,0,4,,,4,8,12,0,24,15.000000\n"));
    let sessions = csv(&["--by", "session,month"]);
    let root = home.agent_dir().display().to_string();
    assert!(
        sessions
            .starts_with(&format!("session,month,id,path,{figures}\n(no messages),2025-01,\"s2-=and,more\",{root}")),
        "{sessions}"
    );
    let one = csv(&["--by", "session"]);
    assert_eq!(one.lines().count(), 3, "{one}");
    assert_eq!(home.run(&["stats", "s1", "--csv"]).out, format!("{figures}\n1,3,0,3,3,0,3,6,9,0,18,7.000000\n"));
    assert_eq!(home.run(&["stats", "--csv", "--json"]).code, 2);
}

#[test]
fn the_numbers_are_those_of_pi() {
    let Ok(text) = std::fs::read_to_string(shared("handmade-session.jsonl")) else { return };
    let home = Home::new();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let file = home.session("handmade.jsonl", &lines);
    let stats = home.json(&["stats", "--json"], &file);
    // The answer of pi's get_session_stats.
    let expected = serde_json::json!({
        "userMessages": 4, "assistantMessages": 6, "toolCalls": 2, "toolResults": 2, "totalMessages": 13,
        "tokens": {"input": 3820, "output": 112, "cacheRead": 100, "cacheWrite": 0, "total": 4032},
        "cost": 0.004_044_000_000_000_001,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&stats[key], value, "{key}");
    }
    assert_eq!(home.json(&["info", "--json"], &file)["contextTokens"], 925);
}
