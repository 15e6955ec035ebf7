//! What all implementations have in common: a block of 64 bytes becomes a few bit masks, and these give the end.
#![expect(unsafe_code, reason = "the implementations need certain CPU instructions")]
#![expect(clippy::inline_always, reason = "must be compiled for the same CPU instructions as the caller")]

use super::super::scan::string_end_simple;

/// The bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Most strings are keys, ids and words, and end within this many bytes.
pub(super) const SHORT: usize = 32;

/// A table of 16 bytes, as its lower and upper eight.
pub(super) type Table = [[u8; 8]; 2];

/// Maps the upper half of each byte that may follow a backslash to a bit.
pub(super) const UPPER: Table = [[0, 0, 1, 0, 0, 2, 4, 8], [0; 8]];

/// Maps the lower half of each byte that may follow a backslash to the bits of all upper halves it may combine with.
pub(super) const LOWER: Table = [[0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0], [0, 0, 0, 0, 2, 0, 4, 1]];

/// 64 bytes of a string in registers. Results have one bit per byte.
///
/// The functions are unsafe because they require certain CPU instructions. Only functions compiled for those
/// instructions may call them; they are inlined there.
pub(super) trait Block: Copy {
    unsafe fn load(bytes: &[u8; BLOCK]) -> Self;
    unsafe fn equal(self, byte: u8) -> u64;
    /// The bytes below a space.
    unsafe fn controls(self) -> u64;
    /// The bytes that may follow a backslash: `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t` and `u`.
    unsafe fn known_escapes(self) -> u64;
}

/// The end of a string that is long or has escapes, starting from inside it.
#[inline(always)]
pub(super) unsafe fn long_string_end<B: Block>(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    let mut is_escape_pending = false;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        // SAFETY: the caller is compiled for the instructions of the block.
        let (block, quotes, backslashes, controls) = unsafe {
            let block = B::load(block);
            (block, block.equal(b'"'), block.equal(b'\\'), block.controls())
        };
        let escaped =
            if backslashes == 0 && !is_escape_pending { 0 } else { escaped(backslashes, &mut is_escape_pending) };
        let ends = (quotes & !escaped) | controls;
        if escaped != 0 {
            // Only bytes before the end are part of the string.
            let inside = ends.wrapping_sub(1) & !ends;
            let inside = escaped & if ends == 0 { u64::MAX } else { inside };
            // SAFETY: as above.
            let (wrong, long) = unsafe { (inside & !block.known_escapes(), inside & block.equal(b'u')) };
            if wrong | long != 0 {
                check_escapes(bytes, at, wrong, long)?;
            }
        }
        if ends != 0 {
            let end = ends.trailing_zeros();
            let offset = at + end as usize;
            let is_control = controls >> end & 1 == 1;
            // If the control character is escaped, the error is the backslash before it.
            let is_escaped = escaped >> end & 1 == 1;
            return match (is_control, is_escaped) {
                (true, true) => Err(offset - 1),
                (true, false) => Err(offset),
                (false, _) => Ok(offset + 1),
            };
        }
        at += BLOCK;
    }
    string_end_simple(bytes, at - usize::from(is_escape_pending))
}

/// The bytes other than backslashes that are escaped: those after a run of backslashes of odd length.
///
/// Adding a run's first bit to the run carries to the bit after its last one, for all runs at once. Runs that begin
/// at even and at odd positions are handled separately, and the position where a run ends shows whether its length
/// is odd.
#[inline]
fn escaped(backslashes: u64, is_escape_pending: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let first = u64::from(*is_escape_pending);
    let runs = backslashes & !first;
    let starts = runs & !(runs << 1);
    let after_even_starts = runs.wrapping_add(starts & EVEN);
    // A run that began at an odd position and reaches the end of the block has odd length.
    let (after_odd_starts, is_odd_at_end) = runs.overflowing_add(starts & !EVEN);
    *is_escape_pending = is_odd_at_end;
    ((after_even_starts & !EVEN) | (after_odd_starts & EVEN)) & !runs | first
}

/// Fails at the first invalid escape, given the masks of unknown escapes and of four-digit escapes.
#[cold]
fn check_escapes(bytes: &[u8], block: usize, wrong: u64, mut long: u64) -> Result<(), usize> {
    while long != 0 {
        let at = block + long.trailing_zeros() as usize;
        let is_before_wrong = wrong.trailing_zeros() > long.trailing_zeros();
        let digits = bytes.get(at + 1..at + 5);
        if is_before_wrong && !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err(at - 1);
        }
        long &= long - 1;
    }
    if wrong == 0 { Ok(()) } else { Err(block + wrong.trailing_zeros() as usize - 1) }
}
