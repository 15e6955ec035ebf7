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

/// Takes what matches.
pub(super) trait Matches {
    /// Whether a document of this rank would count if it had this score.
    fn wants(&self, score: f32, rank: u32) -> bool;

    /// Takes a document.
    fn push(&mut self, found: Matched);
}

/// A document that matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matched {
    pub(super) document: u32,
    /// The rank of its run.
    pub(super) rank: u32,
    pub(super) score: f32,
    pub(super) facts: Facts,
}

/// Documents in which something occurs, ascending, and how often.
#[derive(Default)]
struct Found<'s> {
    documents: Vec<u32>,
    /// How often, or, while phrases have not been looked at, how often at most.
    frequencies: Vec<u32>,
    /// The phrases that have not been looked at, and what else may be found.
    unseen: Vec<UnseenPhrase<'s>>,
    /// What is known of the other ways in which the clause may occur.
    seen: Vec<(Vec<u32>, Vec<u32>)>,
}

/// A run whose documents are not asked for has this rank.
pub(super) const UNWANTED: u32 = u32::MAX;

/// Hands on the documents that match, all that are wanted among them.
pub(super) fn evaluate<'s>(
    segment: &'s Segment<'s>,
    wanted: &Wanted<'_>,
    ranks: &[u32],
    matches: &mut dyn Matches,
) -> Result<(), Untrusted> {
    let Some((candidates, mut found)) = matching(segment, wanted)? else { return Ok(()) };
    if found.iter().all(|found| found.unseen.is_empty()) {
        return score(segment, wanted, ranks, &candidates, &found, &mut |matched| matches.push(matched));
    }
    // What a document could be worth at most is known without its positions. The most promising come first; of what
    // is left only that which could still count is looked at, in the order in which it is stored.
    let mut promising = Vec::new();
    score(segment, wanted, ranks, &candidates, &found, &mut |matched| {
        if matches.wants(matched.score, matched.rank) {
            promising.push(matched);
        }
    })?;
    if promising.len() > PROMISING {
        promising.select_nth_unstable_by(PROMISING, |one, other| other.score.total_cmp(&one.score));
    }
    let n_first = PROMISING.min(promising.len());
    let (first, rest) = promising.split_at_mut(n_first);
    for part in [first, rest] {
        part.sort_unstable_by_key(|matched| matched.document);
        for matched in part {
            if matches.wants(matched.score, matched.rank) {
                look_closely(wanted.scale, &mut found, *matched, matches)?;
            }
        }
    }
    Ok(())
}

/// So many documents are looked at before the others.
const PROMISING: usize = 256;

/// Looks whether the phrases occur in a document that has all their terms.
fn look_closely(
    scale: &Scale,
    found: &mut [Found<'_>],
    mut matched: Matched,
    matches: &mut dyn Matches,
) -> Result<(), Untrusted> {
    let mut sum = 0.0;
    for found in found {
        let frequency = found.look(matched.document)?;
        if frequency == 0 {
            return Ok(());
        }
        sum += scale.clause(frequency, matched.facts.length);
    }
    matched.score = scale.document(sum, matched.facts.kind, matched.facts.time);
    matches.push(matched);
    Ok(())
}

/// The documents that match or may match, and each clause's part in that; none if there are none.
fn matching<'s>(
    segment: &'s Segment<'s>,
    wanted: &Wanted<'_>,
) -> Result<Option<(Vec<u32>, Vec<Found<'s>>)>, Untrusted> {
    let mut found: Vec<Found<'s>> = Vec::new();
    let mut candidates: Option<Vec<u32>> = tagged(segment, wanted.filter)?;
    for clause in wanted.clauses {
        let of_clause = of_clause(segment, clause, candidates.as_deref())?;
        let documents = &of_clause.documents;
        let both = candidates.as_ref().map_or_else(|| documents.clone(), |before| intersect(before, documents));
        if both.is_empty() {
            return Ok(None);
        }
        candidates = Some(both);
        found.push(of_clause);
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
        let documents = union(segment, &places)?.0;
        candidates =
            Some(candidates.map_or_else(|| documents.clone(), |before: Vec<u32>| intersect(&before, &documents)));
    }
    Ok(candidates)
}

