//! `sessile search`

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgAction, Args};
use sessile::caches::Updated;
use sessile::list::{Archived, Selection};
use sessile::search::{Backlog, IndexOptions, OnPath, SearchHit, SearchOptions, SearchResult, SearchScope, Upkeep};
use sessile::team::TeamReach;
use sessile::text::filter::Filter;
use sessile::text::query::{BadQuery, Query};
use sessile::text::texts::DocumentKind;
use sessile::{SessionError, Sessions};
use sessile_rpc::answer;

use super::list::{ListArgs, report_no_sessions};
use crate::data::{Layout, ListFormat, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hits::{distinct, print_hits};
use crate::interrupt::on_interrupt;
use crate::measure::{noun, size_words};
use crate::progress::{Meter, Unit};
use crate::screen::{ACCENT, Line, NAMED, Screen};
use crate::span::SpanArgs;

/// Search the text of sessions
///
/// An entry matches if it contains all words, in any order; case does not matter. Quote a phrase: "two words". Use
/// word* for the beginning of a word and *word* for any part of one. After re:, the rest is a regular expression.
/// Identifiers match by their parts or as a whole. Words in Chinese, Japanese and Korean match from two characters on.
///
/// Searches every branch, including names, labels, messages, tool calls, results and summaries. The best hits come
/// first; among similar hits, newer ones rank higher. Each session with hits gets a list position (@1, @2 and so on),
/// which later commands accept as SESSION. The search omits archived sessions, unless you use --archived or name one
/// with --session.
///
/// An index makes searches fast. Sessile updates it before a search if necessary; the first update takes a while.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct SearchArgs {
    /// The words to search for
    #[arg(value_name = "QUERY", required_unless_present = "update", num_args = 0..)]
    query: Vec<String>,

    /// Search the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Search the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Print at most N hits, 0 for all; copies in forks count once, except in JSON, which contains all copies
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,

    /// Print only the paths of all sessions with a hit
    #[arg(long, short = 'l')]
    sessions: bool,

    /// Search only entries of this role: user, assistant, toolResult, bashExecution, system, custom (also
    /// `custom_message`), summary (also compaction, `branch_summary`), label, name (also `session_info`), edit (also
    /// `context_edit`)
    #[arg(long, value_name = "ROLE", action = ArgAction::Append, value_parser = parse_role)]
    role: Vec<DocumentKind>,

    /// Search only calls of this tool and their results
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Search only answers of models with NAME in their name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Search only sessions of this working directory and its subdirectories
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Search only sessions of this member of a team's store; needs --remote
    #[arg(long, value_name = "NAME", requires = "remote")]
    member: Option<String>,

    /// Search only sessions of this project of a team's store; needs --remote
    #[arg(long, value_name = "NAME", requires = "remote")]
    project: Option<String>,

    /// Search only sessions of this repository: an address, such as git@host:team/site.git, or host/team/site, or the end
    /// of that, such as site; needs --remote
    #[arg(long, value_name = "REPOSITORY", requires = "remote")]
    repository: Option<String>,

    #[command(flatten)]
    span: SpanArgs,

    /// Search only this session, named as for other commands
    #[arg(long, value_name = "SESSION")]
    session: Option<PathBuf>,

    /// Search only archived sessions
    #[arg(long, conflicts_with = "session")]
    archived: bool,

    /// Search only entries on the path to the last entry of their session
    #[arg(long)]
    active: bool,

    /// With --session: search only entries on the path to this entry
    #[arg(long, value_name = "ENTRY", conflicts_with = "active", requires = "session")]
    branch: Option<String>,

    /// Update the index even if little has changed, and report what was done; QUERY is then optional
    #[arg(long)]
    update: bool,

    /// Do not update the index; search the sessions themselves where it does not cover them
    #[arg(long, conflicts_with = "update")]
    no_update: bool,

    #[command(flatten)]
    format: ListFormat,
}

/// Reports that not all sessions of a team were searched.
fn report_reach(env: &CommandEnvironment, reach: TeamReach, err: &mut Screen<'_>) -> std::io::Result<()> {
    let also =
        reach.until.map_or_else(String::new, |until| format!(" and what was pushed since {}", env.local_time(until)));
    let words = format!("of the team's sessions, only those on this machine{also} were searched");
    err.print_whole(&Line::new().text(&format!("{words}; `sessile pull --all --team` fetches all")))
}

