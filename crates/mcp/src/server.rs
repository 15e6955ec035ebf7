//! Answers one client.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use sessile::Cancel;
use sessile::json::{Json, Raw, Shape};
use sessile_rpc::{Record, Records};

use crate::history::History;
use crate::job::{Job, progress_token, task};
use crate::options::Options;
use crate::output::{Output, Progress};
use crate::prompts::prompt;
use crate::protocol::{
    Code, Id, MODERN, Message, Request, Revision, discovered, failed, initialized, no_such_resource, nothing,
    prompt_list, prompt_message, read, succeeded, templates, tools,
};
use crate::work::{Pool, Running};

/// The longest message. No call needs more than a few hundred bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// How long requests may go on after the client has closed its end.
const LAST_REQUESTS: Duration = Duration::from_secs(10);

/// The members of `_meta` that make a request stateless.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The levels of logging that a client may ask for. This server logs nothing.
const LOG_LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A server of the Model Context Protocol over the sessions of a store.
pub struct Server {
    history: Arc<History>,
}

impl Server {
    /// Prepares a server. It reads nothing yet.
    pub fn new(options: Options) -> Self {
        Self { history: Arc::new(History::new(options)) }
    }

    /// Answers the requests of one client until its input ends, and then those that are still running.
    ///
    /// Fails only if the input cannot be read. If the output is closed, the answers have no reader, and it ends too.
    pub fn serve(&self, input: impl Read, output: impl Write + Send + 'static) {
        let mut client = Client {
            history: Arc::clone(&self.history),
            output: Arc::new(Output::new(output)),
            pool: Arc::default(),
            running: Arc::default(),
            negotiated: None,
        };
        let mut records = Records::new(input, MAX_MESSAGE);
        while client.output.is_open()
            && let Ok(Some(record)) = records.read()
        {
            match record {
                Record::TooLong(_) => {
                    client.output.write(&failed(None, Code::NotARequest, "the message is too long", None));
                }
                // An empty line is not a message, and some clients end theirs with one.
                Record::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Record::Whole(bytes) => client.receive(&bytes),
            }
        }
        if !client.pool.wait(LAST_REQUESTS) {
            client.running.cancel_all();
        }
    }
}

/// A client and the state of its connection.
struct Client {
    history: Arc<History>,
    output: Arc<Output>,
    pool: Arc<Pool>,
    running: Arc<Running>,
    /// What `initialize` agreed on.
    negotiated: Option<Revision>,
}

/// What to do with a request.
enum Outcome {
    Now(Json),
    /// On a thread.
    Later(Job),
    Nothing,
}

impl Client {
    /// Answers one line.
    fn receive(&mut self, line: &[u8]) {
        let Ok(value) = Raw::parse(line) else {
            return self.output.write(&failed(None, Code::NotJson, "the message is not JSON", None));
        };
        // Bytes that are not UTF-8 could not come back.
        if std::str::from_utf8(line).is_err() {
            return self.output.write(&failed(None, Code::NotJson, "the message is not UTF-8", None));
        }
        match self.outcome(value) {
            Outcome::Nothing => {}
            Outcome::Now(answer) => self.output.write(&answer),
            Outcome::Later(job) => self.start(job),
        }
    }

    fn outcome(&mut self, value: Raw<'_>) -> Outcome {
        let mut method = String::new();
        match read(value, &mut method) {
            Ok(Message::Request(id, request)) => self.request(id, request),
            Ok(Message::Notification(request)) => {
                self.notification(request);
                Outcome::Nothing
            }
            Ok(Message::Response) => Outcome::Nothing,
            Ok(Message::Batch(messages)) => self.batch(&messages),
            Err(error) => Outcome::Now(failed(error.id.as_ref(), Code::NotARequest, error.reason, None)),
        }
    }

    /// Runs a job on a thread.
    fn start(&self, job: Job) {
        let Some(cancel) = self.running.begin(job.id.key()) else {
            let answer = failed(Some(&job.id), Code::NotARequest, "a request with this id is running", None);
            return self.output.write(&answer);
        };
        let (history, output, running) =
            (Arc::clone(&self.history), Arc::clone(&self.output), Arc::clone(&self.running));
        let refused = job.id.clone();
        let is_accepted = self.pool.run(move || {
            let unfinished = Unfinished { id: &job.id, running: &running, output: &output, is_answered: false };
            let token = job.progress_token.clone();
            let progress = token.map(|token| Progress::new(Arc::clone(&output), token, cancel.clone()));
            let answer = job.run(&history, &cancel, progress.as_ref());
            unfinished.answer(&answer);
        });
        if !is_accepted && self.running.finish(refused.key()) {
            self.output.write(&failed(Some(&refused), Code::Internal, "too many requests at once", None));
        }
    }