fn of_clause<'s>(
    segment: &'s Segment<'s>,
    clause: &Clause,
    candidates: Option<&[u32]>,
) -> Result<Found<'s>, Untrusted> {
    let mut best = Found::default();
    for phrase in &clause.phrases {
        let (documents, frequencies) = match &phrase.terms[..] {
            [term] => of_term(segment, term)?,
            [.., last] if last.is_prefix => of_phrase_with_prefix(segment, phrase, candidates)?,
            _ => {
                let Some((unseen, documents, bounds)) = UnseenPhrase::new(segment, phrase, candidates)? else {
                    continue;
                };
                best.unseen.push(unseen);
                (best.documents, best.frequencies) = greatest(best.documents, best.frequencies, documents, bounds);
                continue;
            }
        };
        if clause.phrases.len() > 1 {
            best.seen.push((documents.clone(), frequencies.clone()));
        }
        (best.documents, best.frequencies) = greatest(best.documents, best.frequencies, documents, frequencies);
    }
    Ok(best)
}

impl Found<'_> {
    /// How often the clause occurs in a document that it may occur in.
    fn look(&mut self, document: u32) -> Result<u32, Untrusted> {
        if self.unseen.is_empty() {
            return Ok(frequency_in(&self.documents, &self.frequencies, document));
        }
        let mut most = 0;
        for phrase in &mut self.unseen {
            most = most.max(phrase.look(document)?);
        }
        for (documents, frequencies) in &self.seen {
            most = most.max(frequency_in(documents, frequencies, document));
        }
        Ok(most)
    }
}

fn frequency_in(documents: &[u32], frequencies: &[u32], document: u32) -> u32 {
    documents.binary_search(&document).map_or(0, |place| frequencies[place])
}

/// A phrase of which only the documents are known that have all of its terms.
struct UnseenPhrase<'s> {
    /// The distance of each term from the first, and its positions; the rarest first.
    terms: Vec<(u32, Positions<'s>)>,
    starts: Vec<u32>,
    next: Vec<u32>,
}

impl<'s> UnseenPhrase<'s> {
    /// The phrase, the documents in which it may occur, and how often at most; none if it cannot occur.
    fn new(
        segment: &'s Segment<'s>,
        phrase: &Phrase,
        candidates: Option<&[u32]>,
    ) -> Result<Option<(Self, Vec<u32>, Vec<u32>)>, Untrusted> {
        let mut lists = Vec::new();
        for (distance, term) in (0..).zip(&phrase.terms) {
            let Some(place) = segment.find(&term.text)? else { return Ok(None) };
            lists.push((distance, place, segment.postings(place)?));
        }
        lists.sort_by_key(|(_, _, postings)| postings.documents.len());
        let common = common(&lists, candidates);
        if common.is_empty() {
            return Ok(None);
        }
        let mut bounds = vec![u32::MAX; common.len()];
        for (_, _, postings) in &lists {
            let mut place = 0;
            for (document, bound) in common.iter().zip(&mut bounds) {
                place += postings.documents[place..].iter().take_while(|other| *other < document).count();
                *bound = (*bound).min(postings.frequencies[place]);
            }
        }
        let terms =
            lists.into_iter().map(|(distance, place, postings)| (distance, Positions::new(segment, place, postings)));
        let phrase = Self { terms: terms.collect(), starts: Vec::new(), next: Vec::new() };
        Ok(Some((phrase, common, bounds)))
    }

