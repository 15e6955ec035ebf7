//! The whole comparison.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Failure;
use crate::child::{answers, worker};
use crate::corpus::sessions;
use crate::crash::{KILLS, crash};
use crate::damage::damage;
use crate::engine::Query;
use crate::engines::ENGINES;
use crate::figures::{percentile, short, size_of};
use crate::limit::scan;
use crate::queries::{Queries, choose};
use crate::worker::{AllQueryTimes, Built};

/// How often an index is built; the fastest build counts.
const BUILDS: usize = 3;

/// How many queries of each kind are asked after a crash or damage, when an engine may have to read the sessions.
const QUERIES_PER_KIND: usize = 1;

/// How often a whole process is measured.
const PROCESSES: usize = 25;

/// Crashes and damage are tried with stores up to this size.
const SMALL: u64 = 200 << 20;

/// Compares the engines on each store, and prints tables.
pub fn run(folder: &Path, stores: &[&str]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for store in stores {
        Comparison::new(folder, Path::new(store))?.run()?;
    }
    Ok(())
}

struct Comparison<'c> {
    folder: PathBuf,
    store: &'c Path,
    files: Vec<PathBuf>,
    n_bytes: u64,
    queries: Queries,
    queries_path: PathBuf,
    /// Some of the queries.
    few_path: PathBuf,
}

impl<'c> Comparison<'c> {
    fn new(folder: &Path, store: &'c Path) -> Result<Self, Failure> {
        let files = sessions(store)?;
        let n_bytes = scan(&files, None)?.0 as u64;
        let queries = choose(&files)?;
        let folder = folder.join(store.file_name().unwrap_or_default());
        std::fs::create_dir_all(&folder)?;
        let queries_path = folder.join("queries.json");
        std::fs::write(&queries_path, serde_json::to_vec(&queries)?)?;
        let few = queries
            .iter()
            .map(|(kind, queries)| (kind.clone(), queries[..QUERIES_PER_KIND.min(queries.len())].to_vec()));
        let few_path = folder.join("few.json");
        std::fs::write(&few_path, serde_json::to_vec(&few.collect::<Queries>())?)?;
        Ok(Self { folder, store, files, n_bytes, queries, queries_path, few_path })
    }

    fn index(&self, engine: &str) -> PathBuf {
        self.folder.join(engine)
    }

    /// Measures part by part, and prints each part when it is done.
    fn run(&self) -> Result<(), Failure> {
        let (n_sessions, megabytes) = (self.files.len(), self.n_bytes as f64 / 1e6);
        println!("\n## {n_sessions} sessions, {megabytes:.0} MB\n");
        let mut usual_ms = BTreeMap::new();
        part(|table| {
            usual_ms = self.build(table)?;
            Ok(())
        })?;
        self.agree()?;
        part(|table| self.ask(table))?;
        part(|table| self.processes(table))?;
        part(|table| self.limits(table))?;
        if self.n_bytes < SMALL {
            part(|table| self.harm(table, &usual_ms))?;
        }
        part(|table| self.append(table))
    }

    /// Kills updates, and damages files.
    fn harm(&self, table: &mut Table, usual_ms: &BTreeMap<&str, f64>) -> Result<(), Failure> {
        for engine in ENGINES {
            let index = self.index(engine);
            let expected = answers(engine, &index, self.store, &self.few_path)?;
            let crashes = crash(engine, &self.folder, self.store, &self.few_path, &expected, usual_ms[engine])?;
            let text = format!(
                "{} right, {} incomplete, {} unusable; {} right after an update",
                crashes.right_at_once, crashes.incomplete, crashes.unusable, crashes.right_later
            );
            table.put_text(&format!("{KILLS} updates killed: answers"), engine, text);
            let damages = damage(engine, &self.folder, &index, self.store, &self.few_path, &expected)?;
            let text = format!(
                "{} flips in {} files: {} right, {} reported, {} wrong, {} crashed",
                damages.n_flips, damages.n_files, damages.right, damages.reported, damages.wrong, damages.crashed
            );
            table.put_text("a flipped bit: answers", engine, text);
        }
        Ok(())
    }

