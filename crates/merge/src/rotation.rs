//! Loops of parents in a form that does not depend on where a reader enters them.

use crate::entry_text::Key;

/// The position at which the least rotation of a sequence begins, and the length of its shortest period.
pub(crate) fn least_rotation(keys: &[Key]) -> (usize, usize) {
    let n = keys.len();
    let at = |index: usize| &keys[index % n];
    let (mut best, mut other, mut same) = (0, 1, 0);
    while best < n && other < n && same < n {
        match at(best + same).cmp(at(other + same)) {
            std::cmp::Ordering::Equal => same += 1,
            std::cmp::Ordering::Greater => {
                best += same + 1;
                same = 0;
            }
            std::cmp::Ordering::Less => {
                other += same + 1;
                same = 0;
            }
        }
        other += usize::from(best == other);
    }
    let begin = best.min(other);
    (begin, period(keys))
}

/// The length of the shortest part whose repetition is the whole sequence.
fn period(keys: &[Key]) -> usize {
    let n = keys.len();
    // The lengths of the longest borders of all prefixes.
    let mut borders = vec![0usize; n];
    for index in 1..n {
        let mut length = borders[index - 1];
        while length > 0 && keys[index] != keys[length] {
            length = borders[length - 1];
        }
        borders[index] = length + usize::from(keys[index] == keys[length]);
    }
    let candidate = n - borders.last().copied().unwrap_or(0);
    if candidate > 0 && n.is_multiple_of(candidate) { candidate } else { n }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_trying_all(values in proptest::collection::vec(0u8..3, 1..9)) {
            let keys: Vec<Key> = values.iter().map(|value| [*value; 32]).collect();
            let rotated = |begin: usize| [&keys[begin..], &keys[..begin]].concat();
            let (begin, period) = least_rotation(&keys);
            prop_assert_eq!(rotated(begin), (0..keys.len()).map(rotated).min().unwrap());
            let shortest = (1..=keys.len()).find(|length| keys.len().is_multiple_of(*length) && rotated(*length % keys.len()) == keys);
            prop_assert_eq!(Some(period), shortest);
        }
    }
}
