//! The bytes of a file, in the page cache and on the disk.

use crate::SplitMix;

/// The current bytes of a file, the durable bytes, and the pending changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    current: Vec<u8>,
    durable: Vec<u8>,
    /// The changes since the last sync, in order.
    dirty: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { bytes: Vec<u8>, offset: u64 },
    Resize(u64),
}

/// How power loss affects the changes that were not synced.
#[derive(Clone, Copy)]
enum Fate {
    /// All are lost.
    Gone,
    /// All survive.
    Kept,
    /// The first ones survive, the last of these perhaps in part.
    Prefix,
    /// The file has its new length, but from some write on its bytes are NUL.
    Nul,
    /// Any of the writes survive; the others only affect the length.
    Scattered,
}

const FATES: [Fate; 5] = [Fate::Gone, Fate::Kept, Fate::Prefix, Fate::Nul, Fate::Scattered];

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.current
    }

    pub(super) fn length(&self) -> u64 {
        self.current.len() as u64
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.current.len());
        let length = buffer.len().min(self.current.len() - start);
        buffer[..length].copy_from_slice(&self.current[start..start + length]);
        length
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        self.change(Change::Write { bytes: bytes.to_vec(), offset });
    }

    pub(super) fn resize(&mut self, length: u64) {
        self.change(Change::Resize(length));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.dirty.push(change);
    }

    /// Makes all changes durable.
    pub(super) fn sync(&mut self) {
        for change in self.dirty.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Applies a failed sync as on Linux: earlier writes count as clean, but are not on the disk.
    ///
    /// They can still be read while the machine runs. A later sync saves later writes at their offsets; bytes missing
    /// before them are NUL or unchanged. Changes of length are metadata and stay pending.
    pub(super) fn lose(&mut self) {
        self.dirty.retain(|change| matches!(change, Change::Resize(_)));
    }

    /// Returns the file after power loss.
    pub(super) fn after_power_loss(&self, random: &mut SplitMix) -> Self {
        let mut left = self.durable.clone();
        if !self.dirty.is_empty() {
            let n = self.dirty.len();
            match random.pick(&FATES) {
                Fate::Gone => {}
                Fate::Kept => self.dirty.iter().for_each(|change| change.apply(&mut left)),
                Fate::Prefix => self.keep_prefix(random.below(n), random, &mut left),
                Fate::Nul => {
                    let first_lost = random.below(n);
                    self.keep_if(|index| index < first_lost, &mut left);
                }
                Fate::Scattered => self.keep_if(|_| random.one_in(2), &mut left),
            }
        }
        Self { current: left.clone(), durable: left, dirty: Vec::new() }
    }

    fn keep_prefix(&self, n_whole: usize, random: &mut SplitMix, left: &mut Vec<u8>) {
        for change in &self.dirty[..n_whole] {
            change.apply(left);
        }
        if let Change::Write { bytes, offset } = &self.dirty[n_whole] {
            let part = bytes[..random.below(bytes.len() + 1)].to_vec();
            Change::Write { bytes: part, offset: *offset }.apply(left);
        }
    }

    fn keep_if(&self, mut is_kept: impl FnMut(usize) -> bool, left: &mut Vec<u8>) {
        for (index, change) in self.dirty.iter().enumerate() {
            match change {
                Change::Write { bytes, offset } if !is_kept(index) => {
                    let end = index_of_end(bytes, *offset);
                    left.resize(left.len().max(end), 0);
                }
                _ => change.apply(left),
            }
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { bytes, .. } if bytes.is_empty() => {}
            Self::Write { bytes, offset } => {
                let end = index_of_end(bytes, *offset);
                content.resize(content.len().max(end), 0);
                content[end - bytes.len()..end].copy_from_slice(bytes);
            }
            Self::Resize(length) => content.resize(index(*length), 0),
        }
    }
}

fn index_of_end(bytes: &[u8], offset: u64) -> usize {
    index(offset) + bytes.len()
}

/// Converts an offset to an index into memory.
pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}
