//! The only way for text from sessions to reach a terminal.
//!
//! Names, messages, labels, paths and ids may contain escape sequences that move the cursor or talk to the terminal,
//! characters that reverse text, and invisible characters. Everything printed for people goes through a [`Line`], which
//! sanitises all text that it takes.

mod color;
mod picture;

use std::io::{self, Write};

use anstyle::{AnsiColor, Color as Hue, Style};
use sessile::Environment;
use sessile_display::Tone;

use crate::pager::Pager;
use crate::stream::Stream;
pub(crate) use color::Color;
pub(crate) use sessile_display::{clean, columns, wrapped};

/// Normal text.
pub(crate) const PLAIN: Style = Style::new();
/// Less important.
pub(crate) const DIM: Style = Style::new().dimmed();
/// More important.
pub(crate) const BOLD: Style = Style::new().bold();
/// The current position.
pub(crate) const ACCENT: Style = colored(AnsiColor::Cyan);
/// Names given by people.
pub(crate) const NAMED: Style = colored(AnsiColor::Yellow);
/// The user's messages.
pub(crate) const PERSON: Style = colored(AnsiColor::Green);
/// Errors.
pub(crate) const BAD: Style = colored(AnsiColor::Red);

const fn colored(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Hue::Ansi(color)))
}

/// Returns the style of a tone.
pub(crate) fn style_of(tone: Tone) -> Style {
    match tone {
        Tone::Plain => PLAIN,
        Tone::Dim => DIM,
        Tone::Accent => ACCENT,
        Tone::Named => NAMED,
        Tone::Person => PERSON,
        Tone::Bad => BAD,
    }
}

/// The wrap width without a terminal.
const DEFAULT_WIDTH: usize = 100;

/// Minimum width for a usable layout.
const LEAST_WIDTH: usize = 20;

/// A stream for people.
pub(crate) struct Screen<'s> {
    writer: &'s mut dyn Write,
    paints: bool,
    takes_color: bool,
    width: usize,
    height: Option<usize>,
    is_terminal: bool,
    /// The pager for long output.
    pager: Option<Pager>,
}

impl<'s> Screen<'s> {
    pub(crate) fn new(stream: Stream<'s>, color: Color) -> Self {
        let Stream { writer, terminal_width, terminal_height, takes_color } = stream;
        Self {
            writer,
            paints: color.paints(takes_color),
            takes_color,
            width: terminal_width.unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH),
            height: terminal_height,
            is_terminal: terminal_width.is_some(),
            pager: None,
        }
    }

    /// Sets the use of colour from now on.
    pub(crate) fn paint(&mut self, color: Color) {
        self.paints = color.paints(self.takes_color);
    }

    /// Sends long output through a pager from now on, if the output is a terminal.
    pub(crate) fn page(&mut self, command: &str, environment: &dyn Environment) {
        self.pager = self.height.and_then(|height| Pager::new(command, height, environment));
    }

    /// Whether a pager shows the output.
    pub(crate) fn is_paging(&self) -> bool {
        self.pager.as_ref().is_some_and(Pager::is_running)
    }

    /// Shows the remaining output.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.pager.take().map_or(Ok(()), |pager| pager.finish(self.writer))?;
        self.writer.flush()
    }

    /// Returns the pager, else the stream.
    fn sink(&mut self) -> &mut dyn Write {
        match &mut self.pager {
            Some(pager) => pager,
            None => self.writer,
        }
    }

    /// Returns the wrap width in columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the maximum line width; `None` if programs read the output and nothing may be cut.
    pub(crate) fn room(&self) -> Option<usize> {
        self.is_terminal.then_some(self.width)
    }

    /// Sets the width from the user's variable `COLUMNS`.
    pub(crate) fn set_columns(&mut self, columns: Option<&str>) {
        let columns = columns.and_then(|columns| columns.trim().parse::<u16>().ok()).filter(|columns| *columns > 0);
        if let Some(columns) = columns {
            self.width = usize::from(columns).max(LEAST_WIDTH);
        }
    }

    /// Whether colour is used.
    #[cfg(feature = "tui")]
    pub(crate) fn is_painted(&self) -> bool {
        self.paints
    }

    /// Whether the output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Prints a line, cut to the width of the terminal if there is one.
    pub(crate) fn print(&mut self, line: Line) -> io::Result<()> {
        let line = match self.room() {
            Some(width) => line.cut(width),
            None => line,
        };
        self.print_whole(&line)
    }

    /// Prints a line without cutting it.
    pub(crate) fn print_whole(&mut self, line: &Line) -> io::Result<()> {
        self.write(line)?;
        self.sink().write_all(b"\n")
    }

    /// Prints an empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.sink().write_all(b"\n")
    }

    /// Shows a line that the next one replaces. Does nothing if the output is not a terminal.
    pub(crate) fn flash(&mut self, line: Line) -> io::Result<()> {
        if !self.is_terminal {
            return Ok(());
        }
        self.writer.write_all(b"\r\x1b[K")?;
        self.write(&line.cut(self.width - 1))?;
        self.writer.flush()
    }

    /// Prints a question; the cursor stays after it for the answer.
    pub(crate) fn ask(&mut self, line: &Line) -> io::Result<()> {
        self.write(line)?;
        self.writer.write_all(b" ")?;
        self.writer.flush()
    }

    /// Returns the stream for data that is not for people and is not paged.
    pub(crate) fn data(&mut self) -> &mut dyn Write {
        self.pager = self.pager.take().filter(|pager| !pager.is_empty());
        self.sink()
    }

    /// Prints a text from clap, which has its own colours and contains no text from sessions.
    pub(crate) fn print_help(&mut self, text: &clap::builder::StyledStr) -> io::Result<()> {
        let text = if self.paints { text.ansi().to_string() } else { text.to_string() };
        self.sink().write_all(text.as_bytes())
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink().flush()
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = String::new();
        for (style, piece) in &line.pieces {
            if self.paints && *style != PLAIN && !piece.is_empty() {
                text.extend([&style.to_string(), piece, &format!("{style:#}")].map(String::as_str));
            } else {
                text.push_str(piece);
            }
        }
        self.sink().write_all(text.trim_end_matches(' ').as_bytes())
    }
}

