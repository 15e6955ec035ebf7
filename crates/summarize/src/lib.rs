//! Summarizers: rules that work offline, the user's own command, or a language model.
//!
//! Everything here implements [`Summarizer`](sessile_core::compaction::Summarizer), which the crate `sessile` calls
//! `sessile::compaction::Summarizer`, and blocks until it is done or cancelled. Nothing here touches a session.
//!
//! - [`Extractive`] extracts a summary by rules, without a model.
//! - [`Command`] runs a program: JSON in, JSON out.
//! - `Model` (feature `models`) asks Anthropic, `OpenAI` and compatible servers, Gemini or Ollama over HTTP.
//! - [`Settings`] is the `summarizer` table of the user's `config.toml`, and [`choose()`] creates a summarizer from it.
//!
//! All traffic over a network or a pipe is bounded in time and size. Keys come from environment variables only, and no
//! message contains one.
//!
//! ```
//! # use sessile_core as sessile;
//! use sessile::compaction::{Generator, Summarizer};
//! use sessile_summarize::{Settings, choose};
//!
//! let settings = Settings::default();
//! let offline = choose(&settings, None, &|_| None)?;
//! assert_eq!(offline.generator(), Generator::Extractive);
//! # Ok::<(), sessile::compaction::SummaryFailure>(())
//! ```

mod choose;
mod command;
mod extractive;
mod failure;
#[cfg(feature = "models")]
mod model;
mod prompt;
mod settings;
mod usage;

pub use choose::{AnySummarizer, choose};
pub use command::Command;
pub use extractive::Extractive;
#[cfg(feature = "models")]
pub use model::{Model, Provider};
pub use prompt::Prompt;
pub use settings::{Prices, RetryPolicy, Settings, SettingsError, SummarizerKind};
