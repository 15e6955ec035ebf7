//! Where the rows of a drawn tree stand, and the lines that connect them.
//!
//! The rules are those of pi's tree selector. A chain of only children stays
//! in its column; children of an entry that branches move one level to the
//! right; and what follows such a child moves once more. Entries that are not
//! shown are passed over, and what hangs on them hangs on the next one above.

/// What the drawing needs to know of an entry. Entries come in pre-order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// How many ancestors it has.
    pub(crate) depth: usize,
    /// Whether its branch goes first among its siblings.
    pub(crate) is_first: bool,
    /// Whether it is shown.
    pub(crate) is_shown: bool,
}

/// A tree laid out. Iterative throughout: depth costs memory, never stack.
#[derive(Debug)]
pub(crate) struct Drawing {
    rows: Vec<Row>,
    has_many_roots: bool,
}

/// One row of a drawing.
#[derive(Debug)]
struct Row {
    /// Its place among those that were given.
    place: usize,
    parent: Option<usize>,
    indent: usize,
    /// Whether it is one of several children.
    is_branch: bool,
    is_last: bool,
    n_children: usize,
    /// The nearest row above it, itself included, that has a connector.
    connected: Option<usize>,
}

/// The columns of one level.
const LEVEL: usize = 3;

impl Drawing {
    pub(crate) fn new(places: &[Place]) -> Self {
        let mut rows = shown_rows(places);
        link(&mut rows);
        let has_many_roots = rows.iter().filter(|row| row.parent.is_none()).count() > 1;
        for at in 0..rows.len() {
            indent(&mut rows, at, has_many_roots);
        }
        Self { rows, has_many_roots }
    }

    /// The places to draw, from top to bottom, each with its row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.iter().enumerate().map(|(at, row)| (at, row.place))
    }

    /// What stands before a row's text, in at most so many columns.
    ///
    /// Of what is deeper than that only the last levels are drawn.
    pub(crate) fn prefix(&self, at: usize, most_columns: usize) -> String {
        let n_levels = self.level(at);
        let first = n_levels.saturating_sub((most_columns / LEVEL).max(2));
        let mut cells = vec!["   "; n_levels - first];
        let mut next = self.rows[at].connected;
        while let Some(row) = next {
            let Some(cell) = (self.level(row).saturating_sub(1)).checked_sub(first) else { break };
            cells[cell] = match (row == at, self.rows[row].is_last) {
                (true, false) => "├─ ",
                (true, true) => "└─ ",
                (false, false) => "│  ",
                (false, true) => "   ",
            };
            next = self.rows[row].parent.and_then(|parent| self.rows[parent].connected);
        }
        if first > 0 {
            cells[0] = "⋯  ";
        }
        cells.concat()
    }

    /// The level at which a row is drawn. Roots side by side stand at the margin.
    fn level(&self, at: usize) -> usize {
        self.rows[at].indent - usize::from(self.has_many_roots)
    }
}

/// The rows that are shown, those on the way to the leaf first among their siblings.
fn shown_rows(places: &[Place]) -> Vec<Row> {
    let children = Children::new(places);
    let mut rows: Vec<Row> = Vec::new();
    let mut todo: Vec<(usize, Option<usize>)> = children.roots().rev().map(|root| (root, None)).collect();
    while let Some((place, above)) = todo.pop() {
        let mut nearest = above;
        if places[place].is_shown {
            nearest = Some(rows.len());
            rows.push(Row {
                place,
                parent: above,
                indent: 0,
                is_branch: false,
                is_last: true,
                n_children: 0,
                connected: None,
            });
        }
        todo.extend(children.of(place).rev().map(|child| (child, nearest)));
    }
    rows
}