/// A line of sanitised, styled pieces of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pieces: Vec<(Style, String)>,
    columns: usize,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Appends plain text, sanitised.
    pub(crate) fn text(self, text: &str) -> Self {
        self.styled(PLAIN, text)
    }

    /// Appends text in a style, sanitised.
    pub(crate) fn styled(mut self, style: Style, text: &str) -> Self {
        let text = clean(text);
        self.columns += columns(&text);
        self.pieces.push((style, text));
        self
    }

    /// Appends spaces up to a column.
    pub(crate) fn pad(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.columns);
        self.text(&" ".repeat(missing))
    }

    /// Appends spaces up to a column, and at least `least` spaces after text.
    pub(crate) fn pad_after(self, column: usize, least: usize) -> Self {
        let column = if self.columns == 0 { column } else { column.max(self.columns + least) };
        self.pad(column)
    }

    /// Appends text right-aligned to a column, if it is short enough.
    pub(crate) fn right(self, column: usize, style: Style, text: &str) -> Self {
        let needed = columns(&clean(text));
        self.pad(column.saturating_sub(needed)).styled(style, text)
    }

    /// Appends another line.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.columns += other.columns;
        self.pieces.extend(other.pieces);
        self
    }

    /// Indents the line.
    pub(crate) fn indented(self, n_spaces: usize) -> Self {
        Self::new().pad(n_spaces).join(self)
    }

    /// Breaks the line between words into lines of at most `width` columns.
    pub(crate) fn wrapped(&self, width: usize) -> Vec<Self> {
        let text: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        let mut styles = self.pieces.iter().flat_map(|(style, piece)| piece.chars().map(|char| (*style, char)));
        let mut lines = Vec::new();
        for broken in wrapped(&text, width) {
            let mut line = Self::new();
            let mut run = (PLAIN, String::new());
            for char in broken.chars() {
                // Wrapping removes nothing but spaces.
                let style = styles.find(|(_, styled)| *styled == char).map_or(PLAIN, |(style, _)| style);
                if style != run.0 {
                    line = line.styled(run.0, &run.1);
                    run = (style, String::new());
                }
                run.1.push(char);
            }
            lines.push(line.styled(run.0, &run.1));
        }
        lines
    }

    /// Shortens the line to a number of columns, with an ellipsis.
    pub(crate) fn cut(mut self, width: usize) -> Self {
        if self.columns <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        for (at, (_, text)) in self.pieces.iter_mut().enumerate() {
            let needed = columns(text);
            if needed > left {
                *text = sessile_display::first_columns(text, left);
                text.push('…');
                self.pieces.truncate(at + 1);
                break;
            }
            left -= needed;
        }
        // A wide character that does not fit leaves a column empty.
        self.columns = self.pieces.iter().map(|(_, text)| columns(text)).sum();
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(line: Line, width: usize, color: Color) -> String {
        let mut bytes = Vec::new();
        let stream =
            Stream { writer: &mut bytes, terminal_width: Some(width), terminal_height: None, takes_color: false };
        Screen::new(stream, color).print(line).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    proptest! {
        /// The text has what can act on a terminal, hide, or take more or less than a column.
        #[test]
        fn a_printed_line_is_one_harmless_line_that_fits(
            text in prop::collection::vec(prop_oneof![
                3 => prop::sample::select(&[
                    "\u{1b}[31m", "\u{1b}]0;x\u{7}", "\r\n", "\u{9b}2J", "\u{202e}", "e\u{301}\u{301}", "潮汐",
                    "👩\u{200d}💻", "word ", "\u{2028}", "\t", "x",
                ][..]).prop_map(str::to_owned),
                1 => "\\PC{0,8}",
            ], 0..12),
            width in 0_usize..100,
        ) {
            let text = text.concat();
            let red = || Line::new().styled(BAD, &text);
            let plain = printed(red(), width, Color::Never);
            let line = plain.strip_suffix('\n').unwrap();
            prop_assert_eq!(clean(line), line);
            prop_assert!(columns(line) <= width.max(20), "{:?} in {} columns", line, width);
            let colored = printed(red(), width, Color::Always);
            if clean(&text).is_empty() {
                prop_assert_eq!(colored, "\n");
            } else {
                let inside = colored.strip_prefix("\u{1b}[31m").and_then(|rest| rest.strip_suffix("\u{1b}[0m\n"));
                prop_assert_eq!(inside.map(|inside| inside.trim_end_matches(' ')), Some(line));
            }
        }
    }

    #[test]
    fn lines_are_cut_to_the_width() {
        let line = || Line::new().styled(ACCENT, "0123456789").text("abcdefghijkl");
        assert_eq!(printed(line(), 22, Color::Auto), "0123456789abcdefghijkl\n");
        assert_eq!(printed(line(), 21, Color::Auto), "0123456789abcdefghij…\n");
        let wide = Line::new().text("潮汐潮汐潮汐潮汐潮汐潮汐");
        assert_eq!(printed(wide, 20, Color::Auto), "潮汐潮汐潮汐潮汐潮…\n");
    }

    #[test]
    fn lines_are_whole_without_a_terminal_and_columns_sets_the_width() {
        let printed_width = |terminal_width, columns: Option<&str>| {
            let mut bytes = Vec::new();
            let stream = Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false };
            let mut screen = Screen::new(stream, Color::Auto);
            screen.set_columns(columns);
            screen.print(Line::new().text(&"x".repeat(200))).unwrap();
            bytes.len() - 1
        };
        assert_eq!(printed_width(None, None), 200);
        assert_eq!(printed_width(None, Some("30")), 200);
        let cut = "…".len() - 1;
        assert_eq!(printed_width(Some(80), None), 80 + cut);
        assert_eq!(printed_width(Some(80), Some("30")), 30 + cut);
        assert_eq!(printed_width(Some(80), Some(" 120 ")), 120 + cut);
        for columns in ["", "0", "-1", "wide", "99999999999", "1"] {
            assert_eq!(
                printed_width(Some(80), Some(columns)),
                if columns == "1" { 20 } else { 80 } + cut,
                "{columns:?}"
            );
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_colours() {
        let line = Line::new().text("  one two ").styled(ACCENT, "three four").text(" 潮汐潮汐潮汐 five");
        for width in [8, 9, 10, 40] {
            let lines = line.wrapped(width);
            let output: Vec<String> = lines.iter().map(|line| printed(line.clone(), 40, Color::Never)).collect();
            assert!(lines.iter().all(|line| line.columns <= width), "{output:?}");
            let words = |text: &str| text.replace([' ', '\n'], "");
            assert_eq!(words(&output.concat()), "onetwothreefour潮汐潮汐潮汐five");
            let accented = lines.iter().flat_map(|line| &line.pieces).filter(|(style, _)| *style == ACCENT);
            assert_eq!(words(&accented.map(|(_, text)| text.as_str()).collect::<String>()), "threefour");
        }
    }

    #[test]
    fn only_our_own_escape_sequences_are_printed() {
        let line = Line::new().styled(BAD, "a\u{1b}[2Jb\u{9b}31m");
        assert_eq!(printed(line.clone(), 40, Color::Never), "a␛[2Jb\u{fffd}31m\n");
        assert_eq!(printed(line, 40, Color::Always), "\u{1b}[31ma␛[2Jb\u{fffd}31m\u{1b}[0m\n");
    }

    #[test]
    fn columns_line_up() {
        let row = |text| Line::new().right(5, PLAIN, text).pad(8).text("|");
        assert_eq!(printed(row("7"), 20, Color::Auto), "    7   |\n");
        assert_eq!(printed(row("潮"), 20, Color::Auto), "   潮   |\n");
        assert_eq!(printed(row("1234567890"), 20, Color::Auto), "1234567890|\n");
        let cut = Line::new().text("潮汐潮汐").cut(6).pad(8).text("|");
        assert_eq!(printed(cut, 20, Color::Auto), "潮汐…   |\n");
    }
}
