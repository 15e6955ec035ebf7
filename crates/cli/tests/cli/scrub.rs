//! `scrub`: the secrets are gone from every file, and nothing else is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::secrets::{has_any, holds_any, key, planted};
use super::*;

/// A password that only the URL around it gives away.
const LIKELY: &str = "kR7-vQ2x9Lw";

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Runs a command that works, whatever it says.
fn work(home: &Home, words: &[&str]) {
    let output = home.run(words);
    assert_eq!(output.code, 0, "{words:?}: {}", output.err);
}

/// What a command prints as JSON, whatever it warns of.
fn answer(home: &Home, words: &[&str]) -> Value {
    let output = home.run(words);
    assert_eq!(output.code, 0, "{words:?}: {}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

/// All files below a directory, with their content.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Ids and parents, in the order of the tree.
fn tree(home: &Home, file: &Path) -> Vec<(Value, Value, Value)> {
    let rows = answer(home, &["tree", "--json", "--flat", path(file)]);
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| (row["id"].clone(), row["parentId"].clone(), row["depth"].clone()))
        .collect()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]));
        }
        out.push_str(&"=".repeat(3 - chunk.len()));
    }
    out
}

/// A session with keys in every place, and copies of them wherever Sessile keeps any. Returns the texts that must go.
fn full_home() -> (Home, PathBuf, Vec<String>) {
    let home = Home::new();
    let (mut lines, mut texts) = planted();
    let escaped = key(30).chars().fold(String::new(), |text, char| format!("{text}\\u{:04x}", u32::from(char)));
    lines.push(entry("custom", "o", Some("n"), &format!(r#""customType":"x","data":"{escaped}""#)));
    lines.push(user("p", Some("o"), &format!("encoded {}", base64(&key(31)))));
    lines.push(user("q", Some("p"), &format!("see https://me:{LIKELY}@db.internal/app")));
    texts.extend([key(30), escaped, key(31), base64(&key(31)), LIKELY.to_owned(), key(32)]);
    let file = home.session("2025-01-01T00-00-00-000Z_s1.jsonl", &lines);
    // An original, the trash, a fork, the log of operations, caches, lists, and the guard.
    fs::copy(&file, format!("{}.orig-2025-01-01T00-00-00-000Z", path(&file))).unwrap();
    answer(&home, &["clone", path(&file), "--json"]);
    let deleted = answer(&home, &["clone", path(&file), "--json"]);
    let deleted = deleted["path"].as_str().unwrap().to_owned();
    work(&home, &["delete", &deleted, "--yes", "--force"]);
    work(&home, &["name", path(&file), &format!("about {LIKELY}")]);
    work(&home, &["label", path(&file), "a", &key(32)]);
    work(&home, &["list", "--all"]);
    home.run(&["index"]);
    home.run(&["search", "encoded"]);
    work(&home, &["append", path(&file), &format!("one more {}", key(1))]);
    (home, file, texts)
}

#[test]
fn secrets_are_gone_from_every_file_and_a_second_run_changes_nothing() {
    let (home, file, texts) = full_home();
    for place in ["agent", ".local/share/Trash", "SESSILE_STATE_DIR", "SESSILE_CACHE_DIR"] {
        assert!(holds_any(&home.dir.path().join(place), &texts), "nothing in {place}");
    }
    let before = (tree(&home, &file), fs::read_to_string(&file).unwrap().lines().count());
    let report = answer(&home, &["scrub", path(&file), "--forks", "--yes", "--force", "--json"]);
    assert!(!has_any(report.to_string().as_bytes(), &texts));
    assert_eq!(report["sessions"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!((report["sharing"].as_array().unwrap().len(), &report["level"]), (0, &"secrets".into()));
    let kinds: Vec<&str> = (report["sessions"].as_array().unwrap().iter())
        .flat_map(|session| session["copies"].as_array().unwrap())
        .map(|copy| copy["kind"].as_str().unwrap())
        .collect();
    for kind in ["guard", "original", "trash"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    for (file, bytes) in files(home.dir.path()) {
        for text in &texts {
            assert!(!has_any(&bytes, std::slice::from_ref(text)), "{} holds {text}", file.display());
        }
    }
    assert_eq!((tree(&home, &file), fs::read_to_string(&file).unwrap().lines().count()), before);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    work(&home, &["secrets", path(&file)]);
    let audit = fs::read_to_string(home.dir.path().join("SESSILE_STATE_DIR/scrub.jsonl")).unwrap();
    assert_eq!(audit.lines().count(), 2);
    assert!(audit.contains(r#""level":"secrets""#) && audit.contains(r#""rules":{"#), "{audit}");
    home.run(&["undo"]);
    let all = files(home.dir.path());
    let again = home.run(&["scrub", path(&file), "--forks", "--yes", "--force"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""), "{}", again.out);
    assert!(again.out.starts_with("nothing to remove from 2 sessions"), "{}", again.out);
    assert_eq!(files(home.dir.path()), all);
}

#[test]
fn the_plan_comes_first_and_names_what_stays() {
    let (home, file, texts) = full_home();
    let output = home.dir.path().join("tmp/pi-bash-1.log");
    fs::write(&output, format!("{}\n", key(2))).unwrap();
    let bash = format!(
        r#""message":{{"role":"bashExecution","command":"x","output":"{}","fullOutputPath":"{}"}}"#,
        key(2),
        path(&output)
    );
    let line = entry("message", "r", Some("q"), &bash);
    fs::write(&file, fs::read_to_string(&file).unwrap() + &line + "\n").unwrap();
    age(&file);
    let before = files(home.dir.path());
    let dry = home.run(&["scrub", path(&file), "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.err);
    for words in [
        "gsk_…(52)",
        "also in guard",
        "also in original",
        "also in trash",
        "would remove",
        "--forks",
        "rotate the keys",
        "since 2025-01-01",
        "pi-bash-1.log",
    ] {
        assert!(dry.out.contains(words), "{words} is not in {}", dry.out);
    }
    let unconfirmed = home.run(&["scrub", path(&file), "--force"]);
    assert_eq!((unconfirmed.code, unconfirmed.out.as_str()), (2, ""));
    assert!(
        unconfirmed.err.contains("would remove") && unconfirmed.err.contains("hint: use --yes"),
        "{}",
        unconfirmed.err
    );
    assert!(!has_any(dry.out.as_bytes(), &texts) && !has_any(unconfirmed.err.as_bytes(), &texts));
    let mut after = files(home.dir.path());
    after.retain(|path, _| !path.ends_with("secrets/redaction"));
    let mut before = before;
    before.retain(|path, _| !path.ends_with("secrets/redaction"));
    assert_eq!(after, before);
    let done = home.run(&["scrub", path(&file), "--yes", "--force"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("removed ") && done.out.contains("keeps it; --forks scrubs it, too"), "{}", done.out);
    assert!(!has_any(&fs::read(&file).unwrap(), &texts));
    assert!(holds_any(&home.session_dir(), &texts), "the fork keeps its lines");
}

#[test]
fn a_session_without_secrets_stays_as_it_is() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    let before = files(home.dir.path());
    for words in [&["--yes"][..], &[], &["--dry-run"]] {
        let output = home.run(&[&["scrub", path(&file)], words].concat());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{words:?}");
        assert_eq!(output.out, "nothing to remove from 1 session; nothing was changed\n");
    }
    assert_eq!(files(home.dir.path()), before);
}

#[test]
fn refusals_have_codes_and_change_nothing() {
    let home = Home::new();
    let text = format!("use {}", key(1));
    let file = home.session("x_s1.jsonl", &[user("a", None, &text)]);
    let before = fs::read(&file).unwrap();
    let lock = fs::File::create(file.with_file_name(".x_s1.jsonl.sessile-lock")).unwrap();
    lock.try_lock().unwrap();
    assert_eq!(home.run(&["scrub", path(&file), "--yes"]).code, 4);
    assert_eq!(home.run(&["scrub", path(&file), "--yes", "--force"]).code, 4, "a lock is not to be ignored");
    drop(lock);
    let other = with_id(home.session("y_s2.jsonl", &[user(&key(2), None, "an id")]), "s2");
    let refused = home.run(&["scrub", path(&other), "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("was left unchanged: line 2") && !refused.err.contains(&key(2)), "{}", refused.err);
    let junk = home.project().join("notes.txt");
    fs::write(&junk, &text).unwrap();
    assert_eq!(home.run(&["scrub", path(&junk), "--yes"]).code, 3);
    assert_eq!((fs::read(&file).unwrap(), fs::read_to_string(&junk).unwrap()), (before, text));
    for words in [&["scrub"][..], &["scrub", "x", "--level", "outputs"], &["scrub", path(&file), "--allow", "zz"]] {
        assert_eq!(home.run(words).code, 2, "{words:?}");
    }
    // A session that a program wrote to just now is in use.
    fs::File::options().append(true).open(&file).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    assert_eq!(home.run(&["scrub", path(&file), "--yes"]).code, 4);
    assert_eq!(home.run(&["scrub", path(&file), "--yes", "--force"]).code, 0);
}

#[test]
fn odd_sessions_are_scrubbed() {
    let home = Home::new();
    let torn = home.session("a_s1.jsonl", &[user("a", None, "x"), user("b", Some("a"), &key(1))]);
    let text = fs::read_to_string(&torn).unwrap();
    fs::write(&torn, &text.as_bytes()[..text.len() - 20]).unwrap();
    age(&torn);
    let old = home.session_dir().join("b_s2.jsonl");
    let line = user("a", None, &key(2)).replace(r#""id":"a","parentId":null,"#, "");
    fs::write(
        &old,
        format!(
            "{{\"type\":\"session\",\"id\":\"s2\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/x\"}}\n{line}\n"
        ),
    )
    .unwrap();
    age(&old);
    let source = with_id(home.session("c_s3.jsonl", &[user("z", None, &key(3)), user("y", Some("z"), "later")]), "s3");
    let copy = home.session_dir().join("d_s4.jsonl");
    home.run(&["export", path(&source), "--redact", "-o", path(&copy)]);
    age(&copy);
    let copied = fs::read(&copy).unwrap();
    let clean = home.run(&["scrub", path(&copy), "--yes"]);
    assert_eq!((clean.code, fs::read(&copy).unwrap()), (0, copied), "{}", clean.err);
    let frozen = with_id(home.session("e_s5.jsonl", &[user("f", None, &key(5))]), "s5");
    fs::set_permissions(&frozen, fs::Permissions::from_mode(0o400)).unwrap();
    let marked = with_id(home.session("f_s6.jsonl", &[user("g", None, &key(6))]), "s6");
    fs::write(&marked, [b"\xef\xbb\xbf", fs::read(&marked).unwrap().as_slice()].concat()).unwrap();
    age(&marked);
    for (file, number) in [(&torn, 1), (&old, 2), (&source, 3), (&marked, 6)] {
        let output = home.run(&["scrub", path(file), "--yes"]);
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{}", file.display());
        let left = fs::read_to_string(file).unwrap();
        assert!(!left.contains(&key(number)) && left.contains("[REDACTED:"), "{left}");
    }
    // Only root can lock a file that is not writable.
    let before = fs::read(&frozen).unwrap();
    let output = home.run(&["scrub", path(&frozen), "--yes"]);
    let after = fs::read(&frozen).unwrap();
    match output.code {
        0 => assert!(!has_any(&after, &[key(5)])),
        code => assert_eq!((code, after), (3, before), "{}", output.err),
    }
    assert!(!fs::read_to_string(&torn).unwrap().ends_with('\n'), "a torn line stays torn");
    assert!(!fs::read_to_string(&old).unwrap().contains("\"version\""), "an old session stays old");
}

#[test]
fn an_original_is_kept_on_request_only() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &[user("a", None, &key(1))]);
    let before = fs::read(&file).unwrap();
    let report = answer(&home, &["scrub", path(&file), "--yes", "--keep-original", "--json"]);
    let original = PathBuf::from(report["sessions"][0]["original"].as_str().unwrap());
    assert_eq!(fs::read(&original).unwrap(), before);
    assert_eq!(fs::metadata(&original).unwrap().permissions().mode() & 0o777, 0o600);
    let undone = home.run(&["undo"]);
    assert_eq!(undone.code, 3);
    assert!(undone.err.contains("was scrubbed"), "{}", undone.err);
    work(&home, &["scrub", path(&file), "--yes", "--force"]);
    assert!(!holds_any(home.dir.path(), &[key(1)]), "a later scrub takes the original, too");
}

/// A session whose scrub takes a while, with copies.
fn large_home() -> (Home, PathBuf, Vec<String>) {
    let home = Home::new();
    let mut lines = vec![user("a0", None, &format!("see https://me:{LIKELY}@db.internal/app"))];
    lines.extend((1..150).map(|n| {
        user(&format!("a{n}"), Some(&format!("a{}", n - 1)), &format!("{} and {}", key(n), "x".repeat(2000)))
    }));
    let file = home.session("x_s1.jsonl", &lines);
    fs::copy(&file, format!("{}.orig-2025-01-01T00-00-00-000Z", path(&file))).unwrap();
    work(&home, &["name", path(&file), LIKELY]);
    work(&home, &["list"]);
    work(&home, &["clone", path(&file)]);
    let texts = (1..150).map(key).chain([LIKELY.to_owned()]).collect();
    (home, file, texts)
}

#[test]
fn a_killed_scrub_leaves_the_old_or_the_new_file_and_the_next_one_finishes() {
    let (home, file, texts) = large_home();
    let template = files(home.dir.path());
    let (mut n_old, mut n_new) = (0, 0);
    // The moments are spread around the one at which the file is swapped.
    let begun = std::time::Instant::now();
    work(&home, &["scrub", path(&file), "--forks", "--yes", "--force"]);
    let mut delay = u64::try_from(begun.elapsed().as_millis()).unwrap() / 2;
    while n_old < 2 || n_new < 2 {
        for (path, bytes) in &template {
            fs::write(path, bytes).unwrap();
        }
        age(&file);
        let old = fs::read(&file).unwrap();
        let words = ["scrub", path(&file), "--forks", "--yes", "--force"];
        let mut child = home.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = fs::read(&file).unwrap();
        let is_new = !has_any(&left, &texts);
        assert!(is_new || left == old, "neither the old nor the new file after {delay} ms");
        assert_eq!(String::from_utf8_lossy(&left).lines().count(), String::from_utf8_lossy(&old).lines().count());
        if is_new {
            n_new += 1;
        } else {
            n_old += 1;
        }
        let finished = home.run(&words);
        assert_eq!(finished.code, 0, "after {delay} ms: {}", finished.err);
        for (file, bytes) in files(home.dir.path()) {
            assert!(!has_any(&bytes, &texts), "{} after {delay} ms", file.display());
        }
        // Later if it was killed too early, sooner if too late.
        delay = if is_new { delay * 4 / 5 } else { delay * 5 / 4 + 5 };
        for path in files(home.dir.path()).into_keys().filter(|path| !template.contains_key(path)) {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn appends_and_other_scrubs_meanwhile_lose_nothing() {
    let (home, file, texts) = large_home();
    let words = ["scrub", path(&file), "--yes", "--force", "--json"];
    let mut scrubs: Vec<_> =
        (0..2).map(|_| home.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()).collect();
    let mut appended = Vec::new();
    while scrubs.iter_mut().any(|scrub| scrub.try_wait().unwrap().is_none()) {
        let text = format!("meanwhile {}", appended.len());
        let output = home.run(&["append", path(&file), &text]);
        match output.code {
            0 => appended.push(text),
            code => assert_eq!(code, 4, "{}", output.err),
        }
    }
    for scrub in scrubs {
        let output = scrub.wait_with_output().unwrap();
        let code = output.status.code().unwrap();
        assert!(matches!(code, 0 | 4), "{code}: {}", String::from_utf8_lossy(&output.stderr));
    }
    work(&home, &words[..4]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!has_any(text.as_bytes(), &texts));
    assert!(!appended.is_empty());
    for append in appended {
        assert_eq!(text.matches(&format!("\"{append}\"")).count(), 1, "{append}");
    }
    assert_eq!(home.run(&["verify", path(&file)]).code, 0);
}

#[test]
fn a_reader_goes_on_after_a_scrub() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &[user("a", None, &key(1))]);
    let mut watch =
        home.command(&["watch", path(&file), "--from-start", "--jsonl"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watch.stdout.take().unwrap()));
    assert!(lines.next().unwrap().unwrap().contains("\"a\""));
    let scrubbed = home.run(&["scrub", path(&file), "--yes", "--force"]);
    assert_eq!(scrubbed.code, 0, "{}", scrubbed.err);
    work(&home, &["append", path(&file), "after the scrub"]);
    let next = lines.map(Result::unwrap).find(|line| line.contains("after the scrub"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(next.is_some());
    assert!(!holds_any(home.dir.path(), &[key(1)]));
}

#[test]
fn a_session_of_another_user_is_refused_and_hard_links_are_named() {
    let (home, file, _) = full_home();
    let link = home.dir.path().join("link.jsonl");
    fs::hard_link(&file, &link).unwrap();
    let report = answer(&home, &["scrub", path(&file), "--dry-run", "--force", "--json"]);
    assert_eq!(report["sessions"][0]["otherLinks"], 1, "{report}");
    // Only root can give a file away.
    if std::os::unix::fs::chown(&file, Some(65534), None).is_ok() {
        let before = fs::read(&file).unwrap();
        let output = home.run(&["scrub", path(&file), "--yes", "--force"]);
        assert_eq!((output.code, fs::read(&file).unwrap()), (3, before), "{}", output.err);
        assert!(output.err.contains("belongs to another user"), "{}", output.err);
    }
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let home = Home::new();
    let file = home.session("2025-01-01T00-00-00-000Z_s1.jsonl", &[user("a", None, &key(1))]);
    let before = files(home.dir.path());
    answer(&home, &["scrub", path(&file), "--dry-run", "--force", "--json"]);
    assert_eq!(files(home.dir.path()), before);
}
