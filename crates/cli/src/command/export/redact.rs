//! Exports without secrets, and the warning about secrets in other exports.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum, ValueHint};
use sessile::SessionManager;
use sessile::redact::{Level, RedactOptions, RedactedCopy, ScanOptions, Tier, finding_id};
use sessile_display::measure::counted;

use super::super::secrets::options_of;
use super::{ExportArgs, FormatArg, failure, report, write};
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::progress::{Meter, Unit};
use crate::screen::{Line, Screen};

/// What goes.
#[derive(Debug, Args)]
pub(super) struct RedactArgs {
    /// Export without secrets; LEVEL is secrets, paths, pii, outputs or skeleton [default: secrets]
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "secrets")]
    redact: Option<LevelArg>,

    /// With --redact: also replace this word, such as a name; may be repeated
    #[arg(long, value_name = "WORD", requires = "redact")]
    also: Vec<String>,

    /// With --redact: keep the value with this id from `sessile secrets`; may be repeated
    #[arg(long, value_name = "ID", requires = "redact")]
    allow: Vec<String>,

    /// With --redact: also remove the secrets in FILE, one per line
    #[arg(long, value_name = "FILE", requires = "redact", value_hint = ValueHint::FilePath)]
    secrets: Option<PathBuf>,

    /// With --redact: give a value the same placeholder in all copies
    #[arg(long, requires = "redact")]
    stable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelArg {
    /// Keys, tokens and passwords
    Secrets,
    /// Also home directories, and names of users and hosts
    Paths,
    /// Also addresses and numbers of people, and pictures
    Pii,
    /// Also the output of tools, and thoughts
    Outputs,
    /// All text
    Skeleton,
}

impl RedactArgs {
    /// Whether the export is redacted.
    #[cfg(feature = "web")]
    pub(super) fn is_given(&self) -> bool {
        self.redact.is_some()
    }

    pub(super) fn level(&self) -> Option<Level> {
        self.redact.map(|level| match level {
            LevelArg::Secrets => Level::Secrets,
            LevelArg::Paths => Level::Paths,
            LevelArg::Pii => Level::Pii,
            LevelArg::Outputs => Level::Outputs,
            LevelArg::Skeleton => Level::Skeleton,
        })
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ExportArgs,
    level: Level,
    session: &SessionManager,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    // A session for another agent is written from a redacted copy.
    let is_session = args.format() == FormatArg::Jsonl && args.agent.target().is_none();
    if is_session && args.branch.is_some() {
        let message = "a redacted jsonl file has every branch; --branch needs another format";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    let Some(source) = session.session_file() else { return Ok(Exit::Nothing) };
    let output = args.output.as_ref().filter(|output| output.as_os_str() != "-");
    let target = output.map(|output| env.own_environment().current_dir().join(output));
    let is_taken = |path: &&PathBuf| args.agent.target().is_none() && path.exists();
    if let Some(path) = target.as_ref().filter(is_taken).filter(|path| !args.force || session.is_precious(path)) {
        return Err(Failure::OutputExists { path: path.clone() });
    }
    if target.is_none() && is_session && out.is_terminal() {
        return Err(Failure::RawToTerminal);
    }
    let mut secrets = options_of(env, args.redacting.secrets.as_ref())?;
    for id in &args.redacting.allow {
        let id = finding_id(id).map_err(|error| Failure::misuse(ErrorKind::InvalidValue, error.to_string()))?;
        secrets.allowed.push(id);
    }
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_all: u64| meter.update(n_done, n_all);
    let (also, stable) = (args.redacting.also.clone(), args.redacting.stable);
    let cancel = on_interrupt()?;
    let options = RedactOptions { level, secrets, also, stable, cancel, on_progress: Some(&on_progress) };
    if let (true, Some(target), false) = (is_session, &target, args.dry_run) {
        let export = || env.sessions.export_redacted(source, &options, target, args.force);
        let copy = meter.watch(Unit::Bytes, err, export).map_err(failure)?;
        describe(&copy, err);
        return report(env, args, session.outline().n_entries(), target, out);
    }
    let directory = tempfile::Builder::new().prefix("sessile-redacted-").tempdir().map_err(Failure::NoTemporary)?;
    env.sessions.with_redacted(source, &options, directory.path(), |mut copy, made| {
        describe(made, err);
        if !is_session {
            if let Some(leaf) = session.leaf_id().filter(|leaf| matches!(copy.entry(leaf.clone()), Ok(Some(_)))) {
                copy.branch(&leaf)?;
            }
            return write(env, args, &copy, out, err);
        }
        if let Some(target) = &target {
            return report(env, args, copy.outline().n_entries(), target, out);
        }
        let data = out.data();
        copy.export_original::<Failure>(&mut |bytes| Ok(data.write_all(bytes)?))?;
        Ok(Exit::Done)
    })
}

/// Says what a copy lacks, on standard error.
fn describe(copy: &RedactedCopy, err: &mut Screen<'_>) {
    let report = &copy.report;
    let mut parts = vec![counted(report.findings(), "secret", "secrets")];
    let counts = [
        (report.names, "name", "names"),
        (report.removed_thoughts, "thought", "thoughts"),
        (report.removed_signatures, "signature", "signatures"),
        (report.replaced_pictures, "picture", "pictures"),
    ];
    parts.extend(counts.iter().filter(|(n, ..)| *n > 0).map(|(n, one, many)| counted(*n, one, many)));
    let message = format!("level {}: removed {}", copy.level, parts.join(", "));
    // Messages on standard error are optional; a failed write is ignored.
    drop(err.print_whole(&Line::new().text(&message)));
    if copy.level >= Level::Pii {
        drop(err.print_whole(&Line::new().text("names of people go only with --also NAME")));
    }
    for path in &report.full_outputs {
        drop(warn(err, &format!("{path} holds the whole output of a command and is not part of the copy")));
    }
    for warning in &report.warnings {
        drop(warn(err, &warning.to_string()));
    }
}

/// Warns if a document that is likely to leave this machine has secrets whose format is certain.
///
/// A pipe of jsonl is for other programs here, and is not slowed down.
pub(super) fn warn_of_secrets(
    env: &CommandEnvironment,
    args: &ExportArgs,
    session: &SessionManager,
    out: &Screen<'_>,
    err: &mut Screen<'_>,
) {
    let is_file = args.output.as_ref().map_or(args.agent.target().is_some(), |output| output.as_os_str() != "-");
    let Some(path) = session.session_file() else { return };
    if args.dry_run || !is_file && (args.format() == FormatArg::Jsonl || out.is_terminal()) {
        return;
    }
    let mut secrets = env.sessions.secret_options(&env.settings);
    secrets.certain_only = true;
    let options = ScanOptions { secrets, ..ScanOptions::default() };
    let warning = match env.sessions.scan_secrets(&[path.to_path_buf()], &options) {
        Ok(report) if report.count(Tier::Certain) == 0 => return,
        Ok(report) => {
            let found = counted(report.count(Tier::Certain), "secret", "secrets");
            let program = env.program();
            let path = env.short(&path.to_string_lossy());
            format!("{found} in this export: see `{program} secrets {path}`, or add --redact")
        }
        Err(error) => format!("this export could not be scanned for secrets: {error}"),
    };
    // A warning that cannot be printed is not an error.
    drop(warn(err, &warning));
}
