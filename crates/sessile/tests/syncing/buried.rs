//! Sessions that are deleted everywhere.

use std::path::PathBuf;

use sessile::SessionError;
use sessile::operations::Deleted;
use sessile::sync::remote::{Fault, MemoryServer, Server};
use sessile::sync::{Direction, SyncOptions, SyncResult, SyncScope, SyncState};
use sessile_testkit::sim::Tear;

use crate::stage::{Machine, PATH, entry, log_of};

fn sync_with(machine: &Machine, server: &MemoryServer, scope: &SyncScope, options: &SyncOptions) -> Vec<SyncResult> {
    let mut results = Vec::new();
    let mut server = server.clone();
    machine.sessions().sync(&mut server, scope, options, &mut |result| results.push(result)).unwrap();
    results
}

fn sync(machine: &Machine, server: &MemoryServer) -> Vec<SyncResult> {
    sync_with(machine, server, &SyncScope::Known, &SyncOptions::default())
}

/// The state of the only session that a synchronization looked at.
#[track_caller]
fn state(results: &[SyncResult]) -> SyncState {
    assert_eq!(results.len(), 1, "{results:?}");
    results[0].result.as_ref().unwrap().state.clone()
}

fn delete(machine: &Machine, server: &mut dyn Server) -> Result<Deleted, SessionError> {
    machine.sessions().delete_everywhere(server, &[PathBuf::from(PATH)], false, &sessile::Cancel::default())
}

fn restoring() -> SyncOptions {
    SyncOptions { direction: Direction::Push, restores: true, ..SyncOptions::default() }
}

fn file() -> SyncScope {
    SyncScope::Files(vec![PATH.into()])
}

/// The text of the session in the trash of a machine.
fn trashed(machine: &Machine) -> Vec<String> {
    let found = machine.sessions().in_trash().unwrap();
    found.iter().map(|it| String::from_utf8(machine.os.read_file(&it.slot.file).unwrap()).unwrap()).collect()
}

/// Two machines with the same session.
fn two_machines() -> (MemoryServer, Machine, Machine) {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::empty(2));
    sync_with(&one, &server, &SyncScope::All, &SyncOptions::default());
    sync(&two, &server);
    for machine in [&one, &two] {
        machine.rest();
    }
    (server, one, two)
}

fn has_log(server: &MemoryServer) -> bool {
    server.clone().head(None, "s1").unwrap().is_some()
}

#[test]
fn a_tombstone_wins_and_offline_edits_are_in_the_trash() {
    let (server, one, two) = two_machines();
    two.add(&entry("o", "b", 9, "written offline"));
    let deleted = delete(&one, &mut server.clone()).unwrap();
    assert!(deleted.sessions[0].is_on_remote && !has_log(&server) && one.os.read_file(PATH).is_none());

    let planned = sync_with(
        &two,
        &server,
        &SyncScope::Known,
        &SyncOptions { direction: Direction::Compare, ..SyncOptions::default() },
    );
    assert_eq!(state(&planned), SyncState::Deleted { operation: None, has_own_lines: true });
    let before = two.text();
    let pushed = sync_with(
        &two,
        &server,
        &SyncScope::All,
        &SyncOptions { direction: Direction::Push, ..SyncOptions::default() },
    );
    assert_eq!(state(&pushed), SyncState::Deleted { operation: None, has_own_lines: true });
    assert_eq!((two.text(), has_log(&server)), (before.clone(), false));

    let SyncState::Deleted { operation: Some(operation), has_own_lines: true } = state(&sync(&two, &server)) else {
        panic!("not deleted")
    };
    assert!(two.os.read_file(PATH).is_none() && !has_log(&server));
    assert_eq!(trashed(&two), std::slice::from_ref(&before));
    assert!(sync(&two, &server).is_empty());

    // Restored, it stays here, and is not pushed unless that is asked for.
    two.sessions().undo(Some(&operation), false).unwrap();
    two.rest();
    for scope in [SyncScope::Known, SyncScope::All, file()] {
        assert_eq!(state(&sync_with(&two, &server, &scope, &SyncOptions::default())), SyncState::Buried);
        assert_eq!((two.text(), has_log(&server)), (before.clone(), false));
    }
    assert_eq!(state(&sync_with(&two, &server, &file(), &restoring())), SyncState::Equal);
    assert_eq!(log_of(&server), two.lines());
    assert_eq!(server.clone().head(None, "s1").unwrap().unwrap().position.epoch, 1);
    let mut tombstones = 0;
    server.clone().tombstones(None, &mut |_| tombstones += 1).unwrap();
    assert_eq!(tombstones, 0);

    // The first machine gets it again, and both go on.
    assert_eq!(state(&sync(&one, &server)), SyncState::Equal);
    assert_eq!(one.lines(), two.lines());
    one.add(&entry("p", "o", 12, "goes on"));
    assert_eq!(state(&sync(&one, &server)), SyncState::Equal);
    assert_eq!(state(&sync(&two, &server)), SyncState::Equal);
    assert_eq!((one.lines(), log_of(&server)), (two.lines(), two.lines()));
}

