//! Scores of matches.
//!
//! As in BM25, each further occurrence of a word adds less, and counts less in a long document. Unlike in BM25, rare
//! words count as much as frequent ones: all of them must occur anyway. So a score depends only on the document, the
//! query and the time, and is the same whether the result comes from an index, from reading every file, or from both.

use super::matching::Match;
use super::texts::{Document, DocumentKind};
use crate::date::Timestamp;

/// The length of an average document, in tokens.
const USUAL_LENGTH: f32 = 150.0;

/// How quickly further occurrences stop counting.
const SATURATION: f32 = 1.2;

/// How much the length of a document counts.
const LENGTH_WEIGHT: f32 = 0.6;

/// At this age in days, a document is worth a little more than half of a new one.
const HALF_AGE_DAYS: f32 = 45.0;

/// The share of the score that does not depend on age.
const TIMELESS: f32 = 0.25;

/// Encodes a length in tokens as one byte: exact below 16, then in steps of an eighth.
pub fn length_code(n_tokens: usize) -> u8 {
    let length = u32::try_from(n_tokens).unwrap_or(u32::MAX);
    if length < 16 {
        return u8::try_from(length).unwrap_or_default();
    }
    let exponent = length.ilog2() - 3;
    u8::try_from(exponent * 8 + (length >> exponent)).unwrap_or(u8::MAX)
}

/// The smallest length with this code.
pub fn length_of(code: u8) -> u32 {
    let code = u32::from(code);
    if code < 16 {
        return code;
    }
    let exponent = (code - 8) / 8;
    (code - exponent * 8).checked_shl(exponent).unwrap_or(u32::MAX)
}

/// A time as whole seconds, as stored with documents. `None` becomes 0.
pub fn seconds(time: Option<Timestamp>) -> u32 {
    time.map_or(0, |time| u32::try_from(time.as_ms().div_euclid(1000).max(0)).unwrap_or(u32::MAX))
}

/// Scores matches as of a point in time.
#[derive(Debug)]
pub struct Scale {
    now: u32,
    /// What a document's length adds to the denominator, by length code.
    lengths: Vec<f32>,
}

impl Scale {
    /// Creates a scale as of `now`.
    pub fn new(now: Timestamp) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "lengths need no precision")]
        let add = |code: u8| SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length_of(code) as f32 / USUAL_LENGTH);
        Self { now: seconds(Some(now)), lengths: (0..=u8::MAX).map(add).collect() }
    }

    /// The score of a query clause with this number of occurrences in a document of this length.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "frequencies need no precision")]
    pub fn clause(&self, frequency: u32, length_code: u8) -> f32 {
        let frequency = frequency as f32;
        frequency / (frequency + self.lengths[usize::from(length_code)])
    }

    /// The score of one clause in a new document.
    #[inline]
    pub fn impact(&self, frequency: u32, length_code: u8, kind: u8) -> f32 {
        self.clause(frequency, length_code) * WEIGHTS.get(usize::from(kind)).copied().unwrap_or(1.0)
    }

    /// An upper bound on the score of documents with at most this impact that are no newer than this time.
    ///
    /// Slightly larger than the exact value, because a score is computed in a different order.
    pub fn bound(&self, impact: f32, time: u32) -> f32 {
        impact * self.recency(time) * 1.0001
    }

    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "ages need no precision")]
    fn recency(&self, time: u32) -> f32 {
        let days = self.now.saturating_sub(time) as f32 / 86_400.0;
        TIMELESS + (1.0 - TIMELESS) / (1.0 + days / HALF_AGE_DAYS)
    }

    /// The score of a document that was matched by reading it.
    pub fn matched(&self, document: Document, found: &Match) -> f32 {
        let length = length_code(found.n_tokens);
        let mut sum = 0.0;
        for frequency in &found.frequencies {
            sum += self.clause(*frequency, length);
        }
        self.document(sum, document.kind.code(), seconds(document.time))
    }

    /// The score of a document of this kind and time, from the sum of its clauses.
    #[inline]
    pub fn document(&self, sum: f32, kind: u8, time: u32) -> f32 {
        sum * WEIGHTS.get(usize::from(kind)).copied().unwrap_or(1.0) * self.recency(time)
    }
}

/// The weight of each kind of document. Text that users wrote to find things again weighs most.
const WEIGHTS: [f32; 10] = weights();

const fn weights() -> [f32; 10] {
    let mut weights = [1.0; 10];
    weights[DocumentKind::Name as usize] = 3.0;
    weights[DocumentKind::Label as usize] = 2.5;
    weights[DocumentKind::User as usize] = 1.6;
    weights[DocumentKind::Summary as usize] = 1.4;
    weights[DocumentKind::Assistant as usize] = 1.2;
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fit_into_a_byte() {
        let mut before = 0;
        for length in (0..5000).chain([1 << 20, usize::MAX]) {
            let code = length_code(length);
            assert!(code >= before);
            before = code;
            let least = length_of(code) as usize;
            assert!(least <= length && (length >= 1 << 32 || length <= least + least / 8 + 1), "{length} {least}");
        }
        assert!((0..=15).all(|length| length_of(length_code(length)) as usize == length));
    }

    #[test]
    fn frequent_recent_and_short_documents_rank_higher() {
        let scale = Scale::new(Timestamp::from_ms(1_700_000_000_000));
        assert!(scale.clause(2, 10) > scale.clause(1, 10));
        assert!(scale.clause(1, 10) > scale.clause(1, 100));
        let now = 1_700_000_000;
        assert!(scale.document(1.0, 1, now) > scale.document(1.0, 1, now - 86_400));
        assert!(scale.document(1.0, DocumentKind::Name.code(), now) > scale.document(1.0, 2, now));
        assert!(scale.document(1.0, 1, 0) > 0.0);
        // A time in the future counts as now.
        assert!((scale.document(1.0, 1, u32::MAX) - scale.document(1.0, 1, now)).abs() < f32::EPSILON);
    }
}
