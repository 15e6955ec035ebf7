//! `cargo xtask test`: builds every test once and runs the test programs side by side.
//!
//! `cargo test` runs one program after the other. Many tests wait for children, terminals and locks, so several
//! programs at once take less time on the same cores.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use crate::command::{self, Task};
use crate::steps::{Steps, announce};
use crate::{Failure, TaskResult, oracle, postgres, storage, tools};

/// The slowest programs. They start first, so that none of them runs alone at the end.
const SLOWEST: [&str; 7] = ["torture", "conformance", "model", "cli", "text", "tui", "remote"];

/// Builds and runs all tests; `args` go to every test program, so a name selects the tests that contain it.
pub(crate) fn run(root: &Path, args: &[String]) -> TaskResult {
    Steps::run(|steps| {
        let (oracle, weed) = steps.step("set-up", || {
            announce(command::cargo(root).args(["fetch", "--locked"]))?;
            tools::install_packages();
            postgres::require()?;
            let cache = tools::cache_dir()?;
            Ok((oracle::install(&cache)?, storage::install(root, &cache)?))
        })?;
        let programs = steps.step("build", || build(root))?;
        steps.step("test", || {
            let cargo = ["test", "--workspace", "--doc", "--locked", "--offline", "--"];
            let examples = Job {
                name: "examples in the documentation".to_owned(),
                task: command::cargo(root).args(cargo).args(args).env(oracle::VARIABLE, &oracle),
            };
            let program = |program: Program| Job {
                name: program.name(),
                task: command::program(&program.executable)
                    .dir(&program.package)
                    .env("CARGO_MANIFEST_DIR", &program.package)
                    .env(oracle::VARIABLE, &oracle)
                    .env(storage::VARIABLE, &weed)
                    .args(args),
            };
            run_all(std::iter::once(examples).chain(programs.into_iter().map(program)).collect())
        })
    })
}

/// A test program built by cargo.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    package: PathBuf,
}

impl Program {
    /// Returns its file name without the hash that cargo adds.
    fn stem(&self) -> String {
        let name = self.executable.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit_once('-').map_or(name.to_string(), |(stem, _)| stem.to_owned())
    }

    /// Returns the job that another program, such as an emulator, runs it, without the tests with these parts of names.
    pub(crate) fn job_in(&self, emulator: Task, skipped: &[&str]) -> Job {
        let skipped = skipped.iter().flat_map(|name| ["--skip", name]);
        let task = emulator.args([&self.executable]).args(skipped).dir(&self.package);
        Job { name: self.name(), task: task.env("CARGO_MANIFEST_DIR", &self.package) }
    }

    /// Returns the path of the program.
    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }

    /// Returns the names of its package's folder and of the program.
    pub(crate) fn name(&self) -> String {
        let package = self.package.file_name().unwrap_or_default().to_string_lossy();
        format!("{package}/{}", self.stem())
    }
}

/// Builds the test programs of the workspace.
fn build(root: &Path) -> TaskResult<Vec<Program>> {
    build_programs(command::cargo(root).args(["test", "--workspace", "--locked", "--offline"]))
}

/// Builds the test programs of a `cargo test` and returns them, the slowest first.
pub(crate) fn build_programs(cargo_test: Task) -> TaskResult<Vec<Program>> {
    let task = cargo_test.args(["--no-run", "--message-format=json-render-diagnostics"]);
    println!("$ {}", task.line());
    let mut programs: Vec<Program> = task.output()?.lines().filter_map(built_program).collect();
    let rank = |program: &Program| SLOWEST.iter().position(|slow| *slow == program.stem()).unwrap_or(SLOWEST.len());
    programs.sort_by_key(rank);
    Ok(programs)
}

/// Builds with a `cargo build` and returns the executable with this name.
pub(crate) fn build_program(cargo_build: Task, name: &str) -> TaskResult<PathBuf> {
    let task = cargo_build.args(["--message-format=json-render-diagnostics"]);
    println!("$ {}", task.line());
    let output = task.output()?;
    let mut built = output.lines().filter_map(|message| member(message, "executable")).map(PathBuf::from);
    let has_name = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == name);
    built.find(has_name).ok_or_else(|| Failure(format!("cargo built no {name}")))
}

