//! The help screen, generated from the keymap.

use crate::hint;
use crate::key::{Code, Key};
use crate::keymap::{ACTIONS, Action, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

/// The keys of a screen, and the scroll position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Help {
    place: Where,
    top: usize,
}

/// Rows above and below the keys.
const FRAME: usize = 3;

impl Help {
    pub(crate) fn of(place: Where) -> Self {
        Self { place, top: 0 }
    }

    /// Handles a key; returns whether the help stays open.
    pub(crate) fn press(&mut self, key: Key, keymap: &Keymap, (width, height): (u16, u16)) -> bool {
        let last = lines(keymap, self.place, width.into()).len().saturating_sub(room(height));
        let page = room(height).saturating_sub(1).max(1);
        // The reader uses other actions for these keys, so the picker's are looked up.
        self.top = match (keymap.action(Where::Picker, key), key.code) {
            (Some(Action::Up), _) => self.top.saturating_sub(1),
            (Some(Action::Down), _) => self.top + 1,
            (Some(Action::PageUp), _) => self.top.saturating_sub(page),
            (Some(Action::PageDown), _) | (_, Code::Char(' ')) => self.top + page,
            _ => return false,
        };
        self.top = self.top.min(last);
        true
    }

    pub(crate) fn render(self, canvas: &mut Canvas<'_>, keymap: &Keymap) {
        let area = canvas.area();
        let lines = lines(keymap, self.place, area.width.into());
        let room = room(area.height);
        let top = self.top.min(lines.len().saturating_sub(room));
        let title = match self.place {
            Where::Picker => "Keys of the picker",
            Where::Tree => "Keys of the tree",
            Where::Fork => "Keys of the fork selector",
            Where::Reader => "Keys of the reader",
            Where::Trash => "Keys of the trash",
            Where::Line => "Keys of a line",
        };
        let left = usize::from(area.width).saturating_sub(title.len() + 2);
        let close = if left < 30 { "other keys close" } else { "any other key closes" };
        let hint = hint::fitted(&["↑/↓ move".to_owned()], Some(close), left);
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, title).ink(Ink::DIM, &format!("  {hint}")));
        for (row, line) in lines.iter().skip(top).take(room).enumerate() {
            canvas.line(area, row + 2, line);
        }
    }
}

/// Returns the number of lines of keys that fit.
fn room(height: u16) -> usize {
    usize::from(height).saturating_sub(FRAME).max(1)
}

/// Minimum width in columns for showing action ids, which only matter for settings.
const WIDE: usize = 70;

fn lines(keymap: &Keymap, place: Where, width: usize) -> Vec<Line> {
    let n_keys = if width < WIDE { 15 } else { 26 };
    let of = |place: Where| {
        let here = ACTIONS.iter().filter(move |action| action.places.contains(&place));
        here.flat_map(|action| {
            let keys = if width < WIDE { keymap.hint(action.action) } else { keymap.hints(action.action) };
            let mut line = Line::new().ink(Ink::ACCENT, &keys);
            // Keys wider than their column are still separated from their description.
            line = if line.columns() < n_keys { line.pad(n_keys) } else { line.text("  ") };
            line = line.text(action.what);
            if width >= WIDE {
                line = line.ink(Ink::DIM, "  ").ink(Ink::DIM, action.id);
            }
            line.wrapped(width, n_keys)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: [Where; 5] = [Where::Picker, Where::Tree, Where::Fork, Where::Reader, Where::Trash];

    #[test]
    fn keys_and_what_they_do_are_apart_and_whole() {
        let keymap = Keymap::default();
        for (place, width) in PLACES.iter().flat_map(|place| [40, 80, 120].map(|width| (*place, width))) {
            let text: Vec<String> = lines(&keymap, place, width).iter().map(Line::to_text).collect();
            let all = text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            for action in ACTIONS.iter().filter(|action| action.places.contains(&place)) {
                let keys = if width < WIDE { keymap.hint(action.action) } else { keymap.hints(action.action) };
                assert!(all.contains(&format!("{keys} {}", action.what)), "{place:?} {width}: {keys}\n{text:#?}");
            }
            assert!(text.iter().all(|line| sessile_display::columns(line) <= width), "{place:?} {width}");
        }
    }

    #[test]
    fn reading_on_stops_at_the_end() {
        let (keymap, size) = (Keymap::default(), (80, 24));
        let key = |name| Key::named(name).unwrap();
        let mut help = Help::of(Where::Picker);
        for _ in 0..50 {
            assert!(help.press(key("pageDown"), &keymap, size));
        }
        let end = help.top;
        assert_eq!(end, lines(&keymap, Where::Picker, 80).len() - room(24));
        assert!(help.press(key("ctrl+p"), &keymap, size));
        assert_eq!(help.top, end - 1, "one key up is one line up");
        assert!(!help.press(key("escape"), &keymap, size));
    }
}
