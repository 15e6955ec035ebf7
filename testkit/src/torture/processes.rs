//! The torture bench with real processes on a real kernel.
//!
//! Writers are separate processes that report acknowledged entries on a pipe. They are killed, stopped and deprived of
//! space, they race with programs that know nothing of Sessile, and they lose power. Afterwards every acknowledged
//! entry must be in its file, complete. Each row of the bench is one kind of stress; [`run`] runs them and prints the
//! results.
//!
//! A row that the machine does not support is skipped, with a message. With a planted bug a row is expected to fail,
//! which proves that it would notice the bug.
//!
//! On Windows there are only the rows that need neither Unix nor a genuine pi.
#![cfg_attr(windows, expect(dead_code, reason = "the other rows need it"))]
#![expect(clippy::print_stdout, reason = "prints the results")]
#![expect(clippy::unnecessary_wraps, reason = "all rows have the same signature")]

#[cfg(unix)]
mod calls;
mod child;
mod foreign;
mod inspect;
mod kill;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod mount;
#[cfg(unix)]
mod operation;
#[cfg(unix)]
mod operations;
#[cfg(unix)]
mod pairs;
#[cfg(unix)]
mod powerloss;
mod report;
#[cfg(unix)]
mod rewrites;
pub mod role;
#[cfg(unix)]
mod stopped;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod symlinks;
#[cfg(unix)]
mod syscalls;
mod writers;

use std::path::{Path, PathBuf};
use std::time::Instant;

use sessile_store::planted::{self, Bug};

#[cfg(unix)]
pub(crate) use self::mount::Mount;
use self::report::Report;
#[cfg(unix)]
pub(crate) use self::store::finish;
use crate::SplitMix;

/// What to run, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `sessile` program to test, instead of this program's own copy.
    pub sessile: Option<PathBuf>,
    /// Whether to run the long form, for nights.
    pub is_long: bool,
    /// A single row, or one part of it after a colon.
    pub only: Option<String>,
    /// The random seed.
    pub seed: u64,
    /// The fraction of each row to run; 1 for all of it.
    pub scale: f64,
    /// A bug planted in each of our processes.
    pub plant: Option<Bug>,
}

/// A row: its name and its function.
type NamedRow = (&'static str, fn(&Bench) -> Result<Report, Skipped>);

const ROWS: &[NamedRow] = &[
    ("kill", kill::run),
    ("writers", writers::run),
    #[cfg(unix)]
    ("rewrites", rewrites::run),
    #[cfg(unix)]
    ("powerloss", powerloss::run),
    #[cfg(unix)]
    ("limits", limits::run),
    #[cfg(unix)]
    ("syscalls", syscalls::run),
    #[cfg(unix)]
    ("stopped", stopped::run),
    #[cfg(unix)]
    ("symlinks", symlinks::run),
    #[cfg(unix)]
    ("operations", operations::run),
    #[cfg(unix)]
    ("pairs", pairs::run),
];

/// The bugs that this bench detects, each with the row, or part of a row, that shows it. The others need the simulated
/// bench.
const DETECTED_BUGS: &[(Bug, &str)] = &[
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
pub(crate) struct Skipped(pub(crate) String);

/// The resources of a row.
struct Bench {
    plan: Plan,
    /// This program, which also runs every role.
    program: PathBuf,
    /// A directory that is removed with the row.
    directory: PathBuf,
}

impl Bench {
    /// Returns the count for the short or long form, times the scale, at least one.
    fn count(&self, short: u32, long: u32) -> u32 {
        let full = if self.plan.is_long { long } else { short };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rounded count")]
        let scaled = (f64::from(full) * self.plan.scale).round() as u32;
        scaled.max(1)
    }

    /// Returns random numbers for a part of a row, the same for the same seed.
    fn random(&self, salt: u64) -> SplitMix {
        SplitMix::new(self.plan.seed.wrapping_mul(0x1_0001).wrapping_add(salt))
    }

    /// Whether the row can stop: a planted bug was noticed.
    fn is_over(&self, report: &Report) -> bool {
        self.plan.plant.is_some() && report.n_lost() + report.n_wrong() > 0
    }

    /// Returns the requested part of the row.
    fn wanted_part(&self) -> Option<&str> {
        self.plan.only.as_deref().and_then(|only| only.split_once(':')).map(|(_, part)| part)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Runs the rows, prints a line for each and a closing one. Returns false if something was lost or wrong.
pub fn run(plan: &Plan, program: &Path) -> bool {
    let rows: Vec<&NamedRow> = ROWS.iter().filter(|(name, _)| is_wanted(plan, name)).collect();
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
                    report.add_problem(format!("there is no part {part:?}: nothing was tried"));
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

/// Whether a row runs: the requested one, or every one.
fn is_wanted(plan: &Plan, name: &str) -> bool {
    plan.only.as_ref().is_none_or(|only| only.split(':').next() == Some(name))
}

/// Returns the bug of this name.
pub fn bug_named(name: &str) -> Option<Bug> {
    planted::all().find(|bug| format!("{bug:?}") == name)
}

/// Returns the row, or part of a row, that shows a bug.
pub fn row_that_detects(bug: Bug) -> Option<String> {
    detected_here().find(|(shown, _)| *shown == bug).map(|(_, row)| (*row).to_owned())
}

/// Returns the bugs that this bench is known to detect.
pub fn detectable_bugs() -> impl Iterator<Item = Bug> {
    detected_here().map(|(bug, _)| *bug)
}

/// Returns the rows of [`DETECTED_BUGS`] that this system has.
fn detected_here() -> impl Iterator<Item = &'static (Bug, &'static str)> {
    let has_row = |row: &str| ROWS.iter().any(|(name, _)| row.split(':').next() == Some(name));
    DETECTED_BUGS.iter().filter(move |(_, row)| has_row(row))
}
