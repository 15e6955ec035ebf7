//! Drawing of the reader.

use ratatui_core::layout::Rect;
use sessile_display::measure::number_words;

use super::Reader;
use crate::hint;
use crate::keymap::Action;
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

impl Reader {
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap);
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
            return canvas.notice_at_end(ink, words);
        }
        let place = match (self.is_loaded, self.rows.len()) {
            (false, _) => "reading …".to_owned(),
            (true, n_rows) => {
                format!("{}/{}", number_words((self.top.0 + 1).min(n_rows) as u64), number_words(n_rows as u64))
            }
        };
        let mut line = Line::new().ink(Ink::DIM, &format!("{place}  "));
        if let Some(words) = self.count_words() {
            line.push(Ink::ACCENT, &format!("{words}  "));
        }
        let told = |action, what| self.keymap.told(action, what);
        let (back, on) = (self.keymap.hint(Action::PreviousPrompt), self.keymap.hint(Action::NextPrompt));
        let mut hints = vec![
            format!("{back} {on} yours"),
            told(Action::Search, "search"),
            told(Action::ToggleTools, "output"),
            told(Action::ToggleThinking, "thoughts"),
            told(Action::Follow, "follow"),
            told(Action::Edit, "editor"),
        ];
        if !self.query.is_empty() {
            let next = format!("{} {} next", self.keymap.hint(Action::NextHit), self.keymap.hint(Action::PreviousHit));
            hints.splice(..0, [next, told(Action::Cancel, "ends the search")]);
        }
        let room = usize::from(area.width).saturating_sub(line.columns());
        line.push(Ink::DIM, &hint::fitted(&hints, Some(&told(Action::Help, "keys")), room));
        canvas.line(area, 0, &line);
    }
}
