//! The torture bench with real processes on a real kernel.
//!
//! Writers are processes of their own that say on a pipe what was acknowledged
//! to them. They are killed, stopped, robbed of space, raced by programs that
//! know nothing of Sessile, and have their power cut. Afterwards every
//! acknowledged entry must be in its file, whole. Each row of the bench is one
//! way to make them suffer; [`run`] runs them and says what came of it.
//!
//! What a machine does not allow is skipped, and said so. With a planted bug a
//! row is expected to fail: that shows that it would notice.
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]
#![expect(clippy::unnecessary_wraps, reason = "every row has the same shape, also one that runs everywhere")]

mod calls;
mod crew;
mod inspect;
mod kill;
mod limits;
mod mount;
mod operation;
mod operations;
mod pairs;
pub mod part;
mod powerloss;
mod report;
mod rewrites;
mod stopped;
mod store;
mod symlinks;
mod syscalls;
mod writers;

use std::path::{Path, PathBuf};
use std::time::Instant;

use sessile_store::planted::{self, Bug};

use self::report::Report;
use crate::SplitMix;

/// What to run, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program `sessile` to operate with, instead of this program's own copy of it.
    pub sessile: Option<PathBuf>,
    /// The long form, for nights.
    pub is_long: bool,
    /// One row alone, or one part of it after a colon.
    pub only: Option<String>,
    /// Where the random numbers start.
    pub seed: u64,
    /// How much of each row, 1 for all of it.
    pub scale: f64,
    /// A bug that every process of ours has.
    pub plant: Option<Bug>,
}

/// A row: its name and what it does.
type Row = (&'static str, fn(&Bench) -> Result<Report, Skipped>);

const ROWS: [Row; 10] = [
    ("kill", kill::run),
    ("writers", writers::run),
    ("rewrites", rewrites::run),
    ("powerloss", powerloss::run),
    ("limits", limits::run),
    ("syscalls", syscalls::run),
    ("stopped", stopped::run),
    ("symlinks", symlinks::run),
    ("operations", operations::run),
    ("pairs", pairs::run),
];

/// The bugs that show in a row of this bench, and in which, or in which part of it. The others need the simulated bench.
const PLANTS: &[(Bug, &str)] = &[
    (Bug::NoSeal, "kill"),
    (Bug::NoPostCheck, "kill"),
    (Bug::GuardOff, "rewrites"),
    (Bug::AcknowledgeBeforeSync, "powerloss"),
    (Bug::NoDirectorySync, "syscalls"),
    (Bug::FailureForgotten, "operations:name"),
    (Bug::NoTemporaryName, "operations:import"),
    (Bug::FailedUndoCounts, "operations:undo-delete"),
    (Bug::TwoUndosAtOnce, "pairs:undo-name+undo-name"),
    (Bug::UndoUnchecked, "pairs:undo-name+name"),
    (Bug::LogAfterStep, "operations:delete"),
    (Bug::DoneBeforeStep, "operations:delete"),
    (Bug::NoSettling, "operations:name"),
    (Bug::ExistenceApart, "pairs:append+delete"),
    (Bug::NoRecheckInPrune, "pairs:prune+append"),
];

/// Why a row, or a part of it, did not run.
#[derive(Clone, Debug)]
struct Skipped(String);

/// What the rows work with.
struct Bench {
    plan: Plan,
    /// This program, which is also every part in the play.
    program: PathBuf,
    /// A directory that goes away with the row.
    directory: PathBuf,
}

impl Bench {
    /// As many as the table says for the form that runs, times the scale, at least one.
    fn count(&self, short: u32, long: u32) -> u32 {
        let full = if self.plan.is_long { long } else { short };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rounded count")]
        let scaled = (f64::from(full) * self.plan.scale).round() as u32;
        scaled.max(1)
    }

    /// Random numbers for a part of a row, the same for the same seed.
    fn random(&self, salt: u64) -> SplitMix {
        SplitMix::new(self.plan.seed.wrapping_mul(0x1_0001).wrapping_add(salt))
    }

    /// Whether there is no need to go on: a planted bug was noticed.
    fn is_over(&self, report: &Report) -> bool {
        self.plan.plant.is_some() && report.n_lost() + report.n_wrong() > 0
    }

    /// The part of the row that was asked for.
    fn wanted_part(&self) -> Option<&str> {
        self.plan.only.as_deref().and_then(|only| only.split_once(':')).map(|(_, part)| part)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Runs the rows, prints a line for each and a closing one. False if something was lost or wrong.
pub fn run(plan: &Plan, program: &Path) -> bool {
    let rows: Vec<&Row> = ROWS.iter().filter(|(name, _)| is_wanted(plan, name)).collect();
    if rows.is_empty() {
        let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        println!("torture: no such row; there are {}", names.join(", "));
        return false;
    }
    let (mut n_lost, mut n_wrong, mut skipped) = (0, 0, Vec::new());
    for (name, row) in &rows {
        let began = Instant::now();
        let directory = tempfile::Builder::new().prefix("torture-").tempdir().unwrap();
        let bench =
            Bench { plan: plan.clone(), program: program.to_path_buf(), directory: directory.path().to_path_buf() };
        match row(&bench) {
            Ok(mut report) => {
                if let Some(part) = bench.wanted_part().filter(|_| report.is_empty()) {
                    report.blame(format!("there is no part {part:?}: nothing was tried"));
                }
                println!("{name:<10} {} (seed {}, {:.1} s)", report.line(), plan.seed, began.elapsed().as_secs_f64());
                report.print_problems();
                n_lost += report.n_lost();
                n_wrong += report.n_wrong();
                skipped.extend(report.skipped().map(|why| format!("{name}: {why}")));
            }
            Err(Skipped(why)) => {
                println!("{name:<10} SKIPPED");
                skipped.push(format!("{name}: {why}"));
            }
        }
    }
    for why in &skipped {
        println!("SKIPPED {why}");
    }
    let other = if n_wrong == 0 { String::new() } else { format!(", {n_wrong} OTHER PROBLEMS") };
    println!("torture: {} rows, {} skipped, {n_lost} acknowledged entries lost{other}", rows.len(), skipped.len());
    n_lost == 0 && n_wrong == 0
}

/// Whether a row runs: the one that was asked for, or every one.
fn is_wanted(plan: &Plan, name: &str) -> bool {
    plan.only.as_ref().is_none_or(|only| only.split(':').next() == Some(name))
}

/// The bug of this name.
pub fn bug_named(name: &str) -> Option<Bug> {
    planted::all().find(|bug| format!("{bug:?}") == name)
}

/// The row that shows a bug, or the part of it.
pub fn row_of(bug: Bug) -> Option<String> {
    PLANTS.iter().find(|(shown, _)| *shown == bug).map(|(_, row)| (*row).to_owned())
}

/// The bugs whose effect this bench is known to show.
pub fn shown_bugs() -> impl Iterator<Item = Bug> {
    PLANTS.iter().map(|(bug, _)| *bug)
}
