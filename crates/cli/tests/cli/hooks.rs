//! Hooks run by commands that change something, and the examples of docs/hooks.md.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use sessile::compaction::{CompactOptions, CompactionSettings, Generator, Summarizer, Summary, SummaryFailure};
use sessile::event::Handlers;
use sessile::hooks::HookFolder;
use sessile::os::RealOs;
use sessile::{SessionError, SessionHost, Sessions};

use super::changes::{last, lines, path};
use super::*;

fn hooks_dir(home: &Home) -> PathBuf {
    let dir = home.dir.path().join("SESSILE_CONFIG_DIR/hooks");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn install(dir: &Path, event: &str, script: &str) {
    let hook = dir.join(event);
    std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// Writes every event to a file, one per line.
fn log_all(home: &Home) -> PathBuf {
    let (dir, log) = (hooks_dir(home), home.dir.path().join("log"));
    for kind in sessile::event::EventKind::ALL {
        install(&dir, kind.name(), &format!("/bin/cat >> '{}'", log.display()));
    }
    log
}

fn kinds(log: &Path) -> Vec<String> {
    if !log.exists() {
        return Vec::new();
    }
    let kinds = lines(log).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    std::fs::remove_file(log).unwrap();
    kinds
}

#[test]
fn changes_run_hooks() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let log = log_all(&home);
    for (words, expected_kinds) in [
        (vec!["append", path(&file), "hello"], vec!["entry_appended"]),
        (vec!["name", path(&file), "One"], vec!["entry_appended", "session_info_changed"]),
        (vec!["undo"], vec!["entry_appended", "session_info_changed"]),
        (vec!["label", path(&file), "a", "begin"], vec!["entry_appended"]),
        (vec!["branch", path(&file), "b"], vec!["leaf_moved"]),
        (vec!["fork", path(&file), "c"], vec!["session_before_fork", "session_start", "session_fork"]),
        (vec!["clone", path(&file)], vec!["session_before_fork", "session_start", "session_fork"]),
        (vec!["new", "--name", "Two"], vec!["session_start", "entry_appended", "session_info_changed"]),
        // Commands that change nothing run no hooks.
        (vec!["append", path(&file), "hello", "--dry-run"], vec![]),
        (vec!["new", "--dry-run", "--name", "x"], vec![]),
        (vec!["fork", path(&file), "c", "--dry-run"], vec![]),
        (vec!["delete", path(&file), "--dry-run"], vec![]),
        (vec!["list"], vec![]),
        (vec!["show", path(&file)], vec![]),
        (vec!["delete", path(&file), "--yes"], vec!["session_deleted"]),
        (vec!["--sample", "append", "@1", "hello"], vec![]),
    ] {
        let output = home.run(&words);
        assert_eq!((output.code, output.err.contains("warning")), (0, false), "{words:?}: {}", output.err);
        assert_eq!(kinds(&log), expected_kinds, "{words:?}");
    }
}

#[test]
fn changes_by_a_hook_run_no_hooks() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let log = log_all(&home);
    assert_eq!(output_of(home.command(&["append", path(&file), "x"]).env("SESSILE_HOOK", "entry_appended")).code, 0);
    assert!(kinds(&log).is_empty());
}

#[test]
fn a_hook_prevents_a_fork_and_a_broken_one_prevents_nothing() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let hook = hooks_dir(&home).join("session_before_fork");
    install(&hooks_dir(&home), "session_before_fork", "echo '{\"cancel\": true}'");
    let error = format!("error: nothing was done: the hook {} vetoed it\n", hook.display());
    home.run(&["clone", path(&file)]).expect(3, &error);
    install(&hooks_dir(&home), "session_before_fork", "printf 'oh \\033[2J dear' >&2; exit 1");
    let output = home.run(&["clone", path(&file), "--json"]);
    let warning = format!("warning: {} failed (exit status: 1): oh ␛[2J dear\n", hook.display());
    assert_eq!((output.code, output.err), (0, warning), "control characters in a hook's message are escaped");
}

#[test]
fn settings_have_the_hook_directory_and_timeout() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let elsewhere = home.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    install(&elsewhere, "entry_appended", "while :; do /bin/sleep 1; done");
    home.run(&["config", "set", "hooks.dir", path(&elsewhere)]).expect(0, "");
    home.run(&["config", "set", "hooks.timeout", "1"]).expect(0, "");
    let output = home.run(&["append", path(&file), "hello"]);
    let warning = format!("warning: {}/entry_appended took longer than 1 s\n", elsewhere.display());
    assert_eq!((output.code, output.err), (0, warning));
    assert_eq!(last(&file)["message"]["content"], "hello", "the entry was written before the hook ran");
}