/// Counts children, and finds which of them are last.
fn link(rows: &mut [Row]) {
    // The last child of each row that was met so far; the last slot is for roots.
    let mut last_child: Vec<Option<usize>> = vec![None; rows.len() + 1];
    for at in 0..rows.len() {
        let parent = rows[at].parent;
        if let Some(parent) = parent {
            rows[parent].n_children += 1;
        }
        let slot = parent.unwrap_or(rows.len());
        if let Some(sibling) = last_child[slot].replace(at) {
            rows[sibling].is_last = false;
        }
    }
}

fn indent(rows: &mut [Row], at: usize, has_many_roots: bool) {
    let Some(parent) = rows[at].parent.map(|parent| &rows[parent]) else {
        rows[at].indent = usize::from(has_many_roots);
        rows[at].is_branch = has_many_roots;
        return;
    };
    let is_branch = parent.n_children > 1;
    let moves = is_branch || (parent.is_branch && parent.indent > 0);
    let (indent, above) = (parent.indent + usize::from(moves), parent.connected);
    let row = &mut rows[at];
    row.indent = indent;
    row.is_branch = is_branch;
    row.connected = if is_branch { Some(at) } else { above };
}

/// The children of every place, the first ones first.
struct Children {
    /// Where the children of each place begin, and behind them those of the next; roots come last.
    starts: Vec<usize>,
    items: Vec<usize>,
}

impl Children {
    fn new(places: &[Place]) -> Self {
        let parents = parents(places);
        let slot = |place: usize| parents[place].unwrap_or(places.len());
        let mut starts = vec![0; places.len() + 2];
        for place in 0..places.len() {
            starts[slot(place) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut items = vec![0; places.len()];
        let (first, others): (Vec<usize>, Vec<usize>) = (0..places.len()).partition(|place| places[*place].is_first);
        for place in first.into_iter().chain(others) {
            items[next[slot(place)]] = place;
            next[slot(place)] += 1;
        }
        Self { starts, items }
    }

    fn of(&self, place: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.items[self.starts[place]..self.starts[place + 1]].iter().copied()
    }

    fn roots(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.of(self.starts.len() - 2)
    }
}

/// The parent of each place: the last one before it that is less deep.
fn parents(places: &[Place]) -> Vec<Option<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let parent = |(at, place): (usize, &Place)| {
        open.truncate(place.depth);
        let parent = open.last().copied();
        open.push(at);
        parent
    };
    places.iter().enumerate().map(parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws words: their depth is the number of dots before them, `*` goes first, `-` is not shown.
    fn drawn(words: &str) -> Vec<String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let place = |word: &&str| Place {
            depth: word.chars().take_while(|char| *char == '.').count(),
            is_first: word.contains('*'),
            is_shown: !word.contains('-'),
        };
        let drawing = Drawing::new(&words.iter().map(place).collect::<Vec<_>>());
        let row = |(at, place): (usize, usize)| drawing.prefix(at, 60) + words[place].trim_matches(['.', '*']);
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
    fn hidden_entries_are_passed_over() {
        assert_eq!(drawn("a .-x ..b ..c ...-y .d"), ["a", "├─ b", "├─ c", "└─ d"]);
        assert_eq!(drawn("-x .a .b"), ["a", "b"]);
    }

    #[test]
    fn roots_side_by_side_stand_at_the_margin() {
        assert_eq!(drawn("a .b ..c d .e .f"), ["a", "   b", "   c", "d", "├─ e", "└─ f"]);
    }

    #[test]
    fn deep_branches_show_their_last_levels() {
        let n_levels = 50_000;
        let place = |depth| Place { depth, is_first: false, is_shown: true };
        let places: Vec<Place> = (0..n_levels).map(place).chain((1..n_levels).rev().map(place)).collect();
        let drawing = Drawing::new(&places);
        let deepest = n_levels - 1;
        assert_eq!(drawing.prefix(deepest, 15), "⋯  │  │  │  ├─ ");
        let longest = drawing.rows().map(|(at, _)| drawing.prefix(at, 15).chars().count()).max();
        assert_eq!(longest, Some(15));
    }
}