    /// How often it occurs in a document.
    fn look(&mut self, document: u32) -> Result<u32, Untrusted> {
        self.starts.clear();
        for (place, (distance, positions)) in self.terms.iter_mut().enumerate() {
            if !positions.of(document, &mut self.next)? {
                return Ok(0);
            }
            let shifted = self.next.iter().filter_map(|position| position.checked_sub(*distance));
            if place == 0 {
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

/// The documents that are candidates and in all lists.
fn common(lists: &[(u32, TermPlace, Postings)], candidates: Option<&[u32]>) -> Vec<u32> {
    let mut common = candidates.map(<[u32]>::to_vec);
    for (_, _, postings) in lists {
        let documents = &postings.documents;
        common = Some(common.map_or_else(|| documents.clone(), |before| intersect(&before, documents)));
    }
    common.unwrap_or_default()
}

fn of_term(segment: &Segment<'_>, term: &Term) -> Result<(Vec<u32>, Vec<u32>), Untrusted> {
    if term.is_prefix {
        let places: Vec<TermPlace> = segment.find_all(&term.text)?.into_iter().map(|(_, place)| place).collect();
        return union(segment, &places);
    }
    let Some(place) = segment.find(&term.text)? else { return Ok((Vec::new(), Vec::new())) };
    let Postings { documents, frequencies, .. } = segment.postings(place)?;
    Ok((documents, frequencies))
}

/// The documents of several terms, with the sum of their frequencies.
fn union(segment: &Segment<'_>, places: &[TermPlace]) -> Result<(Vec<u32>, Vec<u32>), Untrusted> {
    if let [place] = places {
        let Postings { documents, frequencies, .. } = segment.postings(*place)?;
        return Ok((documents, frequencies));
    }
    let mut sums = vec![0u32; segment.info.n_documents() as usize];
    for place in places {
        let postings = segment.postings(*place)?;
        for (document, frequency) in postings.documents.iter().zip(&postings.frequencies) {
            let sum = sums.get_mut(*document as usize).ok_or(Untrusted)?;
            *sum = sum.saturating_add(*frequency);
        }
    }
    Ok((0..).zip(sums).filter(|(_, sum)| *sum > 0).unzip())
}

/// The documents of either, with the greater of the frequencies.
fn greatest(a: Vec<u32>, a_often: Vec<u32>, b: Vec<u32>, b_often: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    if a.is_empty() {
        return (b, b_often);
    }
    let (mut documents, mut frequencies) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (0, 0);
    while let Some(document) = a.get(left).into_iter().chain(b.get(right)).min().copied() {
        let mut frequency = 0;
        if a.get(left) == Some(&document) {
            frequency = a_often[left];
            left += 1;
        }
        if b.get(right) == Some(&document) {
            frequency = frequency.max(b_often[right]);
            right += 1;
        }
        documents.push(document);
        frequencies.push(frequency);
    }
    (documents, frequencies)
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

/// The documents in which the terms of a phrase stand side by side, the last of which is the beginning of a word.
fn of_phrase_with_prefix(
    segment: &Segment<'_>,
    phrase: &Phrase,
    candidates: Option<&[u32]>,
) -> Result<(Vec<u32>, Vec<u32>), Untrusted> {
    let Some((last, before)) = phrase.terms.split_last() else { return Ok((Vec::new(), Vec::new())) };
    let mut lists = Vec::new();
    for (distance, term) in (0..).zip(before) {
        let Some(place) = segment.find(&term.text)? else { return Ok((Vec::new(), Vec::new())) };
        lists.push((distance, place, segment.postings(place)?));
    }
    lists.sort_by_key(|(_, _, postings)| postings.documents.len());
    let common = common(&lists, candidates);
    let distance = u32::try_from(before.len()).unwrap_or(u32::MAX);
    let ends = positions_of_prefix(segment, last, &common)?;
    let terms =
        lists.into_iter().map(|(distance, place, postings)| (distance, Positions::new(segment, place, postings)));
    let mut start = UnseenPhrase { terms: terms.collect(), starts: Vec::new(), next: Vec::new() };
    let (mut documents, mut frequencies) = (Vec::new(), Vec::new());
    for here in ends.chunk_by(|one, other| one.0 == other.0) {
        let document = here[0].0;
        if start.look(document)? > 0 {
            keep_common(&mut start.starts, here.iter().filter_map(|(_, position)| position.checked_sub(distance)));
            if !start.starts.is_empty() {
                documents.push(document);
                frequencies.push(u32::try_from(start.starts.len()).unwrap_or(u32::MAX));
            }
        }
    }
    Ok((documents, frequencies))
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
        let mut reader = Positions::new(segment, place, postings);
        for document in common {
            reader.of(document, &mut positions)?;
            found.extend(positions.iter().map(|position| (document, *position)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The positions of one term, read document by document, in whatever order.
pub(super) struct Positions<'s> {
    segment: &'s Segment<'s>,
    place: TermPlace,
    postings: Postings,
    /// The positions of one block, or of all.
    bytes: Vec<u8>,
    /// Whether they are of all blocks.
    has_all: bool,
    n_loaded: usize,
    /// The current block.
    block: Option<usize>,
    /// The next document of it, counted among those of the term, and where its positions begin.
    next: usize,
    at: usize,
}

/// After so many blocks it is quicker to read all of them at once.
const PIECEMEAL: usize = 16;

impl<'s> Positions<'s> {
    pub(super) fn new(segment: &'s Segment<'s>, place: TermPlace, postings: Postings) -> Self {
        Self { segment, place, postings, bytes: Vec::new(), has_all: false, n_loaded: 0, block: None, next: 0, at: 0 }
    }

    /// The positions in a document. False if the term does not occur in it.
    pub(super) fn of(&mut self, document: u32, out: &mut Vec<u32>) -> Result<bool, Untrusted> {
        out.clear();
        let Some(index) = self.index_of(document) else { return Ok(false) };
        self.go_to(index / BLOCK)?;
        if index < self.next {
            self.rewind(index / BLOCK)?;
        }
        let mut rest = Bytes::new(self.bytes.get(self.at..).ok_or(Untrusted)?);
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
        Ok(true)
    }

    /// The place of a document among those of the term. Mostly it is not far behind the one before.
    fn index_of(&self, document: u32) -> Option<usize> {
        let near = self.postings.documents.get(self.next..).unwrap_or_default();
        let near = &near[..near.len().min(16)];
        match near.iter().position(|other| *other >= document) {
            Some(place) if near[place] == document => Some(self.next + place),
            _ => self.postings.documents.binary_search(&document).ok(),
        }
    }

    /// Makes a block the current one.
    fn go_to(&mut self, block: usize) -> Result<(), Untrusted> {
        if self.block == Some(block) {
            return Ok(());
        }
        if !self.has_all {
            self.n_loaded += 1;
            self.has_all = self.n_loaded > PIECEMEAL || self.postings.blocks.is_empty();
            let all = 0..self.place.lengths.positions;
            let range = if self.has_all { all } else { self.postings.block(block, self.place.lengths) };
            self.bytes = self.segment.positions(self.place, range)?;
        }
        self.block = Some(block);
        self.rewind(block)
    }

    /// Goes to the beginning of the current block.
    fn rewind(&mut self, block: usize) -> Result<(), Untrusted> {
        let start = if self.has_all { self.postings.block(block, self.place.lengths).start } else { 0 };
        self.at = usize::try_from(start).map_err(|_| Untrusted)?;
        self.next = block * BLOCK;
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
    found: &[Found<'_>],
    on_match: &mut dyn FnMut(Matched),
) -> Result<(), Untrusted> {
    let all_facts = if candidates.len() < FEW { None } else { Some(segment.facts(0..segment.info.n_documents())?) };
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
        let score = wanted.scale.document(sum, facts.kind, facts.time);
        on_match(Matched { document, rank, score, facts });
    }
    Ok(())
}
