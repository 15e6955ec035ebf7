//! Evaluates a query on one segment.

use memchr::memmem::Finder;
use sessile_core::search::filter::{Filter, tag};
use sessile_core::search::query::{Clause, Phrase, Term};
use sessile_core::search::score::Scale;

use crate::builder::{MODEL, TOOL};
use crate::dictionary::TermLocation;
use crate::document::Facts;
use crate::frequencies::{Frequencies, intersect};
use crate::page::Corrupt;
use crate::phrase::{UncheckedPhrase, of_phrase_with_prefix};
use crate::postings::{BLOCK, Entry, Postings};
use crate::segment::Segment;

/// The query.
pub(crate) struct SegmentQuery<'w> {
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
    fn push(&mut self, matched: Matched);

    /// Whether all documents must be counted, with those that are not wanted for their score.
    fn counts(&self) -> bool;

    /// Counts documents.
    fn count(&mut self, n: usize);
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

/// What is known of a clause.
#[derive(Default)]
struct ClauseState<'s> {
    /// Its frequencies, or upper bounds for them as long as there are unchecked phrases.
    at_most: Frequencies,
    /// The phrases that have not been checked.
    unchecked: Vec<UncheckedPhrase<'s>>,
    /// The frequencies of its other alternatives, if it has several.
    checked: Vec<Frequencies>,
}

/// The rank of a run whose documents are not wanted.
pub(crate) const UNWANTED: u32 = u32::MAX;

/// Adds matching documents to `matches`, including all that are wanted.
pub(crate) fn evaluate<'s>(
    segment: &'s Segment<'s>,
    query: &SegmentQuery<'_>,
    ranks: &[u32],
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    if matches.floor().is_some()
        && let Some(location) = only_term(segment, query)?
        && (!matches.counts() || is_all_wanted(query.filter, ranks))
    {
        matches.count(location.lengths.n_documents as usize);
        return best_blocks(segment, query, location, ranks, matches);
    }
    let Some((candidates, mut clauses)) = matching(segment, query, 0)? else { return Ok(()) };
    if clauses.iter().all(|state| state.unchecked.is_empty()) {
        return score(segment, query, ranks, &candidates, &clauses, &mut |matched| {
            matches.count(1);
            matches.push(matched);
        });
    }
    // An upper bound on a document's score is known without its positions. The most promising documents are checked
    // first. Of the rest, only those that could still count are checked, in storage order.
    let mut promising = Vec::new();
    score(segment, query, ranks, &candidates, &clauses, &mut |matched| {
        if matches.wants(matched.score, matched.rank) {
            promising.push(matched);
        }
    })?;
    if promising.len() > N_CHECKED_FIRST {
        promising.select_nth_unstable_by(N_CHECKED_FIRST, |one, other| other.score.total_cmp(&one.score));
    }
    let mut rest = promising.split_off(N_CHECKED_FIRST.min(promising.len()));
    check_all(query.scale, &mut clauses, promising, matches)?;
    rest.retain(|matched| matches.wants(matched.score, matched.rank));
    check_all(query.scale, &mut clauses, rest, matches)
}

/// So few documents are compared with a regular expression sooner than they are narrowed down further.
const FEW: usize = 64;

/// Finds documents that pass the filter, among them all that have a term of each clause. All phrases must be single terms.
pub(crate) fn possible<'s>(
    segment: &'s Segment<'s>,
    query: &SegmentQuery<'_>,
    ranks: &[u32],
    on_document: &mut dyn FnMut(Matched),
) -> Result<(), Corrupt> {
    let Some((candidates, clauses)) = matching(segment, query, FEW)? else { return Ok(()) };
    score(segment, query, ranks, &candidates, &clauses, on_document)
}

