//! Ids that are the same on every machine and at every import.

use rustc_hash::FxHashSet;
use sessile_core::date::Timestamp;
use sessile_core::{EntryId, SessionId};
use sha2::{Digest, Sha256};

use crate::agent::Agent;

/// A hash of texts, in which the limits between them count.
pub(crate) fn digest(texts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let hash = hash.finalize();
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A quick hash of an id, for tables in memory. It is never stored.
pub(crate) fn key(text: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(text);
    hasher.write_usize(text.len());
    hasher.finish()
}

/// The id of the pi session for a foreign one: a UUID of version 7 from its start and a hash of its id.
pub fn session_id(agent: Agent, id: &str, started: Option<Timestamp>) -> SessionId {
    let ms = u64::try_from(started.map_or(0, Timestamp::as_ms)).unwrap_or_default() & 0xffff_ffff_ffff;
    let random = [0_u8, 1].map(|half| digest(&[agent.word().as_bytes(), id.as_bytes(), &[half]]));
    let (a, b) = (random[0] & 0xfff, random[1] & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000);
    let text = format!("{:08x}-{:04x}-7{a:03x}-{:04x}-{:012x}", ms >> 16, ms & 0xffff, b >> 48, b & 0xffff_ffff_ffff);
    text.into()
}

/// Gives entries their ids: the first eight digits of their digests. If another entry of the session has that id, the
/// next number of a fixed sequence decides, and so on.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    taken: FxHashSet<u32>,
}

impl Ids {
    /// The id for a digest.
    pub(crate) fn give(&mut self, digest: u64) -> u32 {
        let mut id = (digest >> 32) as u32;
        let mut attempt = digest;
        while !self.taken.insert(id) {
            attempt = mixed(attempt.wrapping_add(0x9e37_79b9_7f4a_7c15));
            id = (attempt >> 32) as u32;
        }
        id
    }

    /// Notes that an entry has this id.
    pub(crate) fn take(&mut self, id: u32) {
        self.taken.insert(id);
    }

    /// Whether an entry has this id.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.taken.contains(&id)
    }
}

/// `SplitMix64`: a permutation of all numbers without visible pattern.
pub(crate) fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// The digits of an id.
pub(crate) fn entry_id(id: u32) -> EntryId {
    EntryId::from(format!("{id:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_a_uuid_of_version_7_that_depends_on_agent_id_and_start() {
        let start = Some(Timestamp::from_ms(1_762_000_000_123));
        let id = session_id(Agent::Claude, "x", start);
        assert_eq!(id, session_id(Agent::Claude, "x", start));
        assert_ne!(id, session_id(Agent::Claude, "y", start));
        assert_ne!(id, session_id(Agent::Claude, "x", None));
        let text = id.as_str();
        assert_eq!(text.len(), 36, "{text}");
        assert!(text.starts_with("019a3f62-547b-7"), "{text}");
        assert!("89ab".contains(text.chars().nth(19).unwrap()), "{text}");
    }

    #[test]
    fn an_id_that_is_taken_is_not_given_again() {
        let mut ids = Ids::default();
        let given = [1, 1, 2, 1].map(|low: u64| ids.give(0xabcd_0123_0000_0000 | low));
        assert_eq!(given[0], 0xabcd_0123);
        let distinct: FxHashSet<_> = given.iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
