//! Key and mouse handling of the tree.

use std::sync::Arc;

use sessile::branch::ForkPosition;
use sessile::format::outline::Row;
use sessile::operations::OperationKind;
use sessile::tree::Filter;

use super::job::{NAVIGATE, SummaryChoice, TreeJob};
use super::{FILTERS, INSTRUCTIONS, MIN_CONTENT_COLUMNS, Mode, SUMMARY, SUMMARY_CHOICES, Tree};
use crate::help::Help;
use crate::key::Key;
use crate::keymap::{Action, KeyContext};
use crate::line_editor::{LineEditor, QueryLine};
use crate::screen::{Effect, Effects, Mouse, MouseAction};
use crate::status::{NO_PICTURES, Status};

/// Whether an action changes something on disk at once. Such a key must not act while the user edits the query.
fn changes_at_once(action: Action) -> bool {
    matches!(action, Action::ForkHere | Action::CloneHere | Action::ArchiveBranch | Action::Undo)
}

impl Tree {
    pub(super) fn press(&mut self, key: Key) -> Effects<Self> {
        let action = self.keymap.action(KeyContext::Tree, key);
        match &mut self.mode {
            Mode::Tree => self.press_in_tree(key, action),
            Mode::Help(help) => {
                if !help.press(key, &self.keymap, self.size) {
                    self.mode = Mode::Tree;
                }
                Vec::new()
            }
            Mode::Compared { top, left, right, .. } => {
                let last = left.len().max(right.len()).saturating_sub(1);
                match action {
                    Some(Action::Up) => *top = top.saturating_sub(1),
                    Some(Action::Down) => *top = (*top + 1).min(last),
                    Some(Action::PageUp) => *top = top.saturating_sub(10),
                    Some(Action::PageDown) => *top = (*top + 10).min(last),
                    _ => self.mode = Mode::Tree,
                }
                Vec::new()
            }
            Mode::Label { row, input } => match self.keymap.line_answer(key) {
                Some(true) => {
                    let (row, label) = (*row, input.text().to_owned());
                    self.mode = Mode::Tree;
                    vec![Effect::Run(TreeJob::Relabel { row, label })]
                }
                Some(false) => self.back_to_tree(),
                None => {
                    input.press(key, &self.keymap);
                    Vec::new()
                }
            },
            Mode::Menu { row, choice } => {
                let (row, n_choices) = (*row, SUMMARY_CHOICES.len());
                match (action, self.keymap.answer(key)) {
                    (Some(Action::Up), _) => *choice = (*choice + n_choices - 1) % n_choices,
                    (Some(Action::Down), _) => *choice = (*choice + 1) % n_choices,
                    (_, Some(true)) => {
                        let choice = *choice;
                        return self.leave_branch(row, choice);
                    }
                    (_, Some(false)) => return self.back_to_tree(),
                    (_, None) => {}
                }
                Vec::new()
            }
            Mode::Instructions { row, input } => match self.keymap.line_answer(key) {
                Some(true) => {
                    let (row, text) = (*row, input.text().trim().to_owned());
                    self.navigate(
                        row,
                        if text.is_empty() { SummaryChoice::Automatic } else { SummaryChoice::WithInstructions(text) },
                    )
                }
                Some(false) => {
                    self.mode = Mode::Menu { row: *row, choice: INSTRUCTIONS };
                    Vec::new()
                }
                None => {
                    input.press(key, &self.keymap);
                    Vec::new()
                }
            },
            Mode::Summarising { .. } => match action {
                Some(Action::Cancel) => {
                    self.mode = Mode::Tree;
                    self.status.show("Cancelled; nothing was changed", self.now, 3);
                    vec![Effect::Stop(NAVIGATE)]
                }
                _ => Vec::new(),
            },
        }
    }

    /// Leaves the branch in one of the three ways.
    fn leave_branch(&mut self, row: Row, choice: usize) -> Effects<Self> {
        match choice {
            INSTRUCTIONS => {
                self.mode = Mode::Instructions { row, input: LineEditor::default() };
                Vec::new()
            }
            SUMMARY => self.navigate(row, SummaryChoice::Automatic),
            _ => self.navigate(row, SummaryChoice::None),
        }
    }

