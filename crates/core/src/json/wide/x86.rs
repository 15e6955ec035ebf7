//! The instructions of x86-64: AVX2, and AVX-512 on machines that have it.
#![expect(unsafe_code, reason = "CPU instructions are selected at run time")]
#![expect(clippy::inline_always, reason = "must be compiled for the same CPU instructions as the caller")]

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_set_epi64x, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
    _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_set_epi64,
    _mm512_set1_epi8, _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_test_epi8_mask,
};

use super::super::scan::{Members, Strings, scan_value_with};
use super::blocks::{BLOCK, Block, LOWER, SHORT, Table, UPPER, long_string_end};

/// The offset just after the closing quote of the string at `start`, or the offset of the first error: a control
/// character, or the backslash of an invalid escape. `None` on machines without the instructions.
#[inline]
pub(in super::super) fn string_end(bytes: &[u8], start: usize) -> Option<Result<usize, usize>> {
    // SAFETY: the machine was just checked for the instructions that this function is compiled for.
    is_x86_feature_detected!("avx2").then(|| unsafe { string_end_avx2(bytes, start) })
}

/// Parses one value. `None` on machines without the instructions.
#[inline]
pub(in super::super) fn scan_value<M: Members>(
    bytes: &[u8],
    start: usize,
    members: &mut M,
) -> Option<Result<usize, usize>> {
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2") {
        // SAFETY: the machine was just checked for the instructions that this function is compiled for.
        return Some(unsafe { scan_value_avx512(bytes, start, members) });
    }
    // SAFETY: as above.
    is_x86_feature_detected!("avx2").then(|| unsafe { scan_value_avx2(bytes, start, members) })
}

/// The results of the widest implementations on this machine, for the test that compares them with the simple one.
#[cfg(test)]
pub(in super::super) fn string_ends(bytes: &[u8], start: usize) -> Vec<Result<usize, usize>> {
    let mut ends: Vec<_> = string_end(bytes, start).into_iter().collect();
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2") {
        // SAFETY: the machine was just checked for the instructions that this function is compiled for.
        ends.push(unsafe { long_string_end_avx512(bytes, start + 1) });
    }
    ends
}

#[target_feature(enable = "avx2")]
fn scan_value_avx2<M: Members>(bytes: &[u8], start: usize, members: &mut M) -> Result<usize, usize> {
    scan_value_with::<Avx2, M>(bytes, start, members)
}

#[target_feature(enable = "avx2,avx512bw")]
fn scan_value_avx512<M: Members>(bytes: &[u8], start: usize, members: &mut M) -> Result<usize, usize> {
    scan_value_with::<Avx512, M>(bytes, start, members)
}

#[target_feature(enable = "avx2")]
fn string_end_avx2(bytes: &[u8], start: usize) -> Result<usize, usize> {
    Avx2::string_end(bytes, start)
}

/// Reads strings with AVX2. Only functions compiled for AVX2 may use this type.
struct Avx2;

impl Strings for Avx2 {
    #[inline(always)]
    fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
        // SAFETY: only functions compiled for these instructions use this type.
        unsafe {
            match short_string_end(bytes, start + 1) {
                Some(end) => Ok(end),
                None => long_string_end_avx2(bytes, start + 1),
            }
        }
    }
}

/// Reads strings with AVX2 and AVX-512. Only functions compiled for both may use this type.
struct Avx512;

impl Strings for Avx512 {
    #[inline(always)]
    fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
        // SAFETY: only functions compiled for these instructions use this type.
        unsafe {
            match short_string_end(bytes, start + 1) {
                Some(end) => Ok(end),
                None => long_string_end_avx512(bytes, start + 1),
            }
        }
    }
}

/// The end of a string, starting from inside it, if it is short and has no escapes.
#[inline]
#[target_feature(enable = "avx2")]
fn short_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let short = half(bytes.get(at..)?.first_chunk()?);
    let special = equal_half(short, b'"') | equal_half(short, b'\\') | controls_half(short);
    let length = special.trailing_zeros() as usize;
    (special != 0 && bytes.get(at + length) == Some(&b'"')).then_some(at + length + 1)
}

