//! The tree's jobs on other threads.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use sessile::branch::ForkPosition;
use sessile::format::cause::chain;
use sessile::format::outline::Row;
use sessile::operations::OperationKind;
use sessile::tree::Filter;
use sessile::{Cancel, SessionError};
use sessile_display::drawing::Drawing;
use sessile_display::text::Headline;

use super::backend::TreeBackend;
use super::model::{Model, Survey};
use crate::content::{Drawable, entry_pictures, entry_text};
use crate::paint::Line;
use crate::screen::{CHANGES, Job, Lane};
use crate::secrets::Scanned;

#[derive(Debug)]
pub(crate) enum TreeJob {
    /// Open the session and build its model.
    Load,
    Survey {
        model: Arc<Model>,
        generation: u64,
    },
    Layout {
        model: Arc<Model>,
        survey: Option<Arc<Survey>>,
        filter: Filter,
        shows_archived: bool,
        query: String,
        version: u64,
    },
    Headlines {
        rows: Vec<(u32, Row)>,
        survey: Option<Arc<Survey>>,
        generation: u64,
    },
    Content {
        row: Row,
        width: usize,
    },
    CopyText(Row),
    Cost(Row),
    Compare {
        one: Row,
        other: Row,
        width: usize,
    },
    Relabel {
        row: Row,
        label: String,
    },
    /// Archive the branch that starts at a row, or unarchive it.
    Archive(Row),
    Navigate {
        row: Row,
        summary: SummaryChoice,
    },
    /// Find the next row that matches the query, forwards or backwards.
    Find {
        model: Arc<Model>,
        drawing: Arc<Drawing>,
        query: String,
        from: usize,
        is_down: bool,
        version: u64,
    },
    Pictures(Row),
    /// Look for secrets in the whole session.
    ScanSecrets,
    /// Read from the settings whether to ask about summaries.
    ReadSettings,
    Fork {
        row: Row,
        position: ForkPosition,
        kind: OperationKind,
    },
    /// Undo the last operation of this screen.
    Undo,
}

/// Whether a summary is written of the branch that the user leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SummaryChoice {
    None,
    /// A summary without instructions.
    Automatic,
    /// A summary that follows instructions.
    WithInstructions(String),
}

impl SummaryChoice {
    pub(super) fn has_summary(&self) -> bool {
        *self != Self::None
    }

