//! Events: which handlers are called, when, and what their replies change.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

mod answers;
mod order;
mod parts;
mod payloads;
mod programs;
mod reporting;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sessile::compaction::{
    CompactOptions, Compacted, CompactionSettings, Generator, Summarizer, Summary, SummaryFailure, SummaryProgress,
    SummaryRequest,
};
use sessile::date::Timestamp;
use sessile::event::{EventSet, Handlers};
use sessile::json::Json;
use sessile::{Cancel, SessionError, SessionHost, SessionManager, Sessions, draft};
use sessile_testkit::Replay;

/// A summarizer that always returns the same text, or fails.
struct FixedSummary(Option<&'static str>);

impl Summarizer for FixedSummary {
    fn generator(&self) -> Generator {
        Generator::Extractive
    }

    fn summarize(
        &self,
        _request: &SummaryRequest<'_>,
        _progress: &mut dyn FnMut(SummaryProgress<'_>),
        _cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        let refused = || SummaryFailure::Refused { reason: "no".to_owned() };
        self.0.map(Summary::new).ok_or_else(refused)
    }
}

/// The events that a handler received, as JSON.
#[derive(Clone, Default)]
struct EventLog(Arc<Mutex<Vec<Json>>>);

impl EventLog {
    /// Records every event that these handlers receive.
    fn of(handlers: &Handlers) -> Self {
        let log = Self::default();
        let theirs = log.clone();
        handlers.on(EventSet::ALL, "log", move |event, _| {
            theirs.0.lock().unwrap().push(event.to_json());
            Ok(None)
        });
        log
    }

    fn take(&self) -> Vec<Json> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The kinds of the events since the last call, in order.
    fn kinds(&self) -> Vec<String> {
        self.take().iter().map(|event| text(event, "type")).collect()
    }
}

fn text(json: &Json, key: &str) -> String {
    json.raw()
        .get(key)
        .map(|value| value.as_string().unwrap_or_else(|| value.to_text().into_owned()))
        .unwrap_or_default()
}

/// Sessions with their own handlers, in an existing working directory.
fn sessions(dir: &Path, handlers: &Handlers) -> Sessions {
    let environment = Replay::new(1_735_689_600_000, 7);
    environment.set_home(dir);
    environment.set_current_dir(dir);
    Sessions::new(environment).with_handlers(handlers.clone())
}

fn user(text: &str) -> draft::UserMessage {
    draft::UserMessage::new(text, Timestamp::from_ms(1))
}

fn turns(session: &mut SessionManager, n_turns: usize) {
    for turn in 1..=n_turns {
        session.append_message(user(&format!("question {turn}"))).unwrap();
        session
            .append_message(draft::AssistantMessage::new("p", "m", format!("answer {turn}"), Timestamp::from_ms(1)))
            .unwrap();
    }
}

/// A host that works in a session with three turns in a file.
fn host(dir: &Path, handlers: &Handlers) -> SessionHost {
    // Creating the session is not reported.
    let mut session = sessions(dir, &Handlers::new()).with_session_dir(dir).create(dir).unwrap();
    turns(&mut session, 3);
    SessionHost::new(sessions(dir, handlers), session)
}

fn file(host: &SessionHost) -> PathBuf {
    host.session().session_file().unwrap().to_path_buf()
}

fn compact(host: &mut SessionHost, summary: Option<&'static str>) -> Result<Compacted, SessionError> {
    let settings = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    host.session_mut().compact(
        CompactOptions { settings, ..CompactOptions::default() },
        &FixedSummary(summary),
        &mut |_| {},
    )
}
