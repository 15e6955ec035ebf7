//! The `summarizer` table of the user's own `config.toml`.

use std::time::Duration;

use sessile_core::json::{Raw, Shape};

/// Which summarizer is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummarizerKind {
    /// The offline rule.
    Extractive,
    /// A language model.
    Model,
    /// A user's program.
    Command,
}

/// Time limits and retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How long the server may send nothing.
    pub idle: Duration,
    /// How long one attempt may take.
    pub total: Duration,
    /// Number of retries.
    pub n_retries: u32,
    /// The delay before the first retry; it doubles for each further retry.
    pub first_delay: Duration,
    /// The longest delay. A server that asks for more is not asked again.
    pub longest_delay: Duration,
}

impl Default for RetryPolicy {
    /// Like pi: three retries after 2, 4 and 8 seconds.
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(2),
            total: Duration::from_mins(10),
            n_retries: 3,
            first_delay: Duration::from_secs(2),
            longest_delay: Duration::from_mins(1),
        }
    }
}

/// Prices in dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    pub cache_write: f64,
}

/// The user's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The summarizer; by default a model if one is named, else the command if there is one, else the offline rule.
    pub using: Option<SummarizerKind>,
    /// The model, as `provider/model`; `session` for the model that the session last used.
    pub model: Option<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The provider's address, unless the usual one.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, unless the provider's usual one.
    pub key_variable: Option<String>,
    /// Upper bound on the tokens of an answer.
    pub max_output: Option<u64>,
    /// The model's context window, in tokens.
    pub context_window: Option<u64>,
    /// Prices of tokens.
    pub prices: Prices,
    /// Time limits and retries.
    pub retry_policy: RetryPolicy,
}

/// A setting with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} must be {expected}")]
pub struct SettingsError {
    /// The key, with its table.
    pub key: String,
    /// The expected value.
    pub expected: &'static str,
}

impl Settings {
    /// All keys of the table.
    pub const KEYS: &'static [&'static str] = &[
        "base_url",
        "command",
        "context_window",
        "key_variable",
        "max_output",
        "model",
        "price.cache_read",
        "price.cache_write",
        "price.input",
        "price.output",
        "retries",
        "timeout",
        "total_timeout",
        "use",
    ];

    /// Reads the table: dotted keys, with or without the prefix `summarizer.`, and JSON values.
    pub fn read<'v>(values: impl IntoIterator<Item = (&'v str, Raw<'v>)>) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        for (key, value) in values {
            let key = key.strip_prefix("summarizer.").unwrap_or(key);
            settings
                .set(key, value)
                .map_err(|expected| SettingsError { key: format!("summarizer.{key}"), expected })?;
        }
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: Raw<'_>) -> Result<(), &'static str> {
        match key {
            "use" => self.using = Some(using(value)?),
            "model" => self.model = Some(text(value)?),
            "command" => self.command = words(value)?,
            "base_url" => self.base_url = Some(address(value)?),
            "key_variable" => self.key_variable = Some(variable(value)?),
            "max_output" => self.max_output = Some(count(value)?),
            "context_window" => self.context_window = Some(count(value)?),
            "retries" => self.retry_policy.n_retries = retries(value)?,
            "timeout" => self.retry_policy.idle = seconds(value)?,
            "total_timeout" => self.retry_policy.total = seconds(value)?,
            "price.input" => self.prices.input = price(value)?,
            "price.output" => self.prices.output = price(value)?,
            "price.cache_read" => self.prices.cache_read = price(value)?,
            "price.cache_write" => self.prices.cache_write = price(value)?,
            _ => {
                return Err("one of base_url, command, context_window, key_variable, max_output, model, price.*, \
                            retries, timeout, total_timeout and use");
            }
        }
        Ok(())
    }
}

