//! `sessile list`

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sessile::group::{Family, Relative, SessionRef};
use sessile::list::{Archived, Children, Copies, ListOptions, Progress, Selection, SessionInfo, SortBy};
use sessile_rpc::answer;

use crate::command::foreign;
use crate::data::{Layout, ListFormat, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::progress::{Bar, Unit};
use crate::screen::{ACCENT, BOLD, DIM, Line, PERSON, Screen};
use crate::span::SpanArgs;
use crate::table::{self, Column, TableRow};
use crate::template::{ListedSession, Template};

/// List sessions, most recently active first
///
/// Each session gets a list position, @1, @2 and so on, which later commands accept as SESSION.
///
/// The settings list.columns, list.sort and list.limit apply to the table only, never to JSON or --format. On a
/// terminal, Sessile cuts lines to COLUMNS, or else to the terminal's width. It never cuts lines in a file or a pipe.
///
/// If several files hold the same session (for example a sync conflict or a backup), all but the original have "copy"
/// in brackets before their title. The original is the one with the name and the directory that pi gave it. In JSON,
/// copies have copyOf, the path of the original.
///
/// The list omits sessions archived by `sessile archive`; a line on standard error shows how many. In JSON, an archived
/// session has the member archived with the value true.
///
/// A session that was imported from another agent has the agent's name in brackets before its title, and in JSON the
/// member importedFrom.
///
/// A copy made by `sessile export --redact` has "redacted" in brackets before its title. In JSON, it has the member
/// redacted with the value true.
#[derive(Debug, Default, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ListArgs {
    /// List only sessions with each of these words in their name, first message or directory
    ///
    /// A word matches anywhere in these texts; case does not matter. The beginning of an id also matches. To search
    /// later messages, use `sessile search`.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// List the sessions of all directories
    ///
    /// With --session-dir: list all sessions in that directory, whatever their working directory. With --sample, --all
    /// is the default.
    #[arg(long)]
    all: bool,

    /// List the sessions of all worktrees of this repository, with their branches
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Draw families of forks as trees, in the order of their first session in the list
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    tree: bool,

    /// List only sessions that have a name
    #[arg(long)]
    named: bool,

    /// List only sessions of this member of a team's store; needs --remote
    #[arg(long, value_name = "NAME", requires = "remote")]
    member: Option<String>,

    /// List only sessions of this project of a team's store; needs --remote
    #[arg(long, value_name = "NAME", requires = "remote")]
    project: Option<String>,

    /// List only sessions of this repository: an address, such as git@host:team/site.git, or host/team/site, or the end
    /// of that, such as site; needs --remote
    #[arg(long, value_name = "REPOSITORY", requires = "remote")]
    repository: Option<String>,

    /// List only archived sessions
    #[arg(long)]
    archived: bool,

    /// Whether archived sessions are listed like all others, for commands that count them.
    #[arg(skip)]
    everything: bool,

    /// Show or hide sessions that have a parent session, or list only those
    #[arg(long, value_name = "WHAT", default_value = "show")]
    children: ChildrenArg,

    #[command(flatten)]
    span: SpanArgs,

    /// Sort by this instead of the last activity
    #[arg(long, value_name = "BY")]
    sort: Option<SortArg>,

    /// List at most N sessions, 0 for all
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Show these columns, in this order
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with_all = ["json", "jsonl"])]
    columns: Vec<Column>,

    /// Print one line per session in this format: a template such as '{id}\t{title}', or tsv
    ///
    /// Fields: {id}, {title} (the name, else the first message), {cwd}, {created} and {modified} (ISO 8601, UTC),
    /// {messages}, {tokens}, {cost} (in dollars), {size} (in bytes), {path}, {name}, {parent} (the path of the session
    /// it was forked from), {original} (the path of the file that this one is a copy of), {first} (the first message),
    /// {place} (@1, @2 and so on), {archived} (true for an archived session), {redacted} (true for a redacted copy),
    /// {member} (the member of a team's store that owns it), {project} (the project of that store), {repository} (host
    /// and path of its repository, with --remote).
    /// Unknown values are empty.
    ///
    /// The escapes \t, \n, \r, \0 and \\ have their usual meaning; {{ and }} stand for braces. Each line ends with a
    /// newline, unless the template ends with one or with \0. Whitespace in a value becomes spaces, and control
    /// characters become visible; --json prints values unchanged.
    ///
    /// tsv prints the fields from id to original, in this order, separated by tabs and without a heading. Later
    /// versions may add columns at the end.
    #[arg(long = "format", value_name = "FORMAT", value_parser = Template::parse)]
    #[arg(conflicts_with_all = ["json", "jsonl", "columns", "paths", "tree", "text"])]
    template: Option<Template>,

    /// Show the path of each file
    #[arg(long)]
    paths: bool,

    /// Add the texts of all messages to the JSON
    #[arg(long)]
    text: bool,

    /// List instead the files that Sessile cannot read as sessions, with the reason and what `sessile repair` would do
    #[arg(long, conflicts_with_all = ["repo", "tree", "named", "archived", "children", "since", "until", "sort", "columns", "text", "template", "query"])]
    damaged: bool,

    /// List the sessions of other agents as well, with the name of the agent in brackets, without importing them
    #[arg(long, conflicts_with_all = ["repo", "tree", "damaged", "columns", "text", "template", "paths", "sort", "limit"])]
    agents: bool,

    #[command(flatten)]
    format: ListFormat,
}

