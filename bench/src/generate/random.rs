//! Randomness that is the same on every machine.

/// A small generator (SplitMix64): good enough for made-up text, and cheap.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Creates a separate stream for each name, so that generating one more thing changes nothing else.
    pub(super) fn new(seed: u64, name: &str, index: usize) -> Self {
        let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes().chain(index.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(state)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which must not be zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.next()) * end as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// Returns a number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Returns a number that is at least 0 and below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub(super) fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.below(choices.len())]
    }

    /// Returns the time until the next event, if events come every `mean` milliseconds on average.
    #[expect(clippy::cast_possible_truncation, reason = "a few minutes in milliseconds")]
    pub(super) fn waiting_time(&mut self, mean: f64) -> i64 {
        1 + (-mean * (1.0 - self.unit()).ln()) as i64
    }

    /// Returns a factor whose logarithm is normally distributed around 0.
    pub(super) fn log_normal(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        (deviation * normal).exp()
    }
}
