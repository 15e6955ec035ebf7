//! The overview of a session, and answers about an agent that is not there.

use sessile::json::{Json, ObjectWriter, Raw};
use sessile::{SessionError, SessionManager};

use super::{count, object, put_list, put_path, put_string, saturating_i64};

/// The parts of [`state`] that are read from the session, each as members with a comma at the end. They are kept until
/// the session changes.
pub(crate) struct CachedState {
    /// Model and thinking level.
    head: Vec<u8>,
    /// File, id and name.
    files: Vec<u8>,
    /// Numbers of messages, without a comma.
    counts: Vec<u8>,
}

impl CachedState {
    /// Reads the parts from a session.
    pub(crate) fn of(
        session: &SessionManager,
        model: Option<&Json>,
        thinking_level: &str,
    ) -> Result<Self, SessionError> {
        let name = session.session_name()?;
        let n_messages = session.message_count()?;
        let head = members(|out| {
            out.optional("model", model.map(Json::raw)).string("thinkingLevel", thinking_level);
        });
        let files = members(|out| {
            put_path(out, "sessionFile", session.session_file());
            out.string("sessionId", session.session_id().as_str());
            put_string(out, "sessionName", name.as_deref());
        });
        let mut counts = members(|out| {
            out.integer("messageCount", count(n_messages)).integer("pendingMessageCount", 0);
        });
        counts.pop();
        Ok(Self { head, files, counts })
    }
}

/// Returns the members of an object, followed by a comma.
fn members(write: impl FnOnce(&mut ObjectWriter)) -> Vec<u8> {
    let mut text = object(write).into_bytes();
    text.remove(0);
    text.pop();
    text.push(b',');
    text
}

/// The answer of pi's `get_state`, as JSON text. Values that change without the session are inserted between the kept
/// parts; the order is pi's.
pub(crate) fn state(
    cached_state: &CachedState,
    is_compacting: bool,
    (steering, follow_up): (&str, &str),
    auto_compacts: bool,
) -> Vec<u8> {
    let middle = members(|out| {
        out.bool("isStreaming", false)
            .bool("isCompacting", is_compacting)
            .string("steeringMode", steering)
            .string("followUpMode", follow_up);
    });
    let end = members(|out| {
        out.bool("autoCompactionEnabled", auto_compacts);
    });
    [b"{", cached_state.head.as_slice(), &middle, &cached_state.files, &end, &cached_state.counts, b"}"].concat()
}

/// What is known about a model besides its provider and id.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelFacts<'f> {
    /// Its description, in the form of pi's models.
    pub known: Option<&'f Json>,
    /// The API through which it answered, if there is no description.
    pub api: Option<&'f str>,
    /// Its context window in tokens, whatever the description says.
    pub context_window: Option<u64>,
}

/// A model, with pi's members in pi's order: `{id, name, api?, provider, baseUrl?, reasoning?, thinkingLevelMap?, input?,
/// inputLimits?, cost?, promptCache?, contextWindow?, maxTokens?}`. A model without a name is called by its id, as in pi.
pub fn model(provider: &str, id: &str, facts: &ModelFacts<'_>) -> Json {
    let known = |key: &str| facts.known.and_then(|known| known.raw().get(key));
    object(|out| {
        out.string("id", id);
        out.string("name", &known("name").and_then(Raw::as_string).unwrap_or_else(|| id.to_owned()));
        put_string(out, "api", known("api").and_then(Raw::as_string).as_deref().or(facts.api));
        out.string("provider", provider);
        for key in ["baseUrl", "reasoning", "thinkingLevelMap", "input", "inputLimits", "cost", "promptCache"] {
            out.optional(key, known(key));
        }
        match facts.context_window {
            Some(window) => out.integer("contextWindow", saturating_i64(window)),
            None => out.optional("contextWindow", known("contextWindow")),
        };
        out.optional("maxTokens", known("maxTokens"));
    })
}

/// The answer of pi's `get_available_models`: the session's own model, or none: `{models}`.
pub fn models(model: Option<&Json>) -> Json {
    object(|out| {
        out.array("models", model.map(Json::raw));
    })
}

/// The answer of pi's `get_available_thinking_levels`: `{levels}`.
pub fn thinking_levels(levels: &[&str]) -> Json {
    object(|out| put_list(out, "levels", levels.iter().map(|level| Json::string(level))))
}

/// The answer of pi's `cycle_thinking_level`: `{level}`.
pub fn thinking_level(level: &str) -> Json {
    object(|out| {
        out.string("level", level);
    })
}

/// The answer of pi's `clear_queue`; without an agent, the queues are empty: `{steering, followUp}`.
pub fn no_queues() -> Json {
    object(|out| {
        out.array("steering", []).array("followUp", []);
    })
}

/// The answer of pi's `get_commands`; without an agent, there are none: `{commands}`.
pub fn no_commands() -> Json {
    object(|out| {
        out.array("commands", []);
    })
}

#[cfg(test)]
mod tests {
    use sessile::date::Timestamp;
    use sessile::{NewSession, Sessions, draft};

    use super::*;
    use crate::catalogue::Command;

    #[test]
    fn the_state_has_pi_s_order() {
        let sessions = Sessions::default().caching(None);
        let new = NewSession { id: Some("s".to_owned().into()), parent_session: None };
        let mut session = sessions.in_memory("/proj/x", new).unwrap();
        session.append_message(draft::UserMessage::new("one", Timestamp::from_ms(1))).unwrap();
        let text = |model: Option<&Json>| {
            let cached_state = CachedState::of(&session, model, "off").unwrap();
            let text = state(&cached_state, false, ("all", "one-at-a-time"), true);
            let data = Command::of("get_state").unwrap().data.unwrap();
            assert!(data.admits(Json::parse(&text).unwrap().raw()));
            String::from_utf8(text).unwrap()
        };
        let rest = r#""thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"one-at-a-time","sessionId":"s","autoCompactionEnabled":true,"messageCount":1,"pendingMessageCount":0}"#;
        assert_eq!(text(None), format!("{{{rest}"));
        let facts = ModelFacts { api: Some("a"), context_window: Some(9), known: None };
        let named = r#"{"id":"m","name":"m","api":"a","provider":"p","contextWindow":9}"#;
        assert_eq!(text(Some(&model("p", "m", &facts))), format!(r#"{{"model":{named},{rest}"#));
    }

    #[test]
    fn a_known_model_has_pi_s_members_in_pi_s_order_and_no_secrets() {
        let known = r#"{"maxTokens":5,"headers":{"x-key":"k"},"contextWindow":4,"cost":{"input":1},"input":["text"],"reasoning":true,"baseUrl":"u","provider":"x","api":"b","name":"N","id":"x"}"#;
        let known = Json::parse(known).unwrap();
        let facts = ModelFacts { known: Some(&known), ..ModelFacts::default() };
        let expected = r#"{"id":"m","name":"N","api":"b","provider":"p","baseUrl":"u","reasoning":true,"input":["text"],"cost":{"input":1},"contextWindow":4,"maxTokens":5}"#;
        assert_eq!(model("p", "m", &facts).to_text(), expected);
        let facts = ModelFacts { context_window: Some(9), ..facts };
        assert_eq!(model("p", "m", &facts).to_text(), expected.replace("\"contextWindow\":4", "\"contextWindow\":9"));
    }
}
