//! The project's tasks. CI runs `cargo xtask test` and `cargo xtask check`; `cargo xtask help` lists the rest.
//!
//! Everything here is plain `std`. A task is a function that returns [`TaskResult`]; its output is for people.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![expect(
    clippy::disallowed_methods,
    reason = "not part of the product: reads the workspace and its environment directly"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod agents;
mod check;
mod clients;
mod command;
mod compilers;
mod counts;
mod dist;
mod fuzz;
mod mcp_clients;
mod node;
mod node_test;
mod npm;
mod oracle;
mod platforms;
mod postgres;
mod postgres_versions;
mod publish;
mod python;
mod rust_source;
mod steps;
mod storage;
mod test;
mod text_index;
mod tidy;
mod tools;
mod web;

/// The result of a task.
type TaskResult<T = ()> = Result<T, Failure>;

/// Why a task stopped, as the sentence to print.
#[derive(Debug)]
struct Failure(String);

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self(message)
    }
}

const HELP: &str = "\
Usage: cargo xtask TASK

  test [NAME]           build and run all tests, or those with NAME in theirs
  check                 the rest of what must pass before a change is merged: lints, torture, fuzzing, a small
                        comparison, the web pages, programs written for pi, clients of the MCP server, the packages for
                        Node and Python, documentation, licences
  web-test [NAME]       open the web pages in Chromium and use them; NAME is a file of web-tests/ (odd) or a part of a
                        test's name. Installs Chromium and the browser driver if they are missing. With
                        SESSILE_WEB_LONG=1, all hostile values go through all fields, not a third of them
  clients-test [NAME]   run programs from npm that other people wrote for pi, unmodified, on Sessile: pi-acp, and readers
                        of session files. NAME is a part of a test's name
  mcp-clients [NAME]    drive `sessile mcp` with the Python and TypeScript clients of the Model Context Protocol and with its
                        Inspector, from their registries. NAME is a part of a test's name
  python-test [NAME]    build the wheel of bindings/python, install it into a fresh environment, and test it there; NAME
                        is a part of a test's name. Installs Python's packages if they are missing
  agents [AGENT…]       let the genuine Codex, Gemini CLI, Qwen Code and opencode from npm write sessions against a provider
                        on loopback, import them, and let the agents go on with sessions of pi; prints a table.
                        --with-claude adds Claude Code, which is not free software
  web-pictures          make the pictures of docs/web.md again
  node-build [--release]
                        build the native part of bindings/node and put it where the package loads it; with --release
                        also into the package for this platform in bindings/node/npm
  node-test [NAME]      test the npm package beside the genuine pi, in Node; NAME is a file of bindings/node/test (kill)
                        or a part of a test's name
  platforms [NAME…]     check what can be checked here of macos (lints), arm (tests in qemu) and windows (tests in wine);
                        all without names. Unpacks compilers and emulators from Debian packages into the cache
  tidy                  structural checks: dependency direction, purity of core, file names
  docs                  write docs/cli.md, and what is written about the RPC, from their definitions
  oracle                install the genuine pi as the reference for tests and print its folder
  storage               install the S3 storage for tests of large lines and print its program
  differential [ARGS]   compare Sessile with the oracle on random sessions (ARGS go to the program: --sequences N, or
                        --compaction --cases N; --seed FIRST, --threads N)
  torture [ARGS]        stress real writers and look for lost entries (--long, --only ROW, --seed N, --plant BUG)
  team-faults [ARGS]    break servers, networks and machines while sessions synchronize with a real PostgreSQL
                        (--long, --only F1,F3, --seed N)
  soak [ARGS]           let every front end and pi use one store, with kills, full disks and clock jumps, and look for what
                        grows (--minutes N, --seed N, --only ACTOR, --json)
  dist [OPTIONS]        build archives and Debian packages: --target TRIPLE for others than Linux, --compare to build twice
                        and compare the bytes
  compilers             compile the command with the oldest compiler that is promised, and with a newer one
  publish               pack all crates and compile each from its package, without publishing anything
  semver [REVISION]     compare the public API with that of the last release, or of a revision, with cargo-semver-checks
  postgres-versions     run the tests of remotes on PostgreSQL 16, 17 and 18, which come from npm
  fuzz [OPTIONS]        run the fuzz targets: --seconds N each (20), --seed N, --target NAME, --keep to go on from
                        what earlier runs found, --input FILE to run one input
  bench [NAME]          measure Sessile, pi and the machine in one run: append-cost, group-commit; both without NAME
  bench compare [ARGS]  the whole comparison on made-up sessions (ARGS go to the program; --small takes seconds)
  bench counts [--base REV | --twice]
                        count instructions, allocations, system calls and bytes read of twelve hot paths; with --base,
                        build REV as well and fail if a count has grown by more than 3 %; with --twice, fail if two
                        runs differ by more than 1 %
  bench web             measure the web pages in Chromium beside pi's page; --write-docs DIR writes the figures
  bench mcp [CORPUS]    measure `sessile mcp` on a store of 1 GB
  bench team [--small]  measure a team's store beside bare PostgreSQL on the same server
  bench agents [MB]     measure the import of other agents' sessions beside the disk, and lists of 10,000 of them
  bench text-index      compare the text index with tantivy and SQLite FTS5; `bench text-index cost` compares what they
                        cost to build
  help                  this text

