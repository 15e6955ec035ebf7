//! Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sessile::Cancel;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::failure::Failure;

/// What Ctrl-C cancels. The second one ends the process at once, in case nobody reads what we write.
pub(crate) fn on_interrupt() -> Result<Cancel, Failure> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_default(SIGINT, Arc::clone(&is_interrupted)).map_err(Failure::NoSignals)?;
    flag::register(SIGINT, Arc::clone(&is_interrupted)).map_err(Failure::NoSignals)?;
    Ok(is_interrupted.into())
}
