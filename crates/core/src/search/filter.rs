//! Which documents are let pass, whatever they say.

use super::texts::{Document, DocumentKind};

/// What a document must be. What is not asked for lets everything pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The kinds it may be of; empty for all.
    pub kinds: Vec<DocumentKind>,
    /// A tool it calls or answers for, by its whole name, whatever the case.
    pub tool: Option<String>,
    /// A part of the name of the model that wrote it, with its provider: `anthropic/claude-opus`, or `opus`.
    pub model: Option<String>,
    /// When it was written at the earliest, in milliseconds; counts in whole seconds.
    pub since: Option<i64>,
    /// When it was written at the latest, in milliseconds; counts in whole seconds.
    pub until: Option<i64>,
}

impl Filter {
    /// Whether a document of this kind, by its number, may pass.
    pub fn admits_kind(&self, code: u8) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.code() == code)
    }

    /// The seconds between which a document must have been written; one without a time passes only if none is asked for.
    pub fn seconds(&self) -> std::ops::RangeInclusive<u32> {
        let to_seconds = |time: Option<i64>| time.map(|time| super::score::seconds(Some(time)));
        let least = u32::from(self.since.is_some() || self.until.is_some());
        to_seconds(self.since).unwrap_or(0).max(least)..=to_seconds(self.until).unwrap_or(u32::MAX)
    }

    /// Whether this is the tool that is asked for.
    pub fn is_tool(&self, name: &str) -> bool {
        self.tool.as_ref().is_some_and(|tool| tag(tool) == tag(name))
    }

    /// Whether this is a model that is asked for.
    pub fn is_model(&self, name: &str) -> bool {
        self.model.as_ref().is_some_and(|model| tag(name).contains(&tag(model)))
    }

    /// Whether a document passes, given whether one of its tools and its model are asked for.
    pub fn admits(&self, document: Document, has_tool: bool, has_model: bool) -> bool {
        self.admits_kind(document.kind.code())
            && (self.tool.is_none() || has_tool)
            && (self.model.is_none() || has_model)
            && self.seconds().contains(&super::score::seconds(document.time))
    }
}

/// A name of a tool or a model as it is compared: in lower case, and not without end.
pub fn tag(name: &str) -> String {
    let name = name.to_lowercase();
    name.get(..name.floor_char_boundary(200)).unwrap_or_default().to_owned()
}