    pub(super) fn instructions(&self) -> Option<String> {
        match self {
            Self::WithInstructions(instructions) => Some(instructions.clone()),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum TreeEvent {
    Loaded {
        model: Arc<Model>,
        survey: Option<Arc<Survey>>,
    },
    Surveyed {
        survey: Arc<Survey>,
        generation: u64,
    },
    LaidOut {
        drawing: Arc<Drawing>,
        /// The nodes where hidden archived branches start, with the number of entries in each.
        archived: HashMap<usize, usize>,
        version: u64,
    },
    /// The layout failed.
    LayoutFailed {
        message: String,
        version: u64,
    },
    Headlines {
        headlines: Vec<(u32, Headline)>,
        generation: u64,
    },
    Content {
        row: Row,
        lines: Vec<Line>,
    },
    TextToCopy(String),
    /// The matching row of a drawing; `None` if there is no match.
    Found {
        row: Option<usize>,
        version: u64,
    },
    Pictures(Vec<Drawable>),
    Scanned(Scanned),
    /// Whether the user leaves branches without being asked how.
    SettingsRead {
        skips_menu: bool,
    },
    Cost {
        row: Row,
        text: String,
    },
    Compared {
        title: String,
        left: Vec<Line>,
        right: Vec<Line>,
    },
    /// The session was changed: the message to show, whether it can be undone, and a text to be edited and sent again.
    Changed {
        message: String,
        can_undo: bool,
        editor_text: Option<String>,
    },
    /// An operation was undone, and the sessions that it had created are removed.
    Undone {
        message: String,
        removed: Vec<PathBuf>,
    },
    /// A new session was created.
    Forked {
        path: Option<PathBuf>,
        message: String,
        can_undo: bool,
    },
    Progress(String),
    Failed(String),
    /// The session cannot be shown at all.
    Broken(String),
}

/// The lane of navigation, which can be stopped while a summary is written.
pub(super) const NAVIGATE: Lane = 9;

/// The lane of the scan for secrets, which the user can stop.
pub(super) const SCAN: Lane = 13;

impl Job for TreeJob {
    type Event = TreeEvent;
    type Backend = TreeBackend;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Survey { .. } => 2,
            Self::Layout { .. } => 3,
            Self::Headlines { .. } => 4,
            Self::Content { .. } => 5,
            Self::CopyText(_) => 6,
            Self::Cost(_) => 7,
            Self::Compare { .. } => 8,
            Self::Navigate { .. } => NAVIGATE,
            Self::Find { .. } => 10,
            Self::Pictures(_) => 11,
            Self::ReadSettings => 12,
            Self::ScanSecrets => SCAN,
            Self::Relabel { .. } | Self::Archive(_) | Self::Fork { .. } | Self::Undo => CHANGES,
        }
    }

    fn is_brief(&self) -> bool {
        matches!(self, Self::Layout { .. } | Self::Headlines { .. } | Self::Content { .. })
    }

    fn is_change(&self) -> bool {
        self.lane() == CHANGES || matches!(self, Self::Navigate { .. })
    }

    fn run(self, backend: &TreeBackend, cancel: &Cancel, send: &mut dyn FnMut(TreeEvent)) {
        let is_loading = matches!(self, Self::Load);
        let layout = if let Self::Layout { version, .. } = &self { Some(*version) } else { None };
        let done = match self {
            Self::Load => backend.load(cancel, send),
            Self::Survey { model, generation } => backend.survey(&model, cancel).map(|survey| {
                send(TreeEvent::Surveyed { survey: Arc::new(survey), generation });
            }),
            Self::Layout { model, survey, filter, shows_archived, query, version } => {
                let view = (filter, shows_archived, query.as_str());
                backend.layout(&model, survey.as_deref(), view, cancel).map(|(drawing, archived)| {
                    send(TreeEvent::LaidOut { drawing: Arc::new(drawing), archived, version });
                })
            }
            Self::Headlines { rows, survey, generation } => backend
                .headlines(&rows, survey.as_deref())
                .map(|headlines| send(TreeEvent::Headlines { headlines, generation })),
            Self::Content { row, width } => {
                backend.content(row, width).map(|lines| send(TreeEvent::Content { row, lines }))
            }
            Self::CopyText(row) => backend
                .with_session(|session| Ok(entry_text(&session.entry_at(row)?)))
                .map(|text| send(TreeEvent::TextToCopy(text))),
            Self::Cost(row) => backend.cost(row, cancel).map(|text| send(TreeEvent::Cost { row, text })),
            Self::Compare { one, other, width } => backend.compare(one, other, width, cancel).map(&mut *send),
            Self::Relabel { row, label } => backend.relabel(row, &label).map(&mut *send),
            Self::Archive(row) => backend.archive(row).map(&mut *send),
            Self::Navigate { row, summary } => backend.navigate(row, &summary, cancel, send),
            Self::Find { model, drawing, query, from, is_down, version } => backend
                .find((&model, &drawing), (&query, from), is_down, cancel)
                .map(|row| send(TreeEvent::Found { row, version })),
            Self::Pictures(row) => backend
                .with_session(|session| Ok(entry_pictures(&session.entry_at(row)?)))
                .map(|pictures| send(TreeEvent::Pictures(pictures))),
            Self::ScanSecrets => backend.scan_secrets(cancel).map(|scanned| send(TreeEvent::Scanned(scanned))),
            Self::ReadSettings => {
                let skips_menu = backend.branch_summarizer().is_ok_and(|summarizer| summarizer.settings.skip_prompt);
                send(TreeEvent::SettingsRead { skips_menu });
                Ok(())
            }
            Self::Fork { row, position, kind } => backend.fork(row, position, kind).map(&mut *send),
            Self::Undo => {
                send(backend.undo());
                Ok(())
            }
        };
        // Another program changed lines that were already read, so the tree is read from the file again.
        let done = if matches!(done, Err(SessionError::Stale { .. })) { backend.load(cancel, send) } else { done };
        match done {
            Ok(()) | Err(SessionError::Cancelled) => {}
            Err(error) if is_loading => send(TreeEvent::Broken(chain(&error))),
            Err(error) => send(match layout {
                Some(version) => TreeEvent::LayoutFailed { message: chain(&error), version },
                None => TreeEvent::Failed(chain(&error)),
            }),
        }
    }
}
