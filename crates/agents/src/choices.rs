//! The choices of an import, which later imports of the same session keep.

use sessile_core::json::{Json, ObjectWriter, Raw};

use crate::agent::Agent;
use crate::foreign::{ForeignSession, Losses};

/// What an import brings along besides the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportChoices {
    /// Whether the text of the agent's program goes to the model.
    pub with_context: bool,
    /// Whether thoughts keep their signatures, and signed answers count as those of pi's own provider.
    pub keep_signatures: bool,
    /// The model that pi goes on with.
    pub model: Option<ModelChoice>,
}

/// A model of pi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider.
    pub provider: String,
    /// The provider's id of the model.
    pub id: String,
}

impl ModelChoice {
    /// The model of a text such as `anthropic/claude-sonnet-5`. The provider ends at the first slash.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, id) = text.split_once('/')?;
        let is_name =
            |name: &str| !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || char.is_control());
        (is_name(provider) && is_name(id)).then(|| Self { provider: provider.to_owned(), id: id.to_owned() })
    }

    /// The text that [`parse`](Self::parse) reads.
    pub fn text(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

impl ImportChoices {
    /// Whether nothing was chosen.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a session with these choices has everything that another import asks for. What that import does not
    /// mention counts as chosen.
    pub fn include(&self, asked: &Self) -> bool {
        (self.with_context || !asked.with_context)
            && (self.keep_signatures || !asked.keep_signatures)
            && (asked.model.is_none() || self.model == asked.model)
    }

    /// These choices, and those of the session that a sub-agent belongs to.
    #[must_use]
    pub fn joined(&self, parent: &Self) -> Self {
        Self {
            with_context: self.with_context || parent.with_context,
            keep_signatures: self.keep_signatures || parent.keep_signatures,
            model: self.model.clone().or_else(|| parent.model.clone()),
        }
    }

    /// What an import with these choices does not keep of a session.
    pub fn losses(&self, session: &ForeignSession) -> Losses {
        let mut losses = session.losses.clone();
        if self.keep_signatures && matches!(session.agent, Agent::Claude | Agent::Codex) {
            for kind in ["signatures", "hidden thoughts", "encrypted thoughts"] {
                losses.remove(kind);
            }
        }
        losses
    }

    /// The choices as JSON: `{withContext?, keepSignatures?, model?}`.
    pub fn to_json(&self) -> Json {
        let mut object = ObjectWriter::new();
        if self.with_context {
            object.bool("withContext", true);
        }
        if self.keep_signatures {
            object.bool("keepSignatures", true);
        }
        if let Some(model) = &self.model {
            object.string("model", &model.text());
        }
        object.finish()
    }

    /// The choices in the entry that says where a session comes from.
    pub(crate) fn of_line(line: &[u8]) -> Self {
        let data = Raw::parse(line).ok().and_then(|line| line.get("data"));
        let choices = data.and_then(|data| data.get("choices")).unwrap_or(Raw::NULL);
        let [context, signatures, model] = choices.pick(["withContext", "keepSignatures", "model"]);
        Self {
            with_context: context.and_then(Raw::as_bool) == Some(true),
            keep_signatures: signatures.and_then(Raw::as_bool) == Some(true),
            model: model.and_then(Raw::as_string).and_then(|model| ModelChoice::parse(&model)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_a_provider_and_an_id() {
        let model = ModelChoice::parse("openrouter/qwen/qwen3").unwrap();
        assert_eq!((model.provider.as_str(), model.id.as_str()), ("openrouter", "qwen/qwen3"));
        for bad in ["", "claude", "/claude", "anthropic/", "anthropic/a b", "a\u{1b}/b"] {
            assert_eq!(ModelChoice::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn an_entry_keeps_the_choices() {
        let model = ModelChoice::parse("a/b");
        let chosen = ImportChoices { with_context: true, keep_signatures: true, model };
        let line = format!(r#"{{"data":{{"choices":{}}}}}"#, chosen.to_json().raw().to_text());
        assert_eq!(ImportChoices::of_line(line.as_bytes()), chosen);
        assert_eq!(ImportChoices::of_line(b"{}"), ImportChoices::default());
        assert!(chosen.include(&ImportChoices::default()) && !ImportChoices::default().include(&chosen));
    }
}