fn parse_role(word: &str) -> Result<DocumentKind, String> {
    let known = || DocumentKind::ALL.map(DocumentKind::word).join(", ");
    DocumentKind::of_word(word).ok_or_else(|| format!("use one of these roles: {}", known()))
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &SearchArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let scope = scope(env, args)?;
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_bytes: u64| meter.update(n_done, n_bytes);
    let sessions = &env.sessions;
    let cancel = on_interrupt()?;
    if args.update {
        let options =
            IndexOptions { cancel: cancel.clone(), on_progress: Some(&on_progress), ..IndexOptions::default() };
        let before = sessions.text_index_backlog(&scope)?;
        let updated = meter.watch(Unit::Bytes, err, || sessions.update_text_index(&scope, &options))?;
        if updated == Updated::Cancelled {
            return Ok(Exit::Interrupted);
        }
        let is_data = !args.query.is_empty() || args.format.layout().is_some();
        let message = update_message(updated, before, sessions.text_index_backlog(&scope)?);
        let line = Line::new().styled(NAMED, &message);
        if is_data {
            drop(err.print_whole(&line));
        } else {
            out.print_whole(&line)?;
        }
        if args.query.is_empty() {
            return Ok(if updated == Updated::Busy { Exit::Busy } else { Exit::Done });
        }
    }
    let query = Query::parse(&args.query.join(" ")).map_err(|error| unreadable(&error))?;
    let project = args.repo.then(|| sessions.project_of(env.cwd()));
    let (member, project_name, repository) = (args.member.clone(), args.project.clone(), args.repository.clone());
    let of_team = Selection { member, project: project_name, repository, ..Selection::default() };
    let selected = of_team.paths_of_team(sessions)?;
    let admits = |path: &Path, cwd: &str| {
        project.as_ref().is_none_or(|project| project.holds(cwd))
            && selected.as_ref().is_none_or(|selected| selected.contains(path))
    };
    let mut options = SearchOptions {
        admits: (project.is_some() || selected.is_some()).then_some(&admits as _),
        scope,
        filter: filter(env, args)?,
        cwd: args.cwd.clone(),
        on_path: on_path(env, args)?,
        archived: if args.archived { Archived::Only } else { Archived::Hidden },
        per_session: args.sessions,
        excerpts: !args.sessions,
        limit: if args.sessions { usize::MAX } else { args.limit() },
        upkeep: if args.no_update || args.update { Upkeep::Never } else { Upkeep::IfWorthwhile },
        on_progress: Some(&on_progress),
        cancel,
        ..SearchOptions::default()
    };
    let is_for_people = !args.sessions && args.format.layout().is_none();
    let result = meter.watch(Unit::Bytes, err, || {
        if is_for_people {
            search_for_people(sessions, &query, &mut options)
        } else {
            sessions.search(&query, &options)
        }
    })?;
    print(env, args, &result, out)?;
    if let Some(reach) = result.team.filter(|reach| !reach.is_complete && args.format.layout().is_none()) {
        drop(report_reach(env, reach, err));
    }
    // A regular expression without a word reads everything, indexed or not.
    if result.unindexed_bytes > MANY_UNINDEXED_BYTES && args.format.layout().is_none() && query.uses_index() {
        let scope = args.scope_words() + &env.session_dir_flag();
        drop(hint(&scope, &result, err));
    }
    if !result.hits.is_empty() {
        return Ok(Exit::Done);
    }
    if args.format.layout().is_none() && args.session.is_none() {
        // A message on standard error is optional; a failed write is ignored.
        drop(report_nothing_found(env, args, err)?);
        if !args.archived {
            let archived = SearchOptions { archived: Archived::Only, upkeep: Upkeep::Never, ..options };
            let results = meter.watch(Unit::Bytes, err, || sessions.search(&query, &archived))?;
            drop(hint_archived(results.hits.len(), err));
            if !results.hits.is_empty() {
                return Ok(Exit::Nothing);
            }
            options = SearchOptions { archived: Archived::Hidden, ..archived };
        }
        if let Some(infix) = infix_query(&args.query.join(" "))
            && let Ok(wider) = Query::parse(&infix)
        {
            let results = meter.watch(Unit::Bytes, err, || sessions.search(&wider, &options))?;
            let entries = noun(results.hits.len(), "entry matches", "entries match");
            let hint = format!(" {} {entries} inside longer words: `sessile search '{infix}'`", results.hits.len());
            if !results.hits.is_empty() {
                drop(err.print_whole(&Line::new().styled(ACCENT, "hint:").text(&hint)));
            }
        }
    }
    Ok(Exit::Nothing)
}

