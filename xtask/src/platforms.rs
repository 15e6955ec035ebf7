//! `cargo xtask platforms`: what can be checked here of the systems that Sessile runs on besides this one.
//!
//! - macOS: the product's crates are checked and linted, with all features that compile no C. Nothing is run.
//! - ARM: the tests of the core, the store and the index run on Linux for 64-bit ARM, in qemu.
//! - Windows: the tests of the core, the store and the command line, and two rows of the torture bench, are built with
//!   mingw and run in wine.
//!
//! docs/platforms.md says what each system guarantees.

use std::path::{Path, PathBuf};

use crate::command::{self, Task};
use crate::steps::{Steps, announce};
use crate::test::{self, Job};
use crate::{Failure, TaskResult, tools};

mod debian;
mod scripts;
mod toolchain;

use debian::Packages;
use scripts::Scripts;
use toolchain::Toolchain;

/// A system to check for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Platform {
    Macos,
    Arm,
    Windows,
}

const PLATFORMS: [(&str, Platform); 3] =
    [("macos", Platform::Macos), ("arm", Platform::Arm), ("windows", Platform::Windows)];

const MACOS_TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];
const ARM_TARGET: &str = "aarch64-unknown-linux-gnu";
const WINDOWS_TARGET: &str = "x86_64-pc-windows-gnu";

/// The features of the command line that compile no C: `models` and `remote` need TLS, and the latter compresses.
const WITHOUT_C: [&str; 4] = [
    "--no-default-features",
    "--features=sessile-cli/serve",
    "--features=sessile-cli/tui",
    "--features=sessile-cli/web",
];

/// What is linted for macOS. Cargo also lints the crates of the workspace that these depend on, which are all others.
const MACOS_PACKAGES: [&str; 2] = ["--package=sessile-cli", "--package=sessile-client"];

/// What runs in qemu.
const ARM_TESTS: [&str; 3] = ["--package=sessile-core", "--package=sessile-store", "--package=sessile-index"];

/// Tests that cannot run in qemu, by parts of their names.
const NOT_IN_QEMU: [&str; 0] = [];

/// The tests that run in wine. Examples may need Unix.
const WINDOWS_TESTS: [&str; 4] =
    ["--package=sessile-core", "--package=sessile-store", "--package=sessile-cli", "--tests"];

/// The test that runs in a terminal.
const CONSOLE_TEST: &str = "windows::long_output_is_paged_in_a_console";

/// The runs of the torture bench in wine, in which a process takes long to start.
const WINDOWS_TORTURE: [[&str; 4]; 2] =
    [["--only", "kill", "--scale", "0.25"], ["--only", "writers", "--scale", "0.2"]];

/// Tests that cannot run in wine, by parts of their names.
const NOT_IN_WINE: [&str; 0] = [];

/// Checks the named platforms; without names, all of them.
pub(crate) fn run(root: &Path, names: &[String]) -> TaskResult {
    let wanted = wanted(names)?;
    Steps::run(|steps| {
        let cache = tools::cache_dir()?;
        if wanted.contains(&Platform::Macos) {
            let toolchain = steps
                .step("set-up macos", || Toolchain::install(root, &cache, &MACOS_TARGETS, toolchain::Use::Check))?;
            steps.step("macos", || macos(root, &toolchain))?;
        }
        if wanted.contains(&Platform::Arm) {
            let arm = steps.step("set-up arm", || Arm::install(root, &cache))?;
            let programs = steps.step("arm build", || arm.build(root))?;
            steps.step("arm test", || test::run_all(programs.iter().map(|program| arm.job(program)).collect()))?;
        }
        if wanted.contains(&Platform::Windows) {
            let windows = steps.step("set-up win", || Windows::install(root, &cache))?;
            let programs = steps.step("win build", || windows.build(root))?;
            let torture = steps.step("win bench", || windows.build_torture(root))?;
            steps.step("win test", || test::run_all(programs.iter().map(|program| windows.job(program)).collect()))?;
            steps.step("win console", || windows.test_in_console(&programs))?;
            steps.step("win torture", || {
                WINDOWS_TORTURE.iter().try_for_each(|args| announce(windows.task(&torture).args(args)))
            })?;
        }
        Ok(())
    })
}

