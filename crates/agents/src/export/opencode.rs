//! Writes sessions of opencode: one JSON document, as `opencode export` does.

use sessile_core::json::{Json, ObjectWriter};

use super::conversation::{Call, CallResult, Part, Step, Turn};
use super::{Writing, Written};

/// The version whose format this is.
const VERSION: &str = "1.18.33";

pub(super) fn write(writing: &Writing<'_>) -> Written {
    let id = format!("ses_{}", writing.names.letters("session", 0, 26));
    let title = writing.title.map_or_else(|| first_words(writing), str::to_owned);
    let mut time = ObjectWriter::new();
    time.integer("created", writing.conversation.began().as_ms());
    time.integer("updated", writing.conversation.ended().as_ms());
    let mut info = ObjectWriter::new();
    info.string("id", &id)
        .string("slug", &format!("sessile-{}", writing.names.letters("slug", 0, 8).to_lowercase()))
        .string("projectID", "global")
        .string("directory", writing.source.cwd)
        .string("title", &title)
        .string("version", VERSION)
        .raw("time", time.finish().raw());
    let mut document = Document { writing, session: &id, n_ids: 0, parent: None, messages: Vec::new() };
    for (nth, turn) in writing.conversation.turns.iter().enumerate() {
        if turn.answer.is_none() {
            let rest = writing.conversation.turns.get(nth..).unwrap_or_default();
            document.user(turn, model_after(rest).or_else(|| model_after(&writing.conversation.turns)));
            continue;
        }
        for step in turn.steps() {
            document.answer(turn, &step);
        }
    }
    let mut whole = ObjectWriter::new();
    whole.raw("info", info.finish().raw()).raw("messages", Json::array(&document.messages).raw());
    (id.clone(), format!("{id}.json"), vec![whole.finish()])
}

/// The beginning of what the user said first, as a title.
fn first_words(writing: &Writing<'_>) -> String {
    let first = writing.conversation.turns.iter().flat_map(Turn::texts).next().unwrap_or("Session of pi");
    super::clean::title(&first.chars().take(60).collect::<String>())
}

/// The provider and the model of the next answer.
fn model_after(turns: &[Turn]) -> Option<(&str, &str)> {
    turns.iter().find_map(|turn| turn.answer.as_ref()).map(|answer| (named(&answer.provider), named(&answer.model)))
}

fn named(name: &str) -> &str {
    if name.is_empty() { "unknown" } else { name }
}

struct Document<'d> {
    writing: &'d Writing<'d>,
    session: &'d str,
    n_ids: usize,
    /// The last message of the user.
    parent: Option<String>,
    messages: Vec<Json>,
}

impl Document<'_> {
    /// The next id. opencode sorts by ids, whose first digits are a time; these come before those of all messages that
    /// it adds.
    fn id(&mut self, prefix: &str) -> String {
        self.n_ids += 1;
        format!("{prefix}_{:012x}{}", self.n_ids, self.writing.names.letters(prefix, self.n_ids, 14))
    }

    fn user(&mut self, turn: &Turn, model: Option<(&str, &str)>) {
        let id = self.id("msg");
        let (provider, model) = model.unwrap_or(("unknown", "unknown"));
        let mut info = ObjectWriter::new();
        info.string("role", "user")
            .raw("time", ObjectWriter::new().integer("created", turn.time.as_ms()).finish().raw())
            .string("agent", "build")
            .raw("model", ObjectWriter::new().string("providerID", provider).string("modelID", model).finish().raw())
            .string("id", &id)
            .string("sessionID", self.session);
        let parts: Vec<Json> = turn.parts.iter().map(|part| self.part(&id, part)).collect();
        self.push(info, &parts);
        self.parent = Some(id);
    }

    fn answer(&mut self, turn: &Turn, step: &Step<'_>) {
        let Some(answer) = &turn.answer else { return };
        let id = self.id("msg");
        let mut cache = ObjectWriter::new();
        cache.integer("read", 0).integer("write", 0);
        let mut tokens = ObjectWriter::new();
        tokens.integer("input", 0).integer("output", 0).integer("reasoning", 0).raw("cache", cache.finish().raw());
        let mut time = ObjectWriter::new();
        time.integer("created", turn.time.as_ms()).integer("completed", turn.ended().as_ms());
        let path = ObjectWriter::new().string("cwd", self.writing.source.cwd).string("root", "/").finish();
        let mut info = ObjectWriter::new();
        // An answer without a question refers to itself.
        info.string("parentID", self.parent.as_ref().unwrap_or(&id))
            .string("role", "assistant")
            .string("mode", "build")
            .string("agent", "build")
            .raw("path", path.raw())
            .integer("cost", 0)
            .raw("tokens", tokens.finish().raw())
            .string("modelID", named(&answer.model))
            .string("providerID", named(&answer.provider))
            .raw("time", time.finish().raw())
            .string("finish", if step.calls.is_empty() { "stop" } else { "tool-calls" })
            .string("id", &id)
            .string("sessionID", self.session);
        let mut parts: Vec<Json> = step.parts.iter().map(|part| self.part(&id, part)).collect();
        for (call, result) in &step.calls {
            parts.push(self.tool(&id, turn, call, result));
        }
        self.push(info, &parts);
    }

    fn push(&mut self, mut info: ObjectWriter, parts: &[Json]) {
        let mut message = ObjectWriter::new();
        message.raw("info", info.finish().raw()).raw("parts", Json::array(parts).raw());
        self.messages.push(message.finish());
    }

    fn part(&mut self, message: &str, part: &Part) -> Json {
        let mut out = ObjectWriter::new();
        match part {
            Part::Text(text) => out.string("type", "text").string("text", text),
            Part::Image { data, mime } => file(&mut out, data, mime),
            Part::Call(_) => &mut out,
        };
        self.finish(message, out)
    }

    fn tool(&mut self, message: &str, turn: &Turn, call: &Call, result: &CallResult) -> Json {
        let mut time = ObjectWriter::new();
        time.integer("start", turn.time.as_ms()).integer("end", result.time.as_ms());
        let time = time.finish();
        let mut state = ObjectWriter::new();
        state.string("status", if result.is_error { "error" } else { "completed" });
        state.raw("input", call.arguments.raw());
        if result.is_error {
            state.string("error", &result.text());
        } else {
            state
                .string("output", &result.texts())
                .string("title", "")
                .raw("metadata", ObjectWriter::new().finish().raw());
            let mut attachments = Vec::new();
            for part in &result.parts {
                if let Part::Image { data, mime } = part {
                    let mut image = ObjectWriter::new();
                    file(&mut image, data, mime);
                    attachments.push(self.finish(message, image));
                }
            }
            if !attachments.is_empty() {
                state.raw("attachments", Json::array(&attachments).raw());
            }
        }
        state.raw("time", time.raw());
        let mut out = ObjectWriter::new();
        out.string("type", "tool").string("tool", &call.name).string("callID", &call.id);
        out.raw("state", state.finish().raw());
        self.finish(message, out)
    }

    fn finish(&mut self, message: &str, mut part: ObjectWriter) -> Json {
        let id = self.id("prt");
        part.string("id", &id).string("sessionID", self.session).string("messageID", message).finish()
    }
}

/// An image as a file in a data URL.
fn file<'o>(out: &'o mut ObjectWriter, data: &str, mime: &str) -> &'o mut ObjectWriter {
    out.string("type", "file")
        .string("mime", mime)
        .string("filename", "image")
        .string("url", &format!("data:{mime};base64,{data}"))
}
