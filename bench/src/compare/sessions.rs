//! Rows about one session.

use std::path::{Path, PathBuf};

use super::process::Sample;
use super::row::{Demand, Row};
use super::{Bench, Failure, MakeRow, answer, failed};
use crate::generate::{Made, foreign_lines};

pub(super) const ROWS: &[MakeRow] = &[
    ("start", start),
    ("open-small", open_small),
    ("open-128", open_128),
    ("open-1800", open_1800),
    ("reopen", reopen),
    ("foreign", foreign),
    ("tree", tree),
    ("context", context),
    ("fork", fork),
    ("migrate", migrate),
];

/// Formats a size for people.
#[expect(clippy::cast_precision_loss, reason = "a size")]
pub(super) fn size(made: &Made) -> String {
    match made.bytes as f64 / 1e6 {
        mb if mb >= 1_000.0 => format!("{:.1} GB", mb / 1e3),
        mb if mb >= 10.0 => format!("{mb:.0} MB"),
        mb => format!("{mb:.1} MB"),
    }
}

/// Reads a file into the page cache.
pub(super) fn warm(bench: &Bench, path: &Path) -> Result<(), Failure> {
    bench.tools.limit().arg("read").arg(path).inner().map(drop)
}

/// Checks, once and unmeasured, that both sides read every entry in full: a fast open must not skip data.
fn check_every_entry(bench: &Bench, path: &Path) -> Result<(), Failure> {
    let ours = bench.tools.ours(&bench.cache("check")).arg("entries").arg(path).inner()?;
    let pi = bench.tools.pi().arg("entries").arg(path).inner()?;
    if ours.answer == pi.answer {
        return Ok(());
    }
    Err(Failure(format!("the entries of {} differ from pi's", path.display())))
}

pub(super) fn forget(cache: &Path) {
    // A missing folder need not be removed.
    std::fs::remove_dir_all(cache).ok();
}

fn start(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = bench.corpus.make_named("small")?;
    let file = made.path.clone();
    warm(bench, &file)?;
    let cache = bench.cache("start");
    let row = Row::new("start", format!("whole process: start, open {}, print the context", size(&made)));
    let (ours, pi, read) = (file.clone(), file.clone(), file);
    Ok(row
        .ours(move || bench.tools.sessile(&cache).arg("context").arg(&ours).arg("--json").whole_answer())
        .pi(move || bench.tools.pi().arg("print-context").arg(&pi).whole_answer())
        .other("read", move || bench.tools.limit().arg("read").arg(&read).inner())
        .demands([Demand::FasterThanPi(60.0)]))
}

/// Opens a file without any cached data.
fn open<'b>(bench: &'b Bench, id: &'static str, name: &str, demands: &[Demand]) -> Result<Row<'b>, Failure> {
    let made = bench.corpus.make_named(name)?;
    let file = made.path.clone();
    warm(bench, &file)?;
    check_every_entry(bench, &file)?;
    let what = if name.ends_with("text") { ", text" } else { "" };
    let row = Row::new(id, format!("open {}{what}, no index yet", size(&made)));
    let cache = bench.cache(id);
    let paths = [(); 4].map(|()| file.clone());
    let [ours, pi, read, lines] = paths;
    Ok(row
        .ours(move || {
            forget(&cache);
            bench.tools.ours(&cache).arg("open").arg(&ours).inner()
        })
        .pi(move || bench.tools.pi().arg("open").arg(&pi).inner())
        .other("read", move || bench.tools.limit().arg("read").arg(&read).inner())
        .other("newline scan", move || bench.tools.limit().arg("lines").arg(&lines).inner())
        .demands(demands.iter().copied()))
}

fn open_small(bench: &Bench) -> Result<Row<'_>, Failure> {
    open(bench, "open-small", "small", &[])
}

fn open_128(bench: &Bench) -> Result<Row<'_>, Failure> {
    open(bench, "open-128", "giant-128-text", &[Demand::FasterThanPi(20.0), Demand::Memory(24.0)])
}

fn open_1800(bench: &Bench) -> Result<Row<'_>, Failure> {
    open(bench, "open-1800", "giant-1800", &[Demand::FasterThanPi(25.0), Demand::Memory(32.0)])
}

fn reopen(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = bench.corpus.make_named("giant-1800")?;
    let file = made.path.clone();
    warm(bench, &file)?;
    let cache = bench.cache("reopen");
    bench.tools.ours(&cache).arg("open").arg(&file).inner()?;
    let row = Row::new("reopen", format!("reopen {} with its index, build the context", size(&made)));
    let (ours, pi) = (file.clone(), file);
    Ok(row
        .ours(move || bench.tools.ours(&cache).arg("context").arg(&ours).inner())
        .pi(move || bench.tools.pi().arg("context").arg(&pi).inner())
        .demands([Demand::FasterThanPi(1_500.0), Demand::Memory(64.0)]))
}

/// In each round another program appends to the file, and both sides open it again.
fn foreign(bench: &Bench) -> Result<Row<'_>, Failure> {
    const N_LINES: u32 = 100;
    let made = bench.corpus.make_named("giant-1800")?;
    let file = bench.folder("foreign")?.join("grown.jsonl");
    std::fs::copy(&made.path, &file).map_err(failed("copy a session"))?;
    let cache = bench.cache("foreign");
    bench.tools.ours(&cache).arg("open").arg(&file).inner()?;
    let title = format!("reopen {} after {N_LINES} foreign appends, build the context", size(&made));
    let (ours, pi) = (file.clone(), file);
    let mut round = 0;
    Ok(Row::new("foreign", title)
        .ours(move || {
            round += 1;
            answer::append(&ours, &foreign_lines(&answer::last_id(&ours)?, N_LINES, round))?;
            bench.tools.ours(&cache).arg("context").arg(&ours).inner()
        })
        .pi(move || bench.tools.pi().arg("context").arg(&pi).inner())
        .demands([Demand::FasterThanPi(1_000.0)]))
}

