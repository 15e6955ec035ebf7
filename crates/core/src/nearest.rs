//! Suggestions for misspelled words.

/// Longer words are compared by their first characters, so that hostile input costs little.
const MAX_LENGTH: usize = 64;

/// The word most similar to `wanted`, if any is similar enough to suggest.
///
/// Case does not matter. Words are similar if they differ by a few typing errors, or if one begins with the other. Of
/// equally similar words, the first is returned.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::format::nearest::nearest;
/// assert_eq!(nearest("sesion_dir", ["color", "session_dir"]), Some("session_dir"));
/// assert_eq!(nearest("xyz", ["color", "session_dir"]), None);
/// ```
pub fn nearest<'w>(wanted: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let wanted = folded(wanted);
    if wanted.is_empty() {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for word in words {
        let most = best.map_or_else(|| max_typos(wanted.len()), |(typos, _)| typos - 1);
        if let Some(typos) = distance_within(&wanted, &folded(word), most) {
            if typos == 0 {
                return Some(word);
            }
            best = Some((typos, word));
        }
    }
    best.map(|(_, word)| word)
}

fn folded(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).take(MAX_LENGTH).collect()
}

/// The number of typing errors up to which a word is recognisable.
fn max_typos(length: usize) -> usize {
    length.div_ceil(3)
}

/// The distance between two words, if it is at most `most`. A word that continues the other has distance 1.
fn distance_within(one: &[char], other: &[char], most: usize) -> Option<usize> {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    if short.len() >= 3 && short.len() < long.len() && long.starts_with(short) {
        return (most >= 1).then_some(1);
    }
    typos(one, other, most)
}

/// The number of characters to insert, delete, change or swap with the next, if it is at most `most`.
fn typos(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    // Three rows of the table whose last cell is the result. The row before the previous one is needed for swaps.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, char) in one.iter().enumerate() {
        let mut here = vec![row + 1];
        for (column, opposite) in other.iter().enumerate() {
            let changed = above[column] + usize::from(char != opposite);
            let mut least = changed.min(above[column + 1] + 1).min(here[column] + 1);
            if row > 0 && column > 0 && *char == other[column - 1] && one[row - 1] == *opposite {
                least = least.min(before[column - 1] + 1);
            }
            here.push(least);
        }
        before = std::mem::replace(&mut above, here);
    }
    above.last().copied().filter(|typos| *typos <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(one: &str, other: &str) -> Option<usize> {
        typos(&folded(one), &folded(other), usize::MAX)
    }

    #[test]
    fn typing_errors_are_counted() {
        for (one, other, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abcd", "abxd", 1),
            ("abcd", "abd", 1),
            ("kitten", "sitting", 3),
            ("ÄB", "äb", 0),
        ] {
            assert_eq!(distance(one, other), Some(expected), "{one} {other}");
        }
    }

    #[test]
    fn dissimilar_words_are_not_suggested() {
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("release", ["High water", "Translation"]), None);
        assert_eq!(nearest("High watr", ["Highlight", "High water"]), Some("High water"));
        assert_eq!(nearest("high", ["low water", "high water an hour early"]), Some("high water an hour early"));
        assert_eq!(nearest("ac", ["ab", "ac"]), Some("ac"));
    }

    proptest! {
        #[test]
        fn distances_are_a_metric(one in "[abc]{0,8}", other in "[abc]{0,8}", third in "[abc]{0,8}") {
            let between = |one: &str, other: &str| distance(one, other).unwrap();
            prop_assert_eq!(between(&one, &other), between(&other, &one));
            prop_assert_eq!(between(&one, &other) == 0, one == other);
            prop_assert!(between(&one, &other) <= one.len().max(other.len()));
            // A limit only hides results beyond it.
            for most in 0..4 {
                let limited = typos(&folded(&one), &folded(&other), most);
                prop_assert_eq!(limited, Some(between(&one, &other)).filter(|typos| *typos <= most));
            }
            let found = nearest(&one, [other.as_str(), third.as_str()]);
            prop_assert!(found.is_none_or(|found| found == other || found == third));
        }
    }
}
