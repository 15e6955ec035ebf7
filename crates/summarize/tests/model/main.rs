//! Language models over real HTTP, played by local test servers.

#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod failures;
mod protocols;
mod server;

use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_core::compaction::{
    Conversation, FileLists, Purpose, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest, serialize,
};
use sessile_core::json::Raw;
use sessile_summarize::{Model, Prices, RetryPolicy, Settings};

/// A key that must appear in a header only.
const KEY: &str = "sk-test-0123456789-never-shown";

/// The models of the tests, one for each protocol, each with the path prefix of its base URL.
const MODELS: [(&str, &str); 4] =
    [("anthropic/claude-test", ""), ("openai/gpt-test", "/v1"), ("google/gemini-test", ""), ("ollama/llama-test", "")];

/// Limits that a good answer stays within on the slowest machine. Tests about a limit set it themselves.
fn retry_policy() -> RetryPolicy {
    RetryPolicy {
        idle: Duration::from_mins(5),
        total: Duration::from_mins(10),
        n_retries: 2,
        first_delay: Duration::from_millis(20),
        longest_delay: Duration::from_secs(2),
    }
}

fn conversation() -> Conversation {
    let message = Raw::parse(br#"{"role":"user","content":"Why is high water early?"}"#).unwrap();
    serialize([message]).finish()
}

/// The result of a request, and the progress reported on the way.
struct Attempt {
    result: Result<Summary, SummaryFailure>,
    events: Vec<String>,
}

impl Attempt {
    /// Returns the failure's message. Asserts that no output contains the key.
    fn failure(&self) -> String {
        let failure = self.result.as_ref().unwrap_err();
        let all = format!("{failure} {failure:?} {:?}", self.events);
        assert!(!all.contains(KEY), "{all}");
        failure.to_string()
    }
}

fn ask(model: &str, base_url: &str) -> Attempt {
    ask_with(model, base_url, retry_policy(), &Cancel::default())
}

fn ask_with(model: &str, base_url: &str, retry_policy: RetryPolicy, cancel: &Cancel) -> Attempt {
    let settings = Settings {
        base_url: Some(base_url.to_owned()),
        key_variable: Some("TEST_KEY".to_owned()),
        max_output: Some(777),
        prices: Prices { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 },
        retry_policy,
        ..Settings::default()
    };
    let variable = |name: &str| (name == "TEST_KEY").then(|| KEY.to_owned());
    let model = Model::new(&settings, model, &variable).unwrap();
    assert!(!format!("{model:?}").contains(KEY));
    let (conversation, files) = (conversation(), FileLists::default());
    let request = SummaryRequest::new(Purpose::History, &conversation, &files);
    let mut events = Vec::new();
    let mut record = |progress: SummaryProgress<'_>| {
        events.push(match progress {
            SummaryProgress::Text(text) => format!("+{text}"),
            SummaryProgress::Waiting { attempt, max_attempts, delay_ms, reason } => {
                format!("wait {attempt}/{max_attempts} {delay_ms} ms: {reason}")
            }
            SummaryProgress::Attempt => "again".to_owned(),
            SummaryProgress::Settled => "settled".to_owned(),
            _ => "?".to_owned(),
        });
    };
    let result = model.summarize(&request, &mut record, cancel);
    Attempt { result, events }
}
