//! Collects the best matches.

use std::cmp;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sessile_core::line::Span;

/// A matching document. Greater is better.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) score: f32,
    pub(crate) time: u32,
    /// The index of its session among the searched sessions.
    pub(crate) rank: u32,
    pub(crate) location: HitLocation,
    pub(crate) kind: u8,
}

/// Where a document was found. Ordered like the lines in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HitLocation {
    /// In a segment.
    Indexed { segment: u32, document: u32 },
    /// By reading the session.
    Scanned { offset: u64, length: u64 },
}

impl HitLocation {
    pub(crate) fn scanned(span: Span) -> Self {
        Self::Scanned { offset: span.offset, length: span.len }
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        (self.score.total_cmp(&other.score))
            .then(self.time.cmp(&other.time))
            .then(other.rank.cmp(&self.rank))
            .then(other.location.cmp(&self.location))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == cmp::Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Keeps the best candidates.
#[derive(Debug)]
pub(crate) enum Collector {
    /// The best of all documents: their number, a heap with the worst on top, and a score that enough have reached.
    Documents(usize, BinaryHeap<cmp::Reverse<Candidate>>, Arc<Floor>),
    /// The same with the number of all documents, which is [counted](Self::count) separately.
    Counted { n_best: usize, best: BinaryHeap<cmp::Reverse<Candidate>>, floor: Arc<Floor>, total: usize },
    /// All documents.
    All(Vec<Candidate>),
    /// The best of each session, by its rank.
    Sessions(Vec<Option<Candidate>>),
}

/// A score that enough documents have reached, on any thread. Scores are not negative.
#[derive(Debug, Default)]
pub(crate) struct Floor(AtomicU32);

impl Floor {
    fn raise(&self, score: f32) {
        // The bits of non-negative floats are ordered like the floats.
        self.0.fetch_max(score.to_bits(), Ordering::Relaxed);
    }

    fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// Up to this limit, searching for the best first pays off.
const MAX_BEST_FIRST: usize = 1000;

impl Collector {
    /// Keeps the best `n_best` documents, all of them, or the best one of each session.
    pub(crate) fn new(n_best: usize, per_session: bool, n_sessions: usize, floor: &Arc<Floor>) -> Self {
        if per_session {
            Self::Sessions(vec![None; n_sessions])
        } else if n_best == usize::MAX {
            Self::All(Vec::new())
        } else {
            Self::Documents(n_best, BinaryHeap::new(), Arc::clone(floor))
        }
    }

    /// Keeps the best `n_best` documents, and counts all of them.
    pub(crate) fn counted(n_best: usize, floor: &Arc<Floor>) -> Self {
        Self::Counted { n_best, best: BinaryHeap::new(), floor: Arc::clone(floor), total: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, candidate: Candidate) {
        match self {
            Self::Documents(n_best, heap, floor) | Self::Counted { n_best, best: heap, floor, .. } => {
                if heap.len() < *n_best {
                    heap.push(cmp::Reverse(candidate));
                } else if let Some(mut worst) = heap.peek_mut()
                    && candidate > worst.0
                {
                    worst.0 = candidate;
                } else {
                    return;
                }
                if heap.len() == *n_best
                    && let Some(worst) = heap.peek()
                {
                    floor.raise(worst.0.score);
                }
            }
            Self::All(all) => all.push(candidate),
            Self::Sessions(best) => {
                if let Some(slot) = best.get_mut(candidate.rank as usize) {
                    *slot = Some(slot.map_or(candidate, |before| before.max(candidate)));
                }
            }
        }
    }

    /// Returns a score below which no document is wanted, if it is independent of sessions and may save work.
    pub(crate) fn floor(&self) -> Option<f32> {
        match self {
            Self::Documents(n_best, _, floor) | Self::Counted { n_best, floor, .. } if *n_best <= MAX_BEST_FIRST => {
                Some(floor.get())
            }
            _ => None,
        }
    }

    /// Whether a document of this score and session could be among the best.
    pub(crate) fn wants(&self, score: f32, rank: u32) -> bool {
        match self {
            Self::Documents(_, _, floor) => score >= floor.get(),
            Self::All(_) | Self::Counted { .. } => true,
            Self::Sessions(best) => {
                best.get(rank as usize).is_some_and(|best| best.is_none_or(|best| score >= best.score))
            }
        }
    }

    /// Whether it must be told how many documents there are, with those that it is not given.
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Self::Counted { .. })
    }

    /// Counts documents.
    #[inline]
    pub(crate) fn count(&mut self, n: usize) {
        if let Self::Counted { total, .. } = self {
            *total += n;
        }
    }

    /// The number of all documents, as far as it knows.
    pub(crate) fn total(&self) -> usize {
        match self {
            Self::Counted { total, .. } => *total,
            Self::Documents(_, heap, _) => heap.len(),
            Self::All(all) => all.len(),
            Self::Sessions(best) => best.iter().flatten().count(),
        }
    }

    /// Adds all candidates of another collector.
    pub(crate) fn merge(&mut self, other: Self) {
        if other.counts() {
            self.count(other.total());
        }
        other.into_vec().into_iter().for_each(|candidate| self.push(candidate));
    }

    /// Returns the candidates, best first.
    pub(crate) fn finish(self) -> Vec<Candidate> {
        let mut all = self.into_vec();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    /// Returns the candidates in any order.
    pub(crate) fn into_vec(self) -> Vec<Candidate> {
        match self {
            Self::All(all) => all,
            Self::Documents(_, heap, _) | Self::Counted { best: heap, .. } => {
                heap.into_iter().map(|candidate| candidate.0).collect()
            }
            Self::Sessions(best) => best.into_iter().flatten().collect(),
        }
    }
}
