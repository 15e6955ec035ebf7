//! The only way to a terminal for text that somebody else wrote.
//!
//! Names, messages, labels, paths and ids may hold escape sequences that move
//! the cursor or talk to the terminal, characters that turn text around, and
//! characters that cannot be seen. Everything printed for people goes through
//! a [`Line`], and a [`Line`] takes no text without making it harmless first.

mod picture;

use std::io::{self, Write};

use anstyle::{AnsiColor, Color as Hue, Style};
use sessile::Environment;
use sessile_display::Tone;

use crate::Stream;
use crate::args::Color;
use crate::pager::Pager;
pub(crate) use sessile_display::{clean, columns, wrapped};

/// As it is.
pub(crate) const PLAIN: Style = Style::new();
/// Less important.
pub(crate) const DIM: Style = Style::new().dimmed();
/// More important.
pub(crate) const BOLD: Style = Style::new().bold();
/// Where we are.
pub(crate) const ACCENT: Style = colored(AnsiColor::Cyan);
/// Names that people gave.
pub(crate) const NAMED: Style = colored(AnsiColor::Yellow);
/// What the person said.
pub(crate) const PERSON: Style = colored(AnsiColor::Green);
/// What went wrong.
pub(crate) const BAD: Style = colored(AnsiColor::Red);

const fn colored(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Hue::Ansi(color)))
}

/// How a text of this tone is shown.
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

/// The width at which text is broken into lines where there is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// Narrower than this nothing can be laid out.
const LEAST_WIDTH: usize = 20;

/// A stream for people.
pub(crate) struct Screen<'s> {
    writer: &'s mut dyn Write,
    paints: bool,
    takes_color: bool,
    width: usize,
    height: Option<usize>,
    is_terminal: bool,
    /// What long output goes through.
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

    /// Uses colour as this says from now on.
    pub(crate) fn paint(&mut self, color: Color) {
        self.paints = color.paints(self.takes_color);
    }

    /// Lets long output go through a pager from now on, if somebody is looking.
    pub(crate) fn page(&mut self, command: &str, environment: &dyn Environment) {
        self.pager = self.height.and_then(|height| Pager::new(command, height, environment));
    }

    /// Whether a pager shows what was printed.
    pub(crate) fn is_paging(&self) -> bool {
        self.pager.as_ref().is_some_and(Pager::is_running)
    }

    /// Shows what is left to be shown.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.pager.take().map_or(Ok(()), |pager| pager.finish(self.writer))?;
        self.writer.flush()
    }

    /// Where bytes go.
    fn sink(&mut self) -> &mut dyn Write {
        match &mut self.pager {
            Some(pager) => pager,
            None => self.writer,
        }
    }

    /// At how many columns text is broken into lines.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many columns a line may have; none where nothing is ever cut, because programs read it.
    pub(crate) fn room(&self) -> Option<usize> {
        self.is_terminal.then_some(self.width)
    }

    /// From now on there are so many columns, as the user's variable `COLUMNS` says.
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

    /// Whether somebody is looking.
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

    /// Prints a line however long it is.
    pub(crate) fn print_whole(&mut self, line: &Line) -> io::Result<()> {
        self.write(line)?;
        self.sink().write_all(b"\n")
    }

    /// Prints an empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.sink().write_all(b"\n")
    }

    /// Shows a line that the next one replaces. Does nothing unless somebody is looking.
    pub(crate) fn flash(&mut self, line: Line) -> io::Result<()> {
        if !self.is_terminal {
            return Ok(());
        }
        self.writer.write_all(b"\r\x1b[K")?;
        self.write(&line.cut(self.width - 1))?;
        self.writer.flush()
    }

    /// Prints a question, behind which the answer is typed.
    pub(crate) fn ask(&mut self, line: &Line) -> io::Result<()> {
        self.write(line)?;
        self.writer.write_all(b" ")?;
        self.writer.flush()
    }

    /// The stream itself, for data that is no text for people and is not paged.
    pub(crate) fn data(&mut self) -> &mut dyn Write {
        self.pager = self.pager.take().filter(|pager| !pager.is_empty());
        self.sink()
    }

    /// Prints a text of clap's, which brings its own colours and holds nothing of a session's.
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

