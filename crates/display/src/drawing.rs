//! Lays out the rows of a drawn tree, and the lines that connect them.
//!
//! Follows the rules of pi's tree selector. A chain of only children stays in its column. Children of an entry that
//! branches move one level to the right, and the entries after such a child move one level more. Hidden entries are
//! skipped, and their children are attached to the next visible ancestor.

use std::ops::Range;

/// The properties of an entry that the drawing needs. Entries come in pre-order.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The number of ancestors.
    pub depth: u32,
    /// Whether its branch comes first among its siblings.
    pub is_first: bool,
    /// Whether it is visible.
    pub is_shown: bool,
}

/// A tree layout. Iterative throughout: depth costs memory, never stack.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    rows: Vec<LayoutRow>,
    has_many_roots: bool,
}

/// One row of a drawing, stored compactly because there may be millions.
#[derive(Clone, Debug)]
struct LayoutRow {
    /// Its index among the nodes passed in.
    node: u32,
    parent: u32,
    indent: u32,
    /// The row after its last descendant.
    end: u32,
    /// The nearest row above it, or itself, that has a connector.
    connected: u32,
    n_children: u32,
    /// Whether it has siblings.
    is_branch: bool,
    is_last: bool,
}

/// Stands for "no row".
const NONE: u32 = u32::MAX;

/// The width of one level in columns.
pub const LEVEL_COLUMNS: usize = 3;

/// The number of levels searched for the lines that pass a row. Beyond them, nothing is drawn.
const MAX_LEVELS_CLIMBED: usize = 4096;

/// What the connector of a row shows about its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fold {
    /// Nothing.
    #[default]
    None,
    /// They can be folded.
    Open,
    /// They are folded.
    Folded,
}

impl Drawing {
    /// Lays out a tree.
    pub fn new(nodes: &[Node]) -> Self {
        let mut rows = visible_rows(nodes);
        link(&mut rows);
        let has_many_roots = rows.iter().filter(|row| row.parent == NONE).count() > 1;
        for at in 0..rows.len() {
            indent(&mut rows, at, has_many_roots);
        }
        measure(&mut rows);
        Self { rows, has_many_roots }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is visible.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The indices of the rows, from top to bottom, each with the node it shows.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.iter().enumerate().map(|(at, row)| (at, row.node as usize))
    }

    /// The node that a row shows.
    pub fn node(&self, at: usize) -> usize {
        self.rows[at].node as usize
    }

    /// The parent row of a row.
    pub fn parent(&self, at: usize) -> Option<usize> {
        index(self.rows[at].parent)
    }

    /// The descendants of a row.
    pub fn below(&self, at: usize) -> Range<usize> {
        at + 1..self.rows[at].end as usize
    }

    /// The number of children of a row.
    pub fn n_children(&self, at: usize) -> usize {
        self.rows[at].n_children as usize
    }

    /// Whether the descendants of a row can be folded. True for a root and for a row with siblings.
    pub fn is_foldable(&self, at: usize) -> bool {
        let row = &self.rows[at];
        row.n_children > 0 && (row.parent == NONE || row.is_branch)
    }

    /// Whether a row begins a stretch without branches, that is, whether it has siblings.
    pub fn is_branch(&self, at: usize) -> bool {
        self.rows[at].is_branch
    }

    /// Whether a row is the last among its siblings.
    pub fn is_last(&self, at: usize) -> bool {
        self.rows[at].is_last
    }

    /// Whether a row has a connector before its text.
    pub fn is_connected(&self, at: usize) -> bool {
        self.rows[at].connected as usize == at
    }

    /// The text before a row, at most `max_columns` wide.
    ///
    /// If the row is deeper than that, only the last levels are drawn.
    pub fn prefix(&self, at: usize, max_columns: usize) -> String {
        let n_levels = self.level(at);
        let first = n_levels.saturating_sub((max_columns / LEVEL_COLUMNS).max(2));
        let mut cells = self.cells(at, first..n_levels, Fold::None);
        if first > 0 {
            cells[0] = "⋯  ";
        }
        cells.concat()
    }

