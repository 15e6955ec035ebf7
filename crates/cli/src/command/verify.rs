//! `sessile verify`

#[cfg(feature = "remote")]
mod logs;

use std::collections::BTreeMap;
#[cfg(feature = "remote")]
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use sessile::SessionError;
use sessile::format::diagnostic::Severity;
use sessile::json::Json;
use sessile::verify::{Code, Finding, Remedy, Report, Verified};
use sessile_display::measure::counted;
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::{Layout, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::interrupt::on_interrupt;
use crate::progress::{Bar, Unit};
use crate::screen::{BAD, BOLD, DIM, Line, NAMED, PERSON, Screen};

/// Check a session, or all sessions, for damage
///
/// Finds unreadable lines and records hidden in them, entries with a missing parent, loops, reused ids, dangling
/// references, tool calls without results, and files that other users can read. With --all, also finds files that hold
/// the same session, for example sync conflicts and backups. Changes nothing.
///
/// With --remote NAME, checks the logs of your sessions on the remote instead, and of those that other members share with
/// you: all, or those of SESSION. Reads every line from the server, computes its hashes again, and compares them with
/// those that were noted and with what this machine has seen. So it finds lines that were changed, moved, added or removed
/// on the server, and names them. It cannot find who has really written a line, nor a change of a line and of all hashes
/// after it, unless this machine has seen the line before.
///
/// Exits with 0 if there are only notes or no findings, with 1 if there are other findings, and with 3 if a file could
/// not be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile verify @1
  $ sessile verify --all
  $ sessile verify --remote work")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    session: SessionArg,

    /// More sessions, with --remote
    #[arg(value_name = "SESSION", id = "more")]
    more: Vec<PathBuf>,

    /// Check the sessions of all directories
    #[arg(long, conflicts_with_all = ["session", "chosen", "continue"])]
    all: bool,

    /// Print one JSON array of reports
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &VerifyArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    #[cfg(feature = "remote")]
    if env.remote().is_some() {
        return logs::run(env, args, out, err);
    }
    if let Some(word) = args.more.first() {
        let message = format!("{} is one session too many; only --remote takes several", word.display());
        return Err(Failure::misuse(ErrorKind::TooManyValues, message));
    }
    let mut tally = Tally::default();
    let mut failed: Result<(), Failure> = Ok(());
    let mut reports: Vec<Json> = Vec::new();
    let mut unsound: Vec<Report> = Vec::new();
    let mut exposed: BTreeMap<String, (Finding, usize)> = BTreeMap::new();
    let cancel = on_interrupt()?;
    let mut bar = Bar::new(Unit::Bytes);
    let mut take = |verified: Verified<'_>| {
        let Verified { path, report, n_done, n_bytes } = verified;
        bar.show(n_done, n_bytes, err);
        if report.is_err() {
            bar.clear(err);
        }
        if failed.is_ok() {
            tally.count(report.as_ref());
            if args.json {
                reports
                    .push(report.as_ref().map_or_else(|error| answer::unreadable_report(path, error), answer::report));
            }
            match report {
                Err(error) => failed = failure::report_chain(&error.into(), err).map_err(Failure::from),
                Ok(_) if args.json => {}
                Ok(report) if args.all => unsound.extend(without_exposure(report, &mut exposed)),
                Ok(report) => unsound.push(report),
            }
            if failed.is_err() {
                // The output is closed, so the rest would not be seen.
                cancel.cancel();
            }
        }
    };
    if args.all {
        let dir = env.session_dir();
        if let Some(path) = dir.as_deref().filter(|dir| !env.is_directory(dir)) {
            // Reporting no problems for a mistyped directory would be dangerous.
            let hint = "use a directory that holds sessions".to_owned();
            return Err(Failure::NoSuchFile { path: path.to_path_buf(), hint });
        }
        let verified = env.sessions.verify_all(&cancel, &mut take);
        bar.clear(err);
        failed?;
        verified?;
    } else {
        let path = env.find(&args.session)?;
        let report = env.sessions.verify(&path)?;
        take(Verified { path: &path, report: Ok(report), n_done: 0, n_bytes: 0 });
        failed?;
    }
    if args.json {
        let mut list = ListWriter::new(out.data(), Layout::Array);
        reports.iter().try_for_each(|report| list.push(report.raw()))?;
        list.finish()?;
    } else {
        unsound.iter().try_for_each(|report| print(env, report, out))?;
        exposed.values().try_for_each(|(finding, n_files)| print_exposed(finding, *n_files, out))?;
        out.print_whole(&tally.line(args, &env.session_dir_flag()))?;
    }
    Ok(tally.exit())
}

impl VerifyArgs {
    /// Whether the output may be long.
    pub(super) fn is_of_many(&self) -> bool {
        self.all
    }

    /// The sessions that are named.
    #[cfg(feature = "remote")]
    fn named(&self) -> impl Iterator<Item = &Path> {
        self.session.session.iter().chain(&self.session.chosen).chain(&self.more).map(PathBuf::as_path)
    }