/// Says that archived sessions contain matches.
fn hint_archived(n_hits: usize, err: &mut Screen<'_>) -> std::io::Result<()> {
    if n_hits == 0 {
        return Ok(());
    }
    let entries = noun(n_hits, "entry of an archived session matches", "entries of archived sessions match");
    let hint = format!(" {n_hits} {entries}: add --archived");
    err.print_whole(&Line::new().styled(ACCENT, "hint:").text(&hint))
}

/// Returns a query for the same words as parts of longer words; `None` if the query has more than plain words.
fn infix_query(query: &str) -> Option<String> {
    let is_plain = |word: &str| word.chars().all(char::is_alphanumeric);
    let words: Vec<&str> = query.split_whitespace().collect();
    (!words.is_empty() && words.iter().all(|word| is_plain(word)))
        .then(|| words.iter().map(|word| format!("*{word}*")).collect::<Vec<_>>().join(" "))
}

/// Searches for as many distinct hits as wanted, not counting copies in forks, and for all copies of those hits.
fn search_for_people(
    sessions: &Sessions,
    query: &Query,
    options: &mut SearchOptions<'_>,
) -> Result<SearchResult, SessionError> {
    let requested_limit = options.limit;
    loop {
        let result = sessions.search(query, options)?;
        let is_all = result.hits.len() < options.limit;
        // Copies have the same score as their original, so they come before all hits with a lower score.
        let last = requested_limit.checked_sub(1).and_then(|last| distinct(&result.hits).nth(last));
        let is_enough = |hit: &SearchHit| result.hits.last().is_some_and(|worst| worst.score < hit.score);
        if is_all || requested_limit == 0 || last.is_some_and(is_enough) {
            return Ok(result);
        }
        options.limit = options.limit.saturating_mul(4);
        // The index is up to date by now.
        options.upkeep = Upkeep::Never;
    }
}

/// Describes an update in one line.
fn update_message(updated: Updated, before: Backlog, after: Backlog) -> String {
    let n_bytes = before.n_bytes.saturating_sub(after.n_bytes);
    match updated {
        Updated::Busy => "another process is updating the index".to_owned(),
        _ if n_bytes == 0 => "the index is up to date".to_owned(),
        _ => {
            let n_sessions = before.n_sessions.saturating_sub(after.n_sessions).max(1);
            let sessions = if n_sessions == 1 { "session" } else { "sessions" };
            format!("{} of {n_sessions} {sessions} indexed", size_words(n_bytes))
        }
    }
}

/// Says that nothing was found, and where else to look.
fn report_nothing_found(
    env: &CommandEnvironment,
    args: &SearchArgs,
    err: &mut Screen<'_>,
) -> Result<std::io::Result<()>, Failure> {
    if super::list::find(env, &ListArgs::of(args.is_wide(), args.repo), err)?.is_empty() {
        return Ok(report_no_sessions(env, "search", args.is_wide() || args.repo, err));
    }
    let is_narrow = !args.is_wide() && !args.repo && env.sample().is_none();
    let printed = err.print_whole(&Line::new().text("nothing found"));
    let hint = Line::new().styled(ACCENT, "hint:").text(" add --all to search the sessions of other directories");
    Ok(printed.and_then(|()| if is_narrow { err.print_whole(&hint) } else { Ok(()) }))
}

/// Minimum number of unindexed bytes for a hint that indexing is faster.
const MANY_UNINDEXED_BYTES: u64 = 32 << 20;

