//! Compares the preparation of summaries with pi on random branches.
//!
//! A case is a made-up tree of entries, a leaf, a target to navigate to, and some budgets. Both engines answer the same
//! questions about it: the tokens of each message, the size of the context, where to cut, what to summarise, the text
//! for the summarizer and the files it names. Every answer is JSON text and must be equal.

mod agent;
mod generate;
mod ours;

use std::path::Path;

use crate::oracle::Oracle;
use crate::random::SplitMix;

pub use agent::{AgentReport, CountingSummarizer, run_agents};
pub use generate::Case;

/// The number of cases per request to pi.
const BATCH: usize = 16;

/// The results of some cases.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of cases.
    pub cases: usize,
    /// The number of compared answers.
    pub answers: usize,
    /// How many of pi's preparations found something to compact.
    pub compactions: usize,
    /// How many of those split a turn.
    pub splits: usize,
    /// How many of pi's answers were errors; ours never are.
    pub throws: usize,
    /// How many cases pi did not answer.
    pub unanswered: usize,
    /// The first case that differs, shrunk.
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

/// Compares the cases of some seeds, and stops at the first difference.
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

/// Returns pi's answer to each case; `None` if pi did not answer.
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

/// Returns the first difference, if any.
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

/// Removes everything that is not needed for a difference.
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
