//! One piece of work, done by several contestants in turns.

use super::Failure;
use super::process::Sample;

/// The contestant that does the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Competitor {
    Ours,
    Pi,
    /// The limit of the machine, or another program to compare with.
    Other(&'static str),
}

impl Competitor {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Ours => "Sessile",
            Self::Pi => "pi 1.5.0",
            Self::Other(name) => name,
        }
    }
}

type Turn<'r> = Box<dyn FnMut() -> Result<Sample, Failure> + 'r>;

/// A performance demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Demand {
    /// This many times faster than pi.
    FasterThanPi(f64),
    /// This many times faster than another contestant.
    FasterThan(&'static str, f64),
    /// At most this many times as long as another contestant.
    AtMostTimes(&'static str, f64),
    /// At most this many megabytes of memory.
    Memory(f64),
    /// The first rows appear within this fraction of pi's time.
    FirstRows(f64),
    /// A time that we report, in milliseconds, is at most this many times as long as another contestant takes.
    FigureAtMostTimes(&'static str, &'static str, f64),
    /// A figure that we report is at least this large.
    AtLeast(&'static str, f64),
    /// A figure that we report is at most this large.
    AtMost(&'static str, f64),
    /// A figure that both report is at most this fraction of pi's.
    FigurePartOfPi(&'static str, f64),
    /// A figure that we report is shown, whatever it is.
    Stated(&'static str),
    /// At most this fraction of pi's time.
    PartOfPi(f64),
}

/// A piece of work and its contestants.
pub(super) struct Row<'r> {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) demands: Vec<Demand>,
    contestants: Vec<(Competitor, Turn<'r>)>,
    /// Why it cannot be measured, if so.
    pub(super) missing: Option<String>,
}

impl<'r> Row<'r> {
    pub(super) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), demands: Vec::new(), contestants: Vec::new(), missing: None }
    }

    pub(super) fn with(mut self, competitor: Competitor, turn: impl FnMut() -> Result<Sample, Failure> + 'r) -> Self {
        self.contestants.push((competitor, Box::new(turn)));
        self
    }

    pub(super) fn ours(self, turn: impl FnMut() -> Result<Sample, Failure> + 'r) -> Self {
        self.with(Competitor::Ours, turn)
    }

    pub(super) fn pi(self, turn: impl FnMut() -> Result<Sample, Failure> + 'r) -> Self {
        self.with(Competitor::Pi, turn)
    }

    pub(super) fn other(self, name: &'static str, turn: impl FnMut() -> Result<Sample, Failure> + 'r) -> Self {
        self.with(Competitor::Other(name), turn)
    }

    pub(super) fn demands(mut self, demands: impl IntoIterator<Item = Demand>) -> Self {
        self.demands.extend(demands);
        self
    }

    /// Creates a row that cannot be measured.
    pub(super) fn missing(id: &'static str, title: impl Into<String>, why: impl Into<String>) -> Self {
        Self { missing: Some(why.into()), ..Self::new(id, title) }
    }
}

/// The turns of one contestant.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    pub(super) competitor: Competitor,
    pub(super) samples: Vec<Sample>,
}

impl Turns {
    pub(super) fn median_ms(&self) -> f64 {
        median(self.samples.iter().map(|sample| sample.ms))
    }

    pub(super) fn min_ms(&self) -> f64 {
        self.samples.iter().map(|sample| sample.ms).fold(f64::INFINITY, f64::min)
    }

    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    pub(super) fn peak_mb(&self) -> f64 {
        self.samples.iter().map(|sample| sample.peak_kb).max().unwrap_or_default() as f64 * 1024.0 / 1e6
    }

    /// Returns the median of a figure that was reported beside the time.
    pub(super) fn figures(&self, figure: &str) -> Option<f64> {
        let all: Vec<f64> = self.samples.iter().filter_map(|sample| sample.figures[figure].as_f64()).collect();
        (!all.is_empty()).then(|| median(all.into_iter()))
    }
}

/// Returns the median.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A demand and the measured value.
#[derive(Clone, Debug)]
pub(super) struct DemandResult {
    pub(super) demand: String,
    pub(super) what: String,
    pub(super) is_met: bool,
}

/// A row with its results.
#[derive(Clone, Debug)]
pub(super) struct RowResult {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) results: Vec<Turns>,
    pub(super) reached: Vec<DemandResult>,
    /// Whether all answers were equal; `None` if there is nothing to compare.
    pub(super) agrees: Option<bool>,
    pub(super) skipped: Option<String>,
}

