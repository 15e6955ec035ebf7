//! The operations of each process, and their results.

use std::fmt::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sessile::date::Timestamp;
use sessile::format::cause::chain;
use sessile::import::ImportOptions;
use sessile::json::Json;
use sessile::operations::{Deletion, Operation, OperationState, Step};
use sessile::os::Os;
use sessile::{Environment, SessionError, SessionId, Sessions};

use super::observed::Observed;
use super::order::explains;
use crate::sim::{Schedule, SimOs, Tear};
use crate::{Replay, SplitMix};

pub(super) const HOME: &str = "/d";
/// The sessions that all processes work on, and one that is left alone.
pub(super) const SESSIONS: [&str; 3] = ["s0", "s1", "z"];
pub(super) const IMPORTED: &str = "i0";
const IMPORT: &str = "/d/elsewhere/2025_i0.jsonl";
const N_PROCESSES: usize = 3;
const NOW_MS: i64 = 1_735_689_600_000;
/// Longer than a dead process can make other processes wait.
const LONG_MS: i64 = 120_000;

/// An operation of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Append(usize),
    Name(usize),
    Move(usize, usize),
    Delete(usize),
    DeleteForGood(usize),
    Restore(usize),
    Undo,
    Fork(usize),
    Import,
}

/// An operation of a process, perhaps its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    op: Op,
    /// The call in which the process dies, and how much of that call is done. Another process continues.
    crash: Option<(u64, Tear)>,
}

/// Everything that determines what happens.
#[derive(Clone, Debug)]
pub(super) struct History {
    schedule: u64,
    stride: usize,
    processes: Vec<Vec<Planned>>,
}

/// The reported effect of an operation.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Append(String, String),
    Name(String, String),
    Move(String, PathBuf),
    Delete(String),
    DeleteForGood(String),
    Restore(String),
    /// The operation that was undone, and the steps of the undo.
    Undo(String, Vec<Step>),
    /// The new session, and its parent.
    Fork(String, String),
    Import,
    /// The operation was refused.
    Nothing,
}

/// An operation that has ended, or whose process died.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) process_index: usize,
    pub(super) op: Op,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) effect: Effect,
    /// Its id in the log, if it has one.
    pub(super) id: Option<String>,
    /// Whether its process died, so that it may be done or not.
    pub(super) is_optional: bool,
    pub(super) refusal: Option<String>,
}

impl History {
    pub(super) fn random(seed: u64) -> Self {
        let mut random = SplitMix::new(seed.wrapping_mul(0x9E37_79B9));
        let stride = random.pick(&[2, 4, 12]);
        let processes =
            (0..N_PROCESSES).map(|_| (0..=random.below(2)).map(|_| Planned::random(&mut random)).collect()).collect();
        Self { schedule: random.next_u64(), stride, processes }
    }

    /// Returns the history under another schedule; `nth` 0 is its own.
    pub(super) fn under(&self, nth: u64) -> Self {
        Self { schedule: self.schedule.wrapping_add(nth), ..self.clone() }
    }

    pub(super) fn n_planned(&self) -> usize {
        self.processes.iter().map(Vec::len).sum()
    }

    /// Returns the history without one operation.
    pub(super) fn without(&self, at: usize) -> Self {
        let mut shorter = self.clone();
        let mut left = at;
        for process in &mut shorter.processes {
            if left < process.len() {
                process.remove(left);
                break;
            }
            left -= process.len();
        }
        shorter
    }

