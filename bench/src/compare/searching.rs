//! Rows about full-text search, compared with ripgrep.

use std::path::{Path, PathBuf};

use super::process::{Job, Sample};
use super::row::{Demand, Row};
use super::stores::store;
use super::{Bench, Failure, MakeRow, answer};
use crate::generate::{COMMON_PHRASE, COMMON_WORD, Made, PHRASE, WORD};

pub(super) const ROWS: &[MakeRow] = &[
    ("text-index", text_index),
    ("search-rare", search_rare),
    ("search-rare-phrase", search_rare_phrase),
    ("search-common", search_common),
    ("search-phrase", search_phrase),
    ("search-pattern", search_pattern),
    ("text-append", text_append),
];

/// Matches [`WORD`] alone.
const PATTERN: &str = r"look at [a-z]+lantern\d+ before";

const RIPGREP: &str = "ripgrep -l";
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// Returns why these rows cannot be measured here, if so.
fn missing(bench: &Bench) -> Option<&'static str> {
    if !bench.tools.sessile(&bench.cache("probe")).args(["search", "--help"]).works() {
        return Some("not built yet: this `sessile` has no `search`");
    }
    None
}

/// Returns a search of the whole store, after bringing its index up to date.
fn search<'b>(bench: &'b Bench, made: &Made, query: &str) -> Result<Job<'b>, Failure> {
    let cache = bench.cache("search");
    update(bench, made, &cache).whole()?;
    Ok(bench.tools.sessile(&cache).args(["search", "--all"]).arg(query).env(AGENT_DIR, &made.path))
}

fn update<'b>(bench: &'b Bench, made: &Made, cache: &Path) -> Job<'b> {
    bench.tools.sessile(cache).args(["search", "--all", "--update"]).env(AGENT_DIR, &made.path)
}

/// Runs a search with any program; its answer is the set of sessions it prints.
fn searched(job: &Job<'_>) -> Result<Sample, Failure> {
    let (sample, text) = job.whole()?;
    Ok(sample.answering(answer::of_paths(text.lines().map(PathBuf::from))))
}

/// Runs a search for its time only.
fn timed(job: &Job<'_>) -> Result<Sample, Failure> {
    Ok(job.whole()?.0)
}

/// Adds ripgrep to a row, or says in its title that it is missing.
fn beside_ripgrep<'b>(
    bench: &'b Bench,
    mut row: Row<'b>,
    made: &Made,
    wanted: [&str; 3],
    search: &'b dyn Fn(&Job<'_>) -> Result<Sample, Failure>,
) -> Row<'b> {
    if !bench.tools.program("rg").arg("--version").works() {
        row.title.push_str(" (SKIPPED beside it: ripgrep is not installed)");
        return row;
    }
    let args = ["--files-with-matches", "--no-ignore"].into_iter().chain(wanted);
    let job = bench.tools.program("rg").args(args).arg(made.path.join("sessions"));
    row.other(RIPGREP, move || search(&job))
}

/// The arguments of ripgrep for a text.
fn fixed(text: &str) -> [&str; 3] {
    ["--fixed-strings", "--", text]
}

/// Searches for a rare text; the result must be the sessions in which it was planted.
fn rare<'b>(
    bench: &'b Bench,
    id: &'static str,
    what: &str,
    query: &str,
    raw: [&str; 3],
    planted: impl Fn(&Made) -> Vec<PathBuf>,
) -> Result<Row<'b>, Failure> {
    let title = format!("whole process: search for {what}, index warm");
    if let Some(why) = missing(bench) {
        return Ok(Row::missing(id, title, why));
    }
    let made = store(bench)?;
    let ours = search(bench, &made, query)?.arg("--sessions");
    let expected = answer::of_paths(planted(&made));
    let row = Row::new(id, title).ours(move || searched(&ours)).other("planted", move || {
        // Not a contestant: the generator knows the correct answer.
        Ok(Sample { ms: f64::NAN, peak_kb: 0, answer: Some(expected.clone()), figures: serde_json::Value::Null })
    });
    Ok(beside_ripgrep(bench, row, &made, raw, &searched))
}

fn search_rare(bench: &Bench) -> Result<Row<'_>, Failure> {
    let row = rare(bench, "search-rare", "a rare word", WORD, fixed(WORD), |made| made.with_word.clone())?;
    // A search examines every file first, which takes most of the time.
    Ok(row.demands([Demand::FasterThan(RIPGREP, 5.0)]))
}