/// Returns the test program that one of cargo's messages is about.
fn built_program(message: &str) -> Option<Program> {
    // A member of the target is also called "test"; the profile says what was built.
    let (profile, _) = message.split_once("\"profile\":{")?.1.split_once('}')?;
    if !profile.contains("\"test\":true") {
        return None;
    }
    let executable = PathBuf::from(member(message, "executable")?);
    let package = Path::new(&member(message, "manifest_path")?).parent()?.to_path_buf();
    Some(Program { executable, package })
}

/// Returns a string member of a message. Its paths contain no escapes except for backslashes.
fn member(message: &str, name: &str) -> Option<String> {
    let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
    Some(rest.split_once('"')?.0.replace(r"\\", r"\"))
}

/// A program to run, and its name in the report.
pub(crate) struct Job {
    name: String,
    task: Task,
}

/// Runs all jobs, as many at once as there are cores. The whole output of failing ones is printed.
pub(crate) fn run_all(jobs: Vec<Job>) -> TaskResult {
    let n_programs = jobs.len();
    let queue = Mutex::new(VecDeque::from(jobs));
    let tally = Mutex::new(Tally::default());
    let next = || queue.lock().ok()?.pop_front();
    let work = || {
        while let Some(Job { name, task }) = next() {
            let start = Instant::now();
            let (passed, output) = task.capture().unwrap_or_else(|Failure(why)| (false, why));
            if let Ok(mut tally) = tally.lock() {
                tally.add(&name, passed, &output);
                if !passed {
                    println!("\n{output}");
                }
                let results: Vec<&str> = output.lines().filter(|line| line.starts_with("test result: ")).collect();
                let word = if passed { "" } else { "FAILED  " };
                println!("{word}{name} ({:.1} s) {}", start.elapsed().as_secs_f64(), results.join("; "));
            }
        }
    };
    let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_cores {
            scope.spawn(work);
        }
    });
    let tally = tally.into_inner().map_err(|panicked| Failure(format!("a thread of the runner died: {panicked}")))?;
    println!("\n{n_programs} programs, {}", tally.words());
    if tally.failed_programs.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("failed: {}", tally.failed_programs.join(", "))))
}

/// The test results so far.
#[derive(Debug, Default)]
struct Tally {
    n_passed: u64,
    n_failed: u64,
    n_ignored: u64,
    failed_programs: Vec<String>,
}

impl Tally {
    fn add(&mut self, name: &str, passed: bool, output: &str) {
        for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            let count = |what: &str| {
                let words = line.split(['.', ';']).find_map(|part| part.trim().strip_suffix(what));
                words.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or_default()
            };
            self.n_passed += count("passed");
            self.n_failed += count("failed");
            self.n_ignored += count("ignored");
        }
        if !passed {
            self.failed_programs.push(name.to_owned());
        }
    }

    fn words(&self) -> String {
        format!("{} tests passed, {} failed, {} ignored", self.n_passed, self.n_failed, self.n_ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_among_the_messages_of_cargo() {
        let message = r#"{"reason":"compiler-artifact","package_id":"p","manifest_path":"/w/crates/cli/Cargo.toml","target":{"kind":["test"],"name":"tui","test":true},"profile":{"opt_level":"0","test":true},"features":[],"executable":"/w/target/debug/deps/tui-0a1b","fresh":true}"#;
        let program = built_program(message).unwrap();
        assert_eq!((program.stem().as_str(), program.name().as_str()), ("tui", "cli/tui"));
        assert_eq!(program.package, Path::new("/w/crates/cli"));
        let library =
            r#"{"manifest_path":"/w/Cargo.toml","target":{"test":true},"profile":{"test":false},"executable":null}"#;
        assert_eq!(built_program(library), None);
        assert_eq!(built_program(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn results_are_added_up() {
        let mut tally = Tally::default();
        tally.add("a", true, "x\ntest result: ok. 31 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n");
        tally.add("b", false, "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out\n");
        tally.add("c", false, "it died");
        assert_eq!(tally.words(), "32 tests passed, 3 failed, 2 ignored");
        assert_eq!(tally.failed_programs, ["b", "c"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_job_that_fails_fails_the_run() {
        let job =
            |name: &str, script: &str| Job { name: name.to_owned(), task: command::program("sh").args(["-c", script]) };
        run_all(vec![job("good", "exit 0")]).unwrap();
        let Failure(why) =
            run_all(vec![job("good", "exit 0"), job("bad", "exit 1"), job("other", "exit 0")]).unwrap_err();
        assert_eq!(why, "failed: bad");
    }
}
