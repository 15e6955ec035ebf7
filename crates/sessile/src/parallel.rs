//! Spreads work over all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

use sessile_store::os::Os;
use sessile_store::threads;

/// The number of threads to use for this many pieces of work.
pub(crate) fn n_threads(os: &dyn Os, n_pieces: usize) -> usize {
    if !os.has_threads() {
        return 1;
    }
    available_parallelism().map_or(1, usize::from).min(n_pieces).max(1)
}

/// Processes each piece, on all cores, and returns the results in the order of the pieces.
///
/// A thread takes a run of pieces at a time, because a single one may be too small.
pub(crate) fn each<T: Send, R: Send>(os: &dyn Os, pieces: Vec<T>, run: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let n_threads = n_threads(os, pieces.len() / run);
    if n_threads == 1 {
        return pieces.into_iter().map(work).collect();
    }
    let left = Mutex::new((0, pieces.into_iter()));
    let next_run = || {
        // Taking pieces cannot panic, so the lock is never poisoned.
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: Vec<T> = left.1.by_ref().take(run).collect();
        left.0 += 1;
        (left.0, taken)
    };
    let take_runs = || {
        let mut done = Vec::new();
        loop {
            let (number, taken) = next_run();
            if taken.is_empty() {
                return done;
            }
            done.push((number, taken.into_iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut runs = scope(|scope| {
        let others: Vec<_> = (1..n_threads).filter_map(|_| threads::spawn_in(scope, take_runs).ok()).collect();
        let mut runs = take_runs();
        for other in others {
            // Propagate a panic of a worker.
            runs.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        runs
    });
    runs.sort_unstable_by_key(|(number, _)| *number);
    runs.into_iter().flat_map(|(_, results)| results).collect()
}

/// Hands out pieces of work in order and passes the results to `take` as they arrive, on the caller's thread.
///
/// Each thread makes its own `worker`. Once `take` returns false, no further piece is started.
pub(crate) fn stream<R: Send, W: FnMut(usize) -> R>(
    os: &dyn Os,
    n_pieces: usize,
    worker: impl Fn() -> W + Sync,
    take: &mut dyn FnMut(usize, R) -> bool,
) {
    let n_threads = n_threads(os, n_pieces);
    let one_by_one = |take: &mut dyn FnMut(usize, R) -> bool| {
        let mut work = worker();
        for piece in 0..n_pieces {
            if !take(piece, work(piece)) {
                return;
            }
        }
    };
    if n_threads == 1 {
        return one_by_one(take);
    }
    let next = AtomicUsize::new(0);
    let (sender, results) = channel();
    scope(|scope| {
        let mut n_started = 0;
        for _ in 0..n_threads {
            let sender = sender.clone();
            let (next, worker) = (&next, &worker);
            let started = threads::spawn_in(scope, move || {
                let mut work = worker();
                loop {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    // The receiver is gone, or no piece is left.
                    if piece >= n_pieces || sender.send((piece, work(piece))).is_err() {
                        return;
                    }
                }
            });
            n_started += usize::from(started.is_ok());
        }
        drop(sender);
        if n_started == 0 {
            return one_by_one(take);
        }
        take_all(results, take);
        // Threads that are still working stop before their next piece.
        next.store(n_pieces, Ordering::Relaxed);
    });
}

fn take_all<R>(results: Receiver<(usize, R)>, take: &mut dyn FnMut(usize, R) -> bool) {
    for (piece, result) in results {
        if !take(piece, result) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use sessile_store::os::RealOs;

    use super::*;

    #[test]
    fn results_come_in_order() {
        for (n_pieces, run) in [(0, 1), (1, 1), (7, 3), (1000, 10)] {
            let doubled = each(&RealOs, (0..n_pieces).collect(), run, |piece: usize| piece * 2);
            assert_eq!(doubled, (0..n_pieces).map(|piece| piece * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_stream_delivers_every_piece_once_and_can_be_stopped() {
        let mut seen = Vec::new();
        stream(&RealOs, 100, || |piece| piece * 2, &mut |piece, doubled| {
            seen.push((piece, doubled));
            true
        });
        seen.sort_unstable();
        assert_eq!(seen, (0..100).map(|piece| (piece, piece * 2)).collect::<Vec<_>>());
        let mut n_taken = 0;
        stream(&RealOs, 100, || |piece| piece, &mut |_, _| {
            n_taken += 1;
            n_taken < 10
        });
        assert_eq!(n_taken, 10);
    }
}
