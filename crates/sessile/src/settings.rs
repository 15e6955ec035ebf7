//! The user's settings, and their origins.
//!
//! A value comes from a flag, a variable, the user's own `config.toml`, pi's
//! settings files or a default, in this order, and records which. pi's
//! files are read for the location of sessions, for compaction and for what is known about models, and are never
//! written.

mod compaction;
mod edit;
mod file;
mod key;
mod model;
mod pi;
mod resume;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::compaction::BadSetting;
use sessile_store::os::Os;
use sessile_store::{Durability, StoreError};

use crate::directory::{absolute, sessions_root};
use crate::environment::Environment;
pub use edit::Edited;
pub use key::{COLUMNS, KEYS, Key, Kind, RESERVED, SORTS, Value};
pub use model::{pi_default_model, pi_model};
pub use resume::resume_line;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A command line flag.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A file, with the line if known.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: Option<usize>,
    },
    /// The default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "{name}"),
            Self::Variable(name) => write!(f, "${name}"),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Default => write!(f, "default"),
        }
    }
}

/// One setting with its value, if it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name, with dots between tables.
    pub key: String,
    /// Its value.
    pub value: Option<Value>,
    /// The origin of the value.
    pub origin: Origin,
}

/// Why settings cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is not valid TOML.
    #[error("{}:{line}: {what}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// A value has the wrong type.
    #[error("{}:{line}: {key} must be {expected}, not {found}", path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// The expected value.
        expected: String,
        /// The actual value.
        found: String,
    },
    /// A value in one of pi's settings files is wrong.
    #[error("{}: {source}", path.display())]
    PiValue {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: BadSetting,
    },
    /// The setting does not exist.
    #[error("no such setting: {key}")]
    UnknownKey {
        /// The requested key.
        key: String,
        /// The most similar key.
        nearest: Option<&'static str>,
    },
    /// A given value is wrong.
    #[error("{key} must be {expected}, not {value:?}")]
    BadGiven {
        /// The key.
        key: String,
        /// The expected value.
        expected: String,
        /// The given value.
        value: String,
    },
    /// The environment has no directory for settings.
    #[error("there is no directory for settings")]
    NoPlace,
}

/// The user's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// One row for each key, in the order of [`KEYS`].
    rows: Vec<Setting>,
    /// Values in tables of other components, which are not checked here.
    others: Vec<Setting>,
    warnings: Vec<String>,
}

impl Settings {
    /// The settings without the user's own file, for callers that can continue although it is invalid.
    pub fn without_file(environment: &dyn Environment, os: &dyn Os) -> Self {
        Self::with(file::Config::default(), environment, os)
    }

    /// Reads all settings. If the user has no file, that costs one attempt to open it, and two for pi's.
    pub fn load(environment: &dyn Environment, os: &dyn Os) -> Result<Self, SettingsError> {
        let config = match Self::path(environment) {
            Some(path) => file::read(os, &path, &environment.home())?,
            None => file::Config::default(),
        };
        Ok(Self::with(config, environment, os))
    }

