//! The memory of processes that live for long.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the settings of the C library's allocator are a foreign function")
)]

/// Makes the allocator give memory back to the system, after each request and once a minute.
///
/// By default, glibc keeps up to eight arenas for each processor, and none of them shrinks: an arena stays as large as the
/// largest answer that a thread has ever built in it: after 20 minutes, a server that used 5 MB held 79 MB. Few arenas and
/// fixed thresholds keep that small. A small piece that is in use at the end of an arena still keeps everything before it,
/// so a thread also gives back the unused pages between the used ones.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() {
    const N_ARENAS: i32 = 4;
    /// An arena keeps at most this many unused bytes at its end.
    const MOST_UNUSED: i32 = 1 << 20;
    /// Larger pieces are allocated and given back one by one. Glibc adjusts neither of these once one of them is set.
    const LARGE: i32 = 4 << 20;
    const PAUSE: std::time::Duration = std::time::Duration::from_mins(1);
    for (setting, value) in
        [(libc::M_ARENA_MAX, N_ARENAS), (libc::M_TRIM_THRESHOLD, MOST_UNUSED), (libc::M_MMAP_THRESHOLD, LARGE)]
    {
        // SAFETY: it only sets a number. It may be called at any time, and refuses values that it does not know.
        unsafe { libc::mallopt(setting, value) };
    }
    let give_back_pages = || loop {
        std::thread::sleep(PAUSE);
        // SAFETY: it takes the lock of each arena and changes only what is not in use.
        unsafe { libc::malloc_trim(0) };
    };
    // A process without the thread works. It only holds more memory.
    drop(sessile::threads::spawn("memory", give_back_pages));
}

/// Other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
