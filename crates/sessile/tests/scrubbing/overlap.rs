//! Other programs that read a session before a scrub, and write what they read during it or afterwards.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sessile::branch::ForkPosition;
use sessile::merge::MergeOptions;
use sessile::operations::OperationKind;
use sessile::redact::{Secret, SecretOptions, SecretScrubOptions};
use sessile_testkit::sim::{CallKind, Errno, SimOs, Tear};

use crate::stage::{SECRET, content, find, holding, message, plain_machine, session_path, sessions, write};

fn options() -> SecretScrubOptions<'static> {
    let secrets = SecretOptions { known: vec![Secret::new(SECRET)], ..SecretOptions::default() };
    SecretScrubOptions { secrets, with_sharing: true, ..SecretScrubOptions::default() }
}

/// Whether a scrub of the session and of all with the same entries has finished.
fn is_scrubbed(os: &SimOs) -> bool {
    let scrub = sessions(os, 7).ignoring_users().scrub_secrets(&[session_path()], &options());
    scrub.is_ok_and(|scrub| scrub.failed.is_empty())
}

/// A command that reads a session and writes a copy of it, or caches.
type Command = fn(&SimOs);

const COMMANDS: [(&str, Command); 5] = [
    ("list", |os| drop(sessions(os, 3).list_all())),
    ("fork", |os| {
        let last = Some("b".into());
        drop(sessions(os, 3).fork_session(session_path(), last.as_ref(), ForkPosition::At, OperationKind::Fork));
    }),
    ("new session from another", |os| drop(sessions(os, 3).fork_from(session_path(), "/proj"))),
    ("open", |os| drop(sessions(os, 3).open(session_path()))),
    ("merge", |os| {
        let merged = session_path().with_file_name("2025-01-01T00-00-00-000Z_merged.jsonl");
        let copies = [session_path(), session_path()];
        drop(sessions(os, 3).merge(&copies, Some(&merged), false, &MergeOptions::default()));
    }),
];

fn machine() -> SimOs {
    let os = plain_machine();
    // A fork needs an answer, and an outline is saved only of a large file.
    let answer = message("d", "\"b\"", "yes").replace("\"user\"", "\"assistant\"");
    let filler = message("e", "\"d\"", &"x".repeat(300_000));
    os.foreign_append(session_path(), format!("{answer}\n{filler}\n"));
    os.advance(200_000);
    os.settle();
    os
}

/// What holds the secret, apart from temporary files of killed or running programs.
fn left(os: &SimOs) -> Vec<PathBuf> {
    holding(os, SECRET, "\0")
}

#[test]
fn what_a_program_read_before_a_scrub_is_not_written_after_it() {
    let template = machine();
    for (name, command) in COMMANDS {
        let n_calls = {
            let os = template.fork();
            os.clear_calls();
            command(&os);
            os.calls().len() as u64
        };
        let mut n_scrubbed = 0;
        for n in 1..=n_calls {
            let os = template.fork();
            os.clear_calls();
            let done = Arc::new(Mutex::new(false));
            let result = Arc::clone(&done);
            os.interleave(n, move |os| *result.lock().unwrap() = is_scrubbed(&os.process(3000)));
            command(&os);
            if *done.lock().unwrap() {
                n_scrubbed += 1;
                assert_eq!(left(&os), [""; 0].map(PathBuf::from), "{name}, call {n} of {n_calls}");
            }
        }
        assert!(n_scrubbed > n_calls / 4, "{name}: {n_scrubbed} of {n_calls} scrubs");
    }
}

#[test]
fn what_a_program_writes_during_a_scrub_is_scrubbed() {
    let template = machine();
    let n_calls = {
        let os = template.fork();
        os.clear_calls();
        assert!(is_scrubbed(&os));
        os.calls().len() as u64
    };
    for (name, command) in COMMANDS {
        // A prime, so that all kinds of places are hit.
        for n in (1..=n_calls).step_by(7) {
            let os = template.fork();
            os.clear_calls();
            os.interleave(n, move |os| command(&os.process(3000)));
            if is_scrubbed(&os) {
                assert_eq!(left(&os), [""; 0].map(PathBuf::from), "{name}, call {n} of {n_calls}");
            }
        }
    }
}

