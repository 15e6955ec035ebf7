//! The measured part of a path.

use std::hint::black_box;
use std::path::Path;

use crate::{Failure, allocations};

/// Names that do not exist. A look at each of them marks the region for strace.
pub(crate) const BEGIN: &str = "/sessile-counts-begin";
pub(crate) const END: &str = "/sessile-counts-end";

/// Runs the measured part of a path, and prints its allocations.
pub(crate) fn measure<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let (mut work, mut result) = (Some(work), None);
    let mut run = || result = work.take().map(|work| work());
    drop(Path::new(BEGIN).metadata());
    let before = allocations::count();
    measured_region(&mut run);
    let n_allocations = allocations::count() - before;
    drop(Path::new(END).metadata());
    println!("{n_allocations}");
    result.ok_or("nothing was measured")?
}

/// Callgrind counts from the start of this function to its end: see `benches/instructions.rs`.
#[inline(never)]
fn measured_region(run: &mut dyn FnMut()) {
    black_box(run)();
}
