//! `sessile verify --remote`

use std::path::Path;

use sessile::json::Json;
use sessile::sync::{LogFinding, LogReport, VerifiedLog};
use sessile_display::measure::counted;
use sessile_rpc::answer;

use super::{INDENT, VerifyArgs};
use crate::command::sync::find_remote;
use crate::data::{Layout, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::interrupt::on_interrupt;
use crate::progress::{Bar, Unit};
use crate::remote::connect;
use crate::screen::{BAD, BOLD, DIM, Line, NAMED, PERSON, Screen};

/// The totals.
#[derive(Debug, Default)]
struct Tally {
    logs: usize,
    lines: u64,
    compared: usize,
    unsound: usize,
    findings: usize,
    unreadable: usize,
}

/// Verifies the logs of sessions on a remote, or all.
pub(super) fn run(
    env: &CommandEnvironment,
    args: &VerifyArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let wanted = wanted(env, args)?;
    let mut server = connect(env, &find_remote(env)?)?;
    let cancel = on_interrupt()?;
    let (mut tally, mut failed) = (Tally::default(), Ok(()));
    let mut reports: Vec<Json> = Vec::new();
    let mut bar = Bar::new(Unit::Bytes);
    let verified = env.sessions.verify_remote(&mut server, wanted.as_deref(), &cancel, &mut |verified| {
        bar.clear(err);
        tally.count(&verified);
        if args.json {
            reports.push(answer::verified_log(&verified));
        } else if failed.is_ok() {
            failed = match &verified.report {
                Ok(report) => print(env, report, out).map_err(Failure::from),
                Err(_) => Ok(()),
            };
        }
        bar.show(verified.n_done, verified.n_bytes, err);
        if let Err(error) = verified.report {
            bar.clear(err);
            // A message that cannot be printed is not an error.
            drop(failure::report_chain(&error.into(), err));
        }
        if failed.is_err() {
            // The output is closed, so the rest would not be seen.
            cancel.cancel();
        }
    });
    bar.clear(err);
    failed?;
    verified?;
    if args.json {
        let mut list = ListWriter::new(out.data(), Layout::Array);
        reports.iter().try_for_each(|report| list.push(report.raw()))?;
        list.finish()?;
    } else {
        out.print_whole(&tally.line())?;
    }
    Ok(tally.exit())
}

/// The ids of the sessions; `None` for all. A session that is not on this machine is named by its whole id.
fn wanted(env: &CommandEnvironment, args: &VerifyArgs) -> Result<Option<Vec<String>>, Failure> {
    let named: Vec<&Path> = args.named().collect();
    if named.is_empty() {
        if args.session.newest {
            return Ok(Some(vec![env.sessions.id_of(&env.find(&args.session)?)?]));
        }
        return Ok(None);
    }
    let id = |word: &&Path| match env.find_session(word) {
        Ok(path) => Ok(env.sessions.id_of(&path)?),
        Err(error) => {
            let is_id = |text: &&str| !text.is_empty() && !text.starts_with('@') && !text.contains(['/', '\\']);
            word.to_str().filter(is_id).map(str::to_owned).ok_or(error)
        }
    };
    named.iter().map(id).collect::<Result<_, _>>().map(Some)
}

/// Prints one report; nothing for a log without findings.
fn print(env: &CommandEnvironment, report: &LogReport, out: &mut Screen<'_>) -> std::io::Result<()> {
    if report.findings.is_empty() {
        return Ok(());
    }
    let file = report.path.as_ref().map(|path| env.short(&path.to_string_lossy()));
    let name = format!("{} of {}", report.id, report.owner);
    let title = Line::new().styled(BOLD, &name).styled(DIM, &file.map_or(String::new(), |file| format!("  {file}")));
    out.print_whole(&title)?;
    report.findings.iter().try_for_each(|finding| print_finding(finding, out))?;
    out.blank()
}

fn print_finding(finding: &LogFinding, out: &mut Screen<'_>) -> std::io::Result<()> {
    let place = finding.line.map_or(String::new(), |line| format!("line {line}: "));
    let start = Line::new().text("  ").styled(BAD, "error").pad(INDENT);
    let code = format!("  {}", finding.code.word());
    out.print_whole(&start.styled(DIM, &place).text(&finding.message).styled(DIM, &code))
}

impl Tally {
    fn count(&mut self, verified: &VerifiedLog<'_>) {
        self.logs += 1;
        let Ok(report) = &verified.report else {
            self.unreadable += 1;
            return;
        };
        self.lines += report.n_lines;
        self.compared += usize::from(report.is_compared);
        self.unsound += usize::from(!report.findings.is_empty());
        self.findings += report.findings.len();
    }

    fn exit(&self) -> Exit {
        match (self.unreadable, self.unsound) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::Nothing,
            _ => Exit::Error,
        }
    }

    fn line(&self) -> Line {
        let mut parts = vec![
            counted(self.logs, "session", "sessions"),
            counted(usize::try_from(self.lines).unwrap_or(usize::MAX), "line", "lines"),
            format!("{} compared with this machine", self.compared),
        ];
        parts.push(if self.findings == 0 {
            "no problems found".to_owned()
        } else {
            counted(self.findings, "finding", "findings")
        });
        if self.unreadable > 0 {
            parts.push(format!("{} could not be read", self.unreadable));
        }
        let style = if self.exit() == Exit::Done { PERSON } else { NAMED };
        Line::new().styled(style, &parts.join(", "))
    }
}
