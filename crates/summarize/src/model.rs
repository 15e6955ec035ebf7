//! Language models over HTTP.
//!
//! Each attempt sends one request and reads one streamed answer, both bounded in size. [`Provider`] says where a model
//! is served and which protocol it speaks. The four protocols differ in the format of a question ([`protocol`]) and in
//! the meaning of the answer's events. [`http`] moves the bytes.

mod answer;
mod anthropic;
mod fault;
mod framing;
mod gemini;
mod http;
mod json;
mod ollama;
mod openai;
mod protocol;
mod provider;
mod question;
mod secret;

use std::thread;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;
use sessile_core::compaction::{
    DEFAULT_CONTEXT_WINDOW, Generator, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
};

use crate::failure::not_configured;
use crate::prompt::Prompt;
use crate::settings::{Prices, RetryPolicy, Settings};
use answer::Answer;
use fault::Fault;
pub use provider::Provider;
use question::Question;
use secret::Secret;

/// Room reserved for the instructions and the frame around the conversation, in bytes.
const ROOM_FOR_WORDS: u64 = 12_000;

/// The name that stands for the model the session last used.
const SESSION: &str = "session";

/// Asks a language model.
#[derive(Debug)]
pub struct Model {
    /// None for the session's model.
    named: Option<Named>,
    base_url: Option<String>,
    key_variable: Option<String>,
    /// Keys of all known providers, because the session's model may belong to any of them.
    keys: Vec<(&'static str, Secret)>,
    own_key: Option<Secret>,
    ollama_host: Option<String>,
    max_output: Option<u64>,
    context_window: u64,
    prices: Prices,
    retry_policy: RetryPolicy,
}

/// A provider and one of its models.
#[derive(Clone, Debug)]
struct Named {
    provider: &'static Provider,
    model: String,
}

impl Named {
    fn parse(name: &str) -> Result<Self, SummaryFailure> {
        let unknown = || {
            let known: Vec<&str> = Provider::all().iter().map(|provider| provider.name).collect();
            not_configured(&format!(
                "{name:?} is not a model: use provider/model, where provider is one of {}",
                known.join(", ")
            ))
        };
        let (provider, model) = name.split_once('/').ok_or_else(unknown)?;
        let provider = Provider::named(provider).filter(|_| is_model_name(model)).ok_or_else(unknown)?;
        Ok(Self { provider, model: model.to_owned() })
    }
}

/// Whether a name is safe in a URL and in a message.
fn is_model_name(model: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._:/@+".contains(it);
    !model.is_empty() && model.len() <= 200 && model.chars().all(is_plain) && !model.contains("..")
}

impl Model {
    /// Returns the model that the settings and `named` (`provider/model`, or `session`) ask for. Reads the keys
    /// immediately.
    pub fn new(
        settings: &Settings,
        named: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, SummaryFailure> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let key_of = |provider: &'static Provider| {
            let key = provider.key_variables.iter().find_map(|name| set(name))?;
            Some((provider.name, Secret::new(&key)))
        };
        let named = if named == SESSION { None } else { Some(Named::parse(named)?) };
        let wanted =
            Provider::all().iter().filter(|provider| named.as_ref().is_none_or(|it| it.provider.name == provider.name));
        let model = Self {
            keys: wanted.filter_map(key_of).collect(),
            own_key: settings.key_variable.as_deref().and_then(set).map(|key| Secret::new(&key)),
            key_variable: settings.key_variable.clone(),
            base_url: settings.base_url.clone(),
            ollama_host: set("OLLAMA_HOST"),
            max_output: settings.max_output,
            context_window: settings.context_window.unwrap_or(DEFAULT_CONTEXT_WINDOW),
            prices: settings.prices,
            retry_policy: settings.retry_policy,
            named,
        };
        if let Some(named) = &model.named {
            model.key(named.provider)?;
        }
        Ok(model)
    }

    /// Replaces the time limits.
    #[must_use]
    pub fn with_retry_policy(self, retry_policy: RetryPolicy) -> Self {
        Self { retry_policy, ..self }
    }

    /// Returns the key for a provider, or none if it needs none.
    fn key(&self, provider: &'static Provider) -> Result<Option<&Secret>, SummaryFailure> {
        let usual = || self.keys.iter().find(|(name, _)| *name == provider.name).map(|(_, key)| key);
        let key = if self.key_variable.is_some() { self.own_key.as_ref() } else { usual() };
        // A server at a custom address may not need a key.
        let needs_key = self.key_variable.is_some() || (!provider.key_variables.is_empty() && self.base_url.is_none());
        if key.is_some() || !needs_key {
            return Ok(key);
        }
        let names = self.key_variable.as_deref().map_or_else(|| provider.key_variables.join(" or "), str::to_owned);
        Err(not_configured(&format!("{} needs a key: {names} is not set", provider.name)))
    }

