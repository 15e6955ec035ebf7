//! The help screen, generated from the keymap.

use crate::hint;
use crate::key::{Code, Key};
use crate::keymap::{ACTIONS, Action, KeyContext, Keymap};
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

/// The keys of a screen, and the scroll position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Help {
    context: KeyContext,
    top: usize,
}

/// Rows above and below the keys.
const FRAME_ROWS: usize = 3;

impl Help {
    pub(crate) fn new(context: KeyContext) -> Self {
        Self { context, top: 0 }
    }

    /// Handles a key; returns whether the help stays open.
    pub(crate) fn press(&mut self, key: Key, keymap: &Keymap, (width, height): (u16, u16)) -> bool {
        let last = lines(keymap, self.context, width.into()).len().saturating_sub(room(height));
        let page = room(height).saturating_sub(1).max(1);
        // The reader uses other actions for these keys, so the picker's are looked up.
        self.top = match (keymap.action(KeyContext::Picker, key), key.code) {
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
        let lines = lines(keymap, self.context, area.width.into());
        let room = room(area.height);
        let top = self.top.min(lines.len().saturating_sub(room));
        let title = match self.context {
            KeyContext::Picker => "Picker keys",
            KeyContext::Tree => "Tree keys",
            KeyContext::Fork => "Fork selector keys",
            KeyContext::Reader => "Reader keys",
            KeyContext::Trash => "Trash keys",
            KeyContext::LineEditor => "Line editor keys",
        };
        let left = usize::from(area.width).saturating_sub(title.len() + 2);
        let close = if left < 30 { "other keys close" } else { "any other key closes" };
        let hint = hint::fit(&["↑/↓ scroll".to_owned()], Some(close), left);
        canvas.line(area, 0, &Line::new().ink(Ink::BOLD, title).ink(Ink::DIM, &format!("  {hint}")));
        for (row, line) in lines.iter().skip(top).take(room).enumerate() {
            canvas.line(area, row + 2, line);
        }
    }
}

/// Returns the number of lines of keys that fit.
fn room(height: u16) -> usize {
    usize::from(height).saturating_sub(FRAME_ROWS).max(1)
}

/// Minimum width in columns for showing action ids, which only matter for settings.
const MIN_ID_COLUMNS: usize = 70;

fn lines(keymap: &Keymap, context: KeyContext, width: usize) -> Vec<Line> {
    let n_keys = if width < MIN_ID_COLUMNS { 15 } else { 26 };
    let of = |context: KeyContext| {
        let here = ACTIONS.iter().filter(move |action| action.contexts.contains(&context));
        here.flat_map(|action| {
            let keys =
                if width < MIN_ID_COLUMNS { keymap.key_name(action.action) } else { keymap.key_names(action.action) };
            let mut line = Line::new().ink(Ink::ACCENT, &keys);
            // Keys wider than their column are still separated from their description.
            line = if line.columns() < n_keys { line.pad(n_keys) } else { line.text("  ") };
            line = line.text(action.what);
            if width >= MIN_ID_COLUMNS {
                line = line.ink(Ink::DIM, "  ").ink(Ink::DIM, action.id);
            }
            line.wrapped(width, n_keys)
        })
    };
    let mut lines: Vec<Line> = of(context).collect();
    if context != KeyContext::Reader {
        lines.push(Line::new());
        lines.push(Line::new().ink(Ink::BOLD, "While typing"));
        lines.extend(of(KeyContext::LineEditor));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXTS: [KeyContext; 5] =
        [KeyContext::Picker, KeyContext::Tree, KeyContext::Fork, KeyContext::Reader, KeyContext::Trash];

    #[test]
    fn help_lines_are_separated_and_complete() {
        let keymap = Keymap::default();
        for (context, width) in CONTEXTS.iter().flat_map(|context| [40, 80, 120].map(|width| (*context, width))) {
            let text: Vec<String> = lines(&keymap, context, width).iter().map(Line::to_text).collect();
            let all = text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            for action in ACTIONS.iter().filter(|action| action.contexts.contains(&context)) {
                let keys = if width < MIN_ID_COLUMNS {
                    keymap.key_name(action.action)
                } else {
                    keymap.key_names(action.action)
                };
                assert!(all.contains(&format!("{keys} {}", action.what)), "{context:?} {width}: {keys}\n{text:#?}");
            }
            assert!(text.iter().all(|line| sessile_display::columns(line) <= width), "{context:?} {width}");
        }
    }

    #[test]
    fn scrolling_stops_at_the_end() {
        let (keymap, size) = (Keymap::default(), (80, 24));
        let key = |name| Key::named(name).unwrap();
        let mut help = Help::new(KeyContext::Picker);
        for _ in 0..50 {
            assert!(help.press(key("pageDown"), &keymap, size));
        }
        let end = help.top;
        assert_eq!(end, lines(&keymap, KeyContext::Picker, 80).len() - room(24));
        assert!(help.press(key("ctrl+p"), &keymap, size));
        assert_eq!(help.top, end - 1, "one key up is one line up");
        assert!(!help.press(key("escape"), &keymap, size));
    }
}
