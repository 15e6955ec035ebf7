//! Rows about the screens: the time from the start of the process until the first rows are visible in a terminal.

use std::path::{Path, PathBuf};

use super::process::Job;
use super::row::{Demand, Row};
use super::sessions::{forget, warm};
use super::stores::{AGENT_DIR, store};
use super::{Bench, Failure, MakeRow, answer, failed};
use crate::generate::foreign_lines;

pub(super) const ROWS: &[MakeRow] = &[("screen-tree", tree), ("screen-tree-first", first_tree)];

/// What only the last entry of a session says.
const LAST: &str = "Note 0 of 77";

/// The number of characters of a first message that a row of the picker shows in any case.
const N_SHOWN: usize = 16;

/// Returns a session of a million entries, the last of which is selected at first.
fn million(bench: &Bench) -> Result<PathBuf, Failure> {
    let made = bench.corpus.make_named("tree-million")?;
    let file = bench.folder("million")?.join("million.jsonl");
    if !file.exists() {
        std::fs::copy(&made.path, &file).map_err(failed("copy a session"))?;
        answer::append(&file, &foreign_lines(&answer::last_id(&file)?, 1, 77))?;
    }
    warm(bench, &file)?;
    Ok(file)
}

fn show_tree<'b>(bench: &'b Bench, cache: &Path, file: &Path) -> Job<'b> {
    bench.tools.screen(cache, LAST).args(["tree", "-i"]).arg(file)
}

/// The session was shown before.
fn tree(bench: &Bench) -> Result<Row<'_>, Failure> {
    let title = "screen: first rows of a tree of a million entries, with caches";
    if bench.options.is_small {
        return Ok(Row::missing("screen-tree", title, "only in the full run"));
    }
    let file = million(bench)?;
    let cache = bench.cache("screen-tree");
    let job = show_tree(bench, &cache, &file);
    // The file must not be so new that it may still be changing.
    std::thread::sleep(std::time::Duration::from_secs(4));
    bench.tools.sessile(&cache).args(["info"]).arg(&file).whole()?;
    job.inner()?;
    Ok(Row::new("screen-tree", title).ours(move || job.inner()).demands([Demand::AtMost("ms", 150.0)]))
}

fn first_tree(bench: &Bench) -> Result<Row<'_>, Failure> {
    let title = "screen: first rows of a tree of a million entries, no caches";
    if bench.options.is_small {
        return Ok(Row::missing("screen-tree-first", title, "only in the full run"));
    }
    let file = million(bench)?;
    let cache = bench.cache("screen-tree-first");
    let job = show_tree(bench, &cache, &file);
    Ok(Row::new("screen-tree-first", title)
        .ours(move || {
            forget(&cache);
            job.inner()
        })
        .demands([Demand::AtMost("ms", 400.0)]))
}

/// Returns the picker with the sessions of one project, until its first row is visible.
pub(super) fn picker<'b>(bench: &'b Bench, cache: &Path) -> Result<Job<'b>, Failure> {
    let made = store(bench)?;
    let list = bench.tools.sessile(cache).args(["list", "--json"]).dir(&made.cwd).env(AGENT_DIR, &made.path);
    let (_, listed) = list.whole()?;
    let rows: serde_json::Value =
        serde_json::from_str(&listed).map_err(|error| Failure(format!("the list: {error}")))?;
    let texts: Vec<String> = rows
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["name"].as_str().or(row["firstMessage"].as_str()))
        .map(|text| text.lines().next().unwrap_or_default().chars().take(N_SHOWN).collect())
        .collect();
    Ok(bench.tools.screen(cache, &texts.join("\n")).arg("resume").dir(&made.cwd).env(AGENT_DIR, &made.path))
}