impl RowResult {
    pub(super) fn skipped(id: &'static str, title: &str, why: &str) -> Self {
        let title = title.to_owned();
        Self { id, title, results: Vec::new(), reached: Vec::new(), agrees: None, skipped: Some(why.to_owned()) }
    }

    pub(super) fn result(&self, competitor: &Competitor) -> Option<&Turns> {
        self.results.iter().find(|result| result.competitor == *competitor)
    }
}

/// A contestant whose turns take longer than this gets fewer of them.
const SLOW_MS: f64 = 10_000.0;

/// The number of turns of a slow contestant.
const SLOW_ROUNDS: usize = 3;

/// A shorter turn is run twice, and the second one counts: the first mostly reflects what ran before it.
const SHORT_MS: f64 = 1_000.0;

/// Lets the contestants take turns, and compares the results.
pub(super) fn measure(mut row: Row<'_>, n_rounds: usize) -> Result<RowResult, Failure> {
    let mut results: Vec<Turns> = row
        .contestants
        .iter()
        .map(|(competitor, _)| Turns { competitor: competitor.clone(), samples: Vec::new() })
        .collect();
    for round in 0..n_rounds {
        for (result, (_, turn)) in results.iter_mut().zip(&mut row.contestants) {
            let is_slow = result.samples.first().is_some_and(|sample| sample.ms > SLOW_MS);
            if round < SLOW_ROUNDS || !is_slow {
                let mut sample = turn()?;
                if sample.ms < SHORT_MS && n_rounds > 1 {
                    sample = turn()?;
                }
                result.samples.push(sample);
            }
        }
    }
    let agrees = agreement(&results);
    let mut result = RowResult { id: row.id, title: row.title, results, reached: Vec::new(), agrees, skipped: None };
    result.reached = row.demands.iter().filter_map(|demand| judge(&result, *demand)).collect();
    Ok(result)
}

/// Returns whether all answers are equal; `None` if fewer than two contestants answered.
fn agreement(results: &[Turns]) -> Option<bool> {
    let by_round = |round: usize| results.iter().filter_map(move |result| result.samples.get(round)?.answer.as_ref());
    let n_rounds = results.iter().map(|result| result.samples.len()).max().unwrap_or_default();
    let n_answering = results.iter().filter(|result| result.samples.iter().any(|one| one.answer.is_some())).count();
    (n_answering > 1).then(|| {
        (0..n_rounds).all(|round| {
            let mut answers = by_round(round);
            let first = answers.next();
            answers.all(|answer| Some(answer) == first)
        })
    })
}