    /// Runs everything, and searches for an order that explains the result.
    pub(super) fn run(&self) -> Result<(), String> {
        let os = store();
        let clock = AtomicU64::new(0);
        let events = Mutex::new(Vec::new());
        let schedule = Schedule::new(self.processes.len(), self.schedule, self.stride);
        let panics = std::thread::scope(|scope| {
            let work = |process_index: usize| {
                let (schedule, os, clock, events) = (&schedule, &os, &clock, &events);
                let planned = &self.processes[process_index];
                scope.spawn(move || {
                    schedule.begin(process_index);
                    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        let mut process = Process::new(os, process_index, 0);
                        process.os.set_gate(schedule.gate(process_index));
                        for (nth, planned) in planned.iter().enumerate() {
                            let event = process.run(planned, nth, clock);
                            if event.is_optional {
                                process = Process::new(os, process_index, nth + 1);
                                process.os.set_gate(schedule.gate(process_index));
                            }
                            events.lock().unwrap().push(event);
                        }
                    }));
                    schedule.end(process_index);
                    done
                })
            };
            let threads: Vec<_> = (0..self.processes.len()).map(work).collect();
            let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            ended.into_iter().find_map(Result::err)
        });
        if let Some(panic) = panics {
            return Err(super::super::panic_message(panic.as_ref()));
        }
        let mut events = events.into_inner().unwrap();
        events.sort_by_key(|event| event.begin);
        check_result(&os, &clock, events)
    }
}

/// Lets another process continue, and checks that the result can be explained.
fn check_result(os: &SimOs, clock: &AtomicU64, mut events: Vec<Event>) -> Result<(), String> {
    let with_events = |problem: String, events: &[Event]| {
        let events: Vec<String> = events.iter().map(ToString::to_string).collect();
        format!("{problem}\n    {}", events.join("\n    "))
    };
    os.advance(LONG_MS);
    let mut next = Process::new(os, 9, 0);
    // An operation finishes what dead processes left, and then every session can be continued.
    for (nth, op) in [Op::Name(2), Op::Append(2), Op::Append(0), Op::Append(1)].into_iter().enumerate() {
        let is_there = |session: usize| live(os, SESSIONS[session]).is_some();
        if matches!(op, Op::Append(session) if session < 2 && !is_there(session)) {
            continue;
        }
        let event = next.run(&Planned { op, crash: None }, nth, clock);
        if let Some(refusal) = &event.refusal {
            let problem = format!("no process can continue with {op:?}: {refusal}");
            return Err(with_events(problem, &events));
        }
        events.push(event);
    }
    let operations = next.sessions().operations().map_err(|error| with_events(chain(&error), &events))?;
    let is_left = |operation: &&Operation| {
        operation.state == OperationState::Unfinished && !may_stay_unfinished(operation, &events)
    };
    if let Some(left) = operations.iter().find(is_left) {
        return Err(with_events(format!("the log has an unfinished {:?}", left.kind), &events));
    }
    let observed = Observed::of(os);
    observed.check().map_err(|problem| with_events(problem, &events))?;
    explains(&events, &observed).map_err(|problem| with_events(problem, &events))
}

/// Whether the process of an operation died while it named a session, and another one moved the session before the name
/// could be checked. Such an operation stays unfinished.
fn may_stay_unfinished(operation: &Operation, events: &[Event]) -> bool {
    let [Step::Name { session, .. }] = operation.steps.as_slice() else { return false };
    let is_dead = |event: &&Event| event.is_optional && matches!(event.op, Op::Name(at) if session.id == SESSIONS[at]);
    events
        .iter()
        .filter(is_dead)
        .any(|dead| events.iter().any(|it| it.end > dead.begin && it.takes(session.id.as_str())))
}

impl Event {
    /// Whether it removes a session from its path.
    fn takes(&self, id: &str) -> bool {
        let is_taking = |step: &Step| match step {
            Step::Move { session, .. } | Step::Delete { session, .. } => session.id == id,
            _ => false,
        };
        match &self.effect {
            Effect::Move(taken, _) | Effect::Delete(taken) | Effect::DeleteForGood(taken) => taken == id,
            Effect::Undo(_, steps) => steps.iter().any(is_taking),
            _ => false,
        }
    }
}

impl Planned {
    fn random(random: &mut SplitMix) -> Self {
        let session = random.below(2);
        let op = match random.below(16) {
            0..=2 => Op::Append(session),
            3 => Op::Name(session),
            4 | 5 => Op::Move(session, random.below(3)),
            6 | 7 => Op::Delete(session),
            8 => Op::DeleteForGood(session),
            9 | 10 => Op::Restore(session),
            11..=13 => Op::Undo,
            14 => Op::Fork(session),
            _ => Op::Import,
        };
        let dies = op != Op::Undo && random.below(8) == 0;
        let crash = dies.then(|| (1 + random.below(60) as u64, random.pick(&Tear::EVERY)));
        Self { op, crash }
    }
}

