//! Measures the scanner: recall on public examples, findings in source code, speed.
//!
//! ```console
//! $ cargo run --release -p sessile-redact --example measure -- keyhog DETECTORS [a|b] [-v]
//! $ cargo run --release -p sessile-redact --example measure -- source DIRECTORY…
//! $ cargo run --release -p sessile-redact --example measure -- speed DIRECTORY
//! ```
//!
//! `keyhog` reads the folder `detectors` of the crate keyhog-core, which is not part of this repository. Both
//! halves were seen during development.

#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "reads the files that its arguments name")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sessile_redact::{Origin, ScanOptions, Scanner, Tier, rules};

/// How much source code is scanned at most.
const MOST_SOURCE: usize = 100 << 20;
/// How much text the speed is measured on.
const MOST_SPEED: usize = 32 << 20;

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let scanner = Scanner::new(&ScanOptions::default()).map_err(|error| error.reason)?;
    match words.as_slice() {
        ["keyhog", detectors, options @ ..] => keyhog(&scanner, Path::new(detectors), options),
        ["source", folders @ ..] => {
            let (text, files) = read(folders, MOST_SOURCE)?;
            source(&scanner, &text, &files);
            Ok(())
        }
        ["speed", folders @ ..] => {
            let (text, _) = read(folders, MOST_SPEED)?;
            speed(&scanner, &text);
            Ok(())
        }
        _ => Err("usage: measure keyhog DETECTORS [a|b] [-v] | source DIRECTORY… | speed DIRECTORY…".into()),
    }
}

/// A detector of keyhog: what it looks for, and examples.
struct Detector {
    id: String,
    /// The patterns for keys of kinds that our table lists.
    listed: Vec<regex::Regex>,
    positive: Vec<String>,
    negative: Vec<String>,
}

fn keyhog(scanner: &Scanner, folder: &Path, options: &[&str]) -> Result<(), Problem> {
    let detectors = detectors(folder)?;
    let halves =
        [("a", 0), ("b", 1)].into_iter().filter(|(name, _)| !options.iter().any(|o| o.len() == 1 && o != name));
    for (name, half) in halves {
        let mut counts = [[0_usize; 2]; 3];
        for detector in detectors.iter().filter(|detector| half_of(&detector.id) == half) {
            for example in &detector.positive {
                let is_found = !scanner.find(example, Origin::Ordinary).is_empty();
                let is_listed = detector.listed.iter().any(|pattern| pattern.is_match(example));
                counts[1][usize::from(is_found)] += 1;
                counts[0][usize::from(is_found)] += usize::from(is_listed);
                if !is_found && options.contains(&"-v") {
                    println!("missed{} {}: {example}", if is_listed { " LISTED" } else { "" }, detector.id);
                }
            }
            for example in &detector.negative {
                let found = scanner.find(example, Origin::Ordinary);
                counts[2][usize::from(!found.is_empty())] += 1;
                if let Some(found) = found.first().filter(|_| options.contains(&"-v")) {
                    println!("flagged {} by {}: {example}", detector.id, found.rule);
                }
            }
        }
        for (what, [no, yes]) in
            ["listed positives found", "all positives found", "negatives flagged"].iter().zip(counts)
        {
            println!("half {name}: {what}: {yes} of {} ({:.1} %)", yes + no, percent(yes, yes + no));
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Returns the half to which a detector belongs: a bit of the FNV hash of its name.
fn half_of(id: &str) -> u64 {
    let hash =
        id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash >> 32 & 1
}

fn detectors(folder: &Path) -> Result<Vec<Detector>, Problem> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut detectors = Vec::new();
    for path in paths {
        let document: toml_edit::DocumentMut = std::fs::read_to_string(&path)?.parse()?;
        let Some(detector) = document.get("detector") else { continue };
        let Some(id) = detector.get("id").and_then(toml_edit::Item::as_str) else { continue };
        let strings = |table: &str, key: &str| -> Vec<String> {
            let tables = detector.get(table).and_then(toml_edit::Item::as_array_of_tables);
            let values = tables.into_iter().flatten().filter_map(|table| table.get(key)?.as_str());
            values.map(str::to_owned).collect()
        };
        let listed = strings("patterns", "regex")
            .iter()
            .filter(|pattern| is_listed(pattern))
            .filter_map(|p| regex::Regex::new(p).ok())
            .collect();
        detectors.push(Detector {
            id: id.to_owned(),
            listed,
            positive: strings("tests", "test_positive"),
            negative: strings("tests", "test_negative"),
        });
    }
    Ok(detectors)
}

/// Whether a pattern of keyhog looks for keys of a kind that our table lists: one of our anchors, then a class of
/// characters.
fn is_listed(pattern: &str) -> bool {
    let pattern = pattern.replace("\\-", "-").replace("\\.", ".").replace("\\/", "/").replace("\\_", "_");
    let certain = rules().filter(|rule| rule.tier == Tier::Certain);
    certain.flat_map(|rule| rule.anchors).any(|anchor| {
        pattern.match_indices(anchor).any(|(at, _)| {
            let before = pattern.get(..at).and_then(|text| text.chars().next_back());
            let after = pattern.get(at + anchor.len()..).and_then(|text| text.chars().next());
            before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_' && c != ']' && c != '-')
                && after.is_some_and(|c| matches!(c, '[' | '('))
        })
    })
}

/// Reads the text files of folders, up to a size. Returns their text and the ends and names of the files.
fn read(folders: &[&str], most: usize) -> Result<(String, Vec<(usize, PathBuf)>), Problem> {
    let mut open: Vec<PathBuf> = folders.iter().rev().map(PathBuf::from).collect();
    let mut text = String::new();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let mut entries: Vec<PathBuf> =
                std::fs::read_dir(&path)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
            entries.retain(|entry| !entry.is_symlink());
            entries.sort();
            open.extend(entries.into_iter().rev());
        } else if let Ok(more) = std::fs::read_to_string(&path) {
            if text.len() + more.len() > most {
                break;
            }
            text.push_str(&more);
            files.push((text.len(), path));
        }
    }
    Ok((text, files))
}