#[test]
fn a_moved_session_is_finished_by_the_next_scrub() {
    let given_away = content().replace(&format!("the key is {SECRET}"), "see https://me:kR7-vQ2x9Lw@db.x/app");
    let fork = session_path().with_file_name("2025-01-01T00-00-00-000Z_s3.jsonl");
    let bare =
        content().replace("\"s1\"", "\"s3\"").replace("\"id\":\"a\"", "\"id\":\"q\"").replace(SECRET, "kR7-vQ2x9Lw");
    let os = SimOs::new();
    write(&os, session_path(), &given_away);
    write(&os, &fork, &bare);
    os.advance(200_000);
    os.settle();
    let options = SecretScrubOptions { with_sharing: true, ..SecretScrubOptions::default() };
    let is_clean = |os: &SimOs, path: &PathBuf| find(&os.read_file(path).unwrap(), "kR7-vQ2x9Lw").is_none();
    let n_calls = {
        let os = os.fork();
        os.clear_calls();
        sessions(&os, 2).scrub_secrets(&[session_path()], &options).unwrap();
        os.calls().len() as u64
    };
    let mut n_between = 0;
    for n in 1..=n_calls {
        let os = os.fork();
        os.clear_calls();
        os.crash_at(n, Tear::All);
        drop(sessions(&os, 2).scrub_secrets(&[session_path()], &options));
        let next = os.process(2000);
        next.advance(200_000);
        if !is_clean(&next, &session_path()) || is_clean(&next, &fork) {
            continue;
        }
        n_between += 1;
        let moved = sessions(&next, 3).move_session(&fork, "/new", false).unwrap().sessions.remove(0).to;
        next.advance(200_000);
        sessions(&next, 4).scrub_secrets(&[moved], &options).unwrap();
        assert_eq!(holding(&next, "kR7-vQ2x9Lw", "\0"), [""; 0].map(PathBuf::from), "call {n}");
        let scrubs = next.snapshot().into_keys().filter(|path| path.to_string_lossy().contains("/scrubs/"));
        assert_eq!(scrubs.count(), 0, "call {n}: the traces stay");
    }
    assert!(n_between > 3, "{n_between}");
}

#[test]
fn lines_at_the_former_place_of_a_moved_session_are_scrubbed() {
    let os = plain_machine();
    let moved = sessions(&os, 2).move_session(session_path(), "/new", false).unwrap().sessions.remove(0).to;
    // A program that did not know of the move.
    write(&os, session_path(), &(message("z", "\"c\"", SECRET) + "\n"));
    os.advance(200_000);
    let options = SecretScrubOptions { with_sharing: false, ..options() };
    let scrub = sessions(&os, 3).scrub_secrets(&[moved], &options).unwrap();
    assert!(scrub.failed.is_empty() && scrub.sessions.len() == 2, "{scrub:?}");
    assert_eq!(left(&os), [""; 0].map(PathBuf::from));
}

#[test]
fn a_fork_that_has_lost_its_header_is_scrubbed() {
    let os = plain_machine();
    let fork = session_path().with_file_name("damaged.jsonl");
    let (_, entries) = content().split_once('\n').map(|(first, rest)| (first.to_owned(), rest.to_owned())).unwrap();
    write(&os, &fork, &format!("{{\"type\":\"ses\n{entries}"));
    os.advance(200_000);
    let scrub = sessions(&os, 3).scrub_secrets(&[session_path()], &options()).unwrap();
    assert!(scrub.failed.is_empty() && scrub.sessions.len() == 2, "{scrub:?}");
    assert_eq!(left(&os), [""; 0].map(PathBuf::from));
}

#[test]
fn a_scrub_that_changes_nothing_leaves_nothing() {
    let template = plain_machine();
    let n_calls = {
        let os = template.fork();
        os.clear_calls();
        assert!(is_scrubbed(&os));
        os.calls().len() as u64
    };
    let mut n_unchanged = 0;
    for n in 1..=n_calls {
        let os = template.fork();
        os.clear_calls();
        os.fail_from(n, Errno::NOSPC, CallKind::is_write);
        drop(sessions(&os, 2).ignoring_users().scrub_secrets(&[session_path()], &options()));
        os.heal();
        if os.read_file(session_path()).unwrap() == content().into_bytes() {
            n_unchanged += 1;
            let scrubs = os.snapshot().into_keys().filter(|path| path.to_string_lossy().ends_with(".pending"));
            assert_eq!(scrubs.count(), 0, "call {n}");
        }
    }
    assert!(n_unchanged > 3, "{n_unchanged}");
}

#[test]
fn a_fork_that_cannot_be_read_is_named() {
    let os = plain_machine();
    let fork = session_path().with_file_name("2025-01-01T00-00-00-000Z_s3.jsonl");
    write(&os, &fork, &content().replace("\"s1\"", "\"s3\""));
    os.set_own(&fork, false);
    os.advance(200_000);
    let scrub = sessions(&os, 2).scrub_secrets(&[session_path()], &options()).unwrap();
    assert_eq!(scrub.sessions.len(), 1, "{scrub:?}");
    assert_eq!(scrub.sharing.iter().map(|it| (&it.path, it.n_lines)).collect::<Vec<_>>(), [(&fork, None)]);
}
