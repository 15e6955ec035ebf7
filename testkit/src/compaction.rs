//! What is prepared for summaries, compared with pi on random branches.
//!
//! A case is a made-up tree of entries, a leaf, a place to go to, and some
//! budgets. Both engines are asked everything about it: the tokens of each
//! message, the size of the context, where to cut, what is summarised, which
//! text a summarizer gets and which files it names. Every answer is JSON text
//! and must be the same.

mod agent;
mod generate;
mod ours;

use std::path::Path;

use crate::oracle::Oracle;
use crate::random::SplitMix;

pub use agent::{AgentReport, CountingSummarizer, run_agents};
pub use generate::Case;

/// How many cases pi is asked about at once.
const BATCH: usize = 16;

/// What came of some cases.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many cases.
    pub cases: usize,
    /// How many answers were compared.
    pub answers: usize,
    /// How many of pi's preparations found something to compact.
    pub compactions: usize,
    /// How many of those split a turn.
    pub splits: usize,
    /// How many of pi's answers were errors, which ours never are.
    pub throws: usize,
    /// How many cases pi never came back from.
    pub unanswered: usize,
    /// The first case that came out differently, made as small as possible.
    pub failure: Option<String>,
}

impl Report {
    /// Adds another report to this one.
    pub fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.answers += other.answers;
        self.compactions += other.compactions;
        self.splits += other.splits;
        self.throws += other.throws;
        self.unanswered += other.unanswered;
        self.failure = self.failure.take().or(other.failure);
    }
}

/// Compares the cases of some seeds, and stops at the first that comes out differently.
pub fn run_seeds(seeds: impl Iterator<Item = u64>, home: &Path, progress: &mut dyn FnMut(&Report)) -> Report {
    let mut oracle = Oracle::start(home);
    let mut report = Report::default();
    let mut seeds = seeds.peekable();
    while seeds.peek().is_some() && report.failure.is_none() {
        let batch: Vec<(u64, Case)> =
            seeds.by_ref().take(BATCH).map(|seed| (seed, Case::random(&mut SplitMix::new(seed)))).collect();
        let answers = ask(&mut oracle, batch.iter().map(|(_, case)| case));
        for ((seed, case), answer) in batch.iter().zip(&answers) {
            let Some(answer) = answer else {
                report.unanswered += 1;
                continue;
            };
            if let Some(difference) = compare(case, answer, &mut report) {
                let (case, difference) = shrink(&mut oracle, case.clone(), difference);
                report.failure = Some(format!("seed {seed}: {difference}\n{case}"));
                break;
            }
        }
        progress(&report);
    }
    report
}

/// What pi says of each case; none where it never comes back.
fn ask<'c>(oracle: &mut Oracle, cases: impl Iterator<Item = &'c Case>) -> Vec<Option<serde_json::Value>> {
    let cases: Vec<String> = cases.map(Case::to_request).collect();
    match ask_at_once(oracle, &cases) {
        Some(answers) => answers.into_iter().map(Some).collect(),
        None if cases.len() == 1 => vec![None],
        None => cases.iter().map(|case| Some(ask_at_once(oracle, std::slice::from_ref(case))?.remove(0))).collect(),
    }
}

fn ask_at_once(oracle: &mut Oracle, cases: &[String]) -> Option<Vec<serde_json::Value>> {
    let answer = oracle.ask(format!(r#"{{"cmd":"compaction","cases":[{}]}}"#, cases.join(",")));
    if oracle.take_silence() {
        return None;
    }
    assert_eq!(answer.error(), None, "pi refuses the cases");
    Some(answer.value().as_array().expect("an answer per case").clone())
}

/// The first answer that differs, if one does.
fn compare(case: &Case, theirs: &serde_json::Value, report: &mut Report) -> Option<String> {
    report.cases += 1;
    for (name, ours) in ours::answers(case) {
        report.answers += 1;
        let Some(theirs) = theirs[&name].as_str() else {
            report.throws += 1;
            continue;
        };
        if name.starts_with("prepare") && theirs != "null" {
            report.compactions += 1;
            report.splits += usize::from(theirs.contains("\"isSplitTurn\":true"));
        }
        if theirs != ours {
            return Some(format!("{name}\n  pi:   {theirs}\n  ours: {ours}"));
        }
    }
    None
}

/// Leaves out whatever is not needed for a difference.
fn shrink(oracle: &mut Oracle, mut case: Case, mut difference: String) -> (Case, String) {
    let mut place = 0;
    while place < case.entries.len() {
        let smaller = case.without(place);
        let answer = ask(oracle, std::iter::once(&smaller)).remove(0);
        match answer.and_then(|answer| compare(&smaller, &answer, &mut Report::default())) {
            Some(found) => (case, difference) = (smaller, found),
            None => place += 1,
        }
    }
    (case, difference)
}
