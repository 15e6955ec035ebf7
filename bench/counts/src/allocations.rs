//! The system's allocator, with a counter.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static N_ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations so far, with those that grew or shrank.
pub(crate) fn count() -> u64 {
    N_ALLOCATIONS.load(Ordering::Relaxed)
}

fn note() {
    N_ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every method passes its arguments to the system's allocator, whose contract is the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: see above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: see above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { System.dealloc(block, layout) }
    }
}
