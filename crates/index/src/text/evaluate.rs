//! A query against one segment.

use sessile_core::search::filter::{Filter, tag};
use sessile_core::search::query::{Clause, Phrase, Term};
use sessile_core::search::score::Scale;

use super::builder::{MODEL, TOOL};
use super::codec::Bytes;
use super::dictionary::TermPlace;
use super::page::Untrusted;
use super::postings::{BLOCK, Postings};
use super::segment::{Facts, Segment};

/// What is looked for.
pub(super) struct Wanted<'w> {
    pub(super) clauses: &'w [Clause],
    pub(super) filter: &'w Filter,
    pub(super) scale: &'w Scale,
}

/// Documents in which something occurs, ascending, and how often.
#[derive(Debug, Default)]
struct Found {
    documents: Vec<u32>,
    frequencies: Vec<u32>,
}

/// A run whose documents are not asked for has this rank.
pub(super) const UNWANTED: u32 = u32::MAX;

/// Calls `on_match` with every document that matches: its number, the rank of its run, its score and what is known of it.
pub(super) fn evaluate(
    segment: &Segment<'_>,
    wanted: &Wanted<'_>,
    ranks: &[u32],
    on_match: &mut dyn FnMut(u32, u32, f32, Facts),
) -> Result<(), Untrusted> {
    if ranks.iter().all(|rank| *rank == UNWANTED) {
        return Ok(());
    }
    let Some((candidates, found)) = matching(segment, wanted)? else { return Ok(()) };
    score(segment, wanted, ranks, &candidates, &found, on_match)
}

/// The documents that match, and each clause's part in that; none if there are none.
fn matching(segment: &Segment<'_>, wanted: &Wanted<'_>) -> Result<Option<(Vec<u32>, Vec<Found>)>, Untrusted> {
    let mut found: Vec<Found> = Vec::new();
    found.resize_with(wanted.clauses.len(), Found::default);
    let mut candidates: Option<Vec<u32>> = tagged(segment, wanted.filter)?;
    // Phrases last: the fewer documents are left, the fewer positions are read.
    let is_phrase = |clause: &Clause| clause.phrases.iter().any(|phrase| phrase.terms.len() > 1);
    for turn in [false, true] {
        for (place, clause) in wanted.clauses.iter().enumerate().filter(|(_, clause)| is_phrase(clause) == turn) {
            found[place] = of_clause(segment, clause, candidates.as_deref())?;
            let documents = &found[place].documents;
            let both = candidates.as_ref().map_or_else(|| documents.clone(), |before| intersect(before, documents));
            if both.is_empty() {
                return Ok(None);
            }
            candidates = Some(both);
        }
    }
    Ok(candidates.filter(|left| !left.is_empty()).map(|candidates| (candidates, found)))
}

/// The documents that have the tool and the model that are asked for; none if nothing is.
fn tagged(segment: &Segment<'_>, filter: &Filter) -> Result<Option<Vec<u32>>, Untrusted> {
    let mut candidates = None;
    if let Some(tool) = &filter.tool {
        let place = segment.find(&[TOOL, tag(tool).as_bytes()].concat())?;
        candidates = Some(place.map(|place| segment.postings(place)).transpose()?.unwrap_or_default().documents);
    }
    if filter.model.is_some() {
        let models = segment.find_all(MODEL)?;
        let is_wanted = |name: &[u8]| filter.is_model(&String::from_utf8_lossy(name));
        let places: Vec<TermPlace> =
            models.into_iter().filter(|(name, _)| is_wanted(name)).map(|(_, place)| place).collect();
        let documents = union(segment, &places)?.documents;
        candidates = Some(candidates.map_or_else(|| documents.clone(), |before: Vec<u32>| intersect(&before, &documents)));
    }
    Ok(candidates)
}

fn of_clause(segment: &Segment<'_>, clause: &Clause, candidates: Option<&[u32]>) -> Result<Found, Untrusted> {
    let mut best = Found::default();
    for phrase in &clause.phrases {
        let found = match &phrase.terms[..] {
            [term] => of_term(segment, term)?,
            _ => of_phrase(segment, phrase, candidates)?,
        };
        best = if best.documents.is_empty() { found } else { greatest(&best, &found) };
    }
    Ok(best)
}

fn of_term(segment: &Segment<'_>, term: &Term) -> Result<Found, Untrusted> {
    if term.is_prefix {
        let places: Vec<TermPlace> = segment.find_all(&term.text)?.into_iter().map(|(_, place)| place).collect();
        return union(segment, &places);
    }
    let Some(place) = segment.find(&term.text)? else { return Ok(Found::default()) };
    let Postings { documents, frequencies, .. } = segment.postings(place)?;
    Ok(Found { documents, frequencies })
}

