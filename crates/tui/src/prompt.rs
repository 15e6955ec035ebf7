//! Full-screen prompts: a line to type, or a choice.

use crate::keymap::{Action, Keymap};
use crate::line_editor::LineEditor;
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

/// Draws a question with a line to type the answer into.
pub(crate) fn draw_line(canvas: &mut Canvas<'_>, keymap: &Keymap, title: &str, input: &LineEditor) {
    let area = canvas.area();
    let row = draw_title(canvas, title);
    let (line, column) = input.line("> ", area.width.into());
    canvas.line(area, row, &line);
    let x = u16::try_from(column).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
    canvas.cursor = Some((x, u16::try_from(row).unwrap_or(u16::MAX).min(area.height.saturating_sub(1))));
    let hint = format!(" {} · {}", keymap.hint(Action::Confirm, "confirm"), keymap.hint(Action::Cancel, "cancel"));
    canvas.line(area, row + 2, &Line::new().ink(Ink::DIM, &hint));
}

/// Draws a question with answers to choose from.
pub(crate) fn draw_choice(canvas: &mut Canvas<'_>, hint: &str, title: &str, choices: &[&str], choice: usize) {
    let area = canvas.area();
    let first = draw_title(canvas, title);
    for (row, text) in choices.iter().enumerate() {
        let is_selected = row == choice;
        let line = Line::new().ink(Ink::ACCENT, if is_selected { " › " } else { "   " }).text(text);
        if is_selected { canvas.selected_line(area, row + first, &line) } else { canvas.line(area, row + first, &line) }
    }
    canvas.line(area, first + choices.len() + 1, &Line::new().ink(Ink::DIM, hint));
}

/// Draws the question in as many lines as it needs. Returns the row for the answer.
fn draw_title(canvas: &mut Canvas<'_>, title: &str) -> usize {
    let area = canvas.area();
    canvas.rule(area, 0);
    let lines = Line::new().text(" ").ink(Ink::BOLD, title).wrapped(area.width.into(), 1);
    for (row, line) in lines.iter().enumerate() {
        canvas.line(area, row + 2, line);
    }
    lines.len() + 3
}
