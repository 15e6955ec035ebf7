//! The chain over the lines of a log, and positions in a log.

use std::fmt;

use sha2::{Digest, Sha256};

/// The hash over all lines of a log up to some line.
///
/// Two logs with equal chains after equally many lines have the same lines so far. A line counts without its newline; a
/// carriage return belongs to the line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Chain([u8; Self::LENGTH]);

impl Chain {
    /// The number of bytes of a chain.
    pub const LENGTH: usize = 16;

    /// The chain of a log without lines.
    pub const EMPTY: Self = Self([0; Self::LENGTH]);

    /// Returns the chain after one more line: the first 16 bytes of SHA-256 over this chain and the line.
    #[must_use]
    pub fn after(&self, line: &[u8]) -> Self {
        let digest = Sha256::new().chain_update(self.0).chain_update(line).finalize();
        let mut bytes = [0; Self::LENGTH];
        bytes.copy_from_slice(&digest[..Self::LENGTH]);
        Self(bytes)
    }

    /// Returns the chain after all these lines.
    #[must_use]
    pub fn after_all<'l>(&self, lines: impl IntoIterator<Item = &'l [u8]>) -> Self {
        lines.into_iter().fold(*self, |chain, line| chain.after(line))
    }

    /// Returns the bytes, for a server or a note on disk.
    pub fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

impl From<[u8; Self::LENGTH]> for Chain {
    fn from(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }
}

/// Reads the bytes of a chain; fails if there are not exactly 16.
impl TryFrom<&[u8]> for Chain {
    type Error = std::array::TryFromSliceError;

    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        bytes.try_into().map(Self)
    }
}

impl Chain {
    /// Reads the digits that [`Display`](fmt::Display) writes.
    pub fn from_digits(digits: &str) -> Option<Self> {
        let digits: &[u8; 2 * Self::LENGTH] = digits.as_bytes().try_into().ok()?;
        let digit = |at: usize| u8::try_from(char::from(digits[at]).to_digit(16)?).ok();
        let mut bytes = [0; Self::LENGTH];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = digit(2 * index)? << 4 | digit(2 * index + 1)?;
        }
        Some(Self(bytes))
    }
}

/// Hexadecimal digits.
impl fmt::Display for Chain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Chain({self})")
    }
}

/// How far a log goes: which rewriting of it, how many lines, and the chain over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// How often the log was replaced on purpose. Lines of an older epoch never come back.
    pub epoch: u32,
    /// The number of lines after the header.
    pub n_lines: u64,
    /// The chain over these lines.
    pub chain: Chain,
}

impl Position {
    /// Returns the position before the first line of an epoch.
    pub fn start(epoch: u32) -> Self {
        Self { epoch, n_lines: 0, chain: Chain::EMPTY }
    }

    /// Returns the position after one more line.
    #[must_use]
    pub fn after(&self, line: &[u8]) -> Self {
        Self { epoch: self.epoch, n_lines: self.n_lines + 1, chain: self.chain.after(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_the_start_of_a_hash_over_the_chain_before_and_the_line() {
        let digest = Sha256::digest([[0; 16].as_slice(), b"a"].concat());
        let first = Chain::EMPTY.after(b"a");
        assert_eq!(first.as_bytes().as_slice(), &digest[..16]);
        let digest = Sha256::digest([first.as_bytes().as_slice(), b"b\r"].concat());
        assert_eq!(first.after(b"b\r").as_bytes().as_slice(), &digest[..16]);
        assert_eq!(Chain::EMPTY.after_all([b"a".as_slice(), b"b\r"]), first.after(b"b\r"));
    }

    #[test]
    fn order_and_bounds_of_lines_count() {
        let chain = |lines: &[&str]| Chain::EMPTY.after_all(lines.iter().map(|line| line.as_bytes()));
        let different = [chain(&[]), chain(&[""]), chain(&["ab"]), chain(&["a", "b"]), chain(&["b", "a"])];
        for (index, one) in different.iter().enumerate() {
            assert!(different.iter().skip(index + 1).all(|other| one != other), "{one}");
        }
    }

    #[test]
    fn positions_count_lines() {
        let position = Position::start(3).after(b"a").after(b"b");
        let chain = Chain::EMPTY.after(b"a").after(b"b");
        assert_eq!(position, Position { epoch: 3, n_lines: 2, chain });
    }

    #[test]
    fn chains_are_read_and_printed() {
        let chain = Chain::EMPTY.after(b"a");
        assert_eq!(Chain::try_from(chain.as_bytes().as_slice()).unwrap(), chain);
        assert!(Chain::try_from([0; 15].as_slice()).is_err());
        assert_eq!(Chain::EMPTY.to_string(), "0".repeat(32));
    }
}
