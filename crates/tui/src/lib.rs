//! The terminal UI of Sessile: pick a session, show its tree, fork it, read it.
//!
//! Every screen has three separate parts: a state, a function that updates it on an event, and a function that draws
//! it. Slow work runs on other threads and reports back as an event, so that no key waits for a disk. All text from
//! sessions reaches the screen through one module, which sanitises it.

mod content;
#[cfg(any(test, feature = "headless"))]
mod driver;
mod fork;
#[cfg(feature = "headless")]
pub mod headless;
mod help;
mod hint;
mod key;
mod keyboard;
mod keymap;
mod line_editor;
mod paint;
mod picker;
mod prompt;
mod reader;
mod row;
mod run;
mod screen;
mod secrets;
mod status;
mod terminal;
#[cfg(test)]
mod testing;
mod theme;
mod trash;
mod tree;
mod undo;
mod workers;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::settings::{Settings, Value};
use sessile::tree::Filter;
use sessile::{Environment, Sessions};

use fork::Fork;
pub use fork::ForkOutcome;
use keymap::Keymap;
use picker::job::PickerBackend;
use picker::{Picked, Picker, Purpose};
use reader::Reader;
use screen::{Job, Screen};
use terminal::Terminal;
pub use theme::Theme;
use trash::{Trash, TrashOutcome};
use tree::Tree;
pub use tree::TreeOutcome;
pub use tree::backend::{BranchSummarizer, ResolveSummarizer};
use undo::History;

/// Why the UI ended without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuiError {
    /// The terminal could not be read or written.
    #[error("cannot use the terminal")]
    Io(#[from] io::Error),
    /// The terminal was closed.
    #[error("the terminal was closed")]
    TerminalGone,
    /// A signal ended the process.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// An internal error.
    #[error("this is a bug in Sessile; no data was lost, because session files only grow")]
    Panicked,
}

/// Returns every default key: the context where it applies, the action's id, and the key.
pub fn default_keys() -> Vec<(String, &'static str, String)> {
    let each = keymap::ACTIONS.iter().flat_map(|action| {
        let keys = action.keys.iter().map(move |key| (action, (*key).to_owned()));
        keys.flat_map(|(action, key)| action.contexts.iter().map(move |context| (context, action.id, key.clone())))
    });
    each.map(|(context, id, key)| (format!("{context:?}"), id, key)).collect()
}

/// The configuration shared by all screens.
#[derive(Clone)]
pub struct Ui {
    sessions: Sessions,
    user_environment: Arc<dyn Environment>,
    cwd: PathBuf,
    keymap: Arc<Keymap>,
    theme: Theme,
    has_mouse: bool,
    shows_preview: bool,
    current: Option<PathBuf>,
    filter: Option<Filter>,
    resolve_summarizer: Option<Arc<ResolveSummarizer>>,
    warnings: Vec<String>,
}

impl Ui {
    /// Creates a UI for sessions, configured by the `[tui]` table of the settings.
    ///
    /// `user_environment` describes the terminal; it may differ from the environment of the sessions.
    pub fn new(sessions: Sessions, user_environment: Arc<dyn Environment>, cwd: PathBuf, settings: &Settings) -> Self {
        let (keymap, mut warnings) = Keymap::from_settings(settings.table("tui"));
        let value = |name: &str| settings.table("tui").find(|setting| setting.key == name)?.value.clone();
        let text = |name: &str| value(name).as_ref().map(Value::to_text);
        let is_on = |name: &str| text(name).is_none_or(|text| text != "false");
        let name = text("tui.theme").unwrap_or_else(|| "auto".to_owned());
        let is_colour_off = user_environment.variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let theme = Theme::from_name(&name).unwrap_or_else(|| {
            if name != "auto" {
                warnings.push(format!("tui.theme must be one of auto, dark, light, none, not {name:?}"));
            }
            if is_colour_off {
                Theme::Plain
            } else {
                Theme::from_terminal(user_environment.variable("COLORFGBG").as_deref())
            }
        });
        let name = text("tui.tree_filter");
        let filter = name.as_deref().map(|name| (name, filter_named(name)));
        if let Some((name, None)) = filter {
            warnings.push(format!(
                "tui.tree_filter must be one of default, no-tools, user-only, labeled-only, all, not {name:?}"
            ));
        }
        let filter = filter.and_then(|(_, filter)| filter);
        Self {
            user_environment,
            cwd,
            keymap: Arc::new(keymap),
            theme,
            has_mouse: is_on("tui.mouse"),
            shows_preview: is_on("tui.preview"),
            current: None,
            filter,
            resolve_summarizer: None,
            warnings,
            sessions,
        }
    }

