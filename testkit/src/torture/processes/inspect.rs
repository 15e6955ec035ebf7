//! Checks that every acknowledged entry is in its file, complete.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde::de::IgnoredAny;
use sessile::Sessions;
use sessile::format::diagnostic::Oddity;

use super::report::Report;
use super::{Bench, Skipped};
use crate::{Oracle, quoted};

/// How the lines of a file are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fused {
    /// Only our own writers wrote: none of our records may be glued to a torn line, not even for a moment.
    Forbidden,
    /// Programs without a seal took part: they, and writers that race with them, may leave glued lines behind.
    Allowed,
}

/// Checks that acknowledged entries are in a file, and counts the damage. Returns the number of malformed lines.
pub(super) fn inspect(report: &mut Report, path: &Path, acknowledged: &[String], fused: Fused) -> u64 {
    report.add("acknowledged", acknowledged.len() as u64);
    if acknowledged.is_empty() && !path.exists() {
        return 0;
    }
    let lines = Lines::read(path);
    let session = match Sessions::default().read_only().open(path) {
        Ok(session) => session,
        Err(error) => {
            for id in acknowledged {
                report.add_loss(format!("{id}: {error} in {}", path.display()));
            }
            return 0;
        }
    };
    let malformed = session.diagnostics().iter().filter(|found| found.oddity == Oddity::Malformed).count() as u64;
    if malformed != lines.malformed {
        report.add_problem(format!("{malformed} malformed lines seen by us, {} by serde_json", lines.malformed));
    }
    for id in acknowledged {
        if session.entry(id.as_str()).ok().flatten().is_none() {
            report.add_loss(format!("{id} is not in {}", path.display()));
        } else if lines.whole.get(id).is_none_or(|n_whole| *n_whole == 0) {
            report.add_loss(format!("{id} is not whole in {}", path.display()));
        }
    }
    if fused == Fused::Forbidden && lines.fused > 0 {
        report.add_problem(format!("{} records glued to torn lines in {}", lines.fused, path.display()));
    }
    report.add("malformed lines", lines.malformed);
    report.add("repeated lines", lines.whole.values().map(|n_whole| n_whole.saturating_sub(1)).sum());
    malformed
}

/// Opens a file in the genuine pi, which must see the acknowledged entries.
pub(super) fn inspect_with_pi(report: &mut Report, bench: &Bench, path: &Path, acknowledged: &[String]) {
    if cfg!(windows) {
        return report.skip(Skipped("the genuine pi runs only on Linux and macOS here".to_owned()));
    }
    let mut pi = Oracle::start(&bench.directory);
    let opened = pi.ask(format!(r#"{{"cmd":"static","method":"open","args":[{}]}}"#, quoted(&path.to_string_lossy())));
    if let Some(error) = opened.error() {
        report.add_problem(format!("pi cannot open {}: {error}", path.display()));
        return;
    }
    let answer = pi.ask(r#"{"cmd":"ids"}"#);
    let seen: HashSet<&str> =
        answer.value().as_array().map(|ids| ids.iter().filter_map(|id| id.as_str()).collect()).unwrap_or_default();
    for id in acknowledged.iter().filter(|id| !seen.contains(id.as_str())) {
        report.add_loss(format!("pi does not see {id} in {}", path.display()));
    }
    report.add("seen by pi", acknowledged.len() as u64);
}

/// What a second, simple reader finds in the lines of a file.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// How often each id occurs in a complete record.
    pub(super) whole: HashMap<String, u64>,
    pub(super) malformed: u64,
    /// Malformed lines that end with a complete record.
    pub(super) fused: u64,
}

impl Lines {
    pub(super) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        let mut lines = Self::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            lines.add(line);
        }
        lines
    }

    fn add(&mut self, line: &[u8]) {
        match serde_json::from_slice::<Record<'_>>(line) {
            Ok(record) if record.is_whole() => {
                if let Some(id) = record.id {
                    *self.whole.entry(id.into_owned()).or_default() += 1;
                }
            }
            Ok(_) => {}
            Err(_) if serde_json::from_slice::<IgnoredAny>(line).is_ok() => {}
            Err(_) => {
                self.malformed += 1;
                self.fused += u64::from(ends_with_record(line));
            }
        }
    }
}

/// Whether a broken line ends with a complete record.
fn ends_with_record(line: &[u8]) -> bool {
    let starts = line.windows(8).enumerate().skip(1).filter(|(_, window)| *window == br#"{"type":"#);
    starts.into_iter().any(|(at, _)| serde_json::from_slice::<IgnoredAny>(&line[at..]).is_ok())
}

/// The fields that show whether a record is complete.
#[derive(serde::Deserialize)]
struct Record<'l> {
    #[serde(borrow)]
    id: Option<std::borrow::Cow<'l, str>>,
    #[serde(borrow)]
    message: Option<Message<'l>>,
}

#[derive(serde::Deserialize)]
struct Message<'l> {
    #[serde(borrow)]
    content: Option<std::borrow::Cow<'l, str>>,
}

impl Record<'_> {
    /// Our messages contain their own length.
    fn is_whole(&self) -> bool {
        let Some(content) = self.message.as_ref().and_then(|message| message.content.as_ref()) else { return true };
        match content.split_once(':').and_then(|(len, text)| Some((len.parse::<usize>().ok()?, text))) {
            Some((len, text)) => len == text.len(),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_and_glued_lines_are_distinguished() {
        let mut lines = Lines::default();
        lines.add(br#"{"type":"message","id":"a","message":{"content":"3:xxx"}}"#);
        lines.add(br#"{"type":"message","id":"b","message":{"content":"4:xxx"}}"#);
        lines.add(br#"{"type":"message","id":"c","mess"#);
        lines.add(br#"{"type":"mes{"type":"message","id":"d"}"#);
        assert_eq!((lines.whole.len(), lines.malformed, lines.fused), (1, 2, 1));
    }
}
