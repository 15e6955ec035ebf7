//! `sessile show`

use clap::Args;
use sessile::entry::Entry;
use sessile::{EntryId, SessionManager};
use sessile_display::picture::Protocol;

use crate::args::SessionArg;
use crate::authors::EntryAuthors;
use crate::clock::Clock;
use crate::data::{self, ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, report_if_empty};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{BOLD, DIM, Line, NAMED, Screen};
use crate::transcript::{Annotation, Detail, Transcript};

/// Print a session as a readable conversation
///
/// By default this is the active branch from its first entry to its last, including compacted entries; `context` prints
/// only what the model still sees. Tool calls, tool results and thinking take one line each; --full prints them whole.
///
/// With ENTRY, prints only that entry, in full; with --json, as one object instead of an array.
///
/// With --remote, says who has written an entry, if it is not the owner of the session. In JSON, entries then have the
/// members author and authorDevice.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Print only this entry, in full: an id or its beginning, a label, @leaf, @root, or any of these with ~N for N
    /// steps up
    #[arg(value_name = "ENTRY", conflicts_with = "branch")]
    entry: Option<String>,

    /// Open a screen to read, search, jump, fold and follow new entries; without SESSION, pick one there first
    #[cfg_attr(feature = "tui", arg(short, long, conflicts_with_all = ["entry", "branch", "full", "thinking", "times", "images", "json", "jsonl"]))]
    #[cfg_attr(not(feature = "tui"), arg(skip))]
    pub(super) interactive: bool,
    /// Print the branch that ends at this entry instead of the active one
    #[arg(long, value_name = "LEAF")]
    branch: Option<String>,

    /// Print everything: tool arguments and results, thinking, summaries, extension data
    #[arg(long)]
    full: bool,

    /// Print thinking in full
    #[arg(long)]
    thinking: bool,

    /// Show when each entry was written
    #[arg(long)]
    times: bool,

    /// Draw images, if the terminal supports it (kitty, ghostty, iTerm2, wezterm)
    #[arg(long)]
    images: bool,

    #[command(flatten)]
    format: ListFormat,
}

impl ShowArgs {
    /// Whether it opens a screen. The picker that may open first can rename and delete.
    pub(super) fn opens_screen(&self) -> bool {
        self.interactive
    }

    /// Whether the output may go through a pager, which does not pass pictures on to the terminal.
    pub(super) fn is_paged(&self) -> bool {
        !self.opens_screen() && !self.images
    }
}

const EXAMPLES: &str = "\
Examples:
  $ sessile show @1
  $ sessile show @1 --times --thinking
  $ sessile show @1 @leaf~2
  $ sessile show @1 --branch \"cause found\"
  $ sessile show @4 --full
  $ sessile show @1 --jsonl";

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ShowArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry]) = args.session.with_words([args.entry.as_deref()]);
    #[cfg(feature = "tui")]
    if args.interactive {
        let path = env.find_unless_picked(&session)?;
        let failure = crate::interactive::ui(env, out, err).read(path)?;
        return failure.map_or(Ok(Exit::Done), |message| Err(Failure::NotShown { message }));
    }
    let session = env.open(&session, err)?;
    let authors = EntryAuthors::of(env, &session);
    if let Some(entry) = entry {
        return show_entry(env, args, (&session, &authors), &session.find_entry(&entry)?, out);
    }
    let path = match &args.branch {
        Some(leaf) => session.path_to(&session.find_entry(leaf)?)?,
        None => session.path(),
    };
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        for (row, entry) in session.entries_of(path) {
            list.push(authors.json(&session, row, &entry?).raw())?;
        }
        list.finish()?;
        return Ok(Exit::Done);
    }
    report_if_empty(&session, err);
    print_heading(env, &session, out)?;
    let clock = Clock::new(env);
    let mut times = Times { clock: &clock, is_wanted: args.times, day: String::new() };
    let mut transcript = Transcript::new(out, detail(env, args, false));
    for (row, entry) in session.entries_of(path) {
        let entry = entry?;
        let author = authors.words(&session, row);
        transcript.entry(&entry, &Annotation { author, ..annotation(&session, &entry, &mut times)? })?;
    }
    Ok(Exit::Done)
}

fn detail(env: &CommandEnvironment, args: &ShowArgs, is_single: bool) -> Detail {
    let pictures = args.images.then(|| Protocol::of_terminal(&|name| env.own_environment().variable(name))).flatten();
    Detail { full: args.full || is_single, thinking: args.thinking, summaries: is_single, pictures }
}

/// Prints the title of the session and where it belongs.
fn print_heading(env: &CommandEnvironment, session: &SessionManager, out: &mut Screen<'_>) -> Result<(), Failure> {
    let mut parts = vec![env.short(&session.header().cwd().unwrap_or_default())];
    let created = session.header().json().raw().get("timestamp");
    parts.extend(created.and_then(|time| Clock::new(env).read_day(time)));
    parts.push(session.session_id().to_string());
    parts.retain(|part| !part.is_empty());
    if let Some(name) = session.session_name()? {
        out.print(Line::new().styled(NAMED.bold(), &name))?;
    }
    out.print(Line::new().styled(DIM, &parts.join(" · ")))?;
    if let Some(redaction) = session.header().redaction() {
        out.print_whole(&Line::new().styled(DIM, &redaction.words()))?;
    }
    Ok(out.blank()?)
}

fn show_entry(
    env: &CommandEnvironment,
    args: &ShowArgs,
    (session, authors): (&SessionManager, &EntryAuthors),
    id: &EntryId,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let Some(row) = session.outline().find(id) else { return Ok(Exit::Nothing) };
    let entry = session.entry_at(row)?;
    if args.format.layout().is_some() {
        data::write_value(out.data(), &authors.json(session, row, &entry))?;
        return Ok(Exit::Done);
    }
    let kind = entry.raw().get("type").and_then(sessile::json::Raw::as_string).unwrap_or_default();
    let parent = entry.parent_id().map_or_else(|| "none".to_owned(), |parent| parent.to_string());
    let details = format!(" · {kind} · parent {parent} · {}", entry.timestamp().unwrap_or_default());
    out.print(Line::new().styled(BOLD, &id.to_string()).styled(DIM, &details))?;
    out.blank()?;
    let label = session.label(id.clone())?;
    Transcript::new(out, detail(env, args, true))
        .entry(&entry, &Annotation { label, author: authors.words(session, row), time: None })?;
    Ok(Exit::Done)
}

fn annotation(session: &SessionManager, entry: &Entry, times: &mut Times<'_>) -> Result<Annotation, Failure> {
    let label = entry.id().map(|id| session.label(id)).transpose()?.flatten();
    Ok(Annotation { label, author: None, time: times.of(entry) })
}

/// The times beside entries. The day is shown only where it changes.
struct Times<'c> {
    clock: &'c Clock<'c>,
    is_wanted: bool,
    day: String,
}

impl Times<'_> {
    fn of(&mut self, entry: &Entry) -> Option<String> {
        let time = entry.raw().get("timestamp").filter(|_| self.is_wanted);
        let time = time.and_then(|time| self.clock.read(time))?;
        let day = self.clock.day(time);
        if day == self.day {
            return Some(self.clock.minute(time));
        }
        self.day = day;
        Some(self.clock.full(time))
    }
}
