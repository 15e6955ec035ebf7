//! Spans of time given by the user.

use clap::Args;
use clap::error::ErrorKind;
use sessile::date::{TimeRange, Timestamp};

use crate::environment::CommandEnvironment;
use crate::failure::Failure;

/// A span of time.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SpanArgs {
    /// Include only items from this time on: 2h, 3d, 1w, yesterday, last-week, 2026-01-31, 2026-01-31T12:00
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,

    /// Include only items up to this time, in the same forms; a date includes the whole day
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

impl SpanArgs {
    /// Returns whether the span has a start or an end.
    pub(crate) fn is_limited(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Returns the first millisecond.
    pub(crate) fn since(&self, env: &CommandEnvironment) -> Result<Option<Timestamp>, Failure> {
        Ok(time(self.since.as_deref(), env)?.map(|when| when.from))
    }

    /// Returns the last millisecond.
    pub(crate) fn until(&self, env: &CommandEnvironment) -> Result<Option<Timestamp>, Failure> {
        Ok(time(self.until.as_deref(), env)?.map(|when| when.to))
    }
}

/// Parses a time given by the user.
pub(crate) fn time(text: Option<&str>, env: &CommandEnvironment) -> Result<Option<TimeRange>, Failure> {
    let read = |text: &str| env.parse_time(text).ok_or_else(|| not_a_time(text));
    text.map(read).transpose()
}

fn not_a_time(text: &str) -> Failure {
    let message =
        format!("{text:?} is not a time; use e.g. 2h, 3d, 1w, yesterday, last-week, 2026-01-31 or 2026-01-31T12:00");
    Failure::misuse(ErrorKind::ValueValidation, message)
}
