//! Measures Sessile, pi and the machine in one run on the same files.
//!
//! A row is one piece of work with several contestants, which take turns. Each turn is a new process with a warm page
//! cache. All contestants that return an answer must return the same one; then medians, memory and ratios are shown
//! beside the demands.

mod answer;
mod caches;
mod cold;
mod docs;
mod growth;
mod machine;
mod node;
mod options;
mod package;
mod plot;
mod process;
mod report;
mod row;
mod rpc;
mod screens;
mod searching;
mod sessions;
mod starting;
mod stores;

use std::io::Write;
use std::path::PathBuf;

use crate::generate::{Corpus, CorpusError, Plan};

use options::is_meant;
pub use options::{Options, USAGE};
use process::Tools;
use report::Report;
use row::{Row, RowResult, measure};

/// Why a comparison could not be finished.
#[derive(Debug)]
pub struct Failure(String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<CorpusError> for Failure {
    fn from(error: CorpusError) -> Self {
        Self(error.to_string())
    }
}

/// Describes what failed with a file.
fn failed(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure(format!("cannot {what}: {error}"))
}

/// The shared state of a comparison.
struct Bench {
    options: Options,
    tools: Tools,
    corpus: Corpus,
    /// Directory of copies, forks and caches; removed at the end.
    scratch: tempfile::TempDir,
}

impl Bench {
    fn new(options: Options) -> Result<Self, Failure> {
        // Beside the large one, which has the same names and takes longer to generate.
        let dir = if options.is_small { options.corpus.join("small") } else { options.corpus.clone() };
        std::fs::create_dir_all(&dir).map_err(failed(format_args!("make {}", dir.display())))?;
        // Programs started in a project see its path without symbolic links.
        let dir = dir.canonicalize().map_err(failed("find the corpus"))?;
        let projects = dir.join("projects").to_string_lossy().into_owned();
        let plan =
            Plan { scale: if options.is_small { SMALL_SCALE } else { options.scale }, projects, ..Plan::default() };
        // On the disk that holds the files, so that copies stay within one disk.
        let scratch = tempfile::Builder::new().prefix("scratch-").tempdir_in(&dir).map_err(failed("make a folder"))?;
        let tools = Tools::find(scratch.path())?;
        Ok(Self { options, tools, corpus: Corpus::new(dir, plan), scratch })
    }

    /// Returns a folder for a cache that no other row uses. It does not exist yet.
    fn cache(&self, name: &str) -> PathBuf {
        self.scratch.path().join("cache").join(name)
    }

    /// Creates a folder for the output of a contestant.
    fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.scratch.path().join(name);
        std::fs::create_dir_all(&folder).map_err(failed(format_args!("make {}", folder.display())))?;
        Ok(folder)
    }

    fn is_wanted(&self, id: &str) -> bool {
        self.options.rows.is_empty() || self.options.rows.iter().any(|wanted| is_meant(wanted, id))
    }
}

/// The scale of the small comparison.
const SMALL_SCALE: f64 = 0.01;

/// A row that is prepared when its turn comes, because it may need gigabytes.
type MakeRow = (&'static str, for<'b> fn(&'b Bench) -> Result<Row<'b>, Failure>);

/// Runs the comparison, shows each row as soon as it is done, and returns whether all answers agreed and all demands
/// were met.
pub fn run(options: Options, show: &mut dyn FnMut(&str)) -> Result<Verdict, Failure> {
    let bench = Bench::new(options)?;
    let mut report = Report::new(machine::describe(), bench.options.is_small);
    let groups = [
        starting::ROWS,
        sessions::ROWS,
        screens::ROWS,
        stores::ROWS,
        searching::ROWS,
        cold::ROWS,
        rpc::ROWS,
        node::ROWS,
    ];
    let all = groups.into_iter().flatten();
    show(&report.heading());
    for (id, make) in all.filter(|(id, _)| bench.is_wanted(id)) {
        let judged = match make(&bench)? {
            Row { missing: Some(why), title, .. } => RowResult::skipped(id, &title, &why),
            row => measure(row, bench.options.rounds())?,
        };
        show(&report.add(judged));
    }
    if bench.is_wanted("caches") {
        show(&report.add_caches(caches::check(&bench)?));
    }
    if bench.is_wanted("growth") && !bench.options.is_small {
        let curves = growth::measure_all(&bench, show)?;
        show(&report.add_growth(curves));
    }
    show(&report.summary());
    if let Some(file) = &bench.options.json {
        let written = std::fs::File::create(file).and_then(|mut out| out.write_all(report.to_json().as_bytes()));
        written.map_err(failed(format_args!("write {}", file.display())))?;
    }
    if let Some(folder) = &bench.options.docs {
        docs::write(folder, &report)?;
    }
    Ok(report.verdict())
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether all answers that should be equal are.
    pub answers_agree: bool,
    /// Whether every judged demand was met.
    pub demands_met: bool,
}
