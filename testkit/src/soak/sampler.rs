//! Samples of memory, descriptors, threads, files and latencies.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::growth::{Growth, Tolerance, Verdict, judge, median};

/// What a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Memory of a process that belongs to no file, in megabytes.
    Memory,
    Descriptors,
    Threads,
    /// Files in a part of the home.
    Files,
    /// Bytes in a part of the home, in megabytes.
    Size,
    /// The median latency of an operation since the last sample, in milliseconds.
    Latency,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Memory, Self::Descriptors, Self::Threads, Self::Files, Self::Size, Self::Latency];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory MB",
            Self::Descriptors => "descriptors",
            Self::Threads => "threads",
            Self::Files => "files",
            Self::Size => "size MB",
            Self::Latency => "latency ms",
        }
    }

    fn tolerance(self) -> Tolerance {
        match self {
            Self::Memory => Tolerance { floor: 4.0, share: 0.2 },
            Self::Descriptors => Tolerance { floor: 4.0, share: 0.1 },
            Self::Threads => Tolerance { floor: 3.0, share: 0.1 },
            Self::Files => Tolerance { floor: 20.0, share: 0.2 },
            Self::Size => Tolerance { floor: 2.0, share: 0.2 },
            Self::Latency => Tolerance { floor: 20.0, share: 0.5 },
        }
    }
}

/// All samples of a run, by what they measure and of what.
#[derive(Default)]
pub(super) struct Samples(BTreeMap<(Kind, String), Vec<(f64, f64)>>);

/// A judged series.
pub(super) struct Judged {
    pub(super) kind: Kind,
    pub(super) of: String,
    pub(super) growth: Growth,
    /// Why growth is no failure.
    pub(super) excuse: Option<&'static str>,
}

impl Judged {
    pub(super) fn is_failure(&self) -> bool {
        self.growth.verdict == Verdict::Unbounded && self.excuse.is_none()
    }
}

/// The control of latencies: starting a program that does nothing.
pub(super) const CONTROL: &str = "control: /bin/true";
/// The server that does not live long enough to be judged.
pub(super) const RESTARTED: &str = "rpc killed";
/// The files of sessions, which everything else may follow.
pub(super) const SESSIONS: &str = "sessions";

impl Samples {
    pub(super) fn add(&mut self, kind: Kind, of: &str, at: f64, value: f64) {
        self.0.entry((kind, of.to_owned())).or_default().push((at, value));
    }

    /// Samples a process.
    pub(super) fn add_process(&mut self, name: &str, id: u32, at: f64) {
        let Ok(status) = fs::read_to_string(format!("/proc/{id}/status")) else { return };
        let number = |key: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let Some(kilobytes) = number("RssAnon:") else { return };
        let n_descriptors = fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
        self.add(Kind::Memory, name, at, kilobytes / 1024.0);
        self.add(Kind::Threads, name, at, number("Threads:").unwrap_or(0.0));
        self.add(Kind::Descriptors, name, at, count(n_descriptors));
    }

    /// Samples the files of a home.
    pub(super) fn add_files(&mut self, home: &Path, at: f64) {
        let mut parts: BTreeMap<&str, (usize, u64)> =
            PARTS.iter().map(|(_, part)| (*part, (0, 0))).chain([(SESSIONS, (0, 0))]).collect();
        let mut directories = vec![home.to_path_buf()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    directories.push(entry.path());
                } else if let Some(part) = entry.path().strip_prefix(home).ok().and_then(part_of) {
                    let sum = parts.entry(part).or_default();
                    *sum = (sum.0 + 1, sum.1 + meta.len());
                }
            }
        }
        for (part, (n_files, n_bytes)) in parts {
            self.add(Kind::Files, part, at, count(n_files));
            self.add(Kind::Size, part, at, megabytes(n_bytes));
        }
    }

    /// Judges all series. Files and latencies may follow the growth of the store.
    pub(super) fn judge(&self) -> Vec<Judged> {
        let growth_of = |kind: Kind, of: &str| {
            let samples = self.0.get(&(kind, of.to_owned()))?;
            let growth = judge(samples, kind.tolerance(), 1.0);
            (growth.early > 0.0).then(|| (growth.late / growth.early).max(1.0))
        };
        let store = growth_of(Kind::Files, SESSIONS).unwrap_or(1.0).max(growth_of(Kind::Size, SESSIONS).unwrap_or(1.0));
        let machine = growth_of(Kind::Latency, CONTROL).unwrap_or(1.0);
        let judged = |((kind, of), samples): (&(Kind, String), &Vec<(f64, f64)>)| {
            let allowed = match kind {
                Kind::Latency => store * machine,
                _ => store,
            };
            let excuse = match (kind, of.as_str()) {
                (Kind::Files | Kind::Size, SESSIONS) => Some("the work itself"),
                (Kind::Latency, CONTROL) => Some("the machine"),
                (_, "pi" | "pi prompt" | "pi on ours" | "pi on ours prompt") => Some("not ours"),
                (_, RESTARTED) => Some("started again and again"),
                _ => None,
            };
            Judged { kind: *kind, of: of.clone(), growth: judge(samples, kind.tolerance(), allowed), excuse }
        };
        self.0.iter().map(judged).collect()
    }

    /// Returns the samples of one kind, by what they are of.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = (&str, &[(f64, f64)])> {
        let is_wanted = move |entry: &(&(Kind, String), &Vec<(f64, f64)>)| entry.0.0 == kind;
        self.0.iter().filter(is_wanted).map(|((_, of), samples)| (of.as_str(), samples.as_slice()))
    }

    /// Returns all samples as lines `seconds,kind,of,value`.
    pub(super) fn csv(&self) -> String {
        let mut text = "seconds,kind,of,value\n".to_owned();
        for ((kind, of), samples) in &self.0 {
            for (at, value) in samples {
                writeln!(text, "{at:.0},{},{of},{value:.3}", kind.name()).unwrap();
            }
        }
        text
    }
}

