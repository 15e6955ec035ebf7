//! Assembles an answer from events and checks it.

use sessile_core::compaction::{Summary, SummaryFailure};
use sessile_core::draft::{Cost, TokenUsage};
use sessile_core::json::Raw;

use super::fault::{Fault, quoted};
use super::json::{at, text_at, tokens_at};
use crate::settings::Prices;

/// The longest text an answer may have, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// Ends a stream in `OpenAI`'s protocol.
const STREAM_END: &[u8] = b"[DONE]";

/// Words in error names that mark an error as transient.
const TRANSIENT_ERRORS: &[&str] =
    &["overload", "rate_limit", "api_error", "timeout", "server_error", "unavailable", "exhausted", "internal"];

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// The answer is complete.
    Stop,
    /// The answer reached the length limit.
    Length,
    /// The model wants to run a tool.
    Tool,
    /// The model or its provider refused.
    Refused(String),
    /// An unknown reason.
    Other(String),
}

/// Adds an event to an answer, in the protocol of the provider.
pub(super) type AddEvent = fn(Raw<'_>, &mut Answer);

/// The answer received so far.
#[derive(Debug)]
pub(super) struct Answer {
    add_event: AddEvent,
    text: String,
    /// The number of text bytes delivered so far.
    n_reported: usize,
    pub(super) finish: Option<Finish>,
    pub(super) usage: TokenUsage,
    /// The cost that the provider reports, in dollars.
    pub(super) charged: Option<f64>,
    /// Whether the stream has announced its end.
    pub(super) is_closed: bool,
}

impl Answer {
    pub(super) fn new(add_event: AddEvent) -> Self {
        let usage = TokenUsage::default();
        Self { add_event, text: String::new(), n_reported: 0, finish: None, usage, charged: None, is_closed: false }
    }

    /// Adds an event of the stream and calls `on_text` with its text.
    pub(super) fn add(&mut self, payload: &[u8], on_text: &mut dyn FnMut(&str)) -> Result<(), Fault> {
        if payload == STREAM_END {
            self.is_closed = true;
            if !self.text.is_empty() {
                self.finish.get_or_insert(Finish::Stop);
            }
            return Ok(());
        }
        let unreadable =
            |_| Fault::Permanent(format!("the answer is not JSON: {}", quoted(&String::from_utf8_lossy(payload))));
        let event = Raw::parse(payload).map_err(unreadable)?;
        if let Some(error) = at(event, &["error"]) {
            return Err(error_in(error));
        }
        (self.add_event)(event, self);
        if self.text.len() > MAX_TEXT {
            return Err(Fault::Permanent(format!("the answer is longer than {MAX_TEXT} bytes")));
        }
        let new_text = self.text.get(self.n_reported..).unwrap_or_default();
        if !new_text.is_empty() {
            on_text(new_text);
            self.n_reported = self.text.len();
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Begins a further block of text.
    pub(super) fn paragraph(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub(super) fn refuse(&mut self, reason: &str) {
        self.finish = Some(Finish::Refused(reason.to_owned()));
    }

    /// Sets why the answer ended, unless a tool call or a refusal was recorded before.
    pub(super) fn finish_with(&mut self, finish: Finish) {
        if !matches!(self.finish, Some(Finish::Tool | Finish::Refused(_))) {
            self.finish = Some(finish);
        }
    }

    /// Whether the answer has ended.
    pub(super) fn is_complete(&self) -> bool {
        self.is_closed
    }

    /// Fails unless the answer is complete and not empty.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match &self.finish {
            None => Err(Fault::transient("the answer ended early")),
            Some(Finish::Length) => Err(Fault::Unusable(SummaryFailure::CutShort)),
            Some(Finish::Tool) => Err(Fault::Unusable(SummaryFailure::CalledTool)),
            Some(Finish::Refused(reason)) => Err(Fault::Unusable(SummaryFailure::Refused { reason: quoted(reason) })),
            Some(Finish::Other(reason)) => {
                Err(Fault::Permanent(format!("the answer ended with the reason {:?}", quoted(reason))))
            }
            Some(Finish::Stop) if self.text.trim().is_empty() => Err(Fault::Unusable(SummaryFailure::Empty)),
            Some(Finish::Stop) => Ok(()),
        }
    }

    /// Returns the summary with its usage and cost.
    pub(super) fn into_summary(self, prices: Prices) -> Summary {
        let mut usage = self.usage;
        usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
        usage.cost = cost(&usage, prices, self.charged);
        let usage = (usage.total_tokens > 0).then_some(usage);
        Summary { text: self.text.trim().to_owned(), usage }
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn cost(usage: &TokenUsage, prices: Prices, charged: Option<f64>) -> Cost {
    let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
    let mut cost = Cost {
        input: dollars(usage.input, prices.input),
        output: dollars(usage.output, prices.output),
        cache_read: dollars(usage.cache_read, prices.cache_read),
        cache_write: dollars(usage.cache_write, prices.cache_write),
        total: 0.0,
        total_from_provider: charged.map(|_| true),
    };
    cost.total = charged.unwrap_or(cost.input + cost.output + cost.cache_read + cost.cache_write);
    cost
}

/// Classifies an error that arrives as an event.
fn error_in(error: Raw<'_>) -> Fault {
    let kind = text_at(error, &["type"]).or_else(|| text_at(error, &["status"])).unwrap_or_default().to_lowercase();
    let code = tokens_at(error, &["code"]).unwrap_or(0);
    let message =
        text_at(error, &["message"]).or_else(|| error.as_string()).unwrap_or_else(|| error.to_text().into_owned());
    let what = format!("the server reported: {}", quoted(&message));
    let is_passing =
        TRANSIENT_ERRORS.iter().any(|word| kind.contains(word)) || code == 429 || (500..600).contains(&code);
    if is_passing { Fault::transient(what) } else { Fault::Permanent(what) }
}
