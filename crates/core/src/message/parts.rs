//! The smaller objects inside messages.

use super::view::views;
use crate::json::Raw;

views! {
    /// The tokens an answer used, and their cost.
    TokenUsage<'a> {
        /// Tokens sent, excluding cache reads and writes.
        input: Option<f64> = "input";
        /// Tokens received.
        output: Option<f64> = "output";
        /// Tokens read from the provider's cache.
        cache_read: Option<f64> = "cacheRead";
        /// Tokens written to the provider's cache.
        cache_write: Option<f64> = "cacheWrite";
        /// The part of `cache_write` that the cache keeps for an hour.
        cache_write_1h: Option<f64> = "cacheWrite1h";
        /// The part of `output` spent on thinking.
        reasoning: Option<f64> = "reasoning";
        /// All tokens.
        total_tokens: Option<f64> = "totalTokens";
        /// The cost of the tokens.
        cost: Option<Cost<'a>> = "cost";
    }

    /// The cost of the tokens of a [`TokenUsage`], in dollars.
    Cost<'a> {
        /// For tokens sent.
        input: Option<f64> = "input";
        /// For tokens received.
        output: Option<f64> = "output";
        /// For tokens read from the cache.
        cache_read: Option<f64> = "cacheRead";
        /// For tokens written to the cache.
        cache_write: Option<f64> = "cacheWrite";
        /// The total.
        total: Option<f64> = "total";
        /// Whether the provider reported the total. Otherwise it is the sum of the parts.
        total_from_provider: Option<bool> = "totalFromProvider";
    }

    /// A tool that a model may call.
    Tool<'a> {
        /// Its name.
        name: Option<String> = "name";
        /// The description shown to the model.
        description: Option<String> = "description";
        /// The schema of its arguments.
        parameters: Option<Raw<'a>> = "parameters";
        /// How the provider should constrain the model to the schema.
        constrained_sampling: Option<Raw<'a>> = "constrainedSampling";
    }

    /// An answer that the provider will give later.
    Deferred<'a> {
        /// The provider.
        provider: Option<String> = "provider";
        /// The model that answers.
        model_id: Option<String> = "modelId";
        /// The API to poll.
        api: Option<String> = "api";
        /// The provider's id for the answer.
        id: Option<String> = "id";
        /// When the answer expires, in Unix milliseconds.
        expires_at: Option<f64> = "expiresAt";
        /// The delay before polling, in milliseconds.
        poll_after_ms: Option<f64> = "pollAfterMs";
        /// Other data needed for polling.
        data: Option<Raw<'a>> = "data";
    }

    /// A notable event on the way to an answer.
    AssistantDiagnostic<'a> {
        /// The type of event.
        kind: Option<String> = "type";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// The error, if the event is one.
        error: Option<DiagnosticError<'a>> = "error";
        /// Further details.
        details: Option<Raw<'a>> = "details";
    }

    /// The error of an [`AssistantDiagnostic`].
    DiagnosticError<'a> {
        /// The class of the error.
        name: Option<String> = "name";
        /// The error message.
        message: Option<String> = "message";
        /// The stack trace, in JavaScript's format.
        stack: Option<String> = "stack";
        /// Its code, a string or a number.
        code: Option<Raw<'a>> = "code";
    }

    /// The calls that a tool made to other tools.
    NestedCalls<'a> {
        /// The calls in order.
        calls: Vec<NestedCall<'a>> = "calls";
        /// Whether the list is complete.
        complete: Option<bool> = "complete";
    }

    /// One call among [`NestedCalls`].
    NestedCall<'a> {
        /// The id of this call.
        id: Option<String> = "id";
        /// The tool.
        name: Option<String> = "name";
        /// The arguments.
        arguments: Option<Raw<'a>> = "arguments";
        /// The size of the arguments in bytes.
        arguments_bytes: Option<f64> = "argumentsBytes";
        /// The outcome: `ok`, `error` or `unfinished`.
        status: Option<String> = "status";
        /// How long it took, in milliseconds.
        duration_ms: Option<f64> = "durationMs";
        /// The error.
        error: Option<Raw<'a>> = "error";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn usage_is_read() {
        let usage = TokenUsage::new(raw(
            r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cacheWrite1h":5,"reasoning":6,"totalTokens":7,
                "cost":{"input":0.1,"output":0.2,"cacheRead":0.3,"cacheWrite":0.4,"total":1e0,"totalFromProvider":false}}"#,
        ));
        let tokens = [
            usage.input(),
            usage.output(),
            usage.cache_read(),
            usage.cache_write(),
            usage.cache_write_1h(),
            usage.reasoning(),
            usage.total_tokens(),
        ];
        assert_eq!(tokens, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0].map(Some));
        let cost = usage.cost().unwrap();
        let dollars = [cost.input(), cost.output(), cost.cache_read(), cost.cache_write(), cost.total()];
        assert_eq!(dollars, [0.1, 0.2, 0.3, 0.4, 1.0].map(Some));
        assert_eq!(cost.total_from_provider(), Some(false));
    }

    #[test]
    fn odd_parts_have_no_values() {
        for text in ["null", "5", r#""cost""#, "[]", r#"{"cost":null}"#, r#"{"cost":[1]}"#, r#"{"cost":{},"cost":1}"#] {
            assert_eq!(TokenUsage::new(raw(text)).cost(), None, "{text}");
        }
        let usage = TokenUsage::new(raw(r#"{"input":"1","output":1e999,"cacheRead":null}"#));
        assert_eq!((usage.input(), usage.output(), usage.cache_read()), (None, Some(f64::INFINITY), None));
    }

    #[test]
    fn calls_that_are_objects_are_listed() {
        let calls = NestedCalls::new(raw(
            r#"{"calls":[null,{"id":"a","name":"read","arguments":[],"argumentsBytes":2,"status":"ok","durationMs":1.5,"error":"e"},7],"complete":true}"#,
        ));
        let [call] = calls.calls()[..] else { panic!("{calls:?}") };
        assert_eq!(call.id().as_deref(), Some("a"));
        assert_eq!(call.name().as_deref(), Some("read"));
        assert_eq!(call.arguments(), Some(raw("[]")));
        assert_eq!(call.arguments_bytes(), Some(2.0));
        assert_eq!(call.status().as_deref(), Some("ok"));
        assert_eq!(call.duration_ms(), Some(1.5));
        assert_eq!(call.error(), Some(raw(r#""e""#)));
        assert_eq!(calls.complete(), Some(true));
        assert!(NestedCalls::new(raw(r#"{"calls":{"0":{}}}"#)).calls().is_empty());
    }
}
