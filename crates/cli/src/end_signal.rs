//! The signals that ask a server to end.

use sessile::threads;
use signal_hook::consts::SIGINT;

use crate::failure::Failure;
use crate::interrupt::NoSignals;

/// Calls a function, on a thread, for every signal that asks this process to end. On Windows, that is Ctrl-C.
pub(crate) fn on_end_signal(on_signal: impl FnMut(i32) + Send + 'static) -> Result<(), Failure> {
    #[cfg(unix)]
    let watch = {
        use signal_hook::consts::{SIGHUP, SIGTERM};
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT]).map_err(NoSignals)?;
        move || signals.forever().for_each(on_signal)
    };
    #[cfg(not(unix))]
    let watch = {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering};
        let is_interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGINT, Arc::clone(&is_interrupted)).map_err(NoSignals)?;
        let mut on_signal = on_signal;
        move || {
            loop {
                // Nothing else can be done in the handler of a signal.
                std::thread::sleep(std::time::Duration::from_millis(50));
                if is_interrupted.swap(false, Ordering::Relaxed) {
                    on_signal(SIGINT);
                }
            }
        }
    };
    threads::spawn("signals", watch).map_err(Failure::NoThread)?;
    Ok(())
}