#[test]
fn a_machine_that_slept_through_deletion_and_restoration_goes_on() {
    let (server, one, two) = two_machines();
    two.add(&entry("o", "b", 9, "written offline"));
    let deleted = delete(&one, &mut server.clone()).unwrap();
    one.sessions().undo(deleted.operation.as_deref(), false).unwrap();
    one.rest();
    sync_with(&one, &server, &file(), &restoring());
    assert_eq!(state(&sync(&two, &server)), SyncState::Equal);
    sync(&one, &server);
    assert_eq!((one.lines(), log_of(&server)), (two.lines(), two.lines()));
    assert!(two.lines().contains("written offline") && trashed(&two).is_empty());
}

#[test]
fn entries_that_a_new_log_lacks_join_it() {
    let (server, one, two) = two_machines();
    let three = Machine::empty(3);
    sync(&three, &server);
    three.add(&entry("o", "b", 9, "written offline"));
    two.add(&entry("c", "b", 10, "pushed before"));
    sync(&two, &server);
    delete(&one, &mut server.clone()).unwrap();
    // The third machine restores its own lines, which lack one that the second machine knows to be in the log.
    sync(&three, &server);
    three.sessions().undo(None, false).unwrap();
    three.rest();
    sync_with(&three, &server, &file(), &restoring());
    assert!(!log_of(&server).contains("pushed before"));
    assert_eq!(state(&sync(&two, &server)), SyncState::Equal);
    for text in ["written offline", "pushed before"] {
        assert_eq!(log_of(&server).matches(text).count(), 1, "{text}");
    }
    sync(&three, &server);
    assert_eq!((two.lines(), log_of(&server)), (three.lines(), three.lines()));
}

#[test]
fn what_only_the_log_has_comes_here_first() {
    let (server, one, two) = two_machines();
    two.add(&entry("c", "b", 9, "of the other machine"));
    sync(&two, &server);
    delete(&one, &mut server.clone()).unwrap();
    assert!(trashed(&one)[0].contains("of the other machine"));

    // If both went on, it is not deleted.
    let (server, one, two) = two_machines();
    two.add(&entry("c", "b", 9, "of the other machine"));
    sync(&two, &server);
    one.add(&entry("d", "b", 10, "of this machine"));
    let before = one.text();
    assert!(matches!(delete(&one, &mut server.clone()), Err(SessionError::LacksRemoteLines { .. })));
    assert_eq!((one.text(), has_log(&server)), (before, true));
    let forced = one.sessions().ignoring_users();
    let cancel = sessile::Cancel::default();
    forced.delete_everywhere(&mut server.clone(), &[PathBuf::from(PATH)], false, &cancel).unwrap();
    assert!(!has_log(&server) && one.os.read_file(PATH).is_none());
}

#[test]
fn a_file_in_use_stays_until_it_is_not() {
    let (server, one, two) = two_machines();
    delete(&one, &mut server.clone()).unwrap();
    two.run_pi();
    for _ in 0..2 {
        assert_eq!(state(&sync(&two, &server)), SyncState::Deleted { operation: None, has_own_lines: false });
        assert!(two.os.read_file(PATH).is_some());
    }
    two.end_pi();
    assert!(matches!(state(&sync(&two, &server)), SyncState::Deleted { operation: Some(_), .. }));
    assert!(two.os.read_file(PATH).is_none());

    let (server, one, _) = two_machines();
    one.run_pi();
    assert!(matches!(delete(&one, &mut server.clone()), Err(SessionError::InUse { .. })));
    assert!(has_log(&server) && one.os.read_file(PATH).is_some());
}

#[test]
fn a_file_that_was_never_in_the_log_stays() {
    let (server, one, _) = two_machines();
    delete(&one, &mut server.clone()).unwrap();
    let copy = Machine::new(3);
    let all = sync_with(&copy, &server, &SyncScope::All, &SyncOptions::default());
    assert_eq!(state(&all), SyncState::Buried);
    assert!(copy.os.read_file(PATH).is_some() && !has_log(&server));
    // It was not on the server, so only the file goes.
    let deleted = delete(&copy, &mut server.clone()).unwrap();
    assert!(!deleted.sessions[0].is_on_remote && copy.os.read_file(PATH).is_none());
}