fn text(value: Raw<'_>) -> Result<String, &'static str> {
    value.as_string().filter(|text| !text.trim().is_empty()).ok_or("a string that is not empty")
}

fn using(value: Raw<'_>) -> Result<SummarizerKind, &'static str> {
    match value.as_string().as_deref() {
        Some("extractive") => Ok(SummarizerKind::Extractive),
        Some("model") => Ok(SummarizerKind::Model),
        Some("command") => Ok(SummarizerKind::Command),
        _ => Err("one of extractive, model, command"),
    }
}

/// Reads a program and its arguments: a list, or one text that is split into words like a shell does, without running a
/// shell.
fn words(value: Raw<'_>) -> Result<Vec<String>, &'static str> {
    let expected = "a command line, or a list of a program and its arguments";
    let words = match value.shape() {
        Shape::String => shlex::split(&value.as_string().unwrap_or_default()),
        Shape::Array => value.items().map(Raw::as_string).collect(),
        _ => None,
    };
    words.filter(|words| words.first().is_some_and(|program| !program.is_empty())).ok_or(expected)
}

fn address(value: Raw<'_>) -> Result<String, &'static str> {
    let is_address = |text: &String| text.starts_with("https://") || text.starts_with("http://");
    let address = value.as_string().filter(is_address).ok_or("a URL that starts with https:// or http://")?;
    Ok(address.trim_end_matches('/').to_owned())
}

fn variable(value: Raw<'_>) -> Result<String, &'static str> {
    let is_name = |text: &String| text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_') && !text.is_empty();
    value.as_string().filter(is_name).ok_or("the name of an environment variable, never the key itself")
}

fn number(value: Raw<'_>) -> Option<f64> {
    value.as_number().filter(|number| number.is_finite())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole number in range")]
fn count(value: Raw<'_>) -> Result<u64, &'static str> {
    let is_count = |number: &f64| (1.0..=1e9).contains(number) && number.fract() == 0.0;
    number(value).filter(is_count).map(|number| number as u64).ok_or("a whole number greater than 0")
}

fn retries(value: Raw<'_>) -> Result<u32, &'static str> {
    let expected = "a whole number from 0 to 20";
    match number(value) {
        Some(0.0) => Ok(0),
        _ => count(value).ok().and_then(|count| u32::try_from(count).ok()).filter(|count| *count <= 20).ok_or(expected),
    }
}

fn seconds(value: Raw<'_>) -> Result<Duration, &'static str> {
    let in_range = |number: &f64| (0.01..=86_400.0).contains(number);
    number(value).filter(in_range).map(Duration::from_secs_f64).ok_or("a number of seconds, at most 86400")
}

fn price(value: Raw<'_>) -> Result<f64, &'static str> {
    number(value).filter(|number| *number >= 0.0).ok_or("a price in dollars per million tokens")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        let values = pairs.iter().map(|(key, value)| (*key, Raw::parse(value.as_bytes()).unwrap()));
        Settings::read(values).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read() {
        let settings = read(&[
            ("summarizer.model", r#""anthropic/claude-x""#),
            ("command", r#""sh -c 'a | b' \"c d\"""#),
            ("base_url", r#""http://127.0.0.1:1/""#),
            ("timeout", "1.5"),
            ("retries", "0"),
            ("price.output", "15"),
        ])
        .unwrap();
        assert_eq!(settings.model.as_deref(), Some("anthropic/claude-x"));
        assert_eq!(settings.command, ["sh", "-c", "a | b", "c d"]);
        assert_eq!(settings.base_url.as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!((settings.retry_policy.idle, settings.retry_policy.n_retries), (Duration::from_millis(1500), 0));
        assert!((settings.prices.output - 15.0).abs() < f64::EPSILON);
        assert_eq!(read(&[("command", r#"["a b","c"]"#)]).unwrap().command, ["a b", "c"]);
    }

    #[test]
    fn errors_name_the_key() {
        for (key, value, expected) in [
            ("use", r#""magic""#, "summarizer.use must be one of extractive, model, command"),
            (
                "command",
                r#""a 'b""#,
                "summarizer.command must be a command line, or a list of a program and its arguments",
            ),
            ("command", "[]", "summarizer.command must be a command line, or a list of a program and its arguments"),
            ("base_url", r#""ftp://x""#, "summarizer.base_url must be a URL that starts with https:// or http://"),
            (
                "key_variable",
                r#""sk-123""#,
                "summarizer.key_variable must be the name of an environment variable, never the key itself",
            ),
            ("max_output", "0.5", "summarizer.max_output must be a whole number greater than 0"),
            ("timeout", "-1", "summarizer.timeout must be a number of seconds, at most 86400"),
        ] {
            assert_eq!(read(&[(key, value)]).unwrap_err(), expected);
        }
        assert!(read(&[("modle", "1")]).unwrap_err().starts_with("summarizer.modle must be one of base_url"));
    }

    #[test]
    fn every_key_is_known() {
        for key in Settings::KEYS {
            let error = read(&[(key, "{}")]).unwrap_err();
            assert!(!error.contains("one of base_url"), "{error}");
        }
    }
}
