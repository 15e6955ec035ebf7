//! Starts threads, which the system may refuse.
//!
//! At the limit on processes or memory, the system provides no more threads. Every thread of Sessile starts here, so
//! that this is an error and never a panic.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, scope};

use crate::planted;

/// Starts a detached thread.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    refusal()?;
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Runs a task on its own thread, or here if the system provides no thread.
pub fn spawn_or_run(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    // A refused thread drops its closure, so the task is shared instead of moved.
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let theirs = Arc::clone(&work);
    let started = spawn(name, move || {
        if let Some(work) = take(&theirs) {
            work();
        }
    });
    if started.is_err()
        && let Some(work) = take(&work)
    {
        work();
    }
    started.ok()
}

/// Starts a thread in a scope.
pub fn spawn_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    refusal()?;
    Builder::new().spawn_scoped(scope, work)
}

/// Runs two tasks at the same time, or one after the other if the system provides no thread.
///
/// A panic in either task is propagated.
pub fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    // A refused thread drops its closure, so the task is shared instead of moved.
    let other = Mutex::new(Some(other));
    let run = || {
        let other = other.lock().unwrap_or_else(PoisonError::into_inner).take();
        other.map(|other| other())
    };
    scope(|scope| {
        let thread = spawn_in(scope, run);
        let one = one();
        let other = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => run(),
        };
        (one, other.unwrap_or_else(|| unreachable!("the work is taken once")))
    })
}

fn refusal() -> io::Result<()> {
    if planted::refuses_threads() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
}
