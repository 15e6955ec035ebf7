//! Ctrl-C.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use sessile::Cancel;
use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

/// The system refused to install a handler for a signal.
#[derive(Debug, thiserror::Error)]
#[error("cannot install a handler for Ctrl-C")]
pub(crate) struct NoSignals(#[source] pub(crate) io::Error);

/// The registrations that make the next Ctrl-C end the process; [`ignore_interrupts`] removes them.
static DEADLY: Mutex<Vec<(SigId, Arc<AtomicBool>)>> = Mutex::new(Vec::new());

/// Returns a token that Ctrl-C cancels. The second Ctrl-C ends the process at once, in case a write blocks.
pub(crate) fn on_interrupt() -> Result<Cancel, NoSignals> {
    let (is_interrupted, is_deadly) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // The order matters: the first Ctrl-C is checked before it makes the second one deadly.
    flag::register_conditional_default(SIGINT, Arc::clone(&is_deadly)).map_err(NoSignals)?;
    flag::register(SIGINT, Arc::clone(&is_interrupted)).map_err(NoSignals)?;
    let id = flag::register(SIGINT, Arc::clone(&is_deadly)).map_err(NoSignals)?;
    DEADLY.lock().unwrap_or_else(PoisonError::into_inner).push((id, is_deadly));
    Ok(is_interrupted.into())
}

/// Makes this process ignore Ctrl-C from now on and leaves it to a child such as a pager. If this process ended, the
/// child would be left alone with the terminal.
pub(crate) fn ignore_interrupts() {
    // Only gives the signal a handler. If that fails, Ctrl-C still ends this process, as before.
    drop(flag::register(SIGINT, Arc::new(AtomicBool::new(false))));
    for (id, is_deadly) in DEADLY.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        low_level::unregister(id);
        is_deadly.store(false, Ordering::Relaxed);
    }
}
