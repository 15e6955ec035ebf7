//! A small random number generator that the oracle's driver mirrors exactly.

/// splitmix64.
#[derive(Clone, Debug)]
pub struct SplitMix {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix {
    /// Creates a generator that returns the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the generator's state after this many draws.
    pub fn after(seed: u64, draws: u64) -> Self {
        Self { state: seed.wrapping_add(STEP.wrapping_mul(draws)) }
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next_u64() % bound as u64).unwrap()
    }

    /// Returns true once in `n` draws on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns an id as the driver generates them: eight random digits and a constant rest.
    pub fn uuid(&mut self) -> String {
        format!("{:08x}-0000-4000-8000-000000000000", self.next_u64() & 0xffff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_the_driver() {
        let mut ids = SplitMix::new(42);
        let drawn: Vec<_> = (0..5).map(|_| ids.uuid().get(..8).unwrap().to_owned()).collect();
        assert_eq!(drawn, ["2feb6e95", "b266f103", "130f9f52", "0e4ae394", "244823f2"]);
        assert_eq!(SplitMix::after(42, 3).uuid().get(..8), Some("0e4ae394"));
    }
}
