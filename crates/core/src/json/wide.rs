//! Finds the end of a string, 64 bytes at a time.
//!
//! Most bytes of a session are inside long strings. What slows a byte-by-byte reader down most are the escapes in them,
//! one every twenty bytes. Here a block of 64 bytes becomes a few bit masks, which check all escapes at once. The
//! simple reference implementation is [`string_end_simple`](super::scan::string_end_simple); a property test and a fuzz
//! target check that the two agree.
//!
//! This is the only module of the crate that may use `unsafe`, for one purpose: to call a function compiled for CPU
//! instructions that were just detected.
#![expect(unsafe_code, reason = "CPU instructions are selected at run time")]

#[cfg(not(target_arch = "x86_64"))]
pub(super) use other::{scan_value, string_end};
#[cfg(all(test, target_arch = "x86_64"))]
pub(super) use x86::string_ends;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{scan_value, string_end};

/// For machines without supported instructions: everything is left to the reference implementation.
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
#[expect(clippy::inline_always, reason = "must be compiled for the same CPU instructions as the caller")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_set_epi64x, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
        _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_set_epi64, _mm512_set1_epi8,
        _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_test_epi8_mask,
    };

    use super::super::scan::{Members, Strings, scan_value_with, string_end_simple};

    const BLOCK: usize = 64;

    /// Most strings are keys, ids and words, and end within this many bytes.
    const SHORT: usize = 32;

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

    /// 64 bytes of a string in registers. Results have one bit per byte.
    ///
    /// The functions are unsafe because they require certain CPU instructions. Only functions compiled for those
    /// instructions may call them; they are inlined there.
    trait Block: Copy {
        unsafe fn load(bytes: &[u8; BLOCK]) -> Self;
        unsafe fn equal(self, byte: u8) -> u64;
        /// The bytes below a space.
        unsafe fn controls(self) -> u64;
        /// The bytes that may follow a backslash: `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t` and `u`.
        unsafe fn known_escapes(self) -> u64;
    }

    /// The end of a string that is long or has escapes, starting from inside it.
    #[inline(always)]
    unsafe fn long_string_end<B: Block>(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
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

    /// `UPPER` maps the upper half of each byte that may follow a backslash to a bit. `LOWER` maps its lower half to
    /// the bits of all upper halves it may combine with. Each table has two rows of eight bytes.
    const UPPER: [[u8; 8]; 2] = [[0, 0, 1, 0, 0, 2, 4, 8], [0; 8]];
    const LOWER: [[u8; 8]; 2] = [[0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0], [0, 0, 0, 0, 2, 0, 4, 1]];

    /// A block in two AVX2 registers.
    #[derive(Clone, Copy)]
    struct Halves(__m256i, __m256i);

    impl Block for Halves {
        #[inline(always)]
        unsafe fn load(bytes: &[u8; BLOCK]) -> Self {
            let mut halves = [[0; SHORT]; 2];
            halves[0].copy_from_slice(&bytes[..SHORT]);
            halves[1].copy_from_slice(&bytes[SHORT..]);
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

    /// A table of 16 bytes, given as its lower and upper eight, repeated for each half of a register.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn table([lower, upper]: [[u8; 8]; 2]) -> __m256i {
        let [lower, upper] = [lower, upper].map(i64::from_le_bytes);
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
        let [first, second, third, fourth] = words(bytes);
        _mm256_set_epi64x(fourth, third, second, first)
    }

    /// A block in one AVX-512 register.
    #[derive(Clone, Copy)]
    struct Whole(__m512i);

    impl Block for Whole {
        #[inline(always)]
        unsafe fn load(bytes: &[u8; BLOCK]) -> Self {
            let [first, second, third, fourth, fifth, sixth, seventh, eighth] = words(bytes);
            // SAFETY: as the trait requires.
            unsafe { Self(_mm512_set_epi64(eighth, seventh, sixth, fifth, fourth, third, second, first)) }
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

    /// A table of 16 bytes, given as its lower and upper eight, repeated for each quarter of a register.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn wide_table([lower, upper]: [[u8; 8]; 2]) -> __m512i {
        let [lower, upper] = [lower, upper].map(i64::from_le_bytes);
        _mm512_set_epi64(upper, lower, upper, lower, upper, lower, upper, lower)
    }

    /// Bytes as words. The compiler turns this into a single load.
    #[inline(always)]
    fn words<const N_BYTES: usize, const N_WORDS: usize>(bytes: &[u8; N_BYTES]) -> [i64; N_WORDS] {
        std::array::from_fn(|index| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            i64::from_le_bytes(word)
        })
    }
}
