//! Changing one setting and nothing else.

use std::path::{Path, PathBuf};

use sessile_core::json::Json;
use sessile_store::os::Os;
use sessile_store::{create_directory, swap_in};
use toml_edit::{DocumentMut, Item, Table, Value as Toml};

use super::file::{json_of_value, syntax, text_of};
use super::key::{Key, Value, is_reserved, unknown};
use super::{SettingsError, read_if_there};

/// The result of an edit or a dry run.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// The file.
    pub path: PathBuf,
    /// The former value, as written in the file.
    pub before: Option<String>,
    /// The new value, as written in the file.
    pub after: Option<String>,
    /// The former value as JSON.
    pub before_json: Option<Json>,
    /// The new value as JSON.
    pub after_json: Option<Json>,
}

pub(super) fn edit(
    os: &dyn Os,
    path: &Path,
    key: &str,
    value: Option<&str>,
    is_dry_run: bool,
) -> Result<Edited, SettingsError> {
    let value = value.map(|text| value_of(key, text)).transpose()?;
    if value.is_none() && Key::of(key).is_none() && !is_reserved(key) {
        return Err(unknown(key));
    }
    let text = match read_if_there(os, path)? {
        Some(bytes) => text_of(bytes, path)?,
        None => String::new(),
    };
    let mut document: DocumentMut = text.parse().map_err(|error| syntax(path, &text, &error))?;
    let after = value.as_ref().map(|value| value.to_string().trim().to_owned());
    let after_json = value.as_ref().map(json_of_value);
    let before = put(document.as_table_mut(), key, value);
    let before_json = before.as_ref().map(json_of_value);
    let before = before.map(|before| before.to_string().trim().to_owned());
    if !is_dry_run && before != after {
        let written = document.to_string();
        if let Some(directory) = path.parent() {
            create_directory(os, directory, false)?;
        }
        swap_in(os, path, written.as_bytes())?;
    }
    Ok(Edited { path: path.to_path_buf(), before, after, before_json, after_json })
}

/// Parses a text as the value of a setting.
fn value_of(key: &str, text: &str) -> Result<Toml, SettingsError> {
    let Some(known) = Key::of(key) else {
        if !is_reserved(key) {
            return Err(unknown(key));
        }
        // The type is unknown here, so accept anything that parses as a TOML value.
        return Ok(text.parse().unwrap_or_else(|_| text.into()));
    };
    let bad =
        || SettingsError::BadGiven { key: key.to_owned(), expected: known.kind.expected(), value: text.to_owned() };
    Ok(match known.kind.parse(text).ok_or_else(bad)? {
        Value::Text(text) => text.into(),
        Value::Flag(flag) => flag.into(),
        Value::Number(number) => i64::try_from(number).map_err(|_too_large| bad())?.into(),
        Value::Words(words) => words.into_iter().collect(),
        Value::Other(_) => return Err(bad()),
    })
}

/// Sets or removes the value at a key, and returns the former one. Keeps the comments around it.
fn put(table: &mut Table, key: &str, value: Option<Toml>) -> Option<Toml> {
    let (tables, name) = key.rsplit_once('.').map_or((None, key), |(tables, name)| (Some(tables), name));
    let mut table: &mut dyn toml_edit::TableLike = table;
    for step in tables.into_iter().flat_map(|tables| tables.split('.')) {
        if value.is_none() && table.get(step).is_none() {
            return None;
        }
        if table.get(step).is_some_and(|item| item.as_table_like().is_none()) {
            // A value that is not a table is where a table should be; it has no meaning.
            table.remove(step);
        }
        let inner = table.entry(step).or_insert_with(|| {
            let mut made = Table::new();
            made.set_implicit(true);
            Item::Table(made)
        });
        table = inner.as_table_like_mut()?;
    }
    let Some(mut value) = value else {
        return table.remove(name).and_then(|before| before.into_value().ok());
    };
    match table.get_mut(name) {
        Some(Item::Value(before)) => {
            *value.decor_mut() = before.decor().clone();
            let mut before = std::mem::replace(before, value);
            before.decor_mut().clear();
            Some(before)
        }
        Some(other) => {
            *other = Item::Value(value);
            None
        }
        None => {
            table.insert(name, Item::Value(value));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, key: &str, value: Option<&str>) -> (String, Option<String>) {
        let mut document: DocumentMut = text.parse().unwrap();
        let value = value.map(|value| value_of(key, value).unwrap());
        let before = put(document.as_table_mut(), key, value).map(|before| before.to_string());
        (document.to_string(), before)
    }

    #[test]
    fn an_edit_keeps_the_rest_of_the_file() {
        let text = "# mine\ncolor = \"auto\" # always?\n\n[list]   # lists\nlimit=5\n";
        assert_eq!(edited(text, "color", Some("never")), (text.replace("auto", "never"), Some("\"auto\"".to_owned())));
        assert_eq!(edited(text, "list.limit", Some("7")).0, text.replace('5', "7"));
        assert_eq!(edited(text, "list.sort", Some("cost")).0, format!("{text}sort = \"cost\"\n"));
        assert_eq!(edited(text, "list.columns", Some("age,id")).0, format!("{text}columns = [\"age\", \"id\"]\n"));
        assert_eq!(edited(text, "list.limit", None), (text.replace("limit=5\n", ""), Some("5".to_owned())));
        assert_eq!(edited(text, "resume.command", None), (text.to_owned(), None));
        assert_eq!(edited("", "resume.command", Some("rip")).0, "[resume]\ncommand = \"rip\"\n");
        assert_eq!(edited("list = { limit = 1 }\n", "list.limit", Some("2")).0, "list = { limit = 2 }\n");
        assert_eq!(edited("list = 3\n", "list.limit", Some("2")).0, "[list]\nlimit = 2\n");
        assert_eq!(edited("", "tui.keys.up", Some("k")).0, "[tui.keys]\nup = \"k\"\n");
        assert_eq!(edited("", "tui.rows", Some("7")).0, "[tui]\nrows = 7\n");
    }

    #[test]
    fn only_known_settings_are_set() {
        for (key, value, expected) in [
            ("colr", "never", "no such setting: colr"),
            ("color", "mauve", "color must be one of auto, always, never, not \"mauve\""),
            ("list.limit", "many", "list.limit must be a whole number, not \"many\""),
            ("tui", "x", "no such setting: tui"),
        ] {
            assert_eq!(value_of(key, value).unwrap_err().to_string(), expected);
        }
    }
}
