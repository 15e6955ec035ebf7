//! The tree of a session as bytes that the page draws.
//!
//! The engine decides what a filter shows and how the rows are indented; the page only draws the rows that are visible.

use sessile::format::head::{Kind, Role};
use sessile::format::outline::{Outline, Row};
use sessile::tree::Filter;
use sessile::{SessionError, SessionManager};
use sessile_display::drawing::{Drawing, Node};

use crate::pack::{push_number, push_signed};

/// pi's filters, with their names in the page.
pub(crate) const FILTERS: [(&str, Filter); 5] = [
    ("default", Filter::Default),
    ("no-tools", Filter::NoTools),
    ("user", Filter::UserOnly),
    ("labeled", Filter::LabeledOnly),
    ("all", Filter::All),
];

const FOLDABLE: u64 = 1;
const CONNECTED: u64 = 2;
const LAST: u64 = 4;

/// What the tree needs to know about the entries of a session, a few bytes for each.
pub(crate) struct TreeRows {
    nodes: Vec<(Row, u32, bool)>,
    is_labelled: Vec<bool>,
    leaf: Option<Row>,
}

impl TreeRows {
    pub(crate) fn new(session: &SessionManager) -> Result<Self, SessionError> {
        let outline = session.outline();
        let path = session.path();
        let mut is_on_path = vec![false; outline.rows().len()];
        for row in &path {
            is_on_path[row.index()] = true;
        }
        let mut is_labelled = vec![false; outline.rows().len()];
        for (id, _) in session.labels()?.iter() {
            if let Some(row) = outline.find(id) {
                is_labelled[row.index()] = true;
            }
        }
        let mut nodes = Vec::with_capacity(outline.n_entries());
        session.walk_tree(|node| {
            let depth = u32::try_from(node.depth).unwrap_or(u32::MAX);
            nodes.push((node.row, depth, is_on_path[node.row.index()] && !node.repeated));
        })?;
        Ok(Self { nodes, is_labelled, leaf: path.last().copied() })
    }

    /// The rows that a filter shows, in the order of the tree. `is_silent` says which answers have no text.
    ///
    /// For each row: its distance from the previous one, its level and flags, and the number of its descendants if it
    /// can be folded.
    pub(crate) fn drawn(&self, outline: &Outline, filter: Filter, is_silent: &[bool]) -> Vec<u8> {
        let is_shown = |row: Row| {
            let is_answer = outline.kind(row) == Kind::Message && outline.role(row) == Role::Assistant;
            let is_hidden = is_answer && is_silent[row.index()] && self.leaf != Some(row);
            filter.admits(outline.kind(row), outline.role(row), self.is_labelled[row.index()]) && !is_hidden
        };
        let node = |(row, depth, is_first): &(Row, u32, bool)| Node {
            depth: *depth,
            is_first: *is_first,
            is_shown: is_shown(*row),
        };
        let nodes: Vec<Node> = self.nodes.iter().map(node).collect();
        let drawing = Drawing::new(&nodes);
        drop(nodes);
        let mut out = Vec::with_capacity(drawing.len() * 4);
        let mut previous = 0_i64;
        for (at, node) in drawing.rows() {
            let row = i64::try_from(self.nodes[node].0.index()).unwrap_or(i64::MAX);
            push_signed(&mut out, row - previous);
            previous = row;
            let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
            let is_foldable = drawing.is_foldable(at);
            let flags = flag(is_foldable, FOLDABLE)
                | flag(drawing.is_connected(at), CONNECTED)
                | flag(drawing.is_last(at), LAST);
            push_number(&mut out, (drawing.level(at) as u64) << 3 | flags);
            if is_foldable {
                push_number(&mut out, drawing.below(at).len() as u64);
            }
        }
        out
    }
}

/// The parent, the place in the file and the type of each row.
///
/// For each row: the distance to its parent (0 if it has none), the bytes between the previous row and this one, its
/// length in bytes, and its type.
pub(crate) fn structure(outline: &Outline) -> Vec<u8> {
    let mut out = Vec::with_capacity(outline.rows().len() * 6);
    let mut end = 0;
    for row in outline.rows() {
        let index = row.index() as u64;
        let parent =
            outline.parent(row).map_or(0, |parent| index.cast_signed() - (parent.index() as u64).cast_signed());
        push_signed(&mut out, parent);
        let span = outline.span(row);
        push_signed(&mut out, span.offset.cast_signed() - end);
        end = span.end().cast_signed();
        push_number(&mut out, span.len);
        out.push(kind_code(outline.kind(row), outline.role(row)));
    }
    out
}

/// What the page does with an entry by its type: prompts are places to jump to.
pub(crate) fn kind_code(kind: Kind, role: Role) -> u8 {
    match (kind, role) {
        (Kind::Header | Kind::NotObject, _) => 0,
        (Kind::Message, Role::User) => 1,
        (Kind::Message, Role::Assistant) => 2,
        (Kind::Message, Role::ToolResult) => 3,
        (Kind::Compaction | Kind::BranchSummary, _) => 5,
        (Kind::Message | Kind::CustomMessage, _) => 4,
        (
            Kind::ThinkingLevelChange
            | Kind::ModelChange
            | Kind::Usage
            | Kind::Custom
            | Kind::ContextEdit
            | Kind::Label
            | Kind::SessionInfo
            | Kind::Unknown,
            _,
        ) => 6,
    }
}