fn wanted(names: &[String]) -> TaskResult<Vec<Platform>> {
    if names.is_empty() {
        return Ok(PLATFORMS.map(|(_, platform)| platform).to_vec());
    }
    let find = |name: &String| {
        let found = PLATFORMS.iter().find(|(known, _)| known == name).map(|(_, platform)| *platform);
        let known = || PLATFORMS.map(|(known, _)| known).join(", ");
        found.ok_or_else(|| Failure(format!("no platform `{name}`; there are {}", known())))
    };
    names.iter().map(find).collect()
}

/// Returns Debian's compiler, which is newer than the workspace's, and the folders of its libraries.
pub(crate) fn debian_compiler(cache: &Path) -> TaskResult<(PathBuf, String)> {
    toolchain::debian_compiler(cache)
}

fn macos(root: &Path, toolchain: &Toolchain) -> TaskResult {
    for target in MACOS_TARGETS {
        announce(toolchain.lint(root, target, &[&MACOS_PACKAGES[..], &WITHOUT_C].concat()))?;
    }
    Ok(())
}

/// Builds programs for Linux on 64-bit ARM and runs them in qemu.
struct Arm {
    toolchain: Toolchain,
    linker: PathBuf,
    runner: PathBuf,
}

impl Arm {
    fn install(root: &Path, cache: &Path) -> TaskResult<Self> {
        let toolchain = Toolchain::install(root, cache, &[ARM_TARGET], toolchain::Use::Build)?;
        let packages = Packages {
            folder: "arm-1",
            needed: "building for ARM",
            names: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"],
            files: &[],
            programs: &["aarch64-linux-gnu-gcc", "qemu-aarch64"],
        };
        let unpacked = packages.install(cache)?;
        let libraries = unpacked.libraries();
        let system = if unpacked.has("usr/aarch64-linux-gnu/lib") { unpacked.folder.as_path() } else { Path::new("/") };
        let scripts = Scripts::new(cache, "arm-scripts-1")?;
        // The linker script that stands for the C library has absolute paths.
        let flag = format!("-Wl,--sysroot={}", system.display());
        let linker = scripts.write("link", &libraries, &[], &unpacked.program("aarch64-linux-gnu-gcc")?, &[&flag])?;
        let loader = system.join("usr/aarch64-linux-gnu");
        let options = ["-E", "LD_LIBRARY_PATH=", "-L", &loader.to_string_lossy()];
        let runner = scripts.write("run", &libraries, &[], &unpacked.program("qemu-aarch64")?, &options)?;
        Ok(Self { toolchain, linker, runner })
    }

