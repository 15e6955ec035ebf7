//! Draws text on cells. The only way for text from sessions to reach the screen.
//!
//! A [`Line`] sanitises all text that it takes. Each character gets its own cells, so a sequence that the terminal
//! measures differently cannot move the text after it.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use sessile_display::{clean, columns, first_columns};
use unicode_width::UnicodeWidthChar;

use crate::theme::{Ink, Theme};

/// A line of sanitised, styled pieces of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pieces: Vec<(Ink, String)>,
    columns: usize,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Sanitises text and appends it.
    pub(crate) fn ink(mut self, ink: Ink, text: &str) -> Self {
        self.push(ink, text);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.ink(Ink::PLAIN, text)
    }

    pub(crate) fn push(&mut self, ink: Ink, text: &str) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        self.columns += columns(&text);
        match self.pieces.last_mut().filter(|(last, _)| *last == ink) {
            Some((_, piece)) => piece.push_str(&text),
            None => self.pieces.push((ink, text)),
        }
    }

    /// Appends spaces up to a column.
    pub(crate) fn pad(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.columns);
        self.text(&" ".repeat(missing))
    }

    /// Appends another line.
    pub(crate) fn join(mut self, other: Self) -> Self {
        for (ink, piece) in other.pieces {
            self.push(ink, &piece);
        }
        self
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn to_text(&self) -> String {
        self.pieces.iter().map(|(_, piece)| piece.as_str()).collect()
    }

    /// Shortens the line to a number of columns, with an ellipsis.
    pub(crate) fn cut(self, width: usize) -> Self {
        if self.columns <= width {
            return self;
        }
        let mut line = self.columns_from(0, width.saturating_sub(1));
        let ink = line.pieces.last().map(|(ink, _)| *ink).unwrap_or_default();
        line.push(ink, if width > 0 { "…" } else { "" });
        line
    }

    /// Returns `width` columns of the line, starting at `first`. A character that would be cut in two is left out.
    pub(crate) fn columns_from(&self, first: usize, width: usize) -> Self {
        let mut line = Self::new();
        let mut column = 0;
        for (ink, piece) in &self.pieces {
            let mut kept = String::new();
            for char in piece.chars() {
                let needed = char.width().unwrap_or(0);
                if column >= first && column + needed <= first + width && (needed > 0 || column > first) {
                    kept.push(char);
                } else if column < first && column + needed > first {
                    kept.push(' ');
                }
                column += needed;
            }
            line.push(*ink, &kept);
        }
        line
    }

    /// Highlights the occurrences of some text, ignoring case.
    pub(crate) fn marked(self, query: &str) -> Self {
        let query = query.to_lowercase();
        let text = self.to_text();
        let lower = text.to_lowercase();
        // Characters whose lower case has another length would shift the offsets.
        if query.is_empty() || lower.len() != text.len() || !lower.contains(&query) {
            return self;
        }
        let ranges: Vec<std::ops::Range<usize>> =
            lower.match_indices(&query).map(|(at, text)| at..at + text.len()).collect();
        let mut line = Self::new();
        let mut at = 0;
        for (ink, piece) in &self.pieces {
            for (offset, char) in piece.char_indices() {
                let is_match = ranges.iter().any(|range| range.contains(&(at + offset)));
                line.push(if is_match { ink.marked() } else { *ink }, char.encode_utf8(&mut [0; 4]));
            }
            at += piece.len();
        }
        line
    }

    /// Breaks the line between words into lines of at most `width` columns; all but the first are indented.
    pub(crate) fn wrapped(&self, width: usize, indent: usize) -> Vec<Self> {
        if self.columns <= width {
            return vec![self.clone()];
        }
        let width = width.max(indent + 4);
        let mut lines = Vec::new();
        let mut line = Self::new();
        for (ink, piece) in &self.pieces {
            for word in piece.split_inclusive(' ') {
                let needed = columns(word.trim_end_matches(' '));
                let has_text = line.columns > if lines.is_empty() { 0 } else { indent };
                if line.columns + needed > width && has_text {
                    lines.push(std::mem::take(&mut line).pad(0));
                    line = line.pad(indent);
                }
                let mut rest = word;
                while line.columns + columns(rest.trim_end_matches(' ')) > width {
                    let fits = first_columns(rest, width - line.columns);
                    rest = rest.get(fits.len()..).unwrap_or_default();
                    line.push(*ink, &fits);
                    lines.push(std::mem::take(&mut line));
                    line = line.pad(indent);
                    if fits.is_empty() {
                        // Not even one character fits.
                        return lines;
                    }
                }
                let room = width.saturating_sub(line.columns);
                line.push(*ink, &first_columns(rest, room));
            }
        }
        lines.push(line);
        lines
    }
}

