//! Matches phrases: terms next to each other.

use sessile_core::search::query::{Phrase, Term};

use crate::dictionary::TermLocation;
use crate::frequencies::{Frequencies, intersect};
use crate::page::Corrupt;
use crate::positions::Positions;
use crate::postings::Postings;
use crate::segment::Segment;

/// An unchecked phrase: only the documents that have all of its terms are known.
pub(crate) struct UncheckedPhrase<'s> {
    /// The distance of each term from the first, and its positions; the rarest first.
    terms: Vec<(u32, Positions<'s>)>,
    starts: Vec<u32>,
    next: Vec<u32>,
}

impl<'s> UncheckedPhrase<'s> {
    /// Returns the phrase, the documents it may occur in, and its maximum frequencies; none if it cannot occur.
    pub(crate) fn new(
        segment: &'s Segment<'s>,
        phrase: &Phrase,
        candidates: Option<&[u32]>,
    ) -> Result<Option<(Self, Frequencies)>, Corrupt> {
        let mut lists = Vec::new();
        for (distance, term) in (0..).zip(&phrase.terms) {
            let Some(location) = segment.find(&term.text)? else { return Ok(None) };
            lists.push((distance, location, segment.postings(location)?));
        }
        lists.sort_by_key(|(_, _, postings)| postings.documents.len());
        let common = common(&lists, candidates);
        if common.is_empty() {
            return Ok(None);
        }
        let mut bounds = vec![u32::MAX; common.len()];
        for (_, _, postings) in &lists {
            let mut index = 0;
            for (document, bound) in common.iter().zip(&mut bounds) {
                while postings.documents.get(index).is_some_and(|other| other < document) {
                    index += 1;
                }
                *bound = (*bound).min(postings.frequencies[index]);
            }
        }
        let terms = lists
            .into_iter()
            .map(|(distance, location, postings)| (distance, Positions::new(segment, location, postings)));
        let phrase = Self { terms: terms.collect(), starts: Vec::new(), next: Vec::new() };
        Ok(Some((phrase, Frequencies { documents: common, frequencies: bounds })))
    }

    /// Returns how often it occurs in a document.
    pub(crate) fn frequency_in(&mut self, document: u32) -> Result<u32, Corrupt> {
        self.starts.clear();
        for (index, (distance, positions)) in self.terms.iter_mut().enumerate() {
            if !positions.of(document, &mut self.next)? {
                return Ok(0);
            }
            let shifted = self.next.iter().filter_map(|position| position.checked_sub(*distance));
            if index == 0 {
                self.starts.extend(shifted);
            } else {
                keep_common(&mut self.starts, shifted);
            }
            if self.starts.is_empty() {
                return Ok(0);
            }
        }
        Ok(u32::try_from(self.starts.len()).unwrap_or(u32::MAX))
    }
}

/// Returns the candidates that are in all lists.
fn common(lists: &[(u32, TermLocation, Postings)], candidates: Option<&[u32]>) -> Vec<u32> {
    let mut common = candidates.map(<[u32]>::to_vec);
    for (_, _, postings) in lists {
        let documents = &postings.documents;
        common = Some(common.map_or_else(|| documents.clone(), |before| intersect(&before, documents)));
    }
    common.unwrap_or_default()
}

/// Returns the documents that contain a phrase whose last term is a prefix.
pub(crate) fn of_phrase_with_prefix(
    segment: &Segment<'_>,
    phrase: &Phrase,
    candidates: Option<&[u32]>,
) -> Result<Frequencies, Corrupt> {
    let Some((last, before)) = phrase.terms.split_last() else { return Ok(Frequencies::default()) };
    let mut lists = Vec::new();
    for (distance, term) in (0..).zip(before) {
        let Some(location) = segment.find(&term.text)? else { return Ok(Frequencies::default()) };
        lists.push((distance, location, segment.postings(location)?));
    }
    lists.sort_by_key(|(_, _, postings)| postings.documents.len());
    let common = common(&lists, candidates);
    let distance = u32::try_from(before.len()).unwrap_or(u32::MAX);
    let ends = positions_of_prefix(segment, last, &common)?;
    let terms =
        lists.into_iter().map(|(distance, location, postings)| (distance, Positions::new(segment, location, postings)));
    let mut start = UncheckedPhrase { terms: terms.collect(), starts: Vec::new(), next: Vec::new() };
    let mut found = Frequencies::default();
    for here in ends.chunk_by(|one, other| one.0 == other.0) {
        let document = here[0].0;
        if start.frequency_in(document)? > 0 {
            keep_common(&mut start.starts, here.iter().filter_map(|(_, position)| position.checked_sub(distance)));
            if !start.starts.is_empty() {
                found.documents.push(document);
                found.frequencies.push(u32::try_from(start.starts.len()).unwrap_or(u32::MAX));
            }
        }
    }
    Ok(found)
}

/// Keeps the elements of an ascending list that are also in another one.
fn keep_common(list: &mut Vec<u32>, other: impl Iterator<Item = u32>) {
    let mut other = other.peekable();
    list.retain(|position| {
        while other.next_if(|next| next < position).is_some() {}
        other.peek() == Some(position)
    });
}

/// Returns the positions of words with this prefix in these documents, ascending.
fn positions_of_prefix(segment: &Segment<'_>, term: &Term, documents: &[u32]) -> Result<Vec<(u32, u32)>, Corrupt> {
    let mut found = Vec::new();
    let mut positions = Vec::new();
    for (_, location) in segment.find_all(&term.text)? {
        let postings = segment.postings(location)?;
        let common = intersect(documents, &postings.documents);
        let mut reader = Positions::new(segment, location, postings);
        for document in common {
            reader.of(document, &mut positions)?;
            found.extend(positions.iter().map(|position| (document, *position)));
        }
    }
    found.sort_unstable();
    Ok(found)
}
