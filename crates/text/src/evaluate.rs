//! Evaluates a query on one segment.

use sessile_core::search::filter::{Filter, tag};
use sessile_core::search::query::{Clause, Phrase, Term};
use sessile_core::search::score::Scale;

use crate::builder::{MODEL, TOOL};
use crate::dictionary::TermPlace;
use crate::page::Corrupt;
use crate::phrase::{UnseenPhrase, of_phrase_with_prefix};
use crate::postings::{BLOCK, Entry, Postings};
use crate::segment::{Facts, Segment};

/// The query.
pub(crate) struct Wanted<'w> {
    pub(crate) clauses: &'w [Clause],
    pub(crate) filter: &'w Filter,
    pub(crate) scale: &'w Scale,
}

/// Receives matching documents.
pub(crate) trait Matches {
    /// Whether a document of this rank would count with this score.
    fn wants(&self, score: f32, rank: u32) -> bool;

    /// Returns a score below which no document counts, whatever its rank; none if unknown.
    fn floor(&self) -> Option<f32>;

    /// Accepts a document.
    fn push(&mut self, found: Matched);
}

/// A matching document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched {
    pub(crate) document: u32,
    /// The rank of its run.
    pub(crate) rank: u32,
    pub(crate) score: f32,
    pub(crate) facts: Facts,
}

/// Documents in ascending order, each with a frequency.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frequencies {
    pub(crate) documents: Vec<u32>,
    pub(crate) frequencies: Vec<u32>,
}

impl Frequencies {
    fn of(postings: Postings) -> Self {
        let Postings { documents, frequencies, .. } = postings;
        Self { documents, frequencies }
    }

    /// Returns the frequency in this document.
    fn at(&self, document: u32) -> u32 {
        self.documents.binary_search(&document).map_or(0, |place| self.frequencies[place])
    }

    /// Returns the documents of either, with the greater frequency.
    fn greatest(self, other: Self) -> Self {
        if self.documents.is_empty() {
            return other;
        }
        let mut both = Self::default();
        let (mut left, mut right) = (0, 0);
        while let Some(document) = self.documents.get(left).into_iter().chain(other.documents.get(right)).min().copied()
        {
            let mut frequency = 0;
            if self.documents.get(left) == Some(&document) {
                frequency = self.frequencies[left];
                left += 1;
            }
            if other.documents.get(right) == Some(&document) {
                frequency = frequency.max(other.frequencies[right]);
                right += 1;
            }
            both.documents.push(document);
            both.frequencies.push(frequency);
        }
        both
    }
}

/// What is known of a clause.
#[derive(Default)]
struct Found<'s> {
    /// Its frequencies, or upper bounds for them as long as there are unchecked phrases.
    at_most: Frequencies,
    /// The phrases that have not been checked.
    unseen: Vec<UnseenPhrase<'s>>,
    /// The frequencies of its other alternatives, if it has several.
    seen: Vec<Frequencies>,
}

/// The rank of a run whose documents are not wanted.
pub(crate) const UNWANTED: u32 = u32::MAX;

/// Passes on matching documents, including all that are wanted.
pub(crate) fn evaluate<'s>(
    segment: &'s Segment<'s>,
    wanted: &Wanted<'_>,
    ranks: &[u32],
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    if matches.floor().is_some()
        && let Some(place) = only_term(segment, wanted)?
    {
        return best_blocks(segment, wanted, place, ranks, matches);
    }
    let Some((candidates, mut found)) = matching(segment, wanted)? else { return Ok(()) };
    if found.iter().all(|found| found.unseen.is_empty()) {
        return score(segment, wanted, ranks, &candidates, &found, &mut |matched| matches.push(matched));
    }
    // An upper bound for a document's score is known without its positions. The most promising documents are checked
    // first. Of the rest, only those that could still count are checked, in storage order.
    let mut promising = Vec::new();
    score(segment, wanted, ranks, &candidates, &found, &mut |matched| {
        if matches.wants(matched.score, matched.rank) {
            promising.push(matched);
        }
    })?;
    if promising.len() > PROMISING {
        promising.select_nth_unstable_by(PROMISING, |one, other| other.score.total_cmp(&one.score));
    }
    let mut rest = promising.split_off(PROMISING.min(promising.len()));
    look_at_all(wanted.scale, &mut found, promising, matches)?;
    rest.retain(|matched| matches.wants(matched.score, matched.rank));
    look_at_all(wanted.scale, &mut found, rest, matches)
}

