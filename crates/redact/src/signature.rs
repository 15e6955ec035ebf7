//! Signatures of providers: what they seal, and what they hold in clear.

use sessile_core::json::{Json, Raw};

/// How the APIs of providers treat thoughts and their signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// The signature is a seal over the text of the thought.
    Sealed,
    /// The signature is the whole reasoning item as JSON. Calls name items of the same answer.
    Responses,
    /// The signature is the name of a field, or details as JSON.
    Completions,
    /// Thoughts, texts and calls have a signature each.
    Google,
    /// Another API, or none.
    Unknown,
}

impl Family {
    /// The family of a message's `api`.
    pub(crate) fn of(api: Option<Raw<'_>>) -> Self {
        let api = api.and_then(Raw::as_string).unwrap_or_default();
        match api.as_str() {
            "openai-completions" => Self::Completions,
            "anthropic-messages" => Self::Sealed,
            api if api.starts_with("bedrock") => Self::Sealed,
            api if api.starts_with("google-") => Self::Google,
            api if api.ends_with("-responses") => Self::Responses,
            _ => Self::Unknown,
        }
    }
}

/// What a signature holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Signature {
    /// An array or object with texts in clear.
    Items(Json),
    /// A name, an id or encoded bytes.
    Opaque,
    /// Anything else. It counts as text.
    Text,
}

impl Signature {
    /// Looks at a signature.
    pub(crate) fn of(text: &str) -> Self {
        if text.trim_start().starts_with(['{', '['])
            && let Ok(items) = Json::parse(text)
        {
            return Self::Items(items);
        }
        let is_opaque = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
        if text.bytes().all(is_opaque) { Self::Opaque } else { Self::Text }
    }
}

/// The part of a call's id before the item that it names: `call_1` of `call_1|fc_2`. `None` if it names none.
pub(crate) fn without_item(id: &str) -> Option<&str> {
    let at = id.find("|fc_").or_else(|| id.find("|ctc_"))?;
    id.get(..at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_have_families() {
        for (api, family) in [
            ("anthropic-messages", Family::Sealed),
            ("bedrock-converse-stream", Family::Sealed),
            ("openai-responses", Family::Responses),
            ("azure-openai-responses", Family::Responses),
            ("openai-codex-responses", Family::Responses),
            ("openai-completions", Family::Completions),
            ("google-generative-ai", Family::Google),
            ("google-vertex", Family::Google),
            ("else", Family::Unknown),
        ] {
            assert_eq!(Family::of(Some(Json::string(api).raw())), family, "{api}");
        }
        assert_eq!(Family::of(None), Family::Unknown);
    }

    #[test]
    fn signatures_are_told_apart() {
        assert!(matches!(Signature::of(r#"{"id":"rs_1"}"#), Signature::Items(_)));
        assert!(matches!(Signature::of(r#"[{"text":"x"}]"#), Signature::Items(_)));
        assert_eq!(Signature::of("reasoning_content"), Signature::Opaque);
        assert_eq!(Signature::of("Eq+/_-8="), Signature::Opaque);
        assert_eq!(Signature::of("{torn"), Signature::Text);
        assert_eq!(Signature::of("a b"), Signature::Text);
    }

    #[test]
    fn items_are_cut_from_ids() {
        assert_eq!(without_item("call_1|fc_2"), Some("call_1"));
        assert_eq!(without_item("call_1|ctc_2"), Some("call_1"));
        assert_eq!(without_item("call_1"), None);
        assert_eq!(without_item("toolu_1|x"), None);
    }
}
