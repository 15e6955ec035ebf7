//! The hooks of a client, and the answers that the server waits for.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sessile::event::{HandlerId, Handlers};
use sessile::json::Json;

use crate::sync::lock;

/// How often a wait checks whether the answer is still needed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The hooks of a client.
#[derive(Default)]
pub(crate) struct Hooks {
    registered: Mutex<Vec<HandlerId>>,
    /// The pending answers.
    answers: Mutex<HashMap<String, Option<HookAnswer>>>,
    has_answer: Condvar,
}

/// A client's answer: a result, or an error message.
type HookAnswer = Result<Json, String>;

impl Hooks {
    /// Registers a hook and removes earlier ones, so that the client is not asked twice.
    pub(crate) fn replace(&self, id: HandlerId, handlers: &Handlers) {
        let replaced = std::mem::replace(&mut *lock(&self.registered), vec![id]);
        for id in replaced {
            handlers.remove(id);
        }
    }

    /// Removes the client's hooks.
    pub(crate) fn end(&self, handlers: &Handlers) {
        lock(&self.registered).drain(..).for_each(|id| handlers.remove(id));
        lock(&self.answers).clear();
        self.has_answer.notify_all();
    }

    /// Expects an answer to the request of this number.
    pub(crate) fn expect(&self, number: &str) {
        lock(&self.answers).insert(number.to_owned(), None);
    }

    /// Stores an answer; false if none is expected.
    pub(crate) fn answer(&self, number: &str, answer: HookAnswer) -> bool {
        let mut answers = lock(&self.answers);
        let Some(slot) = answers.get_mut(number) else { return false };
        *slot = Some(answer);
        drop(answers);
        self.has_answer.notify_all();
        true
    }

    /// Waits for an answer; none if it does not arrive in time or is no longer needed.
    pub(crate) fn wait(&self, number: &str, timeout: Duration, is_over: impl Fn() -> bool) -> Option<HookAnswer> {
        let deadline = Instant::now() + timeout;
        let mut answers = lock(&self.answers);
        loop {
            match answers.get(number) {
                // The client is gone.
                None => return None,
                Some(Some(_)) => return answers.remove(number).flatten(),
                Some(None) => {}
            }
            let remaining = deadline.saturating_duration_since(Instant::now()).min(POLL_INTERVAL);
            if remaining.is_zero() || is_over() {
                answers.remove(number);
                return None;
            }
            let waited = self.has_answer.wait_timeout(answers, remaining);
            answers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
