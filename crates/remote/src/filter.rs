//! The terms of a batch as a filter: a small set that never misses a term, and rarely has one too many.
//!
//! A filter consists of blocks of 512 bits. A term belongs to one block and sets seven bits of it, so that a server looks at
//! 64 bytes of a filter to answer. With 24 bits per term, about one of 10,000 filters has a term too many.

/// The number of bytes of a block.
pub(crate) const BLOCK: usize = 64;

/// The number of bits that a term sets.
pub(crate) const N_BITS: usize = 7;

/// The number of bits of a filter for each of its terms.
const BITS_PER_TERM: usize = 24;

/// Where a term is in filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its block, modulo the number of blocks. Never negative.
    pub(crate) block: i32,
    /// Its bits in the block.
    pub(crate) bits: [i32; N_BITS],
}

impl Place {
    pub(crate) fn of(term: u32) -> Self {
        let first = mix(u64::from(term));
        let mut rest = mix(first);
        let bits = [(); N_BITS].map(|()| {
            let bit = i32::from((rest & 0x1ff) as u16);
            rest >>= 9;
            bit
        });
        Self { block: ((first >> 33) as u32).cast_signed(), bits }
    }
}

/// Makes the filter of distinct terms; empty if there are none.
pub(crate) fn filter(terms: &[u32]) -> Vec<u8> {
    let n_blocks = (terms.len() * BITS_PER_TERM).div_ceil(BLOCK * 8);
    let mut filter = vec![0; n_blocks * BLOCK];
    for term in terms {
        let Place { block, bits } = Place::of(*term);
        let start = block.unsigned_abs() as usize % n_blocks * BLOCK;
        for bit in bits.map(|bit| bit.unsigned_abs() as usize) {
            filter[start + bit / 8] |= 1 << (bit % 8);
        }
    }
    filter
}

/// Mixes the bits of a number, as in `SplitMix64`. Stored filters depend on it.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(filter: &[u8], term: u32) -> bool {
        let Place { block, bits } = Place::of(term);
        let start = usize::try_from(block).unwrap() % (filter.len() / BLOCK) * BLOCK;
        bits.iter().map(|bit| usize::try_from(*bit).unwrap()).all(|bit| filter[start + bit / 8] & (1 << (bit % 8)) != 0)
    }

    #[test]
    fn a_filter_has_its_terms_and_few_others() {
        for n_terms in [1, 2, 21, 22, 1000, 30_000] {
            let terms: Vec<u32> = (0..n_terms).map(|n| n * 7919).collect();
            let filter = filter(&terms);
            assert_eq!(filter.len() % BLOCK, 0);
            assert!(terms.iter().all(|term| has(&filter, *term)));
            let n_wrong = (0..100_000_u32).filter(|n| has(&filter, u32::MAX - n)).count();
            assert!(n_wrong < 60, "{n_wrong} of 100,000 with {n_terms} terms");
        }
        assert!(filter(&[]).is_empty());
    }

    /// A server has filters of older clients.
    #[test]
    fn places_never_change() {
        let expected = Place { block: 1_896_895_516, bits: [111, 191, 326, 489, 466, 54, 156] };
        assert_eq!(Place::of(0), expected);
    }
}