/// The area to draw on, and its colours.
pub(crate) struct Canvas<'b> {
    pub(crate) buffer: &'b mut Buffer,
    pub(crate) theme: Theme,
    /// The position of the terminal's cursor, if visible.
    pub(crate) cursor: Option<(u16, u16)>,
}

impl<'b> Canvas<'b> {
    pub(crate) fn new(buffer: &'b mut Buffer, theme: Theme) -> Self {
        Self { buffer, theme, cursor: None }
    }

    pub(crate) fn area(&self) -> Rect {
        self.buffer.area
    }

    /// Draws a line into a row of an area, cut to its width. Rows below the area are ignored.
    pub(crate) fn line(&mut self, area: Rect, row: usize, line: &Line) {
        self.draw(area, row, &line.clone().cut(area.width.into()), None);
    }

    /// Draws the selected line, highlighted over the full width of the area.
    pub(crate) fn selected_line(&mut self, area: Rect, row: usize, line: &Line) {
        let style = self.theme.selected();
        self.draw(area, row, &line.clone().cut(area.width.into()), Some(style));
    }

    fn draw(&mut self, area: Rect, row: usize, line: &Line, over: Option<Style>) {
        let Some(y) = u16::try_from(row).ok().filter(|row| *row < area.height).map(|row| area.y + row) else { return };
        let mut x = area.x;
        let end = area.x + area.width;
        if let Some(over) = over {
            self.buffer.set_style(Rect { y, height: 1, ..area }, over);
        }
        for (ink, piece) in &line.pieces {
            let style = self.theme.style(*ink);
            let style = over.map_or(style, |over| style.patch(over));
            for char in piece.chars() {
                let width = u16::try_from(char.width().unwrap_or(0)).unwrap_or(0);
                if width == 0 {
                    self.add_mark(x, y, area.x, char);
                    continue;
                }
                if x + width > end {
                    return;
                }
                for (offset, symbol) in (0..width).zip([Some(char), None]) {
                    if let Some(cell) = self.buffer.cell_mut((x + offset, y)) {
                        cell.set_style(style);
                        match symbol {
                            Some(char) => drop(cell.set_char(char)),
                            // The right half of a wide character is drawn with its left half.
                            None => drop(cell.set_symbol(" ")),
                        }
                    }
                }
                x += width;
            }
        }
    }

    /// Adds a zero-width mark to the character before it.
    fn add_mark(&mut self, x: u16, y: u16, first: u16, mark: char) {
        let Some(mut at) = x.checked_sub(1).filter(|at| *at >= first) else { return };
        // The right half of a wide character holds a space; the character is one cell to the left.
        let is_wide = |buffer: &Buffer, at: u16| {
            let symbol = buffer.cell((at, y)).and_then(|cell| cell.symbol().chars().next());
            symbol.and_then(UnicodeWidthChar::width) == Some(2)
        };
        if at > first && is_wide(self.buffer, at - 1) {
            at -= 1;
        }
        if let Some(cell) = self.buffer.cell_mut((at, y)) {
            let symbol = format!("{}{mark}", cell.symbol());
            cell.set_symbol(&symbol);
        }
    }

    /// Draws a message over the screen, starting at `row`, in as many rows as it needs.
    pub(crate) fn notice(&mut self, row: usize, ink: Ink, text: &str) {
        let lines = self.notice_lines(ink, text);
        self.draw_notice(row, &lines);
    }

    /// Draws a message that ends in the last row of the screen.
    pub(crate) fn notice_at_end(&mut self, ink: Ink, text: &str) {
        let lines = self.notice_lines(ink, text);
        self.draw_notice(usize::from(self.area().height).saturating_sub(lines.len()), &lines);
    }

    fn notice_lines(&self, ink: Ink, text: &str) -> Vec<Line> {
        Line::new().ink(ink, text).wrapped(self.area().width.into(), 2)
    }

