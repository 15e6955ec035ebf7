//! The lines that a regular expression may match, by the words that it needs.

use sessile_core::line::Span;
use sessile_core::search::query::{Clause, Phrase, Query, Term};
use sessile_store::os::{OsFile, read_upto};

use crate::builder::LONG;
use crate::evaluate::{Matched, SegmentQuery, possible};
use crate::page::Corrupt;
use crate::segment::Segment;

/// Returns what an entry must contain so that a regular expression can match it; nothing if all entries must be read.
pub(crate) fn conditions(query: &Query) -> Vec<Clause> {
    let Query::Pattern(pattern) = query else { return Vec::new() };
    // The end of a long word is not in the index.
    let long = Phrase { terms: vec![Term { text: LONG.to_vec(), is_prefix: false, is_suffix: false }] };
    let or_long = |clause: &Clause| {
        let phrases = clause.phrases.iter().chain(std::iter::once(&long)).cloned();
        Clause { phrases: phrases.collect() }
    };
    pattern.needed().iter().map(or_long).collect()
}

/// Fewer spans than this are looked up one by one.
const MAX_SINGLE_LOOKUPS: usize = 32;

/// Returns the lines of a segment that meet the conditions, each with the rank of its run.
pub(crate) fn of_segment<'s>(
    segment: &'s Segment<'s>,
    conditions: &SegmentQuery<'_>,
    ranks: &[u32],
) -> Result<Vec<(u32, Span)>, Corrupt> {
    let mut found = Vec::new();
    possible(segment, conditions, ranks, &mut |Matched { document, rank, .. }| found.push((rank, document)))?;
    let all = if found.len() < MAX_SINGLE_LOOKUPS { None } else { Some(segment.spans(0..segment.info.n_documents())?) };
    let span = |(rank, document): (u32, u32)| {
        let span = match &all {
            Some(all) => all.get(document as usize).copied(),
            None => segment.spans(document..document + 1)?.first().copied(),
        };
        Ok((rank, span.ok_or(Corrupt)?))
    };
    found.into_iter().map(span).collect()
}

/// Reads the line that should be at a place; none if there is no whole line. The first byte is the end of
/// the line before.
pub(crate) fn read(file: &dyn OsFile, span: Span) -> Option<Vec<u8>> {
    // With its neighbours, which are the ends of two lines. The first line of a file is no entry.
    let mut bytes = read_upto(file, span.offset.checked_sub(1)?, span.len.checked_add(2)?).ok()?;
    let is_line = bytes.len() as u64 == span.len + 2 && bytes.first() == Some(&b'\n') && bytes.last() == Some(&b'\n');
    is_line.then(|| {
        bytes.pop();
        bytes
    })
}