fn judge(result: &RowResult, demand: Demand) -> Option<DemandResult> {
    let ours = result.result(&Competitor::Ours)?;
    let times = |name: &'static str| Some(result.result(&Competitor::Other(name))?.median_ms() / ours.median_ms());
    let reached = |demand: String, what: String, is_met| Some(DemandResult { demand, what, is_met });
    match demand {
        Demand::FasterThanPi(least) => {
            let ratio = result.result(&Competitor::Pi)?.median_ms() / ours.median_ms();
            reached(format!("≥ {} × faster than pi", amount(least)), format!("{} ×", amount(ratio)), ratio >= least)
        }
        Demand::FasterThan(name, least) => {
            let ratio = times(name)?;
            reached(format!("≥ {} × faster than {name}", amount(least)), format!("{} ×", amount(ratio)), ratio >= least)
        }
        Demand::AtMostTimes(name, most) => {
            let ratio = 1.0 / times(name)?;
            reached(format!("≤ {most} × {name}"), format!("{ratio:.2} ×"), ratio <= most)
        }
        Demand::Memory(most) => {
            let peak = ours.peak_mb();
            reached(format!("≤ {most} MB"), format!("{peak:.1} MB"), peak <= most)
        }
        Demand::FirstRows(least) => {
            let ratio = result.result(&Competitor::Pi)?.median_ms() / ours.figures("first_ms")?;
            reached(
                format!("first rows in < 1/{} of pi's time", amount(least)),
                format!("1/{}", amount(ratio)),
                ratio > least,
            )
        }
        Demand::FigureAtMostTimes(figure, name, most) => {
            let ratio = ours.figures(figure)? / result.result(&Competitor::Other(name))?.median_ms();
            reached(format!("{figure} ≤ {most} × {name}"), format!("{ratio:.2} ×"), ratio <= most)
        }
        Demand::AtLeast(figure, least) => {
            let figures = ours.figures(figure)?;
            reached(format!("{figure} ≥ {least}"), amount(figures), figures >= least)
        }
        Demand::AtMost(figure, most) => {
            let figures = ours.figures(figure)?;
            reached(format!("{figure} ≤ {most}"), amount(figures), figures <= most)
        }
        Demand::FigurePartOfPi(figure, most) => {
            let (own, pi) = (ours.figures(figure)?, result.result(&Competitor::Pi)?.figures(figure)?);
            let demand = if most < 1.0 {
                format!("{figure} ≤ 1/{} of pi's", amount(1.0 / most))
            } else {
                format!("{figure} ≤ {} × pi's", amount(most))
            };
            reached(demand, format!("{} of {}", amount(own), amount(pi)), own <= pi * most)
        }
        Demand::Stated(figure) => reached(figure.to_owned(), amount(ours.figures(figure)?), true),
        Demand::PartOfPi(most) => {
            let part = ours.median_ms() / result.result(&Competitor::Pi)?.median_ms();
            let (demand, what) = (format!("≤ 1/{} of pi's", amount(1.0 / most)), format!("1/{}", amount(1.0 / part)));
            reached(demand, what, part <= most)
        }
    }
}

/// Formats a number with as many digits as are significant.
pub(super) fn amount(number: f64) -> String {
    let digits = if number.abs() >= 100.0 || number.fract() == 0.0 {
        0
    } else if number.abs() >= 10.0 {
        1
    } else if number.abs() >= 0.1 {
        2
    } else {
        4
    };
    let text = format!("{number:.digits$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if index > 0 && left % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or(grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(ms: f64, answer: &str) -> Sample {
        Sample { ms, peak_kb: 2_000, answer: Some(answer.to_owned()), figures: json!({ "first_ms": 1.0 }) }
    }

    #[test]
    fn numbers_are_readable() {
        for (number, expected) in [
            (19_227.4, "19,227"),
            (1_000_000.0, "1,000,000"),
            (12.34, "12.3"),
            (1.234, "1.23"),
            (9.0, "9"),
            (0.01234, "0.0123"),
        ] {
            assert_eq!(amount(number), expected);
        }
    }

    #[test]
    fn a_row_is_judged_by_medians_and_answers() {
        let row = |other: &'static str| {
            // Of two short turns the second one counts.
            let mut times = [90.0, 4.0, 90.0, 2.0, 90.0, 3.0].into_iter();
            Row::new("x", "work")
                .ours(move || Ok(sample(times.next().unwrap_or_default(), "same")))
                .pi(move || Ok(sample(30.0, other)))
                .demands([
                    Demand::FasterThanPi(10.0),
                    Demand::FasterThanPi(11.0),
                    Demand::Memory(3.0),
                    Demand::FirstRows(20.0),
                ])
        };
        let result = measure(row("same"), 3).unwrap();
        assert_eq!(result.agrees, Some(true));
        assert_eq!(result.reached.iter().map(|one| one.is_met).collect::<Vec<_>>(), [true, false, true, true]);
        assert_eq!(measure(row("other"), 3).unwrap().agrees, Some(false));
    }

    #[test]
    fn slow_contestants_get_fewer_turns() {
        let row = Row::new("x", "work").ours(|| Ok(sample(1.0, "a"))).pi(|| Ok(sample(20_000.0, "a")));
        let result = measure(row, 9).unwrap();
        assert_eq!(result.results.iter().map(|one| one.samples.len()).collect::<Vec<_>>(), [9, 3]);
    }
}
