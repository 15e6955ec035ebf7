//! The results of a row.

/// How many problems of a row are printed.
const MAX_SHOWN: usize = 12;

/// Why a row did not run.
pub(super) struct Skipped(pub(super) String);

/// The results of a row.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) n_acknowledged: u64,
    pub(super) n_lost: u64,
    pub(super) n_duplicated: u64,
    has_diverged: bool,
    facts: Vec<String>,
    problems: Vec<String>,
}

impl Outcome {
    pub(super) fn is_good(&self) -> bool {
        self.n_lost + self.n_duplicated == 0 && !self.has_diverged && self.problems.is_empty()
    }

    pub(super) fn line(&self) -> String {
        let converged = if self.has_diverged { "NO" } else { "yes" };
        let (lost, duplicated) = (self.n_lost, self.n_duplicated);
        format!("acknowledged {}, lost {lost}, duplicated {duplicated}, converged {converged}", self.n_acknowledged)
    }

    pub(super) fn facts(&self) -> String {
        self.facts.join(", ")
    }

    pub(super) fn fact(&mut self, fact: impl Into<String>) {
        self.facts.push(fact.into());
    }

    pub(super) fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    pub(super) fn diverged(&mut self, problem: impl Into<String>) {
        self.has_diverged = true;
        self.problem(problem);
    }

    /// Notes a problem unless something holds.
    pub(super) fn check(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problem(problem());
        }
    }

    pub(super) fn print_problems(&self) {
        for problem in self.problems.iter().take(MAX_SHOWN) {
            println!("  WRONG {problem}");
        }
        if self.problems.len() > MAX_SHOWN {
            println!("  and {} more", self.problems.len() - MAX_SHOWN);
        }
    }
}