fn look_at_all(
    scale: &Scale,
    found: &mut [Found<'_>],
    mut promising: Vec<Matched>,
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    promising.sort_unstable_by_key(|matched| matched.document);
    for matched in promising {
        if matches.wants(matched.score, matched.rank) {
            look_closely(scale, found, matched, matches)?;
        }
    }
    Ok(())
}

/// How many documents of a segment are checked first.
const PROMISING: usize = 256;

/// Checks whether the phrases occur in a document that has all their terms.
fn look_closely(
    scale: &Scale,
    found: &mut [Found<'_>],
    mut promising: Matched,
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    let mut sum = 0.0;
    for found in found {
        let frequency = found.look(promising.document)?;
        if frequency == 0 {
            return Ok(());
        }
        sum += scale.clause(frequency, promising.facts.length);
    }
    promising.score = scale.document(sum, promising.facts.kind, promising.facts.time);
    matches.push(promising);
    Ok(())
}

/// Returns the postings of the only term of a query, if there are enough of them for skipping to pay off.
fn only_term(segment: &Segment<'_>, wanted: &Wanted<'_>) -> Result<Option<TermPlace>, Corrupt> {
    let [Clause { phrases }] = wanted.clauses else { return Ok(None) };
    let [Phrase { terms }] = &phrases[..] else { return Ok(None) };
    let [Term { text, is_prefix: false, is_suffix: false }] = &terms[..] else { return Ok(None) };
    if wanted.filter.tool.is_some() || wanted.filter.model.is_some() {
        return Ok(None);
    }
    Ok(segment.find(text)?.filter(|place| place.lengths.n_documents as usize > 4 * BLOCK))
}

/// Documents further apart than this are not read in one piece.
const NEAR: u32 = 16 << 10;

/// Reads the blocks of one term, the most promising first, as long as any document in them may count.
fn best_blocks(
    segment: &Segment<'_>,
    wanted: &Wanted<'_>,
    place: TermPlace,
    ranks: &[u32],
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    let table = segment.table(place)?;
    let bound = |(block, entry): (usize, &Entry)| (wanted.scale.bound(entry.impact(), entry.time()), block);
    let mut blocks: Vec<(f32, usize)> = table.iter().enumerate().map(bound).collect();
    blocks.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let mut run_ends = Vec::with_capacity(ranks.len());
    let mut end = 0u32;
    for run in &segment.info.runs {
        end += run.n_documents;
        run_ends.push(end);
    }
    let times = wanted.filter.seconds();
    let mut postings = Postings::default();
    for (bound, block) in blocks {
        if matches.floor().is_some_and(|floor| bound < floor) {
            break;
        }
        segment.read_block(place, &table, block, &mut postings)?;
        let (Some(first), Some(last)) = (postings.documents.first(), postings.documents.last()) else { continue };
        let all = if last - first < NEAR { Some(segment.facts(*first..last.saturating_add(1))?) } else { None };
        for (document, frequency) in postings.documents.iter().zip(&postings.frequencies) {
            let run = run_ends.partition_point(|end| end <= document);
            let rank = ranks.get(run).copied().unwrap_or(UNWANTED);
            if rank == UNWANTED {
                continue;
            }
            let facts = match &all {
                Some(all) => all.get((document - first) as usize).copied(),
                None => segment.facts(*document..document + 1)?.first().copied(),
            };
            let facts = facts.ok_or(Corrupt)?;
            if !wanted.filter.admits_kind(facts.kind) || !times.contains(&facts.time) {
                continue;
            }
            let sum = 0.0 + wanted.scale.clause(*frequency, facts.length);
            let score = wanted.scale.document(sum, facts.kind, facts.time);
            if matches.wants(score, rank) {
                matches.push(Matched { document: *document, rank, score, facts });
            }
        }
    }
    Ok(())
}

/// Documents, and what is known of each clause.
type Candidates<'s> = (Vec<u32>, Vec<Found<'s>>);

/// Returns the documents that match or may match, with the state of each clause; none if there are none.
fn matching<'s>(segment: &'s Segment<'s>, wanted: &Wanted<'_>) -> Result<Option<Candidates<'s>>, Corrupt> {
    let mut found: Vec<Found<'s>> = Vec::new();
    let mut candidates: Option<Vec<u32>> = tagged(segment, wanted.filter)?;
    for clause in wanted.clauses {
        let of_clause = of_clause(segment, clause, candidates.as_deref())?;
        let documents = &of_clause.at_most.documents;
        let both = candidates.as_ref().map_or_else(|| documents.clone(), |before| intersect(before, documents));
        if both.is_empty() {
            return Ok(None);
        }
        candidates = Some(both);
        found.push(of_clause);
    }
    Ok(candidates.filter(|left| !left.is_empty()).map(|candidates| (candidates, found)))
}

/// Returns the documents that have the requested tool and model; none if neither is requested.
fn tagged(segment: &Segment<'_>, filter: &Filter) -> Result<Option<Vec<u32>>, Corrupt> {
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
        candidates =
            Some(candidates.map_or_else(|| documents.clone(), |before: Vec<u32>| intersect(&before, &documents)));
    }
    Ok(candidates)
}

