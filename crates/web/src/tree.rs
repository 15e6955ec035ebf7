//! The tree of a session as bytes that the page draws.
//!
//! The engine decides what a filter shows and how the rows are indented; the page only draws the rows that are visible.

use std::collections::HashSet;

use sessile::date::Utc;
use sessile::entry::Entry;
use sessile::format::head::{Kind, Role};
use sessile::format::outline::{Outline, Row};
use sessile::json::Raw;
use sessile::message::Message;
use sessile::stats::Share;
use sessile::tree::{Filter, is_silent};
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
const COSTS: u64 = 8;

/// The unit of costs in the tree: a hundredth of a cent.
const UNITS_PER_DOLLAR: f64 = 10_000.0;

/// What the tree shows of payloads, for each row as far as they have been read.
#[derive(Default)]
pub(crate) struct RowFacts {
    /// Whether the row is an answer without text.
    is_silent: Vec<bool>,
    /// What the row has cost, in dollars.
    costs: Vec<f32>,
}

impl RowFacts {
    /// The number of rows.
    #[cfg(feature = "serve")]
    pub(crate) fn len(&self) -> usize {
        self.costs.len()
    }

    /// Makes room for this many rows.
    pub(crate) fn resize(&mut self, n_rows: usize) {
        self.is_silent.resize(n_rows, false);
        self.costs.resize(n_rows, 0.0);
    }

    /// Records an entry.
    pub(crate) fn note(&mut self, row: Row, entry: &Entry) {
        if let Some(Message::Assistant(answer)) = entry.message() {
            self.is_silent[row.index()] = is_silent(answer);
        }
        self.costs[row.index()] = cost_of(entry.raw());
    }
}

/// What an entry has cost, as statistics count it.
#[expect(clippy::cast_possible_truncation, reason = "a displayed cost needs no precision")]
fn cost_of(entry: Raw<'_>) -> f32 {
    let holder = entry.get("message").unwrap_or(entry);
    let share = holder.get("usage").and_then(|_| Share::of_line(entry.as_bytes(), &Utc));
    share.map_or(0.0, |share| share.whole().cost as f32)
}

/// What the tree needs to know about the entries of a session, a few bytes for each.
pub(crate) struct TreeRows {
    nodes: Vec<(Row, u32, bool)>,
    /// The nodes that show an entry again.
    repeated: HashSet<usize>,
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
        let mut repeated = HashSet::new();
        session.walk_tree(|node| {
            if node.repeated {
                repeated.insert(nodes.len());
            }
            let depth = u32::try_from(node.depth).unwrap_or(u32::MAX);
            nodes.push((node.row, depth, is_on_path[node.row.index()] && !node.repeated));
        })?;
        Ok(Self { nodes, repeated, is_labelled, leaf: path.last().copied() })
    }

    /// The cost of each node and its descendants.
    fn costs_below(&self, facts: &RowFacts) -> Vec<f64> {
        let own = |(at, (row, _, _)): (usize, &(Row, u32, bool))| {
            if self.repeated.contains(&at) { 0.0 } else { f64::from(facts.costs[row.index()]) }
        };
        let mut costs: Vec<f64> = self.nodes.iter().enumerate().map(own).collect();
        // From the end: the sums of the nodes that wait for their parent, by depth. Descendants follow their ancestor.
        let mut waiting: Vec<f64> = Vec::new();
        for (cost, (_, depth, _)) in costs.iter_mut().zip(&self.nodes).rev() {
            let depth = *depth as usize;
            *cost += waiting.get(depth + 1).copied().unwrap_or_default();
            waiting.resize(depth + 1, 0.0);
            waiting[depth] += *cost;
        }
        costs
    }

    /// The rows that a filter shows, in the order of the tree.
    ///
    /// For each row: its distance from the previous one, its level and flags, the number of its descendants if it can
    /// be folded, and what it and its descendants have cost if a branch begins there.
    pub(crate) fn drawn(&self, outline: &Outline, filter: Filter, facts: &RowFacts) -> Vec<u8> {
        let costs = self.costs_below(facts);
        let is_shown = |row: Row| {
            let is_answer = outline.kind(row) == Kind::Message && outline.role(row) == Role::Assistant;
            let is_hidden = is_answer && facts.is_silent[row.index()] && self.leaf != Some(row);
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
            let begins_branch = is_foldable || drawing.is_branch(at);
            let cost = if begins_branch { cost_units(costs[node]) } else { 0 };
            let flags = flag(is_foldable, FOLDABLE)
                | flag(cost > 0, COSTS)
                | flag(drawing.is_connected(at), CONNECTED)
                | flag(drawing.is_last(at), LAST);
            push_number(&mut out, (drawing.level(at) as u64) << 4 | flags);
            if is_foldable {
                push_number(&mut out, drawing.below(at).len() as u64);
            }
            if cost > 0 {
                push_number(&mut out, cost);
            }
        }
        out
    }
}

/// A cost as a number of the tree; 0 if it is not a positive amount.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn cost_units(cost: f64) -> u64 {
    (cost * UNITS_PER_DOLLAR).round().clamp(0.0, 1e15) as u64
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn costs_of_branches_are_sums() {
        let lines = [
            r#"{"type":"message","message":{"role":"assistant","usage":{"cost":{"total":0.5}}}}"#,
            r#"{"type":"compaction","usage":{"cost":{"total":0.25}}}"#,
            r#"{"type":"message","message":{"role":"user","usage":{"cost":{"total":9}}}}"#,
            r#"{"type":"message","message":"usage"}"#,
        ];
        let costs = lines.map(|line| cost_units(cost_of(Raw::parse(line.as_bytes()).unwrap()).into()));
        assert_eq!(costs, [5000, 2500, 0, 0]);
        let units = [0.12345, 0.0, -1.0, f64::NAN, f64::INFINITY].map(cost_units);
        assert_eq!(units, [1235, 0, 0, 0, 1_000_000_000_000_000]);
    }

    #[test]
    fn a_branch_costs_what_is_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
        for (id, parent, cost) in [("a", "null", 1), ("b", "\"a\"", 2), ("c", "\"b\"", 4), ("d", "\"a\"", 8)] {
            writeln!(
                text,
                "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\
                 \"message\":{{\"role\":\"assistant\",\"content\":[],\"usage\":{{\"cost\":{{\"total\":{cost}}}}}}}}}"
            )
            .unwrap();
        }
        #[expect(clippy::disallowed_methods, reason = "a test writes a session file directly")]
        std::fs::write(&path, text).unwrap();
        let sessions = sessile::Sessions::new(sessile::testing::IsolatedSystem::in_home(dir.path()));
        let session = sessions.read_only().open(&path).unwrap();
        let mut facts = RowFacts::default();
        facts.resize(session.outline().rows().len());
        for row in session.outline().entries() {
            facts.note(row, &session.entry_at(row).unwrap());
        }
        let rows = TreeRows::new(&session).unwrap();
        let costs: Vec<(usize, f64)> =
            rows.nodes.iter().map(|(row, _, _)| row.index()).zip(rows.costs_below(&facts)).collect();
        let mut costs = costs;
        costs.sort_by_key(|(row, _)| *row);
        assert_eq!(costs, [(1, 15.0), (2, 6.0), (3, 4.0), (4, 8.0)]);
    }
}
