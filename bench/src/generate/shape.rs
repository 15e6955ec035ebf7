//! The lengths of things in real sessions.
//!
//! Each table gives the lengths (in characters) below which the shares in [`SHARES`] of all messages of a kind stay.
//! They follow published figures about 1,904 messages of two real sessions; between the points, lengths grow evenly on
//! a logarithmic scale.

use super::random::Random;

/// A distribution of lengths, given at the shares of [`SHARES`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths([f64; 8]);

const SHARES: [f64; 8] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0];

pub(super) const USER_TEXT: Lengths = Lengths([2.0, 12.0, 34.0, 80.0, 160.0, 290.0, 2_000.0, 2_200.0]);
pub(super) const STEP_TEXT: Lengths = Lengths([8.0, 30.0, 43.0, 70.0, 115.0, 225.0, 870.0, 1_160.0]);
pub(super) const ANSWER_TEXT: Lengths = Lengths([4.0, 90.0, 160.0, 385.0, 730.0, 1_500.0, 12_000.0, 16_000.0]);
pub(super) const THINKING: Lengths = Lengths([50.0, 110.0, 170.0, 390.0, 1_150.0, 2_140.0, 5_000.0, 5_400.0]);
pub(super) const SIGNATURE: Lengths = Lengths([200.0, 350.0, 425.0, 725.0, 1_750.0, 3_700.0, 10_000.0, 10_600.0]);
pub(super) const BASH_COMMAND: Lengths = Lengths([30.0, 70.0, 85.0, 100.0, 140.0, 190.0, 1_470.0, 3_200.0]);
pub(super) const EDIT_ARGUMENTS: Lengths = Lengths([110.0, 260.0, 420.0, 650.0, 1_360.0, 2_800.0, 13_300.0, 23_000.0]);
pub(super) const WRITTEN_FILE: Lengths =
    Lengths([250.0, 290.0, 1_200.0, 3_500.0, 11_250.0, 30_000.0, 53_000.0, 56_000.0]);
pub(super) const BASH_RESULT: Lengths = Lengths([5.0, 11.0, 29.0, 180.0, 950.0, 1_500.0, 7_100.0, 15_000.0]);
pub(super) const READ_RESULT: Lengths = Lengths([150.0, 550.0, 1_125.0, 2_000.0, 3_700.0, 9_000.0, 49_900.0, 51_200.0]);
pub(super) const EDIT_DIFF: Lengths = Lengths([240.0, 355.0, 450.0, 650.0, 1_020.0, 2_370.0, 10_900.0, 24_000.0]);
pub(super) const SUMMARY: Lengths = Lengths([1_800.0, 2_300.0, 3_000.0, 4_000.0, 4_600.0, 5_500.0, 9_000.0, 12_000.0]);
pub(super) const IMAGE: Lengths =
    Lengths([4_000.0, 16_000.0, 40_000.0, 110_000.0, 230_000.0, 420_000.0, 1_100_000.0, 1_600_000.0]);
/// Steps and answers of the assistant per user message.
pub(super) const STEPS: Lengths = Lengths([0.6, 1.0, 2.0, 3.0, 6.0, 14.0, 52.0, 73.0]);

/// The length to which an agent cuts tool output.
pub(super) const MAX_TOOL_OUTPUT: usize = 51_200;

impl Lengths {
    pub(super) fn draw(self, random: &mut Random) -> usize {
        self.draw_times(random, 1.0)
    }

    /// Returns a length `factor` times as long as usual, at least 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and at most a few million")]
    pub(super) fn draw_times(self, random: &mut Random, factor: f64) -> usize {
        let share = random.unit();
        let above = SHARES.iter().position(|known| *known > share).unwrap_or(SHARES.len() - 1);
        let (low, high) = (self.0[above - 1].ln(), self.0[above].ln());
        let part = (share - SHARES[above - 1]) / (SHARES[above] - SHARES[above - 1]);
        ((low + part * (high - low)).exp() * factor).max(1.0) as usize
    }
}

/// The kind of work in a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    /// Factor for the length of tool results.
    pub(super) results: f64,
    /// Factor for the length of tool arguments.
    pub(super) arguments: f64,
    /// The probability that a user message contains a picture; a file that is read is one four times as often.
    pub(super) pictures: f64,
    /// The maximum length of a picture.
    pub(super) largest_picture: usize,
}

/// Everyday work.
pub(super) const USUAL: Profile = Profile { results: 1.0, arguments: 1.0, pictures: 0.008, largest_picture: 1_600_000 };
/// Everyday work without pictures.
pub(super) const TEXT_ONLY: Profile = Profile { pictures: 0.0, ..USUAL };
/// A short session with an occasional small picture.
pub(super) const SMALL: Profile = Profile { pictures: 0.004, largest_picture: 200_000, ..USUAL };
/// Long outputs and many screenshots: some 14 KB per message.
pub(super) const HEAVY: Profile = Profile { results: 11.0, arguments: 2.4, pictures: 0.12, ..USUAL };
/// Many short messages.
pub(super) const LIGHT: Profile = Profile { results: 0.6, arguments: 0.6, ..TEXT_ONLY };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_table() {
        let mut random = Random::new(1, "draws", 0);
        let mut drawn: Vec<usize> = (0..20_000).map(|_| BASH_RESULT.draw(&mut random)).collect();
        drawn.sort_unstable();
        for (share, expected) in [(0.5, 180.0), (0.9, 1_500.0)] {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            let found = drawn[(20_000.0 * share) as usize];
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let ratio = found as f64 / expected;
            assert!((0.9..1.1).contains(&ratio), "{share}: {found}");
        }
        assert!(*drawn.last().unwrap() <= 15_000 && drawn[0] >= 5);
    }
}