fn check_all(
    scale: &Scale,
    clauses: &mut [ClauseState<'_>],
    mut promising: Vec<Matched>,
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    promising.sort_unstable_by_key(|matched| matched.document);
    for matched in promising {
        if matches.wants(matched.score, matched.rank) {
            check_phrases(scale, clauses, matched, matches)?;
        }
    }
    Ok(())
}

/// How many documents of a segment are checked first.
const N_CHECKED_FIRST: usize = 256;

/// Checks whether the phrases occur in a document that has all their terms.
fn check_phrases(
    scale: &Scale,
    clauses: &mut [ClauseState<'_>],
    mut promising: Matched,
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    let mut sum = 0.0;
    for state in clauses {
        let frequency = state.frequency_in(promising.document)?;
        if frequency == 0 {
            return Ok(());
        }
        sum += scale.clause(frequency, promising.facts.length);
    }
    promising.score = scale.document(sum, promising.facts.kind, promising.facts.time);
    matches.count(1);
    matches.push(promising);
    Ok(())
}

/// Returns the postings of the only term of a query, if there are enough of them for skipping to pay off.
fn only_term(segment: &Segment<'_>, query: &SegmentQuery<'_>) -> Result<Option<TermLocation>, Corrupt> {
    let [Clause { phrases }] = query.clauses else { return Ok(None) };
    let [Phrase { terms }] = &phrases[..] else { return Ok(None) };
    let [Term { text, is_prefix: false, is_suffix: false }] = &terms[..] else { return Ok(None) };
    if query.filter.tool.is_some() || query.filter.model.is_some() {
        return Ok(None);
    }
    Ok(segment.find(text)?.filter(|location| location.lengths.n_documents as usize > 4 * BLOCK))
}

/// Whether every document with the only term of a query counts.
fn is_all_wanted(filter: &Filter, ranks: &[u32]) -> bool {
    *filter == Filter::default() && !ranks.contains(&UNWANTED)
}

/// Documents further apart than this are not read in one piece.
const MAX_GAP: u32 = 16 << 10;

/// Reads the blocks of one term, the most promising first, as long as any document in them may count.
fn best_blocks(
    segment: &Segment<'_>,
    query: &SegmentQuery<'_>,
    location: TermLocation,
    ranks: &[u32],
    matches: &mut dyn Matches,
) -> Result<(), Corrupt> {
    let table = segment.table(location)?;
    let bound = |(block, entry): (usize, &Entry)| (query.scale.bound(entry.impact(), entry.time()), block);
    let mut blocks: Vec<(f32, usize)> = table.iter().enumerate().map(bound).collect();
    blocks.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let mut run_ends = Vec::with_capacity(ranks.len());
    let mut end = 0u32;
    for run in &segment.info.runs {
        end += run.n_documents;
        run_ends.push(end);
    }
    let times = query.filter.seconds();
    let mut postings = Postings::default();
    for (bound, block) in blocks {
        if matches.floor().is_some_and(|floor| bound < floor) {
            break;
        }
        segment.read_block(location, &table, block, &mut postings)?;
        let (Some(first), Some(last)) = (postings.documents.first(), postings.documents.last()) else { continue };
        let all = if last - first < MAX_GAP { Some(segment.facts(*first..last.saturating_add(1))?) } else { None };
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
            if !query.filter.admits_kind(facts.kind) || !times.contains(&facts.time) {
                continue;
            }
            let sum = 0.0 + query.scale.clause(*frequency, facts.length);
            let score = query.scale.document(sum, facts.kind, facts.time);
            if matches.wants(score, rank) {
                matches.push(Matched { document: *document, rank, score, facts });
            }
        }
    }
    Ok(())
}

/// Documents, and what is known of each clause.
type Candidates<'s> = (Vec<u32>, Vec<ClauseState<'s>>);

/// Returns the documents that match or may match, with the state of each clause; none if there are none. If only `few` are
/// left after some clauses, the other clauses are not looked at.
fn matching<'s>(
    segment: &'s Segment<'s>,
    query: &SegmentQuery<'_>,
    few: usize,
) -> Result<Option<Candidates<'s>>, Corrupt> {
    let mut clauses: Vec<ClauseState<'s>> = Vec::new();
    let mut candidates: Option<Vec<u32>> = tagged(segment, query.filter)?;
    for clause in query.clauses {
        if candidates.as_ref().is_some_and(|left| left.len() <= few) {
            break;
        }
        let of_clause = of_clause(segment, clause, candidates.as_deref())?;
        let documents = &of_clause.at_most.documents;
        let both = candidates.as_ref().map_or_else(|| documents.clone(), |before| intersect(before, documents));
        if both.is_empty() {
            return Ok(None);
        }
        candidates = Some(both);
        clauses.push(of_clause);
    }
    Ok(candidates.filter(|left| !left.is_empty()).map(|candidates| (candidates, clauses)))
}

/// Returns the documents that have the requested tool and model; none if neither is requested.
fn tagged(segment: &Segment<'_>, filter: &Filter) -> Result<Option<Vec<u32>>, Corrupt> {
    let mut candidates = None;
    if let Some(tool) = &filter.tool {
        let location = segment.find(&[TOOL, tag(tool).as_bytes()].concat())?;
        candidates =
            Some(location.map(|location| segment.postings(location)).transpose()?.unwrap_or_default().documents);
    }
    if filter.model.is_some() {
        let models = segment.find_all(MODEL)?;
        let is_wanted = |name: &[u8]| filter.is_model(&String::from_utf8_lossy(name));
        let locations: Vec<TermLocation> =
            models.into_iter().filter(|(name, _)| is_wanted(name)).map(|(_, location)| location).collect();
        let documents = union(segment, &locations)?.documents;
        candidates =
            Some(candidates.map_or_else(|| documents.clone(), |before: Vec<u32>| intersect(&before, &documents)));
    }
    Ok(candidates)
}

