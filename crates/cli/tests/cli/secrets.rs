//! `secrets` and `export --redact`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

/// A made-up key in the format of a provider; another one for each number.
pub(super) fn key(number: u64) -> String {
    const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(DIGITS[usize::try_from(state % 62).unwrap()])
    };
    "gsk_".chars().chain((0..52).map(|_| next())).collect()
}

/// A session with a key in every place that can hold text. The number of each key is that of its place.
pub(super) fn planted() -> (Vec<String>, Vec<String>) {
    let keys: Vec<String> = (1..=24).map(key).collect();
    let message = |id: &str, parent: &str, rest: &str| {
        entry("message", id, Some(parent), &format!(r#""message":{{{rest},"timestamp":1735689601000}}"#))
    };
    let k = |number: usize| keys[number - 1].as_str();
    let lines = vec![
        user("a", None, &format!("use {}", k(1))),
        message(
            "b",
            "a",
            &format!(
                r#""role":"assistant","content":[{{"type":"text","text":"{}"}},{{"type":"thinking","thinking":"{}","thinkingSignature":"{{\"id\":\"rs_1\",\"summary\":[{{\"text\":\"{}\"}}]}}"}},{{"type":"toolCall","id":"c1","name":"bash","arguments":{{"deep":[{{"x":"{}"}}],"{}":1}}}}],"api":"openai-responses","provider":"p","model":"m","usage":{{"input":10,"output":5,"cost":{{"total":0.25}}}},"stopReason":"toolUse","errorMessage":"{}""#,
                k(2),
                k(3),
                k(4),
                k(5),
                k(6),
                k(7)
            ),
        ),
        message(
            "c",
            "b",
            &format!(
                r#""role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"{}"}}],"details":{{"diff":"{}"}},"isError":false"#,
                k(8),
                k(9)
            ),
        ),
        message(
            "d",
            "c",
            &format!(r#""role":"bashExecution","command":"{}","output":"{}","exitCode":0"#, k(10), k(11)),
        ),
        message("e", "d", &format!(r#""role":"system","content":"{}","sections":{{"a":"{}"}}"#, k(12), k(13))),
        entry(
            "compaction",
            "f",
            Some("e"),
            &format!(r#""summary":"{}","firstKeptEntryId":"d","tokensBefore":9,"details":{{"x":"{}"}}"#, k(14), k(15)),
        ),
        entry("branch_summary", "g", Some("f"), &format!(r#""fromId":"a","summary":"{}""#, k(16))),
        entry("label", "h", Some("g"), &format!(r#""targetId":"a","label":"{}""#, k(17))),
        entry("session_info", "i", Some("h"), &format!(r#""name":"{}""#, k(18))),
        entry("custom", "j", Some("i"), &format!(r#""customType":"x","data":{{"y":["{}"]}}"#, k(19))),
        entry(
            "custom_message",
            "k",
            Some("j"),
            &format!(r#""customType":"x","content":"{}","display":true,"details":"{}""#, k(20), k(21)),
        ),
        entry("context_edit", "l", Some("k"), &format!(r#""targetId":"a","replacement":{{"content":"{}"}}"#, k(22))),
        entry("future", "m", Some("l"), &format!(r#""anything":{{"z":"{}"}}"#, k(23))),
        format!("{{\"torn\": \"{}", k(24)),
        user("n", Some("m"), &format!("again {} and {}", k(1), k(1))),
    ];
    (lines, keys)
}

/// Whether any file below a directory has one of these texts.
pub(super) fn holds_any(directory: &Path, texts: &[String]) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return holds_any(&path, texts);
        }
        has_any(&fs::read(&path).unwrap(), texts)
    })
}

pub(super) fn has_any(bytes: &[u8], texts: &[String]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    texts.iter().any(|secret| text.contains(secret.as_str()))
}

#[test]
fn secrets_are_found_in_every_place_and_never_shown() {
    let home = Home::new();
    let (lines, keys) = planted();
    let file = home.session("x_s1.jsonl", &lines);
    let before = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().mtime());
    let path = file.to_str().unwrap();
    let report = home.run(&["secrets", path, "--json"]);
    assert_eq!((report.code, report.err.as_str()), (1, ""));
    let value: Value = serde_json::from_str(&report.out).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let placeholders: std::collections::BTreeSet<&str> =
        findings.iter().map(|finding| finding["placeholder"].as_str().unwrap()).collect();
    assert_eq!((findings.len(), placeholders.len()), (25, 24), "{findings:#?}");
    assert!(findings.iter().all(|it| it["rule"] == "groq-key" && it["tier"] == 1 && it["masked"] == "gsk_…(52)"));
    assert_eq!(findings[0]["entryId"], "a");
    assert_eq!(findings[0]["pointer"], "/message/content");
    assert_eq!(findings[24]["occurrences"], 2);
    assert_eq!(findings[24]["placeholder"], findings[0]["placeholder"]);
    assert_eq!(value["sessions"], 1);
    assert_eq!(value["counts"]["certain"], 25);
    let mut outputs = vec![report.out.clone()];
    for words in [
        &["secrets", path][..],
        &["secrets", path, "--jsonl"],
        &["secrets"],
        &["secrets", "--all", "--certain", "--rule", "groq-key"],
        &["secrets", "test", path],
    ] {
        let output = home.run(words);
        assert_eq!(output.code, 1, "{words:?}: {}", output.err);
        outputs.extend([output.out, output.err]);
    }
    assert!(outputs.iter().all(|output| !has_any(output.as_bytes(), &keys)));
    assert!(!holds_any(&home.dir.path().join("SESSILE_STATE_DIR"), &keys));
    assert_eq!((fs::read(&file).unwrap(), fs::metadata(&file).unwrap().mtime()), before);
    let quiet = with_id(home.session("y_s2.jsonl", &small()), "s2");
    home.run(&["secrets", quiet.to_str().unwrap()]).expect(0, "");
    let other = home.run(&["secrets", path, "--rule", "npm-token"]);
    assert_eq!(other.code, 0, "{}", other.err);
}

#[test]
fn copies_of_every_level_have_no_secret_and_the_same_tree() {
    let home = Home::new();
    let (lines, keys) = planted();
    let file = home.session("x_s1.jsonl", &lines);
    let path = file.to_str().unwrap();
    let file_state = |path: &Path| (fs::read(path).unwrap(), fs::metadata(path).unwrap().ino());
    let before = file_state(&file);
    let flat = |path: &Path| {
        let output = home.run(&["tree", "--json", "--flat", path.to_str().unwrap()]);
        let rows: Value = serde_json::from_str(&output.out).unwrap();
        let of = |row: &Value| [&row["id"], &row["parentId"], &row["type"], &row["depth"]].map(Clone::clone);
        rows.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let stats = |path: &Path| home.run(&["info", "--json", path.to_str().unwrap()]);
    for level in ["secrets", "paths", "pii", "outputs", "skeleton"] {
        let copy = home.dir.path().join(format!("{level}.jsonl"));
        let output = home.run(&["export", path, &format!("--redact={level}"), "-o", copy.to_str().unwrap()]);
        assert_eq!(output.code, 0, "{level}: {}", output.err);
        assert!(!has_any(&fs::read(&copy).unwrap(), &keys), "{level}");
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        age(&copy);
        let (source, mut copied) = (flat(&file), flat(&copy));
        let mark = copied.pop().unwrap();
        assert_eq!(mark[2], "custom");
        // An unknown type can be any text, so a skeleton has none.
        let is_known = |row: &&[Value; 4]| level != "skeleton" || row[2] != "future" && row[0] != "m";
        assert_eq!(copied.len(), source.len(), "{level}");
        assert!(copied.iter().filter(is_known).eq(source.iter().filter(is_known)), "{level}");
        assert!(copied.iter().map(|row| (&row[0], &row[1])).eq(source.iter().map(|row| (&row[0], &row[1]))), "{level}");
        let info: Value = serde_json::from_str(&stats(&copy).out).unwrap();
        assert_ne!(info["id"], "s1");
        assert_eq!(info["redacted"]["level"], level);
        let info_before: Value = serde_json::from_str(&stats(&file).out).unwrap();
        for member in ["messageCount", "cost", "tokens", "branches"] {
            assert_eq!(info[member], info_before[member], "{level}: {member}");
        }
        assert_eq!(home.run(&["secrets", copy.to_str().unwrap()]).code, 0, "{level}");
        let verified = home.run(&["verify", copy.to_str().unwrap()]);
        assert!(verified.out.contains("  redacted\n"), "{}", verified.out);
        let shown = home.run(&["show", copy.to_str().unwrap()]);
        assert!(shown.out.contains("this is a redacted copy"), "{}", shown.out);
    }
    assert_eq!(file_state(&file), before);
    assert!(
        fs::read_dir(home.dir.path())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().contains("sessile-tmp") })
    );
}

#[test]
fn documents_are_made_from_the_redacted_copy() {
    let home = Home::new();
    let (lines, keys) = planted();
    let file = home.session("x_s1.jsonl", &lines);
    let path = file.to_str().unwrap();
    for format in ["md", "json", "jsonl"] {
        let piped = home.run(&["export", path, "--redact", "--format", format]);
        assert_eq!(piped.code, 0, "{format}: {}", piped.err);
        assert!(!has_any(piped.out.as_bytes(), &keys) && !has_any(piped.err.as_bytes(), &keys), "{format}");
        assert!(piped.out.contains("REDACTED:groq-key:"), "{format}");
    }
    #[cfg(feature = "web")]
    {
        let page = home.dir.path().join("page.html");
        let output = home.run(&["export", path, "--redact", "-o", page.to_str().unwrap()]);
        assert_eq!(output.code, 0, "{}", output.err);
        assert!(!has_any(&fs::read(&page).unwrap(), &keys));
    }
    assert_eq!(fs::read_dir(home.dir.path().join("tmp")).unwrap().count(), 0);
    // Without --redact, a document has a warning, and a pipe of jsonl has none.
    let document = home.dir.path().join("plain.md");
    let plain = home.run(&["export", path, "-o", document.to_str().unwrap()]);
    assert_eq!(plain.code, 0);
    assert!(plain.err.contains("warning: 25 secrets in this export: see `sessile secrets "), "{}", plain.err);
    let piped = home.run(&["export", path]);
    assert!(piped.code == 0 && !piped.err.contains("secrets"), "{}", piped.err);
}

#[test]
fn files_are_not_replaced_and_refusals_name_the_place() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    let path = file.to_str().unwrap();
    let taken = home.dir.path().join("taken.jsonl");
    fs::write(&taken, "mine").unwrap();
    let refused = home.run(&["export", path, "--redact", "-o", taken.to_str().unwrap()]);
    assert_eq!((refused.code, fs::read(&taken).unwrap()), (3, b"mine".to_vec()), "{}", refused.err);
    let forced = home.run(&["export", path, "--redact", "--force", "-o", taken.to_str().unwrap()]);
    assert_eq!(forced.code, 0, "{}", forced.err);
    assert!(fs::read(&taken).unwrap().starts_with(b"{\"type\":\"session\""));
    let before = fs::read(&file).unwrap();
    for format in ["jsonl", "md"] {
        let own = home.run(&["export", path, "--redact", "--force", "--format", format, "-o", path]);
        assert_eq!((own.code, &fs::read(&file).unwrap()), (3, &before), "{}", own.err);
    }
    // An id that is a secret stays in a copy, so there is none.
    let secret = key(1);
    let bad = with_id(home.session("y_s2.jsonl", &[user("a", None, "x"), user(&secret, Some("a"), "y")]), "s2");
    let target = home.dir.path().join("never.jsonl");
    let output = home.run(&["export", bad.to_str().unwrap(), "--redact", "-o", target.to_str().unwrap()]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("y_s2.jsonl, line 3\ncaused by: /id is a secret (groq-key)"), "{}", output.err);
    assert!(!target.exists() && !output.err.contains(&secret));
    let list = home.dir.path().join("list");
    fs::write(&list, "long enough\nabc\n").unwrap();
    let output = home.run(&["secrets", path, "--secrets", list.to_str().unwrap()]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("list, line 2: the secret has fewer than 4 characters"), "{}", output.err);
    for words in [
        &["secrets", path, "--rule", "nonsense"][..],
        &["secrets", "allow", "hunter2"],
        &["export", path, "--redact=everything"],
        &["export", path, "--also", "x"],
        &["secrets", path, "--all"],
    ] {
        assert_eq!(home.run(words).code, 2, "{words:?}");
    }
}

#[test]
fn stable_placeholders_allowed_values_and_known_secrets() {
    let home = Home::new();
    let key = key(1);
    let lines = [user("a", None, &format!("{key} for Zanzibar, or Tr0ub4dor-x"))];
    let file = home.session("x_s1.jsonl", &lines);
    let path = file.to_str().unwrap();
    let copy = |flags: &[&str]| {
        let words: Vec<&str> = ["export", path, "--redact"].iter().chain(flags).copied().collect();
        let output = home.run(&words);
        assert_eq!(output.code, 0, "{words:?}: {}", output.err);
        output.out.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(copy(&["--stable"]), copy(&["--stable"]));
    assert_ne!(copy(&[]), copy(&[]));
    assert!(copy(&["--also", "Zanzibar"]).contains(" for word1, or"));
    let list = home.dir.path().join("list");
    fs::write(&list, "Tr0ub4dor-x\n").unwrap();
    let listed = ["--secrets", list.to_str().unwrap()];
    assert!(copy(&[]).contains("Tr0ub4dor-x") && !copy(&listed).contains("Tr0ub4dor-x"));
    let from_variable = output_of(home.command(&["export", path, "--redact"]).env("MY_API_TOKEN", "Tr0ub4dor-x"));
    assert!(from_variable.code == 0 && !from_variable.out.contains("Tr0ub4dor-x"), "{}", from_variable.err);
    fs::create_dir_all(home.agent_dir()).unwrap();
    fs::write(home.agent_dir().join("auth.json"), r#"{"p":{"type":"api_key","key":"Tr0ub4dor-x"}}"#).unwrap();
    assert!(!copy(&[]).contains("Tr0ub4dor-x"));
    fs::remove_file(home.agent_dir().join("auth.json")).unwrap();

    let finding = &serde_json::from_str::<Value>(&home.run(&["secrets", path, "--json"]).out).unwrap()["findings"][0];
    let placeholder = finding["placeholder"].as_str().unwrap();
    assert!(copy(&["--allow", placeholder]).contains(&key));
    assert_eq!(home.run(&["secrets", "allow", placeholder]).code, 0);
    home.run(&["secrets", path]).expect(0, "");
    assert!(copy(&[]).contains(&key));
    let settings = fs::read_to_string(home.dir.path().join("SESSILE_CONFIG_DIR/config.toml")).unwrap();
    assert!(settings.contains("[secrets]\nallow = [\"") && !settings.contains(&key), "{settings}");
    home.run(&["config", "set", "secrets.rules.place", "Zan[a-z]+"]).expect(0, "");
    let own = home.run(&["secrets", path, "--json"]);
    assert_eq!((own.code, own.out.contains("\"rule\":\"place\"")), (1, true), "{}", own.err);
    home.run(&["config", "set", "secrets.rules.place", "(broken"]).expect(0, "");
    let broken = home.run(&["secrets", path]);
    assert_eq!(broken.code, 3);
    assert!(broken.err.starts_with("error: the rule place cannot be used: "), "{}", broken.err);
}

#[test]
fn a_copy_with_a_finding_is_not_published() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    // The rule finds nothing in the session, but the mark of the copy names the program.
    home.run(&["config", "set", "secrets.rules.program", "sessile [0-9]+"]).expect(0, "");
    let target = home.project().join("copy.jsonl");
    for format in ["jsonl", "md"] {
        let words = ["export", file.to_str().unwrap(), "--redact", "--format", format, "-o", target.to_str().unwrap()];
        let output = home.run(&words);
        assert_eq!(output.code, 3, "{}", output.err);
        assert!(output.err.starts_with("error: nothing was written: the copy of "), "{}", output.err);
        assert!(output.err.contains("the first in line 1 (program)"), "{}", output.err);
    }
    assert_eq!(fs::read_dir(home.project()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(home.dir.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn lists_mark_redacted_copies_and_imports_keep_the_marks() {
    let home = Home::new();
    let (lines, keys) = planted();
    let original = home.session("x_s1.jsonl", &lines);
    let outside = home.dir.path().join("copy.jsonl");
    let exported = home.run(&["export", original.to_str().unwrap(), "--redact", "-o", outside.to_str().unwrap()]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let copied = fs::read(&outside).unwrap();
    let imported = home.run(&["import", outside.to_str().unwrap()]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    let copy = PathBuf::from(imported.out.trim());
    assert_eq!(fs::read(&copy).unwrap(), copied);
    // The second list answers from the caches, the third one without them.
    for round in 0..3 {
        if round == 2 {
            fs::remove_dir_all(home.dir.path().join("SESSILE_CACHE_DIR")).ok();
        }
        let rows = home.run(&["list", "--all", "--json"]).json();
        let rows = rows.as_array().unwrap();
        let row_of = |path: &Path| rows.iter().find(|row| row["path"] == path.to_str().unwrap()).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(row_of(&copy)["redacted"], true);
        assert!(row_of(&original).get("redacted").is_none() && row_of(&copy).get("copyOf").is_none());
        assert_ne!(row_of(&copy)["id"], row_of(&original)["id"]);
    }
    let table = home.run(&["list", "--all"]).out;
    assert_eq!(table.matches("[redacted] ").count(), 1, "{table}");
    let flags = home.run(&["list", "--all", "--format", "{redacted}|{path}"]).out;
    assert!(flags.contains(&format!("true|{}\n", copy.display())), "{flags}");
    assert!(flags.contains(&format!("\n|{}\n", original.display())) || flags.starts_with('|'), "{flags}");
    // The damaged line causes a warning.
    let mark_of = |path: &Path| {
        let info = home.run(&["info", path.to_str().unwrap(), "--json"]);
        serde_json::from_str::<serde_json::Value>(&info.out).unwrap()["redacted"]["level"].clone()
    };
    assert_eq!(mark_of(&copy), "secrets");
    assert!(home.run(&["verify", copy.to_str().unwrap()]).out.contains("redacted"));
    assert!(home.run(&["show", copy.to_str().unwrap()]).out.contains("this is a redacted copy"));
    let page = home.dir.path().join("copy.html");
    home.run(&["export", copy.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(fs::read_to_string(&page).unwrap().contains("This is a redacted copy of a session"));

    // With a new id it is still a copy, and its marks cannot be had by the original.
    let again = home.run(&["import", outside.to_str().unwrap()]);
    assert_eq!(again.code, 3, "{}", again.out);
    let renewed = home.run(&["import", "--new-id", outside.to_str().unwrap()]);
    let renewed = PathBuf::from(renewed.out.trim());
    assert_eq!(mark_of(&renewed), "secrets");
    assert!(!has_any(&fs::read(&renewed).unwrap(), &keys));
    assert!(mark_of(&original).is_null());
}