    fn build(&self, root: &Path) -> TaskResult<Vec<test::Program>> {
        let cargo = self.toolchain.cargo(root, "test", ARM_TARGET).args(ARM_TESTS);
        test::build_programs(cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", &self.linker))
    }

    fn job(&self, program: &test::Program) -> Job {
        program.job_in(command::program(&self.runner), NOT_IN_QEMU.as_slice())
    }
}

/// Builds programs for Windows and runs them in wine.
struct Windows {
    toolchain: Toolchain,
    compiler: PathBuf,
    archiver: PathBuf,
    runner: PathBuf,
    /// A folder with the program that makes import libraries, under the name that the compiler looks for.
    programs: PathBuf,
}

impl Windows {
    fn install(root: &Path, cache: &Path) -> TaskResult<Self> {
        let toolchain = Toolchain::install(root, cache, &[WINDOWS_TARGET], toolchain::Use::Build)?;
        let packages = Packages {
            folder: "windows-1",
            needed: "building for Windows",
            names: &["gcc-mingw-w64-x86-64", "wine64"],
            files: &[],
            programs: &[
                "x86_64-w64-mingw32-gcc-win32",
                "x86_64-w64-mingw32-ar",
                "x86_64-w64-mingw32-as",
                "x86_64-w64-mingw32-dlltool",
                "wine64",
            ],
        };
        let unpacked = packages.install(cache)?;
        let libraries = unpacked.libraries();
        let scripts = Scripts::new(cache, "windows-scripts-1")?;
        let mingw = unpacked.program("x86_64-w64-mingw32-gcc-win32")?;
        let compiler = scripts.write("compile", &libraries, &[], &mingw, &[])?;
        let archiver = scripts.write("archive", &libraries, &[], &unpacked.program("x86_64-w64-mingw32-ar")?, &[])?;
        // Without the option, it calls this machine's assembler.
        let assembler = unpacked.program("x86_64-w64-mingw32-as")?;
        let dlltool = unpacked.program("x86_64-w64-mingw32-dlltool")?;
        let options = ["-S", &assembler.to_string_lossy()];
        scripts.write("x86_64-w64-mingw32-dlltool", &libraries, &[], &dlltool, &options)?;
        if unpacked.has("usr/lib/wine/wine64") {
            debian::complete_wine(&unpacked.folder)?;
        }
        let prefix = scripts.folder.join("prefix");
        let variables = [("WINEPREFIX", &*prefix.to_string_lossy()), ("WINEDEBUG", "-all")];
        let runner = scripts.write("run", &libraries, &variables, &unpacked.program("wine64")?, &[])?;
        // Makes the drive, so that the programs below do not make it all at once.
        command::program(&runner).args(["wineboot", "--init"]).capture()?;
        // Among the system's own, so that programs need no variables to find it. A running program may use it.
        let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        if !library.exists() {
            let source = root.join("xtask/src/platforms/process_prng.c");
            let task = command::program(&compiler).args(["-shared", "-O2", "-o"]);
            task.args([library.as_path(), source.as_path()]).args(["-ladvapi32"]).run()?;
        }
        Ok(Self { toolchain, compiler, archiver, runner, programs: scripts.folder })
    }

    fn build(&self, root: &Path) -> TaskResult<Vec<test::Program>> {
        let cargo = self.toolchain.cargo(root, "test", WINDOWS_TARGET).args(WINDOWS_TESTS);
        test::build_programs(self.with_compiler(cargo))
    }

    fn build_torture(&self, root: &Path) -> TaskResult<PathBuf> {
        let cargo = self.toolchain.cargo(root, "build", WINDOWS_TARGET);
        let cargo = cargo.args(["--package=sessile-testkit", "--bin=torture"]);
        test::build_program(self.with_compiler(cargo), "torture")
    }

    /// Runs the test that needs a console. wine makes one of a terminal.
    fn test_in_console(&self, programs: &[test::Program]) -> TaskResult {
        let program = programs.iter().find(|program| program.name() == "cli/cli");
        let program = program.ok_or_else(|| Failure("there are no tests of the command line".to_owned()))?;
        let words = [&*self.runner, program.executable(), Path::new("--ignored --exact"), Path::new(CONSOLE_TEST)];
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let task = command::program("script").args(["-qec", &words.join(" "), "/dev/null"]);
        println!("$ {}", task.line());
        let (passed, output) = task.capture()?;
        println!("{output}");
        if passed && output.contains("1 passed") { Ok(()) } else { Err(Failure(format!("failed: {CONSOLE_TEST}"))) }
    }

    /// Returns the task that runs a program.
    fn task(&self, program: &Path) -> Task {
        command::program(&self.runner).args([program])
    }

    fn job(&self, program: &test::Program) -> Job {
        program.job_in(command::program(&self.runner), NOT_IN_WINE.as_slice())
    }

    fn with_compiler(&self, cargo: Task) -> Task {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.programs.clone()).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).unwrap_or(path.clone());
        cargo
            .env("PATH", path)
            .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", &self.compiler)
            .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", &self.runner)
            .env("CC_x86_64_pc_windows_gnu", &self.compiler)
            .env("AR_x86_64_pc_windows_gnu", &self.archiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_named() {
        let names = |names: &[&str]| wanted(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(names(&[]).unwrap(), [Platform::Macos, Platform::Arm, Platform::Windows]);
        assert_eq!(names(&["arm", "macos"]).unwrap(), [Platform::Arm, Platform::Macos]);
        let Failure(why) = names(&["arm", "beos"]).unwrap_err();
        assert_eq!(why, "no platform `beos`; there are macos, arm, windows");
    }
}
