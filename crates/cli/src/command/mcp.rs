//! `sessile mcp`

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::channel;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sessile::os::RealOs;
use sessile::redact::Level;
use sessile::settings::Settings;
use sessile::threads;
use sessile_mcp::{
    Client, DEFAULT_ANSWER, MAX_ANSWER, MIN_ANSWER, Options, Redaction, Server, client_config, tool_sizes,
};

use crate::end_signal::on_end_signal;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{ACCENT, Line, Screen};

/// Let coding agents search and read your earlier sessions
///
/// Serves the Model Context Protocol (MCP) on standard input and output, for agents such as pi, Claude Code, Codex,
/// opencode, Gemini, Cursor and VS Code. The agent gets eight tools that only read: it can search and list sessions,
/// read branches and entries, see trees, find out which sessions changed a file, and count tokens and cost. Add the
/// server to an agent with the entry that --print-config prints.
///
/// The agent sees the sessions of the repository around the working directory; with --all, of all directories. It never
/// sees sessions in a directory of the setting mcp.exclude, nor sessions whose name or a label has the tag #private.
/// Secrets in known formats are replaced. docs/mcp.md has the details.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct McpArgs {
    /// Show the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Show the sessions of this repository only, even if the setting mcp.scope is all
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Use the repository around DIR, for agents that start servers elsewhere
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Limit answers to N bytes, from 4000 to 18000
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ANSWER, value_parser = parse_size)]
    max_chars: usize,

    /// Do not replace secrets
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,

    /// Replace more: secrets (also likely ones), paths, pii, or outputs, as in `sessile export --redact`
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    redact: Option<Level>,

    /// Leave out the results of tools
    #[arg(long)]
    hide_tool_output: bool,

    /// Print the entry for the configuration of an agent, and do not serve
    #[arg(long, value_name = "AGENT", conflicts_with = "check", value_parser = client_parser())]
    print_config: Option<Client>,

    /// List the tools and the sizes of their definitions, and do not serve
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile mcp --print-config pi
  $ sessile mcp --print-config claude --all
  $ sessile mcp --check
  $ claude mcp add --scope user sessile -- sessile mcp";

/// Reads the name of an agent.
fn client_parser() -> impl TypedValueParser<Value = Client> {
    let values = Client::ALL.map(|client| PossibleValue::new(client.word()).help(client.title()));
    let client = |word: String| Client::ALL.into_iter().find(|client| client.word() == word).ok_or("unknown agent");
    PossibleValuesParser::new(values).try_map(client)
}

fn parse_size(word: &str) -> Result<usize, String> {
    let size = word.parse().ok().filter(|size| (MIN_ANSWER..=MAX_ANSWER).contains(size));
    size.ok_or_else(|| format!("use a number from {MIN_ANSWER} to {MAX_ANSWER}"))
}

fn parse_level(word: &str) -> Result<Level, String> {
    let level = word.parse().ok().filter(|level| *level < Level::Skeleton);
    level.ok_or_else(|| "use secrets, paths, pii or outputs".to_owned())
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &McpArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.check {
        return check(out);
    }
    if let Some(client) = args.print_config {
        return print_config(env, client, args, out, err);
    }
    let server = Server::new(options(env, args)?);
    let (sender, receiver) = channel();
    let ended = sender.clone();
    // The send fails only if the server has ended.
    on_end_signal(move |signal| {
        ended.send(Some(signal)).ok();
    })?;
    let serve = move || {
        server.serve(io::stdin(), crate::stream::plain_stdout());
        // The send fails only if a signal came first.
        sender.send(None).ok();
    };
    threads::spawn("client", serve).map_err(Failure::NoThread)?;
    Ok(receiver.recv().ok().flatten().map_or(Exit::Done, Exit::Signalled))
}

fn options(env: &CommandEnvironment, args: &McpArgs) -> Result<Options, Failure> {
    // Other commands go on without settings that cannot be read. This one would show what they exclude.
    let settings = Settings::load(env.own_environment(), &RealOs)?;
    let cwd = args.cwd.as_ref().map_or_else(|| env.cwd(), |cwd| env.directory(Some(cwd)));
    let mut options = Options::new(env.sessions.clone(), cwd);
    options.shows_all = args.all || (settings.mcp_shows_all() && !args.repo);
    options.excluded = settings.mcp_excluded().to_vec();
    options.redaction = match args.redact {
        _ if args.no_redact => Redaction::Nothing,
        Some(level) => Redaction::Level(level),
        None => Redaction::CertainSecrets,
    };
    options.hides_tool_output = args.hide_tool_output;
    options.answer_size = args.max_chars;
    Ok(options)
}

/// Lists the tools with their sizes.
fn check(out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let sizes = tool_sizes();
    for tool in &sizes {
        out.print_whole(&Line::new().text(tool.name).pad(20).text(&format!("{:>5} bytes", tool.bytes)))?;
    }
    let total: usize = sizes.iter().map(|tool| tool.bytes).sum();
    out.print_whole(&Line::new().text("all").pad(20).text(&format!("{total:>5} bytes, about {} tokens", total / 4)))?;
    Ok(Exit::Done)
}

/// Prints the entry for an agent, and says where it belongs.
fn print_config(
    env: &CommandEnvironment,
    client: Client,
    args: &McpArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let dir = env.session_dir().filter(|_| env.has_session_dir_flag());
    let flag = dir.map(|dir| ["--session-dir".to_owned(), env.directory(Some(&dir)).to_string_lossy().into_owned()]);
    let words: Vec<String> = flag.into_iter().flatten().chain(args.words()).collect();
    let config = client_config(client, "sessile", &words);
    out.data().write_all(config.entry.as_bytes())?;
    let file = Line::new().styled(ACCENT, "hint:").text(&format!(" this belongs in {}", config.file));
    // A message on standard error is optional; a failed write is ignored.
    drop(err.print_whole(&file));
    if let Some(command) = config.command {
        drop(err.print_whole(&Line::new().styled(ACCENT, "hint:").text(&format!(" or run `{command}`"))));
    }
    Ok(Exit::Done)
}

impl McpArgs {
    /// The arguments that start a server with these flags.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["mcp".to_owned()];
        let flags = [
            (self.all, "--all"),
            (self.repo, "--repo"),
            (self.no_redact, "--no-redact"),
            (self.hide_tool_output, "--hide-tool-output"),
        ];
        words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| (*flag).to_owned()));
        if let Some(level) = self.redact {
            words.extend(["--redact".to_owned(), level.word().to_owned()]);
        }
        if let Some(cwd) = &self.cwd {
            words.extend(["--cwd".to_owned(), cwd.to_string_lossy().into_owned()]);
        }
        if self.max_chars != DEFAULT_ANSWER {
            words.extend(["--max-chars".to_owned(), self.max_chars.to_string()]);
        }
        words
    }
}
