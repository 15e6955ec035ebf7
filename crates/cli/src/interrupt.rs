//! Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use sessile::Cancel;
use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

use crate::failure::Failure;

/// What makes the next Ctrl-C end the process, to be undone by whoever wants to outlive it.
static DEADLY: Mutex<Vec<(SigId, Arc<AtomicBool>)>> = Mutex::new(Vec::new());

/// What Ctrl-C cancels. The second one ends the process at once, in case nobody reads what we write.
pub(crate) fn on_interrupt() -> Result<Cancel, Failure> {
    let (is_interrupted, is_deadly) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // In this order: the first Ctrl-C is looked at before it makes the second one deadly.
    flag::register_conditional_default(SIGINT, Arc::clone(&is_deadly)).map_err(Failure::NoSignals)?;
    flag::register(SIGINT, Arc::clone(&is_interrupted)).map_err(Failure::NoSignals)?;
    let id = flag::register(SIGINT, Arc::clone(&is_deadly)).map_err(Failure::NoSignals)?;
    DEADLY.lock().unwrap_or_else(PoisonError::into_inner).push((id, is_deadly));
    Ok(is_interrupted.into())
}

/// Lets Ctrl-C be for somebody else from now on: a pager, which would be left alone with the terminal if we ended.
pub(crate) fn outlive() {
    // Only so that the signal has a handler. If it cannot have one, Ctrl-C ends us, which is no worse than before.
    drop(flag::register(SIGINT, Arc::new(AtomicBool::new(false))));
    for (id, is_deadly) in DEADLY.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        low_level::unregister(id);
        is_deadly.store(false, Ordering::Relaxed);
    }
}