/// Only the result is checked; no speed is demanded for a phrase of common words.
fn search_rare_phrase(bench: &Bench) -> Result<Row<'_>, Failure> {
    let query = format!("\"{PHRASE}\"");
    rare(bench, "search-rare-phrase", "a rare phrase", &query, fixed(PHRASE), |made| made.with_phrase.clone())
}

/// ripgrep searches the raw lines with the same expression, and also regardless of case.
fn search_pattern(bench: &Bench) -> Result<Row<'_>, Failure> {
    let (query, raw) = (format!("re:{PATTERN}"), ["--ignore-case", "--regexp", PATTERN]);
    let row = rare(bench, "search-pattern", "a regular expression", &query, raw, |made| made.with_word.clone())?;
    Ok(row.demands([Demand::FasterThan(RIPGREP, 5.0)]))
}

/// Searches for the best of many matches.
fn common<'b>(bench: &'b Bench, id: &'static str, what: &str, query: &str, raw: &str) -> Result<Row<'b>, Failure> {
    let title = format!("whole process: the best 50 for {what}, index warm");
    if let Some(why) = missing(bench) {
        return Ok(Row::missing(id, title, why));
    }
    let made = store(bench)?;
    let ours = search(bench, &made, query)?.args(["--json", "--limit", "50"]);
    let row = Row::new(id, title).ours(move || timed(&ours));
    Ok(beside_ripgrep(bench, row, &made, fixed(raw), &timed).demands([Demand::FasterThan(RIPGREP, 2.0)]))
}

fn search_common(bench: &Bench) -> Result<Row<'_>, Failure> {
    common(bench, "search-common", "a common word", COMMON_WORD, COMMON_WORD)
}

fn search_phrase(bench: &Bench) -> Result<Row<'_>, Failure> {
    common(bench, "search-phrase", "a common phrase", &format!("\"{COMMON_PHRASE}\""), COMMON_PHRASE)
}

/// Builds the whole index, which happens once.
#[expect(clippy::cast_precision_loss, reason = "figures need no precision")]
fn text_index(bench: &Bench) -> Result<Row<'_>, Failure> {
    if let Some(why) = missing(bench) {
        return Ok(Row::missing("text-index", "whole process: build the text index", why));
    }
    let made = store(bench)?;
    let sizes = bench.tools.ours(&bench.cache("probe")).arg("text-size").arg(made.path.join("sessions")).inner()?;
    let text_mb = sizes.figures["text_bytes"].as_f64().unwrap_or_default() / 1e6;
    let cache = bench.cache("text-index");
    let job = update(bench, &made, &cache);
    let title =
        format!("whole process: build the text index of {:.2} GB ({text_mb:.0} MB of text)", made.bytes as f64 / 1e9);
    Ok(Row::new("text-index", title)
        .ours(move || {
            // A missing folder need not be removed.
            std::fs::remove_dir_all(&cache).ok();
            let (mut sample, _) = job.whole()?;
            sample.figures["mb_of_text_per_s"] = (text_mb / sample.ms * 1e3).into();
            sample.figures["index_per_text"] = (bytes_below(&cache) as f64 / 1e6 / text_mb).into();
            Ok(sample)
        })
        .demands([
            Demand::AtLeast("mb_of_text_per_s", 12.0),
            Demand::AtMost("index_per_text", 0.85),
            Demand::Memory(256.0),
        ]))
}

fn bytes_below(path: &Path) -> u64 {
    match path.read_dir() {
        Ok(entries) => entries.flatten().map(|entry| bytes_below(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |file| file.len()),
    }
}

/// Adds entries one by one to an index of the whole store.
fn text_append(bench: &Bench) -> Result<Row<'_>, Failure> {
    let title = "add one entry to the text index (median)";
    let cache = bench.cache("text-index");
    if !bench.tools.ours(&cache).args(["text-append", "--probe"]).works() {
        return Ok(Row::missing("text-append", title, "not built yet: the library has no text index"));
    }
    let made = store(bench)?;
    let job = bench.tools.ours(&cache).arg("text-append").env(AGENT_DIR, &made.path);
    let row =
        beside_ripgrep(bench, Row::new("text-append", title).ours(move || job.inner()), &made, fixed(WORD), &timed);
    Ok(row.demands([Demand::FasterThan(RIPGREP, 20.0), Demand::FigureAtMostTimes("worst_ms", RIPGREP, 1.0)]))
}
