//! Finds the end of a string, 64 bytes at a time.
//!
//! Most bytes of a session are inside long strings. What slows a byte-by-byte reader down most are the escapes in them,
//! one every twenty bytes. Here a block of 64 bytes becomes a few bit masks, which check all escapes at once. The
//! simple reference implementation is [`string_end_simple`](super::scan::string_end_simple); a property test and a fuzz
//! target check that the two agree.
//!
//! Only the modules in here may use `unsafe` in this crate, for two purposes: to call a function compiled for CPU
//! instructions that the machine is known to have, and to load an array of bytes into a register. Loads go through
//! pointers and not through iterators: the compiler does not always inline the latter into functions for other CPU
//! instructions.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod arm;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod blocks;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use arm as machine;
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
use other as machine;
#[cfg(target_arch = "x86_64")]
use x86 as machine;

#[cfg(test)]
pub(super) use machine::string_ends;
pub(super) use machine::{scan_value, string_end};

/// For machines without supported instructions: everything is left to the reference implementation.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
mod other {
    use super::super::scan::Members;

    pub(in super::super) fn string_end(_bytes: &[u8], _start: usize) -> Option<Result<usize, usize>> {
        None
    }

    pub(in super::super) fn scan_value<M: Members>(_: &[u8], _: usize, _: &mut M) -> Option<Result<usize, usize>> {
        None
    }

    #[cfg(test)]
    pub(in super::super) fn string_ends(_bytes: &[u8], _start: usize) -> Vec<Result<usize, usize>> {
        Vec::new()
    }
}
