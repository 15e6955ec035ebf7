//! The memory of processes that live for long.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the settings of the C library's allocator are a foreign function")
)]

/// Makes the allocator give memory back to the system after each request.
///
/// By default, glibc keeps up to eight arenas for each processor, and none of them shrinks: an arena stays as large as the
/// largest answer that a thread has ever built in it. After some hours, a server that uses 5 MB then holds 100 MB. With few
/// arenas and fixed thresholds, it holds what it uses.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() {
    const N_ARENAS: i32 = 4;
    /// An arena keeps at most this many unused bytes at its end.
    const MOST_UNUSED: i32 = 1 << 20;
    /// Larger pieces are allocated and given back one by one. Glibc adjusts neither of these once one of them is set.
    const LARGE: i32 = 4 << 20;
    for (setting, value) in
        [(libc::M_ARENA_MAX, N_ARENAS), (libc::M_TRIM_THRESHOLD, MOST_UNUSED), (libc::M_MMAP_THRESHOLD, LARGE)]
    {
        // SAFETY: it only sets a number. It may be called at any time, and refuses values that it does not know.
        unsafe { libc::mallopt(setting, value) };
    }
}

/// Other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
