//! The tree of a session: all of it in pi's order, and its branch points.

mod forest;

pub use forest::{Node, forest, walk};

mod filter;

use crate::head::Kind;
use crate::outline::{Outline, Row};
pub use filter::{Filter, TreeQuery, is_silent};

/// Why the tree branches at an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BranchKind {
    /// One of the children is a summary of the abandoned branch: the user navigated and kept a summary.
    Summarized,
    /// Two or more children continue the conversation: a question or an answer was repeated.
    Conversation,
    /// A tool result and a user message both follow: the turn was interrupted and resumed.
    ToolResult,
    /// At most one child continues the conversation. The others are settings, labels, names and the like.
    Settings,
}

impl BranchKind {
    /// The name of the kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Summarized => "summarized",
            Self::Conversation => "conversation",
            Self::ToolResult => "toolResult",
            Self::Settings => "settings",
        }
    }
}

/// An entry with several children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPoint {
    /// The entry; `None` for the start of the session, if there are several roots.
    pub at: Option<Row>,
    /// Its children in file order.
    pub children: Vec<Row>,
    /// Why it branches.
    pub kind: BranchKind,
}

/// Every branch point of the tree, in file order of the entries.
pub fn branch_points(outline: &Outline) -> Vec<BranchPoint> {
    let mut groups: Vec<(Option<Row>, Row)> =
        (outline.entries()).filter(|row| outline.current(*row) == *row).map(|row| (outline.parent(row), row)).collect();
    groups.sort_by_key(|(parent, _)| *parent);
    groups
        .chunk_by(|one, other| one.0 == other.0)
        .filter(|group| group.len() > 1)
        .map(|group| {
            let children: Vec<Row> = group.iter().map(|(_, row)| *row).collect();
            let kind = branch_kind(outline, &children);
            BranchPoint { at: group[0].0, children, kind }
        })
        .collect()
}

fn branch_kind(outline: &Outline, children: &[Row]) -> BranchKind {
    use crate::head::Role;
    let count = |wanted: &dyn Fn(Row) -> bool| children.iter().filter(|row| wanted(**row)).count();
    let n_results = count(&|row| outline.role(row) == Role::ToolResult);
    let n_talk = count(&|row| matches!(outline.kind(row), Kind::Message | Kind::CustomMessage | Kind::Compaction));
    if count(&|row| outline.kind(row) == Kind::BranchSummary) > 0 {
        BranchKind::Summarized
    } else if n_talk < 2 {
        BranchKind::Settings
    } else if n_results > 0 && n_results < n_talk {
        BranchKind::ToolResult
    } else {
        BranchKind::Conversation
    }
}

/// Statistics about the shape of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchStatistics {
    /// Entries. Each id counts once.
    pub entries: usize,
    /// Entries without a parent.
    pub roots: usize,
    /// Entries without children: the ends of all branches.
    pub leaves: usize,
    /// Number of branch points.
    pub branch_points: usize,
    /// The largest number of children of any entry.
    pub widest: usize,
    /// The number of entries on the longest path.
    pub deepest: usize,
    /// The number of entries on the path to the given leaf.
    pub active_path: usize,
}

/// Computes the statistics of the tree.
pub fn branch_statistics(outline: &Outline, leaf: Option<Row>) -> BranchStatistics {
    let points = branch_points(outline);
    let n_rows = outline.rows().len();
    let mut n_children = vec![0u32; n_rows];
    let mut statistics = BranchStatistics {
        branch_points: points.len(),
        widest: points.iter().map(|point| point.children.len()).max().unwrap_or_default(),
        active_path: leaf.map_or(0, |leaf| outline.path(leaf).len()),
        ..BranchStatistics::default()
    };
    for row in outline.entries().filter(|row| outline.current(*row) == *row) {
        statistics.entries += 1;
        match outline.parent(row) {
            Some(parent) => n_children[parent.index()] += 1,
            None => statistics.roots += 1,
        }
    }
    let ends = (outline.entries()).filter(|row| outline.current(*row) == *row && n_children[row.index()] == 0);
    statistics.leaves = ends.count();
    statistics.widest = statistics.widest.max(usize::from(statistics.entries > statistics.roots));
    statistics.deepest = deepest(outline);
    statistics
}

/// The length of the longest path. Depths are cached, so each entry is visited once.
fn deepest(outline: &Outline) -> usize {
    let mut depths = vec![0u32; outline.rows().len()];
    let mut climb = Vec::new();
    let mut deepest = 0;
    for row in outline.entries() {
        let mut at = Some(outline.current(row));
        while let Some(row) = at.filter(|row| depths[row.index()] == 0) {
            climb.push(row);
            at = outline.parent(row);
        }
        let mut depth = at.map_or(0, |row| depths[row.index()]);
        while let Some(row) = climb.pop() {
            depth += 1;
            depths[row.index()] = depth;
        }
        deepest = deepest.max(depth as usize);
    }
    deepest
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::line::split;
    use crate::version::StableIds;

    /// An outline of entries written as `id<parent@second`, with an optional kind or role before a colon.
    pub(crate) fn outline(entries: &str) -> Outline {
        let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for entry in entries.split_whitespace() {
            let (kind, rest) = entry.split_once(':').unwrap_or(("custom", entry));
            let (links, second) = rest.split_once('@').unwrap_or((rest, "00"));
            let (id, parent) =
                links.split_once('<').map_or((links, "null".to_owned()), |(id, parent)| (id, format!("\"{parent}\"")));
            let (kind, message) = match kind {
                "user" | "assistant" | "toolResult" => ("message", format!(",\"message\":{{\"role\":\"{kind}\"}}")),
                _ => (kind, String::new()),
            };
            writeln!(
                text,
                "{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:{second}.000Z\"{message}}}"
            )
            .unwrap();
        }
        let mut outline = Outline::new();
        for line in split(text.as_bytes()) {
            outline.push(line, &mut StableIds);
        }
        outline
    }

    #[test]
    fn branch_points_have_their_kind() {
        let outline = outline(
            "user:u assistant:a1<u assistant:a2<u user:q<a2 branch_summary:s<u toolResult:t<q user:v<q label:l<v user:w<v",
        );
        let points: Vec<_> = branch_points(&outline)
            .into_iter()
            .map(|point| (outline.id(point.at.unwrap()).unwrap().to_string(), point.children.len(), point.kind))
            .collect();
        let expected =
            [("u", 3, BranchKind::Summarized), ("q", 2, BranchKind::ToolResult), ("v", 2, BranchKind::Settings)];
        assert_eq!(points, expected.map(|(id, count, kind)| (id.to_owned(), count, kind)));
    }

    #[test]
    fn statistics_count_the_shape() {
        let outline = outline("a b<a c<b d<a e f<e");
        let statistics = branch_statistics(&outline, outline.leaf());
        let expected = BranchStatistics {
            entries: 6,
            roots: 2,
            leaves: 3,
            branch_points: 2,
            widest: 2,
            deepest: 3,
            active_path: 2,
        };
        assert_eq!(statistics, expected);
        assert_eq!(branch_statistics(&Outline::new(), None), BranchStatistics::default());
    }
}