    fn with(config: file::Config, environment: &dyn Environment, os: &dyn Os) -> Self {
        let mut settings = Self { rows: Vec::new(), others: config.others, warnings: config.warnings };
        for key in KEYS {
            let variable = |name: Option<&'static str>| {
                let name = name?;
                let value = environment.variable(name).filter(|value| !value.is_empty())?;
                Some((Some(Value::Text(value)), Origin::Variable(name)))
            };
            let in_file = || {
                let found = config.found.iter().find(|setting| setting.key == key.name)?;
                Some((found.value.clone(), found.origin.clone()))
            };
            let found = variable(key.variable).or_else(in_file).or_else(|| variable(key.later_variable));
            let found = found.or_else(|| settings.ask_pi(key, environment, os));
            let (value, origin) = found.unwrap_or_else(|| (key.default_value(), Origin::Default));
            settings.rows.push(Setting { key: key.name.to_owned(), value, origin });
        }
        settings
    }

    /// The path of the user's own settings; `None` in an environment that has no directory for them.
    pub fn path(environment: &dyn Environment) -> Option<PathBuf> {
        environment.config_dir().map(|dir| dir.join("config.toml"))
    }

    /// The value from pi's files, for the only setting that they provide.
    fn ask_pi(&mut self, key: &Key, environment: &dyn Environment, os: &dyn Os) -> Option<(Option<Value>, Origin)> {
        let found =
            (key.name == SESSION_DIR).then(|| pi::session_dir(environment, os, &mut self.warnings)).flatten()?;
        Some((found.value, found.origin))
    }

    /// Overrides one setting with a command line flag.
    #[must_use]
    pub fn with_flag(mut self, key: &str, value: Value, flag: &'static str) -> Self {
        if let Some(row) = self.rows.iter_mut().find(|row| row.key == key) {
            *row = Setting { value: Some(value), origin: Origin::Flag(flag), ..row.clone() };
        }
        self
    }

    /// Problems in the files that are not errors.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// All settings, including those without a value, then the tables of other components.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.rows.iter().chain(&self.others)
    }

    /// One setting.
    pub fn get(&self, key: &str) -> Result<&Setting, SettingsError> {
        self.iter().find(|setting| setting.key == key).ok_or_else(|| key::unknown(key))
    }

    /// The values in a table of another component, by key.
    pub fn table<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Setting> {
        self.others.iter().filter(move |setting| setting.key.split('.').next() == Some(name))
    }

    /// The sessions' directory, if not pi's default. Relative to the working directory, as in pi.
    pub fn session_dir(&self) -> Option<PathBuf> {
        self.text(SESSION_DIR).map(PathBuf::from)
    }

    /// The sessions' directory as an absolute path.
    pub fn sessions_at(&self, environment: &dyn Environment) -> PathBuf {
        self.session_dir().map_or_else(|| sessions_root(environment), |dir| absolute(environment, &dir))
    }

    /// The effective value of a setting: the sessions' directory is known even if it is not set.
    pub fn effective(&self, setting: &Setting, environment: &dyn Environment) -> Setting {
        let is_unset = setting.value.as_ref().is_none_or(|value| *value == Value::Text(String::new()));
        if setting.key != SESSION_DIR || !is_unset {
            return setting.clone();
        }
        let root = Value::Text(sessions_root(environment).to_string_lossy().into_owned());
        Setting { value: Some(root), ..setting.clone() }
    }

    /// When to use colour: `auto`, `always` or `never`.
    pub fn color(&self) -> &str {
        self.text("color").unwrap_or("auto")
    }

    /// The program that shows long output; empty for none.
    pub fn pager(&self) -> &str {
        self.text("pager").unwrap_or_default()
    }

    /// The columns of a list, if not the default ones.
    pub fn list_columns(&self) -> Option<&[String]> {
        match self.value("list.columns") {
            Some(Value::Words(words)) => Some(words),
            _ => None,
        }
    }

    /// The order of a list.
    pub fn list_sort(&self) -> &str {
        self.text("list.sort").unwrap_or("recent")
    }

    /// The maximum number of sessions in a list.
    pub fn list_limit(&self) -> Option<usize> {
        match self.value("list.limit") {
            Some(Value::Number(number)) if *number > 0 => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The command that continues a session, with `{path}` for its file.
    pub fn resume_command(&self) -> &str {
        self.text("resume.command").unwrap_or_default()
    }

    /// Whether sessions are opened where they were left.
    pub fn remembers_leaf(&self) -> bool {
        self.value("remember_leaf") != Some(&Value::Flag(false))
    }

    /// What an acknowledged entry survives.
    pub fn durability(&self) -> Durability {
        match self.text("durability") {
            Some("group") => Durability::Group,
            Some("sync") => Durability::Sync,
            _ => Durability::Buffered,
        }
    }

    /// The directory of hooks; `None` in an environment that has no directory for settings.
    pub fn hooks_dir(&self, environment: &dyn Environment) -> Option<PathBuf> {
        let given = self.text("hooks.dir").map(|dir| absolute(environment, Path::new(dir)));
        given.or_else(|| environment.config_dir().map(|dir| dir.join("hooks")))
    }

    /// The timeout for a hook: at least a second, because no hook could meet a timeout of zero.
    pub fn hooks_timeout(&self) -> Duration {
        match self.value("hooks.timeout") {
            Some(Value::Number(seconds)) => Duration::from_secs((*seconds).max(1)),
            _ => Duration::from_secs(30),
        }
    }

    /// Whether agents see the sessions of all directories, and not only those of their repository.
    pub fn mcp_shows_all(&self) -> bool {
        self.text("mcp.scope") == Some("all")
    }

    /// The directories and sessions that agents never see.
    pub fn mcp_excluded(&self) -> &[String] {
        match self.value("mcp.exclude") {
            Some(Value::Words(texts)) => texts,
            _ => &[],
        }
    }

    /// Whether lists show a short title instead of the first message.
    pub fn lists_titles(&self) -> bool {
        self.value("list.titles") == Some(&Value::Flag(true))
    }

    /// Who gives titles to sessions without a command.
    pub fn auto_titles(&self) -> AutoTitles {
        match self.text("titles.auto") {
            Some("rule") => AutoTitles::Rule,
            Some("model") => AutoTitles::Model,
            _ => AutoTitles::Off,
        }
    }

    /// The model that gives titles without a command, if the user has chosen one.
    pub fn title_model(&self) -> Option<&str> {
        self.text("titles.model")
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.rows.iter().find(|row| row.key == key)?.value.as_ref()
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Who gives titles to sessions without a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoTitles {
    /// Nothing does.
    Off,
    /// The rule, which works offline.
    Rule,
    /// A language model.
    Model,
}

/// The setting for the sessions' directory.
const SESSION_DIR: &str = "session_dir";

/// Changes one setting in the user's own file; `None` removes it. Everything else in the file stays unchanged.
///
/// With `is_dry_run` nothing is written.
pub fn edit_settings(
    environment: &dyn Environment,
    os: &dyn Os,
    key: &str,
    value: Option<&str>,
    is_dry_run: bool,
) -> Result<Edited, SettingsError> {
    let path = Settings::path(environment).ok_or(SettingsError::NoPlace)?;
    edit::edit(os, &path, key, value, is_dry_run)
}

/// The line of a byte in a text, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The content of a small file; `None` if it does not exist.
fn read_if_there(os: &dyn Os, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match sessile_store::read_whole(os, path, sessile_store::MAX_SETTINGS) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.io_error().is_some_and(is_absent) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}
