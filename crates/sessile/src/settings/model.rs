//! What pi knows about a model: the user's own `models.json`, and the catalogue that pi has downloaded.
//!
//! The models that pi was built with are not in these files. Keys and headers are not read.

use std::path::{Path, PathBuf};

use sessile_core::json::{Json, ObjectWriter, Raw, print};
use sessile_core::line::BOM;
use sessile_store::os::Os;

use super::{pi, read_if_there};
use crate::directory::{absolute, agent_dir};
use crate::environment::Environment;

/// The members of a model that say what it can do and what it costs, in pi's order.
const MEMBERS: [&str; 13] = [
    "id",
    "name",
    "api",
    "provider",
    "baseUrl",
    "reasoning",
    "thinkingLevelMap",
    "input",
    "inputLimits",
    "cost",
    "promptCache",
    "contextWindow",
    "maxTokens",
];

/// What pi assumes about a model in `models.json` that does not say.
const DEFAULTS: &str = r#"{"reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":128000,"maxTokens":16384}"#;

/// Returns the model of a new session in pi, as provider and id: the default in pi's settings, else the first model in
/// `models.json`.
pub fn pi_default_model(environment: &dyn Environment, os: &dyn Os) -> Option<(String, String)> {
    let set = |key| pi::text(environment, os, key);
    set("defaultProvider").zip(set("defaultModel")).or_else(|| {
        let config = read(os, &models_dir(environment).join("models.json"))?;
        config.raw().get("providers")?.properties().into_iter().find_map(|(provider, config)| {
            let id = config.get("models")?.items().find_map(|model| model.get("id")?.as_string())?;
            Some((provider.to_str().into_owned(), id))
        })
    })
}

/// The directory of pi's files about models.
fn models_dir(environment: &dyn Environment) -> PathBuf {
    absolute(environment, &agent_dir(environment))
}

/// Returns what pi's files say about a model, as pi prints it; none if they do not have it.
pub fn pi_model(environment: &dyn Environment, os: &dyn Os, provider: &str, id: &str) -> Option<Json> {
    let dir = models_dir(environment);
    let stored = read(os, &dir.join("models-store.json"));
    let stored = stored.as_ref().and_then(|file| file.raw().get(provider)?.get("models"));
    let stored = stored.and_then(|models| models.items().find(|model| is(*model, "id", id)));
    let config = read(os, &dir.join("models.json"));
    let config = config.as_ref().and_then(|file| file.raw().get("providers")?.get(provider));
    let own = config.and_then(|config| config.get("models")?.items().filter(|model| is(*model, "id", id)).last());
    let changes = config.and_then(|config| config.get("modelOverrides")?.get(id));
    let defaults = Json::parse(DEFAULTS).ok()?;
    // The first that has a member wins. A model in models.json replaces the one in the catalogue.
    let layers: &[Option<Raw<'_>>] = match own {
        Some(_) => &[own, Some(defaults.raw())],
        None if stored.is_some() || changes.is_some() => &[changes, stored],
        None => return None,
    };
    let mut model = ObjectWriter::new();
    for name in MEMBERS {
        let value = layers.iter().flatten().find_map(|layer| layer.get(name));
        let of_provider = || [config, stored].into_iter().flatten().find_map(|layer| layer.get(name));
        match name {
            "id" => model.string(name, id),
            "provider" => model.string(name, provider),
            "name" if value.is_none() => model.string(name, id),
            "api" => model.optional(name, value.or_else(of_provider).map(print).as_ref().map(Json::raw)),
            // A base URL of the provider applies to the models of the catalogue too.
            "baseUrl" => {
                let url = own.and_then(|own| own.get(name)).or_else(of_provider);
                model.optional(name, url.map(print).as_ref().map(Json::raw))
            }
            _ => {
                let below = changes.filter(|_| own.is_none()).and(stored).and_then(|stored| stored.get(name));
                model.optional(name, value.map(|value| merged(below, value)).as_ref().map(Json::raw))
            }
        };
    }
    Some(model.finish())
}

/// Returns a value, with the members of the one below it that it does not have.
fn merged(below: Option<Raw<'_>>, value: Raw<'_>) -> Json {
    let Some(below) = below.filter(|below| below.members().next().is_some() && value.members().next().is_some()) else {
        return print(value);
    };
    let mut object = ObjectWriter::new();
    for (key, value) in below.properties().into_iter().chain(value.properties()) {
        object.member(&key, value);
    }
    // Printing keeps the last value of each key, at its first place.
    print(object.finish().raw())
}

fn is(object: Raw<'_>, key: &str, text: &str) -> bool {
    object.get(key).and_then(Raw::as_text).is_some_and(|found| found == text)
}

/// The content of a file, without comments and trailing commas; `None` if it is not there or is not JSON.
fn read(os: &dyn Os, path: &Path) -> Option<Json> {
    let bytes = read_if_there(os, path).ok()??;
    Json::parse(without_comments(bytes.strip_prefix(BOM).unwrap_or(&bytes))).ok()
}

/// Removes `//` comments, and commas before a closing bracket.
fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    // The last comma, if only white space follows it.
    let mut comma = None;
    let mut rest = text;
    while let Some(byte) = rest.first().copied() {
        if rest.starts_with(b"//") {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            rest = &rest[end..];
            continue;
        }
        if let (b'}' | b']', Some(comma)) = (byte, comma) {
            out[comma] = b' ';
        }
        if !byte.is_ascii_whitespace() {
            comma = (byte == b',').then_some(out.len());
        }
        let (token, later) = rest.split_at(if byte == b'"' { string_length(rest) } else { 1 });
        out.extend_from_slice(token);
        rest = later;
    }
    out
}

/// The length of a string with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed() {
        let plain = |text: &str| String::from_utf8(without_comments(text.as_bytes())).unwrap();
        assert_eq!(plain("{\"a\": 1, // one\n}"), "{\"a\": 1  \n}");
        assert_eq!(plain(r#"["//", "\"//,]", ",]",]"#), r#"["//", "\"//,]", ",]" ]"#);
        assert_eq!(plain(r#"{"a":[1,2,],}"#), r#"{"a":[1,2 ] }"#);
        assert_eq!(plain("\"unfinished // \\"), "\"unfinished // \\");
    }

    #[test]
    fn objects_are_merged_member_by_member() {
        let of = |below: &str, value: &str| {
            let (below, value) = (Json::parse(below).unwrap(), Json::parse(value).unwrap());
            merged(Some(below.raw()), value.raw()).to_text().into_owned()
        };
        assert_eq!(of(r#"{"input":1,"output":2}"#, r#"{ "output": 3 }"#), r#"{"input":1,"output":3}"#);
        assert_eq!(of("1", "[ 2 ]"), "[2]");
    }
}