Tools and the oracle are kept in $SESSILE_TOOLS_DIR, or else in sessile-dev in the user's cache folder.";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let task = args.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = args.collect();
    match run(&task, &rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("xtask {task}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &str, args: &[String]) -> TaskResult {
    const WITH_ARGUMENTS: [&str; 16] = [
        "agents",
        "bench",
        "clients-test",
        "differential",
        "dist",
        "fuzz",
        "mcp-clients",
        "node-build",
        "node-test",
        "platforms",
        "python-test",
        "semver",
        "soak",
        "test",
        "torture",
        "web-test",
    ];
    if !WITH_ARGUMENTS.contains(&task) && !args.is_empty() {
        return Err(Failure(format!("takes no arguments, got `{}`", args.join(" "))));
    }
    match task {
        "test" => test::run(&workspace_root(), args),
        "check" => check::run(&workspace_root()),
        "web-test" => {
            let root = workspace_root();
            web::run(&root, &web::install(&root, &tools::cache_dir()?)?, args)
        }
        "clients-test" => {
            let root = workspace_root();
            clients::run(&root, &clients::install(&root, &tools::cache_dir()?)?, args)
        }
        "mcp-clients" => {
            let root = workspace_root();
            mcp_clients::run(&root, &mcp_clients::install(&root, &tools::cache_dir()?)?, args)
        }
        "python-test" => {
            let root = workspace_root();
            python::run(&root, &python::install(&root, &tools::cache_dir()?)?, args)
        }
        "agents" => agents::run(&workspace_root(), args),
        "web-pictures" => {
            let root = workspace_root();
            web::pictures(&root, &web::install(&root, &tools::cache_dir()?)?)
        }
        "node-build" => node::build(&workspace_root(), args),
        "node-test" => node_test::run(&workspace_root(), args),
        "compilers" => compilers::run(&workspace_root()),
        "publish" => publish::check(&workspace_root()),
        "semver" => publish::semver(&workspace_root(), args),
        "tidy" => tidy::run(&workspace_root()),
        "docs" => docs(&workspace_root()),
        "oracle" => oracle::install(&tools::cache_dir()?).map(|folder| println!("{}", folder.display())),
        "storage" => {
            let program = storage::install(&workspace_root(), &tools::cache_dir()?)?;
            println!("{}", program.display());
            Ok(())
        }
        "differential" => run_testkit("differential", args),
        "dist" => dist::run(&workspace_root(), args),
        "torture" => {
            tools::install_packages();
            run_testkit("torture", args)
        }
        "team-faults" => {
            postgres::require()?;
            run_testkit("team-faults", args)
        }
        "platforms" => platforms::run(&workspace_root(), args),
        "soak" => soak(args),
        "postgres-versions" => postgres_versions::run(&workspace_root()),
        "bench" => bench(args),
        "fuzz" => fuzz::run(&workspace_root(), &fuzz::Options::read(args)?),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(Failure("no such task; `cargo xtask help` lists them".to_owned())),
    }
}

/// Writes the documents that are generated from the sources: the tests that check them can also write them.
fn docs(root: &Path) -> TaskResult {
    let command = ["test", "--package", "sessile-cli", "--test", "cli", "the_reference_is_up_to_date"];
    command::cargo(root).args(command).env("SESSILE_UPDATE_DOCS", "1").run()?;
    let protocol = ["test", "--package", "sessile-rpc", "--test", "documents"];
    command::cargo(root).args(protocol).env("SESSILE_UPDATE_DOCS", "1").run()
}

/// Runs a program of the testkit with the oracle installed.
fn run_testkit(program: &str, args: &[String]) -> TaskResult {
    let folder = oracle::install(&tools::cache_dir()?)?;
    command::cargo(&workspace_root())
        .args(["run", "--release", "--package", "sessile-testkit", "--bin", program, "--"])
        .args(args)
        .env(oracle::VARIABLE, folder)
        .exec()
}

/// Builds the program and the package for Node, and lets everything use one store for a while.
fn soak(args: &[String]) -> TaskResult {
    tools::install_packages();
    let root = workspace_root();
    let folder = oracle::install(&tools::cache_dir()?)?;
    command::cargo(&root).args(SOAKED).args(["--locked"]).run()?;
    let package = node::install(&root, "release")?;
    command::program(release_programs(&root)?.join("soak"))
        .dir(&root)
        .args(["--package".as_ref(), package.as_os_str()])
        .args(args)
        .env(oracle::VARIABLE, folder)
        .exec()
}

/// The arguments of cargo that build the programs of the soak, without the other programs of the testkit.
const SOAKED: [&str; 13] = [
    "build",
    "--release",
    "--package",
    "sessile-cli",
    "--package",
    "sessile-node",
    "--package",
    "sessile-testkit",
    "--lib",
    "--bin",
    "sessile",
    "--bin",
    "soak",
];

/// The available measurements.
const BENCHES: [&str; 2] = ["append-cost", "group-commit"];

/// Runs measurements on the disk that holds the build, not in memory.
fn bench(names: &[String]) -> TaskResult {
    if let Some((first, args)) = names.split_first()
        && first == "text-index"
    {
        return text_index::run(&workspace_root(), args);
    }
    if let Some((first, args)) = names.split_first()
        && first == "counts"
    {
        return counts::run(&workspace_root(), args);
    }
    let folder = oracle::install(&tools::cache_dir()?)?;
    let root = workspace_root();
    if let Some((first, args)) = names.split_first()
        && first == "web"
    {
        return web::bench(&root, &web::install(&root, &tools::cache_dir()?)?, &folder, args);
    }
    if names.first().is_some_and(|first| first == "team") {
        postgres::require()?;
        command::cargo(&root).args(COMPARED).args(["--locked"]).run()?;
        return command::program(release_programs(&root)?.join("team-measure"))
            .dir(&root)
            .args(["target"])
            .args(&names[1..])
            .run();
    }
    if let Some((first, args)) = names.split_first()
        && (first == "agents" || first == "mcp")
    {
        command::cargo(&root).args(COMPARED).args(["--locked"]).run()?;
        return command::program(release_programs(&root)?.join(format!("{first}-measure"))).dir(&root).args(args).run();
    }
    if let Some((first, args)) = names.split_first()
        && first == "compare"
    {
        tools::install_packages();
        return compare(&root, &folder, command::cargo(&root).args(COMPARED).args(["--locked"]), args);
    }
    if let Some(name) = names.iter().find(|name| !BENCHES.contains(&name.as_str())) {
        return Err(Failure(format!("no measurement `{name}`; there are {}", BENCHES.join(", "))));
    }
    for name in BENCHES.iter().filter(|name| names.is_empty() || names.iter().any(|wanted| wanted == *name)) {
        command::cargo(&root)
            .args(["run", "--release", "--package", "sessile-bench", "--bin", name, "--", "target"])
            .env(oracle::VARIABLE, &folder)
            .run()?;
    }
    Ok(())
}

/// The arguments of cargo that build every program of the comparison.
const COMPARED: [&str; 8] =
    ["build", "--release", "--package", "sessile-cli", "--package", "sessile-node", "--package", "sessile-bench"];

/// Builds every program that takes part, and runs the comparison.
fn compare(root: &Path, oracle: &Path, build: command::Task, args: &[String]) -> TaskResult {
    build.run()?;
    // Not by `cargo run`, which would build everything again with the features of one package alone.
    let program = command::program(release_programs(root)?.join("compare"));
    program.dir(root).args(args).env(oracle::VARIABLE, oracle).run()
}

/// Returns the folder of release builds.
fn release_programs(root: &Path) -> TaskResult<PathBuf> {
    programs(root, "release")
}

/// Returns the folder of the builds of a profile.
fn programs(root: &Path, profile: &str) -> TaskResult<PathBuf> {
    let me = std::env::current_exe().map_err(|error| Failure(format!("cannot find the build: {error}")))?;
    Ok(me.ancestors().nth(2).unwrap_or(root).join(profile))
}

/// Returns the manifest of the workspace.
fn manifest(root: &Path) -> TaskResult<String> {
    let path = root.join("Cargo.toml");
    std::fs::read_to_string(&path).map_err(|error| Failure(format!("cannot read {}: {error}", path.display())))
}

/// Returns the folder of the workspace, known from where this crate was compiled.
fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
