//! What a match is worth.
//!
//! As in BM25, each further occurrence of a word adds less, and counts less in
//! a long document. Unlike there, rare words count as much as frequent ones:
//! all of them must occur anyway, and so a score depends on the document, the
//! query and the time alone. An answer is then the same whether it comes from an
//! index, from reading every file, or from both.

use super::texts::DocumentKind;

/// A document of this many tokens is neither long nor short.
const USUAL_LENGTH: f32 = 150.0;

/// How soon further occurrences stop to count.
const SATURATION: f32 = 1.2;

/// How much the length of a document counts.
const LENGTH_WEIGHT: f32 = 0.6;

/// A document of this age in days is worth little more than half of one that is new.
const HALF_AGE_DAYS: f32 = 45.0;

/// What age cannot take away.
const TIMELESS: f32 = 0.25;

/// A length in tokens as one byte: exact below 16, then in steps of an eighth.
pub fn length_code(n_tokens: usize) -> u8 {
    let length = u32::try_from(n_tokens).unwrap_or(u32::MAX);
    if length < 16 {
        return u8::try_from(length).unwrap_or_default();
    }
    let exponent = length.ilog2() - 3;
    u8::try_from(exponent * 8 + (length >> exponent)).unwrap_or(u8::MAX)
}

/// The smallest length that has this code.
pub fn length_of(code: u8) -> u32 {
    let code = u32::from(code);
    if code < 16 {
        return code;
    }
    let exponent = (code - 8) / 8;
    (code - exponent * 8).checked_shl(exponent).unwrap_or(u32::MAX)
}

/// A time in milliseconds as whole seconds, as documents keep it; none is 0.
pub fn seconds(time_ms: Option<i64>) -> u32 {
    time_ms.map_or(0, |time| u32::try_from(time.div_euclid(1000).max(0)).unwrap_or(u32::MAX))
}

/// Weighs matches at a time.
#[derive(Debug)]
pub struct Scale {
    now: u32,
    /// What the length of a document adds to the denominator, by its code.
    lengths: Vec<f32>,
}

impl Scale {
    /// Scores as of now.
    pub fn new(now_ms: i64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "lengths need no precision")]
        let add = |code: u8| SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length_of(code) as f32 / USUAL_LENGTH);
        Self { now: seconds(Some(now_ms)), lengths: (0..=u8::MAX).map(add).collect() }
    }

    /// What one clause of a query adds that occurs so often in a document of this length.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "frequencies need no precision")]
    pub fn clause(&self, frequency: u32, length_code: u8) -> f32 {
        let frequency = frequency as f32;
        frequency / (frequency + self.lengths[usize::from(length_code)])
    }

    /// What one clause is worth in a document that is as good as new.
    #[inline]
    pub fn impact(&self, frequency: u32, length_code: u8, kind: u8) -> f32 {
        self.clause(frequency, length_code) * WEIGHTS.get(usize::from(kind)).copied().unwrap_or(1.0)
    }

    /// No document of this impact or less and of this time or before is worth more.
    ///
    /// A little more than it comes to, since a score is computed in another order.
    pub fn bound(&self, impact: f32, time: u32) -> f32 {
        impact * self.recency(time) * 1.0001
    }

    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "ages need no precision")]
    fn recency(&self, time: u32) -> f32 {
        let days = self.now.saturating_sub(time) as f32 / 86_400.0;
        TIMELESS + (1.0 - TIMELESS) / (1.0 + days / HALF_AGE_DAYS)
    }

    /// What the sum of all clauses is worth in a document of this kind and time.
    #[inline]
    pub fn document(&self, sum: f32, kind: u8, time: u32) -> f32 {
        sum * WEIGHTS.get(usize::from(kind)).copied().unwrap_or(1.0) * self.recency(time)
    }
}

/// What a match is worth by the kind of document it is in: what people wrote to find things again counts most.
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
    fn more_newer_and_shorter_is_better() {
        let scale = Scale::new(1_700_000_000_000);
        assert!(scale.clause(2, 10) > scale.clause(1, 10));
        assert!(scale.clause(1, 10) > scale.clause(1, 100));
        let now = 1_700_000_000;
        assert!(scale.document(1.0, 1, now) > scale.document(1.0, 1, now - 86_400));
        assert!(scale.document(1.0, DocumentKind::Name.code(), now) > scale.document(1.0, 2, now));
        assert!(scale.document(1.0, 1, 0) > 0.0);
        // A time to come is now.
        assert!((scale.document(1.0, 1, u32::MAX) - scale.document(1.0, 1, now)).abs() < f32::EPSILON);
    }
}
