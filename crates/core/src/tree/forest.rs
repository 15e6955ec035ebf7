//! The whole forest of a session in pi's order.

use crate::date::Timestamp;
use crate::outline::{Outline, Row};

/// One node of the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The entry. If several share an id, the one whose content counts.
    pub row: Row,
    /// The number of ancestors at this position.
    pub depth: usize,
    /// Whether the entry also appears elsewhere, because an earlier line carries the same id. The other position is the
    /// one that counts.
    pub repeated: bool,
}

/// The forest in pre-order: each entry before its children, siblings by time, roots in file order.
///
/// Siblings without a valid time come last, in file order. `odd_time` returns the time of rows whose timestamp is not
/// in pi's format.
///
/// pi lists an entry once for each line that carries its id, with all its children each time. That can grow without
/// bound and need not end. Here, repeated nodes show the entry again. They also show its children, as long as the
/// repetitions stay in proportion to the file and never occur inside themselves.
pub fn forest<E>(
    outline: &Outline,
    odd_time: &mut dyn FnMut(Row) -> Result<Option<Timestamp>, E>,
) -> Result<Vec<Node>, E> {
    let mut nodes = Vec::with_capacity(outline.n_entries());
    walk(outline, odd_time, |node| nodes.push(node))?;
    Ok(nodes)
}

/// Visits the nodes of the [`forest`] in order.
pub fn walk<E>(
    outline: &Outline,
    odd_time: &mut dyn FnMut(Row) -> Result<Option<Timestamp>, E>,
    visit: impl FnMut(Node),
) -> Result<(), E> {
    if outline.may_loop() {
        walk_repeating(outline, odd_time)?.into_iter().for_each(visit);
    } else {
        Links::build(outline, odd_time)?.walk(visit);
    }
    Ok(())
}

/// The forest of any session. The simple reference implementation of [`Links`], which cannot repeat an entry.
fn walk_repeating<E>(
    outline: &Outline,
    odd_time: &mut dyn FnMut(Row) -> Result<Option<Timestamp>, E>,
) -> Result<Vec<Node>, E> {
    let children = Children::build(outline, odd_time)?;
    let mut walk = Walk {
        nodes: Vec::with_capacity(outline.n_entries()),
        repeats_left: MAX_REPEATS.max(4 * outline.n_entries()),
        open: vec![false; outline.rows().len()],
    };
    let mut todo: Vec<Visit> = Vec::new();
    for root in children.roots.iter().rev() {
        todo.push(Visit::Enter { position: *root, depth: 0, repeated: false });
    }
    while let Some(visit) = todo.pop() {
        match visit {
            Visit::Leave(row) => walk.open[row.index()] = false,
            Visit::Enter { position, depth, repeated } => {
                let row = outline.current(position);
                let repeated = repeated || row != position;
                if !walk.enter(Node { row, depth, repeated }) {
                    continue;
                }
                todo.push(Visit::Leave(row));
                for child in children.of(row).iter().rev() {
                    todo.push(Visit::Enter { position: *child, depth: depth + 1, repeated });
                }
            }
        }
    }
    Ok(walk.nodes)
}

/// The number of repeated nodes that even a small file may show.
const MAX_REPEATS: usize = 100_000;

enum Visit {
    Enter { position: Row, depth: usize, repeated: bool },
    Leave(Row),
}

struct Walk {
    nodes: Vec<Node>,
    repeats_left: usize,
    /// Whether the row is an ancestor of the current position.
    open: Vec<bool>,
}

