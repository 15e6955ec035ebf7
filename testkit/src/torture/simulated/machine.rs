//! Random sequences of all steps, checked against a model that only knows the acknowledged entries (G7, G12).

use std::path::Path;

use sessile::format::cause::chain;
use sessile::write::{Durability, WriteOptions};
use sessile::{EntryId, SessionError, SessionManager};

use super::scenario::{FILE, LONG_MS, Scenario, foreign_line, foreign_session, lines};
use super::{Effort, RowResult};
use crate::SplitMix;
use crate::sim::Tear;

/// How old the state may be that another program writes back. The guard is designed for this.
const MAX_STALE_MS: i64 = 4000;
const N_PROCESSES: usize = 2;

/// A step of any process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Append(usize),
    Label(usize),
    BranchAndAppend(usize),
    Fork(usize),
    Open(usize),
    Close(usize),
    /// Dies in the given call of an append.
    Crash(usize, u64, Tear),
    ForeignAppend,
    ForeignTorn,
    ForeignRead,
    ForeignRewrite,
    ForeignReplace,
    ForeignTruncate,
    Advance(i64),
}

/// Runs random sequences, each with its seed. A failing one is shrunk before it is shown.
pub fn state_machine(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("state machine", effort);
    result.remark(format!("seeds {} to {}", effort.seed, effort.seed + effort.n_cases));
    for seed in effort.seed..effort.seed + effort.n_cases {
        let steps = steps(seed);
        let name = || format!("seed {seed}, {:?}", shrunk(&steps));
        result.case(name, || Machine::run(&steps));
    }
    result
}

fn steps(seed: u64) -> Vec<Step> {
    let mut random = SplitMix::new(seed);
    let n_steps = 5 + random.below(25);
    (0..n_steps).map(|_| step(&mut random)).collect()
}

fn step(random: &mut SplitMix) -> Step {
    let who = random.below(N_PROCESSES);
    match random.below(22) {
        0..=5 => Step::Append(who),
        6 => Step::Label(who),
        7 | 8 => Step::BranchAndAppend(who),
        9 => Step::Fork(who),
        10 => Step::Open(who),
        11 => Step::Close(who),
        12 | 13 => Step::Crash(who, 1 + random.below(40) as u64, random.pick(&Tear::EVERY)),
        14 | 15 => Step::ForeignAppend,
        16 => Step::ForeignTorn,
        17 => Step::ForeignRead,
        18 => Step::ForeignRewrite,
        19 => Step::ForeignReplace,
        20 => Step::ForeignTruncate,
        _ => Step::Advance(random.pick(&[10, 1000, 3000, LONG_MS])),
    }
}

/// Returns the steps that are needed for a failure.
fn shrunk(steps: &[Step]) -> Vec<Step> {
    let fails = |steps: &[Step]| !matches!(std::panic::catch_unwind(|| Machine::run(steps)), Ok(Ok(())));
    let mut needed = steps.to_vec();
    let mut at = 0;
    while at < needed.len() {
        let mut fewer = needed.clone();
        fewer.remove(at);
        if fails(&fewer) {
            needed = fewer;
        } else {
            at += 1;
        }
    }
    needed
}

/// All processes that work on one session.
struct Machine {
    scenario: Scenario,
    processes: Vec<(crate::sim::SimOs, Option<SessionManager>)>,
    /// What the foreign program read, and when.
    read: Option<(Vec<u8>, i64)>,
    n_foreign: u64,
    /// The entry that must be the leaf of the first file for a process that opens it now, if that is determined.
    last: Option<EntryId>,
}