/// One of our processes.
struct Process {
    os: SimOs,
    environment: TestEnvironment,
    number: usize,
}

impl Process {
    fn new(os: &SimOs, number: usize, life: usize) -> Self {
        let pid = u32::try_from(100 + number * 10 + life).unwrap();
        let os = os.process(pid);
        let seed = u64::from(pid);
        let environment =
            TestEnvironment { replay: Replay::new(NOW_MS, seed), os: os.clone(), pid, n_sessions: Arc::default() };
        Self { os, environment, number }
    }

    fn sessions(&self) -> Sessions {
        Sessions::new(self.environment.clone())
            // Locks are tested here, not the refusal to remove a session that is in use.
            .ignoring_users()
            .on(Arc::new(self.os.clone()))
    }

    fn run(&mut self, planned: &Planned, nth: usize, clock: &AtomicU64) -> Event {
        let begin = clock.fetch_add(1, Ordering::SeqCst);
        if let Some((n, tear)) = planned.crash {
            self.os.crash_at(n, tear);
        }
        let words = format!("{} of {}", nth, self.number);
        let done = self.apply(planned.op, &words);
        let end = clock.fetch_add(1, Ordering::SeqCst);
        let event = |effect, id, end, is_optional, refusal| Event {
            process_index: self.number,
            op: planned.op,
            begin,
            end,
            effect,
            id,
            is_optional,
            refusal,
        };
        if self.os.crashed() {
            // The result was never received.
            return event(intended_effect(planned.op, &words), None, u64::MAX, true, Some("died".to_owned()));
        }
        self.os.heal();
        match done {
            Ok((effect, id)) => event(effect, id, end, false, None),
            Err(error) => event(Effect::Nothing, None, end, false, Some(chain(&error))),
        }
    }

