//! What sessions took.

use super::*;

fn answer(id: &str, parent: &str, second: u32, model: &str, cost: f64) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2025-01-01T00:00:{second:02}.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"read","arguments":{{}}}}],"provider":"p","model":"{model}","usage":{{"input":1,"output":2,"cacheRead":3,"cacheWrite":0,"cost":{{"total":{cost}}}}},"timestamp":1}}}}"#
    )
}

/// Writes a fork of a session with something of its own.
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
    // A fork alone has everything in its file, as pi counts, and says what of that it was forked with.
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
    // The same ids in sessions that have nothing to do with each other are a coincidence.
    let stranger = home.session("stranger.jsonl", &lines);
    let text = std::fs::read_to_string(&stranger).unwrap();
    std::fs::write(&stranger, text.replace("\"s1\"", "\"s2\"")).unwrap();
    assert_eq!(home.run(&["stats", "--json"]).json()["cost"].as_f64(), Some(12.0));
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
fn days_and_times_are_told_apart() {
    let home = Home::new();
    let late = answer("c", "b", 3, "m", 1.0).replace("2025-01-01", "2025-01-02");
    home.session("x.jsonl", &[user("a", None, "q"), answer("b", "a", 2, "m", 6.0), late]);
    let cost = |words: &[&str]| home.run(&[&["stats", "--json"], words].concat()).json()["cost"].as_f64().unwrap();
    assert!((cost(&["--since", "2025-01-02"]) - 1.0).abs() < 1e-9);
    assert!((cost(&["--until", "2025-01-01"]) - 6.0).abs() < 1e-9);
    assert!((cost(&["--since", "2025-02-01"])).abs() < 1e-9);
    let ran = ran(home.command(&["stats", "--by", "day"]).env("TZ", "UTC"));
    assert!(ran.out.contains("\n2025-01-01 ") && ran.out.contains("\n2025-01-02 "), "{}", ran.out);
    assert_eq!(home.run(&["stats", "--since", "whenever"]).code, 2);
    assert_eq!(home.run(&["stats", "x", "--all"]).code, 2);
}

#[test]
fn the_numbers_are_those_of_pi() {
    let Ok(text) = std::fs::read_to_string(shared("handmade-session.jsonl")) else { return };
    let home = Home::new();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let file = home.session("handmade.jsonl", &lines);
    let stats = home.json(&["stats", "--json"], &file);
    // What pi's get_session_stats answered.
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