    fn back_to_tree(&mut self) -> Effects<Self> {
        self.mode = Mode::Tree;
        Vec::new()
    }

    fn navigate(&mut self, row: Row, summary: SummaryChoice) -> Effects<Self> {
        self.mode = if summary.has_summary() { Mode::Summarising { text: String::new() } } else { Mode::Tree };
        vec![Effect::Run(TreeJob::Navigate { row, summary })]
    }

    fn press_in_tree(&mut self, key: Key, action: Option<Action>) -> Effects<Self> {
        match action {
            Some(action) if self.is_editing && changes_at_once(action) => {
                if self.query_line().press_or_explain(key) {
                    self.search()
                } else {
                    Vec::new()
                }
            }
            Some(action) => self.act(action),
            None => self.type_key(key),
        }
    }

    fn type_key(&mut self, key: Key) -> Effects<Self> {
        if self.query_line().press(key) { self.search() } else { Vec::new() }
    }

    fn query_line(&mut self) -> QueryLine<'_> {
        let Self { query, is_editing, status, keymap, now, .. } = self;
        QueryLine { query, is_editing, status, keymap, now: *now }
    }

    pub(super) fn search(&mut self) -> Effects<Self> {
        if !self.query.is_empty() {
            self.query.text().clone_into(&mut self.last_query);
        }
        self.folded.clear();
        self.request_layout()
    }

    fn filter_by(&mut self, filter: Filter) -> Effects<Self> {
        self.filter = filter;
        self.folded.clear();
        self.request_layout()
    }

    /// Switches to a filter, or back to the default if it is already in force.
    fn toggle_filter(&mut self, filter: Filter) -> Effects<Self> {
        self.filter_by(if self.filter == filter { Filter::Default } else { filter })
    }

    fn cycle_filter(&mut self, step: usize) -> Effects<Self> {
        let at = FILTERS.iter().position(|filter| *filter == self.filter).unwrap_or_default();
        self.filter_by(FILTERS[(at + step) % FILTERS.len()])
    }

    fn act(&mut self, action: Action) -> Effects<Self> {
        let page = usize::from(self.layout().list.height).max(2) - 1;
        let (at, n_visible) = (self.position(), self.folds.len());
        match action {
            Action::Up if at == 0 => self.move_to(n_visible.saturating_sub(1)),
            Action::Up => self.move_to(at - 1),
            Action::Down if at + 1 >= n_visible => self.move_to(0),
            Action::Down => self.move_to(at + 1),
            Action::PageUp | Action::TreePageUp => self.move_to(at.saturating_sub(page)),
            Action::PageDown | Action::TreePageDown => self.move_to(at + page),
            Action::First => self.move_to(0),
            Action::Last => self.move_to(usize::MAX - 1),
            Action::FoldOrUp => self.fold_or_up(),
            Action::UnfoldOrDown => self.unfold_or_down(),
            Action::NextLabel => self.jump(true, Self::is_labelled),
            Action::PreviousLabel => self.jump(false, Self::is_labelled),
            Action::NextBranch => self.jump(true, |tree, row| tree.drawing.n_children(row) > 1),
            Action::PreviousBranch => self.jump(false, |tree, row| tree.drawing.n_children(row) > 1),
            Action::TreeNextHit => self.find(true),
            Action::TreePreviousHit => self.find(false),
            Action::TreePictures => self.show_pictures(),
            Action::TreeNextSecret => self.find_secret(true),
            Action::TreePreviousSecret => self.find_secret(false),
            Action::ToLeaf => {
                self.follow = self.model.as_ref().and_then(|model| model.leaf);
                self.request_layout()
            }
            Action::FilterDefault => self.filter_by(Filter::Default),
            Action::FilterNoTools => self.toggle_filter(Filter::NoTools),
            Action::FilterUserOnly => self.toggle_filter(Filter::UserOnly),
            Action::FilterLabeledOnly => self.toggle_filter(Filter::LabeledOnly),
            Action::FilterAll => self.toggle_filter(Filter::All),
            Action::FilterForward => self.cycle_filter(1),
            Action::FilterBackward => self.cycle_filter(FILTERS.len() - 1),
            Action::Cancel if self.secrets.is_scanning() => self.stop_scan(),
            Action::Cancel if self.compared_from.is_some() => {
                self.compared_from = None;
                Vec::new()
            }
            Action::Cancel if !self.query.is_empty() => {
                self.query.clear();
                self.is_editing = false;
                self.search()
            }
            Action::Cancel => vec![Effect::Leave(std::mem::take(&mut self.outcome))],
            Action::Confirm => self.confirm(),
            Action::Copy => self.for_selected(TreeJob::CopyText),
            Action::EditLabel => {
                if let (Some(node), Some(model)) = (self.selected_node(), &self.model) {
                    let label = model.label(node).map(|label| label.label.clone()).unwrap_or_default();
                    self.mode = Mode::Label { row: model.rows[node], input: LineEditor::with_text(&label) };
                }
                Vec::new()
            }
            Action::ArchiveBranch => self.for_selected(TreeJob::Archive),
            Action::ShowArchived => self.toggle_archived(),
            Action::ToggleLabelTime => {
                self.shows_label_time = !self.shows_label_time;
                Vec::new()
            }
            Action::ToggleContent => {
                self.shows_content = !self.shows_content;
                self.content_requested = None;
                if self.shows_content && self.size.0 < MIN_CONTENT_COLUMNS {
                    self.status.show(
                        format!("Showing the entry needs at least {MIN_CONTENT_COLUMNS} columns"),
                        self.now,
                        3,
                    );
                }
                self.request_visible()
            }
            Action::ContentUp => self.scroll_content(false),
            Action::ContentDown => self.scroll_content(true),
            Action::ToggleCost => {
                self.shows_cost = !self.shows_cost;
                self.request_visible()
            }
            Action::Compare => self.compare(),
            Action::ForkHere => {
                let is_question = self
                    .selected_node()
                    .zip(self.model.as_ref())
                    .is_some_and(|(it, model)| model.reopens_for_editing(it));
                let position = if is_question { ForkPosition::Before } else { ForkPosition::At };
                self.for_selected(|row| TreeJob::Fork { row, position, kind: OperationKind::Fork })
            }
            Action::CloneHere => {
                let (position, kind) = (ForkPosition::At, OperationKind::Clone);
                self.for_selected(|row| TreeJob::Fork { row, position, kind })
            }
            Action::Undo => vec![Effect::Run(TreeJob::Undo)],
            Action::Help => {
                self.mode = Mode::Help(Help::new(KeyContext::Tree));
                Vec::new()
            }
            Action::Suspend => vec![Effect::Suspend],
            _ => Vec::new(),
        }
    }

    fn toggle_archived(&mut self) -> Effects<Self> {
        self.shows_archived = !self.shows_archived;
        self.request_layout()
    }

    fn for_selected(&self, job: impl FnOnce(Row) -> TreeJob) -> Effects<Self> {
        self.selected_entry().map(|row| Effect::Run(job(row))).into_iter().collect()
    }

    fn is_labelled(&self, row: usize) -> bool {
        self.model.as_ref().is_some_and(|model| model.is_labelled(self.drawing.node(row)))
    }

    fn confirm(&mut self) -> Effects<Self> {
        let Some(row) = self.selected_entry() else { return Vec::new() };
        if Some(row) == self.model.as_ref().and_then(|model| model.leaf) {
            self.status.show("The session already continues from here", self.now, 3);
            return Vec::new();
        }
        if self.skips_menu {
            return self.navigate(row, SummaryChoice::None);
        }
        self.mode = Mode::Menu { row, choice: 0 };
        Vec::new()
    }

    /// Moves to the next match of the last query.
    fn find(&mut self, is_down: bool) -> Effects<Self> {
        let (Some(model), false) = (&self.model, self.drawing.is_empty()) else { return Vec::new() };
        if self.last_query.trim().is_empty() {
            self.status.show("No search yet: type to search", self.now, 3);
            return Vec::new();
        }
        let job = TreeJob::Find {
            model: Arc::clone(model),
            drawing: Arc::clone(&self.drawing),
            query: self.last_query.clone(),
            from: self.selected,
            is_down,
            version: self.version,
        };
        self.status.show("Searching …", self.now, 30);
        vec![Effect::Run(job)]
    }

    fn show_pictures(&mut self) -> Effects<Self> {
        if self.draws_pictures {
            return self.for_selected(TreeJob::Pictures);
        }
        self.status.show(NO_PICTURES, self.now, 6);
        Vec::new()
    }

    fn compare(&mut self) -> Effects<Self> {
        let Some(row) = self.selected_entry() else { return Vec::new() };
        let Some(one) = self.compared_from.take() else {
            self.compared_from = Some(row);
            self.status = Status::default();
            return Vec::new();
        };
        let width = usize::from(self.size.0 / 2).saturating_sub(3);
        vec![Effect::Run(TreeJob::Compare { one, other: row, width })]
    }

    /// Moves to the next row that satisfies `is_wanted`, forwards or backwards, folded or not.
    fn jump(&mut self, is_down: bool, is_wanted: fn(&Self, usize) -> bool) -> Effects<Self> {
        let at = self.selected;
        let found = if is_down {
            (at + 1..self.drawing.len()).find(|row| is_wanted(self, *row))
        } else {
            (0..at.min(self.drawing.len())).rev().find(|row| is_wanted(self, *row))
        };
        if let Some(row) = found {
            return self.move_to(self.folds.position(row));
        }
        self.status.show("There are no more", self.now, 2);
        Vec::new()
    }

    fn fold_or_up(&mut self) -> Effects<Self> {
        let at = self.selected;
        if at >= self.drawing.len() {
            return Vec::new();
        }
        if self.drawing.is_foldable(at) && !self.folds.is_folded(at) {
            return self.toggle_fold(at);
        }
        let above = std::iter::successors(self.drawing.parent(at), |row| self.drawing.parent(*row));
        let mut to = at;
        for row in above {
            to = row;
            if self.drawing.is_branch(row) {
                break;
            }
        }
        self.move_to(self.folds.position(to))
    }

    fn unfold_or_down(&mut self) -> Effects<Self> {
        let mut at = self.selected;
        if at >= self.drawing.len() {
            return Vec::new();
        }
        if self.archived.contains_key(&self.drawing.node(at)) {
            return self.toggle_archived();
        }
        if self.folds.is_folded(at) {
            return self.toggle_fold(at);
        }
        // In pre-order, the first or only child is the next row.
        while self.drawing.n_children(at) == 1 {
            at += 1;
        }
        let to = if self.drawing.n_children(at) > 1 { at + 1 } else { at };
        self.move_to(self.folds.position(to))
    }

    fn scroll_content(&mut self, is_down: bool) -> Effects<Self> {
        let n_lines = self.content.as_ref().map_or(0, |(row, lines)| lines.len() + self.secrets.n_details(*row));
        let last = n_lines.saturating_sub(1);
        self.content_top = if is_down { (self.content_top + 3).min(last) } else { self.content_top.saturating_sub(3) };
        Vec::new()
    }

    pub(super) fn handle_mouse(&mut self, mouse: Mouse) -> Effects<Self> {
        if !matches!(self.mode, Mode::Tree) {
            return Vec::new();
        }
        let layout = self.layout();
        let is_in = |area: ratatui_core::layout::Rect| area.contains((mouse.x, mouse.y).into());
        match mouse.action {
            MouseAction::WheelUp if layout.content.is_some_and(is_in) => self.scroll_content(false),
            MouseAction::WheelDown if layout.content.is_some_and(is_in) => self.scroll_content(true),
            MouseAction::WheelUp => self.move_to(self.position().saturating_sub(3)),
            MouseAction::WheelDown => self.move_to(self.position() + 3),
            MouseAction::Click if is_in(layout.list) => {
                let position = self.first_visible(layout.list.height.into()) + usize::from(mouse.y - layout.list.y);
                if position >= self.folds.len() {
                    return Vec::new();
                }
                // A click on the selected row goes there.
                if position == self.position() { self.confirm() } else { self.move_to(position) }
            }
            MouseAction::Click => Vec::new(),
        }
    }
}