fn source(scanner: &Scanner, text: &str, files: &[(usize, PathBuf)]) {
    let mut counts: BTreeMap<(Tier, String), usize> = BTreeMap::new();
    let mut start = 0;
    for (end, path) in files {
        let content = text.get(start..*end).unwrap_or("");
        let (mut line, mut counted) = (1, 0);
        for finding in scanner.find(content, Origin::Ordinary) {
            *counts.entry((finding.tier, finding.rule.to_string())).or_default() += 1;
            line += content.get(counted..finding.range.start).map_or(0, |before| before.matches('\n').count());
            counted = finding.range.start;
            let via = finding.via.map_or_else(String::new, |via| format!(" via {via:?}"));
            println!("{:?} {}{via} {} {}:{line}", finding.tier, finding.rule, finding.masked(), path.display());
        }
        start = *end;
    }
    for ((tier, rule), count) in &counts {
        println!("{tier:?} {rule}: {count}");
    }
    let of = |tier: Tier| counts.iter().filter(|((known, _), _)| *known == tier).map(|(_, count)| count).sum::<usize>();
    println!("{} bytes, {} files: certain {}, likely {}", text.len(), files.len(), of(Tier::Certain), of(Tier::Likely));
}

fn speed(scanner: &Scanner, text: &str) {
    let chunks: Vec<&str> = text.split_inclusive("\n\n").collect();
    let keywords = "password token secret key auth ghp_ sk- eyJ AKIA :// -p Bearer api_key=password glpat- xoxb- ";
    let worst = keywords.repeat(MOST_SPEED / 8 / keywords.len());
    let dense = "api_key=token:secret=password&auth=key;".repeat(100_000);
    measure("plain", text.len(), || chunks.iter().map(|chunk| scanner.find_plain(chunk, Origin::Ordinary).len()).sum());
    measure("with decoders", text.len(), || {
        chunks.iter().map(|chunk| scanner.find(chunk, Origin::Ordinary).len()).sum()
    });
    measure("with decoders, one text", text.len(), || scanner.find(text, Origin::Ordinary).len());
    measure("worst case: keywords", worst.len(), || scanner.find(&worst, Origin::Ordinary).len());
    measure("worst case: assignments", dense.len(), || scanner.find(&dense, Origin::Ordinary).len());
    let known = (0..10_000_u32).map(|n| {
        sessile_redact::Secret::new(format!(
            "{:08x}-known-{n:05}-{:08x}",
            n.wrapping_mul(0x9e37_79b9),
            n.wrapping_mul(0x85eb_ca6b)
        ))
    });
    let options = ScanOptions { known: known.collect(), ..ScanOptions::default() };
    let before = cpu_nanoseconds();
    let Ok(with_known) = Scanner::new(&options) else { return };
    println!("10,000 known values: prepared in {} ms of CPU", (cpu_nanoseconds() - before) / 1_000_000);
    measure("with 10,000 known values", text.len(), || {
        chunks.iter().map(|chunk| with_known.find(chunk, Origin::Ordinary).len()).sum()
    });
}

fn measure(name: &str, length: usize, mut run: impl FnMut() -> usize) {
    let mut best = u64::MAX;
    let mut found = 0;
    for _ in 0..3 {
        let before = cpu_nanoseconds();
        found = run();
        best = best.min(cpu_nanoseconds() - before);
    }
    let tenths = u64::try_from(length).unwrap_or(0) * 10_000 / best.max(1);
    println!("{name}: {}.{} MB/s CPU, {length} bytes, {found} findings", tenths / 10, tenths % 10);
}

/// Returns the CPU time of this thread, as Linux counts it.
fn cpu_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
