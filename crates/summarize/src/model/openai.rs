//! `OpenAI`'s chat completions, which many other providers also support.

use sessile_core::json::{ObjectWriter, Raw};

use super::answer::{Answer, Finish};
use super::json::{at, count, strings, text_at, tokens_at};
use super::question::{Parts, Question};

pub(super) fn request(question: &Question<'_>) -> Parts {
    let is_openai = question.provider.name == "openai";
    let system = strings(&[("role", "system"), ("content", &question.prompt.system)]);
    let user = strings(&[("role", "user"), ("content", &question.prompt.user)]);
    let mut usage = ObjectWriter::new();
    let usage = usage.bool("include_usage", true).finish();
    let mut body = ObjectWriter::new();
    body.string("model", question.model)
        .array("messages", [system.raw(), user.raw()])
        .bool("stream", true)
        .raw("stream_options", usage.raw());
    if let Some(max_output) = question.max_output {
        // OpenAI renamed this parameter; the others did not.
        body.integer(if is_openai { "max_completion_tokens" } else { "max_tokens" }, count(max_output));
    }
    ("/chat/completions".to_owned(), question.bearer(), body.finish())
}

pub(super) fn add_event(event: Raw<'_>, answer: &mut Answer) {
    if let Some(choice) = event.get("choices").and_then(|choices| choices.items().next()) {
        // An answer that was not streamed has a whole message.
        let delta = at(choice, &["delta"]).or_else(|| at(choice, &["message"]));
        if let Some(delta) = delta {
            add_delta(delta, answer);
        }
        if let Some(reason) = text_at(choice, &["finish_reason"]) {
            answer.finish_with(match reason.as_str() {
                "stop" | "eos" => Finish::Stop,
                "length" => Finish::Length,
                "tool_calls" | "function_call" => Finish::Tool,
                "content_filter" => Finish::Refused("its content filter stopped it".to_owned()),
                _ => Finish::Other(reason),
            });
        }
    }
    if let Some(usage) = at(event, &["usage"]) {
        add_usage(usage, answer);
    }
}

fn add_delta(delta: Raw<'_>, answer: &mut Answer) {
    answer.text(&text_at(delta, &["content"]).unwrap_or_default());
    if let Some(refusal) = text_at(delta, &["refusal"]).filter(|refusal| !refusal.is_empty()) {
        answer.refuse(&refusal);
    }
    let calls = delta.get("tool_calls").is_some_and(|calls| calls.items().next().is_some());
    if calls || at(delta, &["function_call"]).is_some() {
        answer.finish = Some(Finish::Tool);
    }
}

fn add_usage(json: Raw<'_>, answer: &mut Answer) {
    let sent = tokens_at(json, &["prompt_tokens"]).unwrap_or(0);
    let usage = &mut answer.usage;
    usage.cache_read = tokens_at(json, &["prompt_tokens_details", "cached_tokens"]).unwrap_or(0).min(sent);
    usage.input = sent - usage.cache_read;
    usage.output = tokens_at(json, &["completion_tokens"]).unwrap_or(0);
    usage.reasoning = tokens_at(json, &["completion_tokens_details", "reasoning_tokens"]);
    // OpenRouter reports the cost.
    answer.charged = at(json, &["cost"]).and_then(Raw::as_number).filter(|cost| cost.is_finite() && *cost >= 0.0);
}