// ------------------------------------------------------------------------------------------------------- examples

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks").join(name)
}

/// Installs an example as a hook.
fn install_example(home: &Home, name: &str, event: &str) {
    let hook = hooks_dir(home).join(event);
    std::fs::copy(example(name).join(event), &hook).unwrap();
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns a command with a `PATH` on which examples find the programs they need.
fn with_programs(home: &Home, words: &[&str]) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_sessile")).parent().unwrap();
    let theirs = std::env::var("PATH").unwrap();
    let mut command = home.command(words);
    command.env("PATH", format!("{}:{theirs}", ours.display()));
    command
}

#[test]
fn an_example_names_sessions_by_their_first_question() {
    let home = Home::new();
    install_example(&home, "name-by-first-question", "entry_appended");
    let file = home.session("x.jsonl", &[] as &[&str]);
    let append = |words: &[&str]| {
        let words = [&["append", path(&file)], words].concat();
        let output = output_of(&mut with_programs(&home, &words));
        assert_eq!((output.code, output.err.as_str()), (0, ""));
        home.run(&["name", path(&file)]).out
    };
    assert_eq!(append(&["--role", "system", "Be brief."]), "", "a system message does not name the session");
    assert_eq!(
        append(&["Why is\nthe tide table an hour early after the clocks change?"]),
        "Why is the tide table an hour early…\n"
    );
    assert_eq!(append(&["And now?"]), "Why is the tide table an hour early…\n", "the first question names the session");
    assert_eq!(lines(&file).len(), 5, "the header, three messages and one name");
}

#[test]
fn an_example_posts_labels() {
    let home = Home::new();
    install_example(&home, "post-labels", "entry_appended");
    let file = home.session("x.jsonl", &small());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/labels", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(given) = line.to_lowercase().strip_prefix("content-length:") {
                length = given.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()
    });
    // Only labels are posted: the server answers once.
    output_of(with_programs(&home, &["append", path(&file), "hello"]).env("LABELS_URL", &url)).expect(0, "");
    output_of(with_programs(&home, &["label", path(&file), "a", "begin"]).env("LABELS_URL", &url)).expect(0, "");
    let posted = server.join().unwrap();
    assert_eq!(
        (&posted["label"], &posted["entryId"], &posted["sessionId"]),
        (&"begin".into(), &"a".into(), &"s1".into())
    );
    // If the server is gone, the label is set and the failure is reported.
    let output = output_of(with_programs(&home, &["label", path(&file), "b", "more"]).env("LABELS_URL", &url));
    assert!(output.code == 0 && output.err.contains("entry_appended failed"), "{}", output.err);
    assert_eq!(last(&file)["label"], "more");
}

/// Returns the same summary each time.
struct FixedSummary;

impl Summarizer for FixedSummary {
    fn generator(&self) -> Generator {
        Generator::Extractive
    }

    fn summarize(
        &self,
        _request: &sessile::compaction::SummaryRequest<'_>,
        _progress: &mut dyn FnMut(sessile::compaction::SummaryProgress<'_>),
        _cancel: &sessile::Cancel,
    ) -> Result<Summary, SummaryFailure> {
        Ok(Summary::new("a summary"))
    }
}

#[test]
fn an_example_prevents_compaction_while_tests_fail() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let hook = example("no-compaction-while-red").join("session_before_compact");
    // The tests of this project are a file that determines how they end.
    let script = format!("TEST_COMMAND='. ./tests' exec '{}'", hook.display());
    install(&hooks_dir(&home), "session_before_compact", &script);
    let handlers = Handlers::new();
    HookFolder::new(Arc::new(RealOs), hooks_dir(&home), Duration::from_mins(10)).register(&handlers);
    let sessions = Sessions::default().caching(None).with_handlers(handlers.clone());
    let session = sessions.open(&file).unwrap();
    let mut host = SessionHost::new(sessions, session);
    let mut compact = || {
        let settings = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
        host.session_mut().compact(CompactOptions { settings, ..CompactOptions::default() }, &FixedSummary, &mut |_| {})
    };
    std::fs::write(home.project().join("tests"), "echo one of them fails; exit 1").unwrap();
    assert!(matches!(compact(), Err(SessionError::Cancelled)));
    std::fs::write(home.project().join("tests"), "echo all is well; exit 0").unwrap();
    assert!(compact().is_ok());
    assert_eq!(last(&file)["type"], "compaction");
    assert_eq!(handlers.take_failures(), []);
}
