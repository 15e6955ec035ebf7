//! The instructions of 64-bit ARM: NEON, which all these machines have.
#![expect(unsafe_code, reason = "registers are loaded through pointers")]
#![expect(clippy::inline_always, reason = "a call would take longer than these functions")]

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vceqq_u8, vcltq_u8, vdupq_n_u8, vget_lane_u64, vgetq_lane_u64, vld1q_u8, vorrq_u8, vpaddq_u8,
    vqtbl1q_u8, vreinterpret_u64_u8, vreinterpretq_u16_u8, vreinterpretq_u64_u8, vshrn_n_u16, vshrq_n_u8, vtstq_u8,
};

use super::super::scan::{Members, Strings, scan_value_with};
use super::blocks::{BLOCK, Block, LOWER, SHORT, Table, UPPER, long_string_end};

/// The bytes of a register.
const REGISTER: usize = 16;

/// The offset just after the closing quote of the string at `start`, or the offset of the first error: a control
/// character, or the backslash of an invalid escape.
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "other machines may lack the instructions")]
pub(in super::super) fn string_end(bytes: &[u8], start: usize) -> Option<Result<usize, usize>> {
    Some(Neon::string_end(bytes, start))
}

/// Parses one value.
#[expect(clippy::unnecessary_wraps, reason = "other machines may lack the instructions")]
pub(in super::super) fn scan_value<M: Members>(
    bytes: &[u8],
    start: usize,
    members: &mut M,
) -> Option<Result<usize, usize>> {
    Some(scan_value_with::<Neon, M>(bytes, start, members))
}

/// The results for strings of any length and for long ones, for the test that compares them with the simple one.
#[cfg(test)]
pub(in super::super) fn string_ends(bytes: &[u8], start: usize) -> Vec<Result<usize, usize>> {
    vec![Neon::string_end(bytes, start), long_string_end_neon(bytes, start + 1)]
}

/// Reads strings with NEON.
struct Neon;

impl Strings for Neon {
    #[inline(always)]
    fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
        match short_string_end(bytes, start + 1) {
            Some(end) => Ok(end),
            None => long_string_end_neon(bytes, start + 1),
        }
    }
}

/// The end of a string, starting from inside it, if it is short and has no escapes.
#[inline]
fn short_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let short: &[u8; SHORT] = bytes.get(at..)?.first_chunk()?;
    let (registers, _) = short.as_chunks();
    for (index, register) in registers.iter().enumerate() {
        let register = load(register);
        // SAFETY: all machines that this module is compiled for have NEON.
        let special = unsafe {
            let ends = vorrq_u8(equal(register, b'"'), equal(register, b'\\'));
            four_bits(vorrq_u8(ends, controls(register)))
        };
        if special != 0 {
            let end = at + index * REGISTER + (special.trailing_zeros() / 4) as usize;
            return (bytes.get(end) == Some(&b'"')).then_some(end + 1);
        }
    }
    None
}

#[inline(never)]
fn long_string_end_neon(bytes: &[u8], at: usize) -> Result<usize, usize> {
    // SAFETY: all machines that this module is compiled for have NEON.
    unsafe { long_string_end::<Quarters>(bytes, at) }
}

/// A block in four registers.
#[derive(Clone, Copy)]
struct Quarters([uint8x16_t; BLOCK / REGISTER]);

impl Block for Quarters {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; BLOCK]) -> Self {
        let (quarters, _) = bytes.as_chunks();
        Self([load(&quarters[0]), load(&quarters[1]), load(&quarters[2]), load(&quarters[3])])
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        let Self([a, b, c, d]) = self;
        // SAFETY: as the trait requires.
        unsafe { one_bit([equal(a, byte), equal(b, byte), equal(c, byte), equal(d, byte)]) }
    }

    #[inline(always)]
    unsafe fn controls(self) -> u64 {
        let Self([a, b, c, d]) = self;
        // SAFETY: as the trait requires.
        unsafe { one_bit([controls(a), controls(b), controls(c), controls(d)]) }
    }

    #[inline(always)]
    unsafe fn known_escapes(self) -> u64 {
        let Self([a, b, c, d]) = self;
        // SAFETY: as the trait requires.
        unsafe { one_bit([known_escapes(a), known_escapes(b), known_escapes(c), known_escapes(d)]) }
    }
}

/// Takes four bits of each byte, all of which are 0 or 0xff.
#[inline]
#[target_feature(enable = "neon")]
fn four_bits(mask: uint8x16_t) -> u64 {
    vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(mask))))
}

/// Takes one bit of each byte, all of which are 0 or 0xff.
///
/// Each byte keeps the bit of its place among eight. Adding neighbours three times puts eight bytes into one.
#[inline]
#[target_feature(enable = "neon")]
fn one_bit([a, b, c, d]: [uint8x16_t; 4]) -> u64 {
    const PLACES: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    let places = table([PLACES; 2]);
    let first = vpaddq_u8(vandq_u8(a, places), vandq_u8(b, places));
    let second = vpaddq_u8(vandq_u8(c, places), vandq_u8(d, places));
    let all = vpaddq_u8(first, second);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(all, all)))
}

#[inline]
#[target_feature(enable = "neon")]
fn equal(register: uint8x16_t, byte: u8) -> uint8x16_t {
    vceqq_u8(register, vdupq_n_u8(byte))
}

#[inline]
#[target_feature(enable = "neon")]
fn controls(register: uint8x16_t) -> uint8x16_t {
    vcltq_u8(register, vdupq_n_u8(b' '))
}

#[inline]
#[target_feature(enable = "neon")]
fn known_escapes(register: uint8x16_t) -> uint8x16_t {
    let low = vqtbl1q_u8(table(LOWER), vandq_u8(register, vdupq_n_u8(0x0f)));
    let high = vqtbl1q_u8(table(UPPER), vshrq_n_u8::<4>(register));
    vtstq_u8(low, high)
}

#[inline(always)]
fn table(table: Table) -> uint8x16_t {
    let [lower, upper] = table;
    let mut bytes = [0; REGISTER];
    bytes[..8].copy_from_slice(&lower);
    bytes[8..].copy_from_slice(&upper);
    load(&bytes)
}

#[inline(always)]
fn load(bytes: &[u8; REGISTER]) -> uint8x16_t {
    // SAFETY: the pointer is to 16 bytes, which need no alignment. All machines that this module is compiled for have
    // NEON.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