/// The documents of several terms, with the sum of their frequencies.
fn union(segment: &Segment<'_>, places: &[TermPlace]) -> Result<Found, Untrusted> {
    if let [place] = places {
        let Postings { documents, frequencies, .. } = segment.postings(*place)?;
        return Ok(Found { documents, frequencies });
    }
    let mut sums = vec![0u32; segment.info.n_documents() as usize];
    for place in places {
        let postings = segment.postings(*place)?;
        for (document, frequency) in postings.documents.iter().zip(&postings.frequencies) {
            let sum = sums.get_mut(*document as usize).ok_or(Untrusted)?;
            *sum = sum.saturating_add(*frequency);
        }
    }
    let mut found = Found::default();
    for (document, sum) in (0..).zip(sums).filter(|(_, sum)| *sum > 0) {
        found.documents.push(document);
        found.frequencies.push(sum);
    }
    Ok(found)
}

/// The documents of either, with the greater of the frequencies.
fn greatest(one: &Found, other: &Found) -> Found {
    let mut found = Found::default();
    let (mut left, mut right) = (0, 0);
    loop {
        let (a, b) = (one.documents.get(left), other.documents.get(right));
        let Some(document) = a.into_iter().chain(b).min().copied() else { return found };
        let mut frequency = 0;
        if a == Some(&document) {
            frequency = one.frequencies[left];
            left += 1;
        }
        if b == Some(&document) {
            frequency = frequency.max(other.frequencies[right]);
            right += 1;
        }
        found.documents.push(document);
        found.frequencies.push(frequency);
    }
}

