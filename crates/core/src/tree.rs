//! The whole forest of a session in the order pi shows it.

mod filter;

use crate::head::Kind;
use crate::outline::{Outline, Row};
pub use filter::{Filter, Wanted, is_silent};

/// One place in the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The entry. If several share an id, the one whose content counts.
    pub row: Row,
    /// How many ancestors it has here.
    pub depth: usize,
    /// Whether the entry stands at another place as well, because an earlier
    /// line carries the same id; the other place is the one that counts.
    pub repeated: bool,
}

/// The forest in pre-order: each entry before its children, siblings by time, roots in file order.
///
/// Siblings without a valid time come last, in file order. `odd_time` gives
/// the time of rows whose timestamp is not in pi's form.
///
/// pi lists an entry once for each line that carries its id, with all its
/// children each time, which can grow without bound and need not end. Here
/// repeated places show the entry again, and its children as long as the
/// repetitions stay in proportion to the file and never inside themselves.
pub fn forest<E>(outline: &Outline, odd_time: &mut dyn FnMut(Row) -> Result<Option<i64>, E>) -> Result<Vec<Node>, E> {
    let children = Children::build(outline, odd_time)?;
    let mut walk = Walk {
        nodes: Vec::with_capacity(outline.n_entries()),
        repeats_left: MAX_REPEATS.max(4 * outline.n_entries()),
        open: vec![false; outline.rows().len()],
    };
    let mut todo: Vec<Visit> = Vec::new();
    for root in children.roots.iter().rev() {
        todo.push(Visit::Enter { place: *root, depth: 0, repeated: false });
    }
    while let Some(visit) = todo.pop() {
        match visit {
            Visit::Leave(row) => walk.open[row.index()] = false,
            Visit::Enter { place, depth, repeated } => {
                let row = outline.current(place);
                let repeated = repeated || row != place;
                if !walk.enter(Node { row, depth, repeated }) {
                    continue;
                }
                todo.push(Visit::Leave(row));
                for child in children.of(row).iter().rev() {
                    todo.push(Visit::Enter { place: *child, depth: depth + 1, repeated });
                }
            }
        }
    }
    Ok(walk.nodes)
}

/// How many repeated places even a small file may show.
const MAX_REPEATS: usize = 100_000;

enum Visit {
    Enter { place: Row, depth: usize, repeated: bool },
    Leave(Row),
}

struct Walk {
    nodes: Vec<Node>,
    repeats_left: usize,
    /// Whether the row is being walked, that is, an ancestor of the current place.
    open: Vec<bool>,
}

impl Walk {
    /// Notes a place and says whether to go on to its children.
    fn enter(&mut self, node: Node) -> bool {
        if self.open[node.row.index()] {
            return false;
        }
        if node.repeated {
            if self.repeats_left == 0 {
                return false;
            }
            self.repeats_left -= 1;
        }
        self.nodes.push(node);
        self.open[node.row.index()] = true;
        true
    }
}

/// The children of every row in two arrays: one slice after the other, and where each begins.
struct Children {
    starts: Vec<u32>,
    items: Vec<Row>,
    roots: Vec<Row>,
}

impl Children {
    fn build<E>(outline: &Outline, odd_time: &mut dyn FnMut(Row) -> Result<Option<i64>, E>) -> Result<Self, E> {
        let n_rows = outline.rows().len();
        let mut starts = vec![0u32; n_rows + 1];
        let mut roots = Vec::new();
        for place in outline.entries() {
            match outline.placement(place) {
                Some(parent) => starts[parent.index() + 1] += 1,
                None => roots.push(place),
            }
        }
        for index in 0..n_rows {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut items = vec![None; starts[n_rows] as usize];
        for place in outline.entries() {
            if let Some(parent) = outline.placement(place) {
                items[next[parent.index()] as usize] = Some(place);
                next[parent.index()] += 1;
            }
        }
        let mut children = Self { starts, items: items.into_iter().flatten().collect(), roots };
        for index in 0..n_rows {
            let range = children.starts[index] as usize..children.starts[index + 1] as usize;
            sort_by_time(outline, &mut children.items[range], odd_time)?;
        }
        Ok(children)
    }

    fn of(&self, row: Row) -> &[Row] {
        let range = self.starts[row.index()] as usize..self.starts[row.index() + 1] as usize;
        &self.items[range]
    }
}

fn sort_by_time<E>(
    outline: &Outline,
    siblings: &mut [Row],
    odd_time: &mut dyn FnMut(Row) -> Result<Option<i64>, E>,
) -> Result<(), E> {
    if siblings.len() < 2 {
        return Ok(());
    }
    let mut timed = Vec::with_capacity(siblings.len());
    for place in siblings.iter() {
        let row = outline.current(*place);
        let time = match outline.time(row) {
            Some(time) => Some(time),
            None => odd_time(row)?,
        };
        timed.push((time.unwrap_or(i64::MAX), *place));
    }
    timed.sort_by_key(|(time, _)| *time);
    for (slot, (_, place)) in siblings.iter_mut().zip(timed) {
        *slot = place;
    }
    Ok(())
}

/// What made a place of the tree split in two or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BranchKind {
    /// A summary of the abandoned branch stands among the children: somebody navigated and took notes.
    Summarized,
    /// Two or more children continue the conversation: a question was asked again, or an answer taken again.
    Conversation,
    /// A tool result and a message of the user both follow: the turn was interrupted and resumed.
    ToolResult,
    /// At most one child continues the conversation; the others are settings, labels, names and the like.
    Settings,
}

