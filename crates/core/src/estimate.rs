//! How large a context is, in tokens, as far as that can be told without the model: as pi estimates it.

use crate::checkpoint::checkpoint;
use crate::head::Role;
use crate::json::{JsText, Raw, Shape, print};
use crate::message::Usage;

/// How large a context is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextTokens {
    /// All of it.
    pub tokens: f64,
    /// The part that a provider counted; the rest is estimated.
    pub counted: f64,
}

/// A message of a context, and whether the usage it tells is about a context like the present one.
#[derive(Clone, Copy, Debug)]
pub struct Sized<'m> {
    /// The message.
    pub message: Raw<'m>,
    /// Whether nothing was compacted or edited since.
    pub is_current: bool,
}

/// How large a context is: what the last answer took, and an estimate of what was said since.
pub fn context<'m>(messages: impl IntoIterator<Item = Sized<'m>>) -> ContextTokens {
    let mut others = 0.0;
    let mut systems = Vec::new();
    let mut known: Option<ContextTokens> = None;
    for Sized { message, is_current } in messages {
        let tokens = message_tokens(message);
        if Role::of(message.get("role")) == Role::System {
            systems.push(message);
        } else {
            others += tokens;
        }
        match counted(message).filter(|_| is_current) {
            Some(counted) => known = Some(ContextTokens { tokens: counted, counted }),
            None => known = known.map(|known| ContextTokens { tokens: known.tokens + tokens, ..known }),
        }
    }
    known.unwrap_or_else(|| {
        // Of all instructions the model gets what is in force, as one message.
        let system = checkpoint(systems, 0).map_or(0.0, |system| message_tokens(system.raw()));
        ContextTokens { tokens: others + system, counted: 0.0 }
    })
}

/// What a provider says the context of an answer took; nothing if the answer did not come to its end.
fn counted(message: Raw<'_>) -> Option<f64> {
    let text = |key| message.get(key).and_then(Raw::as_string);
    text("role").filter(|role| role == "assistant")?;
    if text("stopReason").is_some_and(|reason| reason == "aborted" || reason == "error") {
        return None;
    }
    let usage = Usage::new(message.get("usage")?);
    let parts = [usage.input(), usage.output(), usage.cache_read(), usage.cache_write()];
    let total = usage.total_tokens().filter(|total| *total != 0.0);
    let tokens = total.unwrap_or_else(|| parts.into_iter().flatten().sum());
    (tokens > 0.0).then_some(tokens)
}

/// A picture counts as much as so many characters.
const PICTURE: usize = 4800;

/// An estimate of what a message takes: a token for four characters, as JavaScript counts them.
pub fn message_tokens(message: Raw<'_>) -> f64 {
    let role = message.get("role").and_then(Raw::as_string).unwrap_or_default();
    let length = |key| message.get(key).map_or(0, text_length);
    let content = message.get("content");
    let characters = match role.as_str() {
        "user" | "custom" | "toolResult" => content.map_or(0, content_length),
        "assistant" => content.map_or(0, |content| content.items().map(answer_length).sum()),
        "bashExecution" => length("command") + length("output"),
        "branchSummary" | "compactionSummary" => length("summary"),
        "system" => {
            let sections = message.get("sections").into_iter().flat_map(Raw::members);
            let sections: usize = sections.map(|section| text_length(section.value)).sum();
            let tools = message.get("toolsAdded").map_or(0, printed_length);
            content.map_or(0, content_length) + sections + tools
        }
        _ => 0,
    };
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    let characters = characters as f64;
    (characters / 4.0).ceil()
}

fn text_length(value: Raw<'_>) -> usize {
    value.as_text().map_or(0, |text| text.utf16_len())
}

fn printed_length(value: Raw<'_>) -> usize {
    JsText::from(print(value).to_text().as_ref()).utf16_len()
}

fn content_length(content: Raw<'_>) -> usize {
    if content.shape() == Shape::String {
        return text_length(content);
    }
    let block = |block: Raw<'_>| match block.get("type").and_then(Raw::as_string).as_deref() {
        Some("text") => block.get("text").map_or(0, text_length),
        Some("image") => PICTURE,
        _ => 0,
    };
    content.items().map(block).sum()
}

fn answer_length(block: Raw<'_>) -> usize {
    let length = |key| block.get(key).map_or(0, text_length);
    match block.get("type").and_then(Raw::as_string).as_deref() {
        Some("text") => length("text"),
        Some("thinking") => length("thinking"),
        Some("toolCall") => length("name") + block.get("arguments").map_or(0, printed_length),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_estimated_as_pi_does() {
        for (message, tokens) in [
            (r#"{"role":"user","content":"Hello"}"#, 2.0),
            (r#"{"role":"user","content":[]}"#, 0.0),
            (r#"{"role":"user","content":"abcd"}"#, 1.0),
            (r#"{"role":"user","content":[{"type":"image"}]}"#, 1200.0),
            (r#"{"role":"user","content":[{"type":"text","text":"abc"},{"type":"image"}]}"#, 1201.0),
            (r#"{"role":"user","content":"😀"}"#, 1.0),
            (r#"{"role":"user","content":"日本語日本"}"#, 2.0),
            (r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{ "path":"a"}}]}"#, 4.0),
            (r#"{"role":"bashExecution","command":"ls","output":"abc","excludeFromContext":true}"#, 2.0),
            (r#"{"role":"compactionSummary","summary":"abcdefgh"}"#, 2.0),
            (r#"{"role":"system","content":"ab","sections":{"a":"cd","b":null},"toolsAdded":[]}"#, 2.0),
            (r#"{"role":"other","content":"abcd"}"#, 0.0),
        ] {
            assert!((message_tokens(Raw::parse(message.as_bytes()).unwrap()) - tokens).abs() < 0.1, "{message}");
        }
    }

    #[test]
    fn what_a_provider_counted_is_taken_over() {
        let message = |text: &'static str| Raw::parse(text.as_bytes()).unwrap();
        let size = |messages: &[(&'static str, bool)]| {
            let sized =
                |(text, is_current): &(&'static str, bool)| Sized { message: message(text), is_current: *is_current };
            let size = context(messages.iter().map(sized));
            (size.tokens, size.counted)
        };
        let asked = (r#"{"role":"user","content":"abcdefgh"}"#, true);
        let answered = r#"{"role":"assistant","content":[],"usage":{"input":5,"totalTokens":99}}"#;
        let summed = r#"{"role":"assistant","content":[],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}"#;
        let failed = r#"{"role":"assistant","content":[],"stopReason":"error","usage":{"totalTokens":7}}"#;
        assert_eq!(size(&[asked, asked]), (4.0, 0.0));
        assert_eq!(size(&[asked, (answered, true), asked]), (101.0, 99.0));
        assert_eq!(size(&[asked, (summed, true), (failed, true)]), (10.0, 10.0));
        assert_eq!(size(&[asked, (answered, false), asked]), (4.0, 0.0));
    }
}
