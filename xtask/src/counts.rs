//! `cargo xtask bench counts`: counts what the hot paths do, and compares this checkout with another one.
//!
//! The measuring program is a separate workspace in `bench/counts`, so that its harness is not in the lock file of the
//! product. Everything that it needs and writes is below `target/counts`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{self, Task};
use crate::{Failure, TaskResult, tools};

const USAGE: &str = "usage: cargo xtask bench counts [--base REV | --twice]";

/// The growth of a count, in percent, from which on the comparison with another revision fails.
const MAX_GROWTH: &str = "3";

/// The difference between two runs of the same program, in percent, from which on counts are not reproducible.
const MAX_NOISE: &str = "1";

/// The sessions: their names for the generator, and their scale.
const FIXTURES: [(&str, &str); 3] = [("giant-128-text", "0.03"), ("tree", "0.1"), ("store-s", "0.25")];

/// What the current checkout is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base<'a> {
    Nothing,
    Revision(&'a str),
    /// Another run of itself.
    Itself,
}

pub(crate) fn run(root: &Path, args: &[String]) -> TaskResult {
    let base = read(args)?;
    let has_programs = || ["valgrind", "strace"].into_iter().all(tools::is_on_path);
    tools::require_packages("counting needs valgrind and strace", &["valgrind", "strace"], has_programs)?;
    let bench = Bench { root, target: target_dir(root), runner: tools::install_gungraun(&tools::cache_dir()?)? };
    bench.generate()?;
    let head = Build { checkout: root.to_path_buf(), is_head: true };
    bench.make(&head)?;
    let counts = bench.count(&head, "head.json")?;
    // A base is built in the same place, so that it needs only our own crates again.
    let judge = bench.target.join("judge");
    copy(&bench.program(), &judge)?;
    let judge = || command::program(&judge).args(["judge"]).args([&counts]);
    match base {
        Base::Nothing => judge().run(),
        Base::Itself => judge().args([bench.count(&head, "again.json")?]).args([MAX_NOISE]).run(),
        Base::Revision(revision) => {
            let checkout = Checkout::new(&bench, revision)?;
            let build = Build { checkout: checkout.folder.clone(), is_head: false };
            bench.make(&build).map_err(|Failure(why)| {
                Failure(format!("{revision} is too old: the measuring program does not build on its crates. {why}"))
            })?;
            judge().args([bench.count(&build, "base.json")?]).args([MAX_GROWTH]).run()
        }
    }
}

fn read(args: &[String]) -> TaskResult<Base<'_>> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Ok(Base::Nothing),
        ["--twice"] => Ok(Base::Itself),
        ["--base", revision] => Ok(Base::Revision(revision)),
        _ => Err(Failure(USAGE.to_owned())),
    }
}

/// The folders and tools of a run.
struct Bench<'a> {
    root: &'a Path,
    target: PathBuf,
    runner: PathBuf,
}

impl Bench<'_> {
    fn fixtures(&self) -> PathBuf {
        self.target.join("fixtures")
    }

    /// Generates the sessions, once. Head and base read the same files, so files of an older generator do as well.
    fn generate(&self) -> TaskResult {
        for (name, scale) in FIXTURES {
            if self.fixtures().join(format!("{name}.manifest.json")).exists() {
                continue;
            }
            let generate = ["run", "--locked", "--package", "sessile-bench", "--bin", "generate", "--"];
            let fixtures = self.fixtures();
            let wanted = [fixtures.as_os_str(), name.as_ref(), "--scale".as_ref(), scale.as_ref()];
            command::cargo(self.root).args(generate).args(wanted).run()?;
        }
        Ok(())
    }

    /// Builds the measuring program and the harness.
    fn make(&self, build: &Build) -> TaskResult {
        self.cargo(build, command::program(command::cargo_program())).args(["--no-run"]).run()
    }

    /// Turns cargo, however it is started, into a task that runs the harness on the crates of a checkout.
    fn cargo(&self, build: &Build, cargo: Task) -> Task {
        let task = cargo.dir(&build.checkout.join("bench/counts")).args(["bench", "--bench", "instructions"]);
        // The crates of another revision may need other packages than the lock file of this one has.
        let task = if build.is_head { task.args(["--locked"]) } else { task };
        task.env("CARGO_TARGET_DIR", self.target.join("build")).env("GUNGRAUN_RUNNER", &self.runner)
    }

    fn program(&self) -> PathBuf {
        self.target.join("build/release/counts")
    }

    /// Counts everything with one build, and returns the file with the result.
    fn count(&self, build: &Build, name: &str) -> TaskResult<PathBuf> {
        // The same for all builds, because the length of a path is part of the work.
        let (fixtures, work, profiles) = (self.fixtures(), self.target.join("work"), self.target.join("profiles"));
        for folder in [&work, &profiles] {
            renew(folder)?;
        }
        let program = || alone(self.program());
        program()?.args(["prepare"]).args([&fixtures, &work]).run()?;
        // The runner prints a table for every path; what counts is in the profiles.
        let harness = self.cargo(build, alone(command::cargo_program())?).env("GUNGRAUN_HOME", &profiles);
        harness.env("COUNTS_FIXTURES", &fixtures).env("COUNTS_WORK", &work).run()?;
        let out = self.target.join(name);
        program()?.args(["gather"]).args([&fixtures, &work, &profiles, &out]).run()?;
        Ok(out)
    }
}

