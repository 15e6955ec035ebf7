//! Turns a panic in a rule into an error, and keeps its message from the terminal: it could quote a secret.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static INSTALLED: Once = Once::new();

/// Runs `work`. Returns `None` if it panicked; nothing is printed then.
pub(super) fn quietly<R>(work: impl FnOnce() -> R) -> Option<R> {
    INSTALLED.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |info| {
            // A thread that is ending has no thread-local values any more.
            if !IS_QUIET.try_with(Cell::get).unwrap_or(true) {
                others(info);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(quietly(|| 1), Some(1));
        assert_eq!(quietly(|| -> i32 { panic!("a secret") }), None);
        assert!(!IS_QUIET.get());
    }
}