    fn apply(&self, op: Op, words: &str) -> Result<(Effect, Option<String>), SessionError> {
        let sessions = self.sessions();
        let path = |session: usize| live(&self.os, SESSIONS[session]).unwrap_or_else(|| first_path(SESSIONS[session]));
        let id = |session: usize| SESSIONS[session].to_owned();
        Ok(match op {
            Op::Append(session) => {
                let mut manager = sessions.open(path(session))?;
                let message = format!(r#"{{"role":"user","content":"{words}","timestamp":1}}"#);
                manager.append_message(Json::parse(message).unwrap())?;
                (intended_effect(op, words), None)
            }
            Op::Name(session) => {
                (intended_effect(op, words), sessions.rename(path(session), Some(words), false)?.operation)
            }
            Op::Move(session, to) => {
                let moved = sessions.move_session(path(session), project(to), false)?;
                (intended_effect(op, words), moved.operation)
            }
            Op::Delete(session) => {
                (intended_effect(op, words), sessions.delete(&[path(session)], Deletion::ToTrash, false)?.operation)
            }
            Op::DeleteForGood(session) => {
                (intended_effect(op, words), sessions.delete(&[path(session)], Deletion::Permanent, false)?.operation)
            }
            Op::Restore(session) => (intended_effect(op, words), sessions.restore(SESSIONS[session], false)?.1),
            Op::Undo => {
                let undone = sessions.undo(None, false)?;
                (Effect::Undo(undone.operation.id, undone.steps), undone.id)
            }
            Op::Fork(session) => {
                let mut manager = sessions.open(path(session))?;
                manager.clone_session()?;
                (Effect::Fork(manager.session_id().to_string(), id(session)), None)
            }
            Op::Import => {
                sessions.import(&[PathBuf::from(IMPORT)], &ImportOptions::default())?;
                (Effect::Import, None)
            }
        })
    }
}

/// Returns the effect that an operation has if it is done, as far as that is known beforehand.
fn intended_effect(op: Op, words: &str) -> Effect {
    let id = |session: usize| SESSIONS[session].to_owned();
    match op {
        Op::Append(session) => Effect::Append(id(session), words.to_owned()),
        Op::Name(session) => Effect::Name(id(session), words.to_owned()),
        Op::Move(session, to) => Effect::Move(id(session), directory(to)),
        Op::Delete(session) => Effect::Delete(id(session)),
        Op::DeleteForGood(session) => Effect::DeleteForGood(id(session)),
        Op::Restore(session) => Effect::Restore(id(session)),
        Op::Fork(session) => Effect::Fork(String::new(), id(session)),
        Op::Import => Effect::Import,
        Op::Undo => Effect::Nothing,
    }
}

/// Returns the current path of a session.
fn live(os: &SimOs, id: &str) -> Option<PathBuf> {
    Observed::of(os).live(id)
}

fn project(number: usize) -> String {
    format!("{HOME}/p{number}")
}

/// Returns the directory of a project's sessions.
pub(super) fn directory(number: usize) -> PathBuf {
    PathBuf::from(format!("{HOME}/.pi/agent/sessions/--d-p{number}--"))
}

fn first_path(id: &str) -> PathBuf {
    directory(0).join(format!("2025_{id}.jsonl"))
}

/// Returns the initial texts of a session.
pub(super) fn first_texts(id: &str) -> Vec<String> {
    (0..2).map(|number| format!("{id} {number}")).collect()
}

/// Creates a machine with a store of three sessions, and one more session elsewhere.
fn store() -> SimOs {
    let os = SimOs::new();
    os.make_directories(directory(0));
    os.make_directories("/d/elsewhere");
    for id in SESSIONS {
        os.foreign_rewrite(first_path(id), content(id));
    }
    os.foreign_rewrite(IMPORT, content(IMPORTED));
    os.settle();
    // So that no file looks recently written.
    os.advance(LONG_MS);
    os
}

fn content(id: &str) -> String {
    let mut text =
        format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/d/p0"}}"#);
    let mut parent = "null".to_owned();
    for (number, words) in first_texts(id).into_iter().enumerate() {
        let role = if number == 0 { "user" } else { "assistant" };
        let message = format!(r#"{{"role":"{role}","content":"{words}","timestamp":1}}"#);
        write!(
            text,
            "\n{{\"type\":\"message\",\"id\":\"{id}-{number}\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"message\":{message}}}"
        )
        .unwrap();
        parent = format!("\"{id}-{number}\"");
    }
    text.push('\n');
    text
}

/// The machine's time, and ids that no other process uses.
#[derive(Clone)]
struct TestEnvironment {
    replay: Replay,
    os: SimOs,
    pid: u32,
    n_sessions: Arc<AtomicU64>,
}

impl Environment for TestEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.os.now_ms())
    }

    fn entry_uuid(&self) -> String {
        self.replay.entry_uuid()
    }

    fn session_uuid(&self) -> SessionId {
        format!("new-{}-{}", self.pid, self.n_sessions.fetch_add(1, Ordering::Relaxed)).into()
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn home(&self) -> PathBuf {
        HOME.into()
    }

    fn current_dir(&self) -> PathBuf {
        project(0).into()
    }

    fn state_dir(&self) -> Option<PathBuf> {
        Some("/d/state".into())
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schedule {} stride {}", self.schedule, self.stride)?;
        for (process_index, process) in self.processes.iter().enumerate().filter(|(_, process)| !process.is_empty()) {
            write!(f, "; process {process_index}:")?;
            for planned in process {
                write!(f, " {:?}", planned.op)?;
                if let Some((n, tear)) = planned.crash {
                    write!(f, " dying in call {n} ({tear:?})")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_optional { "…".to_owned() } else { self.end.to_string() };
        write!(f, "{}–{end} process {}: {:?}", self.begin, self.process_index, self.op)?;
        match &self.refusal {
            Some(refusal) => write!(f, ": {refusal}"),
            None => write!(f, ": {:?}", self.effect),
        }
    }
}
