//! Rows about the screens: the time from the start of the process until the first rows are visible in a terminal.

use std::path::Path;
use std::time::Duration;

use super::process::Job;
use super::row::{Demand, Row, amount};
use super::sessions::{forget, warm};
use super::stores::{AGENT_DIR, store};
use super::{Bench, Failure, MakeRow, answer, failed};
use crate::generate::foreign_lines;

pub(super) const ROWS: &[MakeRow] = &[("screen-tree", tree), ("screen-tree-first", first_tree)];

/// What only the last entry of a session says.
const LAST: &str = "Note 0 of 77";

/// The number of characters of a first message that a row of the picker shows in any case.
const N_SHOWN: usize = 16;

fn tree(bench: &Bench) -> Result<Row<'_>, Failure> {
    first_rows(bench, "screen-tree", true, 150.0)
}

fn first_tree(bench: &Bench) -> Result<Row<'_>, Failure> {
    first_rows(bench, "screen-tree-first", false, 400.0)
}

/// Shows the tree of a session of a million entries, which may have been shown before.
fn first_rows<'b>(bench: &'b Bench, id: &'static str, has_caches: bool, most_ms: f64) -> Result<Row<'b>, Failure> {
    let made = bench.corpus.make_named("tree-million")?;
    let with = if has_caches { "with caches" } else { "no caches" };
    #[expect(clippy::cast_precision_loss, reason = "a size")]
    let entries = amount(made.lines as f64);
    let title = format!("screen: first rows of a tree of {entries} entries, {with}");
    if bench.options.is_small {
        return Ok(Row::missing(id, title, "only in the full run"));
    }
    // The last entry is selected at first.
    let file = bench.folder(id)?.join("million.jsonl");
    std::fs::copy(&made.path, &file).map_err(failed("copy a session"))?;
    answer::append(&file, &foreign_lines(&answer::last_id(&file)?, 1, 77))?;
    warm(bench, &file)?;
    let cache = bench.cache(id);
    let job = bench.tools.screen(&cache, LAST).args(["tree", "-i"]).arg(&file);
    if has_caches {
        // Caches are not trusted for a file that may still be changing.
        std::thread::sleep(Duration::from_secs(4));
        job.inner()?;
    }
    let turn = move || {
        if !has_caches {
            forget(&cache);
        }
        job.inner()
    };
    Ok(Row::new(id, title).ours(turn).demands([Demand::AtMost("ms", most_ms)]))
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
