//! The end of a string, 64 bytes at a time.
//!
//! Most bytes of a session are inside long strings, and most of what slows a
//! byte-by-byte reader down are the escapes in them, one every twenty bytes.
//! Here a block of 64 bytes becomes a few bit masks, from which escapes are
//! checked all at once. The simple twin is
//! [`string_end_simple`](super::scan::string_end_simple); a property test and a
//! fuzz target hold that they agree.
//!
//! This is the one module of the crate that may use `unsafe`, for one thing:
//! calling a function compiled for instructions that were just found to exist.
#![expect(unsafe_code, reason = "instructions of the machine are chosen at run time")]

#[cfg(not(target_arch = "x86_64"))]
pub(super) use other::{scan_value, string_end};
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{scan_value, string_end};

/// Machines for which there are no instructions here: everything is left to the simple twin.
#[cfg(not(target_arch = "x86_64"))]
mod other {
    use super::super::scan::Members;

    pub(in super::super) fn string_end(_bytes: &[u8], _start: usize) -> Option<Result<usize, usize>> {
        None
    }

    pub(in super::super) fn scan_value<M: Members>(_: &[u8], _: usize, _: &mut M) -> Option<Result<usize, usize>> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set_epi64x,
        _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
    };

    use super::super::scan::{Members, Strings, scan_value_with, string_end_simple};

    const BLOCK: usize = 64;

    /// Most strings are keys, ids and words, and end within so many bytes.
    const SHORT: usize = 32;

    /// The offset just behind the closing quote of the string at `start`, or that of the first offence: a
    /// control character, or the backslash of a wrong escape. None on machines without the instructions.
    #[inline]
    pub(in super::super) fn string_end(bytes: &[u8], start: usize) -> Option<Result<usize, usize>> {
        // SAFETY: the machine has the instructions this function is compiled for, as was just found out.
        is_x86_feature_detected!("avx2").then(|| unsafe { string_end_avx2(bytes, start + 1) })
    }

    /// Reads one value. None on machines without the instructions.
    #[inline]
    pub(in super::super) fn scan_value<M: Members>(
        bytes: &[u8],
        start: usize,
        members: &mut M,
    ) -> Option<Result<usize, usize>> {
        // SAFETY: the machine has the instructions this function is compiled for, as was just found out.
        is_x86_feature_detected!("avx2").then(|| unsafe { scan_value_avx2(bytes, start, members) })
    }

    #[target_feature(enable = "avx2")]
    fn scan_value_avx2<M: Members>(bytes: &[u8], start: usize, members: &mut M) -> Result<usize, usize> {
        scan_value_with::<Avx2, M>(bytes, start, members)
    }

    /// Strings are read with AVX2. Used by [`scan_value_avx2`] alone.
    struct Avx2;

    impl Strings for Avx2 {
        #[inline(always)]
        #[expect(clippy::inline_always, reason = "it has to be compiled with the instructions of its caller")]
        fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
            // SAFETY: nobody but a function that is compiled for these instructions names this type.
            unsafe { string_end_avx2(bytes, start + 1) }
        }
    }

    /// The end of a string from inside of it: at once if it is short and plain.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn string_end_avx2(bytes: &[u8], at: usize) -> Result<usize, usize> {
        if let Some(short) = bytes.get(at..).and_then(|rest| rest.first_chunk::<SHORT>()) {
            let short = half(short);
            let special = equal_half(short, b'"') | equal_half(short, b'\\') | controls(short);
            let length = special.trailing_zeros() as usize;
            if special != 0 && bytes.get(at + length) == Some(&b'"') {
                return Ok(at + length + 1);
            }
        }
        long_string_end(bytes, at)
    }

    /// What is in a block of a string, a bit for each byte.
    struct Masks {
        quotes: u64,
        backslashes: u64,
        controls: u64,
    }

    /// The end of a string that is long or holds escapes, from inside of it.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn long_string_end(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
        let mut is_escape_pending = false;
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
            let halves = halves(block);
            let masks = masks(halves);
            let escaped = if masks.backslashes == 0 && !is_escape_pending {
                0
            } else {
                escaped(masks.backslashes, &mut is_escape_pending)
            };
            let ends = (masks.quotes & !escaped) | masks.controls;
            if escaped != 0 {
                // Only what stands before the end is part of the string.
                let inside = ends.wrapping_sub(1) & !ends;
                check_escapes(bytes, at, escaped & if ends == 0 { u64::MAX } else { inside }, halves)?;
            }
            if ends != 0 {
                let end = ends.trailing_zeros();
                let offset = at + end as usize;
                let is_control = masks.controls >> end & 1 == 1;
                // A backslash before a control character is the first offence, and then the character is escaped.
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

    /// Which bytes are escaped: each one behind a backslash that is not escaped itself.
    ///
    /// A block has three backslashes on average, so they are taken one after the other.
    #[inline]
    fn escaped(backslashes: u64, is_escape_pending: &mut bool) -> u64 {
        let mut escaped = u64::from(*is_escape_pending);
        let mut rest = backslashes & !escaped;
        *is_escape_pending = false;
        while rest != 0 {
            let backslash = rest & rest.wrapping_neg();
            let behind = backslash << 1;
            *is_escape_pending = behind == 0;
            escaped |= behind;
            rest &= !(backslash | behind);
        }
        escaped
    }

    /// Fails at the first escape that JSON does not know.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn check_escapes(bytes: &[u8], block: usize, escaped: u64, halves: [__m256i; 2]) -> Result<(), usize> {
        let wrong = escaped & !known_escapes(halves);
        let mut long = escaped & equal(halves, b'u');
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

    /// Which bytes may stand behind a backslash: `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t` and `u`.
    ///
    /// Each has a bit for its upper half; a byte is one of them if the bit is in the row of its lower half.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn known_escapes(halves: [__m256i; 2]) -> u64 {
        let upper = both([[0, 0, 1, 0, 0, 2, 4, 8], [0; 8]]);
        let lower = both([[0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0], [0, 0, 0, 0, 2, 0, 4, 1]]);
        let low_bits = _mm256_set1_epi8(0x0f);
        let [first, second] = halves.map(|half| {
            let low = _mm256_shuffle_epi8(lower, _mm256_and_si256(half, low_bits));
            let high = _mm256_shuffle_epi8(upper, _mm256_and_si256(_mm256_srli_epi16::<4>(half), low_bits));
            _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256())
        });
        !bits([first, second])
    }

    /// A table of 16 bytes for each half of a register, from its lower and upper eight.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn both([lower, upper]: [[u8; 8]; 2]) -> __m256i {
        let [lower, upper] = [lower, upper].map(i64::from_le_bytes);
        _mm256_set_epi64x(upper, lower, upper, lower)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn masks(halves: [__m256i; 2]) -> Masks {
        let [first, second] = [controls(halves[0]), controls(halves[1])];
        Masks {
            quotes: equal(halves, b'"'),
            backslashes: equal(halves, b'\\'),
            controls: u64::from(first) | u64::from(second) << 32,
        }
    }

    /// Which bytes are below a space.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn controls(half: __m256i) -> u32 {
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
    fn equal([first, second]: [__m256i; 2], byte: u8) -> u64 {
        u64::from(equal_half(first, byte)) | u64::from(equal_half(second, byte)) << 32
    }

    /// The upper bit of each byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits([first, second]: [__m256i; 2]) -> u64 {
        let bits = |half| u64::from(_mm256_movemask_epi8(half).cast_unsigned());
        bits(first) | bits(second) << 32
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &[u8; BLOCK]) -> [__m256i; 2] {
        let (first, second) = block.split_at(SHORT);
        let filled = |part: &[u8]| part.first_chunk().map_or_else(|| _mm256_setzero_si256(), |part| half(part));
        [filled(first), filled(second)]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn half(bytes: &[u8; SHORT]) -> __m256i {
        let word = |place: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[place * 8..place * 8 + 8]);
            i64::from_le_bytes(word)
        };
        _mm256_set_epi64x(word(3), word(2), word(1), word(0))
    }
}
