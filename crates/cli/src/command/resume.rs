//! `sessile resume`

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, ValueEnum, ValueHint};
use sessile::import::{AgentImportOptions, ImportState};

use crate::command::foreign::{AgentArg, Choice, warn_of_damage};
use crate::command::list::report_empty_store;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interactive;
use crate::screen::{Line, Screen};
use crate::titling;

/// Pick a session on the screen and resume it
///
/// Runs the command in the setting resume.command, by default `pi --session {path}`, in the session's own directory if
/// that still exists. `sessile` without a command does the same on a terminal. F1 shows all keys; docs/tui.md explains
/// the screens.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  $ sessile resume --init bash\n  $ sessile resume --init fish")]
pub(crate) struct ResumeArgs {
    /// Start with this search
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Import a session of another agent and resume it; QUERY is its file, its id, or @latest
    #[arg(long, value_name = "AGENT", conflicts_with = "current")]
    from: Option<AgentArg>,

    /// Start with the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Print the path of the picked session without running anything
    #[arg(long)]
    print: bool,

    /// Prevent the deletion of this session, which is open elsewhere
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    current: Option<PathBuf>,

    /// Print a function and a key binding for a shell instead
    ///
    /// `sr` picks a session and resumes it; Ctrl-X S inserts the path of a session at the cursor.
    #[arg(long, value_name = "SHELL", conflicts_with_all = ["query", "all", "print", "current", "from"])]
    init: Option<InitShell>,
}

/// The shells that there is something for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InitShell {
    Bash,
    Zsh,
    Fish,
}

impl ResumeArgs {
    /// Returns the arguments of `sessile` without a command.
    pub(super) fn without_command() -> Self {
        Self { query: Vec::new(), from: None, all: false, print: false, current: None, init: None }
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ResumeArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(shell) = args.init {
        out.data().write_all(match shell {
            InitShell::Bash => include_bytes!("../shell/sessile.bash").as_slice(),
            InitShell::Zsh => include_bytes!("../shell/sessile.zsh").as_slice(),
            InitShell::Fish => include_bytes!("../shell/sessile.fish").as_slice(),
        })?;
        return Ok(Exit::Done);
    }
    if let Some(from) = args.from {
        return resume_foreign(env, args, from, out, err);
    }
    if env.is_store_empty()? {
        drop(report_empty_store(env, err));
        return Ok(Exit::Nothing);
    }
    let ui = interactive::ui(env, out, err).with_current(args.current.clone());
    let picked = ui.pick(args.all, &args.query.join(" "))?;
    match picked {
        Some(path) if args.print => {
            out.print_whole(&Line::new().text(&path.to_string_lossy()))?;
            Ok(Exit::Done)
        }
        Some(path) => run_resume_command(env, &path, err),
        // A script needs the exit code; a user who has just pressed Escape knows.
        None => Ok(if args.print { Exit::Nothing } else { Exit::Done }),
    }
}

/// Imports a session of another agent, and resumes the result.
fn resume_foreign(
    env: &CommandEnvironment,
    args: &ResumeArgs,
    from: AgentArg,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let targets = match args.query.as_slice() {
        [] => vec![PathBuf::from("@latest")],
        [target] => vec![PathBuf::from(target)],
        _ => return Err(Failure::misuse(ErrorKind::TooManyValues, "--from resumes one session")),
    };
    let files = Choice { from, targets: &targets, all: args.all, cwd: None }.files(env)?;
    let imported = env.sessions.import_foreign(&files, AgentImportOptions::default())?;
    if let Some(error) = imported.unreadable.into_iter().next() {
        return Err(error.into());
    }
    for session in &imported.sessions {
        warn_of_damage(session, err)?;
    }
    let Some(session) = imported.sessions.iter().find(|import| import.state != ImportState::Empty) else {
        err.print_whole(&Line::new().text("the session has no messages"))?;
        return Ok(Exit::Nothing);
    };
    if args.print {
        out.print_whole(&Line::new().text(&session.path.to_string_lossy()))?;
        return Ok(Exit::Done);
    }
    run_resume_command(env, &session.path, err)
}

/// Runs the command that resumes a session, and waits for it to end.
fn run_resume_command(env: &CommandEnvironment, path: &Path, err: &mut Screen<'_>) -> Result<Exit, Failure> {
    titling::title_if_due(env, path, err)?;
    let line = env.settings.resume_command();
    let cwd = env.sessions.clone().read_only().open(path)?.header().cwd().map(PathBuf::from);
    let mut command = sessile::shell(|path| env.settings.resume_command_with(path), path);
    if let Some(cwd) = cwd.filter(|cwd| env.sample().is_none() && cwd.is_dir()) {
        command.current_dir(cwd);
    }
    crate::interrupt::ignore_interrupts();
    let status = command.status().map_err(|source| Failure::NotRun { line: line.to_owned(), source })?;
    if status.code() == Some(NOT_FOUND) {
        return Err(Failure::NoProgram { program: program_of(line) });
    }
    if !status.success() {
        err.print_whole(&Line::new().text(&format!("`{line}` failed: {status}")))?;
        return Ok(Exit::Error);
    }
    Ok(Exit::Done)
}

/// The exit code of a shell if the program does not exist.
const NOT_FOUND: i32 = 127;

/// Returns the program that a command line names, without variable assignments.
fn program_of(line: &str) -> String {
    line.split_whitespace().find(|word| !word.contains('=')).unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_first_word() {
        assert_eq!(program_of("pi --session {path}"), "pi");
        assert_eq!(program_of("A=b /opt/pi {path}"), "/opt/pi");
    }
}