fn hint(scope: &str, result: &SearchResult, err: &mut Screen<'_>) -> std::io::Result<()> {
    let read = size_words(result.unindexed_bytes);
    let hint = format!(" {read} not in the index had to be read; `sessile search --update{scope}` ");
    err.print_whole(&Line::new().styled(ACCENT, "hint:").text(&hint).text("makes later searches fast"))
}

impl SearchArgs {
    /// The most hits to print.
    fn limit(&self) -> usize {
        if self.limit == 0 { usize::MAX } else { self.limit }
    }

    /// Whether the search covers more than the sessions of this directory.
    fn is_wide(&self) -> bool {
        self.all || self.cwd.is_some()
    }

    /// Returns the flags that select the scope, as typed.
    fn scope_words(&self) -> String {
        let mut words = String::new();
        for (is_set, flag) in [(self.all, " --all"), (self.repo, " --repo"), (self.archived, " --archived")] {
            words += if is_set { flag } else { "" };
        }
        for (path, flag) in [(&self.cwd, " --cwd "), (&self.session, " --session ")] {
            words += &path.as_ref().map(|path| format!("{flag}{}", path.display())).unwrap_or_default();
        }
        words
    }
}

fn scope(env: &CommandEnvironment, args: &SearchArgs) -> Result<SearchScope, Failure> {
    if let Some(session) = &args.session {
        return Ok(SearchScope::Files(vec![env.find_session(session)?]));
    }
    let everything = args.is_wide() || args.repo || (env.sample().is_some() && !env.has_session_dir_flag());
    Ok(if everything { SearchScope::All } else { SearchScope::Cwd(env.cwd()) })
}

fn filter(env: &CommandEnvironment, args: &SearchArgs) -> Result<Filter, Failure> {
    Ok(Filter {
        kinds: args.role.clone(),
        tool: args.tool.clone(),
        model: args.model.clone(),
        since: args.span.since(env)?,
        until: args.span.until(env)?,
    })
}

fn on_path(env: &CommandEnvironment, args: &SearchArgs) -> Result<Option<OnPath>, Failure> {
    let Some((entry, session)) = args.branch.as_ref().zip(args.session.as_ref()) else {
        return Ok(args.active.then_some(OnPath::Leaf));
    };
    let path = env.find_session(session)?;
    let session = env.sessions.clone().read_only().open(path)?;
    Ok(Some(OnPath::Entry(session.find_entry(entry)?)))
}

/// Explains why a query is invalid. For a regular expression, shows the position as the parser draws it.
fn unreadable(error: &BadQuery) -> Failure {
    let message = match error {
        BadQuery::Pattern(pattern) => {
            let message = pattern.to_string();
            let (pattern, reason) = message.rsplit_once("error: ").unwrap_or(("", &message));
            let pattern = pattern.trim_start_matches("regex parse error:\n").trim_end();
            format!("{error}: {reason}{}{pattern}", if pattern.is_empty() { "" } else { "\n" })
        }
        other => other.to_string(),
    };
    Failure::misuse(ErrorKind::ValueValidation, message)
}

fn print(
    env: &CommandEnvironment,
    args: &SearchArgs,
    result: &SearchResult,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    match args.format.layout() {
        Some(layout) if args.sessions => Ok(print_paths(result, layout, out)?),
        Some(layout) => {
            let mut list = ListWriter::new(out.data(), layout);
            result.hits.iter().try_for_each(|hit| list.push(answer::search_hit(hit).raw()))?;
            Ok(list.finish()?)
        }
        None if args.sessions => {
            for hit in &result.hits {
                out.print_whole(&Line::new().text(&hit.session_path.to_string_lossy()))?;
            }
            Ok(())
        }
        None => Ok(print_hits(env, &result.hits, args.limit(), out)?),
    }
}

fn print_paths(result: &SearchResult, layout: Layout, out: &mut Screen<'_>) -> std::io::Result<()> {
    let mut list = ListWriter::new(out.data(), layout);
    for hit in &result.hits {
        list.push(sessile::json::Json::string(&hit.session_path.to_string_lossy()).raw())?;
    }
    list.finish()
}
