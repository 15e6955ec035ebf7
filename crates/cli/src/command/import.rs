//! `sessile import`

use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind;
use sessile::SessionError;
use sessile::import::{AgentImportOptions, ImportChoices, ImportOptions, ModelChoice};
use sessile_rpc::answer;
use tempfile::NamedTempFile;

use crate::command::foreign::{self, AgentArg, Choice};
use crate::data::{ListFormat, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{Line, Screen};

/// Import session files, or sessions of other agents
///
/// Copies each file, byte for byte, into the session directory of its working directory, and prints the path of each
/// copy. If the store already has a session with the id of one of the files, the command copies none of them; use
/// --new-id to import them as separate sessions.
///
/// With --from, imports sessions of another agent, so that pi can go on with them: by file, by id, @latest for the
/// most recent session of the current directory, or all of a directory (--cwd) or of all directories (--all). A second
/// import adds only what is new. If you have gone on with the session in pi, it still opens where you were. The files of
/// the other agent are only read. docs/agents.md says what is kept.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile import backup.jsonl
  $ sessile import --cwd . backup.jsonl --dry-run
  $ sessile import backup.jsonl --new-id")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ImportArgs {
    /// The session files, or `-` for standard input; with --from: files, ids, or @latest
    #[arg(value_name = "FILE", required_unless_present = "from")]
    files: Vec<PathBuf>,

    /// Import sessions of this agent
    #[arg(long, value_name = "AGENT", conflicts_with = "new_id")]
    from: Option<AgentArg>,

    /// List the sessions that --from would import, without importing them
    #[arg(long, requires = "from")]
    list: bool,

    /// With --from: the sessions of all directories
    #[arg(long, requires = "from", conflicts_with = "cwd")]
    all: bool,

    /// With --from: leave out the sessions of sub-agents
    #[arg(long, requires = "from")]
    no_children: bool,

    /// With --from: send the texts of the agent's program (reminders, instructions, attachments) to the model
    ///
    /// Without this option, the texts are in the tree, and no model receives them. A session keeps this choice when it is
    /// imported again, and so it does with --keep-signatures and --model.
    #[arg(long, requires = "from")]
    with_context: bool,

    /// With --from: keep the signatures of thoughts of Claude Code and Codex, and send the thoughts to the same model
    ///
    /// Answers whose thoughts are signed then count as answers of pi's own provider. The provider refuses signatures of
    /// other accounts or models.
    #[arg(long, requires = "from")]
    keep_signatures: bool,

    /// With --from: the model that pi goes on with, such as anthropic/claude-sonnet-5
    #[arg(long, value_name = "PROVIDER/ID", requires = "from", value_parser = model)]
    model: Option<ModelChoice>,

    /// Import them as sessions of DIR instead of the directory in their headers; with --from: the sessions of DIR
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Give each session a new id, so that it can be imported beside an existing copy
    #[arg(long)]
    new_id: bool,

    /// Show what would be done without writing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ImportArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(from) = args.from {
        return import_foreign(env, args, from, out, err);
    }
    let is_stream = |file: &PathBuf| [Path::new("-"), Path::new("/dev/stdin")].contains(&file.as_path());
    let stream = args.files.iter().any(is_stream).then(copy_stdin_to_file).transpose()?;
    if stream.is_some() && args.files.len() > 1 {
        let message = "standard input cannot be imported together with files";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    let files: Vec<PathBuf> = match &stream {
        Some(stream) => vec![stream.path().to_path_buf()],
        None => args.files.iter().map(|file| env.directory(Some(file))).collect(),
    };
    let importing = ImportOptions {
        cwd: args.cwd.as_ref().map(|cwd| env.directory(Some(cwd))),
        new_ids: args.new_id,
        new_names: stream.is_some(),
        dry_run: args.dry_run,
    };
    let imported = env.sessions.import(&files, &importing);
    let mut imports = imported.map_err(|error| match error {
        // The file is our temporary copy; the user knows it as standard input.
        SessionError::NotASession { .. } if stream.is_some() => {
            SessionError::NotASession { path: PathBuf::from("standard input") }
        }
        error => error,
    })?;
    if stream.is_some() {
        for import in &mut imports {
            import.from = PathBuf::from("-");
        }
    }
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        imports.iter().try_for_each(|import| list.push(answer::imported(import).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    for import in &imports {
        out.print_whole(&Line::new().text(&import.path.to_string_lossy()))?;
    }
    let verb = if args.dry_run { "would be copied" } else { "copied" };
    let sessions = if imports.len() == 1 { "session" } else { "sessions" };
    err.print_whole(&Line::new().text(&format!("{} {sessions} {verb}", imports.len())))?;
    Ok(Exit::Done)
}

/// Imports or lists sessions of another agent.
fn import_foreign(
    env: &CommandEnvironment,
    args: &ImportArgs,
    from: AgentArg,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let choice = Choice { from, targets: &args.files, all: args.all, cwd: args.cwd.as_deref() };
    if args.list {
        return foreign::list(env, &choice, args.format, out, err);
    }
    if args.files.is_empty() && !args.all && args.cwd.is_none() {
        let message = "say which sessions: a file, an id, @latest, --cwd DIR or --all (--list shows them)";
        return Err(Failure::misuse(ErrorKind::MissingRequiredArgument, message));
    }
    let choices = ImportChoices {
        with_context: args.with_context,
        keep_signatures: args.keep_signatures,
        model: args.model.clone(),
    };
    let options = AgentImportOptions { choices, no_children: args.no_children, dry_run: args.dry_run };
    foreign::import(env, &choice, options, args.format, out, err)
}

fn model(text: &str) -> Result<ModelChoice, String> {
    ModelChoice::parse(text).ok_or_else(|| "expected a provider, a slash and the id of a model".to_owned())
}

/// Copies standard input to a temporary file.
fn copy_stdin_to_file() -> Result<NamedTempFile, Failure> {
    let mut file = NamedTempFile::with_prefix("sessile-import-").map_err(Failure::NoTemporary)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut file).map_err(Failure::NoTemporary)?;
    Ok(file)
}
