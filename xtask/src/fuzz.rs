//! `cargo xtask fuzz`: runs the fuzz targets for a while.
//!
//! The targets are a separate workspace in `fuzz/`, built with coverage instrumentation on the stable compiler. All
//! output of a run is below `target/fuzz`; the kept inputs in `fuzz/corpus` are only read.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command::{self, Task};
use crate::{Failure, TaskResult};

/// The targets with their dictionaries. `fuzz/src/lib.rs` says what else a new one needs.
const TARGETS: &[(&str, &str)] = &[
    ("agents", "json.dict"),
    ("lines", "json.dict"),
    ("entries", "json.dict"),
    ("tree", "json.dict"),
    ("migration", "json.dict"),
    ("records", "json.dict"),
    ("redact", "secrets.dict"),
    ("salvage", "json.dict"),
    ("term_safe", "terminal.dict"),
];

/// An input that takes longer than this is a failure: every walk must end.
const SLOWEST_INPUT_SECONDS: u32 = 10;

/// How many lines of a failing target's output are shown; the rest is a backtrace of the fuzzer.
const MAX_SHOWN_LINES: usize = 16;

const USAGE: &str = "usage: cargo xtask fuzz [--seconds N] [--target NAME] [--seed N] [--keep] [--input FILE]";

/// What to run, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    seconds: u32,
    seed: u32,
    target: Option<String>,
    /// Whether to continue from the inputs that earlier runs found.
    keep: bool,
    /// The one input to run instead of fuzzing.
    input: Option<PathBuf>,
    /// Whether the build must not use the network.
    offline: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { seconds: 20, seed: 1, target: None, keep: false, input: None, offline: false }
    }
}

impl Options {
    /// Returns the options for a short run, after everything was fetched.
    pub(crate) fn for_ci() -> Self {
        Self { seconds: 6, offline: true, ..Self::default() }
    }

    pub(crate) fn read(args: &[String]) -> TaskResult<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || args.next().ok_or_else(|| Failure(format!("{name} needs a value; {USAGE}")));
            let number = |text: &String| {
                // libFuzzer interprets 0 as "without end" and as "any seed".
                let number = text.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| Failure(format!("{name} needs a number above 0, got `{text}`")))
            };
            match name.as_str() {
                "--seconds" => options.seconds = number(value()?)?,
                "--seed" => options.seed = number(value()?)?,
                "--target" => options.target = Some(value()?.clone()),
                "--keep" => options.keep = true,
                "--input" => options.input = Some(PathBuf::from(value()?)),
                _ => return Err(Failure(format!("no such option as `{name}`; {USAGE}"))),
            }
        }
        if options.input.is_some() && options.target.is_none() {
            return Err(Failure("--input needs the --target to run it with".to_owned()));
        }
        Ok(options)
    }

    fn targets(&self) -> TaskResult<Vec<(&'static str, &'static str)>> {
        let wanted = |name: &str| self.target.as_deref().is_none_or(|target| target == name);
        let targets: Vec<_> = TARGETS.iter().copied().filter(|(name, _)| wanted(name)).collect();
        if targets.is_empty() {
            let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
            return Err(Failure(format!("no such target; there are {}", names.join(", "))));
        }
        Ok(targets)
    }
}

/// Builds the targets once and runs each for a while, as many at once as there are cores, even if one fails.
pub(crate) fn run(root: &Path, options: &Options) -> TaskResult {
    let targets = options.targets()?;
    let fuzzer = Fuzzer::build(root, options.offline)?;
    if let Some(input) = &options.input {
        let input = fs::canonicalize(input).map_err(|error| Failure(format!("{}: {error}", input.display())))?;
        return fuzzer.program(targets[0].0).args([input]).run();
    }
    let mut n_executions = 0;
    let mut n_failures = 0;
    let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
    for together in targets.chunks(n_cores) {
        let reports: Vec<TaskResult<Report>> = std::thread::scope(|scope| {
            let run = |(name, dictionary): &(&'static str, &'static str)| {
                let (name, dictionary) = (*name, *dictionary);
                let fuzzer = &fuzzer;
                scope.spawn(move || fuzzer.run(name, dictionary, options))
            };
            let running: Vec<_> = together.iter().map(run).collect();
            let died = |_| Err(Failure("a thread of the runner died".to_owned()));
            running.into_iter().map(|thread| thread.join().unwrap_or_else(died)).collect()
        });
        for ((name, _), report) in together.iter().zip(reports) {
            let report = report?;
            println!("{}", report.line(name, options.seed));
            n_executions += report.n_executions;
            if !report.passed {
                n_failures += 1;
                report.explain(name);
            }
        }
    }
    println!("fuzz: {} targets, {n_executions} executions, {n_failures} failures", targets.len());
    match n_failures {
        0 => Ok(()),
        _ => Err(Failure("see above for the failing inputs".to_owned())),
    }
}