    fn draw_notice(&mut self, first: usize, lines: &[Line]) {
        let area = self.area();
        for (row, line) in (first..usize::from(area.height)).zip(lines) {
            let y = u16::try_from(row).unwrap_or(u16::MAX);
            for x in area.x..area.x + area.width {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
            self.cursor = self.cursor.filter(|(_, cursor)| *cursor != y);
            self.line(area, row, line);
        }
    }

    /// Draws a horizontal rule.
    pub(crate) fn rule(&mut self, area: Rect, row: usize) {
        self.line(area, row, &Line::new().ink(Ink::DIM, &"─".repeat(area.width.into())));
    }

    /// Draws a vertical line between two panes.
    pub(crate) fn divider(&mut self, x: u16, area: Rect) {
        let at = Rect { x, width: 1, ..area };
        for row in 0..usize::from(area.height) {
            self.line(at, row, &Line::new().ink(Ink::DIM, "│"));
        }
    }
}

#[cfg(any(test, feature = "headless"))]
pub(crate) fn rows_of(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let row = |y: u16| {
        let mut text = String::new();
        let mut skip = false;
        for x in area.x..area.x + area.width {
            let symbol = buffer.cell((x, y)).map_or(" ", ratatui_core::buffer::Cell::symbol);
            if !std::mem::take(&mut skip) {
                text.push_str(symbol);
            }
            skip = symbol.chars().next().and_then(UnicodeWidthChar::width) == Some(2);
        }
        text.trim_end().to_owned()
    };
    (area.y..area.y + area.height).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(line: &Line, width: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        let area = buffer.area;
        Canvas::new(&mut buffer, Theme::Dark).line(area, 0, line);
        rows_of(&buffer).remove(0)
    }

    #[test]
    fn text_is_harmless_and_stays_in_its_cells() {
        for (text, width, seen) in [
            ("plain", 10, "plain"),
            ("a\u{1b}[2Jb", 10, "a␛[2Jb"),
            ("潮汐潮汐潮汐", 7, "潮汐潮…"),
            ("e\u{301}é", 10, "e\u{301}é"),
            ("潮\u{301}x", 10, "潮\u{301}x"),
            ("\u{301}x", 10, "x"),
            ("👩\u{200d}💻👍\u{1f3fd}!", 10, "👩💻👍!"),
            ("שלום\u{202e}x", 10, "שלום\u{fffd}x"),
            ("0123456789abc", 10, "012345678…"),
        ] {
            assert_eq!(drawn(&Line::new().text(text), width), seen, "{text:?}");
        }
    }

    #[test]
    fn messages_are_shown_in_full() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 5));
        let area = buffer.area;
        let mut canvas = Canvas::new(&mut buffer, Theme::Dark);
        for row in 0..5 {
            canvas.selected_line(area, row, &Line::new().text("something else there"));
        }
        canvas.cursor = Some((3, 2));
        canvas.notice(1, Ink::BAD, "this did not work because of that");
        assert_eq!(canvas.cursor, None, "the message covers it");
        let other = "something else there";
        assert_eq!(rows_of(&buffer), [other, "this did not work", "  because of that", other, other]);
        assert_eq!(buffer.cell((19, 1)).unwrap().bg, ratatui_core::style::Color::Reset);
        Canvas::new(&mut buffer, Theme::Dark).notice_at_end(Ink::BAD, "and this failed as well, too");
        assert_eq!(rows_of(&buffer)[3..], ["and this failed as", "  well, too"]);
    }

    #[test]
    fn lines_are_drawn_from_any_column() {
        let line = Line::new().text("ab潮汐").ink(Ink::DIM, "cd");
        let from = |first, width| line.columns_from(first, width).to_text();
        assert_eq!(from(0, 99), "ab潮汐cd");
        assert_eq!(from(1, 3), "b潮");
        assert_eq!(from(3, 4), " 汐c");
        assert_eq!(from(50, 4), "");
    }

    #[test]
    fn wrapped_lines_fit_and_lose_nothing() {
        let line = Line::new().text("one two ").ink(Ink::ACCENT, "three-is-a-long-word").text(" 潮汐潮汐潮汐 five");
        for width in 6..40 {
            let lines = line.wrapped(width, 2);
            assert!(lines.iter().all(|line| line.columns() <= width), "{width}: {lines:?}");
            let all: String = lines.iter().map(Line::to_text).collect();
            assert_eq!(all.replace(' ', ""), line.to_text().replace(' ', ""), "{width}");
        }
    }

    #[test]
    fn matches_are_highlighted() {
        let line = Line::new().text("The Tide ").ink(Ink::DIM, "tides").marked("tide");
        let marked: String = line
            .pieces
            .iter()
            .filter(|(ink, _)| ink.marked)
            .map(|(_, text)| text.as_str())
            .collect::<Vec<_>>()
            .join("|");
        assert_eq!(marked, "Tide|tide");
        assert_eq!(line.to_text(), "The Tide tides");
    }
}
