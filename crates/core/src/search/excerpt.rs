//! Excerpts of texts around a match.

use std::ops::Range;

/// A piece of a text, and the matches in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The piece, with an ellipsis where the text continues.
    pub text: String,
    /// The byte ranges of the matches, in order and without overlap.
    pub ranges: Vec<Range<usize>>,
}

/// The approximate number of bytes shown before the first match.
const BYTES_BEFORE: usize = 60;

/// The approximate total number of bytes shown.
const MAX_BYTES: usize = 240;

const ELLIPSIS: &str = "…";

impl Excerpt {
    /// The surroundings of the first of these matches, which must be in order.
    pub fn new(text: &str, matches: &[Range<usize>]) -> Self {
        Self::with_room(text, matches, 0)
    }

    /// Like [`new`](Self::new), with about `room` more bytes on each side.
    pub fn with_room(text: &str, matches: &[Range<usize>], room: usize) -> Self {
        let Range { start, end } = Self::window(text, matches);
        let start = text.floor_char_boundary(start.saturating_sub(room));
        let end = text.ceil_char_boundary(end.saturating_add(room).min(text.len()));
        let mut excerpt = Self::default();
        if start > 0 {
            excerpt.text.push_str(ELLIPSIS);
        }
        let shift = excerpt.text.len();
        excerpt.text.push_str(text.get(start..end).unwrap_or_default());
        if end < text.len() {
            excerpt.text.push_str(ELLIPSIS);
        }
        for matched in matches.iter().filter(|matched| matched.start < end && matched.end > start) {
            let range = matched.start.max(start) - start + shift..matched.end.min(end) - start + shift;
            match excerpt.ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => excerpt.ranges.push(range),
            }
        }
        excerpt
    }

    /// The part of a text that an excerpt shows.
    pub fn window(text: &str, matches: &[Range<usize>]) -> Range<usize> {
        let first = text.floor_char_boundary(matches.first().map_or(0, |matched| matched.start.min(text.len())));
        let start = text.floor_char_boundary(first.saturating_sub(BYTES_BEFORE));
        let start = if start == 0 { 0 } else { after_space(text, start, first) };
        start..text.ceil_char_boundary(start.saturating_add(MAX_BYTES).min(text.len()))
    }

    /// The ranges in UTF-16 units, as in JavaScript.
    pub fn utf16_ranges(&self) -> Vec<Range<usize>> {
        let units = |to: usize| self.text.get(..to).map_or(0, |text| text.encode_utf16().count());
        self.ranges.iter().map(|range| units(range.start)..units(range.end)).collect()
    }
}

/// The start of the first word after `from`, if there is one before `to`.
fn after_space(text: &str, from: usize, to: usize) -> usize {
    let cut = text.get(from..to).unwrap_or_default();
    let space = cut.char_indices().find(|(_, char)| char.is_whitespace());
    space.map_or(from, |(at, char)| from + at + char.len_utf8())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(start: usize, end: usize) -> Vec<Range<usize>> {
        std::iter::once(start..end).collect()
    }

    #[test]
    fn the_first_match_is_shown_with_its_context() {
        let all = Excerpt::new("a needle here", &one(2, 8));
        assert_eq!((all.text.as_str(), all.ranges), ("a needle here", one(2, 8)));
        let long = format!("{}needle {}", "word ".repeat(50), "more ".repeat(90));
        let some = Excerpt::new(&long, &[250..256, 253..260, 700..704]);
        assert!(some.text.starts_with("…word ") && some.text.ends_with('…'), "{}", some.text);
        let [range] = &some.ranges[..] else { panic!() };
        assert_eq!(some.text.get(range.clone()), Some("needle mor"));
        assert_eq!(Excerpt::new("", &[]), Excerpt::default());
        assert_eq!(Excerpt::new("é👍x", &one(2, 6)).utf16_ranges(), one(1, 3));
    }

    proptest! {
        #[test]
        fn ranges_are_relative_to_the_excerpt(text in ".{0,400}", at in 0usize..400, length in 1usize..20) {
            let start = text.floor_char_boundary(at);
            let end = text.ceil_char_boundary((start + length).min(text.len()));
            let excerpt = Excerpt::new(&text, std::slice::from_ref(&(start..end)));
            for range in &excerpt.ranges {
                prop_assert!(excerpt.text.get(range.clone()).is_some_and(|part| text.contains(part)));
            }
            prop_assert!(excerpt.text.len() <= MAX_BYTES + 16);
        }
    }
}
