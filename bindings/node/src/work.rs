//! Calls that take long: promises that a thread of Node fulfils.

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use sessile::Cancel;
use sessile::json::Json;

use crate::failure::{Failure, answer, caught};

/// What a thread has to do.
type Job = Box<dyn FnOnce() -> Result<Json, Failure> + Send>;

/// A job and its answer: `{data}` or `{failure}`, as JSON.
pub struct Work(Option<Job>);

impl Work {
    /// Runs a job on a thread of Node.
    pub(crate) fn start(job: impl FnOnce() -> Result<Json, Failure> + Send + 'static) -> AsyncTask<Self> {
        AsyncTask::new(Self(Some(Box::new(job))))
    }
}

impl Task for Work {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> napi::Result<String> {
        Ok(match self.0.take() {
            Some(job) => answer(caught(job)),
            None => Failure::invalid("this work was done already").envelope(),
        })
    }

    fn resolve(&mut self, _env: Env, output: String) -> napi::Result<String> {
        Ok(output)
    }
}

/// Cancels work from JavaScript.
#[napi]
pub struct Cancellation {
    pub(crate) token: Cancel,
}

#[napi]
impl Cancellation {
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "for JavaScript")]
    pub fn new() -> Self {
        Self { token: Cancel::default() }
    }

    #[napi]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}
