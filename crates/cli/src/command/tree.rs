//! `sessile tree`

use std::collections::HashMap;
use std::io::Write;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use sessile::SessionManager;
use sessile::branch::TreeNode;
use sessile::format::archive::fold_away;
use sessile::message::AssistantMessage;
use sessile::tree::{Filter, TreeQuery};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::authors::EntryAuthors;
use crate::clock::Clock;
use crate::data::{Layout, ListWriter, write_text};
use crate::environment::{CommandEnvironment, report_if_empty};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{ACCENT, DIM, Line, NAMED, PERSON, Screen, style_of};
use sessile_display::drawing::{Drawing, Node};
use sessile_display::text::{Calls, headline};

/// Draw the tree of a session, branch by branch
///
/// A dot marks the entries on the path to the leaf, where the session continues; that branch comes first. A label
/// appears in brackets before its entry.
///
/// The tree omits settings, labels and answers without text, unless --filter or --all includes them. A branch archived
/// by `sessile archive` takes one line, with the number of its entries, unless it contains the leaf.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Open the tree on the screen to fold, search, label, move the leaf or fork; without SESSION, pick one there first
    #[cfg_attr(feature = "tui", arg(short, long, conflicts_with_all = ["filter", "archived", "all", "search", "limit", "times", "json", "flat"]))]
    #[cfg_attr(not(feature = "tui"), arg(skip))]
    pub(super) interactive: bool,
    /// Draw only some entries, with the filters of pi's tree
    #[arg(long, value_name = "WHICH", default_value = "default")]
    filter: FilterArg,

    /// Draw archived branches in full instead of one line each
    #[arg(long, conflicts_with = "json")]
    archived: bool,

    /// Draw every entry, including entries that none of pi's filters shows
    #[arg(long, conflicts_with = "filter")]
    all: bool,

    /// Draw only entries with all these words in their label, role, or the beginning of their text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,

    /// Draw at most N entries
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Show when labels were set
    #[arg(long)]
    times: bool,

    /// Print JSON: nested objects of entry, children, label, labelTimestamp, and archived where an archived branch begins
    #[arg(long)]
    json: bool,

    /// Print a flat array instead: id, parentId, depth, type, label, labelTimestamp, archived, onPath
    #[arg(long, requires = "json")]
    flat: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile tree @1
  $ sessile tree @1 --filter user-only
  $ sessile tree @1 --filter labeled-only --times
  $ sessile tree @1 --search \"assistant tests\"
  $ sessile tree @1 --json --flat --filter labeled-only";

/// pi's filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FilterArg {
    /// The conversation, without settings, labels and names
    #[default]
    Default,
    /// Like default, without tool results
    NoTools,
    /// User messages
    UserOnly,
    /// Entries with a label
    LabeledOnly,
    /// Everything, including settings, labels and names
    All,
}

/// Which entries are drawn.
#[derive(Debug, Default)]
pub(super) struct TreeSelection {
    /// `None` for all entries.
    filter: Option<Filter>,
    query: TreeQuery,
    limit: Option<usize>,
    times: bool,
    /// Whether archived branches are drawn in full.
    archived: bool,
}

impl TreeSelection {
    /// Returns the default choice.
    pub(super) fn default_view() -> Self {
        Self { filter: Some(Filter::Default), ..Self::default() }
    }
}

impl TreeArgs {
    /// Whether it opens a screen, which can label, fork and move the leaf.
    pub(super) fn opens_screen(&self) -> bool {
        self.interactive
    }

    pub(super) fn is_paged(&self) -> bool {
        !self.opens_screen()
    }

    fn selection(&self) -> TreeSelection {
        let filter = match self.filter {
            FilterArg::Default => Filter::Default,
            FilterArg::NoTools => Filter::NoTools,
            FilterArg::UserOnly => Filter::UserOnly,
            FilterArg::LabeledOnly => Filter::LabeledOnly,
            FilterArg::All => Filter::All,
        };
        let query = self.search.as_deref().map(TreeQuery::new).unwrap_or_default();
        TreeSelection {
            filter: (!self.all).then_some(filter),
            query,
            limit: self.limit,
            times: self.times,
            archived: self.archived,
        }
    }

