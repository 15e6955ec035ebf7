//! Model providers: their addresses, keys and protocols.

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Anthropic,
    OpenAi,
    Gemini,
    Ollama,
}

/// A provider of models.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name before the slash in `provider/model`.
    pub name: &'static str,
    /// The usual address of its API.
    pub base_url: &'static str,
    /// The environment variables that may hold its key; the first one that is set counts. Empty if it needs no key.
    pub key_variables: &'static [&'static str],
    pub(crate) protocol: Protocol,
}

const fn openai(name: &'static str, base_url: &'static str, key_variables: &'static [&'static str]) -> Provider {
    Provider { name, base_url, key_variables, protocol: Protocol::OpenAi }
}

const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        protocol: Protocol::Anthropic,
    },
    openai("openai", "https://api.openai.com/v1", &["OPENAI_API_KEY"]),
    Provider {
        name: "google",
        base_url: "https://generativelanguage.googleapis.com",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        protocol: Protocol::Gemini,
    },
    Provider {
        name: "gemini",
        base_url: "https://generativelanguage.googleapis.com",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        protocol: Protocol::Gemini,
    },
    Provider { name: "ollama", base_url: "http://127.0.0.1:11434", key_variables: &[], protocol: Protocol::Ollama },
    openai("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"]),
    openai("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    openai("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    openai("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    openai("xai", "https://api.x.ai/v1", &["XAI_API_KEY"]),
    openai("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"]),
    // Any server that speaks OpenAI's protocol: vLLM, llama.cpp, LM Studio and the like, at `base_url`.
    openai("compatible", "http://127.0.0.1:8000/v1", &[]),
];

impl Provider {
    /// Returns all known providers.
    pub fn all() -> &'static [Self] {
        PROVIDERS
    }

    /// Returns the provider with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }
}

/// Returns the address in `OLLAMA_HOST`, which may lack a scheme or a port and may be a listen address.
pub(crate) fn ollama_address(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let address = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let address = address.replace("//0.0.0.0", "//127.0.0.1");
    let has_port = address.rsplit_once("//").is_some_and(|(_, rest)| rest.contains(':'));
    if has_port { address } else { format!("{address}:11434") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ollama_address_comes_from_its_variable() {
        for (host, expected) in [
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("gpu:8080", "http://gpu:8080"),
            ("https://ollama.example/", "https://ollama.example:11434"),
        ] {
            assert_eq!(ollama_address(host), expected);
        }
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<&str> = Provider::all().iter().map(|provider| provider.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Provider::all().len());
    }
}
