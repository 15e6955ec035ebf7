//! Titles: names that a rule or a model gives to sessions whose user has not named them.
//!
//! A title is an ordinary name, a `session_info` entry, with one more key: `"auto":{"by":"rule","v":1}`. pi shows it, and
//! writes names without the key. So a `session_info` entry without the key is the user's, also an empty one, and a
//! session that has such an entry is never given a title. If a title came after it nevertheless, because two programs
//! wrote at once or copies were merged, the user's name is appended again.

mod automatic;
mod material;
mod model;
mod request;
mod rule;
mod words;

use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::head::Kind;
use sessile_core::json::Raw;
use sessile_core::line::js_trim;

use crate::compose;
use crate::error::SessionError;
use crate::journal::{Recording, settle_dead};
use crate::manager::{SessionManager, one_line};
use crate::record::{OperationKind, Step};
use crate::redact::CertainSecrets;
use crate::sessions::Sessions;
use material::Conversation;
use rule::Material;

pub use automatic::DueTitle;
pub use model::{TITLE_INSTRUCTIONS, cleaned_answer};
pub use rule::title_of_text;

/// What made a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleBy {
    /// The rule, which works offline.
    Rule,
    /// A language model.
    Model,
    /// The agent from which the session was imported.
    Import,
}

impl TitleBy {
    /// The word in the entry.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Model => "model",
            Self::Import => "import",
        }
    }
}

/// Asks a model for a title, with the text that describes the session. An error is a reason in words.
pub type AskModel<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// How sessions get their titles.
#[derive(Clone, Copy)]
pub enum Titler<'a> {
    /// By the rule.
    Rule,
    /// By a model, and by the rule if the model has no answer that can be used.
    Model(AskModel<'a>),
}

/// The id of the operation, unless nothing changed, and what happened to each session.
pub type AllTitled = (Option<String>, Vec<Result<Titled, SessionError>>);

/// What happened to one session, or would happen in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Titled {
    /// The session's file.
    pub path: PathBuf,
    /// The session's id.
    pub id: SessionId,
    /// The name before.
    pub before: Option<String>,
    /// What became of it.
    pub outcome: TitleOutcome,
    /// Why the model was not used, if it was asked.
    pub model_failure: Option<String>,
}

impl Titled {
    /// Whether something was written, or would be.
    pub fn is_change(&self) -> bool {
        matches!(self.outcome, TitleOutcome::Titled { .. } | TitleOutcome::Restored { .. })
    }
}

/// What became of the name of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TitleOutcome {
    /// It got a title.
    Titled {
        /// The title.
        name: String,
        /// What made it.
        by: TitleBy,
    },
    /// The user's name, or the absence of a name that the user chose, was appended again after a title.
    Restored {
        /// The name; `None` if the user has removed it.
        name: Option<String>,
    },
    /// The user has named it, or has removed its name.
    OfUser,
    /// It has this title already.
    Same,
    /// The user has not asked for anything yet, or there is no answer.
    TooEarly,
}

/// The operation that all titles of a command belong to.
struct OperationLog<'w> {
    /// Begun with the first title.
    recording: Option<Recording<'w>>,
    n_planned: usize,
    /// Whether a step has failed. Then it is not known whether it was done, and the operation does not count as done.
    has_failed: bool,
}

/// What the name entries of a session say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameEntries {
    /// The name that pi shows.
    shown: Option<String>,
    /// Whether a title is shown.
    is_auto: bool,
    /// The last name of the user; an empty one if the user removed it.
    of_user: Option<String>,
    /// How many titles there are.
    n_titles: usize,
    /// Whether a title came from another agent.
    has_imported: bool,
}

impl Sessions {
    /// Gives titles to sessions as one operation, which [`undo`](Self::undo) reverts. Returns its id, unless nothing
    /// changed, and what happened to each session, in order. `on_titled` gets each as soon as it is done.
    ///
    /// A session that cannot be read or written does not affect the others: its error is in its place.
    pub fn title(
        &self,
        paths: &[PathBuf],
        by: Titler<'_>,
        dry_run: bool,
        on_titled: &mut dyn FnMut(&Result<Titled, SessionError>),
    ) -> Result<AllTitled, SessionError> {
        let secrets = CertainSecrets::of(self)?;
        if !dry_run {
            settle_dead(&self.world);
        }
        let mut log = OperationLog { recording: None, n_planned: paths.len(), has_failed: false };
        let mut all = Vec::with_capacity(paths.len());
        for path in paths {
            let titled = self.title_one(path, by, &secrets, dry_run, &mut log);
            on_titled(&titled);
            all.push(titled);
        }
        let operation = log.recording.as_ref().map(|recording| recording.id.clone());
        if let Some(recording) = log.recording.filter(|_| !log.has_failed) {
            recording.done();
        }
        Ok((operation, all))
    }