    /// The cells of some levels before a row's text, [`LEVEL_COLUMNS`] columns each.
    pub fn cells(&self, at: usize, levels: Range<usize>, fold: Fold) -> Vec<&'static str> {
        let levels = levels.start..levels.end.min(self.level(at));
        let mut cells = vec!["   "; levels.len()];
        let mut next = index(self.rows[at].connected);
        for _ in 0..MAX_LEVELS_CLIMBED {
            let Some(row) = next else { break };
            let Some(cell) = (self.level(row).saturating_sub(1)).checked_sub(levels.start) else { break };
            if let Some(slot) = cells.get_mut(cell) {
                *slot = match (row == at, self.rows[row].is_last, fold) {
                    (true, false, Fold::None) => "├─ ",
                    (true, false, Fold::Open) => "├⊟ ",
                    (true, false, Fold::Folded) => "├⊞ ",
                    (true, true, Fold::None) => "└─ ",
                    (true, true, Fold::Open) => "└⊟ ",
                    (true, true, Fold::Folded) => "└⊞ ",
                    (false, false, _) => "│  ",
                    (false, true, _) => "   ",
                };
            }
            next = self.parent(row).and_then(|parent| index(self.rows[parent].connected));
        }
        cells
    }

    /// The level at which a row is drawn. Multiple roots are at the margin.
    pub fn level(&self, at: usize) -> usize {
        self.rows[at].indent as usize - usize::from(self.has_many_roots)
    }
}

fn index(row: u32) -> Option<usize> {
    (row != NONE).then_some(row as usize)
}

#[expect(clippy::cast_possible_truncation, reason = "an outline has fewer than 2^32 rows")]
fn narrow(row: usize) -> u32 {
    row as u32
}

/// The visible rows. Among siblings, those on the way to the leaf come first.
fn visible_rows(nodes: &[Node]) -> Vec<LayoutRow> {
    let children = Children::new(nodes);
    let mut rows: Vec<LayoutRow> = Vec::new();
    let mut todo: Vec<(u32, u32)> = children.roots().rev().map(|root| (root, NONE)).collect();
    while let Some((node, above)) = todo.pop() {
        let mut nearest = above;
        if nodes[node as usize].is_shown {
            nearest = narrow(rows.len());
            let row = LayoutRow {
                node,
                parent: above,
                indent: 0,
                end: 0,
                connected: NONE,
                n_children: 0,
                is_branch: false,
                is_last: true,
            };
            rows.push(row);
        }
        todo.extend(children.of(node as usize).rev().map(|child| (child, nearest)));
    }
    rows
}

/// Counts children, and finds the last of them.
fn link(rows: &mut [LayoutRow]) {
    // The last child so far of each row. The last slot is for roots.
    let mut last_child: Vec<u32> = vec![NONE; rows.len() + 1];
    for at in 0..rows.len() {
        let parent = index(rows[at].parent);
        if let Some(parent) = parent {
            rows[parent].n_children += 1;
        }
        let slot = parent.unwrap_or(rows.len());
        if let Some(sibling) = index(std::mem::replace(&mut last_child[slot], narrow(at))) {
            rows[sibling].is_last = false;
        }
    }
}

fn indent(rows: &mut [LayoutRow], at: usize, has_many_roots: bool) {
    let Some(parent) = index(rows[at].parent).map(|parent| &rows[parent]) else {
        rows[at].indent = u32::from(has_many_roots);
        rows[at].is_branch = has_many_roots;
        return;
    };
    let is_branch = parent.n_children > 1;
    let moves = is_branch || (parent.is_branch && parent.indent > 0);
    let (indent, above) = (parent.indent + u32::from(moves), parent.connected);
    let row = &mut rows[at];
    row.indent = indent;
    row.is_branch = is_branch;
    row.connected = if is_branch { narrow(at) } else { above };
}

/// Finds the end of each row's descendants. Rows come in pre-order, so a backward pass sees every child before its
/// parent.
fn measure(rows: &mut [LayoutRow]) {
    for at in (0..rows.len()).rev() {
        let end = rows[at].end.max(narrow(at + 1));
        rows[at].end = end;
        if let Some(parent) = index(rows[at].parent) {
            rows[parent].end = rows[parent].end.max(end);
        }
    }
}