fn of_clause<'s>(segment: &'s Segment<'s>, clause: &Clause, candidates: Option<&[u32]>) -> Result<Found<'s>, Corrupt> {
    let mut found = Found::default();
    for phrase in &clause.phrases {
        let often = match &phrase.terms[..] {
            [term] => of_term(segment, term)?,
            [.., last] if last.is_prefix => of_phrase_with_prefix(segment, phrase, candidates)?,
            _ => {
                if let Some((unseen, at_most)) = UnseenPhrase::new(segment, phrase, candidates)? {
                    found.unseen.push(unseen);
                    found.at_most = found.at_most.greatest(at_most);
                }
                continue;
            }
        };
        if clause.phrases.len() > 1 {
            found.seen.push(often.clone());
        }
        found.at_most = found.at_most.greatest(often);
    }
    Ok(found)
}

impl Found<'_> {
    /// Returns the frequency of the clause in a document that it may occur in.
    fn look(&mut self, document: u32) -> Result<u32, Corrupt> {
        if self.unseen.is_empty() {
            return Ok(self.at_most.at(document));
        }
        let mut most = self.seen.iter().map(|seen| seen.at(document)).max().unwrap_or(0);
        for phrase in &mut self.unseen {
            most = most.max(phrase.look(document)?);
        }
        Ok(most)
    }
}

fn of_term(segment: &Segment<'_>, term: &Term) -> Result<Frequencies, Corrupt> {
    if term.is_suffix {
        // Terms that begin with this byte are tools and models, not tokens.
        let is_token = |token: &[u8]| !token.starts_with(&TOOL[..1]) && term.fits(token);
        let places: Vec<TermPlace> =
            segment.find_all(b"")?.into_iter().filter(|(token, _)| is_token(token)).map(|(_, place)| place).collect();
        return union(segment, &places);
    }
    if term.is_prefix {
        let places: Vec<TermPlace> = segment.find_all(&term.text)?.into_iter().map(|(_, place)| place).collect();
        return union(segment, &places);
    }
    let place = segment.find(&term.text)?;
    Ok(place.map(|place| segment.postings(place)).transpose()?.map(Frequencies::of).unwrap_or_default())
}

/// Returns the documents of several terms, with the sum of their frequencies.
fn union(segment: &Segment<'_>, places: &[TermPlace]) -> Result<Frequencies, Corrupt> {
    if let [place] = places {
        return Ok(Frequencies::of(segment.postings(*place)?));
    }
    let mut sums = vec![0u32; segment.info.n_documents() as usize];
    for place in places {
        let postings = segment.postings(*place)?;
        for (document, frequency) in postings.documents.iter().zip(&postings.frequencies) {
            let sum = sums.get_mut(*document as usize).ok_or(Corrupt)?;
            *sum = sum.saturating_add(*frequency);
        }
    }
    let (documents, frequencies) = (0..).zip(sums).filter(|(_, sum)| *sum > 0).unzip();
    Ok(Frequencies { documents, frequencies })
}

/// Returns the common elements of two ascending lists.
pub(crate) fn intersect(one: &[u32], other: &[u32]) -> Vec<u32> {
    let (few, mut many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut both = Vec::with_capacity(few.len());
    if few.len().saturating_mul(16) < many.len() {
        for document in few {
            many = &many[many.partition_point(|other| other < document)..];
            if many.first() == Some(document) {
                both.push(*document);
            }
        }
        return both;
    }
    let (mut left, mut right) = (0, 0);
    while let (Some(one), Some(other)) = (few.get(left), many.get(right)) {
        if one == other {
            both.push(*one);
        }
        left += usize::from(one <= other);
        right += usize::from(other <= one);
    }
    both
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
) -> Result<(), Corrupt> {
    let all_facts = if candidates.len() < FEW { None } else { Some(segment.facts(0..segment.info.n_documents())?) };
    let times = wanted.filter.seconds();
    let mut places = vec![0; found.len()];
    let (mut run, mut run_end) = (0, segment.info.runs.first().map_or(0, |run| run.n_documents));
    for document in candidates.iter().copied() {
        while document >= run_end {
            run += 1;
            run_end += segment.info.runs.get(run).ok_or(Corrupt)?.n_documents;
        }
        let rank = ranks.get(run).copied().unwrap_or(UNWANTED);
        if rank == UNWANTED {
            continue;
        }
        let facts = match &all_facts {
            Some(facts) => facts.get(document as usize).copied(),
            None => segment.facts(document..document + 1)?.first().copied(),
        };
        let facts = facts.ok_or(Corrupt)?;
        if !wanted.filter.admits_kind(facts.kind) || !times.contains(&facts.time) {
            continue;
        }
        let mut sum = 0.0;
        for (found, place) in found.iter().zip(&mut places) {
            let often = &found.at_most;
            while often.documents.get(*place).is_some_and(|other| *other < document) {
                *place += 1;
            }
            sum += wanted.scale.clause(often.frequencies[*place], facts.length);
        }
        let score = wanted.scale.document(sum, facts.kind, facts.time);
        on_match(Matched { document, rank, score, facts });
    }
    Ok(())
}
