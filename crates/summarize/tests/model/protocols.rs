//! Requests and answers of each protocol.

use sessile_core::compaction::SummaryFailure;
use sessile_core::json::Raw;

use crate::server::{Reply, Server, response, stream};
use crate::{KEY, MODELS, ask};

/// A good answer in each protocol: `## Goal` and then `- 日`.
pub(crate) fn good(model: &str) -> Vec<u8> {
    stream(match model.split('/').next().unwrap() {
        "anthropic" => {
            "event: message_start\n\
             data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":100,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n\
             event: ping\ndata: {\"type\":\"ping\"}\n\n\
             data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
             data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n\
             data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
             data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"## Goal\\n\"}}\n\n\
             data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"- 日\"}}\n\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":20}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n"
        }
        "google" => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"## Goal\\n\"}]}}]}\r\n\r\n\
             data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"- 日\"}]},\"finishReason\":\"STOP\"}],\
             \"usageMetadata\":{\"promptTokenCount\":107,\"cachedContentTokenCount\":7,\"candidatesTokenCount\":15,\"thoughtsTokenCount\":5,\"totalTokenCount\":127}}\r\n\r\n"
        }
        "ollama" => {
            "{\"message\":{\"role\":\"assistant\",\"content\":\"## Goal\\n\"},\"done\":false}\n\
             {\"message\":{\"content\":\"- 日\"},\"done\":false}\n\
             {\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":107,\"eval_count\":20}\n"
        }
        _ => {
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"## Goal\\n\"}}]}\n\n\
             data: {\"choices\":[{\"delta\":{\"content\":\"- 日\"},\"finish_reason\":null}]}\n\n\
             data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
             data: {\"choices\":[],\"usage\":{\"prompt_tokens\":107,\"completion_tokens\":20,\"prompt_tokens_details\":{\"cached_tokens\":7},\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\n\
             data: [DONE]\n\n"
        }
    })
}

#[test]
fn an_answer_is_text_and_usage() {
    for (model, path) in MODELS {
        let server = Server::serve(vec![Reply::Send(good(model))]);
        let attempt = ask(model, &format!("{}{path}", server.url));
        let summary = attempt.result.unwrap();
        assert_eq!(summary.text, "## Goal\n- 日", "{model}");
        assert_eq!(attempt.events, ["+## Goal\n", "+- 日"], "{model}");
        let usage = summary.usage.unwrap();
        // Ollama does not report its cache.
        let (input, cache_read) = if model.starts_with("ollama") { (107, 0) } else { (100, 7) };
        assert_eq!(
            (usage.input, usage.cache_read, usage.output, usage.total_tokens),
            (input, cache_read, 20, 127),
            "{model}"
        );
        let total = f64::from(u32::try_from(input).unwrap()) * 3e-6
            + f64::from(u32::try_from(cache_read).unwrap()) * 0.3e-6
            + 20.0 * 15e-6;
        assert!((usage.cost.total - total).abs() < 1e-12, "{model} {:?}", usage.cost);
    }
}

#[test]
fn requests_follow_the_protocol() {
    for (model, path) in MODELS {
        let server = Server::serve(vec![Reply::Send(good(model))]);
        ask(model, &format!("{}{path}", server.url)).result.unwrap();
        let request = server.requests().remove(0);
        let head = request.head.to_lowercase();
        let body = request.body.raw();
        let at = |path: &[&str]| {
            path.iter().try_fold(body, |json, name| match name.parse() {
                Ok(place) => json.items().nth(place),
                Err(_) => json.get(name),
            })
        };
        let text = |path: &[&str]| at(path).and_then(Raw::as_string).unwrap_or_default();
        let (line, key_header, limit, user) = match model.split('/').next().unwrap() {
            "anthropic" => (
                "post /v1/messages ",
                format!("x-api-key: {KEY}"),
                at(&["max_tokens"]),
                text(&["messages", "0", "content"]),
            ),
            "google" => (
                "post /v1beta/models/gemini-test:streamgeneratecontent?alt=sse ",
                format!("x-goog-api-key: {KEY}"),
                at(&["generationConfig", "maxOutputTokens"]),
                text(&["contents", "0", "parts", "0", "text"]),
            ),
            "ollama" => (
                "post /api/chat ",
                format!("authorization: bearer {KEY}"),
                at(&["options", "num_predict"]),
                text(&["messages", "1", "content"]),
            ),
            _ => (
                "post /v1/chat/completions ",
                format!("authorization: bearer {KEY}"),
                at(&["max_completion_tokens"]),
                text(&["messages", "1", "content"]),
            ),
        };
        assert!(head.starts_with(line) && head.contains(&key_header), "{head}");
        assert_eq!(limit.and_then(Raw::as_number), Some(777.0), "{model}");
        assert!(user.starts_with("<conversation>\n[User]: Why is high water early?\n</conversation>\n\n"), "{user}");
        assert!(body.get("tools").is_none());
    }
    let server = Server::serve(vec![Reply::Send(good("ollama/x"))]);
    ask("ollama/x", &server.url).result.unwrap();
    let size = server.requests()[0].body.raw().get("options").and_then(|it| it.get("num_ctx")).and_then(Raw::as_number);
    assert_eq!(size, Some(4096.0));
}