    /// Builds every index, and returns how long that takes.
    fn build(&self, table: &mut Table) -> Result<BTreeMap<&'static str, f64>, Failure> {
        let mut fastest: BTreeMap<&str, Built> = BTreeMap::new();
        for _ in 0..BUILDS {
            for engine in ENGINES {
                let index = self.index(engine);
                if index.exists() {
                    std::fs::remove_dir_all(&index)?;
                }
                let built: Built = worker(engine, "build", &[&index, self.store])?;
                match fastest.get(engine) {
                    Some(before) if before.ms <= built.ms => {}
                    _ => drop(fastest.insert(engine, built)),
                }
            }
        }
        for (engine, built) in &fastest {
            table.add("build, s", engine, built.ms / 1e3);
            table.add("build, processor s", engine, built.cpu_ms / 1e3);
            table.add("build, peak memory in MB", engine, built.peak_mb);
            table.add("index size ÷ sessions", engine, size_of(&self.index(engine))? as f64 / self.n_bytes as f64);
        }
        Ok(fastest.into_iter().map(|(engine, built)| (engine, built.ms)).collect())
    }

    /// Checks that all engines find as many entries.
    fn agree(&self) -> Result<(), Failure> {
        let mut all = BTreeMap::new();
        for engine in ENGINES {
            all.insert(*engine, answers(engine, &self.index(engine), self.store, &self.queries_path)?);
        }
        let queries: Vec<(&String, &Query)> =
            self.queries.iter().flat_map(|(kind, queries)| queries.iter().map(move |query| (kind, query))).collect();
        let mut differing: BTreeMap<&String, usize> = BTreeMap::new();
        for (index, (kind, query)) in queries.iter().enumerate() {
            let counts: Vec<_> =
                all.iter().map(|(engine, all)| (engine, all[index].as_ref().map(|(count, _)| *count))).collect();
            if counts.iter().any(|(_, count)| *count != counts[0].1) {
                *differing.entry(*kind).or_default() += 1;
                println!("{query:?}: {counts:?}");
            }
        }
        println!("{} queries, numbers of hits differ for {differing:?}\n", queries.len());
        Ok(())
    }

    fn ask(&self, table: &mut Table) -> Result<(), Failure> {
        for engine in ENGINES {
            let queries: AllQueryTimes = worker(engine, "ask", &[&self.index(engine), self.store, &self.queries_path])?;
            for mut kind in queries.kinds {
                let name = &kind.kind;
                table.pair(&format!("open, best 50: {name}"), engine, &mut kind.opened);
                table.pair(&format!("best 50: {name}"), engine, &mut kind.best);
                if *engine != "ours" {
                    table.pair(&format!("newest 50: {name}"), engine, &mut kind.newest);
                }
            }
            table.add("queries, peak memory in MB", engine, queries.peak_mb);
        }
        Ok(())
    }

    fn word(&self, kind: &str) -> Option<&str> {
        let queries = &self.queries.iter().find(|(name, _)| name == kind)?.1;
        queries.iter().find_map(|query| if let Query::Word(word) = query { Some(word.as_str()) } else { None })
    }

    /// Whole processes, as a command line has them.
    fn processes(&self, table: &mut Table) -> Result<(), Failure> {
        for kind in ["rare word", "common word"] {
            let word = self.word(kind).unwrap_or_default();
            let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            for _ in 0..PROCESSES {
                for engine in ENGINES {
                    let start = Instant::now();
                    worker::<usize>(engine, "one", &[&self.index(engine), self.store, word.as_ref()])?;
                    times.entry(engine).or_default().push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
            for (engine, mut times) in times {
                table.pair(&format!("whole process, best 50: {kind}"), engine, &mut times);
            }
        }
        Ok(())
    }

    fn limits(&self, table: &mut Table) -> Result<(), Failure> {
        let word = self.word("rare word").unwrap_or_default();
        #[cfg(feature = "ours")]
        {
            let mut times: Vec<f64> = worker("ours", "survey", &[&self.index("ours"), self.store])?;
            table.pair("list and examine every session file", "ours", &mut times);
        }
        let mut timed = |name: &str, work: &dyn Fn() -> Result<(), Failure>| -> Result<(), Failure> {
            let mut times = Vec::new();
            for _ in 0..7 {
                let start = Instant::now();
                work()?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            table.pair(name, "limit", &mut times);
            Ok(())
        };
        timed("without an index: read every byte, 2 threads", &|| scan(&self.files, None).map(drop))?;
        timed("without an index: and look for a word", &|| scan(&self.files, Some(word)).map(drop))?;
        let ripgrep = || {
            let found = Command::new("rg").args(["-lF", word]).arg(self.store).output()?;
            (found.status.code() < Some(2)).then_some(()).ok_or_else(|| "rg failed".into())
        };
        if Command::new("rg").arg("--version").output().is_ok() {
            timed("without an index: `rg -lF`, whole process", &ripgrep)?;
        }
        Ok(())
    }

    fn append(&self, table: &mut Table) -> Result<(), Failure> {
        for engine in ENGINES {
            for how in ["usual", "eager"] {
                if how == "eager" && *engine != "ours" {
                    continue;
                }
                let session = self.folder.join(format!("added-{engine}-{how}.jsonl"));
                if session.exists() {
                    std::fs::remove_file(&session)?;
                }
                let mut times: Vec<f64> =
                    worker(engine, "append", &[&self.index(engine), self.store, &session, how.as_ref()])?;
                let name = if how == "eager" {
                    "one added entry, indexed at once, until found"
                } else {
                    "one added entry until found"
                };
                let values = [0.5, 0.99, 1.0].map(|part| short(percentile(&mut times, part)));
                table.put_text(&format!("{name}, ms p50 / p99 / worst"), engine, values.join(" / "));
            }
        }
        Ok(())
    }
}

/// Measures one part of the comparison, and prints its table.
fn part(measure: impl FnOnce(&mut Table) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut table = Table::new();
    measure(&mut table)?;
    table.print();
    Ok(())
}

/// Rows of figures, with ratios to ours.
struct Table {
    names: Vec<String>,
    cells: BTreeMap<(usize, String), (String, Option<f64>)>,
}

impl Table {
    fn new() -> Self {
        Self { names: Vec::new(), cells: BTreeMap::new() }
    }

    fn put(&mut self, name: &str, engine: &str, cell: String, ratio: Option<f64>) {
        let row = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.cells.insert((row, engine.to_owned()), (cell, ratio));
    }

    fn add(&mut self, name: &str, engine: &str, value: f64) {
        self.put(name, engine, short(value), Some(value));
    }

    fn put_text(&mut self, name: &str, engine: &str, cell: String) {
        self.put(name, engine, cell, None);
    }

    fn pair(&mut self, name: &str, engine: &str, times: &mut [f64]) {
        let (p50, p95) = (percentile(times, 0.5), percentile(times, 0.95));
        self.put(&format!("{name}, ms p50 / p95"), engine, format!("{} / {}", short(p50), short(p95)), Some(p50));
    }

    fn print(&self) {
        let columns: Vec<&str> = ENGINES.iter().copied().chain(["limit"]).collect();
        println!("\n| | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
        for (row, name) in self.names.iter().enumerate() {
            let cell = |engine: &&str| self.cells.get(&(row, (*engine).to_owned()));
            let ours = cell(&"ours").and_then(|(_, value)| *value);
            let show = |engine: &&str| {
                let Some((text, value)) = cell(engine) else { return "–".to_owned() };
                match (value, ours) {
                    (Some(value), Some(ours)) if *engine != "ours" => format!("{text} ({}×)", short(value / ours)),
                    _ => text.clone(),
                }
            };
            println!("| {name} | {} |", columns.iter().map(show).collect::<Vec<_>>().join(" | "));
        }
    }
}