/// The measuring program on the crates of a checkout.
struct Build {
    checkout: PathBuf,
    is_head: bool,
}

/// Another revision of the repository with the measuring program of this one. Removed when dropped.
struct Checkout<'a> {
    root: &'a Path,
    folder: PathBuf,
}

impl<'a> Checkout<'a> {
    fn new(bench: &Bench<'a>, revision: &str) -> TaskResult<Self> {
        let checkout = Self { root: bench.root, folder: bench.target.join("checkout") };
        // What an interrupted run has left.
        checkout.remove();
        let add = command::program("git").dir(bench.root).args(["worktree", "add", "--quiet", "--detach"]);
        add.args([&checkout.folder]).args([revision]).run()?;
        let (own, theirs) = (bench.root.join("bench/counts"), checkout.folder.join("bench/counts"));
        renew(&theirs)?;
        for part in ["Cargo.toml", "Cargo.lock", "src", "benches"] {
            copy(&own.join(part), &theirs.join(part))?;
        }
        Ok(checkout)
    }

    fn remove(&self) {
        let git = || command::program("git").dir(self.root).args(["worktree"]);
        // It fails if there is nothing to remove.
        git().args(["remove", "--force"]).args([&self.folder]).probe();
        git().args(["prune"]).probe();
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Starts a program on one processor, so that the engine divides no work among threads.
fn alone(program: impl AsRef<OsStr>) -> TaskResult<Task> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.and_then(|list| list.trim().split([',', '-']).next()).filter(|first| !first.is_empty());
    let first = first.ok_or_else(|| Failure("cannot find out which processors may be used".to_owned()))?;
    Ok(command::program("taskset").args(["-c", first]).args([program]))
}

/// Makes a folder empty.
fn renew(folder: &Path) -> TaskResult {
    // A missing folder need not be removed.
    fs::remove_dir_all(folder).ok();
    fs::create_dir_all(folder).map_err(|error| Failure(format!("cannot make {}: {error}", folder.display())))
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) -> TaskResult {
    let copied = || -> std::io::Result<Vec<PathBuf>> {
        if !from.is_dir() {
            fs::copy(from, to)?;
            return Ok(Vec::new());
        }
        fs::create_dir_all(to)?;
        from.read_dir()?.map(|entry| Ok(entry?.file_name().into())).collect()
    };
    let below = copied().map_err(|error| Failure(format!("cannot copy {}: {error}", from.display())))?;
    below.iter().try_for_each(|name| copy(&from.join(name), &to.join(name)))
}

/// Returns a folder within the target folder of the main workspace, wherever that is.
fn target_dir(root: &Path) -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(|dir| root.join(dir));
    chosen.unwrap_or_else(|| root.join("target")).join("counts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(read(&[]).unwrap(), Base::Nothing);
        assert_eq!(read(&words("--base HEAD~1")).unwrap(), Base::Revision("HEAD~1"));
        assert_eq!(read(&words("--twice")).unwrap(), Base::Itself);
        for wrong in ["--base", "--base a b", "open"] {
            assert!(read(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
