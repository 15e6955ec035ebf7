//! Settings.

use sessile::json::Json;
use sessile::settings::{Edited, Origin, Setting, Value};

use super::{count, object};

/// A setting: `{key, value?, origin}`. The origin is `{kind, …}`: `flag` and `variable` with `name`, `file` with `path`
/// and `line?`, or `default`.
pub fn setting(setting: &Setting) -> Json {
    object(|out| {
        out.string("key", &setting.key);
        if let Some(value) = &setting.value {
            out.raw("value", setting_value(value).raw());
        }
        out.raw("origin", origin(&setting.origin).raw());
    })
}

/// The value of a setting.
pub fn setting_value(value: &Value) -> Json {
    let parsed = |text: String| Json::parse(text).unwrap_or_else(|_| Json::null());
    match value {
        Value::Text(text) => Json::string(text),
        Value::Flag(flag) => parsed(flag.to_string()),
        Value::Number(number) => parsed(number.to_string()),
        Value::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| Json::string(word).to_text().into_owned()).collect();
            parsed(format!("[{}]", words.join(",")))
        }
        Value::Other(json) => json.clone(),
    }
}

fn origin(origin: &Origin) -> Json {
    object(|out| {
        match origin {
            Origin::Flag(name) => out.string("kind", "flag").string("name", name),
            Origin::Variable(name) => out.string("kind", "variable").string("name", name),
            Origin::File { path, .. } => out.string("kind", "file").string("path", &path.to_string_lossy()),
            Origin::Default => out.string("kind", "default"),
        };
        if let Origin::File { line: Some(line), .. } = origin {
            out.integer("line", count(*line));
        }
    })
}

/// A changed setting: `{path, key, before?, after?}`.
pub fn edited_setting(key: &str, edited: &Edited) -> Json {
    object(|out| {
        out.string("path", &edited.path.to_string_lossy()).string("key", key);
        out.optional("before", edited.before_json.as_ref().map(Json::raw));
        out.optional("after", edited.after_json.as_ref().map(Json::raw));
    })
}
