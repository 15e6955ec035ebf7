//! Threads that the system may refuse.
//!
//! At the limit on processes or on memory there are no more threads. Every
//! thread of Sessile starts here, so that this is an error and never a panic.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, scope};

use crate::planted;

/// Starts a thread that lives on its own.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    refusal()?;
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Has something done on a thread of its own, or here and now if the system has no thread for it.
pub fn spawn_or_run(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    // A refused thread takes its work along, so the work is lent and not given.
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

/// Does two things at the same time, or one after the other if the system has no thread for the second.
///
/// A panic in either is a panic here.
pub fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    // A refused thread takes its work along, so the work is lent and not given.
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
