//! What the reader looks like.

use ratatui_core::layout::Rect;
use sessile_display::measure::number_words;

use super::Reader;
use crate::keymap::{Action, Where};
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

impl Reader {
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap, Where::Reader, "Keys of the reader");
        }
        let whole = canvas.area();
        let flags =
            [(self.follows, "  following"), (self.detail.tools, "  all output"), (self.detail.thinking, "  thoughts")];
        let flags: String = flags.iter().filter(|(is_on, _)| *is_on).map(|(_, words)| *words).collect();
        let title = if self.name.is_empty() { "Session" } else { &self.name };
        canvas.line(whole, 0, &Line::new().ink(Ink::NAMED.bold(), title).ink(Ink::ACCENT, &flags));
        let area = self.area();
        let (mut item, mut line) = self.top;
        for row in 0..self.room() {
            if item >= self.rows.len() {
                break;
            }
            match self.lines.get(&item) {
                Some(lines) => {
                    if let Some(line) = lines.get(line) {
                        canvas.line(area, row, &line.clone().marked(&self.query));
                    }
                }
                None => canvas.line(area, row, &Line::new().ink(Ink::DIM, "…")),
            }
            line += 1;
            if line >= self.height(item) {
                (item, line) = (item + 1, 0);
            }
        }
        self.draw_foot(canvas, Rect { y: whole.height.saturating_sub(1), height: 1, ..whole });
    }

    fn draw_foot(&self, canvas: &mut Canvas<'_>, area: Rect) {
        if let Some(input) = &self.search {
            let (line, column) = input.line("/", area.width.into());
            canvas.line(area, 0, &line);
            canvas.cursor = Some((u16::try_from(column).unwrap_or_default(), area.y));
            return;
        }
        if let Some((ink, words)) = self.status.shown() {
            return canvas.line(area, 0, &Line::new().ink(ink, words));
        }
        let key = |action| self.keymap.hint(action);
        let place = match (self.is_loaded, self.rows.len()) {
            (false, _) => "reading …".to_owned(),
            (true, n_rows) => {
                format!("{}/{}", number_words((self.top.0 + 1).min(n_rows) as u64), number_words(n_rows as u64))
            }
        };
        let hints = format!(
            "{place}  {} {} yours · {} search · {} output · {} thoughts · {} follow · {} editor · {} keys",
            key(Action::PreviousPrompt),
            key(Action::NextPrompt),
            key(Action::Search),
            key(Action::ToggleTools),
            key(Action::ToggleThinking),
            key(Action::Follow),
            key(Action::Edit),
            key(Action::Help),
        );
        canvas.line(area, 0, &Line::new().ink(Ink::DIM, &hints));
    }
}
