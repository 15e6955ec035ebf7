//! Filters documents by properties other than their text.

use super::texts::{Document, DocumentKind};
use crate::date::Timestamp;

/// Required properties of a document. Unset fields admit everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The allowed kinds; empty for all.
    pub kinds: Vec<DocumentKind>,
    /// A tool that it calls, or whose result it is: the full name, in any case.
    pub tool: Option<String>,
    /// Part of the name of the model that wrote it, including the provider: `anthropic/claude-opus`, or `opus`.
    pub model: Option<String>,
    /// The earliest time. Compared in whole seconds.
    pub since: Option<Timestamp>,
    /// The latest time. Compared in whole seconds.
    pub until: Option<Timestamp>,
}

impl Filter {
    /// Whether documents of this kind, given by its code, pass.
    pub fn admits_kind(&self, code: u8) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.code() == code)
    }

    /// The allowed range of times in seconds. A document without a time passes only if no time is required.
    pub fn seconds(&self) -> std::ops::RangeInclusive<u32> {
        let to_seconds = |time: Option<Timestamp>| time.map(|time| super::score::seconds(Some(time)));
        let least = u32::from(self.since.is_some() || self.until.is_some());
        to_seconds(self.since).unwrap_or(0).max(least)..=to_seconds(self.until).unwrap_or(u32::MAX)
    }

    /// Whether this is the required tool.
    pub fn is_tool(&self, name: &str) -> bool {
        self.tool.as_ref().is_some_and(|tool| tag(tool) == tag(name))
    }

    /// Whether this is a required model.
    pub fn is_model(&self, name: &str) -> bool {
        self.model.as_ref().is_some_and(|model| tag(name).contains(&tag(model)))
    }

    /// Whether a document passes, given whether one of its tools and its model match.
    pub fn admits(&self, document: Document, has_tool: bool, has_model: bool) -> bool {
        self.admits_kind(document.kind.code())
            && (self.tool.is_none() || has_tool)
            && (self.model.is_none() || has_model)
            && self.seconds().contains(&super::score::seconds(document.time))
    }
}

/// The normalised name of a tool or model for comparison: in lower case, and of limited length.
pub fn tag(name: &str) -> String {
    let name = name.to_lowercase();
    name.get(..name.floor_char_boundary(200)).unwrap_or_default().to_owned()
}
