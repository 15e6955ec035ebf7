//! Writers that know nothing of Sessile.

use std::path::Path;
use std::process::Command;

use super::child::{ChildProcess, script};
use super::inspect::Lines;
use super::report::Report;
use super::role::start_session;
use super::{Bench, Skipped};

const APPEND: &str = include_str!("append.mjs");
/// The control: how many writers write to one file, how many records each, and how often at most.
const CONTROL: (u32, &str, u32) = (4, "400", 20);

/// Returns the command for a foreign writer of 0.5-60 KB records.
pub(super) fn writer(bench: &Bench, path: &Path, count: &str, seed: &str) -> Command {
    if cfg!(windows) {
        // There is no Node.
        return bench.role("naive", &[&path, &count, &"500", &"60000"]);
    }
    script(APPEND, &[&path, &count, &"500", &"60000", &seed])
}

/// Whether foreign writers can append to a file at once without destroying each other's lines. If not, reports that
/// they are left out.
///
/// Linux, macOS and Windows promise that for local disks. wine looks for the end of a file, and then writes there.
pub(super) fn can_take_part(report: &mut Report) -> bool {
    if is_in_wine() {
        report.skip(Skipped("writers that take no lock: in wine they destroy each other's lines".to_owned()));
    }
    !is_in_wine()
}

fn is_in_wine() -> bool {
    cfg!(windows) && Path::new(r"C:\windows\system32\winecfg.exe").exists()
}

/// The control in wine: writers without a lock do lose entries, and so would ours if their locks did not work.
pub(super) fn control_in_wine(bench: &Bench, report: &mut Report) {
    if !is_in_wine() {
        return;
    }
    let (n_writers, count, n_files) = CONTROL;
    for n in 0..n_files {
        let path = start_session(&bench.path(&format!("foreign-{n}")));
        let start = |_| ChildProcess::start(writer(bench, &path, count, "1"));
        let writers: Vec<ChildProcess> = (0..n_writers).map(start).collect();
        let acknowledged: Vec<String> = writers.into_iter().flat_map(|writer| writer.finish().acknowledged).collect();
        let lines = Lines::read(&path);
        let n_lost = acknowledged.iter().filter(|id| !lines.whole.contains_key(*id)).count();
        if n_lost > 0 {
            report.add("records without a lock", acknowledged.len() as u64);
            return report.add("of those lost, as expected", n_lost as u64);
        }
    }
    report.add_problem("without locks nothing was lost either, so this row shows nothing");
}
