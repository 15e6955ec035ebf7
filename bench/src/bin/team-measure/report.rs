//! The table of figures.

use std::fmt;
use std::path::Path;
use std::time::Duration;

const BEGIN: &str = "<!-- figures: begin -->";
const END: &str = "<!-- figures: end -->";

/// A table with what was measured, in Markdown.
pub(crate) struct Report {
    rows: Vec<[String; 5]>,
    /// Whether the times mean nothing.
    is_small: bool,
}

impl Report {
    pub(crate) fn new(is_small: bool) -> Self {
        Self { rows: Vec::new(), is_small }
    }

    /// Adds a figure without a demand.
    pub(crate) fn row(&mut self, what: &str, ours: &str, bare: &str, ratio: f64) {
        self.add(what, ours, bare, ratio, String::new());
    }

    /// Adds a figure that must be at most this many milliseconds.
    pub(crate) fn bar(&mut self, what: &str, ours: &str, bare: &str, ratio: f64, measured: Duration, most: u32) {
        let is_met = measured <= Duration::from_millis(most.into());
        let limit = if most >= 10_000 { format!("{} s", most / 1000) } else { format!("{most} ms") };
        let word = if self.is_small { "" } else { ["missed", "met"][usize::from(is_met)] };
        self.add(what, ours, bare, ratio, format!("≤ {limit} {word}").trim().to_owned());
    }

    fn add(&mut self, what: &str, ours: &str, bare: &str, ratio: f64, demand: String) {
        let ratio = if ratio.is_nan() { String::new() } else { format!("{ratio:.2}") };
        eprintln!("{what}: {ours}; bare {bare}; {ratio} {demand}");
        self.rows.push([what.to_owned(), ours.to_owned(), bare.to_owned(), ratio, demand]);
    }

    /// Replaces the table of a document.
    pub(crate) fn write(&self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        std::fs::write(path, format!("{before}{BEGIN}\n\n{self}\n{END}{after}")).unwrap();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | Sessile | bare PostgreSQL | ratio | demand |\n|---|---|---|---|---|")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

pub(crate) fn ms(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1e3)
}

pub(crate) fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
