//! Ranges of a text that do not overlap.

use std::ops::Range;

/// Adds those ranges that overlap neither each other nor `spans`, which must be sorted and stays so. Of two new ranges
/// that overlap, the one that begins first stays, and the longer one if both begin together.
pub(crate) fn add_free<T>(spans: &mut Vec<(Range<usize>, T)>, mut found: Vec<(Range<usize>, T)>) {
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut n_passed = 0;
    let mut end = 0;
    found.retain(|(range, _)| {
        while spans.get(n_passed).is_some_and(|(taken, _)| taken.end <= range.start) {
            n_passed += 1;
        }
        let is_free = range.start >= end && spans.get(n_passed).is_none_or(|(taken, _)| range.end <= taken.start);
        if is_free {
            end = range.end;
        }
        is_free
    });
    if !found.is_empty() {
        spans.extend(found);
        spans.sort_by_key(|(range, _)| range.start);
    }
}

/// Whether one of some sorted ranges contains a range.
pub(crate) fn any_contains(spans: &[Range<usize>], range: &Range<usize>) -> bool {
    let n_before = spans.partition_point(|span| span.start <= range.start);
    n_before.checked_sub(1).is_some_and(|n| range.end <= spans[n].end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn overlapping_ranges_are_left_out() {
        let mut spans = vec![(5..8, 'a'), (20..30, 'b')];
        add_free(&mut spans, vec![(29..31, 'c'), (8..10, 'd'), (4..6, 'e'), (0..5, 'f'), (12..14, 'g'), (12..16, 'h')]);
        assert_eq!(spans, [(0..5, 'f'), (5..8, 'a'), (8..10, 'd'), (12..16, 'h'), (20..30, 'b')]);
    }

    #[test]
    fn containing_ranges_are_found() {
        let spans = [2..5, 8..9];
        let contained = [2..5, 3..4, 1..3, 4..6, 8..9, 9..10, 0..1].map(|range| any_contains(&spans, &range));
        assert_eq!(contained, [true, true, false, false, true, false, false]);
        assert!(!any_contains(&[], &(0..1)));
    }

    proptest! {
        #[test]
        fn ranges_never_overlap(lists in proptest::collection::vec(proptest::collection::vec((0_usize..40, 1_usize..9), 0..8), 0..4)) {
            let mut spans = Vec::new();
            for list in lists {
                let before = spans.clone();
                add_free(&mut spans, list.into_iter().map(|(start, length)| (start..start + length, ())).collect());
                prop_assert!(before.iter().all(|span| spans.contains(span)));
                prop_assert!(spans.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
            }
        }
    }
}
