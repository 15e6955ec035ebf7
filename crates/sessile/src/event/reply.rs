//! The replies of handlers.

use sessile_core::EntryId;
use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::compose::BranchSummary;

/// A handler's reply to an event. Members that do not apply to the event are ignored.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Before the fact: cancel the action.
    pub cancel: bool,
    /// Before a compaction: use this one.
    pub compaction: Option<SuppliedCompaction>,
    /// Before a navigation: use this summary, if one is requested.
    pub summary: Option<BranchSummary>,
    /// Before a navigation or a compaction: what the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Before a navigation: whether the custom instructions replace the summarizer's own.
    pub replace_instructions: Option<bool>,
    /// Before a navigation: the label.
    pub label: Option<String>,
    /// After the fact: give the session this name.
    pub name: Option<String>,
}

/// A compaction supplied by a handler.
#[derive(Clone, Debug, Default)]
pub struct SuppliedCompaction {
    /// The summary, written unchanged.
    pub summary: String,
    /// The first entry to keep; `None` to keep none.
    pub first_kept_entry_id: Option<EntryId>,
    /// The tokens of the context before; `None` for the prepared number.
    pub tokens_before: Option<f64>,
    /// Any data that its author wants to store.
    pub details: Option<Json>,
    /// The cost of making it.
    pub usage: Option<Json>,
}

/// Why a value is not a valid reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// It is neither an object nor null.
    #[error("a reply must be a JSON object or null, not {found}")]
    NoObject {
        /// Its actual type.
        found: &'static str,
    },
    /// A member has the wrong type or value.
    #[error("{key} in a reply must be {expected}")]
    Member {
        /// The member.
        key: &'static str,
        /// The expected value.
        expected: &'static str,
    },
}

impl Reply {
    /// A reply that cancels the action.
    pub fn cancel() -> Self {
        Self { cancel: true, ..Self::default() }
    }

    /// Whether it requests nothing, and so counts as no reply.
    pub fn is_empty(&self) -> bool {
        !self.cancel
            && self.compaction.is_none()
            && self.summary.is_none()
            && self.custom_instructions.is_none()
            && self.replace_instructions.is_none()
            && self.label.is_none()
            && self.name.is_none()
    }

    /// Reads a reply in the format of pi's extensions; `null` and an object that requests nothing are `None`.
    pub fn from_json(json: Raw<'_>) -> Result<Option<Self>, BadReply> {
        match json.shape() {
            Shape::Null => return Ok(None),
            Shape::Object => {}
            shape => return Err(BadReply::NoObject { found: shape_word(shape) }),
        }
        let reply = Self {
            cancel: json.get("cancel").is_some_and(Raw::is_truthy),
            compaction: member(json, "compaction").map(supplied_compaction).transpose()?,
            summary: member(json, "summary").map(supplied_summary).transpose()?,
            custom_instructions: text(json, "customInstructions")?,
            replace_instructions: member(json, "replaceInstructions").map(Raw::is_truthy),
            label: text(json, "label")?,
            name: text(json, "name")?,
        };
        Ok(Some(reply).filter(|reply| !reply.is_empty()))
    }

    /// The reply as JSON.
    pub fn to_json(&self) -> Json {
        let mut json = ObjectWriter::new();
        if self.cancel {
            json.bool("cancel", true);
        }
        if let Some(compaction) = &self.compaction {
            json.raw("compaction", compaction_json(compaction).raw());
        }
        if let Some(summary) = &self.summary {
            json.raw("summary", summary_json(summary).raw());
        }
        let texts = [("customInstructions", &self.custom_instructions), ("label", &self.label), ("name", &self.name)];
        for (key, value) in texts.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?))) {
            json.string(key, value);
        }
        if let Some(replace) = self.replace_instructions {
            json.bool("replaceInstructions", replace);
        }
        json.finish()
    }
}

fn compaction_json(compaction: &SuppliedCompaction) -> Json {
    let mut json = ObjectWriter::new();
    json.string("summary", &compaction.summary);
    if let Some(id) = &compaction.first_kept_entry_id {
        json.text("firstKeptEntryId", id.as_text());
    }
    if let Some(tokens) = compaction.tokens_before {
        json.number("tokensBefore", tokens);
    }
    json.optional("usage", compaction.usage.as_ref().map(Json::raw));
    json.optional("details", compaction.details.as_ref().map(Json::raw));
    json.finish()
}