    /// Whether the user selected entries.
    fn has_selection(&self) -> bool {
        self.all || self.filter != FilterArg::Default || self.search.is_some() || self.limit.is_some()
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &TreeArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.json && !args.flat && (args.has_selection() || args.times) {
        let message = "nested JSON always contains the whole tree; add --flat to select entries";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    #[cfg(feature = "tui")]
    if args.interactive {
        return open_screen(env, args, out, err);
    }
    let session = env.open(&args.session, err)?;
    let authors = EntryAuthors::of(env, &session);
    let n_shown = match (args.json, args.flat) {
        (true, true) => print_flat(&session, &authors, args.has_selection().then(|| args.selection()), out.data())?,
        (true, false) => print_nested(&session, &authors, out.data())?,
        (false, _) => {
            report_if_empty(&session, err);
            draw((&session, &authors), &args.selection(), &Clock::new(env), out)?
        }
    };
    let has_results = n_shown > 0 || !args.has_selection();
    Ok(if has_results { Exit::Done } else { Exit::Nothing })
}

/// Shows the tree in the TUI, and prints what the user did there.
#[cfg(feature = "tui")]
fn open_screen(
    env: &CommandEnvironment,
    args: &TreeArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find_unless_picked(&args.session)?;
    let outcome = crate::interactive::ui(env, out, err).tree(path)?;
    if let Some(message) = outcome.failure {
        return Err(Failure::NotShown { message });
    }
    if let Some(done) = outcome.done {
        err.print_whole(&Line::new().text(&done))?;
    }
    match (outcome.forked, outcome.editor_text) {
        (Some(path), _) => out.print_whole(&Line::new().text(&path.to_string_lossy()))?,
        (None, Some(text)) => text.lines().try_for_each(|line| out.print_whole(&Line::new().text(line)))?,
        (None, None) => {}
    }
    Ok(Exit::Done)
}

/// Prints the chosen entries in sequence; without a choice, all of them. Returns their number.
fn print_flat(
    session: &SessionManager,
    authors: &EntryAuthors,
    selection: Option<TreeSelection>,
    out: &mut dyn Write,
) -> Result<usize, Failure> {
    let mut list = ListWriter::new(out, Layout::Array);
    let nodes = session.tree()?;
    let visible_nodes = selection.as_ref().map(|selection| visible_nodes(session, &nodes, selection)).transpose()?;
    let is_shown = |index: usize| visible_nodes.as_ref().is_none_or(|visible_nodes| visible_nodes.is_shown[index]);
    let max_rows = selection.and_then(|selection| selection.limit).unwrap_or(usize::MAX);
    let mut n_printed = 0;
    for (_, node) in nodes.iter().enumerate().filter(|(index, _)| is_shown(*index)).take(max_rows) {
        list.push(answer::tree_row(session, node, authors.known())?.raw())?;
        n_printed += 1;
    }
    list.finish()?;
    Ok(n_printed)
}

/// Prints the tree as nested objects.
fn print_nested(session: &SessionManager, authors: &EntryAuthors, out: &mut dyn Write) -> Result<usize, Failure> {
    let mut put = |text: &[u8]| Ok::<_, Failure>(write_text(out, text)?);
    let n_nodes = answer::write_tree(session, true, authors.known(), &mut put)?;
    out.write_all(b"\n")?;
    Ok(n_nodes)
}

/// Draws a session for people, and returns how many entries were drawn.
pub(super) fn draw(
    (session, authors): (&SessionManager, &EntryAuthors),
    selection: &TreeSelection,
    clock: &Clock<'_>,
    out: &mut Screen<'_>,
) -> Result<usize, Failure> {
    let nodes = session.tree()?;
    let VisibleNodes { mut is_shown, calls } = visible_nodes(session, &nodes, selection)?;
    // The branch with the session's leaf is never folded.
    let nodes_to_fold = nodes.iter().map(|node| (node.depth, node.is_archived && !node.on_path));
    let n_folded = if selection.archived { HashMap::new() } else { fold_away(nodes_to_fold, &mut is_shown) };
    let drawing_node = |(node, is_shown): (&TreeNode, &bool)| Node {
        depth: u32::try_from(node.depth).unwrap_or(u32::MAX),
        is_first: node.on_path && !node.repeated,
        is_shown: *is_shown,
    };
    let drawing = Drawing::new(&nodes.iter().zip(&is_shown).map(drawing_node).collect::<Vec<_>>());
    let max_columns = out.width() / 2;
    let max_rows = selection.limit.unwrap_or(usize::MAX);
    let n_rows = drawing.rows().count();
    for (row, index) in drawing.rows().take(max_rows) {
        let node = &nodes[index];
        let words = headline(&session.entry_at(node.row)?, &calls);
        let mut line = Line::new().styled(DIM, &drawing.prefix(row, max_columns));
        if node.on_path {
            line = line.styled(ACCENT, "• ");
        }
        if let Some(author) = authors.words(session, node.row) {
            line = line.styled(PERSON, &author).text("  ");
        }
        if let Some(n_entries) = n_folded.get(&index).copied() {
            let entries = noun(n_entries, "entry", "entries");
            line = line.styled(DIM, &format!("[archived, {n_entries} {entries}] "));
        } else if node.is_archived {
            line = line.styled(DIM, "[archived] ");
        }
        if let Some(label) = &node.label {
            line = line.styled(NAMED, "[").styled(NAMED, &label.text()).styled(NAMED, "] ");
            let time = label.timestamp.as_ref().and_then(|time| clock.read(time.raw())).filter(|_| selection.times);
            line = time.into_iter().fold(line, |line, time| line.styled(DIM, &(clock.short(time) + " ")));
        }
        out.print(line.styled(style_of(words.tone), &words.lead).text(&words.text))?;
    }
    if n_rows > max_rows {
        out.print(Line::new().styled(DIM, &format!("… {} more", n_rows - max_rows)))?;
    }
    Ok(n_rows)
}

/// The entries to draw, and the tool calls after which results are named.
struct VisibleNodes {
    is_shown: Vec<bool>,
    calls: Calls,
}

fn visible_nodes(
    session: &SessionManager,
    nodes: &[TreeNode],
    selection: &TreeSelection,
) -> Result<VisibleNodes, Failure> {
    let mut calls = Calls::default();
    let mut on_answer = |answer: AssistantMessage<'_>| calls.note(&answer.content());
    let is_shown = session.shown_nodes(nodes, selection.filter, &selection.query, &mut on_answer)?;
    Ok(VisibleNodes { is_shown, calls })
}
