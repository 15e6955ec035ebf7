//! `sessile search`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory};
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;
use sessile::{EntryId, IndexOptions, OnPath, SearchHit, SearchOptions, SearchResult, SearchScope, Updated, Upkeep};

use crate::Exit;
use crate::args::{Cli, ListFormat, SpanArgs};
use crate::data::{Layout, ListWriter};
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::progress::{Meter, Unit};
use crate::screen::{ACCENT, BOLD, DIM, Line, NAMED, Screen};
use crate::surroundings::Surroundings;

/// Find what was said, done or named in sessions
///
/// All words must occur in one entry, in any order; case does not matter. "Two words" in quotes stand side by side,
/// word* is the beginning of one, and re: makes the rest a regular expression. Identifiers are found by their parts or
/// as a whole, words in Chinese, Japanese and Korean from two characters on.
///
/// Every branch is searched: names, labels, messages, tool calls, results and summaries. The best hits come first;
/// newer ones are better.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(value_name = "QUERY", required_unless_present = "update", num_args = 0..)]
    query: Vec<String>,

    /// Search the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Search the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Print so many hits at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,

    /// Print the paths of all sessions with a hit, and nothing else
    #[arg(long, short = 'l')]
    sessions: bool,

    /// Only entries of this role: user, assistant, toolResult, bashExecution, custom, summary, label, name, system
    #[arg(long, value_name = "ROLE", action = ArgAction::Append, value_parser = parse_role)]
    role: Vec<DocumentKind>,

    /// Only calls of this tool and their results
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only answers of models with this in their name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Only sessions of this working directory and those below it
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    #[command(flatten)]
    span: SpanArgs,

    /// Only this session, given as for other commands
    #[arg(long, value_name = "SESSION")]
    session: Option<PathBuf>,

    /// Only entries on the path to the last entry of their session
    #[arg(long)]
    active: bool,

    /// Only entries on the path to this entry
    #[arg(long, value_name = "ENTRY", conflicts_with = "active")]
    branch: Option<String>,

    /// Bring the index up to date first, however long that takes; a QUERY may be left out
    #[arg(long)]
    update: bool,

    /// Leave the index as it is, and read what it does not cover
    #[arg(long, conflicts_with = "update")]
    no_update: bool,

    /// Look at every session file now; otherwise only what was written at least a second ago is sure to be seen
    #[arg(long)]
    fresh: bool,

    #[command(flatten)]
    format: ListFormat,
}

/// How long ago the files may have been looked at last, unless somebody wants them to be looked at now.
const MAX_AGE: Duration = Duration::from_secs(1);