/// A line made of harmless pieces of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pieces: Vec<(Style, String)>,
    columns: usize,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text as it is, once it is harmless.
    pub(crate) fn text(self, text: &str) -> Self {
        self.styled(PLAIN, text)
    }

    /// Adds text in a style.
    pub(crate) fn styled(mut self, style: Style, text: &str) -> Self {
        let text = clean(text);
        self.columns += columns(&text);
        self.pieces.push((style, text));
        self
    }

    /// Adds spaces up to a column.
    pub(crate) fn pad(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.columns);
        self.text(&" ".repeat(missing))
    }

    /// Adds spaces up to a column, and at least so many after text.
    pub(crate) fn pad_after(self, column: usize, least: usize) -> Self {
        let column = if self.columns == 0 { column } else { column.max(self.columns + least) };
        self.pad(column)
    }

    /// Adds text that ends at a column if it is short enough.
    pub(crate) fn right(self, column: usize, style: Style, text: &str) -> Self {
        let needed = columns(&clean(text));
        self.pad(column.saturating_sub(needed)).styled(style, text)
    }

    /// Adds another line behind this one.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.columns += other.columns;
        self.pieces.extend(other.pieces);
        self
    }

    /// The same line behind so many spaces.
    pub(crate) fn indented(self, n_spaces: usize) -> Self {
        Self::new().pad(n_spaces).join(self)
    }

    /// Breaks the line between words into lines that are no wider than this.
    pub(crate) fn wrapped(&self, width: usize) -> Vec<Self> {
        let text: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        let mut styles = self.pieces.iter().flat_map(|(style, piece)| piece.chars().map(|char| (*style, char)));
        let mut lines = Vec::new();
        for broken in wrapped(&text, width) {
            let mut line = Self::new();
            let mut run = (PLAIN, String::new());
            for wanted in broken.chars() {
                // Only spaces are left out where a line is broken.
                let style = styles.find(|(_, char)| *char == wanted).map_or(PLAIN, |(style, _)| style);
                if style != run.0 {
                    line = line.styled(run.0, &run.1);
                    run = (style, String::new());
                }
                run.1.push(wanted);
            }
            lines.push(line.styled(run.0, &run.1));
        }
        lines
    }

    /// Shortens the line to a number of columns, and shows that it did.
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
    use super::*;

    fn printed(line: Line, width: usize, color: Color) -> String {
        let mut bytes = Vec::new();
        let stream =
            Stream { writer: &mut bytes, terminal_width: Some(width), terminal_height: None, takes_color: false };
        Screen::new(stream, color).print(line).unwrap();
        String::from_utf8(bytes).unwrap()
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
    fn lines_are_whole_where_no_one_looks_and_columns_are_what_the_user_says() {
        let shown = |terminal_width, columns: Option<&str>| {
            let mut bytes = Vec::new();
            let stream = Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false };
            let mut screen = Screen::new(stream, Color::Auto);
            screen.set_columns(columns);
            screen.print(Line::new().text(&"x".repeat(200))).unwrap();
            bytes.len() - 1
        };
        assert_eq!(shown(None, None), 200);
        assert_eq!(shown(None, Some("30")), 200);
        let cut = "…".len() - 1;
        assert_eq!(shown(Some(80), None), 80 + cut);
        assert_eq!(shown(Some(80), Some("30")), 30 + cut);
        assert_eq!(shown(Some(80), Some(" 120 ")), 120 + cut);
        for odd in ["", "0", "-1", "wide", "99999999999", "1"] {
            assert_eq!(shown(Some(80), Some(odd)), if odd == "1" { 20 } else { 80 } + cut, "{odd:?}");
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_colours() {
        let line = Line::new().text("  one two ").styled(ACCENT, "three four").text(" 潮汐潮汐潮汐 five");
        for width in [8, 9, 10, 40] {
            let lines = line.wrapped(width);
            let told: Vec<String> = lines.iter().map(|line| printed(line.clone(), 40, Color::Never)).collect();
            assert!(lines.iter().all(|line| line.columns <= width), "{told:?}");
            let words = |text: &str| text.replace([' ', '\n'], "");
            assert_eq!(words(&told.concat()), "onetwothreefour潮汐潮汐潮汐five");
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
