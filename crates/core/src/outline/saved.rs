//! An outline as bytes, for a cache.
//!
//! The format is a sequence of plain arrays, so loading a million rows needs no allocation or parsing per row. The
//! cache is responsible for the integrity of the bytes. Loading still checks them far enough that an outline never
//! indexes outside its arrays.

use super::ids::{IdTable, TextId};
use super::{NONE, Outline, PARENT_ODD, PassedOver, Row};
use crate::diagnostic::Oddity;
use crate::head::{Kind, Role};
use crate::version::Upgrade;

/// Incremented whenever the meaning of the bytes changes.
pub const SAVED_VERSION: u32 = 1;

impl Outline {
    /// Serialises the outline. `None` while the last line has no newline, because that line may still change.
    pub fn save(&self) -> Option<Vec<u8>> {
        if self.unterminated {
            return None;
        }
        let mut out = Writer(Vec::with_capacity(64 + self.offsets.len() * 36));
        out.number(self.end);
        out.byte(self.upgrade.code());
        out.byte(u8::from(self.is_session) | u8::from(self.has_bom) << 1 | u8::from(self.may_loop) << 2);
        out.array(&self.offsets, u64::to_le_bytes);
        out.array(&self.lens, u32::to_le_bytes);
        out.array(&self.kinds, |kind| [kind.code()]);
        out.array(&self.roles, |role| [role.code()]);
        out.array(&self.times, i64::to_le_bytes);
        out.array(&self.ids, u32::to_le_bytes);
        out.array(&self.parents, u32::to_le_bytes);
        out.array(&self.gaps, u32::to_le_bytes);
        let (hexes, texts, arena) = self.names.to_save();
        out.array(hexes, u32::to_le_bytes);
        out.array(arena, |byte| [byte]);
        out.number(texts.len() as u64);
        for text in texts {
            out.number(u64::from(text.key));
            out.number(text.start);
            out.number(u64::from(text.len));
        }
        out.number(self.passed_over.len() as u64);
        for passed in &self.passed_over {
            let (code, detail) = match passed.oddity {
                Oddity::Malformed => (0, 0),
                Oddity::Empty => (1, 0),
                Oddity::TooLong { len } => (2, len),
                // Lines that are not rows have no other oddities.
                _ => return None,
            };
            out.byte(code);
            out.number(passed.line);
            out.number(passed.offset);
            out.number(detail);
        }
        Some(out.0)
    }

    /// Loads an outline saved as these bytes; `None` if they are not valid.
    pub fn load(mut bytes: &[u8]) -> Option<Self> {
        Self::load_from(&mut bytes)
    }

    /// Like [`load`](Self::load), from a stream, so that the bytes and the outline need not both be in memory.
    pub fn load_from(saved: &mut dyn SavedBytes) -> Option<Self> {
        let mut from = Reader { saved, piece: vec![0; PIECE] };
        let end = from.number()?;
        let upgrade = Upgrade::from_code(from.byte()?)?;
        let facts = from.byte()?;
        let offsets = from.array(u64::from_le_bytes)?;
        let lens = from.array(u32::from_le_bytes)?;
        let kinds = from.coded(Kind::from_code)?;
        let roles = from.coded(Role::from_code)?;
        let times = from.array(i64::from_le_bytes)?;
        let ids = from.array(u32::from_le_bytes)?;
        let parents = from.array(u32::from_le_bytes)?;
        let gaps = from.array(u32::from_le_bytes)?;
        let hexes = from.array(u32::from_le_bytes)?;
        let arena = from.array(u8::from_le_bytes)?;
        let texts = (0..from.number()?).map(|_| from.text_id()).collect::<Option<_>>()?;
        let passed_over = (0..from.number()?).map(|_| from.passed_over()).collect::<Option<_>>()?;
        let outline = Self {
            offsets,
            lens,
            kinds,
            roles,
            times,
            ids,
            parents,
            names: IdTable::saved(hexes, texts, arena)?,
            is_session: facts & 1 != 0,
            has_bom: facts & 2 != 0,
            may_loop: facts & 4 != 0,
            upgrade,
            gaps,
            passed_over,
            end,
            ..Self::default()
        };
        (from.saved.remaining() == 0 && outline.is_sound()).then(|| outline.carried())
    }

