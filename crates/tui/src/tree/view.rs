//! Drawing of the tree.

use ratatui_core::layout::Rect;
use sessile::date::{Timestamp, to_iso};
use sessile::tree::Filter;
use sessile_display::drawing::{Fold, LEVEL_COLUMNS};
use sessile_display::measure::{counted, number_words, short_time};

use super::{Mode, SUMMARY_CHOICES, Tree};
use crate::keymap::Action;
use crate::paint::{Canvas, Line};
use crate::secrets::MARK;
use crate::theme::Ink;
use crate::{hint, prompt};

/// The areas of the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    head: Rect,
    search: Rect,
    pub(crate) list: Rect,
    foot: Rect,
    pub(crate) content: Option<Rect>,
}

/// Minimum height in lines for hints and rules between the areas.
const MIN_ROOMY_ROWS: u16 = 16;

impl Layout {
    pub(crate) fn new((width, height): (u16, u16), has_content: bool) -> Self {
        let is_roomy = height >= MIN_ROOMY_ROWS;
        let n_head = if is_roomy { 3 } else { 1 };
        let below = n_head + 1 + u16::from(is_roomy);
        let list_width = if has_content { width / 2 } else { width };
        let at = |y: u16, width: u16, height: u16| Rect { x: 0, y, width, height };
        let list_height = height.saturating_sub(below + 1);
        let content =
            Rect { x: list_width + 1, y: below, width: width.saturating_sub(list_width + 1), height: list_height };
        Self {
            head: at(0, width, n_head),
            search: at(n_head, width, 1),
            list: at(below, list_width, list_height),
            foot: at(height.saturating_sub(1), width, 1),
            content: has_content.then_some(content),
        }
    }
}

/// The width of the cursor in columns.
const CURSOR_COLUMNS: usize = 2;

