//! A request that reads sessions, so it runs on a thread.

use sessile::Cancel;
use sessile::json::{Json, Raw, Shape};

use crate::arguments::Arguments;
use crate::budget::Answer;
use crate::call::Call;
use crate::completion::Completion;
use crate::cursor::question;
use crate::deadline::{Deadline, OnProgress};
use crate::failure::Failure;
use crate::history::History;
use crate::outgoing::Outgoing;
use crate::output::Progress;
use crate::protocol::{
    Code, Id, Request, Revision, completed, failed, no_such_resource, resource_contents, resource_list, succeeded,
    tool_failed, tool_result,
};
use crate::resources;
use crate::tools::{Tool, tool};

/// A request that reads sessions.
pub(crate) struct Job {
    pub(crate) id: Id,
    pub(crate) revision: Revision,
    pub(crate) task: Task,
    /// Set if the client wants to be notified about the progress.
    pub(crate) progress_token: Option<Json>,
}

/// What a request asks for.
pub(crate) enum Task {
    /// The answer of a tool.
    Call { tool: &'static Tool, arguments: Option<Json> },
    /// The text of a resource, which a tool writes.
    Read { uri: String, tool: &'static Tool, arguments: Json },
    /// A page of the list of resources.
    ListResources { cursor: Option<String> },
    /// Values for an argument.
    Complete(Completion),
}

impl Job {
    /// The answer.
    pub(crate) fn run(&self, history: &History, cancel: &Cancel, progress: Option<&Progress>) -> Json {
        let report = progress.map(|progress| |done, total| progress.report(done, total));
        let on_progress = report.as_ref().map(|report| report as &OnProgress<'_>);
        let deadline = Deadline::new(cancel, on_progress, history.options.answer_time);
        let is_call = matches!(self.task, Task::Call { .. });
        match self.result(history, deadline) {
            Ok(result) => succeeded(&self.id, &result),
            // The model reads why a call failed. Other requests have no model that could.
            Err(Failure::Explained(text)) if is_call => succeeded(&self.id, &tool_failed(self.revision, &text)),
            Err(Failure::Cancelled) if is_call => succeeded(&self.id, &tool_failed(self.revision, "cancelled")),
            Err(Failure::Explained(text)) => failed(Some(&self.id), self.failure_code(), &text, None),
            Err(Failure::Cancelled) => failed(Some(&self.id), Code::Internal, "cancelled", None),
        }
    }

    fn failure_code(&self) -> Code {
        match self.task {
            Task::Read { .. } => no_such_resource(self.revision),
            _ => Code::BadParams,
        }
    }

    fn result(&self, history: &History, deadline: Deadline<'_>) -> Result<Json, Failure> {
        let revision = self.revision;
        let outgoing = Outgoing::new(history.secrets.get(&history.options)?);
        match &self.task {
            Task::Call { tool, arguments } => {
                let answer = answer(history, outgoing, deadline, tool, arguments.as_ref().map(Json::raw))?;
                Ok(tool_result(revision, &answer))
            }
            Task::Read { uri, tool, arguments } => {
                let answer = answer(history, outgoing, deadline, tool, Some(arguments.raw()))?;
                Ok(resource_contents(revision, uri, &answer.text))
            }
            Task::ListResources { cursor } => {
                let page = resources::list(history, &outgoing, &deadline, cursor.as_deref(), revision.has_structure())?;
                Ok(resource_list(revision, &page))
            }
            Task::Complete(completion) => Ok(completed(revision, &completion.values(history, &outgoing, &deadline)?)),
        }
    }
}

/// The answer of a tool.
fn answer(
    history: &History,
    outgoing: Outgoing<'_>,
    deadline: Deadline<'_>,
    tool: &'static Tool,
    arguments: Option<Raw<'_>>,
) -> Result<Answer, Failure> {
    let known = Arguments::new(arguments, &tool.parameters())?;
    let question = question(tool.name, arguments);
    (tool.run)(&Call { history, outgoing, deadline, arguments: known, question, tool: tool.name })
}

/// The token of a request whose progress the client wants to know.
pub(crate) fn progress_token(params: Option<Raw<'_>>) -> Option<Json> {
    let token = params?.get("_meta")?.get("progressToken")?;
    // Like an id: a string or a number of reasonable length.
    Id::new(token).map(|token| token.raw().to_json())
}

/// What a request asks for, if it reads sessions; otherwise why it fails.
pub(crate) fn task(request: Request<'_>) -> Result<Task, (Code, &'static str)> {
    let param = |key: &str| request.params.and_then(|params| params.get(key)).filter(|value| !value.is_null());
    let text = |key: &str| param(key).and_then(Raw::as_string);
    let bad = |reason: &'static str| (Code::BadParams, reason);
    match request.method {
        "tools/call" => {
            let name = text("name").ok_or(bad("name is missing"))?;
            let tool = tool(&name).ok_or(bad("unknown tool"))?;
            let arguments = param("arguments");
            if arguments.is_some_and(|arguments| arguments.shape() != Shape::Object) {
                return Err(bad("arguments must be an object"));
            }
            Ok(Task::Call { tool, arguments: arguments.map(Raw::to_json) })
        }
        "resources/list" => {
            let cursor = text("cursor");
            if param("cursor").is_some() && !cursor.as_deref().is_some_and(resources::is_cursor) {
                return Err(bad("unknown cursor"));
            }
            Ok(Task::ListResources { cursor })
        }
        "resources/read" => {
            let uri = text("uri").ok_or(bad("uri is missing"))?;
            let (tool, arguments) = resources::reading(&uri).ok_or((Code::NoSuchResource, "no such resource"))?;
            Ok(Task::Read { uri, tool, arguments })
        }
        "completion/complete" => Completion::read(request.params).map(Task::Complete).map_err(bad),
        _ => Err((Code::NoSuchMethod, "unknown method")),
    }
}