    /// Answers several messages with an array, one after the other.
    fn batch(&mut self, messages: &[Raw<'_>]) -> Outcome {
        let is_allowed = self.negotiated.is_some_and(Revision::has_batches);
        if !is_allowed || messages.is_empty() {
            let reason = if is_allowed { "the batch is empty" } else { "this revision has no batches" };
            return Outcome::Now(failed(None, Code::NotARequest, reason, None));
        }
        let mut answers = Vec::new();
        for message in messages {
            match if message.shape() == Shape::Array { Outcome::Nothing } else { self.outcome(*message) } {
                Outcome::Nothing => {}
                Outcome::Now(answer) => answers.push(answer),
                Outcome::Later(job) => answers.push(job.run(&self.history, &Cancel::default(), None)),
            }
        }
        if answers.is_empty() {
            return Outcome::Nothing;
        }
        let texts: Vec<_> = answers.iter().map(Json::to_text).collect();
        Outcome::Now(Json::parse(format!("[{}]", texts.join(","))).unwrap_or_else(|_| Json::null()))
    }

    /// The revision of a request, or why it has none.
    fn revision(&self, id: &Id, request: Request<'_>) -> Result<Revision, Json> {
        let bad = |message: &str| failed(Some(id), Code::BadParams, message, None);
        let meta = request.params.and_then(|params| params.get("_meta"));
        let version = meta.and_then(|meta| meta.get(META_VERSION));
        match (version, self.negotiated) {
            (None, _) if request.method == "initialize" || request.method == "ping" => {
                Ok(self.negotiated.unwrap_or(Revision::negotiated("")))
            }
            (None, Some(revision)) => Ok(revision),
            (None, None) => Err(bad("_meta names no protocolVersion, and there was no initialize")),
            (Some(version), _) => {
                let version = version.as_string().ok_or_else(|| bad("protocolVersion must be a string"))?;
                if version != MODERN.word() {
                    let shown = sessile_display::text::start(&version, 40);
                    let message = "unsupported protocol version";
                    return Err(failed(Some(id), Code::UnsupportedRevision, message, Some(&shown)));
                }
                let capabilities = meta.and_then(|meta| meta.get(META_CAPABILITIES));
                let has_capabilities = capabilities.is_some_and(|given| given.shape() == Shape::Object);
                if has_capabilities { Ok(MODERN) } else { Err(bad("_meta has no clientCapabilities")) }
            }
        }
    }

    fn request(&mut self, id: Id, request: Request<'_>) -> Outcome {
        let revision = match self.revision(&id, request) {
            Ok(revision) => revision,
            Err(answer) => return Outcome::Now(answer),
        };
        let is_object = request.params.is_none_or(|params| params.shape() == Shape::Object);
        let fail = |code, message: &str| Outcome::Now(failed(Some(&id), code, message, None));
        if !is_object {
            return fail(Code::BadParams, "params must be an object");
        }
        let param = |key: &str| request.params.and_then(|params| params.get(key));
        let is_legacy = !revision.is_stateless();
        let has_cursor = param("cursor").is_some_and(|cursor| !cursor.is_null());
        match request.method {
            "initialize" if is_legacy => {
                let Some(version) = param("protocolVersion").and_then(Raw::as_string) else {
                    return fail(Code::BadParams, "protocolVersion is missing");
                };
                let revision = Revision::negotiated(&version);
                self.negotiated = Some(revision);
                Outcome::Now(succeeded(&id, &initialized(revision)))
            }
            "server/discover" if !is_legacy => Outcome::Now(succeeded(&id, &discovered(revision))),
            "ping" if is_legacy => Outcome::Now(succeeded(&id, &nothing(revision))),
            "logging/setLevel" if is_legacy => match param("level").and_then(Raw::as_string) {
                Some(level) if LOG_LEVELS.contains(&level.as_str()) => Outcome::Now(succeeded(&id, &nothing(revision))),
                _ => fail(Code::BadParams, "unknown level"),
            },
            "tools/list" | "prompts/list" | "resources/templates/list" if has_cursor => {
                fail(Code::BadParams, "unknown cursor")
            }
            "tools/list" => Outcome::Now(succeeded(&id, &tools(revision))),
            "prompts/list" => Outcome::Now(succeeded(&id, &prompt_list(revision))),
            "resources/templates/list" => Outcome::Now(succeeded(&id, &templates(revision))),
            "prompts/get" => {
                let Some(prompt) = param("name").and_then(Raw::as_string).and_then(|name| prompt(&name)) else {
                    return fail(Code::BadParams, "unknown prompt");
                };
                match prompt.message(param("arguments")) {
                    Ok(text) => Outcome::Now(succeeded(&id, &prompt_message(revision, prompt.description(), &text))),
                    Err(reason) => fail(Code::BadParams, &reason),
                }
            }
            _ => match task(request) {
                Ok(task) => {
                    let progress_token = progress_token(request.params);
                    Outcome::Later(Job { id, revision, task, progress_token })
                }
                Err((Code::NoSuchResource, reason)) => fail(no_such_resource(revision), reason),
                Err((code, reason)) => fail(code, reason),
            },
        }
    }

    fn notification(&self, request: Request<'_>) {
        if request.method == "notifications/cancelled"
            && let Some(id) = request.params.and_then(|params| params.get("requestId")).and_then(Id::new)
        {
            self.running.cancel(id.key());
        }
    }
}

/// A request that is answered when this is dropped, if nothing else has answered it: after a panic.
struct Unfinished<'u> {
    id: &'u Id,
    running: &'u Running,
    output: &'u Output,
    /// Once it is, the client may use the id for another request.
    is_answered: bool,
}

impl Unfinished<'_> {
    /// Sends the answer.
    fn answer(mut self, answer: &Json) {
        self.send(answer);
    }

    /// Sends the answer, unless the request was cancelled or is answered.
    fn send(&mut self, answer: &Json) {
        if !std::mem::replace(&mut self.is_answered, true) && self.running.finish(self.id.key()) {
            self.output.write(answer);
        }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let answer = failed(Some(self.id), Code::Internal, "internal error", None);
        self.send(&answer);
    }
}
