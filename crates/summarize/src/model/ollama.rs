//! Ollama's own chat protocol, in which the request sets the context size.

use sessile_core::json::{ObjectWriter, Raw};

use super::answer::{Answer, Finish};
use super::json::{count, strings, text_at, tokens_at};
use super::question::{Parts, Question, USUAL_OUTPUT};

pub(super) fn request(question: &Question<'_>) -> Parts {
    let system = strings(&[("role", "system"), ("content", &question.prompt.system)]);
    let user = strings(&[("role", "user"), ("content", &question.prompt.user)]);
    let max_output = question.max_output.unwrap_or(USUAL_OUTPUT);
    let mut options = ObjectWriter::new();
    options.integer("num_ctx", count(context_size(question, max_output))).integer("num_predict", count(max_output));
    let mut body = ObjectWriter::new();
    body.string("model", question.model)
        .array("messages", [system.raw(), user.raw()])
        .bool("stream", true)
        .raw("options", options.finish().raw());
    ("/api/chat".to_owned(), question.bearer(), body.finish())
}

/// Returns the context size to request, in tokens. Ollama's default is small, and it silently drops the beginning.
fn context_size(question: &Question<'_>, max_output: u64) -> u64 {
    let n_characters = question.prompt.user.len() + question.prompt.system.len();
    let needed = n_characters as u64 / 3 + max_output;
    needed.next_multiple_of(4096).min(question.context_window)
}

pub(super) fn add_event(event: Raw<'_>, answer: &mut Answer) {
    if let Some(message) = event.get("message") {
        answer.text(&text_at(message, &["content"]).unwrap_or_default());
        if message.get("tool_calls").is_some_and(|calls| calls.items().next().is_some()) {
            answer.finish = Some(Finish::Tool);
        }
    }
    if event.get("done").is_some_and(Raw::is_truthy) {
        answer.finish_with(match text_at(event, &["done_reason"]).as_deref() {
            None | Some("stop") => Finish::Stop,
            Some("length") => Finish::Length,
            Some(reason) => Finish::Other(reason.to_owned()),
        });
        answer.usage.input = tokens_at(event, &["prompt_eval_count"]).unwrap_or(0);
        answer.usage.output = tokens_at(event, &["eval_count"]).unwrap_or(0);
        answer.is_closed = true;
    }
}