fn summary_json(summary: &BranchSummary) -> Json {
    let mut json = ObjectWriter::new();
    json.string("summary", &summary.summary);
    json.optional("details", summary.details.as_ref().map(Json::raw));
    json.optional("usage", summary.usage.as_ref().map(Json::raw));
    json.finish()
}

fn supplied_compaction(json: Raw<'_>) -> Result<SuppliedCompaction, BadReply> {
    let first_kept = member(json, "firstKeptEntryId");
    let first_kept_entry_id = match first_kept.map(Raw::as_text) {
        None => None,
        Some(Some(id)) => Some(EntryId::from(id)),
        Some(None) => return Err(BadReply::Member { key: "compaction.firstKeptEntryId", expected: "a string" }),
    };
    Ok(SuppliedCompaction {
        summary: summary_text(json, "compaction.summary")?,
        first_kept_entry_id,
        tokens_before: member(json, "tokensBefore").and_then(Raw::as_number),
        details: member(json, "details").map(Raw::to_json),
        usage: member(json, "usage").map(Raw::to_json),
    })
}

fn supplied_summary(json: Raw<'_>) -> Result<BranchSummary, BadReply> {
    Ok(BranchSummary {
        summary: summary_text(json, "summary.summary")?,
        details: member(json, "details").map(Raw::to_json),
        from_hook: None,
        usage: member(json, "usage").map(Raw::to_json),
    })
}

/// The text of a summary. A blank one is refused, because it would replace everything before it.
fn summary_text(json: Raw<'_>, key: &'static str) -> Result<String, BadReply> {
    let summary = json.get("summary").and_then(Raw::as_string).filter(|summary| !summary.trim().is_empty());
    summary.ok_or(BadReply::Member { key, expected: "a string that is not blank" })
}

fn text(json: Raw<'_>, key: &'static str) -> Result<Option<String>, BadReply> {
    let Some(value) = member(json, key) else { return Ok(None) };
    value.as_string().map(Some).ok_or(BadReply::Member { key, expected: "a string" })
}

/// A member that exists and is not null.
fn member<'j>(json: Raw<'j>, key: &str) -> Option<Raw<'j>> {
    json.get(key).filter(|value| !value.is_null())
}

fn shape_word(shape: Shape) -> &'static str {
    match shape {
        Shape::Null => "null",
        Shape::Array => "an array",
        Shape::String => "a string",
        Shape::Number => "a number",
        Shape::Bool => "a boolean",
        Shape::Object => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<String>, String> {
        let reply = Reply::from_json(Raw::parse(text.as_bytes()).unwrap()).map_err(|error| error.to_string())?;
        Ok(reply.map(|reply| reply.to_json().to_text().into_owned()))
    }

    #[test]
    fn replies_are_read_as_pi_reads_them() {
        for same in [
            r#"{"cancel":true}"#,
            r#"{"compaction":{"summary":"s","firstKeptEntryId":"a","tokensBefore":5,"usage":{},"details":[1]}}"#,
            r#"{"summary":{"summary":"s","details":{"x":1}},"customInstructions":"i","label":"l","name":"n","replaceInstructions":false}"#,
        ] {
            assert_eq!(read(same), Ok(Some(same.to_owned())));
        }
        for nothing in ["null", "{}", r#"{"cancel":false}"#, r#"{"other":1}"#, r#"{"label":null}"#] {
            assert_eq!(read(nothing), Ok(None), "{nothing}");
        }
        assert_eq!(read(r#"{"cancel":"yes"}"#), Ok(Some(r#"{"cancel":true}"#.to_owned())));
    }

    #[test]
    fn an_invalid_reply_is_refused_with_its_position() {
        for (text, error) in [
            ("[]", "a reply must be a JSON object or null, not an array"),
            ("1", "a reply must be a JSON object or null, not a number"),
            (r#"{"label":5}"#, "label in a reply must be a string"),
            (r#"{"compaction":{}}"#, "compaction.summary in a reply must be a string that is not blank"),
            (r#"{"compaction":{"summary":" "}}"#, "compaction.summary in a reply must be a string that is not blank"),
            (
                r#"{"compaction":{"summary":"s","firstKeptEntryId":1}}"#,
                "compaction.firstKeptEntryId in a reply must be a string",
            ),
            (r#"{"summary":"s"}"#, "summary.summary in a reply must be a string that is not blank"),
        ] {
            assert_eq!(read(text), Err(error.to_owned()), "{text}");
        }
    }
}
