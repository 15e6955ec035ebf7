//! `sessile watch`

use std::io;
use std::time::{Duration, Instant};

use clap::Args;
use sessile::SessionError;
use sessile::entry::Entry;
use sessile::follow::{FollowEvent, FollowFrom, FollowOptions, Follower};
use sessile::json::Json;
use sessile::write::Restart;

use super::entries::Rows;
use crate::args::SessionArg;
use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::screen::Screen;

/// Print the entries of a session as they are written
///
/// Prints entries of every branch in file order, each as soon as its line is complete, until Ctrl-C. If another program
/// replaces or overwrites the file, the command says so and prints the whole file again. The JSON is the same as from
/// `entries`; an array ends when the command ends.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Start with the existing entries
    #[arg(long)]
    from_start: bool,

    /// Stop after this many seconds without a new entry
    #[arg(long, value_name = "SECONDS")]
    until_idle: Option<u64>,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &WatchArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find(&args.session)?;
    let from = if args.from_start { FollowFrom::Beginning } else { FollowFrom::Now };
    let options = FollowOptions { from, cancel: on_interrupt()?, ..FollowOptions::default() };
    let mut follower = env.sessions.follow(path, options)?;
    let idle = args.until_idle.map_or(Duration::MAX, Duration::from_secs);
    let Some(layout) = args.format.layout() else {
        let mut rows = Rows::default();
        return follow(env, &mut follower, idle, err, &mut |entry| {
            out.print(rows.line(&Entry::new(entry), None))?;
            out.flush()
        });
    };
    let mut list = ListWriter::new(out.data(), layout);
    let exit = follow(env, &mut follower, idle, err, &mut |entry| {
        list.push(entry.raw())?;
        list.flush()
    })?;
    list.finish()?;
    Ok(exit)
}

fn follow(
    env: &CommandEnvironment,
    follower: &mut Follower,
    idle: Duration,
    err: &mut Screen<'_>,
    on_entry: &mut dyn FnMut(Json) -> io::Result<()>,
) -> Result<Exit, Failure> {
    let interval = env.trouble_interval();
    let mut quiet_since = Instant::now();
    loop {
        let left = idle.saturating_sub(quiet_since.elapsed());
        let next = follower.next(left.min(interval));
        // A warning that cannot be printed is not an error.
        drop(env.report_team_troubles(err));
        let message = match next {
            Ok(Some(FollowEvent::Entry { entry, .. })) => {
                on_entry(entry)?;
                quiet_since = Instant::now();
                continue;
            }
            Ok(None) if left > interval => continue,
            Ok(Some(FollowEvent::Header(_))) => continue,
            Ok(Some(FollowEvent::Skipped(diagnostic))) => diagnostic.to_string(),
            Ok(Some(FollowEvent::Restarted { reason })) => restarted_words(reason).to_owned(),
            Ok(Some(FollowEvent::Gone)) => "the file was removed; waiting for it to return".to_owned(),
            Ok(None) => return Ok(Exit::Done),
            Err(SessionError::Cancelled) => return Ok(Exit::Interrupted),
            Err(error) => return Err(error.into()),
        };
        drop(warn(err, &message));
        quiet_since = Instant::now();
    }
}

fn restarted_words(reason: Restart) -> &'static str {
    match reason {
        Restart::Truncated => "the file was truncated; reading it again",
        Restart::Replaced => "the file was replaced; reading it from the beginning",
        Restart::Rewritten => "the file was overwritten; reading it again",
    }
}
