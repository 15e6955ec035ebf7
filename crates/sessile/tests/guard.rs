//! When the guard restores entries: whatever clocks do, but only for an hour, and only for writers.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::PathBuf;
use std::sync::Arc;

use sessile::date::Timestamp;
use sessile::event::{RecoveryReason, SessionEvent};
use sessile::operations::Deletion;
use sessile::os::Os;
use sessile::repair::RepairOptions;
use sessile::verify::Code;
use sessile::write::{Durability, WriteOptions};
use sessile::{EntryId, SessionManager, Sessions, draft};
use sessile_testkit::sim::SimOs;
use sessile_testkit::{Notices, Replay};

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const STEPS: [i64; 9] = [SECOND, 4 * SECOND, 6 * SECOND, 10 * SECOND, MINUTE, HOUR - 1, 2 * HOUR, 2 * DAY, 365 * DAY];

fn user(text: &str) -> draft::UserMessage {
    draft::UserMessage::new(text, Timestamp::from_ms(1))
}

fn sessions(os: &SimOs, seed: u64) -> Sessions {
    let environment = Replay::new(1_735_689_600_000, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment).on(Arc::new(os.clone())).caching(None)
}

/// A session with an acknowledged entry that other programs have not read.
struct Acknowledged {
    os: SimOs,
    path: PathBuf,
    /// What other programs have read.
    stale: Vec<u8>,
    lost: EntryId,
    ours: Option<SessionManager>,
}

impl Acknowledged {
    fn new() -> Self {
        Self::after(|_| {})
    }

    /// Runs `happens` before the entry is written.
    fn after(happens: impl FnOnce(&SimOs)) -> Self {
        let os = SimOs::new();
        os.make_directories("/s");
        let mut ours = sessions(&os, 1).with_session_dir("/s").create("/proj").unwrap();
        ours.append_message(user("first")).unwrap();
        let path = ours.session_file().unwrap().to_path_buf();
        let stale = os.read_file(&path).unwrap();
        happens(&os);
        let lost = ours.append_message(user("lost")).unwrap();
        Self { os, path, stale, lost, ours: Some(ours) }
    }

    fn rewrite(&self) {
        self.os.foreign_rewrite(&self.path, &self.stale);
    }

    fn has_lost(&self) -> bool {
        !contains(&self.os.read_file(&self.path).unwrap(), b"\"lost\"")
    }

    /// Another process writes to the session. Returns its events.
    fn write(&self, text: &str) -> Vec<SessionEvent> {
        let mut next = sessions(&self.os.process(2), 2).open(&self.path).unwrap();
        let events = Notices::of(&mut next);
        next.append_message(user(text)).unwrap();
        events.take()
    }

    fn recovered(&self) -> SessionEvent {
        SessionEvent::Recovered { entry_ids: vec![self.lost.clone()], reason: RecoveryReason::Missing }
    }

