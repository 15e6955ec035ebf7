//! Answers one client.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sessile::Cancel;
use sessile::json::{Json, Raw, Shape};
use sessile_rpc::{Record, Records};

use crate::arguments::Arguments;
use crate::budget::Answer;
use crate::call::Call;
use crate::cursor::question;
use crate::failure::Failure;
use crate::history::History;
use crate::options::Options;
use crate::outgoing::Outgoing;
use crate::protocol::{
    Code, Id, MODERN, Message, Request, Revision, discovered, failed, initialized, nothing, read, succeeded,
    tool_failed, tool_result, tools,
};
use crate::tools::{Tool, tool};
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
            output: Arc::new(Output(Mutex::new(Some(Box::new(output))))),
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

/// Where answers go; `None` after a failed write.
struct Output(Mutex<Option<Box<dyn Write + Send>>>);

impl Output {
    fn is_open(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Writes a message on one line.
    fn write(&self, message: &Json) {
        let mut line = message.to_text().into_owned().into_bytes();
        line.push(b'\n');
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_written =
            output.as_mut().is_none_or(|output| output.write_all(&line).and_then(|()| output.flush()).is_ok());
        if !is_written {
            *output = None;
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
    Call {
        id: Id,
        revision: Revision,
        tool: &'static Tool,
        arguments: Option<Json>,
    },
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
            Outcome::Call { id, revision, tool, arguments } => self.start(id, revision, tool, arguments),
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

    /// Runs a tool on a thread.
    fn start(&self, id: Id, revision: Revision, tool: &'static Tool, arguments: Option<Json>) {
        let Some(cancel) = self.running.begin(id.key()) else {
            let answer = failed(Some(&id), Code::NotARequest, "a request with this id is running", None);
            return self.output.write(&answer);
        };
        let (history, output, running) =
            (Arc::clone(&self.history), Arc::clone(&self.output), Arc::clone(&self.running));
        let refused = id.clone();
        let is_accepted = self.pool.run(move || {
            let unfinished = Unfinished { id: &id, running: &running, output: &output };
            let answer = call(&history, &id, revision, tool, arguments.as_ref(), &cancel);
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
                Outcome::Call { id, revision, tool, arguments } => {
                    answers.push(call(&self.history, &id, revision, tool, arguments.as_ref(), &Cancel::default()));
                }
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
            "tools/list" if param("cursor").is_some_and(|cursor| !cursor.is_null()) => {
                fail(Code::BadParams, "unknown cursor")
            }
            "tools/list" => Outcome::Now(succeeded(&id, &tools(revision))),
            "tools/call" => {
                let Some(name) = param("name").and_then(Raw::as_string) else {
                    return fail(Code::BadParams, "name is missing");
                };
                let Some(tool) = tool(&name) else { return fail(Code::BadParams, "unknown tool") };
                let arguments = param("arguments").filter(|arguments| !arguments.is_null());
                if arguments.is_some_and(|arguments| arguments.shape() != Shape::Object) {
                    return fail(Code::BadParams, "arguments must be an object");
                }
                Outcome::Call { id, revision, tool, arguments: arguments.map(Raw::to_json) }
            }
            _ => fail(Code::NoSuchMethod, "unknown method"),
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
}

impl Unfinished<'_> {
    /// Sends the answer, unless the request was cancelled.
    fn answer(&self, answer: &Json) {
        if self.running.finish(self.id.key()) {
            self.output.write(answer);
        }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.answer(&failed(Some(self.id), Code::Internal, "internal error", None));
    }
}

/// Runs a tool.
fn call(
    history: &History,
    id: &Id,
    revision: Revision,
    tool: &'static Tool,
    arguments: Option<&Json>,
    cancel: &Cancel,
) -> Json {
    let result = match answer(history, tool, arguments.map(Json::raw), cancel) {
        Ok(answer) => tool_result(revision, &answer),
        Err(Failure::Told(text)) => tool_failed(revision, &text),
        Err(Failure::Cancelled) => tool_failed(revision, "cancelled"),
    };
    succeeded(id, &result)
}

fn answer(
    history: &History,
    tool: &'static Tool,
    arguments: Option<Raw<'_>>,
    cancel: &Cancel,
) -> Result<Answer, Failure> {
    let call = Call {
        history,
        outgoing: Outgoing::new(history.secrets.get(&history.options)?),
        cancel,
        arguments: Arguments::new(arguments, &tool.parameters())?,
        question: question(tool.name, arguments),
        tool: tool.name,
    };
    (tool.run)(&call)
}
