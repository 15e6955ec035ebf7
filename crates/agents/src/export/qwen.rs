//! Writes sessions of Qwen Code: a chain of lines with contents of Gemini.

use sessile_core::date::Timestamp;
use sessile_core::json::{Json, ObjectWriter};

use super::chain::Chain;
use super::conversation::{Call, CallResult, Part, Turn};
use super::{Writing, Written};

/// The version whose format this is.
const VERSION: &str = "0.24.4";

pub(super) fn write(writing: &Writing<'_>) -> Written {
    let mut chain = Chain::new(writing, VERSION);
    for turn in &writing.conversation.turns {
        write_turn(&mut chain, turn);
    }
    if let Some(title) = writing.title {
        let payload = ObjectWriter::new().string("customTitle", title).string("titleSource", "manual").finish();
        chain.line("system", writing.conversation.ended(), |line| {
            line.string("subtype", "custom_title").raw("systemPayload", payload.raw());
        });
    }
    chain.finish()
}

fn write_turn(chain: &mut Chain<'_>, turn: &Turn) {
    let mut write = |kind: &str, role: &str, time: Timestamp, parts: &[Json], model: Option<&str>| {
        let message = ObjectWriter::new().string("role", role).raw("parts", Json::array(parts).raw()).finish();
        chain.line(kind, time, |line| {
            if let Some(model) = model {
                line.string("model", model);
            }
            line.raw("message", message.raw());
        });
    };
    let parts: Vec<Json> = turn.parts.iter().map(part).collect();
    let Some(answer) = &turn.answer else {
        return write("user", "user", turn.time, &parts, None);
    };
    write("assistant", "model", turn.time, &parts, Some(&answer.model));
    if !answer.results.is_empty() {
        let responses: Vec<Json> = turn.calls().map(|(_, result)| response(result, &result.text())).collect();
        write("tool_result", "user", turn.ended(), &responses, None);
    }
}

/// A part of Gemini's contents.
pub(super) fn part(part: &Part) -> Json {
    match part {
        Part::Text(text) => ObjectWriter::new().string("text", text).finish(),
        Part::Image { data, mime } => {
            let image = ObjectWriter::new().string("mimeType", mime).string("data", data).finish();
            ObjectWriter::new().raw("inlineData", image.raw()).finish()
        }
        Part::Call(call) => function_call(call),
    }
}

fn function_call(call: &Call) -> Json {
    let mut inner = ObjectWriter::new();
    inner.string("id", &call.id).string("name", &call.name).raw("args", call.arguments.raw());
    ObjectWriter::new().raw("functionCall", inner.finish().raw()).finish()
}

/// The result of a call in Gemini's form.
pub(super) fn response(result: &CallResult, text: &str) -> Json {
    let key = if result.is_error { "error" } else { "output" };
    let output = ObjectWriter::new().string(key, text).finish();
    let mut inner = ObjectWriter::new();
    inner.string("id", &result.id).string("name", &result.name).raw("response", output.raw());
    ObjectWriter::new().raw("functionResponse", inner.finish().raw()).finish()
}
