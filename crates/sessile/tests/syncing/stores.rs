//! Whole stores on several machines.

use std::borrow::Cow;

use sessile::SessionError;
use sessile::os::Os;
use sessile::scrub::{ScrubOptions, Scrubber};
use sessile::sync::remote::{Batch, MemoryServer, NewSession, Server};
use sessile::sync::{Direction, SyncOptions, SyncResult, SyncScope, SyncState, SyncSummary};
use sessile::text::query::Query;
use sessile::text::terms::query_terms;
use sessile_testkit::sim::{SnapshotEntry, Tear};

use crate::stage::{Machine, PATH, entry, ids, log_of};

fn sync(machine: &Machine, server: &MemoryServer, scope: &SyncScope) -> (Vec<SyncResult>, SyncSummary) {
    let mut results = Vec::new();
    let mut server = server.clone();
    let options = SyncOptions::default();
    let summary = machine.sessions().sync(&mut server, scope, &options, &mut |result| results.push(result)).unwrap();
    (results, summary)
}

/// The text of a session of a working directory.
fn session(id: &str, cwd: &str) -> String {
    let header =
        format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-02T00:00:00.000Z","cwd":"{cwd}"}}"#);
    format!("{header}\n{}\n", entry("a", "", 1, id))
}

fn path(directory: &str, id: &str) -> String {
    format!("/home/u/.pi/agent/sessions/{directory}/2025-01-02T00-00-00-000Z_{id}.jsonl")
}

#[test]
fn sessions_appear_on_the_other_machine() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::empty(2));
    let other = path("--proj--", "s2");
    one.write(&other, &session("s2", "/proj"));
    let (results, summary) = sync(&one, &server, &SyncScope::All);
    assert_eq!((results.len(), summary.n_unchanged), (2, 0));
    let (results, _) = sync(&two, &server, &SyncScope::Known);
    assert_eq!(results.len(), 2);
    for file in [PATH, &other] {
        assert_eq!(two.os.read_file(file), one.os.read_file(file), "{file}");
    }
    // From now on, both machines know them.
    one.add(&entry("c", "b", 3, "more"));
    assert_eq!(sync(&one, &server, &SyncScope::Known).1.n_unchanged, 1);
    let (results, summary) = sync(&two, &server, &SyncScope::Known);
    assert_eq!((results.len(), summary.n_unchanged), (1, 1));
    assert_eq!(results[0].result.as_ref().unwrap().n_pulled, 1);
    assert_eq!(two.os.read_file(PATH), one.os.read_file(PATH));
}

#[test]
fn what_has_not_changed_is_not_read() {
    let server = MemoryServer::new("alice");
    let one = Machine::new(1);
    sync(&one, &server, &SyncScope::All);
    one.sessions().list_all().unwrap();
    one.os.clear_calls();
    assert_eq!(sync(&one, &server, &SyncScope::All).1.n_unchanged, 1);
    let opened: Vec<String> = one.os.calls().into_iter().filter(|call| call.starts_with("open")).collect();
    let n_listed = {
        one.os.clear_calls();
        one.sessions().list_all().unwrap();
        one.os.calls().iter().filter(|call| call.starts_with("open") && call.contains("s1.jsonl")).count()
    };
    assert_eq!(opened.iter().filter(|call| call.contains("s1.jsonl")).count(), n_listed, "{opened:#?}");
}

#[test]
fn a_rewritten_file_is_read_from_its_beginning() {
    let server = MemoryServer::new("alice");
    let one = Machine::new(1);
    sync(&one, &server, &SyncScope::All);
    // A program rewrites the file: the known beginning is not trusted.
    let text = one.text().replace("second", "SECOND");
    one.os.foreign_rewrite(PATH, &text);
    one.rest();
    let (results, _) = sync(&one, &server, &SyncScope::All);
    let synced = results[0].result.as_ref().unwrap();
    assert_eq!((synced.n_pushed, &synced.state), (1, &SyncState::Equal), "{synced:?}");
    assert!(one.text().contains("SECOND") && one.text().contains("second"));
}