impl Machine {
    fn run(steps: &[Step]) -> Result<(), String> {
        let mut scenario = Scenario::new(WriteOptions { durability: Durability::Buffered, ..WriteOptions::default() });
        scenario.is_alone = false;
        scenario.has_crashed = true;
        let processes = (0..N_PROCESSES).map(|_| (scenario.os.process(10), None)).collect();
        let mut machine = Self { scenario, processes, read: None, n_foreign: 100, last: None };
        for step in steps {
            machine.take(*step).map_err(|failure| format!("{step:?}: {failure}"))?;
        }
        machine.check()
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Append(who) => self.append(who, Scenario::append),
            Step::Label(who) => self.append(who, |scenario, manager| match manager.leaf_id() {
                Some(_) => scenario.label(manager),
                None => scenario.append(manager),
            }),
            Step::BranchAndAppend(who) => self.append(who, |scenario, manager| {
                let first = manager.outline().entries().next().and_then(|row| manager.outline().id(row));
                manager.branch(first.unwrap())?;
                scenario.append(manager)
            }),
            Step::Fork(who) => self.fork(who),
            Step::Open(who) => self.open(who),
            Step::Close(who) => {
                self.processes[who].1 = None;
                Ok(())
            }
            Step::Crash(who, n, tear) => self.crash(who, n, tear),
            Step::Advance(ms) => {
                self.scenario.os.advance(ms);
                Ok(())
            }
            foreign => {
                self.last = None;
                self.intrude(foreign);
                Ok(())
            }
        }
    }

    fn open(&mut self, who: usize) -> Result<(), String> {
        let (os, manager) = &mut self.processes[who];
        if manager.is_none() {
            *manager = Some(self.scenario.on(os.clone()).open(Path::new(FILE)).map_err(|error| chain(&error))?);
        }
        Ok(())
    }

    fn append(
        &mut self,
        who: usize,
        append: impl Fn(&mut Scenario, &mut SessionManager) -> Result<EntryId, SessionError>,
    ) -> Result<(), String> {
        self.open(who)?;
        let manager = self.processes[who].1.as_mut().unwrap();
        let appended = append(&mut self.scenario, manager).or_else(|_| {
            // The current entry may have been another program's, and its rewrite may have removed it.
            manager.follow_leaf()?;
            self.scenario.append(manager)
        });
        let id = appended.map_err(|error| chain(&error))?;
        if manager.session_file() == Some(Path::new(FILE)) {
            self.last = Some(id);
        }
        Ok(())
    }

    fn fork(&mut self, who: usize) -> Result<(), String> {
        self.open(who)?;
        let manager = self.processes[who].1.as_mut().unwrap();
        let Some(leaf) = manager.leaf_id() else { return Ok(()) };
        let from = manager.session_file().unwrap().to_path_buf();
        let ids: Vec<EntryId> = manager.path().into_iter().filter_map(|row| manager.outline().id(row)).collect();
        // A fork writes labels again, and other processes may have moved the entries; only copied entries count.
        let Ok(Some(to)) = manager.create_branched_session(leaf) else { return Ok(()) };
        let copied = self.scenario.os.read_file(&to).unwrap_or_default();
        let is_copied = |id: &&EntryId| lines(&copied).any(|line| super::scenario::id_of(line).as_ref() == Some(*id));
        let ids: Vec<EntryId> = ids.iter().filter(is_copied).cloned().collect();
        if self.scenario.ledger.acknowledged.iter().all(|entry| entry.path != from || !is_label(&entry.line)) {
            self.scenario.note_copies(&to, &to, &ids);
        }
        Ok(())
    }

    fn crash(&mut self, who: usize, n: u64, tear: Tear) -> Result<(), String> {
        self.open(who)?;
        self.last = None;
        let (os, manager) = &mut self.processes[who];
        os.crash_at(n, tear);
        let n_acknowledged = self.scenario.ledger.acknowledged.len();
        drop(self.scenario.append(manager.as_mut().unwrap()));
        if os.crashed() {
            // The result of the call was never received.
            self.scenario.ledger.acknowledged.truncate(n_acknowledged);
        }
        os.kill();
        self.processes[who] = (self.scenario.os.process(11), None);
        Ok(())
    }

    fn intrude(&mut self, step: Step) {
        let os = &self.scenario.os;
        let now_ms = sessile::os::Os::now_ms(os);
        let read = self.read.clone().filter(|(_, read_ms)| now_ms - read_ms < MAX_STALE_MS).map(|(bytes, _)| bytes);
        match (step, read) {
            (Step::ForeignAppend, _) => {
                self.n_foreign += 1;
                let line = foreign_line(self.n_foreign, Some(&EntryId::from("f0000003"))).1;
                os.foreign_append(FILE, [&line[..], b"\n"].concat());
            }
            (Step::ForeignTorn, _) => os.foreign_append(FILE, "{\"type\":\"message\",\"id\":\"to"),
            (Step::ForeignRead, _) => self.read = os.read_file(FILE).map(|bytes| (bytes, now_ms)),
            (Step::ForeignRewrite, Some(read)) => os.foreign_rewrite(FILE, read),
            (Step::ForeignReplace, Some(read)) => os.foreign_replace(FILE, read),
            (Step::ForeignTruncate, Some(read)) => {
                let length = os.read_file(FILE).map_or(0, |now| now.len().min(read.len()));
                os.foreign_truncate(FILE, length as u64);
            }
            _ => {}
        }
    }

    /// Checks the final state.
    fn check(mut self) -> Result<(), String> {
        for (_, manager) in &mut self.processes {
            *manager = None;
        }
        if let Some(last) = &self.last {
            let manager = self
                .scenario
                .on(self.scenario.os.process(12))
                .resume(Path::new(FILE))
                .map_err(|error| chain(&error))?;
            if manager.leaf_id().as_ref() != Some(last) {
                return Err(format!("the leaf is {:?}, not {last}, the last acknowledged entry", manager.leaf_id()));
            }
        }
        self.scenario.os.advance(LONG_MS);
        self.scenario.ledger.pristine.insert(FILE.into(), foreign_session(4));
        self.scenario.check_can_continue()
    }
}

fn is_label(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":\"label\"")
}