/// What is in both of two ascending lists.
fn intersect(one: &[u32], other: &[u32]) -> Vec<u32> {
    let (few, mut many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut both = Vec::new();
    let leaps = few.len().saturating_mul(16) < many.len();
    for document in few {
        let skipped = if leaps {
            many.partition_point(|other| other < document)
        } else {
            many.iter().take_while(|other| *other < document).count()
        };
        many = &many[skipped..];
        if many.first() == Some(document) {
            both.push(*document);
        }
    }
    both
}

/// The documents in which the terms of a phrase stand side by side.
fn of_phrase(segment: &Segment<'_>, phrase: &Phrase, candidates: Option<&[u32]>) -> Result<Found, Untrusted> {
    let mut lists: Vec<(u32, TermPlace, Postings)> = Vec::new();
    let mut prefixes: Vec<(u32, &Term)> = Vec::new();
    for (distance, term) in (0..).zip(&phrase.terms) {
        if term.is_prefix {
            prefixes.push((distance, term));
            continue;
        }
        let Some(place) = segment.find(&term.text)? else { return Ok(Found::default()) };
        lists.push((distance, place, segment.postings(place)?));
    }
    lists.sort_by_key(|(_, _, postings)| postings.documents.len());
    let mut common = candidates.map(<[u32]>::to_vec);
    for (_, _, postings) in &lists {
        common = Some(common.map_or_else(|| postings.documents.clone(), |before| intersect(&before, &postings.documents)));
    }
    let common = common.unwrap_or_default();
    if common.is_empty() {
        return Ok(Found::default());
    }
    let mut merged = Vec::new();
    for (distance, term) in prefixes {
        merged.push((distance, positions_of_prefix(segment, term, &common)?));
    }
    let is_dense = |postings: &Postings| common.len() * 8 > postings.documents.len();
    let mut readers: Vec<(u32, Positions<'_>)> = Vec::new();
    for (distance, place, postings) in lists {
        let is_dense = is_dense(&postings);
        readers.push((distance, Positions::new(segment, place, postings, is_dense)?));
    }
    let mut found = Found::default();
    let (mut starts, mut next) = (Vec::new(), Vec::new());
    for document in common {
        starts.clear();
        let mut is_first = true;
        let mut narrow = |distance: u32, positions: &[u32]| {
            let shifted = positions.iter().filter_map(|position| position.checked_sub(distance));
            if is_first {
                starts.extend(shifted);
            } else {
                keep_common(&mut starts, shifted);
            }
            is_first = false;
            !starts.is_empty()
        };
        let mut matches = true;
        for (distance, reader) in &mut readers {
            reader.of(document, &mut next)?;
            matches = matches && narrow(*distance, &next);
            if !matches {
                break;
            }
        }
        for (distance, positions) in &merged {
            let start = positions.partition_point(|(other, _)| *other < document);
            next.clear();
            next.extend(positions[start..].iter().take_while(|(other, _)| *other == document).map(|(_, at)| *at));
            matches = matches && narrow(*distance, &next);
        }
        if matches {
            found.documents.push(document);
            found.frequencies.push(u32::try_from(starts.len()).unwrap_or(u32::MAX));
        }
    }
    Ok(found)
}

/// Keeps of an ascending list what another one has too.
fn keep_common(list: &mut Vec<u32>, other: impl Iterator<Item = u32>) {
    let mut other = other.peekable();
    list.retain(|position| {
        while other.next_if(|next| next < position).is_some() {}
        other.peek() == Some(position)
    });
}

/// Where words that begin like this stand in these documents, ascending.
fn positions_of_prefix(segment: &Segment<'_>, term: &Term, documents: &[u32]) -> Result<Vec<(u32, u32)>, Untrusted> {
    let mut found = Vec::new();
    let mut positions = Vec::new();
    for (_, place) in segment.find_all(&term.text)? {
        let postings = segment.postings(place)?;
        let common = intersect(documents, &postings.documents);
        let is_dense = common.len() * 8 > postings.documents.len();
        let mut reader = Positions::new(segment, place, postings, is_dense)?;
        for document in common {
            reader.of(document, &mut positions)?;
            found.extend(positions.iter().map(|position| (document, *position)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The positions of one term, read document by document from the first to the last.
pub(super) struct Positions<'s> {
    segment: &'s Segment<'s>,
    place: TermPlace,
    postings: Postings,
    /// All positions, if most of them will be needed.
    whole: Option<Vec<u8>>,
    /// The block that is loaded, if any.
    block: Option<(usize, Vec<u8>)>,
    /// The next document, counted among those of the term, and where its positions begin in its block.
    next: usize,
    at: usize,
}

impl<'s> Positions<'s> {
    pub(super) fn new(
        segment: &'s Segment<'s>,
        place: TermPlace,
        postings: Postings,
        is_dense: bool,
    ) -> Result<Self, Untrusted> {
        let whole = is_dense.then(|| segment.positions(place, 0..place.lengths.positions)).transpose()?;
        Ok(Self { segment, place, postings, whole, block: None, next: 0, at: 0 })
    }

    /// The positions in a document that the term occurs in. Documents must be asked for in order.
    pub(super) fn of(&mut self, document: u32, out: &mut Vec<u32>) -> Result<(), Untrusted> {
        out.clear();
        let behind = &self.postings.documents[self.next.min(self.postings.documents.len())..];
        let index = self.next
            + match behind.iter().take(BLOCK).position(|other| *other >= document) {
                Some(near) => near,
                None => behind.partition_point(|other| *other < document),
            };
        if self.postings.documents.get(index) != Some(&document) {
            return Err(Untrusted);
        }
        self.load(index / BLOCK)?;
        let Some((_, bytes)) = &self.block else { return Err(Untrusted) };
        let mut rest = Bytes::new(bytes.get(self.at..).ok_or(Untrusted)?);
        for frequency in &self.postings.frequencies[self.next..index] {
            rest.skip(*frequency).ok_or(Untrusted)?;
        }
        let mut position = 0u32;
        for _ in 0..self.postings.frequencies[index] {
            position = position.wrapping_add(rest.small().ok_or(Untrusted)?);
            out.push(position);
        }
        self.at += rest.position();
        self.next = index + 1;
        Ok(())
    }

    /// Makes a block the current one.
    fn load(&mut self, block: usize) -> Result<(), Untrusted> {
        if self.block.as_ref().is_some_and(|(loaded, _)| *loaded == block) {
            return Ok(());
        }
        let range = self.postings.block(block, self.place.lengths);
        let bytes = match &self.whole {
            Some(whole) => {
                let place = |at: u64| usize::try_from(at).map_err(|_| Untrusted);
                whole.get(place(range.start)?..place(range.end)?).ok_or(Untrusted)?.to_vec()
            }
            None => self.segment.positions(self.place, range)?,
        };
        self.block = Some((block, bytes));
        (self.next, self.at) = (block * BLOCK, 0);
        Ok(())
    }
}

/// Fewer documents than this are looked up one by one.
const FEW: usize = 32;

fn score(
    segment: &Segment<'_>,
    wanted: &Wanted<'_>,
    ranks: &[u32],
    candidates: &[u32],
    found: &[Found],
    on_match: &mut dyn FnMut(u32, u32, f32, Facts),
) -> Result<(), Untrusted> {
    let all_facts =
        if candidates.len() < FEW { None } else { Some(segment.facts(0..segment.info.n_documents())?) };
    let times = wanted.filter.seconds();
    let mut places = vec![0; found.len()];
    let (mut run, mut run_end) = (0, segment.info.runs.first().map_or(0, |run| run.n_documents));
    for document in candidates.iter().copied() {
        while document >= run_end {
            run += 1;
            run_end += segment.info.runs.get(run).ok_or(Untrusted)?.n_documents;
        }
        let rank = ranks.get(run).copied().unwrap_or(UNWANTED);
        if rank == UNWANTED {
            continue;
        }
        let facts = match &all_facts {
            Some(facts) => facts.get(document as usize).copied(),
            None => segment.facts(document..document + 1)?.first().copied(),
        };
        let facts = facts.ok_or(Untrusted)?;
        if !wanted.filter.admits_kind(facts.kind) || !times.contains(&facts.time) {
            continue;
        }
        let mut sum = 0.0;
        for (found, place) in found.iter().zip(&mut places) {
            *place += found.documents[*place..].iter().take_while(|other| **other < document).count();
            sum += wanted.scale.clause(found.frequencies[*place], facts.length);
        }
        on_match(document, rank, wanted.scale.document(sum, facts.kind, facts.time), facts);
    }
    Ok(())
}