const EXAMPLES: &str = r"Examples:
  $ sessile --sample list --since 2d
  $ sessile --sample list water
  $ sessile --sample list --columns age,cost,session --sort cost
  $ sessile --sample list --tree
  $ sessile --sample list --archived
  $ sessile --sample list --format '{id}\t{title}'
  $ sessile --sample list --format tsv";

/// The result of listing.
#[derive(Default)]
pub(super) struct Listing {
    /// The requested sessions.
    pub(super) sessions: Vec<SessionInfo>,
    /// How many others are left out because they are archived.
    pub(super) n_archived: usize,
    /// Which of the files are copies. The original of a copy may be a session that the filters left out.
    copies: Copies,
    /// All sessions of the place; filled only if the sessions left out matter.
    everything: Vec<SessionInfo>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ChildrenArg {
    #[default]
    Show,
    Hide,
    Only,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SortArg {
    #[default]
    Recent,
    Created,
    Size,
    Cost,
    Messages,
    Name,
}

impl ListArgs {
    /// Selects all sessions of a wider or narrower place, archived or not.
    pub(super) fn of(all: bool, repo: bool) -> Self {
        Self { all, repo, everything: true, ..Self::default() }
    }

    /// Whether a filter leaves sessions out.
    fn is_filtered(&self) -> bool {
        self.named
            || self.archived
            || self.children != ChildrenArg::Show
            || self.span.is_limited()
            || !self.query.is_empty()
            || self.member.is_some()
            || self.project.is_some()
            || self.repository.is_some()
    }

    /// Whether the list is for people, not for programs.
    fn is_for_people(&self) -> bool {
        self.format.layout().is_none() && self.template.is_none()
    }

    fn selection(&self, env: &CommandEnvironment) -> Result<Selection, Failure> {
        let children = match self.children {
            ChildrenArg::Show => Children::Shown,
            ChildrenArg::Hide => Children::Hidden,
            ChildrenArg::Only => Children::Only,
        };
        let settings = &env.settings;
        let is_for_people = self.is_for_people();
        let from_settings = || SortArg::from_str(settings.list_sort(), false).ok().filter(|_| is_for_people);
        let sort = match self.sort.or_else(from_settings).unwrap_or_default() {
            SortArg::Recent => SortBy::Recent,
            SortArg::Created => SortBy::Created,
            SortArg::Size => SortBy::Size,
            SortArg::Cost => SortBy::Cost,
            SortArg::Messages => SortBy::Messages,
            SortArg::Name => SortBy::Name,
        };
        let from_settings = || settings.list_limit().filter(|_| is_for_people);
        let limit = self.limit.or_else(from_settings).filter(|limit| *limit > 0);
        let (since, until) = (self.span.since(env)?, self.span.until(env)?);
        // Quoted words arrive as one argument and mean the same.
        let words = self.query.iter().flat_map(|query| query.split_whitespace()).map(str::to_owned).collect();
        let archived = match (self.archived, self.everything) {
            (true, _) => Archived::Only,
            (false, true) => Archived::Shown,
            (false, false) => Archived::Hidden,
        };
        let (member, project, repository) = (self.member.clone(), self.project.clone(), self.repository.clone());
        let named = self.named;
        Ok(Selection { words, named, member, project, repository, children, archived, since, until, sort, limit })
    }

    /// Returns the columns to show: those requested, else those from the settings, else the defaults.
    fn columns(&self, env: &CommandEnvironment, is_whole: bool) -> Vec<Column> {
        let is_sample = env.sample().is_some();
        let from_settings = || env.settings.list_columns();
        let mut columns = if !self.columns.is_empty() {
            self.columns.clone()
        } else if let Some(words) = from_settings() {
            words.iter().filter_map(|word| Column::from_str(word, false).ok()).collect()
        } else {
            let directory = (self.all || self.repo || is_sample).then_some(Column::Directory);
            let default_columns = [Column::Position, Column::Age, Column::Messages, Column::Session];
            default_columns.into_iter().chain(directory).collect()
        };
        // List positions of a temporary sample are not stored, so they are only valid for its whole list.
        columns.retain(|column| *column != Column::Position || env.stores_positions() || is_whole);
        columns
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ListArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let mut skipped = Vec::new();
    let listed = find_and_report(env, args, &mut skipped, err)?;
    if args.damaged {
        return list_damaged(env, args, &skipped, out, err);
    }
    if args.agents {
        return foreign::list_beside(env, &listed.sessions, args.all, args.format, out, err);
    }
    let result = print_sessions(env, args, &listed, out, err);
    if args.is_for_people() {
        report_archived(args, listed.n_archived, err);
    }
    if args.is_for_people() && !skipped.is_empty() {
        // A message on standard error is optional; a failed write is ignored.
        drop(err.print_whole(&skipped_line(env, args, skipped.len())));
    }
    // The process ends now, and the system frees the rows faster than we could.
    std::mem::forget(listed);
    result
}

fn print_sessions(
    env: &CommandEnvironment,
    args: &ListArgs,
    listed: &Listing,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match (args.format.layout(), &args.template) {
        (Some(layout), _) => print_data(listed, args.text, layout, out)?,
        (None, Some(template)) => print_lines(env, listed, template, out)?,
        (None, None) if listed.sessions.is_empty() => {}
        (None, None) => print_table(env, args, listed, out)?,
    }
    if !listed.sessions.is_empty() {
        return Ok(Exit::Done);
    }
    let is_wide = args.all || args.repo;
    // A message on standard error is optional; a failed write is ignored.
    if args.is_filtered() && !find(env, &ListArgs::of(args.all, args.repo), err)?.is_empty() {
        drop(err.print_whole(&Line::new().text("no sessions match")));
    } else if listed.n_archived == 0 {
        drop(report_no_sessions(env, "list", is_wide, err));
    }
    Ok(Exit::Nothing)
}

/// Prints how many sessions are left out because they are archived.
pub(super) fn report_archived(args: &ListArgs, n_archived: usize, err: &mut Screen<'_>) {
    let scope = match (args.all, args.repo) {
        (true, _) => " --all",
        (false, true) => " --repo",
        (false, false) => "",
    };
    let message = match n_archived {
        0 => return,
        1 => format!("1 archived session is hidden (`list{scope} --archived` shows it)"),
        n => format!("{n} archived sessions are hidden (`list{scope} --archived` shows them)"),
    };
    // A message on standard error is optional; a failed write is ignored.
    drop(err.print_whole(&Line::new().styled(DIM, &message)));
}

/// Says how many files are not in the list, and which command explains why.
fn skipped_line(env: &CommandEnvironment, args: &ListArgs, n_skipped: usize) -> Line {
    let all = if args.all || args.repo { " --all" } else { "" };
    let command = format!("`sessile list --damaged{all}{}`", env.session_dir_flag());
    Line::new().text(&match n_skipped {
        1 => format!("1 file could not be read as a session; {command} shows why and what `sessile repair` would do"),
        n => format!("{n} files could not be read as sessions; {command} shows why and what `sessile repair` would do"),
    })
}

/// Lists the files that are named like sessions but are not valid ones.
fn list_damaged(
    env: &CommandEnvironment,
    args: &ListArgs,
    skipped: &[PathBuf],
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let limit = args.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let files = skipped.iter().take(limit).map(|path| env.sessions.explain_skipped(path));
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        for file in files {
            list.push(answer::damaged_file(&file).raw())?;
        }
        list.finish()?;
    } else {
        for file in files {
            let path = env.short(&file.path.to_string_lossy());
            let size =
                file.size.map(|size| format!("  {}", sessile_display::measure::size_words(size))).unwrap_or_default();
            out.print_whole(&Line::new().styled(BOLD, &path).styled(DIM, &size))?;
            out.print_whole(&Line::new().text("  ").text(&file.reason))?;
            out.print_whole(&Line::new().text("  ").styled(PERSON, "repair ").text(&file.repair))?;
        }
        if skipped.is_empty() {
            drop(err.print_whole(&Line::new().text("all files can be read")));
        }
    }
    Ok(if skipped.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// Prints sessions for people, and stores their list positions.
pub(super) fn print_table(
    env: &CommandEnvironment,
    args: &ListArgs,
    listed: &Listing,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let sessions = &listed.sessions;
    let is_whole = args.selection(env)? == Selection::default() && !args.tree && !args.repo;
    let columns = args.columns(env, is_whole);
    let mut rows: Vec<TableRow<'_>> = sessions.iter().map(|session| TableRow::of(env, session)).collect();
    for row in &mut rows {
        let Some(session) = row.session else { continue };
        let is_copy = listed.copies.original_of(&session.path).is_some();
        let remarks = [(is_copy, "[copy] "), (session.is_redacted, "[redacted] ")];
        row.remark = remarks.iter().filter(|(applies, _)| *applies).map(|(_, remark)| *remark).collect();
        for word in session.imported_from.iter().chain(&session.member) {
            row.remark.extend(["[", word, "] "]);
        }
    }
    if args.repo {
        add_branches(env, sessions, &mut rows);
    }
    if args.tree {
        rows = tree_rows(env, args, listed, rows)?;
    }
    table::print(env, out, &rows, &columns, args.paths)?;
    env.store_positions(rows.iter().filter_map(|row| Some(row.session?.path.as_path())));
    Ok(())
}

/// Adds the checked-out branch to each directory.
fn add_branches(env: &CommandEnvironment, sessions: &[SessionInfo], rows: &mut [TableRow<'_>]) {
    let projects = env.sessions.group_by_project(sessions);
    for directory in projects.into_iter().flat_map(|project| project.directories) {
        let Some(branch) = directory.branch else { continue };
        for index in directory.sessions {
            rows[index].directory = format!("{} [{branch}]", rows[index].directory);
        }
    }
}

/// Returns rows in the order of families, each after a drawing of its descent. The parent of a session also gets a row
/// if it is not in the list.
fn tree_rows<'r>(
    env: &CommandEnvironment,
    args: &ListArgs,
    listed: &'r Listing,
    rows: Vec<TableRow<'r>>,
) -> Result<Vec<TableRow<'r>>, Failure> {
    let index_of: HashMap<&Path, usize> =
        listed.sessions.iter().enumerate().map(|(index, session)| (session.path.as_path(), index)).collect();
    let list_index = |session: &SessionRef, all: &[SessionInfo]| match session {
        SessionRef::Listed(index) => index_of.get(all[*index].path.as_path()).copied(),
        SessionRef::Missing(_) => None,
    };
    let is_in_scope: HashSet<&Path> = listed.everything.iter().map(|session| session.path.as_path()).collect();
    let families_of = |all: &[SessionInfo]| {
        let mut families = env.sessions.families(all);
        families.retain(|family| family.members.iter().any(|member| list_index(&member.session, all).is_some()));
        families
    };
    let mut all = Cow::Borrowed(&listed.everything);
    let mut families = families_of(&all);
    let is_missing = |member: &Relative| matches!(member.session, SessionRef::Missing(_));
    if !args.all && families.iter().flat_map(|family| &family.members).any(is_missing) {
        // A parent that is not in this directory may be in another one.
        all = Cow::Owned(env.sessions.list_all()?);
        families = families_of(&all);
    }
    // Families are ordered like the list, by their first member in it.
    families.sort_by_key(|family| family.members.iter().filter_map(|member| list_index(&member.session, &all)).min());
    let mut rows: Vec<Option<TableRow<'_>>> = rows.into_iter().map(Some).collect();
    let mut tree_rows = Vec::new();
    for family in families {
        let is_needed = ancestors_and_self(&family, |session| list_index(session, &all).is_some());
        for (member, _) in family.members.iter().zip(is_needed).filter(|(_, is_needed)| *is_needed) {
            let prefix = match member.depth.checked_sub(1) {
                None => String::new(),
                // Deeper indents would hide the title.
                Some(n_above) => "  ".repeat(n_above.min(MAX_INDENT_DEPTH)) + "└ ",
            };
            let row = match (list_index(&member.session, &all), &member.session) {
                (Some(index), _) => rows[index].take(),
                (None, SessionRef::Listed(index)) => {
                    let session = &all[*index];
                    let title = session.name.as_ref().unwrap_or(&session.first_message).to_str();
                    let directory = env.short(&session.cwd);
                    Some(TableRow::absent(if session.is_archived && !args.archived {
                        format!("(archived: {})", title.trim())
                    } else if is_in_scope.contains(session.path.as_path()) {
                        format!("(filtered out: {})", title.trim())
                    } else {
                        format!("(in {directory}: {})", title.trim())
                    }))
                }
                (None, SessionRef::Missing(path)) => {
                    Some(TableRow::absent(format!("(missing: {})", env.short(&path.to_string_lossy()))))
                }
            };
            tree_rows.extend(row.map(|row| TableRow { prefix, ..row }));
        }
    }
    Ok(tree_rows)
}

/// Returns which members of a family are wanted or have a wanted descendant.
fn ancestors_and_self(family: &Family, is_selected: impl Fn(&SessionRef) -> bool) -> Vec<bool> {
    let mut is_needed: Vec<bool> = family.members.iter().map(|member| is_selected(&member.session)).collect();
    // Each member comes before its forks.
    for index in (0..family.members.len()).rev() {
        if let Some(parent) = family.members[index].parent.filter(|_| is_needed[index]) {
            is_needed[parent] = true;
        }
    }
    is_needed
}

/// Upper bound on the indent, in generations.
const MAX_INDENT_DEPTH: usize = 12;

/// Finds the requested sessions.
pub(super) fn find(
    env: &CommandEnvironment,
    args: &ListArgs,
    err: &mut Screen<'_>,
) -> Result<Vec<SessionInfo>, Failure> {
    Ok(find_and_report(env, args, &mut Vec::new(), err)?.sessions)
}

/// Finds the files of the requested sessions, and those beside them that are named like sessions and are not.
pub(super) fn find_files(
    env: &CommandEnvironment,
    args: &ListArgs,
    err: &mut Screen<'_>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut skipped = Vec::new();
    let sessions = find_and_report(env, args, &mut skipped, err)?.sessions;
    Ok(sessions.into_iter().map(|session| session.path).chain(skipped).collect())
}

/// Finds the requested sessions, with the other data that a table shows.
pub(super) fn find_listed(env: &CommandEnvironment, args: &ListArgs, err: &mut Screen<'_>) -> Result<Listing, Failure> {
    find_and_report(env, args, &mut Vec::new(), err)
}

/// Finds the requested sessions, and the files beside them that are not sessions.
fn find_and_report(
    env: &CommandEnvironment,
    args: &ListArgs,
    skipped: &mut Vec<PathBuf>,
    err: &mut Screen<'_>,
) -> Result<Listing, Failure> {
    let selection = args.selection(env)?;
    let mut bar = Bar::new(Unit::Sessions);
    let mut show = |progress: Progress<'_>| bar.show(progress.loaded as u64, progress.total as u64, err);
    let cancel = on_interrupt()?;
    let mut options = ListOptions {
        texts: args.text,
        progress: Some(&mut show),
        cancel,
        skipped: Some(skipped),
        ..ListOptions::default()
    };
    let everything = args.all || (env.sample().is_some() && !env.has_session_dir_flag());
    let result = if args.repo {
        env.sessions.list_project_with(env.cwd(), &mut options)
    } else if everything {
        env.sessions.list_all_with(&mut options)
    } else {
        env.sessions.list_with(env.cwd(), &mut options)
    };
    bar.clear(err);
    let mut sessions = result?;
    let copies = Copies::among(&sessions);
    let everything = if args.tree { sessions.clone() } else { Vec::new() };
    let n_archived = match selection.archived {
        Archived::Hidden => Selection { archived: Archived::Only, ..selection.clone() }.count(&sessions),
        Archived::Shown | Archived::Only => 0,
    };
    selection.apply(&mut sessions);
    Ok(Listing { sessions, n_archived, copies, everything })
}

/// Says that the store is empty, where sessions would be, and what to do about it.
pub(super) fn report_empty_store(env: &CommandEnvironment, err: &mut Screen<'_>) -> std::io::Result<()> {
    let root = || sessile::directory::sessions_root(env.sessions.environment());
    let dir = env.session_dir().unwrap_or_else(root);
    err.print_whole(&Line::new().text("there are no sessions yet"))?;
    for (command, description) in [
        ("pi", &*format!("starts one in the current project and stores it in {}", env.short(&dir.to_string_lossy()))),
        ("sessile new", "starts an empty one for this directory"),
        ("sessile import FILE", "imports a session file"),
        ("sessile --sample", "shows a made-up store to try things on"),
    ] {
        err.print_whole(&Line::new().text("  ").styled(BOLD, command).pad(24).text(description))?;
    }
    Ok(())
}

/// Says that a command finds no sessions where it looks, and where else it could look.
pub(super) fn report_no_sessions(
    env: &CommandEnvironment,
    command: &str,
    is_wide: bool,
    err: &mut Screen<'_>,
) -> std::io::Result<()> {
    let dir = env.session_dir();
    let cwd = env.short(&env.cwd().to_string_lossy());
    let is_sample = env.sample().is_some();
    let (message, hint) = match dir {
        Some(dir) if !env.is_directory(&dir) => (
            format!("there is no directory {}", dir.display()),
            format!("use `sessile {command} --all` for all sessions of pi's own store"),
        ),
        Some(dir) if env.sessions.is_store_root(&dir) => {
            let message = format!("no sessions in {} itself, only in its subdirectories", dir.display());
            (message, root_hint(env, command, &dir))
        }
        Some(dir) if is_wide => (format!("no sessions in {}", dir.display()), String::new()),
        Some(dir) => (
            format!("no sessions for {cwd} in {}", dir.display()),
            "add --all to include the sessions of other directories".to_owned(),
        ),
        None if is_wide && !is_sample => return report_empty_store(env, err),
        None if is_sample => ("no sessions found".to_owned(), String::new()),
        None => (
            format!("no sessions for {cwd}"),
            format!("use `sessile {command} --all` for all directories, or `sessile --sample` to see a made-up store"),
        ),
    };
    err.print_whole(&Line::new().text(&message))?;
    if hint.is_empty() || (is_sample && hint.contains("--sample")) {
        return Ok(());
    }
    err.print_whole(&Line::new().styled(ACCENT, "hint:").text(" ").text(&hint))
}

/// Suggests what to do if the user gave a whole store in place of a directory of sessions.
fn root_hint(env: &CommandEnvironment, command: &str, dir: &Path) -> String {
    let dir = env.directory(Some(dir));
    let is_own = dir == sessile::directory::sessions_root(env.own_environment());
    match dir.parent().filter(|_| dir.file_name().is_some_and(|name| name == "sessions")) {
        _ if is_own => format!("this is the root of your store: use `sessile {command} --all` without --session-dir"),
        Some(parent) => {
            let parent = parent.display();
            format!("this is the root of a store: use `PI_CODING_AGENT_DIR={parent} sessile {command} --all`")
        }
        None => "this is the root of a store: use one of its subdirectories".to_owned(),
    }
}

fn print_data(listed: &Listing, texts: bool, layout: Layout, out: &mut Screen<'_>) -> Result<(), Failure> {
    let data = out.data();
    // All rows are known, so nothing can make this answer stale: the reader gets the first rows at once.
    data.flush()?;
    let mut list = ListWriter::new(data, layout);
    list.push_each(&listed.sessions, |session| answer::session_info(session, texts, &listed.copies))?;
    Ok(list.finish()?)
}

/// Prints one line per session, for scripts.
fn print_lines(
    env: &CommandEnvironment,
    listed: &Listing,
    template: &Template,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let data = out.data();
    for (position, session) in (1..).zip(&listed.sessions) {
        let original = listed.copies.original_of(&session.path);
        data.write_all(template.fill(&ListedSession { session, position, original }).as_bytes())?;
    }
    if template.has_positions() {
        env.store_positions(listed.sessions.iter().map(|session| session.path.as_path()));
    }
    Ok(())
}
