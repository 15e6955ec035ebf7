//! The help screen, made of the keymap.

use crate::key::{Code, Key};
use crate::keymap::{ACTIONS, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

/// How far down one has read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Help {
    top: usize,
}

impl Help {
    /// Takes a key; says whether the help stays open.
    pub(crate) fn press(&mut self, key: Key) -> bool {
        match key.code {
            Code::Up => self.top = self.top.saturating_sub(1),
            Code::Down => self.top += 1,
            Code::PageUp => self.top = self.top.saturating_sub(10),
            Code::PageDown | Code::Char(' ') => self.top += 10,
            _ => return false,
        }
        true
    }

    pub(crate) fn render(self, canvas: &mut Canvas<'_>, keymap: &Keymap, place: Where, title: &str) {
        let area = canvas.area();
        let lines = lines(keymap, place, area.width.into());
        let room = usize::from(area.height).saturating_sub(3);
        let top = self.top.min(lines.len().saturating_sub(room));
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, title).ink(Ink::DIM, "  ↑/↓ move · any other key closes"));
        for (row, line) in lines.iter().skip(top).take(room).enumerate() {
            canvas.line(area, row + 2, line);
        }
    }
}

/// From how many columns on there is room for the ids of actions, which only settings need.
const WIDE: usize = 70;

fn lines(keymap: &Keymap, place: Where, width: usize) -> Vec<Line> {
    let n_keys = if width < WIDE { 14 } else { 26 };
    let of = |place: Where| {
        let here = ACTIONS.iter().filter(move |action| action.places.contains(&place));
        here.map(|action| {
            let keys = keymap.hints(action.action);
            if width < WIDE {
                let first = Line::new().ink(Ink::ACCENT, &keymap.hint(action.action)).pad(n_keys);
                return first.text(" ").text(action.what);
            }
            let line = Line::new().ink(Ink::ACCENT, &keys).pad(n_keys).text(action.what);
            line.ink(Ink::DIM, "  ").ink(Ink::DIM, action.id)
        })
    };
    let mut lines: Vec<Line> = of(place).collect();
    if place != Where::Reader {
        lines.push(Line::new());
        lines.push(Line::new().ink(Ink::BOLD, "In a line that is typed into"));
        lines.extend(of(Where::Line));
    }
    lines
}
