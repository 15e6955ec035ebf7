//! Scrubs that look for secrets themselves.

use std::path::{Path, PathBuf};

use sessile::redact::{Level, Secret, SecretOptions, SecretScrub, SecretScrubOptions};
use sessile::{Cancel, SessionError};
use sessile_testkit::sim::{SimOs, Tear};

use crate::stage::{
    SECRET, STATE, assert_clean, content, find, full_machine, holding, plain_machine, session_path, sessions, write,
};

/// A password that only the URL around it gives away.
const LIKELY: &str = "kR7-vQ2x9Lw";

fn knowing() -> SecretScrubOptions<'static> {
    let secrets = SecretOptions { known: vec![Secret::new(SECRET)], ..SecretOptions::default() };
    SecretScrubOptions { secrets, ..SecretScrubOptions::default() }
}

fn run(os: &SimOs, seed: u64, options: &SecretScrubOptions<'_>) -> Result<SecretScrub, SessionError> {
    sessions(os, seed).scrub_secrets(&[session_path()], options)
}

fn text(os: &SimOs, path: impl AsRef<Path>) -> String {
    String::from_utf8(os.read_file(path).unwrap()).unwrap()
}

#[test]
fn secrets_are_gone_from_every_place_and_a_second_run_changes_nothing() {
    let os = full_machine();
    let before = text(&os, session_path());
    let planned = run(&os, 2, &SecretScrubOptions { dry_run: true, ..knowing() }).unwrap();
    assert_eq!(text(&os, session_path()), before);
    assert_eq!((planned.n_findings(), planned.sessions[0].findings.len()), (5, 4));
    let scrub = run(&os, 3, &knowing()).unwrap();
    assert!(scrub.failed.is_empty() && scrub.sharing.is_empty(), "{scrub:?}");
    assert_clean(&os);
    let placeholder = &scrub.sessions[0].findings[0].placeholder;
    assert_eq!(text(&os, session_path()), before.replace(SECRET, placeholder));
    assert_eq!(scrub.sessions[0].scrubbed.copies, planned.sessions[0].scrubbed.copies);
    let audit = text(&os, Path::new(STATE).join("scrub.jsonl"));
    for part in [r#""level":"secrets""#, r#""rulesVersion":"#, r#":5},"findings":[{"entryId":"a","pointer":"#] {
        assert!(audit.contains(part), "{part} is not in {audit}");
    }
    let snapshot = os.snapshot();
    let again = run(&os, 4, &knowing()).unwrap();
    assert!(!again.is_needed() && again.sessions.len() == 1, "{again:?}");
    assert_eq!(os.snapshot(), snapshot);
}

#[test]
fn a_session_without_secrets_stays_as_it_is() {
    let os = plain_machine();
    let snapshot = os.snapshot();
    let scrub = run(&os, 2, &SecretScrubOptions::default()).unwrap();
    assert!(!scrub.is_needed());
    assert_eq!(os.snapshot(), snapshot, "no lock, no key, no log");
}

/// A session whose first message gives the value away, and that had it as its name. A fork has it in its own entry,
/// without the message.
fn likely_machine() -> SimOs {
    let os = SimOs::new();
    let given_away = content().replace(&format!("the key is {SECRET}"), &format!("see https://me:{LIKELY}@db.x/app"));
    write(&os, session_path(), &given_away.replace(SECRET, "nothing"));
    let fork = content().replace("\"s1\"", "\"s3\"").replace("\"id\":\"a\"", "\"id\":\"q\"").replace(SECRET, LIKELY);
    write(&os, fork_path(), &fork);
    let ours = sessions(&os, 1);
    ours.rename(session_path(), Some(&format!("about {LIKELY}")), false).unwrap();
    ours.rename(session_path(), Some("harmless"), false).unwrap();
    os.advance(200_000);
    os.settle();
    os
}

fn fork_path() -> PathBuf {
    session_path().with_file_name("2025-01-01T00-00-00-000Z_s3.jsonl")
}

#[test]
fn sessions_with_the_same_entries_are_named_or_scrubbed() {
    let os = likely_machine();
    let before = text(&os, fork_path());
    let scrub = run(&os, 2, &SecretScrubOptions::default()).unwrap();
    assert_eq!(scrub.sharing.iter().map(|it| (&it.path, it.n_lines)).collect::<Vec<_>>(), [(&fork_path(), Some(2))]);
    assert_eq!(holding(&os, LIKELY, "\0"), [fork_path()]);
    assert_eq!(text(&os, fork_path()), before);
    let os = likely_machine();
    let scrub = run(&os, 2, &SecretScrubOptions { with_sharing: true, ..SecretScrubOptions::default() }).unwrap();
    assert_eq!((scrub.sessions.len(), scrub.sharing.len()), (2, 0));
    assert_eq!(holding(&os, LIKELY, "\0"), [""; 0].map(PathBuf::from));
}

