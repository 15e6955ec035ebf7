//! The tree's jobs on other threads.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use sessile::cause::chain;
use sessile::outline::Row;
use sessile::tree::Filter;
use sessile::{Cancel, ForkPosition, OperationKind, SessionError};
use sessile_display::drawing::Drawing;
use sessile_display::words::Words;

use super::desk::Desk;
use super::model::{Model, Survey};
use crate::content::{Drawable, entry_pictures, entry_text};
use crate::paint::Line;
use crate::part::{CHANGES, Job, Lane};

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
    Words {
        rows: Vec<(u32, Row)>,
        survey: Option<Arc<Survey>>,
        generation: u64,
    },
    Content {
        row: Row,
        width: usize,
    },
    Text(Row),
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
        going: Going,
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
    /// Ask the settings how branches are left.
    Ask,
    Fork {
        row: Row,
        position: ForkPosition,
        kind: OperationKind,
    },
    /// Undoes what was done last on this screen.
    Undo,
}

/// How the user leaves a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    Plainly,
    Summarised,
    /// With a summary that follows instructions.
    Instructed(String),
}

impl Going {
    pub(super) fn is_summarised(&self) -> bool {
        *self != Self::Plainly
    }

    pub(super) fn instructions(&self) -> Option<String> {
        match self {
            Self::Instructed(instructions) => Some(instructions.clone()),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum TreeNews {
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
        /// The places where hidden archived branches start, with the number of entries in each.
        archived: HashMap<usize, usize>,
        version: u64,
    },
    /// The layout failed.
    NotLaidOut {
        words: String,
        version: u64,
    },
    Words {
        words: Vec<(u32, Words)>,
        generation: u64,
    },
    Content {
        row: Row,
        lines: Vec<Line>,
    },
    Text(String),
    /// The matching row of a drawing; `None` if there is no match.
    Found {
        row: Option<usize>,
        version: u64,
    },
    Pictures(Vec<Drawable>),
    /// Whether the user leaves branches without being asked how.
    Asked {
        skips_menu: bool,
    },
    Cost {
        row: Row,
        words: String,
    },
    Compared {
        title: String,
        left: Vec<Line>,
        right: Vec<Line>,
    },
    /// The session was changed: the message to show, whether it can be undone, and a text to be edited and sent again.
    Changed {
        words: String,
        can_undo: bool,
        editor_text: Option<String>,
    },
    /// An operation was undone, and the sessions that it had created are gone.
    Undone {
        words: String,
        gone: Vec<PathBuf>,
    },
    /// A new session was created.
    Forked {
        path: Option<PathBuf>,
        words: String,
        can_undo: bool,
    },
    Progress(String),
    Failed(String),
    /// The session cannot be shown at all.
    Broken(String),
}

/// The lane of navigation, which can be stopped while a summary is written.
pub(super) const NAVIGATE: Lane = 9;

impl Job for TreeJob {
    type News = TreeNews;
    type Desk = Desk;

    fn lane(&self) -> Lane {
        match self {
            Self::Load => 1,
            Self::Survey { .. } => 2,
            Self::Layout { .. } => 3,
            Self::Words { .. } => 4,
            Self::Content { .. } => 5,
            Self::Text(_) => 6,
            Self::Cost(_) => 7,
            Self::Compare { .. } => 8,
            Self::Navigate { .. } => NAVIGATE,
            Self::Find { .. } => 10,
            Self::Pictures(_) => 11,
            Self::Ask => 12,
            Self::Relabel { .. } | Self::Archive(_) | Self::Fork { .. } | Self::Undo => CHANGES,
        }
    }

    fn is_brief(&self) -> bool {
        matches!(self, Self::Layout { .. } | Self::Words { .. } | Self::Content { .. })
    }

    fn is_change(&self) -> bool {
        self.lane() == CHANGES || matches!(self, Self::Navigate { .. })
    }

    fn run(self, desk: &Desk, cancel: &Cancel, tell: &mut dyn FnMut(TreeNews)) {
        let is_loading = matches!(self, Self::Load);
        let layout = if let Self::Layout { version, .. } = &self { Some(*version) } else { None };
        let done = match self {
            Self::Load => desk.load(cancel, tell),
            Self::Survey { model, generation } => desk.survey(&model, cancel).map(|survey| {
                tell(TreeNews::Surveyed { survey: Arc::new(survey), generation });
            }),
            Self::Layout { model, survey, filter, shows_archived, query, version } => {
                let shown = (filter, shows_archived, query.as_str());
                desk.layout(&model, survey.as_deref(), shown, cancel).map(|(drawing, archived)| {
                    tell(TreeNews::LaidOut { drawing: Arc::new(drawing), archived, version });
                })
            }
            Self::Words { rows, survey, generation } => {
                desk.words(&rows, survey.as_deref()).map(|words| tell(TreeNews::Words { words, generation }))
            }
            Self::Content { row, width } => {
                desk.content(row, width).map(|lines| tell(TreeNews::Content { row, lines }))
            }
            Self::Text(row) => {
                desk.with(|session| Ok(entry_text(&session.entry_at(row)?))).map(|text| tell(TreeNews::Text(text)))
            }
            Self::Cost(row) => desk.cost(row, cancel).map(|words| tell(TreeNews::Cost { row, words })),
            Self::Compare { one, other, width } => desk.compare(one, other, width, cancel).map(&mut *tell),
            Self::Relabel { row, label } => desk.relabel(row, &label).map(&mut *tell),
            Self::Archive(row) => desk.archive(row).map(&mut *tell),
            Self::Navigate { row, going } => desk.navigate(row, &going, cancel, tell),
            Self::Find { model, drawing, query, from, is_down, version } => desk
                .find((&model, &drawing), (&query, from), is_down, cancel)
                .map(|row| tell(TreeNews::Found { row, version })),
            Self::Pictures(row) => desk
                .with(|session| Ok(entry_pictures(&session.entry_at(row)?)))
                .map(|pictures| tell(TreeNews::Pictures(pictures))),
            Self::Ask => {
                let skips_menu = desk.summing_up().is_ok_and(|summing_up| summing_up.settings.skip_prompt);
                tell(TreeNews::Asked { skips_menu });
                Ok(())
            }
            Self::Fork { row, position, kind } => desk.fork(row, position, kind).map(&mut *tell),
            Self::Undo => {
                tell(desk.undo());
                Ok(())
            }
        };
        // Another program changed lines that were already read, so the tree is read from the file again.
        let done = if matches!(done, Err(SessionError::Stale { .. })) { desk.load(cancel, tell) } else { done };
        match done {
            Ok(()) | Err(SessionError::Cancelled) => {}
            Err(error) if is_loading => tell(TreeNews::Broken(chain(&error))),
            Err(error) => tell(match layout {
                Some(version) => TreeNews::NotLaidOut { words: chain(&error), version },
                None => TreeNews::Failed(chain(&error)),
            }),
        }
    }
}