#[test]
fn a_session_that_was_deleted_here_does_not_come_back() {
    let server = MemoryServer::new("alice");
    let one = Machine::new(1);
    sync(&one, &server, &SyncScope::All);
    one.os.foreign_remove(PATH);
    let (results, summary) = sync(&one, &server, &SyncScope::Known);
    assert!(results.is_empty());
    assert_eq!(summary.deleted_here, ["s1"]);
    // Unless it is asked for.
    sync(&one, &server, &SyncScope::Ids(vec!["s1".to_owned()]));
    assert!(one.os.read_file(PATH).is_some());
    let (results, _) = sync(&one, &server, &SyncScope::Ids(vec!["none".to_owned()]));
    assert!(matches!(results[0].result, Err(SessionError::NotOnRemote { .. })));
}

#[test]
fn a_session_finds_its_repository() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::empty(1), Machine::empty(2));
    one.write("/code/clone/.git/config", "[remote \"origin\"]\n\turl = git@host.example:team/project.git\n");
    one.write(&path("--code-clone-src--", "s2"), &session("s2", "/code/clone/src"));
    two.write("/src/project/.git/config", "[remote \"origin\"]\n\turl = https://host.example/team/project\n");
    two.write(&path("--src-project--", "s3"), &session("s3", "/src/project"));
    sync(&one, &server, &SyncScope::All);
    sync(&two, &server, &SyncScope::Known);
    let text = two.os.read_file(path("--src-project-src--", "s2")).unwrap();
    assert!(String::from_utf8(text).unwrap().starts_with(
        r#"{"type":"session","version":3,"id":"s2","timestamp":"2025-01-02T00:00:00.000Z","cwd":"/src/project/src"}"#
    ));
    // The header is each machine's own.
    let (results, summary) = sync(&two, &server, &SyncScope::All);
    assert_eq!((results.len(), summary.n_unchanged), (1, 1));
}

/// pi looks for sessions in a directory that is named after the working directory, where a slash at the end would count.
#[test]
fn a_session_of_a_whole_repository_is_where_pi_looks_for_it() {
    let server = MemoryServer::new("alice");
    let (one, two, three) = (Machine::empty(1), Machine::empty(2), Machine::empty(3));
    let git = "[remote \"origin\"]\n\turl = https://host.example/team/project\n";
    one.write("/code/clone/.git/config", git);
    one.write(&path("--code-clone--", "s2"), &session("s2", "/code/clone"));
    two.write("/src/project/.git/config", git);
    two.write(&path("--src-project--", "s3"), &session("s3", "/src/project"));
    // Without a session, the current directory says where the repository is.
    three.write("/elsewhere/.git/config", git);
    sync(&one, &server, &SyncScope::All);
    for (machine, directory, cwd) in [(two, "--src-project--", "/src/project"), (three, "--elsewhere--", "/elsewhere")]
    {
        sync(&machine, &server, &SyncScope::Known);
        let text = String::from_utf8(machine.os.read_file(path(directory, "s2")).unwrap()).unwrap();
        assert!(text.contains(&format!("\"cwd\":\"{cwd}\"}}")), "{text}");
    }
}

#[test]
fn headers_of_a_server_do_not_choose_paths() {
    let mut server = MemoryServer::new("alice");
    for (id, header) in [
        (
            "../evil",
            r#"{"type":"session","version":3,"id":"../evil","timestamp":"2025-01-02T00:00:00.000Z","cwd":"/p"}"#,
        ),
        ("s4", r#"{"type":"session","version":3,"id":"s5","timestamp":"2025-01-02T00:00:00.000Z","cwd":"/p"}"#),
        ("s6", r#"{"type":"session","version":9,"id":"s6","timestamp":"2025-01-02T00:00:00.000Z","cwd":"/p"}"#),
        ("s7", r#"{"type":"session","version":3,"id":"s7","timestamp":"../../../../../x","cwd":"/../../p"}"#),
        ("s8", "not json"),
    ] {
        let new = NewSession { header_id: id, header: header.as_bytes(), ..NewSession::default() };
        let head = server.create(&new).unwrap();
        let mut batch = Batch::at(head.position);
        batch.push(b"{}").unwrap();
        server.append(head.no, &batch, None).unwrap();
    }
    let one = Machine::empty(1);
    let (results, _) = sync(&one, &server, &SyncScope::Known);
    let made: Vec<String> = results
        .iter()
        .filter(|it| it.result.is_ok())
        .map(|it| it.path.clone().unwrap().display().to_string())
        .collect();
    assert_eq!(made.len(), 1, "{results:?}");
    assert!(made[0].starts_with("/home/u/.pi/agent/sessions/--"), "{made:?}");
    assert_eq!(made[0].matches('/').count(), 7, "{made:?}");
}

#[test]
fn comparing_changes_nothing() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::empty(2));
    one.sync(&server).unwrap();
    one.add(&entry("c", "b", 3, "more"));
    let mut states = Vec::new();
    for machine in [&one, &two] {
        let options = SyncOptions { direction: Direction::Compare, ..SyncOptions::default() };
        let before = machine.os.read_file(PATH);
        let mut take = |result: SyncResult| states.push(result.result.unwrap().state);
        machine.sessions().sync(&mut server.clone(), &SyncScope::Known, &options, &mut take).unwrap();
        assert_eq!(machine.os.read_file(PATH), before);
    }
    assert_eq!(states, [SyncState::Ahead, SyncState::Behind]);
}

/// Replaces one word by another.
struct Word(&'static str, &'static str);

impl Scrubber for Word {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        Ok(Cow::Owned(String::from_utf8_lossy(line).replace(self.0, self.1).into_bytes()))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        Cow::Owned(text.replace(self.0, self.1))
    }
}