    fn title_one<'w>(
        &'w self,
        path: &Path,
        by: Titler<'_>,
        secrets: &CertainSecrets,
        dry_run: bool,
        log: &mut OperationLog<'w>,
    ) -> Result<Titled, SessionError> {
        let mut manager = self.open(path)?;
        if !dry_run {
            manager.recover()?;
        }
        let names = manager.name_entries()?;
        let mut titled = Titled {
            path: manager.session_file().unwrap_or(path).to_path_buf(),
            id: manager.session_id(),
            before: names.shown.clone(),
            outcome: TitleOutcome::OfUser,
            model_failure: None,
        };
        let (name, maker) = match (&names.of_user, names.is_auto) {
            (Some(_), false) => return Ok(titled),
            // A title came after the user's name.
            (Some(name), true) => (name.clone(), None),
            (None, _) => match made(&Conversation::read(&manager)?, by, secrets, &mut titled.model_failure) {
                Some((name, maker)) => (name, Some(maker)),
                None => return Ok(Titled { outcome: TitleOutcome::TooEarly, ..titled }),
            },
        };
        titled.outcome = match maker {
            Some(_) if names.shown.as_ref() == Some(&name) => TitleOutcome::Same,
            Some(by) => TitleOutcome::Titled { name: name.clone(), by },
            None => TitleOutcome::Restored { name: Some(name.clone()).filter(|name| !name.is_empty()) },
        };
        if dry_run || titled.outcome == TitleOutcome::Same {
            return Ok(titled);
        }
        // Do not log a change that will be refused anyway.
        manager.check_writable()?;
        let recording = match &mut log.recording {
            Some(recording) => recording,
            none => none.insert(Recording::begin(&self.world, OperationKind::Name, log.n_planned, None)?),
        };
        manager.upgrade()?;
        let after = Some(name.clone()).filter(|name| !name.is_empty());
        let done = manager.with_turn(|manager| {
            // The user may have named it while the title was made.
            if manager.name_entries()? != names {
                titled.outcome = TitleOutcome::OfUser;
                return Ok(());
            }
            let step = Step::Name { session: manager.session_location(), before: names.shown.clone(), after };
            recording.step(&step, || match maker {
                Some(by) => manager.append_title(&name, by),
                None => manager.append_session_info(&name).map(drop),
            })
        });
        log.has_failed |= done.is_err();
        done.map(|()| titled)
    }
}

/// The title for a conversation, and what made it.
fn made(
    conversation: &Conversation,
    by: Titler<'_>,
    secrets: &CertainSecrets,
    failure: &mut Option<String>,
) -> Option<(String, TitleBy)> {
    if !conversation.is_answered {
        return None;
    }
    let requests: Vec<String> = conversation.first_requests.iter().map(|text| secrets.removed(text)).collect();
    let first_answer = conversation.first_answer.as_ref().map(|text| secrets.removed(text));
    let changed_file = conversation.changed_file.as_ref().map(|text| secrets.removed(text));
    let rule = rule::title(&Material {
        requests: requests.iter().map(String::as_str).collect(),
        first_answer: first_answer.as_deref(),
        changed_file: changed_file.as_deref(),
    })?;
    if let Titler::Model(ask) = by {
        match ask(&model::question(conversation, secrets)).and_then(|answer| cleaned_answer(&answer)) {
            Ok(title) => return Some((title, TitleBy::Model)),
            Err(reason) => *failure = Some(reason),
        }
    }
    Some((rule, TitleBy::Rule))
}

impl SessionManager {
    fn name_entries(&self) -> Result<NameEntries, SessionError> {
        let mut names = NameEntries::default();
        let outline = self.outline();
        for row in outline.entries().filter(|row| outline.kind(*row) == Kind::SessionInfo) {
            let entry = self.loaded().value(row)?;
            let name = entry.raw().get("name").and_then(Raw::as_string).unwrap_or_default();
            let name = js_trim(&name).to_owned();
            let auto = entry.raw().get("auto");
            names.is_auto = auto.is_some();
            names.n_titles += usize::from(names.is_auto);
            let by = auto.and_then(|auto| auto.get("by")).and_then(Raw::as_string);
            names.has_imported |= by.as_deref() == Some(TitleBy::Import.word());
            names.shown = Some(name.clone()).filter(|name| !name.is_empty());
            if !names.is_auto {
                names.of_user = Some(name);
            }
        }
        Ok(names)
    }

    /// Names the session with a title. If a program without the lock names it at the same moment, that name is appended
    /// again, so that it is the last.
    fn append_title(&mut self, title: &str, by: TitleBy) -> Result<(), SessionError> {
        let title = one_line(title);
        self.append(&|base| compose::title(base, &title, by.word()))?;
        if let NameEntries { of_user: Some(name), is_auto: true, .. } = self.name_entries()? {
            self.append_session_info(&name)?;
        }
        Ok(())
    }
}
