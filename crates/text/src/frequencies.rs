//! Lists of documents with frequencies.

use crate::postings::Postings;

/// Documents in ascending order, each with a frequency.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frequencies {
    pub(crate) documents: Vec<u32>,
    pub(crate) frequencies: Vec<u32>,
}

impl Frequencies {
    pub(crate) fn of(postings: Postings) -> Self {
        let Postings { documents, frequencies, .. } = postings;
        Self { documents, frequencies }
    }

    /// Returns the frequency in this document.
    pub(crate) fn at(&self, document: u32) -> u32 {
        self.documents.binary_search(&document).map_or(0, |index| self.frequencies[index])
    }

    /// Returns the documents of either, with the greater frequency.
    pub(crate) fn greatest(self, other: Self) -> Self {
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