/// Creates a cargo task in the workspace of the targets.
///
/// Their release profile is the only one used, so that libFuzzer itself is compiled once for all tasks.
pub(crate) fn cargo(root: &Path) -> Task {
    // Flags from the environment would replace those of the workspace, including the instrumentation.
    command::cargo(&root.join("fuzz")).env("CARGO_TARGET_DIR", target_dir(root)).without_env("RUSTFLAGS")
}

/// Returns a folder within the target folder of the main workspace, wherever that is.
fn target_dir(root: &Path) -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(|dir| root.join(dir));
    chosen.unwrap_or_else(|| root.join("target")).join("fuzz")
}

/// The built targets and their folders.
struct Fuzzer {
    sources: PathBuf,
    programs: PathBuf,
    work: PathBuf,
}

impl Fuzzer {
    fn build(root: &Path, offline: bool) -> TaskResult<Self> {
        cargo(root).args(["build", "--release", "--locked"]).args(offline.then_some("--offline")).run()?;
        let version = command::program("rustc").dir(root).args(["-vV"]).output()?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.ok_or_else(|| Failure("rustc does not say what it builds for".to_owned()))?;
        let dir = target_dir(root);
        Ok(Self { sources: root.join("fuzz"), programs: dir.join(host).join("release"), work: dir.join("work") })
    }

    fn program(&self, name: &str) -> Task {
        command::program(self.programs.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))).dir(&self.programs)
    }

    fn work_dir(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Fuzzes one target. New inputs go to the first folder of inputs, which is ours; the kept ones are the second.
    fn run(&self, name: &str, dictionary: &str, options: &Options) -> TaskResult<Report> {
        let work = self.work_dir(name);
        let (found, failing) = (work.join("found"), work.join("failing"));
        prepare(&found, options.keep)
            .and_then(|()| prepare(&failing, false))
            .map_err(|error| Failure(format!("cannot prepare {}: {error}", work.display())))?;
        let start = Instant::now();
        let (passed, log) = self
            .program(name)
            .args([found, self.sources.join("corpus").join(name)])
            .args([format!("-dict={}", self.sources.join(dictionary).display())])
            .args([format!("-artifact_prefix={}/", failing.display())])
            .args([format!("-max_total_time={}", options.seconds), format!("-seed={}", options.seed)])
            .args([format!("-timeout={SLOWEST_INPUT_SECONDS}")])
            .args(["-print_final_stats=1"])
            .capture_errors()?;
        Ok(Report { took: start.elapsed(), passed, failing: first_file(&failing), ..Report::read(log) })
    }
}

/// Creates a folder; empties it unless `keep`.
fn prepare(dir: &Path, keep: bool) -> std::io::Result<()> {
    if dir.exists() && !keep {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)
}

fn first_file(dir: &Path) -> Option<PathBuf> {
    fs::read_dir(dir).ok()?.find_map(|entry| Some(entry.ok()?.path()))
}

/// The result of a run of one target.
#[derive(Debug, Default)]
struct Report {
    n_executions: u64,
    /// The coverage of the kept inputs, and the coverage at the end.
    coverage: Option<(u64, u64)>,
    took: Duration,
    passed: bool,
    failing: Option<PathBuf>,
    log: String,
}

