//! The user's own `config.toml`.

use std::path::Path;

use sessile_core::json::{Json, ObjectWriter};
use sessile_core::location::normalise;
use sessile_store::os::Os;
use toml_edit::{Document, Item, TableLike, TomlError, Value as Toml};

use super::key::{Key, Kind, Value, is_anchored, is_reserved, nearest_key};
use super::{Origin, Setting, SettingsError, line_of, read_if_there};

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// The settings that are set.
    pub(super) found: Vec<Setting>,
    /// The tables of other components.
    pub(super) others: Vec<Setting>,
    pub(super) warnings: Vec<String>,
}

/// Reads a file. A missing file counts as empty.
pub(super) fn read(os: &dyn Os, path: &Path, home: &Path) -> Result<Config, SettingsError> {
    let Some(bytes) = read_if_there(os, path)? else { return Ok(Config::default()) };
    parse(&text_of(bytes, path)?, path, home)
}

/// The text of a file, which must be UTF-8.
pub(super) fn text_of(bytes: Vec<u8>, path: &Path) -> Result<String, SettingsError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        let line = line_of(&good, good.len());
        SettingsError::Syntax { path: path.to_path_buf(), line, what: "not valid UTF-8".to_owned() }
    })
}

/// The error for a text that is not valid TOML.
pub(super) fn syntax(path: &Path, text: &str, error: &TomlError) -> SettingsError {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let what = error.message().lines().next().unwrap_or("not valid TOML").to_owned();
    SettingsError::Syntax { path: path.to_path_buf(), line, what }
}

fn parse(text: &str, path: &Path, home: &Path) -> Result<Config, SettingsError> {
    let document = Document::parse(text).map_err(|error| syntax(path, text, &error))?;
    let mut config = Config::default();
    // Tables still to visit, each with its name and a dot.
    let mut tables: Vec<(String, &dyn TableLike)> = vec![(String::new(), document.as_table())];
    while let Some((prefix, table)) = tables.pop() {
        for (name, item) in table.iter() {
            let key = format!("{prefix}{name}");
            let at = table.get_key_value(name).and_then(|(key, _)| key.span()).or(item.span());
            let line = line_of(text, at.map_or(0, |span| span.start));
            let origin = Origin::File { path: path.to_path_buf(), line: Some(line) };
            if let Some(known) = Key::of(&key) {
                let value = value_of(known, item, home).map_err(|found| SettingsError::BadValue {
                    path: path.to_path_buf(),
                    line,
                    key: key.clone(),
                    expected: known.kind.expected(),
                    found,
                })?;
                config.found.push(Setting { key, value: Some(value), origin });
            } else if let Some(inner) = item.as_table_like() {
                tables.push((format!("{key}."), inner));
            } else if is_reserved(&key) {
                config.others.push(Setting { key, value: Some(Value::Other(json_of(item))), origin });
            } else {
                let meant = nearest_key(&key).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
                config.warnings.push(format!("{}:{line}: no such setting: {key}{meant}", path.display()));
            }
        }
    }
    config.others.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(config)
}

/// The value of a setting; or the actual value if it has the wrong type.
fn value_of(key: &Key, item: &Item, home: &Path) -> Result<Value, String> {
    let found = || match item.as_value() {
        Some(Toml::String(text)) => format!("{:?}", text.value()),
        Some(_) => item.to_string().trim().to_owned(),
        None => format!("a {}", item.type_name()),
    };
    let value = match key.kind {
        Kind::Text | Kind::Choice(_) => item.as_str().and_then(|text| key.kind.parse(text)),
        Kind::Path => item
            .as_str()
            .filter(|text| is_anchored(text))
            .map(|text| Value::Text(normalise(Path::new(text), home).to_string_lossy().into_owned())),
        Kind::Flag => item.as_bool().map(Value::Flag),
        Kind::Number => item.as_integer().and_then(|number| u64::try_from(number).ok()).map(Value::Number),
        Kind::Texts => item.as_array().and_then(|array| {
            let given: Option<Vec<&str>> = array.iter().map(Toml::as_str).collect();
            given.map(|given| Value::Words(given.into_iter().map(str::to_owned).collect()))
        }),
        Kind::Words(words) => item.as_array().and_then(|array| {
            let given: Option<Vec<&str>> = array.iter().map(Toml::as_str).collect();
            let given = given.filter(|given| !given.is_empty() && given.iter().all(|word| words.contains(word)))?;
            Some(Value::Words(given.into_iter().map(str::to_owned).collect()))
        }),
    };
    value.ok_or_else(found)
}

