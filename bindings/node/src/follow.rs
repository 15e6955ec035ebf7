//! Following a session: one thread per follower, which works only while JavaScript waits.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use napi::bindgen_prelude::Object;
use napi::{Env, JsDeferred};
use napi_derive::napi;
use sessile::follow::{FollowEvent, FollowFrom, FollowOptions, Follower as Following};
use sessile::json::{Json, ObjectWriter};
use sessile::write::Restart;
use sessile::{Cancel, EntryId, Sessions, threads};

use crate::failure::{Failure, Result, answer, caught};
use crate::surroundings::Surroundings;

/// Makes the value of a promise on the thread of JavaScript.
type Resolver = Box<dyn FnOnce(Env) -> napi::Result<String> + Send>;

/// A promise that waits for the next event.
type Waiting = JsDeferred<String, Resolver>;

/// A followed session.
#[napi]
pub struct Follower {
    requests: Sender<Waiting>,
    cancel: Cancel,
}

/// How long the thread waits at a time. Cancelling takes a tenth of a second.
const TURN: Duration = Duration::from_mins(1);

/// Follows a session file from its beginning, from now on, or after an entry.
#[napi]
pub fn follow(surroundings: Surroundings, path: String, from: String, after: Option<String>) -> Result<Follower> {
    let (sessions, _) = surroundings.store(None)?;
    let from = match (from.as_str(), after) {
        (_, Some(id)) => FollowFrom::After(EntryId::from(id)),
        ("beginning", None) => FollowFrom::Beginning,
        _ => FollowFrom::Now,
    };
    let cancel = Cancel::default();
    let options = FollowOptions { from, cancel: cancel.clone(), ..FollowOptions::default() };
    let (requests, waiting) = channel();
    let started = threads::spawn("follow", move || serve(&sessions, &path, options, &waiting));
    started.map_err(|error| Failure::new("IO", format!("cannot start a thread: {error}")))?;
    Ok(Follower { requests, cancel })
}

/// Answers requests until JavaScript drops the follower, cancels it, or the session cannot be followed.
fn serve(sessions: &Sessions, path: &str, options: FollowOptions, requests: &Receiver<Waiting>) {
    let cancel = options.cancel.clone();
    let mut following: Option<Following> = None;
    let mut options = Some(options);
    for waiting in requests {
        let event = caught(|| {
            if let Some(options) = options.take() {
                following = Some(sessions.follow(path, options)?);
            }
            match &mut following {
                Some(following) => next(following),
                None => Err(Failure::invalid("the session could not be followed")),
            }
        });
        let event = if cancel.is_cancelled() { event.or_else(|_cancelled| Ok(Json::null())) } else { event };
        let text = answer(event);
        waiting.resolve(Box::new(move |_| Ok(text)));
    }
}

/// The next event.
fn next(following: &mut Following) -> std::result::Result<Json, Failure> {
    loop {
        match following.next(TURN) {
            Ok(Some(event)) => return Ok(event_data(event)),
            Ok(None) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// An event as JavaScript gets it: `{type, …}`.
fn event_data(event: FollowEvent) -> Json {
    let mut out = ObjectWriter::new();
    match event {
        FollowEvent::Header(header) => out.string("type", "header").raw("header", header.json().raw()),
        FollowEvent::Entry { entry, line, offset, .. } => out
            .string("type", "entry")
            .raw("entry", entry.raw())
            .integer("line", i64::try_from(line).unwrap_or(i64::MAX))
            .integer("offset", i64::try_from(offset).unwrap_or(i64::MAX)),
        FollowEvent::Skipped(diagnostic) => out
            .string("type", "skipped")
            .string("message", &diagnostic.to_string())
            .integer("line", i64::try_from(diagnostic.line).unwrap_or(i64::MAX)),
        FollowEvent::Restarted { reason } => out.string("type", "restarted").string("reason", restart_word(reason)),
        FollowEvent::Gone => out.string("type", "gone"),
    };
    out.finish()
}

fn restart_word(reason: Restart) -> &'static str {
    match reason {
        Restart::Truncated => "truncated",
        Restart::Rewritten => "rewritten",
        Restart::Replaced => "replaced",
    }
}

#[napi]
impl Follower {
    /// A promise of the next event.
    #[napi]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let (waiting, promise) = env.create_deferred::<String, Resolver>()?;
        if let Err(unsent) = self.requests.send(waiting) {
            let text = answer(Ok(Json::null()));
            unsent.0.resolve(Box::new(move |_| Ok(text)));
        }
        Ok(promise)
    }

    /// Ends it: the next answer is null.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
