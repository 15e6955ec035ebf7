//! `sessile tree`

use std::io::{self, Write};

use clap::Args;
use sessile::entry::Payload;
use sessile::head::{Kind, Role};
use sessile::json::{Json, ObjectWriter, Raw};
use sessile::message::Message;
use sessile::{EntryId, SessionError, SessionManager, TreeNode};

use crate::Exit;
use crate::args::SessionArg;
use crate::data::{Layout, ListWriter, write_raw};
use crate::describe::{Calls, TEXT, entry_words, has_text};
use crate::drawing::{Drawing, Place};
use crate::failure::Failure;
use crate::screen::{ACCENT, DIM, Line, NAMED, Screen};
use crate::surroundings::{Surroundings, note_if_empty};

/// Draw the tree of a session, branch by branch
///
/// A dot marks the entries on the way to the end of the session; their branch comes first. Settings, labels and answers
/// without words are left out unless --all is given.
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Draw every entry
    #[arg(long)]
    all: bool,

    /// Print JSON: nested objects of entry, children, label and labelTimestamp
    #[arg(long)]
    json: bool,

    /// Print a flat array instead: id, parentId, depth, type, label, labelTimestamp, onPath
    #[arg(long, requires = "json")]
    flat: bool,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &TreeArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = surroundings.open(&args.session, err)?;
    match (args.json, args.flat) {
        (true, true) => print_flat(&session, out.data())?,
        (true, false) => print_nested(&session, out.data())?,
        (false, _) => {
            note_if_empty(&session, err);
            draw(&session, args.all, out)?;
        }
    }
    Ok(Exit::Done)
}

fn print_flat(session: &SessionManager, out: &mut dyn Write) -> Result<(), Failure> {
    let mut list = ListWriter::new(out, Layout::Array);
    for node in session.tree()? {
        list.push(flat_row(session, &node)?.raw())?;
    }
    Ok(list.finish()?)
}

fn flat_row(session: &SessionManager, node: &TreeNode) -> Result<Json, SessionError> {
    let outline = session.outline();
    let id = |id: Option<&EntryId>| id.map_or_else(Json::null, EntryId::to_json);
    let kind = match outline.kind(node.row).word() {
        Some(word) => Json::string(word),
        None => session.entry_at(node.row)?.raw().get("type").map_or_else(Json::null, Raw::to_json),
    };
    let mut row = ObjectWriter::new();
    row.raw("id", id(node.id.as_ref()).raw())
        .raw("parentId", id(outline.parent_id(node.row).as_ref()).raw())
        .integer("depth", i64::try_from(node.depth).unwrap_or(i64::MAX))
        .raw("type", kind.raw());
    if let Some(label) = &node.label {
        row.raw("label", label.value.raw()).optional("labelTimestamp", label.timestamp.as_ref().map(Json::raw));
    }
    row.bool("onPath", node.on_path);
    Ok(row.finish())
}

/// Writes the tree as nested objects, keeping a list of those that are open instead of calling itself.
fn print_nested(session: &SessionManager, out: &mut dyn Write) -> Result<(), Failure> {
    let nodes = session.tree()?;
    let mut open: Vec<&TreeNode> = Vec::new();
    out.write_all(b"[")?;
    for (n_before, node) in nodes.iter().enumerate() {
        let is_first_child = open.len() == node.depth;
        while open.len() > node.depth {
            open.pop().map_or(Ok(()), |done| end_node(done, out))?;
        }
        if n_before > 0 && !is_first_child {
            out.write_all(b",")?;
        }
        out.write_all(br#"{"entry":"#)?;
        write_raw(out, session.entry_at(node.row)?.raw())?;
        out.write_all(br#","children":["#)?;
        open.push(node);
    }
    open.into_iter().rev().try_for_each(|done| end_node(done, out))?;
    Ok(out.write_all(b"]\n")?)
}

fn end_node(node: &TreeNode, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"]")?;
    if let Some(label) = &node.label {
        out.write_all(br#","label":"#)?;
        write_raw(out, label.value.raw())?;
        if let Some(timestamp) = &label.timestamp {
            out.write_all(br#","labelTimestamp":"#)?;
            write_raw(out, timestamp.raw())?;
        }
    }
    out.write_all(b"}")
}

/// Draws a session for people.
pub(super) fn draw(session: &SessionManager, all: bool, out: &mut Screen<'_>) -> Result<(), Failure> {
    let nodes = session.tree()?;
    let mut calls = Calls::default();
    let mut places = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let is_shown = note_and_judge(session, node, &mut calls)? || all;
        places.push(Place { depth: node.depth, is_first: node.on_path && !node.repeated, is_shown });
    }
    let drawing = Drawing::new(&places);
    let most_columns = out.width() / 2;
    for (row, place) in drawing.rows() {
        let node = &nodes[place];
        let words = entry_words(&session.entry_at(node.row)?, &calls);
        let mut line = Line::new().styled(DIM, &drawing.prefix(row, most_columns));
        if node.on_path {
            line = line.styled(ACCENT, "• ");
        }
        if let Some(label) = &node.label {
            line = line.styled(NAMED, "[").styled(NAMED, &label.text()).styled(NAMED, "] ");
        }
        out.print(line.styled(words.style, &words.lead).styled(TEXT, &words.text))?;
    }
    Ok(())
}

/// Takes note of tool calls, and says whether an entry is shown by default.
fn note_and_judge(session: &SessionManager, node: &TreeNode, calls: &mut Calls) -> Result<bool, SessionError> {
    let outline = session.outline();
    match outline.kind(node.row) {
        Kind::Usage
        | Kind::Label
        | Kind::ContextEdit
        | Kind::Custom
        | Kind::ModelChange
        | Kind::ThinkingLevelChange
        | Kind::SessionInfo => return Ok(false),
        Kind::Message if outline.role(node.row) == Role::Assistant => {}
        _ => return Ok(true),
    }
    let entry = session.entry_at(node.row)?;
    let Payload::Message(message) = entry.payload() else { return Ok(true) };
    let Some(Message::Assistant(answer)) = message.message() else { return Ok(true) };
    let content = answer.content();
    calls.note(&content);
    // An answer that ended well without a word only called tools, whose results are shown.
    let ended_well = answer.stop_reason().is_none_or(|reason| reason == "stop" || reason == "toolUse");
    let is_leaf = node.id.is_some() && node.id == session.leaf_id();
    Ok(has_text(&content) || !ended_well || is_leaf)
}
