//! The results of a row.

use std::fmt::Write;

use sessile::format::measure::number_words;

use super::Skipped;

/// How many problems of a row are printed in full.
const MAX_SHOWN: usize = 12;

/// Counts and problems of one row.
#[derive(Debug, Default)]
pub(super) struct Report {
    facts: Vec<(&'static str, u64)>,
    n_lost: u64,
    n_wrong: u64,
    problems: Vec<String>,
    remarks: Vec<String>,
    skipped: Vec<String>,
}

impl Report {
    /// Whether nothing was tried and nothing skipped.
    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.skipped.is_empty()
    }

    /// Adds to a count.
    pub(super) fn add(&mut self, what: &'static str, count: u64) {
        match self.facts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, sum)) => *sum += count,
            None => self.facts.push((what, count)),
        }
    }

    /// Records that an acknowledged entry is missing.
    pub(super) fn add_loss(&mut self, what: impl Into<String>) {
        self.n_lost += 1;
        self.push_problem(format!("LOST {}", what.into()));
    }

    /// Records another problem.
    pub(super) fn add_problem(&mut self, what: impl Into<String>) {
        self.n_wrong += 1;
        self.push_problem(format!("WRONG {}", what.into()));
    }

    /// Records a failed case; it counts as a loss if the problem says so.
    pub(super) fn add_failed_case(&mut self, case: &str, problem: &str) {
        match problem.strip_prefix("LOST ") {
            Some(problem) => self.add_loss(format!("{case}: {problem}")),
            None => self.add_problem(format!("{case}: {problem}")),
        }
    }

    /// Counts a check, and records a problem if it does not hold.
    pub(super) fn check(&mut self, holds: bool, what: impl Into<String>) {
        self.add("checks", 1);
        if !holds {
            self.add_problem(what);
        }
    }

    /// Records that a case did not go as planned, which is not a problem by itself.
    pub(super) fn add_remark(&mut self, what: String) {
        if self.remarks.len() < MAX_SHOWN {
            self.remarks.push(what);
        }
    }

    /// Records why a part did not run, once.
    pub(super) fn skip(&mut self, Skipped(why): Skipped) {
        if !self.skipped.contains(&why) {
            self.skipped.push(why);
        }
    }

    fn push_problem(&mut self, problem: String) {
        if self.problems.len() < MAX_SHOWN {
            self.problems.push(problem);
        }
    }

    pub(super) fn n_lost(&self) -> u64 {
        self.n_lost
    }

    pub(super) fn n_wrong(&self) -> u64 {
        self.n_wrong
    }

    pub(super) fn skipped(&self) -> impl Iterator<Item = &String> {
        self.skipped.iter()
    }

    /// Returns all counts in one line.
    pub(super) fn line(&self) -> String {
        let mut line = String::new();
        for (what, count) in &self.facts {
            write!(line, "{} {what}, ", number_words(*count)).unwrap();
        }
        write!(line, "{} lost", self.n_lost).unwrap();
        if self.n_wrong > 0 {
            write!(line, ", {} PROBLEMS", self.n_wrong).unwrap();
        }
        line
    }

    pub(super) fn print_problems(&self) {
        for problem in &self.problems {
            println!("  {problem}");
        }
        for add_remark in &self.remarks {
            println!("  ({add_remark})");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_every_count_and_the_losses() {
        let mut report = Report::default();
        report.add("kills", 1000);
        report.add("kills", 200);
        report.add_loss("an entry");
        report.check(false, "a mode");
        assert_eq!(report.line(), "1,200 kills, 1 checks, 1 lost, 1 PROBLEMS");
    }
}