#[inline(never)]
#[target_feature(enable = "avx2")]
fn long_string_end_avx2(bytes: &[u8], at: usize) -> Result<usize, usize> {
    // SAFETY: this function is compiled for the instructions that `Halves` needs.
    unsafe { long_string_end::<Halves>(bytes, at) }
}

#[inline(never)]
#[target_feature(enable = "avx2,avx512bw")]
fn long_string_end_avx512(bytes: &[u8], at: usize) -> Result<usize, usize> {
    // SAFETY: this function is compiled for the instructions that `Whole` needs.
    unsafe { long_string_end::<Whole>(bytes, at) }
}

/// A block in two AVX2 registers.
#[derive(Clone, Copy)]
struct Halves(__m256i, __m256i);

impl Block for Halves {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; BLOCK]) -> Self {
        let (halves, _) = bytes.as_chunks::<SHORT>();
        // SAFETY: as the trait requires.
        unsafe { Self(half(&halves[0]), half(&halves[1])) }
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: as the trait requires.
        unsafe { together(equal_half(self.0, byte), equal_half(self.1, byte)) }
    }

    #[inline(always)]
    unsafe fn controls(self) -> u64 {
        // SAFETY: as the trait requires.
        unsafe { together(controls_half(self.0), controls_half(self.1)) }
    }

    #[inline(always)]
    unsafe fn known_escapes(self) -> u64 {
        // SAFETY: as the trait requires.
        unsafe { together(known_escapes_half(self.0), known_escapes_half(self.1)) }
    }
}

fn together(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

#[inline]
#[target_feature(enable = "avx2")]
fn known_escapes_half(half: __m256i) -> u32 {
    let low_bits = _mm256_set1_epi8(0x0f);
    let low = _mm256_shuffle_epi8(table(LOWER), _mm256_and_si256(half, low_bits));
    let high = _mm256_shuffle_epi8(table(UPPER), _mm256_and_si256(_mm256_srli_epi16::<4>(half), low_bits));
    let unknown = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
    !_mm256_movemask_epi8(unknown).cast_unsigned()
}

/// A table, repeated for each half of a register.
#[inline]
#[target_feature(enable = "avx2")]
fn table([lower, upper]: Table) -> __m256i {
    let (lower, upper) = (i64::from_le_bytes(lower), i64::from_le_bytes(upper));
    _mm256_set_epi64x(upper, lower, upper, lower)
}

#[inline]
#[target_feature(enable = "avx2")]
fn controls_half(half: __m256i) -> u32 {
    let last_control = _mm256_set1_epi8(0x1f);
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(half, last_control), half)).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal_half(half: __m256i, byte: u8) -> u32 {
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte.cast_signed()))).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn half(bytes: &[u8; SHORT]) -> __m256i {
    // SAFETY: the pointer is to 32 bytes, which need no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// A block in one AVX-512 register.
#[derive(Clone, Copy)]
struct Whole(__m512i);

impl Block for Whole {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; BLOCK]) -> Self {
        // SAFETY: as the trait requires. The pointer is to 64 bytes, which need no alignment.
        unsafe { Self(_mm512_loadu_si512(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: as the trait requires.
        unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn controls(self) -> u64 {
        // SAFETY: as the trait requires.
        unsafe { _mm512_cmplt_epu8_mask(self.0, _mm512_set1_epi8(0x20)) }
    }

    #[inline(always)]
    unsafe fn known_escapes(self) -> u64 {
        // SAFETY: as the trait requires.
        unsafe {
            let low_bits = _mm512_set1_epi8(0x0f);
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(self.0), low_bits);
            let low = _mm512_shuffle_epi8(wide_table(LOWER), _mm512_and_si512(self.0, low_bits));
            _mm512_test_epi8_mask(low, _mm512_shuffle_epi8(wide_table(UPPER), high))
        }
    }
}

/// A table, repeated for each quarter of a register.
#[inline]
#[target_feature(enable = "avx512bw")]
fn wide_table([lower, upper]: Table) -> __m512i {
    let (lower, upper) = (i64::from_le_bytes(lower), i64::from_le_bytes(upper));
    _mm512_set_epi64(upper, lower, upper, lower, upper, lower, upper, lower)
}
