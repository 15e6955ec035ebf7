//! A whole store in memory, as embedders use it in their tests.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, UserMessage};
use sessile::operations::Deletion;
use sessile::os::{FileKind, Lock, MemoryOs, Mode, Os};
use sessile::search::{SearchOptions, Upkeep};
use sessile::text::query::Query;
use sessile::{OpenOptions, Sessions};
use sessile_testkit::sim::SimOs;

/// Runs in a separate process, whose home and working directory are empty.
const CHILD: &str = "SESSILE_TEST_MEMORY_SYSTEM";

#[test]
fn a_store_in_memory_writes_nothing_to_the_disk() {
    let home = tempfile::tempdir().unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "everything_works_in_memory", "--include-ignored"])
        .env(CHILD, "1")
        .env("HOME", home.path())
        .envs(["XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| (name, home.path())))
        .env_remove("PI_CODING_AGENT_DIR")
        .current_dir(home.path())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "something was written");
}

#[test]
fn everything_works_in_memory() {
    let sessions = Sessions::in_memory_system();
    assert_eq!(sessions.list_all().unwrap(), []);
    let mut session = sessions.create("/proj").unwrap();
    let question = session.append_message(UserMessage::new("Where is the harbour?", Timestamp::from_ms(1))).unwrap();
    session.append_message(AssistantMessage::new("acme", "acme-1", "At the sea.", Timestamp::from_ms(2))).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    assert!(path.starts_with(sessile::testing::HOME) && !path.exists());
    sessions
        .create("/other")
        .unwrap()
        .append_message(UserMessage::new("Something else", Timestamp::from_ms(3)))
        .unwrap();
    session.branch(&question).unwrap();
    let last =
        session.append_message(AssistantMessage::new("acme", "acme-1", "By the quay.", Timestamp::from_ms(4))).unwrap();

    assert_eq!(sessions.list("/proj").unwrap().len(), 1);
    assert_eq!(sessions.list_all().unwrap().len(), 2);
    assert_eq!(sessions.continue_recent("/proj").unwrap().leaf_id(), Some(last));
    assert!(sessions.open(path.with_file_name("none.jsonl")).unwrap_err().is_not_found());
    sessions.open_with(path.with_file_name("none.jsonl"), &OpenOptions::new().create(true)).unwrap();
    for upkeep in [Upkeep::Never, Upkeep::Always, Upkeep::IfCheap] {
        let options = SearchOptions { upkeep, ..SearchOptions::default() };
        let found = sessions.search(&Query::parse("harbour").unwrap(), &options).unwrap();
        let hits: Vec<_> = found.hits.iter().map(|hit| hit.session_path.clone()).collect();
        assert_eq!(hits, std::slice::from_ref(&path), "{upkeep:?}");
    }
    assert!(sessions.verify(&path).unwrap().findings.is_empty());

    drop(session);
    let sessions = sessions.ignoring_users();
    sessions.delete(std::slice::from_ref(&path), Deletion::ToTrash, false).unwrap();
    assert_eq!(sessions.list("/proj").unwrap(), []);
    assert!(sessions.open(&path).unwrap_err().is_not_found());
    sessions.undo(None, false).unwrap();
    assert_eq!(sessions.list("/proj").unwrap().len(), 1);
    sessions.delete(std::slice::from_ref(&path), Deletion::ToTrash, false).unwrap();
    sessions.restore(&path.file_name().unwrap().to_string_lossy(), false).unwrap();
    assert_eq!(sessions.list("/proj").unwrap().len(), 1);
    let copy = sessions.fork_from(&path, "/copy").unwrap();
    assert_eq!(copy.entry_count(), 3);
    // Another store knows nothing of it.
    assert_eq!(Sessions::in_memory_system().list_all().unwrap(), []);
}

/// Performs one random call, and returns its result as text.
fn act(os: &dyn Os, random: &mut impl FnMut(usize) -> usize) -> String {
    let names = ["/d", "/d/a", "/d/b", "/d/in", "/d/in/a", "/d/in/b", "/d/a/x", "/none/x"];
    let (one, other) = (PathBuf::from(names[random(names.len())]), PathBuf::from(names[random(names.len())]));
    let modes = [Mode::Read, Mode::Append, Mode::New, Mode::Sidecar];
    let (mode, call, number) = (modes[random(4)], random(11), random(9) as u64);
    let done = |done: io::Result<()>| done.map(|()| "done".to_owned());
    let result = match call {
        0 => done(os.make_directory(&one)),
        1 => done(os.remove_directory(&one)),
        2 => done(os.remove(&one)),
        3 => done(os.rename(&one, &other)),
        4 => done(os.rename_new(&one, &other)),
        5 => done(os.link(&one, &other)),
        6 => os.stat(&one).map(|stat| match stat.kind {
            FileKind::Regular => format!("{} {} {:o}", stat.length, stat.n_links, stat.mode),
            kind => format!("{kind:?}"),
        }),
        7 => os.list(&one).map(|mut found| {
            found.sort();
            format!("{found:?}")
        }),
        8 => done(os.set_mode(&one, 0o700)),
        _ => os.open(&one, mode).and_then(|file| {
            match mode {
                Mode::Append | Mode::New => {
                    file.append(b"abc")?;
                }
                Mode::Sidecar => {
                    file.write_at(b"xy", number)?;
                    file.set_length(number + 1)?;
                }
                Mode::Read => {}
            }
            let mut bytes = [0; 16];
            let n_read = file.read_at(&mut bytes, number / 2)?;
            let is_locked = file.try_lock(Lock::Exclusive)?;
            Ok(format!("{n_read} {bytes:?} {is_locked} {:?}", file.stat()?.length))
        }),
    };
    let words = result.unwrap_or_else(|error| match error.kind() {
        // With two paths, systems differ in which one they look at first.
        kind @ (ErrorKind::NotFound | ErrorKind::AlreadyExists) if !(3..=5).contains(&call) => format!("{kind:?}"),
        _ => "refused".to_owned(),
    });
    format!("{call} {} {} {mode:?}: {words}", one.display(), other.display())
}

/// The simulated system, which is tested against the real one, and the one in memory behave alike.
#[test]
fn both_systems_agree() {
    for seed in 0..200_u64 {
        let (memory, simulated) = (MemoryOs::new(), SimOs::new());
        memory.create_directories(Path::new("/d")).unwrap();
        simulated.make_directories("/d");
        let mut states = [seed, seed].map(|seed| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for step in 0..200 {
            let systems: [&dyn Os; 2] = [&memory, &simulated];
            let mut acts = Vec::new();
            for (os, state) in systems.into_iter().zip(&mut states) {
                let mut random = |limit: usize| {
                    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    usize::try_from(*state >> 33).unwrap() % limit
                };
                acts.push(act(os, &mut random));
            }
            assert_eq!(acts[0], acts[1], "seed {seed}, step {step}");
        }
    }
}