fn scrub(machine: &Machine) {
    machine.sessions().scrub(PATH, ScrubOptions::default(), &mut Word("second", "[gone]")).unwrap();
    machine.rest();
}

/// No file of a machine contains the word.
#[track_caller]
fn assert_gone(machine: &Machine, server: &MemoryServer) {
    assert!(!log_of(server).contains("second"));
    let snapshot = machine.os.snapshot();
    for (path, entry) in &snapshot {
        if let SnapshotEntry::File(content) = entry {
            assert!(!String::from_utf8_lossy(content).contains("second"), "{}", path.display());
        }
    }
}

/// How many pushes have all words of a query.
fn n_candidates(server: &MemoryServer, query: &str) -> usize {
    let sets = query_terms(&Query::parse(query).unwrap());
    assert_eq!(sets.len(), 1, "{query}");
    server.clone().candidates(&sets[0], None, 200).unwrap().found.len()
}

#[test]
fn what_was_pushed_is_found_by_its_words() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    one.add(&entry("c", "b", 3, "a quixotic needle"));
    sync(&one, &server, &SyncScope::All);
    sync(&two, &server, &SyncScope::All);
    one.add(&entry("d", "c", 4, "another Needle"));
    sync(&one, &server, &SyncScope::Known);
    assert_eq!([n_candidates(&server, "needle"), n_candidates(&server, "quixotic NEEDLE")], [2, 1]);
    assert_eq!([n_candidates(&server, "quixotic another"), n_candidates(&server, "message")], [0, 0]);

    // The words of a branch that another machine pushes, and those that a scrub leaves.
    two.add(&entry("e", "b", 5, "over there"));
    sync(&two, &server, &SyncScope::Known);
    assert_eq!(n_candidates(&server, "over"), 1);
    assert_eq!(n_candidates(&server, "second"), 1);
    sync(&one, &server, &SyncScope::Known);
    scrub(&one);
    sync(&one, &server, &SyncScope::Known);
    assert_eq!([n_candidates(&server, "second"), n_candidates(&server, "gone")], [0, 1]);
    assert_eq!(n_candidates(&server, "needle over"), 1, "the log was pushed again at once");
}

#[test]
fn a_scrub_reaches_the_server_and_all_machines() {
    let server = MemoryServer::new("alice");
    let (one, two) = (Machine::new(1), Machine::new(2));
    sync(&one, &server, &SyncScope::All);
    sync(&two, &server, &SyncScope::All);
    scrub(&one);
    // Meanwhile, the other machine goes on, and one of its entries reaches the server.
    two.add(&entry("c", "b", 3, "there"));
    sync(&two, &server, &SyncScope::Known);
    two.add(&entry("d", "c", 4, "there, too"));
    one.add(&entry("e", "b", 5, "here"));
    for machine in [&one, &two, &one, &two] {
        let (results, _) = sync(machine, &server, &SyncScope::Known);
        assert!(results.iter().all(|it| it.result.is_ok()), "{results:?}");
    }
    assert_eq!(one.lines(), two.lines());
    assert_eq!(log_of(&server), two.lines());
    assert_eq!(ids(&two.lines()), ["a", "b", "odd", "c", "e", "d"]);
    for machine in [&one, &two] {
        assert_gone(machine, &server);
    }
    assert_eq!(sync(&one, &server, &SyncScope::Known).1.n_unchanged, 1);
}