fn of_clause<'s>(
    segment: &'s Segment<'s>,
    clause: &Clause,
    candidates: Option<&[u32]>,
) -> Result<ClauseState<'s>, Corrupt> {
    let mut state = ClauseState::default();
    for phrase in &clause.phrases {
        let frequencies = match &phrase.terms[..] {
            [term] => of_term(segment, term)?,
            [.., last] if last.is_prefix => of_phrase_with_prefix(segment, phrase, candidates)?,
            _ => {
                if let Some((unchecked, at_most)) = UncheckedPhrase::new(segment, phrase, candidates)? {
                    state.unchecked.push(unchecked);
                    state.at_most = state.at_most.greatest(at_most);
                }
                continue;
            }
        };
        if clause.phrases.len() > 1 {
            state.checked.push(frequencies.clone());
        }
        state.at_most = state.at_most.greatest(frequencies);
    }
    Ok(state)
}

impl ClauseState<'_> {
    /// Returns the frequency of the clause in a document that it may occur in.
    fn frequency_in(&mut self, document: u32) -> Result<u32, Corrupt> {
        if self.unchecked.is_empty() {
            return Ok(self.at_most.at(document));
        }
        let mut most = self.checked.iter().map(|checked| checked.at(document)).max().unwrap_or(0);
        for phrase in &mut self.unchecked {
            most = most.max(phrase.frequency_in(document)?);
        }
        Ok(most)
    }
}

fn of_term(segment: &Segment<'_>, term: &Term) -> Result<Frequencies, Corrupt> {
    if term.is_suffix {
        let finder = Finder::new(&term.text);
        let fits = |token: &[u8]| if term.is_prefix { finder.find(token).is_some() } else { term.fits(token) };
        // Terms that begin with this byte are tools and models, not tokens.
        let locations = segment.find_where(&|token| !token.starts_with(&TOOL[..1]) && fits(token))?;
        return union(segment, &locations);
    }
    if term.is_prefix {
        let locations: Vec<TermLocation> =
            segment.find_all(&term.text)?.into_iter().map(|(_, location)| location).collect();
        return union(segment, &locations);
    }
    let location = segment.find(&term.text)?;
    Ok(location.map(|location| segment.postings(location)).transpose()?.map(Frequencies::of).unwrap_or_default())
}

/// Returns the documents of several terms, with the sum of their frequencies.
fn union(segment: &Segment<'_>, locations: &[TermLocation]) -> Result<Frequencies, Corrupt> {
    if let [location] = locations {
        return Ok(Frequencies::of(segment.postings(*location)?));
    }
    let mut sums = vec![0u32; segment.info.n_documents() as usize];
    for location in locations {
        let postings = segment.postings(*location)?;
        for (document, frequency) in postings.documents.iter().zip(&postings.frequencies) {
            let sum = sums.get_mut(*document as usize).ok_or(Corrupt)?;
            *sum = sum.saturating_add(*frequency);
        }
    }
    let (documents, frequencies) = (0..).zip(sums).filter(|(_, sum)| *sum > 0).unzip();
    Ok(Frequencies { documents, frequencies })
}

/// Fewer documents than this are looked up one by one.
const MAX_SINGLE_LOOKUPS: usize = 32;

fn score(
    segment: &Segment<'_>,
    query: &SegmentQuery<'_>,
    ranks: &[u32],
    candidates: &[u32],
    clauses: &[ClauseState<'_>],
    on_match: &mut dyn FnMut(Matched),
) -> Result<(), Corrupt> {
    let all_facts =
        if candidates.len() < MAX_SINGLE_LOOKUPS { None } else { Some(segment.facts(0..segment.info.n_documents())?) };
    let times = query.filter.seconds();
    let mut indices = vec![0; clauses.len()];
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
        if !query.filter.admits_kind(facts.kind) || !times.contains(&facts.time) {
            continue;
        }
        let mut sum = 0.0;
        for (state, index) in clauses.iter().zip(&mut indices) {
            let frequencies = &state.at_most;
            while frequencies.documents.get(*index).is_some_and(|other| *other < document) {
                *index += 1;
            }
            sum += query.scale.clause(frequencies.frequencies[*index], facts.length);
        }
        let score = query.scale.document(sum, facts.kind, facts.time);
        on_match(Matched { document, rank, score, facts });
    }
    Ok(())
}