impl Report {
    /// Parses the figures from libFuzzer's output.
    fn read(log: String) -> Self {
        let number_after = |line: &str, word: &str| -> Option<u64> {
            line.split_once(word)?.1.split_whitespace().next()?.parse().ok()
        };
        let n_executions = log.lines().find_map(|line| number_after(line, "stat::number_of_executed_units:"));
        let mut covered = log.lines().filter(|line| line.starts_with('#')).filter_map(|line| {
            let is_start = line.contains("INITED");
            Some((is_start, number_after(line, " cov: ")?))
        });
        let start = covered.by_ref().find(|(is_start, _)| *is_start).map(|(_, count)| count);
        let end = covered.next_back().map(|(_, count)| count).or(start);
        Self { n_executions: n_executions.unwrap_or_default(), coverage: start.zip(end), log, ..Self::default() }
    }

    fn line(&self, name: &str, seed: u32) -> String {
        let seconds = self.took.as_secs_f64();
        let coverage = self.coverage.map_or_else(|| "unknown".to_owned(), |(start, end)| format!("{start} -> {end}"));
        let end = if self.passed { "" } else { ", FAILED" };
        format!("{name}: {} executions, coverage {coverage}, {seconds:.1} s, seed {seed}{end}", self.n_executions)
    }

    /// Prints the output of the failing target, and how to reproduce it.
    fn explain(&self, name: &str) {
        let lines: Vec<&str> = self.log.lines().filter(|line| !line.starts_with('#')).collect();
        let begins = |word: &str| lines.iter().position(|line| line.contains(word));
        let start = begins(" panicked at ").or_else(|| begins("ERROR: libFuzzer")).unwrap_or_default();
        lines.iter().skip(start).take(MAX_SHOWN_LINES).for_each(|line| println!("  | {line}"));
        match &self.failing {
            Some(input) => {
                println!("  the input is {}", input.display());
                println!("  again: cargo xtask fuzz --target {name} --input {}", input.display());
            }
            None => println!("  it left no input behind"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> TaskResult<Options> {
        Options::read(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        assert_eq!(read(&[]).unwrap(), Options::default());
        let options = read(&["--seconds", "5", "--target", "tree", "--seed", "7", "--keep"]).unwrap();
        let target = Some("tree".to_owned());
        assert_eq!(options, Options { seconds: 5, seed: 7, target, keep: true, ..Options::default() });
        assert_eq!(options.targets().unwrap(), [("tree", "json.dict")]);
        for (args, message) in [
            (&["--seconds"][..], "--seconds needs a value"),
            (&["--seed", "0"], "--seed needs a number above 0, got `0`"),
            (&["--input", "x"], "--input needs the --target"),
            (&["tree"], "no such option as `tree`"),
        ] {
            let Failure(lines) = read(args).unwrap_err();
            assert!(lines.starts_with(message), "{lines}");
        }
        assert!(read(&["--target", "none"]).unwrap().targets().is_err());
    }

    #[test]
    fn every_program_is_a_target_with_inputs() {
        let manifest = include_str!("../../fuzz/Cargo.toml");
        let programs: Vec<&str> =
            manifest.split("[[bin]]").skip(1).filter_map(|section| section.split('"').nth(1)).collect();
        assert_eq!(programs, TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
        for (name, dictionary) in TARGETS {
            assert!(first_file(&fuzz.join("corpus").join(name)).is_some(), "{name} has no kept input");
            assert!(fuzz.join(dictionary).is_file(), "{name} has no dictionary");
        }
    }

    #[test]
    fn figures_are_read() {
        let log = "INFO: Seed: 1\n#4\tINITED cov: 176 ft: 277 corp: 3/73b\n#5\tNEW    cov: 180 ft: 300\n\
                   #657\tDONE   cov: 242 ft: 1388 corp: 391/76Kb\nstat::number_of_executed_units: 657\n";
        let report = Report { passed: true, ..Report::read(log.to_owned()) };
        assert_eq!(report.line("lines", 1), "lines: 657 executions, coverage 176 -> 242, 0.0 s, seed 1");
        let failed = Report::read("no figures".to_owned());
        assert_eq!(failed.line("lines", 1), "lines: 0 executions, coverage unknown, 0.0 s, seed 1, FAILED");
    }
}
