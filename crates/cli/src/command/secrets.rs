//! `sessile secrets`

mod print;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Subcommand, ValueHint};
use sessile::redact::{ScanOptions, ScanReport, SecretOptions, finding_id, rules};
use sessile_rpc::answer;

use super::list::{self, ListArgs};
use crate::data::{Layout, ListFormat, ListWriter, write_value};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::progress::{Meter, Unit};
use crate::screen::{Line, Screen};

/// Find secrets in sessions: keys, tokens, passwords
///
/// Scans the named sessions, or those of this directory (with --repo, of this repository; with --all, of all
/// directories). Changes nothing, and never prints a secret: `ghp_…(36)` is a public prefix and the length of the rest.
///
/// A finding is certain if its format is, and likely if only the text around it says so. A value that is found once is
/// found wherever it stands, in all scanned sessions. Values of secret-named environment variables and of pi's
/// auth.json, mcp-auth.json and models.json are found as well.
///
/// `sessile export --redact` makes a copy without them, and `sessile scrub` removes them in place. If a key was in a
/// session, revoke it: the session was on disk.
///
/// Exits with 0 if nothing was found, with 1 if something was, and with 3 if a file could not be scanned completely.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_long_help = "Examples:
  $ sessile --sample secrets
  $ sessile secrets --all --certain
  $ sessile secrets @1 --rule github-token --json
  $ sessile secrets rules")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct SecretsArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with_all = ["all", "repo"])]
    sessions: Vec<PathBuf>,

    /// Scan the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Scan the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    #[command(flatten)]
    wanted: Wanted,

    /// Print JSON: {sessions, findings, counts, bytes, seconds, rulesVersion}
    ///
    /// A finding is {sessionPath, line, entryId?, type?, role?, pointer, rule, tier, via?, placeholder, masked,
    /// occurrences, kept?}. The tier is 1 for certain and 2 for likely.
    #[arg(long)]
    json: bool,

    /// Print one finding per line, as JSON
    #[arg(long, conflicts_with = "json")]
    jsonl: bool,
}

/// What counts.
#[derive(Debug, Args)]
struct Wanted {
    /// Only findings whose format is certain
    #[arg(long)]
    certain: bool,

    /// Only findings of this rule; may be repeated
    #[arg(long, value_name = "RULE")]
    rule: Vec<String>,

    /// Also look for the secrets in FILE, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    secrets: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the rules: the built-in ones, and yours from the setting secrets.rules
    Rules {
        #[command(flatten)]
        format: ListFormat,
    },
    /// Try the rules on any text file
    Test {
        /// The file
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,

        #[command(flatten)]
        wanted: Wanted,

        /// Print JSON, like `secrets --json`
        #[arg(long)]
        json: bool,
    },
    /// Treat a value as harmless from now on
    ///
    /// The id is the 8 digits at the end of a placeholder that `sessile secrets` shows. The value itself is not stored.
    Allow {
        /// The id, or the whole placeholder
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &SecretsArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match &args.action {
        None => scan(env, args, out, err),
        Some(Action::Rules { format }) => print_rules(env, *format, out),
        Some(Action::Test { file, wanted, json }) => {
            let options = wanted.options(env)?;
            let mut report = env.sessions.test_secrets(env.directory(Some(file)), &options)?;
            report.findings.retain(|finding| wanted.rule.is_empty() || wanted.rule.contains(&finding.rule));
            finish(env, &report, json.then_some(Layout::Array), out)
        }
        Some(Action::Allow { id }) => allow(env, id, out),
    }
}

fn scan(
    env: &CommandEnvironment,
    args: &SecretsArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let secrets = args.wanted.options(env)?;
    let paths: Vec<PathBuf> = if args.sessions.is_empty() {
        let files = list::find_files(env, &ListArgs::of(args.all, args.repo), err)?;
        if files.is_empty() {
            // A message on standard error is optional; a failed write is ignored.
            drop(list::report_no_sessions(env, "secrets", args.all || args.repo, err));
        }
        files
    } else {
        args.sessions.iter().map(|session| env.find_session(session)).collect::<Result<_, _>>()?
    };
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_all: u64| meter.update(n_done, n_all);
    let cancel = on_interrupt()?;
    let options =
        ScanOptions { secrets, only_rules: args.wanted.rule.clone(), cancel, on_progress: Some(&on_progress) };
    let report = meter.watch(Unit::Bytes, err, || env.sessions.scan_secrets(&paths, &options))?;
    let layout = if args.jsonl { Some(Layout::Lines) } else { args.json.then_some(Layout::Array) };
    finish(env, &report, layout, out)
}

impl Wanted {
    /// Returns what counts as a secret, with the user's settings.
    fn options(&self, env: &CommandEnvironment) -> Result<SecretOptions, Failure> {
        let mut options = options_of(env, self.secrets.as_ref())?;
        options.certain_only = self.certain;
        let is_known =
            |name: &String| rules().any(|rule| rule.name == name) || options.rules.iter().any(|(rule, _)| rule == name);
        if let Some(name) = self.rule.iter().find(|name| !is_known(name)) {
            let message = format!("there is no rule {name:?}; `sessile secrets rules` lists all rules");
            return Err(Failure::misuse(ErrorKind::InvalidValue, message));
        }
        Ok(options)
    }
}

/// Returns what counts as a secret: the user's settings and surroundings, and a list of secrets.
pub(super) fn options_of(env: &CommandEnvironment, list: Option<&PathBuf>) -> Result<SecretOptions, Failure> {
    let mut options = env.sessions.secret_options(&env.settings);
    if let Some(list) = list {
        options.known.extend(env.sessions.read_secrets(&env.directory(Some(list)))?);
    }
    Ok(options)
}

fn finish(
    env: &CommandEnvironment,
    report: &ScanReport,
    layout: Option<Layout>,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match layout {
        Some(Layout::Array) => write_value(out.data(), &answer::scan_report(report))?,
        Some(Layout::Lines) => {
            let mut list = ListWriter::new(out.data(), Layout::Lines);
            report.findings.iter().try_for_each(|finding| list.push(answer::secret_finding(finding).raw()))?;
            list.finish()?;
        }
        None => print::report(env, report, out)?,
    }
    Ok(if report.findings.is_empty() { Exit::Done } else { Exit::Nothing })
}

fn print_rules(env: &CommandEnvironment, format: ListFormat, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let own = env.sessions.secret_options(&env.settings).rules;
    if let Some(layout) = format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        rules().try_for_each(|rule| list.push(answer::secret_rule(&rule).raw()))?;
        own.iter().try_for_each(|(name, pattern)| list.push(answer::own_secret_rule(name, pattern).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    print::rules(rules(), &own, out)?;
    Ok(Exit::Done)
}

fn allow(env: &CommandEnvironment, id: &str, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let id = finding_id(id).map_err(|error| Failure::misuse(ErrorKind::InvalidValue, error.to_string()))?;
    let message = match env.sessions.allow_secret(&env.settings, &id)? {
        Some(edited) => format!("{id} is allowed from now on: {}", env.short(&edited.path.to_string_lossy())),
        None => format!("{id} is allowed already"),
    };
    out.print_whole(&Line::new().text(&message))?;
    Ok(Exit::Done)
}