    fn guard(&self) -> PathBuf {
        self.path.with_file_name(format!(".{}.sessile-guard", self.path.file_name().unwrap().to_str().unwrap()))
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// What happens between the acknowledgement and the rewrite, apart from clock changes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Nothing,
    /// The writer of the entry ends, and checks whether the guard can be removed.
    Ends,
    /// Another process writes and ends, and checks the guard.
    AnotherWrites,
}

#[test]
fn an_acknowledged_entry_is_recovered_for_any_clock_change() {
    let mut n_cases = 0;
    for step in STEPS.into_iter().flat_map(|step| [step, -step]) {
        for at in 0..5 {
            for meanwhile in [Meanwhile::Nothing, Meanwhile::Ends, Meanwhile::AnotherWrites] {
                let when = |position: i32, os: &SimOs| {
                    if position == at {
                        os.step_clock(step);
                    }
                };
                let mut case = Acknowledged::after(|os| when(0, os));
                when(1, &case.os);
                if meanwhile != Meanwhile::Nothing {
                    case.ours = None;
                }
                if meanwhile == Meanwhile::AnotherWrites {
                    case.write("another");
                }
                when(2, &case.os);
                case.rewrite();
                when(3, &case.os);
                assert!(case.has_lost());
                if let Some(ours) = &mut case.ours {
                    ours.append_message(user("next")).unwrap();
                } else {
                    let events = case.write("next");
                    assert!(events.iter().any(|event| matches!(event, SessionEvent::Recovered { .. })), "{events:?}");
                }
                when(4, &case.os);
                assert!(!case.has_lost(), "{step} ms at {at}, {meanwhile:?}");
                // Nothing is restored twice.
                case.write("last");
                let bytes = case.os.read_file(&case.path).unwrap();
                let n_times = bytes.split(|byte| *byte == b'\n').filter(|line| contains(line, b"\"lost\"")).count();
                assert_eq!(n_times, 1, "{step} ms at {at}, {meanwhile:?}");
                n_cases += 1;
            }
        }
    }
    assert_eq!(n_cases, 18 * 5 * 3);
}

#[test]
fn entries_removed_within_an_hour_are_recovered_and_later_removals_are_not() {
    for (ms, comes_back) in
        [(MINUTE, true), (50 * MINUTE, true), (HOUR - SECOND, true), (HOUR + 1, false), (2 * DAY, false)]
    {
        let mut case = Acknowledged::new();
        case.ours = None;
        case.os.advance(ms);
        case.rewrite();
        let report = sessions(&case.os, 3).verify(&case.path).unwrap();
        let findings: Vec<_> = report.findings.iter().filter(|finding| finding.code == Code::Vanished).collect();
        assert_eq!(findings.len(), 1, "{:?}", report.findings);
        assert_eq!(findings[0].counts(), comes_back, "{findings:?}");
        assert_eq!(findings[0].message.contains("more than an hour old"), !comes_back, "{findings:?}");
        let events = case.write("next");
        let expected = if comes_back { vec![case.recovered()] } else { Vec::new() };
        assert_eq!((case.has_lost(), events), (!comes_back, expected), "after {ms} ms");
        if !comes_back {
            assert!(
                !contains(&case.os.read_file(case.guard()).unwrap(), b"\"lost\""),
                "the expired line is still in the guard"
            );
        }
    }
}

#[test]
fn the_hour_starts_at_the_acknowledgement_not_at_the_recovery() {
    let mut case = Acknowledged::new();
    case.ours = None;
    case.os.advance(50 * MINUTE);
    case.rewrite();
    assert_eq!(case.write("next"), [case.recovered()]);
    // Another program removes it again and again.
    case.os.advance(9 * MINUTE);
    case.rewrite();
    assert!(!case.write("again").is_empty() && !case.has_lost());
    case.os.advance(2 * MINUTE);
    case.rewrite();
    let events = case.write("once more");
    assert!(case.has_lost(), "{events:?}");
}

#[test]
fn after_a_reboot_the_wall_clock_decides_the_age_of_an_entry() {
    // A clock that is far behind proves nothing, so the entry may have any age.
    for (step, comes_back) in [
        (0, true),
        (50 * MINUTE, true),
        (2 * HOUR, false),
        (-10 * MINUTE, true),
        (-2 * HOUR, false),
        (-365 * DAY, false),
    ] {
        let mut case = Acknowledged::new();
        case.ours = None;
        case.os = case.os.reboot();
        case.os.step_clock(step);
        case.rewrite();
        let events = case.write("next");
        assert_eq!((case.has_lost(), events.is_empty()), (!comes_back, !comes_back), "{step} ms: {events:?}");
    }
    // An entry that is still in the file stays there, and the guard drops its copy.
    let mut case = Acknowledged::new();
    case.ours = None;
    case.os = case.os.reboot();
    case.os.advance(10 * SECOND);
    assert_eq!(case.write("next"), []);
    assert!(!case.has_lost() && !contains(&case.os.read_file(case.guard()).unwrap(), b"\"lost\""));
}

#[test]
fn reading_a_session_recovers_nothing() {
    let mut case = Acknowledged::new();
    case.ours = None;
    case.rewrite();
    let before = case.os.snapshot();
    let looking = sessions(&case.os.process(2), 2).recording_operations(None);
    let mut open = looking.open(&case.path).unwrap();
    let events = Notices::of(&mut open);
    open.refresh().unwrap();
    // Another change while it is open for reading only.
    case.os.foreign_append(&case.path, "{\"type\":\"custom\",\"id\":\"x1\",\"parentId\":null}\n");
    open.refresh().unwrap();
    case.rewrite();
    open.refresh().unwrap();
    assert_eq!(open.entry_count(), 1);
    assert!(!events.take().iter().any(|event| matches!(event, SessionEvent::Recovered { .. })));
    drop(open);
    drop(looking.clone().read_only().open(&case.path).unwrap());
    looking.verify(&case.path).unwrap();
    looking.details(&case.path, &[]).unwrap();
    looking.users_of(&case.path, None).unwrap();
    looking.delete(std::slice::from_ref(&case.path), Deletion::ToTrash, true).unwrap();
    looking.move_session(&case.path, "/elsewhere", true).unwrap();
    let repair = looking.repair(&case.path, RepairOptions { dry_run: true, ..RepairOptions::default() }).unwrap();
    assert!(repair.changes.iter().any(|change| change.code == Code::Vanished), "{:?}", repair.changes);
    let in_memory = WriteOptions { durability: Durability::Memory, ..WriteOptions::default() };
    let mut dry = looking.clone().writing(in_memory).open(&case.path).unwrap();
    dry.append_message(user("only here")).unwrap();
    drop(dry);
    assert_eq!(case.os.snapshot(), before);
    // Then another process writes.
    assert_eq!(case.write("next"), [case.recovered()]);
}

/// A session that is open but was never written to reads the changes of other programs.
#[test]
fn a_reader_of_a_rewritten_session_can_append() {
    let case = Acknowledged::new();
    let mut reader = sessions(&case.os.process(2), 2).open(&case.path).unwrap();
    assert_eq!(reader.leaf_id(), Some(case.lost.clone()));
    case.rewrite();
    assert!(reader.refresh().is_err(), "its leaf no longer exists");
    assert!(case.has_lost());
    let id = reader.append_message(user("next")).unwrap();
    assert_eq!(reader.entry(&id).unwrap().unwrap().parent_id(), Some(case.lost.clone()));
    assert!(!case.has_lost() && case.os.boot_ms() > 0);
}