fn tree(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = bench.corpus.make_named("tree")?;
    let file = made.path.clone();
    warm(bench, &file)?;
    check_every_entry(bench, &file)?;
    let cache = bench.cache("tree");
    let row = Row::new("tree", format!("whole tree of {} entries, file open, first call", made.lines - 1));
    let (ours, pi) = (file.clone(), file);
    Ok(row
        .ours(move || bench.tools.ours(&cache).arg("tree").arg(&ours).inner())
        .pi(move || bench.tools.pi().arg("tree").arg(&pi).inner())
        .demands([Demand::FasterThanPi(20.0)]))
}

fn context(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = bench.corpus.make_named("tree")?;
    let file = made.path.clone();
    warm(bench, &file)?;
    let cache = bench.cache("tree");
    let (ours, pi) = (file.clone(), file);
    Ok(Row::new("context", "context over the path of that tree, file open, JIT-warm")
        .ours(move || bench.tools.ours(&cache).arg("context-warm").arg(&ours).arg("15").inner())
        .pi(move || bench.tools.pi().arg("context-warm").arg(&pi).arg("15").inner())
        .demands([Demand::FasterThanPi(3.0)]))
}

fn fork(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = bench.corpus.make_named("giant-128")?;
    let file = made.path.clone();
    warm(bench, &file)?;
    let cache = bench.cache("fork");
    bench.tools.ours(&cache).arg("open").arg(&file).inner()?;
    let (ours_in, pi_in, copy_to) = (bench.folder("fork-ours")?, bench.folder("fork-pi")?, bench.folder("copy")?);
    let [ours, pi, copy] = [(); 3].map(|()| file.clone());
    let row = Row::new("fork", format!("fork of a {} session, its index present", size(&made)));
    Ok(row
        .ours(move || {
            let job = bench.tools.ours(&cache).arg("fork").arg(&ours).arg("/proj/forked").arg(&ours_in);
            forked(job.inner()?)
        })
        .pi(move || forked(bench.tools.pi().arg("fork").arg(&pi).arg("/proj/forked").arg(&pi_in).inner()?))
        .other("copy", move || {
            let to = copy_to.join("copy.jsonl");
            let sample = bench.tools.limit().arg("copy").arg(&copy).arg(&to).inner();
            std::fs::remove_file(to).map_err(failed("remove a copy"))?;
            sample
        })
        .demands([Demand::FasterThanPi(30.0), Demand::AtMostTimes("copy", 1.6)]))
}

/// Returns a sample whose answer is the new file, and removes the file.
fn forked(sample: Sample) -> Result<Sample, Failure> {
    let file = sample.file()?;
    let answer = answer::below_the_header(&file)?;
    std::fs::remove_file(file).map_err(failed("remove a fork"))?;
    Ok(sample.answering(answer))
}

/// Returns a folder where syncs cost nothing, so that only the work is measured.
fn unsynced_folder(bench: &Bench) -> Result<tempfile::TempDir, Failure> {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory } else { bench.scratch.path() };
    tempfile::tempdir_in(parent).map_err(failed("make a folder"))
}

fn migrate(bench: &Bench) -> Result<Row<'_>, Failure> {
    let made = bench.corpus.make_named("v1")?;
    warm(bench, &made.path)?;
    let cache = bench.cache("migrate");
    let unsynced = unsynced_folder(bench)?;
    let disk = bench.folder("migrate")?;
    let [ours, pi, synced] = [(); 3].map(|()| made.path.clone());
    let [ours_in, pi_in] = [(); 2].map(|()| unsynced.path().to_path_buf());
    let row = Row::new("migrate", format!("migrate a {} v1 file, in memory (so without fsync)", size(&made)));
    let also = cache.clone();
    Ok(row
        .ours(move || {
            // Keeps the folder as long as the row.
            let _in = &unsynced;
            migrated(&ours, &ours_in.join("ours"), 1, &mut |file| {
                bench.tools.ours(&cache).arg("migrate").arg(file).inner()
            })
        })
        .pi(move || migrated(&pi, &pi_in.join("pi"), 0, &mut |file| bench.tools.pi().arg("migrate").arg(file).inner()))
        .other("on disk, with fsync", move || {
            migrated(&synced, &disk.join("ours"), 1, &mut |file| {
                bench.tools.ours(&also).arg("migrate").arg(file).inner()
            })
        })
        .demands([Demand::FasterThanPi(6.0)]))
}

/// Upgrades a copy of a file; the answer is the result without the last `n_added` lines.
fn migrated(
    from: &Path,
    folder: &Path,
    n_added: usize,
    upgrade: &mut dyn FnMut(&PathBuf) -> Result<Sample, Failure>,
) -> Result<Sample, Failure> {
    std::fs::create_dir_all(folder).map_err(failed("make a folder"))?;
    let copy = folder.join("old.jsonl");
    std::fs::copy(from, &copy).map_err(failed("copy a session"))?;
    let sample = upgrade(&copy)?;
    let answer = answer::with_indices_for_ids(&copy, n_added)?;
    std::fs::remove_dir_all(folder).map_err(failed("remove a copy"))?;
    Ok(sample.answering(answer))
}