#[test]
fn a_scrub_reaches_the_server_although_the_machine_dies() {
    for n in 1.. {
        let server = MemoryServer::new("alice");
        let (one, two) = (Machine::new(1), Machine::new(2));
        sync(&one, &server, &SyncScope::All);
        sync(&two, &server, &SyncScope::All);
        one.os.crash_at(n, Tear::Half);
        let scrubbed = one.sessions().scrub(PATH, ScrubOptions::default(), &mut Word("second", "[gone]"));
        if !one.os.crashed() {
            scrubbed.unwrap();
            assert!(n > 20, "too few calls to crash in");
            break;
        }
        let next = one.on(one.os.process(2000));
        next.rest();
        let was_scrubbed = next.text().contains("[gone]");
        for machine in [&next, &two, &next, &two] {
            let (results, _) = sync(machine, &server, &SyncScope::Known);
            assert!(results.iter().all(|it| it.result.is_ok()), "{n}: {results:?}");
        }
        assert_eq!(next.lines(), two.lines());
        assert_eq!(log_of(&server), two.lines());
        assert_eq!(ids(&two.lines()), ["a", "b", "odd"], "{n}");
        assert_eq!(next.text().contains("[gone]"), was_scrubbed, "{n}");
    }
}

#[test]
fn an_older_epoch_is_refused() {
    let server = MemoryServer::new("alice");
    let one = Machine::new(1);
    sync(&one, &server, &SyncScope::All);
    scrub(&one);
    sync(&one, &server, &SyncScope::All);
    one.add(&entry("e", "b", 5, "here"));
    // A backup from before the scrub.
    let old = MemoryServer::new("alice");
    Machine::new(3).sync(&old).unwrap();
    let before = (one.text(), log_of(&old));
    let (results, _) = sync(&one, &old, &SyncScope::All);
    assert!(matches!(results[0].result, Err(SessionError::RemoteReplaced { epoch: 0, known: 1, .. })), "{results:?}");
    assert_eq!((one.text(), log_of(&old)), before);
}

#[test]
fn a_server_from_an_old_backup_gets_everything_again() {
    let server = MemoryServer::new("alice");
    let (one, other) = (Machine::new(1), path("--proj--", "s2"));
    sync(&one, &server, &SyncScope::All);
    // Later than the time by which changes overlap.
    for number in 0..70 {
        one.add(&entry(&format!("n{number}"), "b", 3, "more"));
        sync(&one, &server, &SyncScope::Known);
    }
    one.write(&other, &session("s2", "/proj"));
    sync(&one, &server, &SyncScope::All);
    assert_eq!(sync(&one, &server, &SyncScope::Known).1.n_unchanged, 2);
    let backup = MemoryServer::new("alice");
    Machine::new(3).sync(&backup).unwrap();
    // No file has changed, and no head of the backup is new; all the same, it lacks lines and a session.
    sync(&one, &backup, &SyncScope::Known);
    assert_eq!(log_of(&backup), one.lines());
    assert!(backup.clone().head(None, "s2").unwrap().is_some());
    assert_eq!(sync(&one, &backup, &SyncScope::Known).1.n_unchanged, 2);
}

#[test]
fn copies_of_a_killed_process_do_not_stay() {
    let copies = |machine: &Machine| machine.os.list("/home/u/state/remote-copies".as_ref()).unwrap_or_default().len();
    let mut n_left = 0;
    for n in 1.. {
        let server = MemoryServer::new("alice");
        let (one, two) = (Machine::new(1), Machine::new(2));
        for machine in [&one, &two] {
            sync(machine, &server, &SyncScope::All);
        }
        one.add(&entry("c", "b", 3, "here"));
        two.add(&entry("d", "b", 4, "there"));
        sync(&one, &server, &SyncScope::All);
        two.os.crash_at(n, Tear::Half);
        drop(two.sessions().sync(&mut server.clone(), &SyncScope::All, &SyncOptions::default(), &mut |_| ()));
        if !two.os.crashed() {
            break;
        }
        let next = two.on(two.os.process(2000));
        n_left += copies(&next);
        next.rest();
        if n % 2 == 0 {
            scrub(&next);
        } else {
            next.os.advance(3_600_000);
            sync(&next, &server, &SyncScope::All);
        }
        assert_eq!(copies(&next), 0, "{n}");
    }
    assert!(n_left > 0, "no copy was left to be removed");
}
