//! The results, for the terminal, for programs and for the documentation.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Verdict;
use super::caches::Harmed;
use super::growth::Curve;
use super::row::{Competitor, RowResult, Turns, amount};

/// All results so far.
#[derive(Debug)]
pub(super) struct Report {
    machine: String,
    is_small: bool,
    rows: Vec<RowResult>,
    caches: Option<Harmed>,
    pub(super) growth: Vec<Curve>,
}

impl Report {
    pub(super) fn new(machine: String, is_small: bool) -> Self {
        Self { machine, is_small, rows: Vec::new(), caches: None, growth: Vec::new() }
    }

    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    pub(super) fn heading(&self) -> String {
        let note = if self.is_small { "; small: only answers are judged, not times" } else { "" };
        format!("{}\nmedian of fresh processes, page cache warm{note}\n", self.machine)
    }

    /// Adds a row and returns its text.
    pub(super) fn add(&mut self, row: RowResult) -> String {
        let mut text = format!("{}: {}\n", row.id, row.title);
        // Writing to a string cannot fail.
        if let Some(why) = &row.skipped {
            writeln!(text, "  SKIPPED: {why}").ok();
        }
        for turns in row.results.iter().filter(|turns| turns.median_ms().is_finite()) {
            let peak = if turns.peak_mb() > 0.0 { format!("{:>9.1} MB", turns.peak_mb()) } else { String::new() };
            let (name, n) = (turns.competitor.name(), turns.samples.len());
            writeln!(
                text,
                "  {name:<22}{:>10} ms  min {:>8}  n {n:<3}{peak}",
                amount(turns.median_ms()),
                amount(turns.min_ms())
            )
            .ok();
        }
        for one in row.reached.iter().filter(|_| !self.is_small) {
            writeln!(text, "  {}: {}: {}", if one.is_met { "ok" } else { "MISSED" }, one.demand, one.what).ok();
        }
        match row.agrees {
            Some(true) => text.push_str("  answers: equal\n"),
            Some(false) => text.push_str("  answers: DIFFERENT\n"),
            None => {}
        }
        self.rows.push(row);
        text
    }

    pub(super) fn add_caches(&mut self, harmed: Harmed) -> String {
        self.caches = Some(harmed);
        let outcome = match harmed {
            Harmed { answers_agree: false, .. } => "answers: DIFFERENT".to_owned(),
            Harmed { n_harmed: 0, .. } => "SKIPPED: not built yet: no cache files are created".to_owned(),
            Harmed { n_harmed, .. } => format!("{n_harmed} times; answers: equal"),
        };
        format!("caches: files flipped, cut, emptied and deleted: {outcome}\n")
    }

    pub(super) fn add_growth(&mut self, growth: Vec<Curve>) -> String {
        self.growth = growth;
        let mut text = "growth with 1, 4 and 16 times the data, ms\n".to_owned();
        for curve in &self.growth {
            writeln!(text, "  {}", curve.name).ok();
            for point in &curve.points {
                let (ours, other) = (amount(point.ours_ms), amount(point.other_ms));
                writeln!(text, "    {:<16}Sessile {ours:>9}   {} {other:>9}", point.size, curve.other).ok();
            }
        }
        text
    }

    pub(super) fn verdict(&self) -> Verdict {
        let answers = self.rows.iter().all(|row| row.agrees != Some(false))
            && self.caches.is_none_or(|harmed| harmed.answers_agree);
        let is_met = |row: &RowResult| row.skipped.is_none() && row.reached.iter().all(|one| one.is_met);
        Verdict { answers_agree: answers, demands_met: self.is_small || self.rows.iter().all(is_met) }
    }

    pub(super) fn summary(&self) -> String {
        let count = |test: &dyn Fn(&RowResult) -> bool| self.rows.iter().filter(|row| test(row)).count();
        let n_skipped = count(&|row| row.skipped.is_some());
        let n_missed = count(&|row| row.skipped.is_none() && row.reached.iter().any(|one| !one.is_met));
        let n_different = count(&|row| row.agrees == Some(false));
        let missed = if self.is_small { String::new() } else { format!(", {n_missed} with a demand missed") };
        format!("{} rows{missed}, {n_skipped} skipped, {n_different} with different answers", self.rows.len())
    }