impl BranchKind {
    /// A word for it.
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
    /// The entry; none for the start of the session, where several roots are children of nothing.
    pub at: Option<Row>,
    /// Its children in file order.
    pub children: Vec<Row>,
    /// What made it split.
    pub kind: BranchKind,
}

/// Every place where the tree splits, in file order of the entries.
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

/// Figures about the shape of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchStatistics {
    /// Entries, each id counted once.
    pub entries: usize,
    /// Entries without a parent.
    pub roots: usize,
    /// Entries without children: the ends of all branches.
    pub leaves: usize,
    /// Places where the tree splits.
    pub branch_points: usize,
    /// The most children any entry has.
    pub widest: usize,
    /// The number of entries on the longest path.
    pub deepest: usize,
    /// The number of entries on the path to the given leaf.
    pub active_path: usize,
}

/// Counts what the tree looks like, in one pass.
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

/// The length of the longest path. Depths are remembered, so each entry is climbed from once.
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
mod tests {
    use std::convert::Infallible;
    use std::fmt::Write;

    use super::*;
    use crate::line::split;
    use crate::version::StableIds;

    /// An outline of entries written as `id<parent@second`, a kind or role before a colon.
    fn outline(entries: &str) -> Outline {
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

    /// The forest as `depth:id`, repeated places marked.
    fn drawn(outline: &Outline) -> String {
        let Ok(nodes) = forest(outline, &mut |_| Ok::<_, Infallible>(None));
        let draw = |node: &Node| {
            let mark = if node.repeated { "*" } else { "" };
            format!("{}:{}{mark}", node.depth, outline.id(node.row).map_or("?".to_owned(), |id| id.to_string()))
        };
        nodes.iter().map(draw).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn siblings_are_sorted_by_time_and_roots_are_not() {
        assert_eq!(drawn(&outline("r@09 late<r@30 early<r@10 same<r@10 r2@01")), "0:r 1:early 1:same 1:late 0:r2");
        // A time that is none comes last.
        assert_eq!(drawn(&outline("r bad<r@xx a<r@01")), "0:r 1:a 1:bad");
    }

    #[test]
    fn loops_lose_nobody() {
        assert_eq!(drawn(&outline("r a<b b<a")), "0:r 0:a 1:b");
        assert_eq!(drawn(&outline("a<a b<a")), "0:a 1:b");
    }

    #[test]
    fn a_reused_id_stands_at_each_of_its_places() {
        // As pi: two roots, the same entry, the same child.
        assert_eq!(drawn(&outline("a b<a a")), "0:a* 1:b* 0:a 1:b");
        // Below itself an entry is not shown again.
        assert_eq!(drawn(&outline("a b<a a<b c<b")), "0:a* 1:b* 2:c* 0:a 1:b 2:c");
    }

    #[test]
    fn repetition_is_bounded() {
        // Each id twice under both places of the one before: pi would print 2^40 entries.
        let chain: Vec<_> = (1..40).map(|n| format!("n{n}<n{} n{n}<n{}", n - 1, n - 1)).collect();
        let outline = outline(&format!("n0 n0 {}", chain.join(" ")));
        let Ok(nodes) = forest(&outline, &mut |_| Ok::<_, Infallible>(None));
        assert!(nodes.len() <= MAX_REPEATS + outline.n_entries());
        assert_eq!(nodes.iter().filter(|node| !node.repeated).count(), 40);
    }

    #[test]
    fn branch_points_say_why() {
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
