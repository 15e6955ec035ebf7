//! A scrub whose process dies, whose calls fail, or next to which other programs write.

use std::sync::{Arc, Mutex};

use sessile::SessionError;
use sessile::date::Timestamp;
use sessile::draft::UserMessage;
use sessile::operations::{Operation, OperationKind, OperationState};
use sessile_testkit::sim::{Errno, SimOs, Tear};

use crate::stage::{
    NAME, PLACEHOLDER, SECRET, assert_clean, find, full_machine, message, plain_machine, scrub, session_path, sessions,
};

/// The session has its old or its new lines.
#[track_caller]
fn assert_whole(os: &SimOs, old: &str) {
    let found = String::from_utf8(os.read_file(session_path()).unwrap()).unwrap();
    assert!(found == old || found == old.replace(SECRET, PLACEHOLDER), "{found}");
}

/// Another scrub finishes what is left.
#[track_caller]
fn assert_finishable(os: &SimOs, old: &str) {
    scrub(os, 99).unwrap();
    assert_clean(os);
    let found = String::from_utf8(os.read_file(session_path()).unwrap()).unwrap();
    assert_eq!(found, old.replace(SECRET, PLACEHOLDER));
    let ours = sessions(os, 100);
    let operations = ours.operations().unwrap();
    // Power loss may take the mark of an operation that has not done anything.
    let is_open = |it: &Operation| it.state == OperationState::Unfinished && !it.steps.is_empty();
    assert!(!operations.iter().any(is_open), "{operations:?}");
    let audit = os.read_file("/home/u/state/scrub.jsonl").unwrap();
    assert!(find(&audit, "sha256").is_some());
}

fn old_text(os: &SimOs) -> String {
    String::from_utf8(os.read_file(session_path()).unwrap()).unwrap()
}

#[test]
fn a_scrub_may_be_interrupted_anywhere() {
    let template = full_machine();
    let old = old_text(&template);
    for tear in Tear::EVERY {
        for n in 1.. {
            let os = template.fork();
            os.crash_at(n, tear);
            let scrubbed = scrub(&os, 7);
            if !os.crashed() {
                scrubbed.unwrap();
                assert!(n > 100, "too few calls to crash in");
                break;
            }
            assert_whole(&os.power_loss(n), &old);
            let next = os.process(2000);
            // Sidecars of a dead process must not block the next one.
            next.advance(20_000);
            assert_whole(&next, &old);
            assert_finishable(&next, &old);
        }
    }
}

#[test]
fn a_scrub_may_be_interrupted_by_power_loss_anywhere() {
    let template = full_machine();
    let old = old_text(&template);
    for n in 1.. {
        let os = template.fork();
        os.crash_at(n, Tear::Half);
        drop(scrub(&os, 7));
        if !os.crashed() {
            break;
        }
        let rebooted = os.power_loss(n + 1000);
        rebooted.advance(20_000);
        assert_finishable(&rebooted, &old);
    }
}

#[test]
fn a_scrub_may_fail_anywhere() {
    let template = full_machine();
    let old = old_text(&template);
    let n_calls = {
        let os = template.fork();
        scrub(&os, 7).unwrap();
        os.calls().len() as u64
    };
    for errno in [Errno::IO, Errno::NOSPC] {
        for n in 1..=n_calls {
            let os = template.fork();
            os.fail_call(n, errno);
            drop(scrub(&os, 7));
            os.heal();
            os.advance(20_000);
            assert_whole(&os, &old);
            assert_finishable(&os, &old);
        }
    }
}