/// A value of another component as JSON. TOML limits the nesting depth.
fn json_of(item: &Item) -> Json {
    match item {
        Item::Value(value) => json_of_value(value),
        Item::ArrayOfTables(tables) => array(&tables.iter().map(|table| json_of_table(table)).collect::<Vec<_>>()),
        Item::Table(table) => json_of_table(table),
        Item::None => Json::null(),
    }
}

pub(super) fn json_of_value(value: &Toml) -> Json {
    let spelled = |text: String| Json::parse(text).unwrap_or_else(|_| Json::null());
    match value {
        Toml::String(text) => Json::string(text.value()),
        Toml::Integer(number) => spelled(number.value().to_string()),
        // Numbers that JSON cannot represent become null.
        Toml::Float(number) => spelled(number.value().to_string()),
        Toml::Boolean(flag) => spelled(flag.value().to_string()),
        Toml::Datetime(time) => Json::string(&time.value().to_string()),
        Toml::Array(values) => array(&values.iter().map(json_of_value).collect::<Vec<_>>()),
        Toml::InlineTable(table) => json_of_table(table),
    }
}

/// A JSON array of values.
fn array(values: &[Json]) -> Json {
    let texts: Vec<_> = values.iter().map(Json::to_text).collect();
    Json::parse(format!("[{}]", texts.join(","))).unwrap_or_else(|_| Json::null())
}

fn json_of_table(table: &dyn TableLike) -> Json {
    let mut json = ObjectWriter::new();
    for (name, item) in table.iter() {
        json.raw(name, json_of(item).raw());
    }
    json.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Config, String> {
        parse(text, Path::new("/c.toml"), Path::new("/home/u")).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_have_their_line_number() {
        let config = parsed("# mine\nsession_dir = '~/s'\n\n[list]\nlimit = 7\ncolumns = ['age', 'id']\n").unwrap();
        let shown: Vec<String> = config
            .found
            .iter()
            .map(|setting| format!("{} {} {}", setting.origin, setting.key, setting.value.as_ref().unwrap().to_text()))
            .collect();
        assert_eq!(
            shown,
            ["/c.toml:2 session_dir /home/u/s", "/c.toml:5 list.limit 7", "/c.toml:6 list.columns age,id"]
        );
        assert!(config.warnings.is_empty() && config.others.is_empty());
    }

    #[test]
    fn unknown_keys_are_reported_with_a_suggestion() {
        let config = parsed("sesion_dir = '/x'\nlist.colums = ['age']\n[nonsense.more]\nx = 1\n").unwrap();
        assert_eq!(
            config.warnings,
            [
                "/c.toml:1: no such setting: sesion_dir; did you mean session_dir?",
                "/c.toml:4: no such setting: nonsense.more.x",
                "/c.toml:2: no such setting: list.colums; did you mean list.columns?",
            ]
        );
    }

    #[test]
    fn errors_have_their_position() {
        for (text, expected) in [
            ("color = 1", "/c.toml:1: color must be one of auto, always, never, not 1"),
            ("color = 'red'", "/c.toml:1: color must be one of auto, always, never, not \"red\""),
            ("\n[list]\nlimit = -3", "/c.toml:3: list.limit must be a whole number, not -3"),
            ("remember_leaf = 'no'", "/c.toml:1: remember_leaf must be true or false, not \"no\""),
            (
                "session_dir = 'x'",
                "/c.toml:1: session_dir must be a path that is absolute or starts with ~/, not \"x\"",
            ),
            ("[pager]\nx = 1", "/c.toml:1: pager must be a string, not a table"),
        ] {
            assert_eq!(parsed(text).unwrap_err(), expected, "{text}");
        }
        let error = parsed("color = 'auto'\npager =\n").unwrap_err();
        assert!(error.starts_with("/c.toml:2: "), "{error}");
        let bytes = b"color = 'auto'\npager = '\xff'\n".to_vec();
        assert_eq!(text_of(bytes, Path::new("/c")).unwrap_err().to_string(), "/c:2: not valid UTF-8");
    }

    #[test]
    fn tables_of_other_programs_are_passed_through() {
        let config =
            parsed("[tui]\nkeys = { up = ['k', 1.5] }\n[[compaction.list]]\non = true\nat = 2026-01-01\n").unwrap();
        let shown: Vec<String> =
            config.others.iter().map(|it| format!("{}={}", it.key, it.value.as_ref().unwrap().to_text())).collect();
        assert_eq!(shown, [r#"compaction.list=[{"on":true,"at":"2026-01-01"}]"#, r#"tui.keys.up=["k",1.5]"#]);
        assert!(config.warnings.is_empty());
    }
}
