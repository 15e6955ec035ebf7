//! A question, and the model to ask.

use sessile_core::json::Json;

use super::provider::Provider;
use super::secret::Secret;
use crate::prompt::Prompt;

/// Upper bound on an answer, in tokens, where the protocol requires one and none is set.
pub(super) const USUAL_OUTPUT: u64 = 8192;

/// A question and the model to ask.
#[derive(Debug)]
pub(super) struct Question<'q> {
    pub(super) provider: &'static Provider,
    pub(super) model: &'q str,
    pub(super) base_url: &'q str,
    pub(super) key: Option<&'q Secret>,
    pub(super) prompt: &'q Prompt,
    pub(super) max_output: Option<u64>,
    pub(super) context_window: u64,
}

impl Question<'_> {
    /// Removes the key from a text.
    pub(super) fn without_key(&self, text: &str) -> String {
        self.key.map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }

    /// Returns the key as a bearer token header, as most providers expect it.
    pub(super) fn bearer(&self) -> Vec<(&'static str, String)> {
        self.key.iter().map(|key| ("authorization", format!("Bearer {}", key.reveal()))).collect()
    }
}

/// Path, headers and body of a request.
pub(super) type Parts = (String, Vec<(&'static str, String)>, Json);
