//! Folding. The cost of a fold depends on the number of folds, not on the number of hidden rows.

use std::collections::BTreeSet;
use std::ops::Range;

use sessile_display::drawing::Drawing;

/// The folded rows of a drawing, and how they move the other rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folds {
    folded: BTreeSet<usize>,
    /// The hidden ranges, ordered and disjoint, each with the number of rows hidden before it.
    hidden: Vec<(Range<usize>, usize)>,
    n_rows: usize,
}

impl Folds {
    pub(crate) fn new(drawing: &Drawing) -> Self {
        Self { n_rows: drawing.len(), ..Self::default() }
    }

    pub(crate) fn is_folded(&self, row: usize) -> bool {
        self.folded.contains(&row)
    }

    /// Folds the foldable rows among these rows.
    pub(crate) fn fold(&mut self, rows: impl Iterator<Item = usize>, drawing: &Drawing) {
        self.folded.extend(rows.filter(|row| drawing.is_foldable(*row)));
        self.hide(drawing);
    }

    pub(crate) fn toggle(&mut self, row: usize, drawing: &Drawing) {
        if !self.folded.remove(&row) {
            self.folded.insert(row);
        }
        self.hide(drawing);
    }

    fn hide(&mut self, drawing: &Drawing) {
        self.hidden.clear();
        let mut n_hidden = 0;
        for row in &self.folded {
            let below = drawing.below(*row);
            // Rows inside another fold are already hidden.
            if self.hidden.last().is_none_or(|(last, _)| below.start >= last.end) && !below.is_empty() {
                self.hidden.push((below.clone(), n_hidden));
                n_hidden += below.len();
            }
        }
    }

    /// Returns the number of visible rows.
    pub(crate) fn len(&self) -> usize {
        self.n_rows - self.hidden.last().map_or(0, |(range, before)| before + range.len())
    }

    /// Returns the row at a position among the visible rows.
    pub(crate) fn row(&self, position: usize) -> usize {
        // The folds before the row are those whose start, minus the rows hidden before it, is at most `position`.
        let n_before = self.hidden.partition_point(|(range, before)| range.start - before <= position);
        let n_hidden = match n_before.checked_sub(1) {
            Some(last) => self.hidden[last].1 + self.hidden[last].0.len(),
            None => 0,
        };
        position + n_hidden
    }

    /// Returns the position of a row, or of the fold that hides it.
    pub(crate) fn position(&self, row: usize) -> usize {
        let n_before = self.hidden.partition_point(|(range, _)| range.start <= row);
        match n_before.checked_sub(1).map(|last| &self.hidden[last]) {
            Some((range, before)) if row < range.end => range.start - before - 1,
            Some((range, before)) => row - before - range.len(),
            None => row,
        }
    }
}

#[cfg(test)]
mod tests {
    use sessile_display::drawing::Node;

    use super::*;

    #[test]
    fn positions_and_rows_are_each_others_inverse() {
        let depths = [0, 1, 2, 2, 3, 1, 2, 1, 2, 3, 3];
        let nodes: Vec<Node> = depths.map(|depth| Node { depth, is_first: false, is_shown: true }).to_vec();
        let drawing = Drawing::new(&nodes);
        for wanted in 0..1_u32 << depths.len() {
            let mut folds = Folds::new(&drawing);
            (0..depths.len()).filter(|row| wanted >> row & 1 == 1).for_each(|row| folds.toggle(row, &drawing));
            // The naive rule: a row is visible if no ancestor is folded.
            let mut seen = Vec::new();
            for row in 0..depths.len() {
                let above = std::iter::successors(drawing.parent(row), |row| drawing.parent(*row));
                if !above.into_iter().any(|row| folds.is_folded(row)) {
                    seen.push(row);
                }
            }
            assert_eq!(folds.len(), seen.len());
            for (position, row) in seen.iter().enumerate() {
                assert_eq!((folds.row(position), folds.position(*row)), (*row, position), "{wanted:b}");
            }
        }
    }
}