impl Walk {
    /// Adds a node and returns whether to continue with its children.
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

/// The children of every row in two arrays: all slices in sequence, and the start of each.
struct Children {
    starts: Vec<u32>,
    items: Vec<Row>,
    roots: Vec<Row>,
}

impl Children {
    fn build<E>(outline: &Outline, odd_time: &mut dyn FnMut(Row) -> Result<Option<Timestamp>, E>) -> Result<Self, E> {
        let n_rows = outline.rows().len();
        let mut starts = vec![0u32; n_rows + 1];
        let mut roots = Vec::new();
        for position in outline.entries() {
            match outline.placement(position) {
                Some(parent) => starts[parent.index() + 1] += 1,
                None => roots.push(position),
            }
        }
        for index in 0..n_rows {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut items = vec![None; starts[n_rows] as usize];
        for position in outline.entries() {
            if let Some(parent) = outline.placement(position) {
                items[next[parent.index()] as usize] = Some(position);
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

/// The children of every row as linked lists, for sessions in which every entry appears once and after its parent.
struct Links {
    /// The first child of each row, followed by the first root.
    first: Vec<u32>,
    /// The next sibling of each row.
    next: Vec<u32>,
}

/// The end of a list.
const END: u32 = u32::MAX;

impl Links {
    fn build<E>(outline: &Outline, odd_time: &mut dyn FnMut(Row) -> Result<Option<Timestamp>, E>) -> Result<Self, E> {
        let n_rows = outline.rows().len();
        let mut links = Self { first: vec![END; n_rows + 1], next: vec![END; n_rows] };
        let mut splits = Vec::new();
        for position in outline.entries().rev() {
            let above = outline.placement(position).map_or(n_rows, Row::index);
            let sibling = links.first[above];
            if sibling != END && links.next[sibling as usize] == END && above != n_rows {
                splits.push(above);
            }
            links.next[position.index()] = sibling;
            links.first[above] = position.number();
        }
        let mut siblings = Vec::new();
        for above in splits {
            siblings.clear();
            siblings.extend(links.chain(links.first[above]));
            sort_by_time(outline, &mut siblings, odd_time)?;
            let mut next = END;
            for position in siblings.iter().rev() {
                links.next[position.index()] = next;
                next = position.number();
            }
            links.first[above] = next;
        }
        Ok(links)
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = Row> {
        let row = |number: u32| (number != END).then(|| Row::numbered(number));
        std::iter::successors(row(first), move |position| row(self.next[position.index()]))
    }

    fn walk(&self, mut visit: impl FnMut(Node)) {
        // Where to continue after the descendants of an entry.
        let mut todo: Vec<(u32, usize)> = Vec::new();
        let mut at = (self.first[self.next.len()], 0);
        loop {
            let (number, depth) = at;
            if number == END {
                match todo.pop() {
                    Some(next) => at = next,
                    None => return,
                }
                continue;
            }
            let row = Row::numbered(number);
            visit(Node { row, depth, repeated: false });
            let sibling = self.next[row.index()];
            if sibling != END {
                todo.push((sibling, depth));
            }
            at = (self.first[row.index()], depth + 1);
        }
    }
}

fn sort_by_time<E>(
    outline: &Outline,
    siblings: &mut [Row],
    odd_time: &mut dyn FnMut(Row) -> Result<Option<Timestamp>, E>,
) -> Result<(), E> {
    if siblings.len() < 2 {
        return Ok(());
    }
    let mut timed = Vec::with_capacity(siblings.len());
    for position in siblings.iter() {
        let row = outline.current(*position);
        let time = match outline.time(row) {
            Some(time) => Some(time),
            None => odd_time(row)?,
        };
        timed.push((time.unwrap_or(Timestamp::MAX), *position));
    }
    timed.sort_by_key(|(time, _)| *time);
    for (slot, (_, position)) in siblings.iter_mut().zip(timed) {
        *slot = position;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::tree::tests::outline;

    /// The forest as `depth:id`, with repeated nodes marked.
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
        // An invalid time comes last.
        assert_eq!(drawn(&outline("r bad<r@xx a<r@01")), "0:r 1:a 1:bad");
    }

    #[test]
    fn loops_lose_no_session() {
        assert_eq!(drawn(&outline("r a<b b<a")), "0:r 0:a 1:b");
        assert_eq!(drawn(&outline("a<a b<a")), "0:a 1:b");
    }

    #[test]
    fn a_reused_id_is_shown_at_each_position() {
        // As in pi: two roots, the same entry, the same child.
        assert_eq!(drawn(&outline("a b<a a")), "0:a* 1:b* 0:a 1:b");
        // An entry is not shown again below itself.
        assert_eq!(drawn(&outline("a b<a a<b c<b")), "0:a* 1:b* 2:c* 0:a 1:b 2:c");
    }

    #[test]
    fn repetition_is_bounded() {
        // Each id occurs twice under both positions of the one before: pi would print 2^40 entries.
        let chain: Vec<_> = (1..40).map(|n| format!("n{n}<n{} n{n}<n{}", n - 1, n - 1)).collect();
        let outline = outline(&format!("n0 n0 {}", chain.join(" ")));
        let Ok(nodes) = forest(&outline, &mut |_| Ok::<_, Infallible>(None));
        assert!(nodes.len() <= MAX_REPEATS + outline.n_entries());
        assert_eq!(nodes.iter().filter(|node| !node.repeated).count(), 40);
    }

    proptest! {
        #[test]
        fn chains_and_slices_make_the_same_forest(
            parents in prop::collection::vec((any::<prop::sample::Index>(), 0u8..70), 0..60),
        ) {
            let entries = parents.iter().enumerate().map(|(n, (parent, second))| match parent.index(n + 1) {
                0 => format!("n{n}@{second:02}"),
                parent => format!("n{n}<n{}@{second:02}", parent - 1),
            });
            let outline = outline(&entries.collect::<Vec<_>>().join(" "));
            prop_assert!(!outline.may_loop());
            // Seconds from 60 on are invalid. `odd_time` knows some of those times.
            let mut odd_time =
                |row: Row| Ok::<_, Infallible>(row.number().is_multiple_of(3).then_some(Timestamp::from_ms(row.number().into())));
            let Ok(chains) = forest(&outline, &mut odd_time);
            let Ok(slices) = walk_repeating(&outline, &mut odd_time);
            prop_assert_eq!(chains, slices);
        }
    }
}
