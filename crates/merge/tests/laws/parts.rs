//! Copies that are read in parts.

use std::convert::Infallible;

use sessile_core::line::{Line, Span};
use sessile_merge::{Bytes, MergeOptions, Merger, Part, Source};

use crate::for_all;
use crate::generate::Nature;

/// A copy whose parts end after some lines, and whose first lines may be read for themselves.
struct InParts<'t> {
    whole: Bytes<'t>,
    n_lines: Vec<usize>,
    /// Whether lines that the first copy begins with are taken from there.
    is_compared: bool,
}

impl Source for InParts<'_> {
    type Error = Infallible;

    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), Infallible> {
        self.whole.scan(on_line)
    }

    fn common_lines(&self, other: &Self) -> Result<u64, Infallible> {
        if self.is_compared { self.whole.common_lines(&other.whole) } else { Ok(0) }
    }

    fn scan_parts(&self, empty: &Part, on_part: &mut dyn FnMut(Part)) -> Result<(), Infallible> {
        let mut lengths = self.n_lines.iter().cycle();
        let mut part = empty.next();
        let mut n_left = 1;
        self.scan(&mut |line| {
            part.push(line);
            n_left -= 1;
            while n_left == 0 {
                on_part(std::mem::replace(&mut part, empty.next()));
                n_left = *lengths.next().unwrap();
            }
            true
        })?;
        on_part(part);
        Ok(())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, Infallible> {
        self.whole.read(span)
    }
}

fn merged(copies: &[InParts<'_>]) -> String {
    let merger = Merger::read(copies, MergeOptions { align: false }).unwrap();
    let mut out = Vec::new();
    let written = merger.canonical().write(&mut |line| {
        out.extend_from_slice(line);
        Ok(())
    });
    written.unwrap();
    String::from_utf8(out).unwrap()
}

/// The result if each copy is one part and no lines come from the first copy.
fn merged_apart(copies: &[String]) -> String {
    let n_lines = vec![usize::MAX];
    let whole = copies.iter().map(|copy| Bytes(copy.as_bytes()));
    merged(&whole.map(|whole| InParts { whole, n_lines: n_lines.clone(), is_compared: false }).collect::<Vec<_>>())
}

#[test]
fn it_does_not_matter_where_parts_begin_and_end() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|random, copies| {
            // Copies with different headers have no common lines.
            let header = copies[0].lines().next().unwrap();
            let lines_after = |copy: &String| copy.split_once('\n').map_or(String::new(), |(_, rest)| rest.to_owned());
            let copies: Vec<String> = copies.iter().map(|copy| format!("{header}\n{}", lines_after(copy))).collect();
            let expected = merged_apart(&copies);
            let in_parts: Vec<InParts<'_>> = copies
                .iter()
                .map(|copy| {
                    // Some parts are empty. The first number is not, so that parts come to an end.
                    let n_lines = vec![1 + random.below(3), random.below(3), random.below(5)];
                    InParts { whole: Bytes(copy.as_bytes()), n_lines, is_compared: random.chance(50) }
                })
                .collect();
            assert_eq!(merged(&in_parts), expected);
        });
    }
}