    fn base(&self, provider: &'static Provider) -> String {
        let ollama = self.ollama_host.as_deref().filter(|_| provider.name == "ollama").map(provider::ollama_address);
        self.base_url.clone().or(ollama).unwrap_or_else(|| provider.base_url.to_owned())
    }

    /// Returns the model to ask: the named one, or the session's.
    fn named_for(&self, session_model: Option<&str>) -> Result<Named, SummaryFailure> {
        match (&self.named, session_model) {
            (Some(named), _) => Ok(named.clone()),
            (None, Some(name)) => Named::parse(name),
            (None, None) => Err(not_configured("the session has not used a model yet; name one")),
        }
    }

    /// Returns how many bytes of a conversation fit, at three bytes per token.
    fn room(&self, request: &SummaryRequest<'_>) -> usize {
        let answer = self.max_output.unwrap_or(question::USUAL_OUTPUT).min(self.context_window / 2);
        let previous = request.previous_summary.map_or(0, str::len) as u64;
        let room = (3 * (self.context_window - answer)).saturating_sub(ROOM_FOR_WORDS + previous);
        usize::try_from(room.max(4000)).unwrap_or(usize::MAX)
    }
}

impl Summarizer for Model {
    fn generator(&self) -> Generator {
        Generator::Model
    }

    fn context_window(&self) -> u64 {
        self.context_window
    }

    fn summarize(
        &self,
        request: &SummaryRequest<'_>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        let named = self.named_for(request.session_model)?;
        self.answered(&named, &Prompt::new(request, self.room(request)), progress, cancel)
    }
}

impl Model {
    /// Answers any question, for programs that use a model for more than summaries.
    ///
    /// Requires a named model, not the session's.
    pub fn answer(
        &self,
        prompt: &Prompt,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        self.answered(&self.named_for(None)?, prompt, progress, cancel)
    }

    fn answered(
        &self,
        named: &Named,
        prompt: &Prompt,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        let question = Question {
            provider: named.provider,
            model: &named.model,
            base_url: &self.base(named.provider),
            key: self.key(named.provider)?,
            prompt,
            max_output: self.max_output,
            context_window: self.context_window,
        };
        let answer = self.ask_patiently(&question, progress, cancel)?;
        Ok(answer.into_summary(self.prices))
    }

    /// Asks, and retries transient failures within the limits of [`RetryPolicy`].
    fn ask_patiently(
        &self,
        question: &Question<'_>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Answer, SummaryFailure> {
        let max_attempts = self.retry_policy.n_retries;
        for attempt in 0..=max_attempts {
            let fault = match self.ask(question, progress, cancel) {
                Ok(answer) => {
                    if attempt > 0 {
                        progress(SummaryProgress::Settled);
                    }
                    return Ok(answer);
                }
                Err(fault) => fault,
            };
            let delay = self.delay(attempt, &fault);
            let (true, Some(delay)) = (attempt < max_attempts, delay) else {
                if attempt > 0 {
                    progress(SummaryProgress::Settled);
                }
                return Err(fault.into_failure(question));
            };
            let reason = fault.description(question);
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            progress(SummaryProgress::Waiting { attempt: attempt + 1, max_attempts, delay_ms, reason: &reason });
            wait(delay, cancel)?;
            progress(SummaryProgress::Attempt);
        }
        Err(SummaryFailure::Empty)
    }

    /// Returns the delay before the next attempt, or none if a retry is pointless.
    fn delay(&self, attempt: u32, fault: &Fault) -> Option<Duration> {
        let RetryPolicy { first_delay, longest_delay, .. } = self.retry_policy;
        match fault.retry_after() {
            _ if !fault.is_transient() => None,
            Some(asked) => (asked <= longest_delay).then_some(asked),
            None => Some(first_delay.saturating_mul(1 << attempt.min(20)).min(longest_delay)),
        }
    }

    /// Makes one attempt.
    fn ask(
        &self,
        question: &Question<'_>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Answer, Fault> {
        let mut answer = Answer::new(protocol::add_event(question.provider.protocol));
        let mut response = http::Response::start(protocol::request(question), self.retry_policy, cancel)?;
        response.check_status()?;
        let mut frames = framing::Framing::of(question.provider.protocol, response.is_json());
        while let Some(bytes) = response.next()? {
            frames.push(&bytes)?;
            while let Some(payload) = frames.take() {
                answer.add(&payload, &mut |text| progress(SummaryProgress::Text(text)))?;
            }
            if answer.is_complete() {
                break;
            }
        }
        if let Some(payload) = frames.finish() {
            answer.add(&payload, &mut |text| progress(SummaryProgress::Text(text)))?;
        }
        answer.check()?;
        Ok(answer)
    }
}

/// Waits for the delay unless cancelled.
fn wait(delay: Duration, cancel: &Cancel) -> Result<(), SummaryFailure> {
    let since = Instant::now();
    loop {
        if cancel.is_cancelled() {
            return Err(SummaryFailure::Cancelled);
        }
        let left = delay.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(http::CANCEL_POLL_INTERVAL));
    }
}
