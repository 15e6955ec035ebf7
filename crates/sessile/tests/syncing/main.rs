//! Sessions on several machines, and their logs on a server.
#![expect(clippy::disallowed_methods, reason = "tests access the environment directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod buried;
mod converging;
mod faults;
mod stage;
mod stores;

use sessile::redact::{Secret, SecretOptions};
use sessile::sync::remote::MemoryServer;
use sessile::sync::{Direction, SyncOptions, SyncState};
use stage::{Machine, entry, ids, log_of};

#[test]
fn a_session_goes_from_one_machine_to_the_other() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    let synced = one.sync(&server).unwrap();
    assert_eq!((synced.n_pushed, synced.n_pulled, synced.state), (3, 0, SyncState::Equal));
    assert_eq!(one.sync(&server).unwrap().n_pushed, 0);
    one.add(&entry("c", "b", 3, "more"));
    assert_eq!(one.sync(&server).unwrap().n_pushed, 1);
    let synced = two.sync(&server).unwrap();
    assert_eq!((synced.n_pushed, synced.n_pulled, synced.state), (0, 1, SyncState::Equal));
    assert_eq!(one.lines(), two.lines());
    assert_eq!(log_of(&server), two.lines());
}

#[test]
fn both_machines_keep_their_branches() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    one.sync(&server).unwrap();
    one.add(&entry("c", "b", 10, "here"));
    one.add(&entry("d", "c", 11, "here, too"));
    two.add(&entry("e", "b", 5, "there"));
    let contexts = (one.context_at("d"), two.context_at("e"));
    one.sync(&server).unwrap();
    let synced = two.sync(&server).unwrap();
    assert_eq!((synced.n_pushed, synced.n_pulled, synced.n_renamed, synced.state), (1, 2, 0, SyncState::Equal));
    assert_eq!(ids(&two.lines()), ["a", "b", "odd", "c", "d", "e"]);
    assert_eq!(one.sync(&server).unwrap().n_pulled, 1);
    assert_eq!(one.lines(), two.lines());
    for machine in [&one, &two] {
        assert_eq!((machine.context_at("d"), machine.context_at("e")), contexts.clone());
        assert!(machine.originals().is_empty());
    }
}

#[test]
fn an_id_that_both_machines_made_is_kept_once_and_changed_once() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    one.add(&entry("c", "b", 10, "here"));
    one.add(&entry("d", "c", 11, "after here"));
    two.add(&entry("c", "b", 12, "there"));
    two.add(&entry("e", "c", 13, "after there"));
    let (here, there) = (one.context_at("d"), two.context_at("e"));
    one.sync(&server).unwrap();
    let synced = two.sync(&server).unwrap();
    assert_eq!((synced.n_pushed, synced.n_renamed), (2, 1));
    one.sync(&server).unwrap();
    assert_eq!(one.lines(), two.lines());
    assert_eq!((two.context_at("d"), two.context_at("e")), (here, there));
}

#[test]
fn a_file_in_use_only_grows_and_takes_the_order_later() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    one.sync(&server).unwrap();
    one.add(&entry("c", "b", 10, "here"));
    one.sync(&server).unwrap();
    two.add(&entry("e", "b", 5, "there"));
    let before = two.text();
    two.run_pi();
    let synced = two.sync(&server).unwrap();
    assert_eq!((synced.n_pushed, synced.n_pulled, synced.state), (1, 1, SyncState::OtherOrder));
    assert!(two.text().starts_with(&before));
    assert_eq!(two.sync(&server).unwrap().n_pulled, 0);
    one.sync(&server).unwrap();
    assert_eq!(log_of(&server), one.lines());
    two.end_pi();
    assert_eq!(two.sync(&server).unwrap().state, SyncState::Equal);
    assert_eq!(one.lines(), two.lines());
}

#[test]
fn long_branches_go_line_by_line() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    for (machine, name) in [(&one, "h"), (&two, "t")] {
        let mut parent = "b".to_owned();
        for number in 0..50 {
            let id = format!("{name}{number}");
            machine.add(&entry(&id, &parent, 10 + number, &format!("{name} {number}")));
            parent = id;
        }
    }
    one.sync(&server).unwrap();
    assert_eq!(two.sync(&server).unwrap().n_pushed, 50);
    assert_eq!(one.sync(&server).unwrap().n_pulled, 50);
    assert_eq!(one.lines(), two.lines());
}

#[test]
fn one_direction_changes_one_side() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    one.sync(&server).unwrap();
    one.add(&entry("c", "b", 10, "here"));
    let with = |direction| SyncOptions { direction, ..SyncOptions::default() };
    assert_eq!(one.sync_with(&server, &with(Direction::Pull)).unwrap().state, SyncState::Ahead);
    one.sync(&server).unwrap();
    assert_eq!(two.sync_with(&server, &with(Direction::Push)).unwrap().state, SyncState::Behind);
    two.add(&entry("e", "b", 5, "there"));
    for direction in [Direction::Push, Direction::Pull] {
        let before = (two.text(), log_of(&server));
        assert_eq!(two.sync_with(&server, &with(direction)).unwrap().state, SyncState::Diverged);
        assert_eq!((two.text(), log_of(&server)), before);
    }
}

#[test]
fn secrets_stop_a_session() {
    let server = MemoryServer::new("alice");
    let one = Machine::new(1);
    one.sync(&server).unwrap();
    one.add(&entry("c", "b", 10, "fine"));
    one.add(&entry("d", "c", 11, "the key is zqxsecret1234"));
    let secrets = SecretOptions { known: vec![Secret::new("zqxsecret1234")], ..SecretOptions::default() };
    let careful = SyncOptions { secrets: Some(secrets), ..SyncOptions::default() };
    let synced = one.sync_with(&server, &careful).unwrap();
    let SyncState::Secrets(found) = synced.state else { panic!("{synced:?}") };
    assert_eq!((found.len(), found[0].line, synced.n_pushed), (1, 6, 0));
    assert_eq!(ids(&log_of(&server)), ["a", "b", "odd"]);
    assert_eq!(one.sync(&server).unwrap().n_pushed, 2);
}

#[test]
fn an_old_session_is_upgraded_first() {
    let server = MemoryServer::new("alice");
    let one = Machine::with(
        1,
        "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/proj\"}\n\
         {\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
    );
    assert_eq!(one.sync(&server).unwrap().n_pushed, 1);
    assert!(one.text().contains("\"version\":3"));
    assert_eq!(log_of(&server), one.lines());
}
