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
            [(self.follows, "  following"), (self.detail.tools, "  all output"), (self.detail.thinking, "  thinking")];
        let flags: String = flags.iter().filter(|(is_on, _)| *is_on).map(|(_, text)| *text).collect();
        let title = if self.name.is_empty() { "Session" } else { &self.name };
        canvas.line(whole, 0, &Line::new().ink(Ink::NAMED.bold(), title).ink(Ink::ACCENT, &flags));
        let area = self.area();
        let (mut item, mut line) = self.top;
        for row in 0..self.room() {
            if item >= self.rows.len() {
                break;
            }
            let n_details = self.n_details(item);
            match self.lines.get(&item) {
                Some(_) if line < n_details => {
                    if let Some(line) = self.details(item).get(line) {
                        canvas.line(area, row, line);
                    }
                }
                Some(lines) => {
                    if let Some(line) = lines.get(line - n_details) {
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
        if let Some((ink, text)) = self.status.message() {
            return canvas.notice_at_end(ink, text);
        }
        let position = match (self.is_loaded, self.rows.len()) {
            (false, _) => "reading …".to_owned(),
            (true, n_rows) => {
                format!("{}/{}", number_words((self.top.0 + 1).min(n_rows) as u64), number_words(n_rows as u64))
            }
        };
        let mut line = Line::new().ink(Ink::DIM, &format!("{position}  "));
        if let Some(text) = self.match_count_text() {
            line.push(Ink::ACCENT, &format!("{text}  "));
        }
        let key_hint = |action, what| self.keymap.hint(action, what);
        let (back, on) = (self.keymap.key_name(Action::PreviousPrompt), self.keymap.key_name(Action::NextPrompt));
        let mut hints = vec![
            format!("{back} {on} prompts"),
            key_hint(Action::Search, "search"),
            key_hint(Action::ToggleTools, "output"),
            key_hint(Action::ToggleThinking, "thinking"),
            key_hint(Action::Follow, "follow"),
            key_hint(Action::Edit, "editor"),
        ];
        if !self.query.is_empty() {
            let next =
                format!("{} {} next", self.keymap.key_name(Action::NextHit), self.keymap.key_name(Action::PreviousHit));
            hints.splice(..0, [next, key_hint(Action::Cancel, "end search")]);
        }
        let room = usize::from(area.width).saturating_sub(line.columns());
        line.push(Ink::DIM, &hint::fit(&hints, Some(&key_hint(Action::Help, "keys")), room));
        canvas.line(area, 0, &line);
    }
}