#[test]
fn without_the_server_nothing_is_deleted() {
    let (server, one, _) = two_machines();
    let before = one.text();
    let mut client = server.clone();
    client.fail_next(Fault::BeforeCommit);
    assert!(delete(&one, &mut client).is_err());
    assert_eq!((one.text(), has_log(&server)), (before, true));

    // If the answer is lost, the next synchronization finishes it.
    let mut client = server.clone();
    client.fail_next(Fault::AfterCommit);
    assert!(delete(&one, &mut client).is_err());
    assert!(!has_log(&server) && one.os.read_file(PATH).is_some());
    one.rest();
    assert!(matches!(state(&sync(&one, &server)), SyncState::Deleted { operation: Some(_), .. }));
    assert!(one.os.read_file(PATH).is_none());
}

/// The session is on both sides, or on none and whole in the trash.
#[track_caller]
fn assert_settled(machine: &Machine, server: &MemoryServer, text: &str, what: &str) {
    // A loss of power leaves an empty line for one that was being written.
    let clean = |text: String| text.split_inclusive('\n').filter(|line| !line.contains('\0')).collect::<String>();
    if has_log(server) {
        // A torn line of an interrupted pull may be there, too.
        assert!(text.lines().all(|line| machine.text().contains(line)), "{what}");
        assert!(trashed(machine).is_empty(), "{what}");
    } else {
        assert!(machine.os.read_file(PATH).is_none(), "{what}");
        assert_eq!(trashed(machine).into_iter().map(clean).collect::<Vec<_>>(), [text], "{what}");
    }
}

#[test]
fn the_deleting_process_may_be_killed_anywhere() {
    let mut n_buried = 0;
    for tear in Tear::EVERY {
        for n in 1.. {
            let (server, one, two) = two_machines();
            two.add(&entry("c", "b", 9, "of the other machine"));
            sync(&two, &server);
            one.rest();
            one.os.crash_at(n, tear);
            let deleted = delete(&one, &mut server.clone());
            if !one.os.crashed() {
                deleted.unwrap();
                assert!(n > 20, "too few calls to crash in");
                break;
            }
            // The crash may be anywhere, but what the server has is what it has.
            n_buried += u32::from(!has_log(&server));
            let text = two.text();
            let next = one.on(one.os.process(2000));
            next.rest();
            sync(&next, &server);
            assert_settled(&next, &server, &text, &format!("{tear:?} at {n}"));
            assert!(sync(&next, &server).is_empty());
        }
    }
    assert!(n_buried > 10, "{n_buried} crashes after the burial");
}

#[test]
fn a_following_machine_may_die_anywhere() {
    for tear in Tear::EVERY {
        for n in 1.. {
            let (server, one, two) = two_machines();
            two.add(&entry("o", "b", 9, "written offline"));
            delete(&one, &mut server.clone()).unwrap();
            let text = two.text();
            two.os.crash_at(n, tear);
            let (mut client, options) = (server.clone(), SyncOptions::default());
            let synced = two.sessions().sync(&mut client, &SyncScope::Known, &options, &mut drop);
            if !two.os.crashed() {
                synced.unwrap();
                assert!(n > 20, "too few calls to crash in");
                break;
            }
            for os in [two.os.process(2000), two.os.power_loss(n)] {
                let next = two.on(os);
                next.rest();
                sync(&next, &server);
                assert_settled(&next, &server, &text, &format!("{tear:?} at {n}"));
            }
        }
    }
}

#[test]
fn a_restoring_machine_may_die_anywhere() {
    for tear in Tear::EVERY {
        for n in 1.. {
            let (server, one, two) = two_machines();
            let deleted = delete(&one, &mut server.clone()).unwrap();
            sync(&two, &server);
            one.sessions().undo(deleted.operation.as_deref(), false).unwrap();
            one.rest();
            let text = one.text();
            one.os.crash_at(n, tear);
            let mut client = server.clone();
            let pushed = one.sessions().sync(&mut client, &file(), &restoring(), &mut drop);
            if !one.os.crashed() {
                pushed.unwrap();
                assert!(n > 10, "too few calls to crash in");
                break;
            }
            let next = one.on(one.os.process(2000));
            next.rest();
            if has_log(&server) {
                sync(&next, &server);
            } else {
                sync_with(&next, &server, &file(), &restoring());
            }
            assert_eq!((next.text(), log_of(&server)), (text, next.lines()), "{tear:?} at {n}");
            two.rest();
            sync(&two, &server);
            assert_eq!(two.lines(), next.lines());
        }
    }
}