    /// Turns colours off.
    #[must_use]
    pub fn without_colour(mut self) -> Self {
        self.theme = Theme::Plain;
        self
    }

    /// Sets the default tree filter by pi's name for it, unless the settings name one.
    #[must_use]
    pub fn with_default_filter(mut self, name: Option<&str>) -> Self {
        self.filter = self.filter.or_else(|| name.and_then(filter_named));
        self
    }

    /// Sets the session that is currently open and must not be deleted.
    #[must_use]
    pub fn with_current(mut self, current: Option<PathBuf>) -> Self {
        self.current = current;
        self
    }

    /// Sets the summarizer for branches that the user leaves; the default is the offline rule.
    #[must_use]
    pub fn with_summarizer(mut self, resolve: Arc<ResolveSummarizer>) -> Self {
        self.resolve_summarizer = Some(resolve);
        self
    }

    /// Returns the warnings about the settings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Lets the user pick a session to resume; returns `None` if the user picks none.
    ///
    /// Starts with the sessions of the working directory, or with all sessions if `is_all`, and with a query.
    pub fn pick(&self, is_all: bool, query: &str) -> Result<Option<PathBuf>, TuiError> {
        let mut picker = self.picker(Purpose::Resume).with_query(query);
        if is_all {
            picker = picker.with_all_sessions();
        }
        self.pick_session(&mut picker, &mut Terminal::take(self.has_mouse)?)
    }

    /// Shows the tree of a session until the user leaves it. Without a session, the user picks a session first.
    pub fn tree(&self, path: Option<PathBuf>) -> Result<TreeOutcome, TuiError> {
        let mut terminal = Terminal::take(self.has_mouse)?;
        if let Some(path) = path {
            return self.show_tree(path, &mut terminal);
        }
        let mut picker = self.picker(Purpose::Tree);
        while let Some(path) = self.pick_session(&mut picker, &mut terminal)? {
            let mut outcome = self.show_tree(path, &mut terminal)?;
            // A user who did nothing there may want to see another session.
            let failure = outcome.failure.take();
            if outcome != TreeOutcome::default() {
                return Ok(outcome);
            }
            picker.on_return(failure);
        }
        Ok(TreeOutcome::default())
    }

    /// Lets the user choose a message to fork a session at, and forks it. Without a session, the user picks a session first.
    pub fn fork(&self, path: Option<PathBuf>) -> Result<ForkOutcome, TuiError> {
        let mut terminal = Terminal::take(self.has_mouse)?;
        if let Some(path) = path {
            return self.show_fork(path, &mut terminal);
        }
        let mut picker = self.picker(Purpose::Fork);
        while let Some(path) = self.pick_session(&mut picker, &mut terminal)? {
            picker.on_return(match self.show_fork(path, &mut terminal)? {
                ForkOutcome::Nothing => None,
                ForkOutcome::NoMessages => Some("This session has no user message to fork from".to_owned()),
                ForkOutcome::Failed(message) => Some(message),
                forked @ ForkOutcome::Forked { .. } => return Ok(forked),
            });
        }
        Ok(ForkOutcome::Nothing)
    }

    /// Shows a session as a conversation until the user leaves it. Without a session, the user picks a session first.
    ///
    /// Returns the reason if the session could not be shown.
    pub fn read(&self, path: Option<PathBuf>) -> Result<Option<String>, TuiError> {
        let mut terminal = Terminal::take(self.has_mouse)?;
        if let Some(path) = path {
            return self.show_reader(path, &mut terminal);
        }
        let mut picker = self.picker(Purpose::Read);
        while let Some(path) = self.pick_session(&mut picker, &mut terminal)? {
            let failure = self.show_reader(path, &mut terminal)?;
            picker.on_return(failure);
        }
        Ok(None)
    }

    fn home(&self) -> String {
        self.sessions.environment().home().to_string_lossy().into_owned()
    }

