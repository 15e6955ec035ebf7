//! `sessile remote audit`

use clap::Args;
use sessile::sync::remote::{AuditRecord, ServerTime, Team};
use sessile_rpc::answer;

use super::{find, local};
use crate::clock::Clock;
use crate::data::{ListFormat, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::remote::{connect, failure};
use crate::screen::{DIM, Line, NAMED, Screen};
use crate::span::time;

/// How many acts are shown unless another number is given.
const ACTS: u32 = 100;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile remote audit --since 1w
  $ sessile remote audit --limit 1000 --json")]
pub(super) struct AuditArgs {
    /// Include only acts from this time on: 2h, 3d, 1w, yesterday, 2026-01-31, 2026-01-31T12:00
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,

    /// Include at most this number of acts, the last ones
    #[arg(long, value_name = "N", default_value_t = ACTS)]
    limit: u32,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn audit(env: &CommandEnvironment, args: &AuditArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let since = time(args.since.as_deref(), env)?.map(|when| ServerTime(when.from.as_ms().saturating_mul(1000)));
    let mut server = connect(env, &find(env, env.remote())?)?;
    let records = server.audit(since, args.limit).map_err(failure)?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        records.iter().try_for_each(|record| list.push(answer::audit_record(record).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    let clock = Clock::new(env);
    for record in &records {
        let at = clock.full(local(record.at));
        out.print_whole(&Line::new().styled(DIM, &at).text(" ").styled(NAMED, &record.member).text(&words(record)))?;
    }
    Ok(if records.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// What an act was about.
fn words(record: &AuditRecord) -> String {
    let named =
        |before: &str, text: &Option<String>| text.as_ref().map_or_else(String::new, |text| format!("{before}{text}"));
    let details = [
        named(" with ", &record.whom),
        named(" in ", &record.project),
        named(" session ", &record.header_id),
        named(" on ", &record.device),
        named(": ", &record.detail),
    ];
    format!(" {}{}", record.act, details.concat())
}