    /// Whether all columns have the same length and every number refers to something that exists.
    fn is_sound(&self) -> bool {
        let n_rows = self.offsets.len();
        let lengths =
            [self.lens.len(), self.kinds.len(), self.roles.len(), self.times.len(), self.ids.len(), self.parents.len()];
        let n_ids = self.names.len();
        lengths.iter().all(|length| *length == n_rows)
            && u32::try_from(n_rows).is_ok_and(|n_rows| n_rows < NONE)
            && self.ids.iter().all(|id| *id < n_ids || *id == NONE)
            && self.parents.iter().all(|parent| *parent < n_ids || *parent >= PARENT_ODD)
            && self.gaps.is_sorted()
    }

    /// Computes the fields that follow from the rows.
    fn carried(mut self) -> Self {
        for index in 0..self.offsets.len() {
            self.has_conversation |= self.roles[index].is_conversation();
            if self.kinds[index] != Kind::Header {
                self.n_entries += 1;
                self.carry(self.ids[index], Row(u32::try_from(index).unwrap_or(NONE - 1)));
            }
        }
        self
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn array<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.number(values.len() as u64);
        self.0.extend(values.iter().flat_map(|value| bytes(*value)));
    }
}

/// A stream of saved bytes.
pub trait SavedBytes {
    /// The number of bytes left.
    fn remaining(&self) -> u64;

    /// Fills the buffer with the next bytes; `None` if there are too few, or they cannot be read.
    fn read(&mut self, buffer: &mut [u8]) -> Option<()>;
}

impl SavedBytes for &[u8] {
    fn remaining(&self) -> u64 {
        self.len() as u64
    }

    fn read(&mut self, buffer: &mut [u8]) -> Option<()> {
        let (taken, rest) = self.split_at_checked(buffer.len())?;
        buffer.copy_from_slice(taken);
        *self = rest;
        Some(())
    }
}

/// Number of bytes read at a time: a multiple of every number's size that fits in the processor's cache.
const PIECE: usize = 32 << 10;

struct Reader<'b> {
    saved: &'b mut dyn SavedBytes,
    piece: Vec<u8>,
}

impl Reader<'_> {
    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.saved.read(&mut bytes)?;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.fixed().map(u64::from_le_bytes)
    }

    fn array<T, const N: usize>(&mut self, value: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let n_values = usize::try_from(self.number()?).ok()?;
        let mut n_left = n_values.checked_mul(N)?;
        // Whatever the count says, do not allocate more than the bytes left can fill.
        if n_left as u64 > self.saved.remaining() {
            return None;
        }
        let mut values = Vec::new();
        values.try_reserve_exact(n_values).ok()?;
        while n_left > 0 {
            let piece = &mut self.piece[..n_left.min(PIECE)];
            self.saved.read(piece)?;
            values.extend(piece.as_chunks::<N>().0.iter().map(|chunk| value(*chunk)));
            n_left -= piece.len();
        }
        Some(values)
    }

    fn coded<T: Copy>(&mut self, value: impl Fn(u8) -> Option<T>) -> Option<Vec<T>> {
        // Looked up once for each possible code, not once for each row.
        let values: Vec<Option<T>> = (0..=u8::MAX).map(value).collect();
        let codes = self.array(|[code]: [u8; 1]| values[usize::from(code)])?;
        codes.into_iter().collect()
    }

    fn text_id(&mut self) -> Option<TextId> {
        let key = u32::try_from(self.number()?).ok()?;
        Some(TextId { key, start: self.number()?, len: u32::try_from(self.number()?).ok()? })
    }

    fn passed_over(&mut self) -> Option<PassedOver> {
        let code = self.byte()?;
        let (line, offset, len) = (self.number()?, self.number()?, self.number()?);
        let oddity = match code {
            0 => Oddity::Malformed,
            1 => Oddity::Empty,
            2 => Oddity::TooLong { len },
            _ => return None,
        };
        Some(PassedOver { line, offset, oddity })
    }
}
