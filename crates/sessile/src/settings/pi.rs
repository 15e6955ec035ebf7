//! pi's settings files, which say where pi keeps sessions and how it compacts them.
//!
//! This follows pi 1.5.0. The project's file overrides the global one, and pi
//! reads it for this one value whether or not the project is trusted. An empty
//! or null value means the default. A file that is not valid JSON is skipped
//! with a warning. So is a value of the wrong type, which makes pi fail.

use std::path::{Path, PathBuf};

use sessile_core::json::Json;
use sessile_core::line::BOM;
use sessile_store::os::Os;

use super::key::Value;
use super::{Origin, SESSION_DIR, Setting, read_if_there};
use crate::directory::{absolute, agent_dir};
use crate::environment::Environment;

/// The sessions' directory in pi's settings; `None` if they do not set it.
pub(super) fn session_dir(environment: &dyn Environment, os: &dyn Os, warnings: &mut Vec<String>) -> Option<Setting> {
    files(environment).iter().find_map(|path| session_dir_in(os, path, warnings))
}

/// The value of one of pi's settings, if it is a text.
pub(super) fn text(environment: &dyn Environment, os: &dyn Os, key: &str) -> Option<String> {
    // Warnings about the files were already reported when they were read for the sessions' directory.
    files(environment).iter().find_map(|path| read(os, path, &mut Vec::new())?.raw().get(key)?.as_string())
}

/// The paths of the files: the project's, then the global one.
pub(super) fn files(environment: &dyn Environment) -> [PathBuf; 2] {
    let project = environment.current_dir().join(".pi").join("settings.json");
    let global = absolute(environment, &agent_dir(environment)).join("settings.json");
    [project, global]
}

/// The content of a file; `None` if it does not exist or is not valid JSON.
pub(super) fn read(os: &dyn Os, path: &Path, warnings: &mut Vec<String>) -> Option<Json> {
    let mut warn = |what: &str| warnings.push(format!("{}: {what}", path.display()));
    let bytes = match read_if_there(os, path) {
        Ok(bytes) => bytes?,
        Err(error) => {
            warn(&format!("ignoring pi's settings: {error}"));
            return None;
        }
    };
    let bytes = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    let settings = Json::parse(bytes);
    if settings.is_err() {
        warn("ignoring pi's settings: not valid JSON");
    }
    settings.ok()
}

fn session_dir_in(os: &dyn Os, path: &Path, warnings: &mut Vec<String>) -> Option<Setting> {
    let settings = read(os, path, warnings)?;
    let found = settings.raw().get("sessionDir")?;
    let value = match (found.is_null(), found.as_string()) {
        (true, _) => None,
        (false, Some(text)) => Some(text).filter(|text| !text.is_empty()).map(Value::Text),
        (false, None) => {
            warnings.push(format!("{}: ignoring sessionDir: it is not a string", path.display()));
            return None;
        }
    };
    Some(Setting { key: SESSION_DIR.to_owned(), value, origin: Origin::File { path: path.to_path_buf(), line: None } })
}
