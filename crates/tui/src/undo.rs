//! Undo for the operations of one screen.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile::format::cause::chain;
use sessile::operations::Step;
use sessile::{SessionError, Sessions};

use crate::row::title;

/// The operations of a screen that can be undone, the newest last. Clones share them.
///
/// Jobs write it, so that an undo that waits for a change undoes that change.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<Vec<String>>>);

/// The result of an undo.
pub(crate) enum Undo {
    Done {
        message: String,
        /// The sessions that went to the trash, because the operation had made them.
        removed: Vec<PathBuf>,
    },
    Failed(String),
}

const NOTHING_TO_UNDO: &str = "Nothing to undo on this screen; `sessile undo --list` shows earlier operations";

impl History {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, operation: Option<&String>) {
        self.lock().extend(operation.cloned());
    }

    /// Drops an operation that another operation has undone.
    pub(crate) fn forget(&self, operation: &str) {
        self.lock().retain(|other| other != operation);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Undoes the newest operation.
    pub(crate) fn undo(&self, sessions: &Sessions) -> Undo {
        let Some(operation) = self.lock().pop() else { return Undo::Failed(NOTHING_TO_UNDO.to_owned()) };
        undo_operation(sessions, &operation).unwrap_or_else(|error| {
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

fn undo_operation(sessions: &Sessions, id: &str) -> Result<Undo, SessionError> {
    // Reads the title first, while the path of the session is still known.
    let planned = sessions.undo(Some(id), true)?;
    let kind = planned.operation.kind.word();
    let Some(first) = planned.steps.first() else {
        return Ok(Undo::Done { message: format!("{kind} {id}: nothing left to undo"), removed: Vec::new() });
    };
    let file = match first {
        Step::Restore { from, .. } => &from.file,
        step => &step.session().path,
    };
    let title = sessions.row(file).ok().map(|info| title(&info)).filter(|title| !title.is_empty());
    let session = title.map_or_else(|| first.session().id.clone(), |title| quoted(&title).into());
    let more = match planned.steps.len() {
        1 => String::new(),
        n_steps => format!(" and {} more", n_steps - 1),
    };
    let undone = sessions.undo(Some(id), false)?;
    let again = undone.id.map(|id| format!("; redo with `sessile undo {id}`")).unwrap_or_default();
    let created_path = |step: &Step| match step {
        Step::Create { session, .. } => Some(session.path.clone()),
        _ => None,
    };
    let removed = undone.operation.steps.iter().filter_map(created_path).collect();
    Ok(Undo::Done { message: format!("Undone: {kind} {session}{more}{again}"), removed })
}

/// Maximum characters of a title in a message.
const MAX_TITLE_CHARS: usize = 40;

/// Quotes a title for a message.
pub(crate) fn quoted(title: &str) -> String {
    format!("“{}”", sessile_display::text::start(title, MAX_TITLE_CHARS))
}