/// The children of every node, with those that come first at the start.
struct Children {
    /// The start of the children of each node, followed by those of the next. Roots come last.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Children {
    fn new(nodes: &[Node]) -> Self {
        let parents = parents(nodes);
        let slot = |node: usize| index(parents[node]).unwrap_or(nodes.len());
        let mut starts = vec![0; nodes.len() + 2];
        for node in 0..nodes.len() {
            starts[slot(node) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut items = vec![0; nodes.len()];
        for is_first in [true, false] {
            for node in (0..nodes.len()).filter(|node| nodes[*node].is_first == is_first) {
                items[next[slot(node)] as usize] = narrow(node);
                next[slot(node)] += 1;
            }
        }
        Self { starts, items }
    }

    fn of(&self, node: usize) -> impl DoubleEndedIterator<Item = u32> {
        self.items[self.starts[node] as usize..self.starts[node + 1] as usize].iter().copied()
    }

    fn roots(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.of(self.starts.len() - 2)
    }
}

/// The parent of each node: the last one before it that is less deep.
fn parents(nodes: &[Node]) -> Vec<u32> {
    let mut open: Vec<u32> = Vec::new();
    let parent = |(at, node): (usize, &Node)| {
        open.truncate(node.depth as usize);
        let parent = open.last().copied().unwrap_or(NONE);
        open.push(narrow(at));
        parent
    };
    nodes.iter().enumerate().map(parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws one node per word. The depth is the number of leading dots, `*` comes first, and `-` is hidden.
    fn drawn(words: &str) -> Vec<String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let node = |word: &&str| Node {
            depth: narrow(word.chars().take_while(|char| *char == '.').count()),
            is_first: word.contains('*'),
            is_shown: !word.contains('-'),
        };
        let drawing = Drawing::new(&words.iter().map(node).collect::<Vec<_>>());
        let row = |(at, node): (usize, usize)| drawing.prefix(at, 60) + words[node].trim_matches(['.', '*']);
        drawing.rows().map(row).collect()
    }

    #[test]
    fn chains_stay_in_their_column() {
        assert_eq!(drawn("a .b ..c"), ["a", "b", "c"]);
        assert_eq!(drawn(""), [""; 0]);
    }

    #[test]
    fn branches_are_connected() {
        assert_eq!(
            drawn("a .b ..c ...d .e ..f ...g ...h ..i .j"),
            ["a", "├─ b", "│     c", "│     d", "├─ e", "│  ├─ f", "│  │  ├─ g", "│  │  └─ h", "│  └─ i", "└─ j"],
        );
    }

    #[test]
    fn the_active_branch_goes_first() {
        assert_eq!(drawn("a* .b .c* ..d*"), ["a", "├─ c", "│     d", "└─ b"]);
    }

    #[test]
    fn hidden_entries_are_skipped() {
        assert_eq!(drawn("a .-x ..b ..c ...-y .d"), ["a", "├─ b", "├─ c", "└─ d"]);
        assert_eq!(drawn("-x .a .b"), ["a", "b"]);
    }

    #[test]
    fn several_roots_start_at_the_margin() {
        assert_eq!(drawn("a .b ..c d .e .f"), ["a", "   b", "   c", "d", "├─ e", "└─ f"]);
    }

    #[test]
    fn deep_branches_show_their_last_levels() {
        let n_levels: u32 = 50_000;
        let node = |depth| Node { depth, is_first: false, is_shown: true };
        let nodes: Vec<Node> = (0..n_levels).map(node).chain((1..n_levels).rev().map(node)).collect();
        let drawing = Drawing::new(&nodes);
        let deepest = n_levels as usize - 1;
        assert_eq!(drawing.prefix(deepest, 15), "⋯  │  │  │  ├─ ");
        let longest = drawing.rows().map(|(at, _)| drawing.prefix(at, 15).chars().count()).max();
        assert_eq!(longest, Some(15));
    }
}
