//! `powerloss`: the disk keeps what was synced, and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::child::{ChildProcess, tool};
use super::inspect::{Fused, Lines, inspect, inspect_with_pi};
use super::mount::{Mount, require_root};
use super::report::Report;
use super::role::start_session;
use super::{Bench, Skipped};

/// Cycles per file system.
const CYCLES_PER_DISK: u32 = 25;

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    require_root()?;
    tool("xfs_io", &[&"-V"]).map_err(Skipped)?;
    let mut report = Report::default();
    let n_cycles = bench.count(100, 10_000);
    for (kind, n_cycles) in [("ext4", n_cycles.div_ceil(2)), ("xfs", (n_cycles / 2).max(1))] {
        if let Err(skipped) = cycles(bench, &mut report, kind, n_cycles) {
            report.skip(skipped);
        }
    }
    Ok(report)
}

fn cycles(bench: &Bench, report: &mut Report, kind: &str, n_cycles: u32) -> Result<(), Skipped> {
    for first in (0..n_cycles).step_by(CYCLES_PER_DISK as usize) {
        let mut disk = Mount::image(&bench.path(&format!("{kind}-{first}")), kind, 512, &[])?;
        let end = n_cycles.min(first + CYCLES_PER_DISK);
        for n in first..end {
            let is_last = n + 1 == n_cycles;
            cycle(bench, report, &mut disk, n, is_last).map_err(|error| Skipped(format!("{kind}: {error}")))?;
            report.add(if kind == "ext4" { "power cuts on ext4" } else { "on xfs" }, 1);
        }
    }
    Ok(())
}

/// All writers at the time of the power loss.
struct AllWriters {
    /// Writers to one file each.
    writers: Vec<(PathBuf, ChildProcess)>,
    /// Writers that report the file of each entry.
    makers: Vec<ChildProcess>,
    buffered: (PathBuf, ChildProcess),
}

impl AllWriters {
    fn start(bench: &Bench, directory: &Path, seed: u64) -> Self {
        let file = |name: &str| start_synced(&directory.join(name));
        let (one, many, buffered) = (file("sync"), file("group"), file("buffered"));
        let append = |path: &Path, mode: &str| {
            ChildProcess::start(bench.role("append", &[&path, &mode, &"0", &"100", &"5000", &seed.to_string()]))
        };
        let writers = vec![
            (one.clone(), append(&one, "sync")),
            (many.clone(), ChildProcess::start(bench.role("crowd", &[&many, &"4"]))),
        ];
        let makers = ["sync", "group"]
            .map(|mode| ChildProcess::start(bench.role("create", &[&directory.join(format!("new-{mode}")), &mode])));
        let upgrader = ChildProcess::start(bench.role("upgrade", &[&directory, &"sync"]));
        let makers = makers.into_iter().chain([upgrader]).collect();
        Self { writers, makers, buffered: (buffered.clone(), append(&buffered, "buffered")) }
    }

    /// Returns the entries acknowledged so far, by file. Called before the power loss: a sync that races with it may
    /// lie.
    fn acknowledged(&self) -> BTreeMap<PathBuf, Vec<String>> {
        let mut by_file: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for (path, child) in &self.writers {
            by_file.insert(path.clone(), acknowledged_by(child));
        }
        for (path, id) in self.makers.iter().flat_map(acknowledged_by).filter_map(|line| split(&line)) {
            by_file.entry(path).or_default().push(id);
        }
        by_file
    }

    /// Returns how many entries were acknowledged to each writer, so that a writer that never got to write is noticed.
    fn counts(&self) -> [(&'static str, u64); 5] {
        let count = |child: &ChildProcess| acknowledged_by(child).len() as u64;
        let [(_, one), (_, many)] = &self.writers[..] else { unreachable!("there are two writers") };
        let [synced, grouped, upgraded] = &self.makers[..] else { unreachable!("there are three makers") };
        [
            ("by sync", count(one)),
            ("by group", count(many)),
            ("in new sessions by sync", count(synced)),
            ("in new sessions by group", count(grouped)),
            ("in upgraded ones", count(upgraded)),
        ]
    }

    fn end(self) {
        for (_, child) in self.writers {
            child.end();
        }
        self.makers.into_iter().for_each(|child| drop(child.end()));
        self.buffered.1.end();
    }
}

fn acknowledged_by(child: &ChildProcess) -> Vec<String> {
    child.lines_so_far().into_iter().filter(|line| !line.starts_with('!')).collect()
}

fn split(line: &str) -> Option<(PathBuf, String)> {
    line.split_once('\t').map(|(path, id)| (path.into(), id.to_owned()))
}

/// Creates a session file whose name and header are on disk.
fn start_synced(directory: &Path) -> PathBuf {
    let path = start_session(directory);
    std::fs::File::open(&path).and_then(|file| file.sync_all()).unwrap();
    for parent in path.ancestors().skip(1).take(3) {
        std::fs::File::open(parent).and_then(|file| file.sync_all()).unwrap();
    }
    path
}

fn cycle(bench: &Bench, report: &mut Report, disk: &mut Mount, n: u32, is_last: bool) -> Result<(), String> {
    let mut random = bench.random(100 + u64::from(n));
    let directory = disk.root.join(format!("cycle-{n}"));
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let all = AllWriters::start(bench, &directory, random.next_u64());
    std::thread::sleep(Duration::from_millis(30 + random.below(120) as u64));
    let acknowledged = all.acknowledged();
    let by_kind = all.counts();
    let buffered = acknowledged_by(&all.buffered.1);
    disk.cut_power()?;
    let buffered_path = all.buffered.0.clone();
    all.end();
    disk.restart()?;
    for (path, ids) in &acknowledged {
        inspect(report, path, ids, Fused::Allowed);
    }
    report_buffered(report, &buffered_path, &buffered);
    for (kind, n_acknowledged) in by_kind {
        report.add(kind, n_acknowledged);
    }
    if is_last && let Some((path, ids)) = acknowledged.iter().max_by_key(|(_, ids)| ids.len()) {
        inspect_with_pi(report, bench, path, ids);
    }
    drop(std::fs::remove_dir_all(&directory));
    Ok(())
}

/// Reports the losses of buffered writes. They are informative; no promise covers them.
fn report_buffered(report: &mut Report, path: &Path, acknowledged: &[String]) {
    let lines = Lines::read(path);
    let n_lost = acknowledged.iter().filter(|id| !lines.whole.contains_key(*id)).count();
    report.add("buffered", acknowledged.len() as u64);
    report.add("of those gone, as documented", n_lost as u64);
}