    /// Returns the arguments with which `repair` selects the same sessions.
    fn words(&self) -> String {
        match (self.all, self.session.session.as_ref().or(self.session.chosen.as_ref())) {
            (true, _) => "--all".to_owned(),
            (false, Some(word)) => word.to_string_lossy().into_owned(),
            (false, None) => "-c".to_owned(),
        }
    }
}

/// Removes the permission findings from a report and counts them instead: in a store that other users can read they are
/// the same for every file. Returns `None` if nothing is left that matters among many sessions.
fn without_exposure(mut report: Report, exposed: &mut BTreeMap<String, (Finding, usize)>) -> Option<Report> {
    let is_exposure = |finding: &Finding| matches!(finding.remedy, Remedy::Permissions(_)) && finding.counts();
    for finding in report.findings.iter().filter(|finding| is_exposure(finding)) {
        exposed.entry(finding.message.clone()).or_insert_with(|| (finding.clone(), 0)).1 += 1;
    }
    report.findings.retain(|finding| !is_exposure(finding));
    if report.is_sound() {
        // This is the only note that concerns more than the file itself.
        report.findings.retain(|finding| finding.code == Code::SameSession);
    }
    Some(report).filter(|report| !report.findings.is_empty())
}

/// Prints a finding that many files share.
fn print_exposed(finding: &Finding, n_files: usize, out: &mut Screen<'_>) -> std::io::Result<()> {
    out.print_whole(&Line::new().styled(BOLD, &counted(n_files, "session", "sessions")))?;
    print_finding(finding, out)?;
    out.blank()
}

/// Prints one report; nothing for a session without findings.
fn print(env: &CommandEnvironment, report: &Report, out: &mut Screen<'_>) -> std::io::Result<()> {
    if report.findings.is_empty() {
        return Ok(());
    }
    let path = env.short(&report.path.to_string_lossy());
    out.print_whole(&Line::new().styled(BOLD, &path))?;
    report.findings.iter().try_for_each(|finding| print_finding(finding, out))?;
    out.blank()
}

/// The indent of a finding's text.
const INDENT: usize = 11;

/// Prints a finding: what it is and where, its effect, and its remedy.
pub(super) fn print_finding(finding: &Finding, out: &mut Screen<'_>) -> std::io::Result<()> {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => NAMED,
        Severity::Note => DIM,
    };
    let position = format!("line {}, byte {}: ", finding.line, finding.offset);
    let start = Line::new().text("  ").styled(style, finding.severity.word()).pad(INDENT);
    let code = format!("  {}", finding.code.word());
    out.print_whole(&start.styled(DIM, &position).text(&finding.message).styled(DIM, &code))?;
    if finding.severity > Severity::Note {
        out.print_whole(&Line::new().pad(INDENT).text(finding.consequence()))?;
    }
    let remedy = match &finding.remedy {
        Remedy::Leave(reason) => Line::new().pad(INDENT).styled(DIM, reason),
        remedy => Line::new().pad(INDENT).styled(PERSON, "repair ").text(remedy.text()),
    };
    out.print_whole(&remedy)
}

/// The totals.
#[derive(Debug, Default)]
struct Tally {
    files: usize,
    unsound: usize,
    unreadable: usize,
    findings: usize,
    notes: usize,
    repairable: usize,
    exposed: usize,
}

impl Tally {
    fn count(&mut self, report: Result<&Report, &SessionError>) {
        self.files += 1;
        let Ok(report) = report else {
            self.unreadable += 1;
            return;
        };
        self.unsound += usize::from(!report.is_sound());
        let (findings, notes): (Vec<&Finding>, Vec<_>) = report.findings.iter().partition(|finding| finding.counts());
        self.findings += findings.len();
        self.notes += notes.len();
        self.repairable += findings.iter().filter(|it| matches!(it.remedy, Remedy::Repair(_))).count();
        self.exposed += usize::from(findings.iter().any(|it| matches!(it.remedy, Remedy::Permissions(_))));
    }

    fn exit(&self) -> Exit {
        match (self.unreadable, self.unsound) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::Nothing,
            _ => Exit::Error,
        }
    }

    fn line(&self, args: &VerifyArgs, session_dir_flag: &str) -> Line {
        let mut parts = Vec::new();
        if args.all {
            parts.push(counted(self.files, "session", "sessions"));
        }
        parts.push(if self.findings == 0 {
            "no problems found".to_owned()
        } else {
            counted(self.findings, "finding", "findings")
        });
        if self.notes > 0 {
            parts.push(counted(self.notes, "note", "notes"));
        }
        if self.unreadable > 0 {
            parts.push(format!("{} could not be read", self.unreadable));
        }
        if self.repairable > 0 {
            let words = if args.all { "SESSION".to_owned() } else { args.words() };
            parts.push(format!("`sessile repair {words}{session_dir_flag}` repairs {}", self.repairable));
        }
        if self.exposed > 0 {
            parts
                .push(format!("`sessile repair --permissions {}{session_dir_flag}` makes files private", args.words()));
        }
        let style = if self.exit() == Exit::Done { PERSON } else { NAMED };
        Line::new().styled(style, &parts.join(", "))
    }
}