    fn picker(&self, purpose: Purpose) -> Picker {
        let picker = Picker::new(Arc::clone(&self.keymap), self.home(), self.current.clone(), self.shows_preview);
        let root = || sessile::directory::sessions_root(self.sessions.environment());
        picker.with_purpose(purpose).with_root(self.sessions.session_dir().map_or_else(root, Path::to_path_buf))
    }

    /// Runs the picker until the user picks a session. Trees and readers opened from the picker are shown in between.
    fn pick_session(&self, picker: &mut Picker, terminal: &mut Terminal) -> Result<Option<PathBuf>, TuiError> {
        let backend = Arc::new(PickerBackend {
            sessions: self.sessions.clone(),
            cwd: self.cwd.clone(),
            user_cwd: self.user_environment.current_dir(),
            user_home: self.user_environment.home(),
            history: picker.history(),
        });
        loop {
            let failure = match self.run(picker, Arc::clone(&backend), terminal)? {
                Picked::Nothing => return Ok(None),
                Picked::Chosen(path) => return Ok(Some(path)),
                Picked::Tree(path) => self.show_tree(path, terminal)?.failure,
                Picked::Read(path) => self.show_reader(path, terminal)?,
                Picked::Trash => self.show_trash(picker.history(), terminal).map(|has_restored| {
                    if has_restored {
                        picker.clear_message();
                    }
                    None
                })?,
            };
            picker.on_return(failure);
        }
    }

    /// Shows the trash, for a screen with this history. Returns whether the user has restored a session.
    fn show_trash(&self, history: History, terminal: &mut Terminal) -> Result<bool, TuiError> {
        let backend = Arc::new(trash::TrashBackend { sessions: self.sessions.clone(), history });
        let mut trash = Trash::new(Arc::clone(&self.keymap), self.home());
        while let TrashOutcome::Read(file) = self.run(&mut trash, Arc::clone(&backend), terminal)? {
            let failure = self.show_reader(file, terminal)?;
            trash.on_return(failure);
        }
        Ok(trash.has_restored())
    }

    fn show_fork(&self, path: PathBuf, terminal: &mut Terminal) -> Result<ForkOutcome, TuiError> {
        let backend = fork::ForkBackend { sessions: self.sessions.clone(), path };
        self.run(&mut Fork::new(Arc::clone(&self.keymap)), Arc::new(backend), terminal)
    }

    fn show_tree(&self, path: PathBuf, terminal: &mut Terminal) -> Result<TreeOutcome, TuiError> {
        let environment = self.sessions.environment();
        let offset_ms = environment.local_offset_ms(environment.now().as_ms());
        let mut tree =
            Tree::new(Arc::clone(&self.keymap), self.filter.unwrap_or(Filter::Default), self.shows_preview, offset_ms)
                .drawing_pictures(self.environments().protocol().is_some());
        let backend = tree::backend::TreeBackend::new(self.sessions.clone(), path, self.resolve_summarizer.clone());
        self.run(&mut tree, Arc::new(backend), terminal)
    }

    fn show_reader(&self, path: PathBuf, terminal: &mut Terminal) -> Result<Option<String>, TuiError> {
        let backend = reader::job::ReaderBackend::new(self.sessions.clone(), path);
        let mut reader =
            Reader::new(Arc::clone(&self.keymap)).drawing_pictures(self.environments().protocol().is_some());
        let outcome = self.run(&mut reader, Arc::new(backend), terminal)?;
        Ok(outcome.failure)
    }

    fn run<S: Screen>(
        &self,
        screen: &mut S,
        backend: Arc<<S::Job as Job>::Backend>,
        terminal: &mut Terminal,
    ) -> Result<S::Outcome, TuiError> {
        run::run(screen, backend, terminal, self.theme, self.environments())
    }

    fn environments(&self) -> run::Environments<'_> {
        run::Environments { clock: self.sessions.environment(), user: self.user_environment.as_ref() }
    }
}

/// Returns the filter with this name.
fn filter_named(name: &str) -> Option<Filter> {
    Some(match name {
        "default" => Filter::Default,
        "no-tools" => Filter::NoTools,
        "user-only" => Filter::UserOnly,
        "labeled-only" => Filter::LabeledOnly,
        "all" => Filter::All,
        _ => return None,
    })
}
