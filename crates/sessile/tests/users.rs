//! Detecting users of a session, on a simulated machine and with the genuine pi.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sessile::date::Timestamp;
use sessile::os::{Os, Process};
use sessile::users::{AgentSign, SessionUser};
use sessile::{Sessions, System, draft};
use sessile_testkit::Replay;
use sessile_testkit::rpc::Peer;
use sessile_testkit::sim::SimOs;
use tempfile::TempDir;

const MINUTE: i64 = 60 * 1000;
const NOW_MS: i64 = 1_735_689_600_000;

fn machine() -> (SimOs, Sessions, PathBuf) {
    let os = SimOs::new();
    os.step_clock(NOW_MS - os.now_ms());
    os.make_directories("/s");
    let sessions = simulated(&os, 1);
    let mut session = sessions.clone().with_session_dir("/s").create("/proj").unwrap();
    session.append_message(draft::UserMessage::new("hi", Timestamp::from_ms(1))).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    (os, sessions, path)
}

fn simulated(os: &SimOs, seed: u64) -> Sessions {
    let environment = Replay::new(NOW_MS, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment).on(Arc::new(os.clone())).caching(None)
}

#[test]
fn only_a_write_of_another_program_counts_as_use() {
    let (os, sessions, path) = machine();
    let users = |own_length| sessions.users_of(&path, own_length).unwrap();
    assert_eq!(users(None), [], "the last line is in the guard, so it is our own");
    let line = "{\"type\":\"custom\",\"id\":\"x1\",\"parentId\":null}\n";
    // The environment's clock stands still, so other programs write at an earlier time.
    for (age_ms, is_recent) in [(1500, true), (0, true), (2 * MINUTE, true), (2 * MINUTE + 1, false), (-1000, true)] {
        os.step_clock(-age_ms);
        os.foreign_append(&path, line);
        os.step_clock(age_ms);
        let expected = is_recent.then_some(SessionUser::RecentWrite { age_ms: age_ms.max(0) });
        assert_eq!(users(None), Vec::from_iter(expected));
        let length = os.read_file(&path).unwrap().len() as u64;
        assert_eq!(users(Some(length)), [], "the caller wrote this itself");
        assert_eq!(users(Some(length - 1)).len(), usize::from(is_recent));
    }
    let sentence = SessionUser::RecentWrite { age_ms: 1500 }.to_string();
    assert_eq!(sentence, "it was written to 1 second ago, possibly by another program");
}

#[test]
fn another_process_of_ours_is_named() {
    let (os, sessions, path) = machine();
    let other = os.process(77);
    let mut writer = simulated(&other, 2).open(&path).unwrap();
    assert_eq!(sessions.users_of(&path, None).unwrap(), [], "a process that only reads is not a user");
    writer.append_message(draft::UserMessage::new("theirs", Timestamp::from_ms(1))).unwrap();
    let users = sessions.users_of(&path, None).unwrap();
    let [SessionUser::Sessile { pid: 77, host, since_ms }] = &users[..] else { panic!("{users:?}") };
    assert_eq!((host.as_str(), *since_ms), ("sim", os.now_ms()));
    assert_eq!(users[0].to_string(), "Sessile has it open (process 77 on sim)");
    assert_eq!(
        simulated(&other, 3).users_of(&path, None).unwrap(),
        [],
        "a process is not another user of its own session"
    );
    drop(writer);
    assert_eq!(sessions.users_of(&path, None).unwrap(), []);
}

#[test]
fn agents_are_found_for_all_sessions_at_once() {
    let (os, sessions, path) = machine();
    let mut other = sessions.clone().with_session_dir("/s").create("/other").unwrap();
    other.append_message(draft::UserMessage::new("hi", Timestamp::from_ms(1))).unwrap();
    let other_id = other.session_id();
    os.advance(10 * MINUTE);
    let pi = |pid, directory: &str, arguments: &[&str]| Process {
        pid,
        name: "pi".to_owned(),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        directory: Some(directory.into()),
        program: Some("/usr/bin/node".into()),
    };
    os.set_running(vec![
        pi(1, "/proj", &["pi"]),
        pi(2, "/", &["pi", "--session", other_id.as_str()]),
        pi(3, "/", &["pi"]),
    ]);
    let list = sessions.clone().with_session_dir("/s").list_all().unwrap();
    let all = sessions.users_of_all(&list);
    let agent = |pid, why| vec![SessionUser::Agent { pid, program: "pi".to_owned(), why }];
    for (info, users) in list.iter().zip(&all) {
        let expected =
            if info.path == path { agent(1, AgentSign::SameDirectory) } else { agent(2, AgentSign::NamesSession) };
        assert_eq!((users, &sessions.users_of(&info.path, None).unwrap()), (&expected, &expected));
    }
    assert_eq!(all.len(), 2);
}

/// A path to a copy of the session refers to another session; a missing path may be its old one.
#[test]
fn an_agent_that_uses_a_copy_does_not_use_the_session() {
    let (os, sessions, path) = machine();
    let copy = Path::new("/copies").join(path.file_name().unwrap());
    os.advance(10 * MINUTE);
    let run = |named: &Path| {
        let arguments = ["pi", "--session", named.to_str().unwrap()].map(str::to_owned).to_vec();
        let (name, program) = ("pi".to_owned(), Some("/usr/bin/node".into()));
        os.set_running(vec![Process { pid: 5, name, arguments, directory: Some("/".into()), program }]);
        sessions.users_of(&path, None).unwrap().len()
    };
    assert_eq!(run(&path), 1);
    assert_eq!(run(&copy), 1, "the copy does not exist yet");
    os.make_directory(Path::new("/copies")).unwrap();
    os.foreign_append(&copy, b"a copy");
    assert_eq!((run(&copy), run(&path)), (0, 1));
}

/// The genuine pi replaces its arguments with a title, and stays in its directory.
#[cfg(target_os = "linux")]
#[test]
fn the_genuine_pi_is_found_in_its_directory_while_it_runs() {
    let home = TempDir::new().unwrap();
    // The real path, as the system reports it.
    let home = home.path().canonicalize().unwrap();
    let project = home.join("proj");
    std::fs::create_dir(&project).unwrap();
    let sessions = Sessions::new(System).caching(None);
    let mut session = sessions.clone().with_session_dir(home.join("s")).create(&project).unwrap();
    session.append_message(draft::UserMessage::new("hi", Timestamp::from_ms(1))).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    drop(session);
    let agents = || {
        let users = sessions.users_of(&path, None).unwrap();
        users.into_iter().filter(|user| matches!(user, SessionUser::Agent { .. })).collect::<Vec<_>>()
    };
    assert_eq!(agents(), []);

    let mut pi = Peer::pi(&home, &["--session", path.to_str().unwrap()]);
    pi.ask_raw(b"{\"type\":\"get_state\"}\n");
    let agent = SessionUser::Agent { pid: pi.id(), program: "pi".to_owned(), why: AgentSign::SameDirectory };
    assert_eq!(agents(), [agent]);
    let node = std::fs::read_link(format!("/proc/{}/exe", pi.id())).unwrap();
    pi.finish();
    assert_eq!(agents(), [], "the agent has exited");

    let mut other = Command::new(node);
    other.args(["-e", "console.log('here'); setInterval(() => {}, 100000)"]).stdout(Stdio::piped());
    let mut other = other.current_dir(&project).spawn().unwrap();
    let mut word = [0; 4];
    other.stdout.take().unwrap().read_exact(&mut word).unwrap();
    assert_eq!(agents(), [], "another Node program is not an agent");
    other.kill().unwrap();
    other.wait().unwrap();
}