impl Tree {
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        match &self.mode {
            Mode::Help(help) => help.render(canvas, &self.keymap),
            Mode::Compared { title, left, right, top } => self.draw_compared(canvas, title, (left, right), *top),
            Mode::Label { input, .. } => prompt::draw_line(canvas, &self.keymap, "Label (empty to remove)", input),
            Mode::Instructions { input, .. } => {
                let title = "What should the summary focus on?";
                prompt::draw_line(canvas, &self.keymap, title, input);
            }
            Mode::Menu { choice, .. } => self.draw_menu(canvas, *choice),
            Mode::Summarising { text } => self.draw_progress(canvas, text),
            Mode::Tree => self.draw_tree(canvas),
        }
    }

    fn draw_menu(&self, canvas: &mut Canvas<'_>, choice: usize) {
        let key = |action| self.keymap.key_name(action);
        let hint = format!(" {}/y confirm · {}/n cancel", key(Action::Confirm), key(Action::Cancel));
        let title = "Continue from here: summarise the branch you leave?";
        prompt::draw_choice(canvas, &hint, title, &SUMMARY_CHOICES, choice);
    }

    fn draw_progress(&self, canvas: &mut Canvas<'_>, text: &str) {
        let area = canvas.area();
        canvas.rule(area, 0);
        let hint = format!("  {} cancel", self.keymap.key_name(Action::Cancel));
        canvas.line(area, 2, &Line::new().text(" ").ink(Ink::BOLD, "Summarising …").ink(Ink::DIM, &hint));
        let lines = sessile_display::wrapped(text, usize::from(area.width).saturating_sub(2));
        let room = usize::from(area.height).saturating_sub(5);
        let first = lines.len().saturating_sub(room);
        for (row, line) in lines.iter().skip(first).enumerate() {
            canvas.line(area, row + 4, &Line::new().ink(Ink::DIM, " ").text(line));
        }
    }

    fn draw_tree(&self, canvas: &mut Canvas<'_>) {
        let layout = self.layout();
        self.draw_head(canvas, layout.head);
        let (line, column) = self.query.line("Search: ", layout.search.width.into());
        canvas.line(layout.search, 0, &line);
        if self.is_editing {
            canvas.cursor = Some((u16::try_from(column).unwrap_or_default(), layout.search.y));
        }
        if layout.list.y > layout.search.y + 1 {
            canvas.rule(canvas.area(), usize::from(layout.search.y) + 1);
        }
        let height = usize::from(layout.list.height);
        if self.drawing.is_empty() {
            let is_waiting = self.is_laying_out || self.model.is_none();
            let text = if is_waiting { "  Reading …" } else { "  No matching entries" };
            canvas.line(layout.list, 0, &Line::new().ink(Ink::DIM, text));
        }
        let width = usize::from(layout.list.width);
        let scroll = self.scroll(width);
        let first = self.first_visible(height);
        for (row, position) in (first..self.folds.len()).take(height).enumerate() {
            let at = self.folds.row(position);
            let line = self.row_line(at, width, scroll);
            if at == self.selected {
                canvas.selected_line(layout.list, row, &line);
            } else {
                canvas.line(layout.list, row, &line);
            }
        }
        self.draw_foot(canvas, layout.foot);
        if let Some(area) = layout.content {
            canvas.divider(area.x, area);
            let text = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
            if let Some((row, lines)) = &self.content
                && Some(*row) == self.selected_entry()
            {
                let details = self.secrets.details(*row, text.width.into());
                let lines = details.iter().chain(lines).skip(self.content_top).take(height);
                for (row, line) in lines.enumerate() {
                    canvas.line(text, row, line);
                }
            }
        }
        // On a small screen, the status matters more than the title.
        let row = usize::from(layout.head.height > 1);
        if let Some((ink, text)) = self.status.message() {
            canvas.notice(row, ink, text);
        } else if self.compared_from.is_some() {
            let (next, stop) = (self.keymap.key_name(Action::Compare), self.keymap.hint(Action::Cancel, "cancel"));
            canvas.notice(row, Ink::ACCENT, &format!("Select the end of the other branch, then press {next} · {stop}"));
        } else if let Some(text) = self.letter_hint() {
            canvas.notice(row, Ink::ACCENT, &text);
        }
    }

    /// Returns the hint for a letter that is a command in pi.
    fn letter_hint(&self) -> Option<String> {
        let (action, what) = match self.query.text() {
            "L" => (Action::EditLabel, "edits the label"),
            "T" => (Action::ToggleLabelTime, "shows when labels were set"),
            _ => return None,
        };
        Some(self.keymap.hint(action, what))
    }

    fn draw_head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let name = self.model.as_ref().map(|model| model.name.as_str()).unwrap_or_default();
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, "Session tree").ink(Ink::NAMED, &format!("  {name}")));
        let width = usize::from(area.width);
        let key_hints = |actions: &[(Action, &str)]| -> Vec<String> {
            actions.iter().map(|(action, what)| self.keymap.hint(*action, what)).collect()
        };
        let first = [
            (Action::Confirm, "continue from here"),
            (Action::FoldOrUp, "fold"),
            (Action::UnfoldOrDown, "unfold"),
            (Action::EditLabel, "label"),
            (Action::Copy, "copy"),
        ];
        let second = [
            (Action::FilterForward, "filter"),
            (Action::ForkHere, "fork"),
            (Action::CloneHere, "clone"),
            (Action::NextBranch, "next branch"),
            (Action::Compare, "compare"),
            (Action::ArchiveBranch, "archive"),
            (Action::ToggleCost, "cost"),
            (Action::Undo, "undo"),
        ];
        let help = self.keymap.hint(Action::Help, "keys");
        canvas.line(area, 1, &Line::new().ink(Ink::DIM, &hint::fit(&key_hints(&first), Some(&help), width)));
        canvas.line(area, 2, &Line::new().ink(Ink::DIM, &hint::fit(&key_hints(&second), None, width)));
    }

    /// Returns the columns hidden on the left: no more than needed to read the selected row.
    fn scroll(&self, width: usize) -> usize {
        if self.selected >= self.drawing.len() {
            return 0;
        }
        let lead = self.drawing.level(self.selected) * LEVEL_COLUMNS;
        let text = self.text_line(self.selected).columns();
        let room = width.saturating_sub(CURSOR_COLUMNS);
        (lead + text.min(room / 2)).saturating_sub(room).min(lead)
    }

    /// Renders a row in pi's layout, starting at a column.
    pub(super) fn row_line(&self, at: usize, width: usize, scroll: usize) -> Line {
        let cursor = Line::new().ink(Ink::ACCENT, if at == self.selected { "› " } else { "  " });
        let room = width.saturating_sub(CURSOR_COLUMNS);
        let first = scroll / LEVEL_COLUMNS;
        let levels = first..(scroll + room) / LEVEL_COLUMNS + 1;
        let fold = match (self.drawing.is_foldable(at), self.folds.is_folded(at)) {
            (_, true) => Fold::Folded,
            (true, false) => Fold::Open,
            (false, false) => Fold::None,
        };
        let is_visible = self.drawing.level(at) <= levels.end;
        let mut line = Line::new().ink(Ink::DIM, &self.drawing.cells(at, levels, fold).concat());
        if is_visible {
            if fold == Fold::Folded && !self.drawing.is_connected(at) {
                line.push(Ink::DIM, "⊞ ");
            }
            // The part scrolled out of view was never added and need not be cut.
            let skipped = scroll.saturating_sub(first * LEVEL_COLUMNS);
            let passed = first.saturating_sub(self.drawing.level(at)) * LEVEL_COLUMNS;
            // The compaction mark is visible however long the text is.
            let mark = self.kept_mark(at);
            let text_room = room.saturating_sub(mark.columns());
            line = line.join(self.text_line(at)).columns_from(skipped + passed, text_room).join(mark);
        }
        cursor.join(line)
    }

    /// Returns the text of a row after its connector.
    fn text_line(&self, at: usize) -> Line {
        let node = self.drawing.node(at);
        let Some(model) = &self.model else { return Line::new() };
        let mut line = Line::new();
        if model.is_on_path(node) {
            line.push(Ink::ACCENT, "• ");
        }
        if let Some(n_entries) = self.archived.get(&node) {
            line.push(Ink::DIM, &format!("[archived, {}] ", counted(*n_entries, "entry", "entries")));
        } else if model.is_archived(node) {
            line.push(Ink::DIM, "[archived] ");
        }
        if self.secrets.has(model.rows[node]) {
            line.push(Ink::BAD, MARK);
        }
        if let Some(label) = model.label(node) {
            line.push(Ink::NAMED, &format!("[{}] ", label.label));
            if let Some(time) = label.time.filter(|_| self.shows_label_time) {
                let wall = |time: Timestamp| to_iso(time.saturating_add_ms(self.offset_ms));
                line.push(Ink::DIM, &format!("{} ", short_time(&wall(self.now), &wall(time))));
            }
        }
        match u32::try_from(node).ok().and_then(|node| self.headlines.get(&node)) {
            Some(headline) => {
                let is_selected = at == self.selected;
                let ink = Ink::of(headline.tone);
                line.push(if is_selected { ink.bold() } else { ink }, &headline.lead);
                line.push(if is_selected { Ink::BOLD } else { Ink::PLAIN }, &headline.text);
            }
            None => line.push(Ink::DIM, "…"),
        }
        line
    }

    /// Returns the mark after the text of the first entry that a compaction keeps.
    fn kept_mark(&self, at: usize) -> Line {
        let node = self.drawing.node(at);
        let is_kept_from = self.model.as_ref().is_some_and(|model| model.is_kept_from(node));
        if is_kept_from { Line::new().ink(Ink::ACCENT, "  ✂") } else { Line::new() }
    }

    fn draw_foot(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let at = if self.drawing.is_empty() { 0 } else { self.position() + 1 };
        let mut text = format!("  ({}/{})", number_words(at as u64), number_words(self.folds.len() as u64));
        text.push_str(match self.filter {
            Filter::Default => "",
            Filter::NoTools => " [no-tools]",
            Filter::UserOnly => " [user]",
            Filter::LabeledOnly => " [labeled]",
            Filter::All => " [all]",
        });
        if self.shows_label_time {
            text.push_str(" [+label time]");
        }
        if self.shows_archived {
            text.push_str(" [+archived]");
        }
        if self.is_laying_out {
            text.push_str(if self.query.is_empty() { "  reading …" } else { "  searching …" });
        } else if self.model.is_some() && self.survey.is_none() {
            text.push_str("  reading answers …");
        }
        let mut line = Line::new().ink(Ink::DIM, &text);
        if let Some((row, text)) = &self.cost
            && self.shows_cost
            && Some(*row) == self.selected_entry()
        {
            line.push(Ink::ACCENT, &format!("  up to here: {text}"));
        }
        if self.layout().head.height == 1 {
            // A small screen has no line of hints above.
            let hints = [self.keymap.hint(Action::Confirm, "go here")];
            let room = usize::from(area.width).saturating_sub(line.columns() + 2);
            let hints = hint::fit(&hints, Some(&self.keymap.hint(Action::Help, "keys")), room);
            line.push(Ink::DIM, &format!("  {hints}"));
        }
        canvas.line(area, 0, &line);
    }
}

impl Tree {
    /// Draws two branches side by side.
    fn draw_compared(&self, canvas: &mut Canvas<'_>, title: &str, (left, right): (&[Line], &[Line]), top: usize) {
        let area = canvas.area();
        let half = area.width / 2;
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, "Two branches").ink(Ink::DIM, &format!("  {title}")));
        let both = |one, other, what| format!("{} {} {what}", self.keymap.key_name(one), self.keymap.key_name(other));
        let hints = [both(Action::Up, Action::Down, "scroll"), both(Action::PageUp, Action::PageDown, "page")];
        let back = self.keymap.hint(Action::Cancel, "back");
        canvas.line(area, 1, &Line::new().ink(Ink::DIM, &hint::fit(&hints, Some(&back), area.width.into())));
        canvas.rule(area, 2);
        let room = area.height.saturating_sub(3);
        let column = |x: u16, width: u16| Rect { x, y: 3, width, height: room };
        let width = half.saturating_sub(1);
        for (area, lines) in [(column(0, width), left), (column(half + 1, width), right)] {
            for (row, line) in lines.iter().skip(top).take(room.into()).enumerate() {
                canvas.line(area, row, line);
            }
        }
        canvas.divider(half, column(0, area.width));
    }
}
