//! The model of a session: the one that its entries name, with everything that is known about it.

use sessile::SessionManager;
use sessile::json::{Json, Raw};

use crate::answer;
use crate::failure::Failure;
use crate::server::Server;

/// pi's thinking levels.
pub const THINKING_LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The levels that a model has only if its description names them.
const RARE_LEVELS: [&str; 2] = ["xhigh", "max"];

/// A model as answers show it.
pub(crate) struct SessionModel(Json);

impl SessionModel {
    /// Returns the model of a session. A session that names none uses the one that the server was started with.
    pub(crate) fn of(server: &Server, manager: &SessionManager) -> Result<Option<Self>, Failure> {
        let named = manager.context_settings()?.model;
        let named = named.and_then(|model| model.provider_name().zip(model.model_name()));
        let Some((provider, id)) = named.or_else(|| server.options.model.clone()) else { return Ok(None) };
        Self::named(server, manager, &provider, &id).map(Some)
    }

    /// Returns a model that a session uses, or is about to use.
    pub(crate) fn named(server: &Server, manager: &SessionManager, provider: &str, id: &str) -> Result<Self, Failure> {
        let known = server.known_model(provider, id);
        let api = if known.is_some() { None } else { manager.model_api(provider, id)? };
        let facts = answer::ModelFacts {
            known: known.as_ref(),
            api: api.as_deref(),
            context_window: server.options.context_window,
        };
        Ok(Self(answer::model(provider, id, &facts)))
    }

    pub(crate) fn json(&self) -> &Json {
        &self.0
    }

    /// Returns the size of the context window in tokens, if it is known.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only positive numbers get here")]
    pub(crate) fn context_window(&self) -> Option<u64> {
        let window = self.0.raw().get("contextWindow").and_then(Raw::as_number);
        window.filter(|window| *window >= 1.0).map(|window| window as u64)
    }

    /// Whether the model is known to think.
    pub(crate) fn thinks(&self) -> bool {
        self.reasoning() == Some(true)
    }

    fn reasoning(&self) -> Option<bool> {
        self.0.raw().get("reasoning").map(Raw::is_truthy)
    }

    /// Returns the thinking levels of the model, as pi does. If nothing is known about it, all levels.
    pub(crate) fn levels(&self) -> Vec<&'static str> {
        match self.reasoning() {
            None => THINKING_LEVELS.to_vec(),
            Some(false) => vec!["off"],
            Some(true) => {
                let mapped = self.0.raw().get("thinkingLevelMap");
                let has = |level: &&str| match mapped.and_then(|mapped| mapped.get(level)) {
                    Some(value) => !value.is_null(),
                    None => !RARE_LEVELS.contains(level),
                };
                THINKING_LEVELS.into_iter().filter(has).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_levels_that_its_description_allows() {
        let levels = |text: &str| SessionModel(Json::parse(text).unwrap()).levels().join(" ");
        assert_eq!(levels("{}"), "off minimal low medium high xhigh max");
        assert_eq!(levels(r#"{"reasoning":false}"#), "off");
        assert_eq!(levels(r#"{"reasoning":true}"#), "off minimal low medium high");
        let mapped = r#"{"reasoning":true,"thinkingLevelMap":{"off":null,"low":"little","max":"all"}}"#;
        assert_eq!(levels(mapped), "minimal low medium high max");
    }

    #[test]
    fn a_window_is_a_positive_number() {
        let window = |text: &str| SessionModel(Json::parse(text).unwrap()).context_window();
        assert_eq!(window(r#"{"contextWindow":200000}"#), Some(200_000));
        assert_eq!(window(r#"{"contextWindow":-1}"#), None);
        assert_eq!(window(r#"{"contextWindow":"many"}"#), None);
    }
}