/// The parts of a home, by the beginning of the path; the first that fits counts.
const PARTS: &[(&str, &str)] = &[
    (".local/state/sessile", "state"),
    (".cache/sessile", "cache"),
    (".config/sessile", "configuration"),
    (".local/share/Trash", "trash"),
    ("tmp", "temporary"),
    (".pi/agent/sessions", "beside sessions"),
];

fn part_of(path: &Path) -> Option<&'static str> {
    let (_, part) = PARTS.iter().find(|(beginning, _)| path.starts_with(beginning))?;
    let is_hidden = path.file_name().unwrap_or_default().to_string_lossy().starts_with('.');
    let is_session = path.extension().is_some_and(|extension| extension == "jsonl") && !is_hidden;
    Some(if *part == "beside sessions" && is_session { SESSIONS } else { part })
}

/// Latencies since the last sample.
#[derive(Default)]
pub(super) struct Latencies(BTreeMap<&'static str, Vec<f64>>);

impl Latencies {
    pub(super) fn add(&mut self, operation: &'static str, milliseconds: f64) {
        self.0.entry(operation).or_default().push(milliseconds);
    }

    /// Moves the medians to the samples.
    pub(super) fn drain_into(&mut self, samples: &mut Samples, at: f64) {
        for (operation, latencies) in std::mem::take(&mut self.0) {
            samples.add(Kind::Latency, operation, at, median(latencies));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of files")]
fn count(n: usize) -> f64 {
    n as f64
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn megabytes(n_bytes: u64) -> f64 {
    n_bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight(from: f64, to: f64) -> Vec<(f64, f64)> {
        (0..100).map(|n| (f64::from(n) * 10.0, from + (to - from) * f64::from(n) / 100.0)).collect()
    }

    fn failures(series: &[(Kind, &str, f64, f64)]) -> Vec<String> {
        let mut samples = Samples::default();
        for (kind, of, from, to) in series {
            samples.0.insert((*kind, (*of).to_owned()), straight(*from, *to));
        }
        samples.judge().into_iter().filter(Judged::is_failure).map(|judged| judged.of).collect()
    }

    #[test]
    fn leaks_fail_unless_they_are_not_ours() {
        let series = [(Kind::Memory, "rpc", 10.0, 60.0), (Kind::Memory, "pi", 10.0, 60.0)];
        assert_eq!(failures(&series), ["rpc"]);
        let series = [(Kind::Descriptors, "serve", 20.0, 60.0), (Kind::Files, "temporary", 0.0, 90.0)];
        assert_eq!(failures(&series), ["serve", "temporary"]);
    }

    #[test]
    fn a_store_and_a_busy_machine_excuse_growth() {
        let cache = (Kind::Files, "cache", 100.0, 200.0);
        assert_eq!(failures(&[cache, (Kind::Files, SESSIONS, 50.0, 50.0)]), ["cache"]);
        assert!(failures(&[cache, (Kind::Files, SESSIONS, 50.0, 100.0)]).is_empty());
        let list = (Kind::Latency, "list", 50.0, 400.0);
        assert_eq!(failures(&[list, (Kind::Latency, CONTROL, 2.0, 2.0)]), ["list"]);
        assert!(failures(&[list, (Kind::Latency, CONTROL, 2.0, 12.0)]).is_empty());
    }

    #[test]
    fn files_are_counted_by_part() {
        let home = tempfile::tempdir().unwrap();
        let paths = [
            ".pi/agent/sessions/--x--/a.jsonl",
            ".pi/agent/sessions/--x--/.a.sessile-lock",
            ".cache/sessile/x/y",
            "tmp/z",
            "other",
        ];
        for path in paths {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "12").unwrap();
        }
        let mut samples = Samples::default();
        samples.add_files(home.path(), 0.0);
        let counted = samples.of(Kind::Files).filter(|(_, values)| values[0].1 > 0.0);
        let counted: Vec<&str> = counted.map(|(of, _)| of).collect();
        assert_eq!(counted, ["beside sessions", "cache", SESSIONS, "temporary"]);
    }
}