    pub(super) fn to_json(&self) -> String {
        let turns = |turns: &Turns| {
            let figures: Vec<&Value> = turns.samples.iter().map(|sample| &sample.figures).collect();
            json!({
                "who": turns.competitor.name(), "median_ms": turns.median_ms(), "min_ms": turns.min_ms(),
                "n": turns.samples.len(), "peak_mb": turns.peak_mb(),
                "all_ms": turns.samples.iter().map(|sample| sample.ms).collect::<Vec<_>>(),
                "first_ms": figures.iter().filter_map(|figures| figures["first_ms"].as_f64()).collect::<Vec<_>>(),
                "answer": turns.samples.first().and_then(|sample| sample.answer.clone()),
            })
        };
        let reached = |row: &RowResult| -> Vec<Value> {
            let one = row.reached.iter();
            one.map(|one| json!({ "demand": one.demand, "reached": one.what, "met": one.is_met })).collect()
        };
        let row = |row: &RowResult| {
            json!({
                "id": row.id, "title": row.title, "contestants": row.results.iter().map(turns).collect::<Vec<_>>(),
                "demands": reached(row), "answersAgree": row.agrees, "skipped": row.skipped,
            })
        };
        let curve = |curve: &Curve| {
            let point = curve.points.iter().map(|point| {
                json!({ "factor": point.factor, "size": point.size, "ours_ms": point.ours_ms, "other_ms": point.other_ms })
            });
            json!({ "name": curve.name, "other": curve.other, "points": point.collect::<Vec<_>>() })
        };
        let all = json!({
            "machine": self.machine, "small": self.is_small, "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "caches": self.caches.map(|harmed| json!({ "harmed": harmed.n_harmed, "answersAgree": harmed.answers_agree })),
            "growth": self.growth.iter().map(curve).collect::<Vec<_>>(),
        });
        format!("{all:#}\n")
    }

    /// Returns some rows as a table for the documentation; nothing if none of them was measured.
    pub(super) fn markdown(&self, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        let mut rows = self.rows.iter().filter(|row| is_wanted(row.id)).peekable();
        rows.peek()?;
        let mut text = "| work | Sessile | pi 1.5.0 | beside | demanded: reached |\n|---|---|---|---|---|\n".to_owned();
        for row in rows {
            let cell = |turns: Option<&Turns>| turns.map_or_else(|| "–".to_owned(), cell);
            let others = row.results.iter().filter(|turns| matches!(turns.competitor, Competitor::Other(_)));
            let others: Vec<String> = others
                .filter(|turns| turns.median_ms().is_finite())
                .map(|turns| format!("{} {} ms", turns.competitor.name(), amount(turns.median_ms())))
                .collect();
            let mut reached: Vec<String> = row
                .reached
                .iter()
                .map(|one| {
                    let mark = if one.is_met { "" } else { " **missed**" };
                    format!("{}: {}{mark}", one.demand, one.what)
                })
                .collect();
            reached.extend(row.skipped.iter().map(|why| format!("*{why}*")));
            writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                row.title,
                cell(row.result(&Competitor::Ours)),
                cell(row.result(&Competitor::Pi)),
                others.join(", "),
                reached.join("; ")
            )
            .ok();
        }
        Some(text)
    }

    /// Returns the growth as a table for the documentation.
    pub(super) fn growth_markdown(&self) -> String {
        let mut text = "| cost | data | Sessile | the other | |\n|---|---|---|---|---|\n".to_owned();
        for curve in &self.growth {
            for point in &curve.points {
                let (ours, other) = (amount(point.ours_ms), amount(point.other_ms));
                writeln!(text, "| {} | {} | {ours} ms | {other} ms | {} |", curve.name, point.size, curve.other).ok();
            }
        }
        text
    }

    pub(super) fn all_equal(&self) -> bool {
        self.verdict().answers_agree
    }
}

/// Formats the median time, the peak memory if known, and the number of turns if below nine.
fn cell(turns: &Turns) -> String {
    let mut text = format!("{} ms", amount(turns.median_ms()));
    if turns.peak_mb() > 0.0 {
        write!(text, ", {} MB", amount(turns.peak_mb())).ok();
    }
    if turns.samples.len() < 9 {
        write!(text, " (n = {})", turns.samples.len()).ok();
    }
    text
}
