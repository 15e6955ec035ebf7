//! `sessile export`

mod agent;
#[cfg(feature = "web")]
mod html;
mod redact;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum, ValueHint};
use sessile::export::{ExportFormat, ExportOptions};
use sessile::write::StoreError;
use sessile::{SessionError, SessionManager};

use crate::args::SessionArg;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{Line, Screen};

/// Export a session as a web page, Markdown, a session file or JSON, or to another agent
///
/// Exports the active branch, or every branch with --all.
///
/// jsonl has the format of pi's /export: a session file with the same id, the time of the export, and the entries in
/// sequence. md is a document to read; no text of the session can act as HTML in it. json is one object of header,
/// entries and leafId.
///
/// html is one file with every branch, the tree, a search and the original bytes. It opens in any browser, sends no
/// request, and runs nothing that the session contains.
///
/// With --redact, secrets go, and at higher levels more: `paths` also replaces home directories and names of users and
/// hosts, `pii` also addresses and numbers of people and pictures, `outputs` also removes the output of tools and
/// thoughts, and `skeleton` all text. jsonl is then a session with a new id and every branch that pi can resume. The
/// result is scanned before it is written: if anything is found, nothing is written (exit 3).
///
/// With --to, the export is a session of another agent, which can go on with the conversation: what a model receives on
/// the branch, or with --all on each branch, as separate sessions. The result is a file in the current directory, or
/// with --install in the agent's own store. The same conversation always gives the same file; a file with other content
/// is replaced only with --output and --force. The command prints how to go on. docs/agents.md says what is kept.
///
/// Only jsonl keeps the raw bytes of the session. They could control a terminal, so jsonl is never written to a
/// terminal: use -o or a pipe.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group(ArgGroup::new("destination").args(["output", "to"]).multiple(true)))]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The format of the export [default: by the extension of --output, else jsonl]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,

    /// Export every branch
    #[arg(long, conflicts_with = "branch")]
    all: bool,

    /// Export the branch that ends at this entry instead of the active one
    #[arg(long, value_name = "LEAF")]
    branch: Option<String>,

    /// Write to this file, which must not exist yet; standard output if omitted or `-`; with --all --to: a directory
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Replace the file if it exists; a session file is never replaced
    #[arg(long, requires = "output")]
    force: bool,

    /// With html: write a folder with a page and data files, for sessions too large for one file
    #[cfg(feature = "web")]
    #[arg(long, requires = "output", conflicts_with_all = ["force", "branch"])]
    split: bool,

    /// With md: show only N lines of each tool output
    #[arg(long, value_name = "N")]
    output_lines: Option<usize>,

    /// With md: include images in the document instead of describing them
    #[arg(long)]
    images: bool,

    #[command(flatten)]
    redacting: redact::RedactArgs,

    #[command(flatten)]
    agent: agent::AgentArgs,

    /// Show what would be written without writing anything
    #[arg(long, requires = "destination")]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile export @1 --format md
  $ sessile export @1 -o session.html
  $ sessile export @1 -o short.md --output-lines 5
  $ sessile export @4 -o exported.jsonl
  $ sessile export @4 --redact -o shared.jsonl
  $ sessile export @4 --redact=pii --also Acme -o shared.html
  $ sessile export @1 --all --format json
  $ sessile export @1 --branch @leaf~4 --format md -o short.md
  $ sessile export @1 --to claude
  $ sessile export @1 --to codex --install
  $ sessile export @1 --to gemini --all -o branches --dry-run";

/// What an export looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// A session file, as pi exports one
    #[default]
    Jsonl,
    /// A Markdown document
    Md,
    /// One JSON object
    Json,
    /// A web page that needs no server
    #[cfg(feature = "web")]
    Html,
}

impl ExportArgs {
    fn format(&self) -> FormatArg {
        let extension = self.output.as_deref().and_then(Path::extension).and_then(OsStr::to_str).unwrap_or_default();
        let by_extension = || FormatArg::from_str(extension, true).unwrap_or_default();
        self.format.unwrap_or_else(by_extension)
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ExportArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = env.open(&args.session, err)?;
    if let Some(level) = args.redacting.level() {
        return redact::run(env, args, level, &session, out, err);
    }
    redact::warn_of_secrets(env, args, &session, out, err);
    write(env, args, &session, out, err)
}

/// Writes a session, or a redacted copy of one.
fn write(
    env: &CommandEnvironment,
    args: &ExportArgs,
    session: &SessionManager,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(target) = args.agent.target() {
        return agent::run(env, args, target, session, out, err);
    }
    let format = match args.format() {
        FormatArg::Jsonl => ExportFormat::Jsonl,
        FormatArg::Md => ExportFormat::Markdown,
        FormatArg::Json => ExportFormat::Json,
        #[cfg(feature = "web")]
        FormatArg::Html => return html::run(env, args, session, out),
    };
    let leaf = args.branch.as_deref().map(|leaf| session.find_entry(leaf)).transpose()?;
    let n_entries = match &leaf {
        _ if args.all => session.outline().n_entries(),
        Some(leaf) => session.path_to(leaf)?.len(),
        None => session.path().len(),
    };
    let options = ExportOptions {
        format,
        all_branches: args.all,
        leaf,
        max_output_lines: args.output_lines,
        with_images: args.images,
    };
    let Some(output) = args.output.as_ref().filter(|output| output.as_os_str() != "-") else {
        if format == ExportFormat::Jsonl && out.is_terminal() {
            return Err(Failure::RawToTerminal);
        }
        let data = out.data();
        session.export::<Failure>(&options, &mut |bytes| Ok(data.write_all(bytes)?))?;
        return Ok(Exit::Done);
    };
    let path = env.own_environment().current_dir().join(output);
    if !args.dry_run {
        session.export_to(&options, &path, args.force).map_err(failure)?;
    }
    report(env, args, n_entries, &path, out)
}

fn failure(error: SessionError) -> Failure {
    match error {
        SessionError::Store(StoreError::Exists { path }) => Failure::OutputExists { path },
        error => error.into(),
    }
}

/// Says what was written.
fn report(
    env: &CommandEnvironment,
    args: &ExportArgs,
    n_entries: usize,
    path: &Path,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let verb = if args.dry_run { "would write" } else { "wrote" };
    let entries = noun(n_entries, "entry", "entries");
    let message = format!("{verb} {n_entries} {entries} to {}", env.short(&path.to_string_lossy()));
    out.print_whole(&Line::new().text(&message))?;
    Ok(Exit::Done)
}
