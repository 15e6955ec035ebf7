//! `cargo xtask agents`: lets the genuine agents write and resume sessions against a provider on loopback.
//!
//! The checks are in `agent-tests/`. The agents come from npm, by name and version. A lock file cannot pin them, because
//! they name packages for other platforms that not every registry has.

use std::fs;
use std::path::Path;

use crate::command;
use crate::{Failure, TaskResult, oracle, tools, web};

/// The folder of the agents in the cache. A new layout gets a new number.
const FOLDER: &str = "agents-1";

/// The agents that everybody may run, with their packages.
const AGENTS: [(&str, &str); 4] = [
    ("codex", "@openai/codex@0.166.0"),
    ("gemini", "@google/gemini-cli@0.61.0"),
    ("qwen", "@qwen-code/qwen-code@0.24.4"),
    ("opencode", "opencode-ai@1.18.33"),
];

/// An agent that is not free software, and runs only on request.
const CLAUDE: (&str, &str) = ("claude", "@anthropic-ai/claude-code@2.1.325");

/// The request for it.
const WITH_CLAUDE: &str = "--with-claude";

/// Installs what is missing, builds the program, and runs the checks of the agents in `args`, or of all.
pub(crate) fn run(root: &Path, args: &[String]) -> TaskResult {
    let chosen = chosen(args)?;
    let cache = tools::cache_dir()?;
    let oracle = oracle::install(&cache)?;
    let packages = cache.join(FOLDER);
    {
        let _lock = tools::lock(&cache, FOLDER)?;
        for (name, package) in &chosen {
            install(&packages.join(name), package)?;
        }
    }
    let program = web::build(root)?;
    command::program(oracle.join("node"))
        .dir(root)
        .args([root.join("agent-tests/run.mjs")])
        .args(chosen.iter().map(|(name, _)| *name))
        .env("SESSILE_PROGRAM", &program)
        .env("SESSILE_AGENTS", &packages)
        .env(oracle::VARIABLE, &oracle)
        .run()
}

/// The agents to run.
fn chosen(args: &[String]) -> TaskResult<Vec<(&'static str, &'static str)>> {
    let with_claude = args.iter().any(|arg| arg == WITH_CLAUDE);
    let known: Vec<_> = AGENTS.into_iter().chain(with_claude.then_some(CLAUDE)).collect();
    let names: Vec<&String> = args.iter().filter(|arg| *arg != WITH_CLAUDE).collect();
    if let Some(unknown) = names.iter().find(|name| known.iter().all(|(known, _)| known != **name)) {
        let all: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        return Err(Failure(format!("no agent is called `{unknown}`; there are {}", all.join(", "))));
    }
    Ok(known.into_iter().filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted == name)).collect())
}

/// Installs a package of npm in a folder, unless it is there.
fn install(folder: &Path, package: &str) -> TaskResult {
    let stamp = folder.join("stamp");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == package) {
        return Ok(());
    }
    println!("installing {package}");
    let failed = |error: std::io::Error| Failure(format!("cannot install into {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    command::program("npm")
        .dir(folder)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", "."])
        .args([package])
        .run()?;
    // Written last, so a folder with a stamp is complete.
    fs::write(&stamp, package).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_runs_only_on_request() {
        let names = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            chosen(&args).map(|chosen| chosen.iter().map(|(name, _)| *name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["codex", "gemini", "qwen", "opencode"]);
        assert_eq!(names(&["qwen"]).unwrap(), ["qwen"]);
        assert_eq!(names(&["--with-claude"]).unwrap().len(), 5);
        assert_eq!(names(&["--with-claude", "claude"]).unwrap(), ["claude"]);
        assert!(names(&["claude"]).is_err());
    }
}