fn parse_role(word: &str) -> Result<DocumentKind, String> {
    let known = || DocumentKind::ALL.map(DocumentKind::word).join(", ");
    DocumentKind::of_word(word).ok_or_else(|| format!("the roles are {}", known()))
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &SearchArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let scope = scope(surroundings, args)?;
    let meter = Meter::default();
    let note = |n_done: u64, n_bytes: u64| meter.note(n_done, n_bytes);
    let sessions = &surroundings.sessions;
    let cancel = Some(on_interrupt()?);
    if args.update {
        let options = IndexOptions { cancel: cancel.clone(), on_progress: Some(&note), ..IndexOptions::default() };
        let updated = meter.watch(Unit::Bytes, err, || sessions.update_text_index(&scope, &options))?;
        if updated == Updated::Cancelled {
            return Ok(Exit::Interrupted);
        }
        if updated == Updated::Busy {
            drop(err.print_whole(&Line::new().text("the index is being updated by somebody else")));
        }
        if args.query.is_empty() {
            return Ok(if updated == Updated::Busy { Exit::Busy } else { Exit::Done });
        }
    }
    let query = Query::parse(&args.query.join(" ")).map_err(|error| usage(&error))?;
    let project = args.repo.then(|| sessions.project_of(surroundings.cwd()));
    let is_ours = |_: &Path, cwd: &str| project.as_ref().is_none_or(|project| project.holds(cwd));
    let options = SearchOptions {
        admits: Some(&is_ours),
        scope,
        filter: filter(surroundings, args)?,
        cwd: args.cwd.clone(),
        on_path: on_path(surroundings, args)?,
        per_session: args.sessions,
        excerpts: !args.sessions,
        limit: if args.sessions { usize::MAX } else { args.limit },
        upkeep: if args.no_update || args.update { Upkeep::Never } else { Upkeep::IfCheap },
        max_age: if args.fresh || args.update { Duration::ZERO } else { MAX_AGE },
        on_progress: Some(&note),
        cancel,
        ..SearchOptions::default()
    };
    let result = meter.watch(Unit::Bytes, err, || sessions.search(&query, &options))?;
    print(surroundings, args, &result, out)?;
    if result.unindexed_bytes > MUCH && args.format.layout().is_none() {
        drop(hint(&result, err));
    }
    Ok(if result.hits.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// From how many bytes on it is worth telling that there is a quicker way.
const MUCH: u64 = 32 << 20;

fn hint(result: &SearchResult, err: &mut Screen<'_>) -> std::io::Result<()> {
    let what = format!("{} MB were read that are not in the index; ", result.unindexed_bytes >> 20);
    let line = Line::new().styled(ACCENT, "hint:").text(" ").text(&what);
    err.print_whole(&line.text("`sessile search --update` makes later searches quick"))
}

fn scope(surroundings: &Surroundings, args: &SearchArgs) -> Result<SearchScope, Failure> {
    if let Some(session) = &args.session {
        return Ok(SearchScope::Files(vec![surroundings.find_session(session)?]));
    }
    let dir = surroundings.session_dir();
    let everything = args.all
        || args.repo
        || args.cwd.is_some()
        || (surroundings.sample().is_some() && !surroundings.has_given_dir());
    let cwd = surroundings.cwd();
    Ok(if everything { SearchScope::All { dir } } else { SearchScope::Cwd { cwd, dir } })
}

fn filter(surroundings: &Surroundings, args: &SearchArgs) -> Result<Filter, Failure> {
    Ok(Filter {
        kinds: args.role.clone(),
        tool: args.tool.clone(),
        model: args.model.clone(),
        since: args.span.since(surroundings)?,
        until: args.span.until(surroundings)?,
    })
}

fn on_path(surroundings: &Surroundings, args: &SearchArgs) -> Result<Option<OnPath>, Failure> {
    let entry = match (&args.branch, &args.session) {
        (None, _) => return Ok(args.active.then_some(OnPath::Leaf)),
        // In one session it may be called what it is called there; in many only an id says which one is meant.
        (Some(entry), Some(session)) => {
            let path = surroundings.find_session(session)?;
            surroundings.sessions.clone().read_only().open(path, None, None)?.find_entry(entry)?
        }
        (Some(entry), None) => EntryId::from(entry),
    };
    Ok(Some(OnPath::Entry(entry)))
}

fn usage(what: &dyn std::fmt::Display) -> Failure {
    Cli::command().error(clap::error::ErrorKind::ValueValidation, what.to_string()).into()
}

fn print(
    surroundings: &Surroundings,
    args: &SearchArgs,
    result: &SearchResult,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    match args.format.layout() {
        Some(layout) if args.sessions => Ok(print_paths(result, layout, out)?),
        Some(layout) => {
            let mut list = ListWriter::new(out.data(), layout);
            result.hits.iter().try_for_each(|hit| list.push(hit.to_json().raw()))?;
            Ok(list.finish()?)
        }
        None if args.sessions => {
            for hit in &result.hits {
                out.print_whole(&Line::new().text(&hit.session_path.to_string_lossy()))?;
            }
            Ok(())
        }
        None => Ok(print_hits(surroundings, &result.hits, out)?),
    }
}

fn print_paths(result: &SearchResult, layout: Layout, out: &mut Screen<'_>) -> std::io::Result<()> {
    let mut list = ListWriter::new(out.data(), layout);
    for hit in &result.hits {
        list.push(sessile::json::Json::string(&hit.session_path.to_string_lossy()).raw())?;
    }
    list.finish()
}

/// Hits for people: the session once for all its hits that follow each other, then a line for each.
fn print_hits(surroundings: &Surroundings, hits: &[SearchHit], out: &mut Screen<'_>) -> std::io::Result<()> {
    let mut session = None;
    for hit in hits {
        if session != Some(&hit.session_path) {
            if session.is_some() {
                out.blank()?;
            }
            session = Some(&hit.session_path);
            out.print_whole(&Line::new().styled(BOLD, &surroundings.short(&hit.session_path.to_string_lossy())))?;
        }
        out.print_whole(&head_line(hit))?;
        out.print_whole(&excerpt_line(hit))?;
    }
    Ok(())
}

fn head_line(hit: &SearchHit) -> Line {
    let id = hit.entry_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let what = hit.role.word().or(hit.kind.word()).unwrap_or_default();
    let time = hit.time.map(sessile::date::to_iso).unwrap_or_default();
    Line::new().text("  ").styled(NAMED, &id).text("  ").styled(DIM, what).text("  ").styled(DIM, &time)
}

/// The excerpt in one line, with what was looked for made visible.
fn excerpt_line(hit: &SearchHit) -> Line {
    let mut line = Line::new().text("    ");
    let mut at = 0;
    for range in &hit.excerpt.ranges {
        let part = |range: std::ops::Range<usize>| hit.excerpt.text.get(range).unwrap_or_default();
        line = line.text(part(at..range.start)).styled(FOUND, part(range.clone()));
        at = range.end;
    }
    line.text(hit.excerpt.text.get(at..).unwrap_or_default())
}

/// What was looked for.
const FOUND: anstyle::Style = ACCENT.bold();