/// What another program appends is kept, and scrubbed if it came before the swap was over.
#[test]
fn a_foreign_append_during_a_scrub_is_kept_and_scrubbed() {
    let template = plain_machine();
    let late = format!("{}\n", message("late", "\"b\"", SECRET));
    let (n_calls, swapped) = {
        let os = template.fork();
        scrub(&os, 7).unwrap();
        let calls = os.calls();
        let is_swap = |call: &String| call.starts_with("rename") && call.contains(&format!(".{NAME}.sessile-tmp-"));
        (calls.len() as u64, calls.iter().position(is_swap).unwrap_or_else(|| panic!("{calls:#?}")) as u64)
    };
    for n in 1..=n_calls {
        // Whole, and torn in the middle of the secret, with the rest a few calls later.
        for cut in [None, Some(find(late.as_bytes(), SECRET).unwrap() + 4)] {
            let os = template.fork();
            let (first, rest) = late.split_at(cut.unwrap_or(late.len()));
            let (first, rest) = (first.to_owned(), rest.to_owned());
            os.on_call(n, move |world| world.foreign_append(&session_path(), first.as_bytes()));
            if !rest.is_empty() {
                os.on_call(n + 3, move |world| world.foreign_append(&session_path(), rest.as_bytes()));
            }
            drop(scrub(&os, 7).unwrap());
            let text = old_text(&os);
            assert_eq!(text.matches("\"late\"").count(), 1, "{n} {cut:?}: {text}");
            if n <= swapped && (cut.is_none() || n + 3 <= swapped) {
                assert_clean(&os);
            }
            // A program that opens the file again in the middle of a line may find the new one.
            if n + 3 <= swapped || cut.is_none() {
                os.advance(20_000);
                scrub(&os, 8).unwrap();
                assert_clean(&os);
                let late = late.replace(SECRET, PLACEHOLDER);
                assert!(old_text(&os).contains(&late), "{n} {cut:?}: {}", old_text(&os));
            }
        }
    }
}

/// Another process of ours either fails or has its entry in the session.
#[test]
fn concurrent_appends_of_ours_are_kept() {
    let template = plain_machine();
    let n_calls = {
        let os = template.fork();
        scrub(&os, 7).unwrap();
        os.calls().len() as u64
    };
    let mut n_written = 0;
    for n in 1..=n_calls {
        let os = template.fork();
        let rival = os.process(2000);
        let written = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&written);
        os.interleave(n, move |_| {
            let appended = sessions(&rival, 3)
                .open(session_path())
                .and_then(|mut session| session.append_message(UserMessage::new("rival", Timestamp::from_ms(1))));
            *seen.lock().unwrap() = Some(appended.map(|id| id.to_string()));
        });
        match scrub(&os, 7) {
            Ok(_) => {}
            Err(SessionError::InUse { .. } | SessionError::Store(_)) => continue,
            Err(error) => panic!("{n}: {error}"),
        }
        let written = written.lock().unwrap().take();
        if let Some(Ok(id)) = written {
            n_written += 1;
            assert!(old_text(&os).contains(&format!("\"id\":\"{id}\"")), "{n}: {}", old_text(&os));
        }
        assert_clean(&os);
    }
    assert!(n_written > 10, "only {n_written} appends happened");
}

#[test]
fn an_interrupted_scrub_blocks_the_undo_of_earlier_operations() {
    let template = full_machine();
    let mut n_blocked = 0;
    for n in 1.. {
        let os = template.fork();
        os.crash_at(n, Tear::All);
        drop(scrub(&os, 7));
        if !os.crashed() {
            break;
        }
        let next = os.process(2000);
        next.advance(20_000);
        let ours = sessions(&next, 8);
        let swapped = find(&next.read_file(session_path()).unwrap(), SECRET).is_none();
        let renamed = ours.operations().unwrap().into_iter().find(|it| it.kind == OperationKind::Label).unwrap();
        match ours.undo(Some(&renamed.id), false) {
            Err(SessionError::ChangedSince { what, .. }) => {
                assert!(what.contains("not finished"), "{what}");
                n_blocked += 1;
            }
            Ok(_) => assert!(!swapped || find(&next.read_file(session_path()).unwrap(), SECRET).is_none(), "{n}"),
            Err(error) => panic!("{n}: {error}"),
        }
    }
    assert!(n_blocked > 50, "only {n_blocked}");
}
