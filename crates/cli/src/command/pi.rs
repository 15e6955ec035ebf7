//! `sessile pi`

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use clap::error::ErrorKind;
use sessile::Environment;
use sessile::os::{Os, RealOs};

use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Start your pi with Sessile as its session engine
///
/// Runs the pi that you have installed, in any of its modes, with the npm package `sessile` in place of pi's own session
/// manager: sessions open faster and survive crashes, and the files stay pi's. Everything after `pi` goes to pi, and the
/// exit code is pi's. `sessile pi -- --help` prints pi's help.
///
/// Sessile looks for the npm package in the directory that the environment variable `SESSILE_NODE_PACKAGE` names, near
/// this program, on PATH (the program pi-sessile), and in npm's global directory. The package looks for pi in the
/// directory that `SESSILE_PI` names, on PATH, and in npm's directories.
#[derive(Debug, Args)]
pub(crate) struct PiArgs {
    /// Arguments for pi, for example --continue, -p PROMPT or --mode rpc
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The script of the npm package that starts pi.
const LAUNCHER: &str = "bin/pi-sessile.mjs";

/// The same as a program, as npm installs it.
const LAUNCHER_PROGRAM: &str = "pi-sessile";

/// The variable with the directory of the npm package.
const PACKAGE_VARIABLE: &str = "SESSILE_NODE_PACKAGE";

/// Returns a command line that starts pi with a mark before pi's arguments, so that none of them is taken for one of
/// ours; `None` for any other command line.
pub(crate) fn with_mark(args: &[OsString]) -> Option<Vec<OsString>> {
    let [program, command, rest @ ..] = args else { return None };
    if command != "pi" {
        return None;
    }
    let is_ours = |arg: &OsString| ["-h", "--help", "--"].iter().any(|word| arg == word);
    let mark = if rest.first().is_some_and(is_ours) { &[][..] } else { &[OsString::from("--")] };
    Some([std::slice::from_ref(program), std::slice::from_ref(command), mark, rest].concat())
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &PiArgs,
    _out: &mut Screen<'_>,
    _err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if env.sample().is_some() {
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, "pi works on your own sessions, not on the sample"));
    }
    let environment = env.own_environment();
    let path = environment.variable("PATH").unwrap_or_default();
    let node = on_path("node", &path).ok_or(Failure::NoNode)?;
    let launcher = find_launcher(environment, &node, &path)?;
    let mut command = Command::new(&node);
    command.arg(launcher);
    if let Some(dir) = env.session_dir().filter(|_| env.has_session_dir_flag()) {
        command.arg("--session-dir").arg(dir);
    }
    command.args(&args.arguments);
    become_program(&mut command).map_err(|source| Failure::NotStarted { program: node, source })
}

/// Replaces this process, so that signals, the terminal and the exit code belong to the program.
#[cfg(unix)]
fn become_program(command: &mut Command) -> io::Result<Exit> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_program(command: &mut Command) -> io::Result<Exit> {
    crate::interrupt::ignore_interrupts();
    Ok(if command.status()?.success() { Exit::Done } else { Exit::Error })
}

/// Returns the script that starts pi.
fn find_launcher(environment: &dyn Environment, node: &Path, path: &str) -> Result<PathBuf, Failure> {
    let in_package = |package: PathBuf| Some(package.join(LAUNCHER)).filter(|launcher| launcher.is_file());
    if let Some(named) = environment.variable(PACKAGE_VARIABLE).filter(|named| !named.is_empty()) {
        let package = environment.current_dir().join(&named);
        return in_package(package).ok_or(Failure::NotThePackage { variable: PACKAGE_VARIABLE, path: named.into() });
    }
    let program = std::env::current_exe().and_then(|program| RealOs.real_path(&program));
    let near_program = program.ok().into_iter().flat_map(|program| near(&program)).find_map(in_package);
    let installed = || RealOs.real_path(&on_path(LAUNCHER_PROGRAM, path)?).ok().filter(|it| it.ends_with(LAUNCHER));
    let global = || {
        let real = RealOs.real_path(node).unwrap_or_else(|_| node.to_path_buf());
        [node, real.as_path()].into_iter().flat_map(near).find_map(in_package)
    };
    near_program.or_else(installed).or_else(global).ok_or(Failure::NoPackage)
}

/// Returns the directories in which the package may be, from where a program is: in npm's directory of the same prefix,
/// beside the program, and in a checkout in which the program was built.
fn near(program: &Path) -> Vec<PathBuf> {
    let mut ancestors = program.ancestors().skip(1);
    let (dir, prefix, checkout) = (ancestors.next(), ancestors.next(), ancestors.next());
    let packages = [
        prefix.map(|prefix| prefix.join("lib/node_modules/sessile")),
        prefix.map(|prefix| prefix.join("local/lib/node_modules/sessile")),
        dir.map(|dir| dir.join("node_modules/sessile")),
        checkout.map(|checkout| checkout.join("bindings/node")),
    ];
    packages.into_iter().flatten().collect()
}

/// Returns the first program of this name in the directories of PATH.
fn on_path(name: &str, path: &str) -> Option<PathBuf> {
    let names = if cfg!(windows) { vec![format!("{name}.exe"), format!("{name}.cmd")] } else { vec![name.to_owned()] };
    let dirs: Vec<PathBuf> = std::env::split_paths(OsStr::new(path)).filter(|dir| dir.is_absolute()).collect();
    dirs.iter().flat_map(|dir| names.iter().map(move |name| dir.join(name))).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str) -> Option<String> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        with_mark(&args).map(|args| args.join(OsStr::new(" ")).into_string().unwrap())
    }

    #[test]
    fn the_arguments_of_pi_are_marked() {
        let cases = [
            ("sessile pi", Some("sessile pi --")),
            ("sessile pi --mode rpc", Some("sessile pi -- --mode rpc")),
            ("sessile pi -p x --help", Some("sessile pi -- -p x --help")),
            ("sessile pi --help", Some("sessile pi --help")),
            ("sessile pi -h", Some("sessile pi -h")),
            ("sessile pi -- --help", Some("sessile pi -- --help")),
            ("sessile --session pi --mode rpc", None),
            ("sessile list", None),
            ("sessile", None),
        ];
        for (line, expected) in cases {
            assert_eq!(marked(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn packages_are_near_programs() {
        let near = |program: &str| near(Path::new(program));
        assert!(near("/opt/n/bin/node").contains(&PathBuf::from("/opt/n/lib/node_modules/sessile")));
        assert!(near("/usr/bin/node").contains(&PathBuf::from("/usr/local/lib/node_modules/sessile")));
        assert!(near("/w/target/debug/sessile").contains(&PathBuf::from("/w/bindings/node")));
        assert!(near("/").is_empty());
    }

    #[test]
    fn programs_are_found_on_absolute_paths_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = tempfile::Builder::new().prefix("prog").rand_bytes(0).tempfile_in(dir.path()).unwrap();
        let path = format!(".:/nowhere:{}", dir.path().display());
        assert_eq!(on_path("prog", &path).as_deref(), cfg!(unix).then_some(file.path()));
        assert_eq!(on_path("other", &path), None);
        assert_eq!(on_path("prog", ""), None);
    }
}