#[test]
fn an_unusable_answer_is_a_failure() {
    let sse = |json: &str| stream(&format!("data: {json}\n\n"));
    let line = |json: &str| stream(&format!("{json}\n"));
    let cases = [
        ("anthropic/x", sse(r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#), "cut"),
        (
            "anthropic/x",
            sse(r#"{"type":"content_block_start","content_block":{"type":"tool_use","name":"bash"}}"#),
            "tool",
        ),
        ("anthropic/x", sse(r#"{"type":"message_delta","delta":{"stop_reason":"refusal"}}"#), "refused"),
        ("anthropic/x", sse(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#), "empty"),
        ("openai/x", sse(r#"{"choices":[{"delta":{"content":"half"},"finish_reason":"length"}]}"#), "cut"),
        ("openai/x", sse(r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]},"finish_reason":"stop"}]}"#), "tool"),
        ("openai/x", sse(r#"{"choices":[{"delta":{"refusal":"I will not"},"finish_reason":"stop"}]}"#), "refused"),
        ("openai/x", sse(r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#), "refused"),
        ("openai/x", sse(r#"{"choices":[{"delta":{"content":" \n"},"finish_reason":"stop"}]}"#), "empty"),
        (
            "google/x",
            sse(r#"{"candidates":[{"content":{"parts":[{"text":"half"}]},"finishReason":"MAX_TOKENS"}]}"#),
            "cut",
        ),
        (
            "google/x",
            sse(r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x"}}]},"finishReason":"STOP"}]}"#),
            "tool",
        ),
        ("google/x", sse(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#), "refused"),
        ("google/x", sse(r#"{"candidates":[{"finishReason":"STOP"}]}"#), "empty"),
        ("ollama/x", line(r#"{"message":{"content":"half"},"done":true,"done_reason":"length"}"#), "cut"),
        ("ollama/x", line(r#"{"message":{"content":"","tool_calls":[{}]},"done":true,"done_reason":"stop"}"#), "tool"),
        ("ollama/x", line(r#"{"message":{"content":""},"done":true}"#), "empty"),
    ];
    for (model, response, expected) in cases {
        let server = Server::serve(vec![Reply::Send(response)]);
        let attempt = ask(model, &server.url);
        let found = match attempt.result.as_ref().unwrap_err() {
            SummaryFailure::CutShort => "cut",
            SummaryFailure::CalledTool => "tool",
            SummaryFailure::Refused { .. } => "refused",
            SummaryFailure::Empty => "empty",
            other => panic!("{model} {expected}: {other}"),
        };
        assert_eq!(found, expected, "{model}");
        assert_eq!(server.requests().len(), 1, "{model}: there must be no retry");
    }
}

#[test]
fn an_answer_without_streaming_is_read() {
    let json = |body: &str| response("200 OK", "content-type: application/json\r\n", body);
    let cases = [
        (
            "anthropic/x",
            json(
                r#"{"type":"message","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn"}"#,
            ),
            "a\nb",
        ),
        (
            "compatible/x",
            json(
                r#"{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.25}}"#,
            ),
            "whole",
        ),
    ];
    for (model, response, expected) in cases {
        let server = Server::serve(vec![Reply::Send(response)]);
        let summary = ask(model, &server.url).result.unwrap();
        assert_eq!(summary.text, expected);
        if let Some(usage) = summary.usage {
            assert_eq!((usage.cost.total, usage.cost.total_from_provider), (0.25, Some(true)));
        }
    }
}