/// Once the message that gives a value away is scrubbed, its bare repeats must still be found.
#[test]
fn an_interrupted_scrub_is_finished_though_nothing_gives_the_value_away_any_more() {
    let template = likely_machine();
    let options = SecretScrubOptions { with_sharing: true, ..SecretScrubOptions::default() };
    let calls = {
        let os = template.fork();
        run(&os, 2, &options).unwrap();
        os.calls()
    };
    let verbs = ["rename", "link", "remove", "append", "write_at", "set_length"];
    let is_change = |call: &String| verbs.iter().any(|verb| call.starts_with(verb));
    let changes: Vec<(u64, &String)> = (1..).zip(&calls).filter(|(_, call)| is_change(call)).collect();
    assert!(changes.len() > 30, "{calls:#?}");
    let mut n_hidden = 0;
    for (n, call) in changes {
        let os = template.fork();
        os.crash_at(n, Tear::All);
        drop(run(&os, 2, &options));
        let next = os.process(2000);
        next.advance(200_000);
        let is_scrubbed = |path: PathBuf| find(&next.read_file(path).unwrap(), LIKELY).is_none();
        n_hidden += usize::from(is_scrubbed(session_path()) && !is_scrubbed(fork_path()));
        let finished = run(&next, 3, &options).unwrap();
        assert!(finished.failed.is_empty(), "{n}: {finished:?}");
        assert_eq!(holding(&next, LIKELY, "\0"), [""; 0].map(PathBuf::from), "{n}: {call}");
        assert_eq!(next.snapshot().keys().filter(|path| path.to_string_lossy().ends_with(".pending")).count(), 0);
    }
    assert!(n_hidden > 3, "only {n_hidden} crashes between the two sessions");
}

#[test]
fn headers_keep_their_directory() {
    let os = SimOs::new();
    let words =
        content().replace("\"/proj\"", "\"/home/alice/x\"").replace(SECRET, "see /home/alice/x/y of alice@b.org");
    write(&os, session_path(), &words);
    let scrub = run(&os, 2, &SecretScrubOptions { level: Level::Pii, ..SecretScrubOptions::default() }).unwrap();
    assert!(scrub.sessions[0].report.names > 0, "{scrub:?}");
    let scrubbed = text(&os, session_path());
    let (header, rest) = scrubbed.split_once('\n').unwrap();
    assert!(header.contains("/home/alice/x") && !rest.contains("alice"), "{scrubbed}");
    let again = run(&os, 3, &SecretScrubOptions { level: Level::Pii, ..SecretScrubOptions::default() }).unwrap();
    assert!(!again.is_needed(), "{again:?}");
}

#[test]
fn refusals_leave_everything_as_it_is() {
    let os = full_machine();
    let snapshot = os.snapshot();
    let refused = run(&os, 2, &SecretScrubOptions { level: Level::Outputs, ..knowing() }).unwrap_err();
    assert!(matches!(refused, SessionError::Redact(_)), "{refused}");
    let cancel = Cancel::default();
    cancel.cancel();
    let refused = run(&os, 2, &SecretScrubOptions { cancel, ..knowing() }).unwrap_err();
    assert!(matches!(refused, SessionError::Cancelled), "{refused}");
    let refused = sessions(&os, 2).read_only().scrub_secrets(&[session_path()], &knowing()).unwrap_err();
    assert!(matches!(refused, SessionError::ReadOnly), "{refused}");
    assert_eq!(os.snapshot(), snapshot);
    let os = SimOs::new();
    write(&os, session_path(), &content().replace("\"id\":\"b\"", &format!("\"id\":\"{SECRET}\"")));
    let before = text(&os, session_path());
    let refused = run(&os, 2, &knowing()).unwrap_err();
    assert!(matches!(&refused, SessionError::ScrubFailed { line: 3, .. }), "{refused}");
    assert!(!refused.to_string().contains(SECRET), "{refused}");
    assert_eq!(text(&os, session_path()), before);
    write(&os, "/home/u/notes.txt", &format!("the key is {SECRET}\n"));
    let refused = sessions(&os, 2).scrub_secrets(&["/home/u/notes.txt".into()], &knowing()).unwrap_err();
    assert!(matches!(refused, SessionError::NotASession { .. }), "{refused}");
}
