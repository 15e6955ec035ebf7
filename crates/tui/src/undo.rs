//! Undo for the operations that were made on one screen.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile::cause::chain;
use sessile::{SessionError, Sessions, Step};

use crate::row::title;

/// The operations that were made on a screen and can be undone, the newest last. Clones share them.
///
/// Jobs write it, so that an undo that waits for a change undoes that change.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<Vec<String>>>);

/// The result of an undo.
pub(crate) enum Undo {
    Done {
        words: String,
        /// The sessions that went to the trash, because the operation had made them.
        gone: Vec<PathBuf>,
    },
    Failed(String),
}

const NOTHING: &str = "Nothing was done here that can be undone; `sessile undo --list` shows earlier operations";

impl History {
    fn held(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, operation: Option<&String>) {
        self.held().extend(operation.cloned());
    }

    /// Drops an operation that another operation has undone.
    pub(crate) fn forget(&self, operation: &str) {
        self.held().retain(|other| other != operation);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.held().len()
    }

    /// Undoes the newest operation.
    pub(crate) fn undo(&self, sessions: &Sessions) -> Undo {
        let Some(operation) = self.held().pop() else { return Undo::Failed(NOTHING.to_owned()) };
        undone(sessions, &operation).unwrap_or_else(|error| {
            let is_over = matches!(
                error,
                SessionError::UndoneAlready { .. }
                    | SessionError::ChangedSince { .. }
                    | SessionError::NoSuchOperation { .. }
            );
            if !is_over {
                // The reason may pass, for example a program that uses the session.
                self.push(Some(&operation));
            }
            Undo::Failed(chain(&error))
        })
    }
}

fn undone(sessions: &Sessions, id: &str) -> Result<Undo, SessionError> {
    // The title is read before, while the session is where it is known to be.
    let planned = sessions.undo(Some(id), true)?;
    let kind = planned.operation.kind.word();
    let Some(first) = planned.steps.first() else {
        return Ok(Undo::Done { words: format!("{kind} {id}: everything is as it was before"), gone: Vec::new() });
    };
    let file = match first {
        Step::Restore { from, .. } => &from.file,
        step => &step.session().path,
    };
    let title = sessions.row(file).ok().map(|info| title(&info)).filter(|title| !title.is_empty());
    let session = title.map_or_else(|| first.session().id.clone(), |title| quoted(&title));
    let more = match planned.steps.len() {
        1 => String::new(),
        n_steps => format!(" and {} more", n_steps - 1),
    };
    let undone = sessions.undo(Some(id), false)?;
    let again = undone.id.map(|id| format!("; `sessile undo {id}` does it again")).unwrap_or_default();
    let made = |step: &Step| match step {
        Step::Create { session, .. } => Some(session.path.clone()),
        _ => None,
    };
    let gone = undone.operation.steps.iter().filter_map(made).collect();
    Ok(Undo::Done { words: format!("Undone: {kind} {session}{more}{again}"), gone })
}

/// How many characters of a title are in a sentence.
const SHORT_TITLE: usize = 40;

/// A title in a sentence.
pub(crate) fn quoted(title: &str) -> String {
    format!("“{}”", sessile_display::words::start(title, SHORT_TITLE))
}
