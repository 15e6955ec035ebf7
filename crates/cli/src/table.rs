//! Sessions as a table for people.

use std::io;

use anstyle::Style;
use clap::ValueEnum;
use sessile::date::Timestamp;
use sessile::list::SessionInfo;
use sessile::title::title_of_text;

use crate::environment::CommandEnvironment;
use crate::measure::{Money, size_words};
use crate::screen::{DIM, Line, NAMED, PLAIN, Screen, clean, columns};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// The list position, such as @1
    #[value(name = "place")]
    Position,
    /// The time since the last message
    Age,
    /// The number of messages
    Messages,
    /// The name, or else the first message
    Session,
    /// The working directory
    Directory,
    /// The name
    Name,
    /// The id
    Id,
    /// The time of creation
    Created,
    /// The time of the last message
    Modified,
    /// The size of the file
    Size,
    /// The cost
    Cost,
    /// The number of tokens used
    Tokens,
    /// The path of the file
    Path,
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Position => "",
            Self::Age => "age",
            Self::Messages => "msgs",
            Self::Session => "session",
            Self::Directory => "directory",
            Self::Name => "name",
            Self::Id => "id",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Size => "size",
            Self::Cost => "cost",
            Self::Tokens => "tokens",
            Self::Path => "path",
        }
    }

    fn is_right_aligned(self) -> bool {
        matches!(self, Self::Age | Self::Messages | Self::Size | Self::Cost | Self::Tokens)
    }

    fn least_width(self) -> usize {
        match self {
            Self::Position => 2,
            Self::Age => 5,
            Self::Messages => 4,
            _ => 0,
        }
    }
}

/// The columns that a narrow terminal drops, in this order; the title is always shown.
const DROP_ORDER: [Column; 12] = [
    Column::Directory,
    Column::Created,
    Column::Modified,
    Column::Tokens,
    Column::Size,
    Column::Id,
    Column::Messages,
    Column::Age,
    Column::Name,
    Column::Path,
    Column::Position,
    Column::Cost,
];

/// Columns between table columns.
const GAP: usize = 2;
/// Minimum width of a title.
const LEAST_TITLE: usize = 20;
/// Minimum useful width of a directory.
const LEAST_DIRECTORY: usize = 8;
/// Minimum width of a title before other columns are dropped.
const NARROW_TITLE: usize = 12;
/// Without a terminal nothing is cut, and columns line up only for cells up to this width.
pub(crate) const WIDEST_ALIGNED: usize = 80;

/// A row of a table.
pub(crate) struct TableRow<'r> {
    /// The session; `None` for one that is not in the list.
    pub(crate) session: Option<&'r SessionInfo>,
    /// The text before its title.
    pub(crate) prefix: String,
    /// A remark before its title or, for a session that is not in the list, in place of the row.
    pub(crate) remark: String,
    /// Its working directory.
    pub(crate) directory: String,
}

impl<'r> TableRow<'r> {
    /// Returns the row of a session.
    pub(crate) fn of(env: &CommandEnvironment, session: &'r SessionInfo) -> Self {
        let directory = env.short(&session.cwd);
        Self { session: Some(session), prefix: String::new(), remark: String::new(), directory }
    }

    /// Returns the row of a session that is not in the list.
    pub(crate) fn absent(remark: String) -> Self {
        Self { session: None, prefix: String::new(), remark, directory: String::new() }
    }
}

/// The styled pieces of one cell.
type Cell = Vec<(Style, String)>;

/// Prints rows in order, each with its path below it if wanted.
pub(crate) fn print(
    env: &CommandEnvironment,
    out: &mut Screen<'_>,
    rows: &[TableRow<'_>],
    shown_columns: &[Column],
    with_paths: bool,
) -> io::Result<()> {
    let cells = cells(env, rows, shown_columns);
    let layout = Layout::new(shown_columns, &cells, out.room());
    let headings: Vec<Cell> = shown_columns.iter().map(|column| vec![(DIM, column.heading().to_owned())]).collect();
    out.print(layout.line(&headings))?;
    for (row, cells) in rows.iter().zip(&cells) {
        let line = layout.line(cells);
        match shown_columns.last() {
            // A path is never cut, so that it can be copied.
            Some(Column::Path) => out.print_whole(&line)?,
            _ => out.print(line)?,
        }
        if let Some(session) = row.session.filter(|_| with_paths) {
            out.print_whole(&Line::new().pad(layout.title_start).styled(DIM, &session.path.to_string_lossy()))?;
        }
    }
    Ok(())
}

fn cells(env: &CommandEnvironment, rows: &[TableRow<'_>], shown_columns: &[Column]) -> Vec<Vec<Cell>> {
    let now = env.now();
    let costs = rows.iter().filter_map(|row| row.session).map(|session| session.facts.cost);
    let money = Money::upto(costs.fold(0.0, f64::max));
    let mut n_sessions = 0;
    let cells_of = |row: &TableRow<'_>| {
        n_sessions += usize::from(row.session.is_some());
        let cell = |column: &Column| match row.session {
            Some(session) if *column == Column::Cost => vec![(PLAIN, money.words(session.facts.cost))],
            Some(session) => cell(env, now, n_sessions, row, session, *column),
            None if *column == Column::Session => vec![(DIM, row.prefix.clone()), (DIM, row.remark.clone())],
            None => Vec::new(),
        };
        shown_columns.iter().map(cell).collect()
    };
    rows.iter().map(cells_of).collect()
}

fn cell(
    env: &CommandEnvironment,
    now: Timestamp,
    position: usize,
    row: &TableRow<'_>,
    session: &SessionInfo,
    column: Column,
) -> Cell {
    let named = session.name.as_ref().map(|name| (NAMED, name.to_str().trim().to_owned()));
    let plain = |text: String| vec![(PLAIN, text)];
    let dim = |text: String| vec![(DIM, text)];
    match column {
        Column::Position => dim(format!("@{position}")),
        Column::Age => dim(age(now, session.modified)),
        Column::Messages => plain(session.message_count.to_string()),
        Column::Session => {
            let title = named.unwrap_or_else(|| (PLAIN, title_of_unnamed(env, session)));
            vec![(DIM, row.prefix.clone()), (DIM, row.remark.clone()), title]
        }
        Column::Directory => dim(row.directory.clone()),
        Column::Name => named.into_iter().collect(),
        Column::Id => plain(session.id.to_string()),
        Column::Created => dim(session.created.map(|created| env.local_time(created)).unwrap_or_default()),
        Column::Modified => dim(env.local_time(session.modified)),
        Column::Size => plain(size_words(session.size)),
        // Costs are formatted together for the whole column.
        Column::Cost => Vec::new(),
        Column::Tokens => plain(thousands(session.facts.tokens.total())),
        Column::Path => dim(session.path.to_string_lossy().into_owned()),
    }
}

/// What stands for the name of a session without one: its first message, or a short title if the user prefers that.
fn title_of_unnamed(env: &CommandEnvironment, session: &SessionInfo) -> String {
    let first = session.first_message.to_str();
    let title = if env.settings.lists_titles() { title_of_text(&first) } else { None };
    title.unwrap_or_else(|| first.trim().to_owned())
}

/// The positions of the columns.
struct Layout {
    /// The position and width of each column; `None` if there is no room for it.
    positions: Vec<Option<(usize, usize)>>,
    is_right_aligned: Vec<bool>,
    /// Where the title starts.
    title_start: usize,
    /// Whether cells wider than their column are cut.
    cuts: bool,
}

impl Layout {
    /// Makes columns as wide as their cells. On a terminal, the title gets the remaining room, minus a third for the
    /// directory; the least important columns are dropped if there is no room for all.
    fn new(shown_columns: &[Column], cells: &[Vec<Cell>], room: Option<usize>) -> Self {
        let mut widths: Vec<usize> = Vec::new();
        for (index, column) in shown_columns.iter().enumerate() {
            let widest = cells.iter().map(|row| cell_width(&row[index])).max().unwrap_or_default();
            widths.push(widest.max(column.heading().len()).max(column.least_width()));
        }
        match room {
            Some(width) => fit(shown_columns, &mut widths, width),
            None => widths.iter_mut().for_each(|width| *width = (*width).min(WIDEST_ALIGNED)),
        }
        let mut at = 0;
        let mut positions = Vec::new();
        for width in widths {
            positions.push((width > 0).then_some((at, width)));
            at += if width > 0 { width + GAP } else { 0 };
        }
        let title = shown_columns.iter().position(|column| *column == Column::Session);
        let title_start = title.and_then(|title| positions[title]).map_or(GAP, |(at, _)| at);
        let is_right_aligned = shown_columns.iter().map(|column| column.is_right_aligned()).collect();
        Self { positions, is_right_aligned, title_start, cuts: room.is_some() }
    }

    fn line(&self, cells: &[Cell]) -> Line {
        let mut line = Line::new();
        for (index, cell) in cells.iter().enumerate() {
            let Some((at, width)) = self.positions[index] else { continue };
            line = line.pad_after(at, GAP);
            for (style, text) in cell {
                let is_right = self.is_right_aligned[index];
                line = if is_right { line.right(at + width, *style, text) } else { line.styled(*style, text) };
            }
            if self.cuts && index + 1 < cells.len() {
                line = line.cut(at + width);
            }
        }
        line
    }
}

/// Fits columns into a terminal; a dropped column gets width 0.
fn fit(shown_columns: &[Column], widths: &mut [usize], width: usize) {
    let index_of = |column| shown_columns.iter().position(|shown| *shown == column);
    let (title, directory) = (index_of(Column::Session), index_of(Column::Directory));
    let is_flexible = |index: usize| Some(index) == title || (title.is_some() && Some(index) == directory);
    // A path in the last column is printed whole and needs no room.
    let is_path = |index: usize| index + 1 == shown_columns.len() && shown_columns[index] == Column::Path;
    let fixed = |widths: &[usize]| -> usize {
        let counts = |index: &usize| widths[*index] > 0 && !is_flexible(*index) && !is_path(*index);
        (0..shown_columns.len()).filter(counts).map(|index| widths[index] + GAP).sum()
    };
    let least = title.map_or(0, |title| widths[title].min(NARROW_TITLE) + GAP);
    for column in DROP_ORDER {
        if fixed(widths) + least <= width + GAP {
            break;
        }
        for index in (0..shown_columns.len())
            .filter(|index| shown_columns[*index] == column && !is_flexible(*index) && !is_path(*index))
        {
            // At least one column stays.
            if widths.iter().filter(|width| **width > 0).count() > 1 {
                widths[index] = 0;
            }
        }
    }
    let Some(title) = title else { return };
    let available = width.saturating_sub(fixed(widths));
    let mut title_width = available;
    if let Some(directory) = directory {
        let directory_width = widths[directory].min(available / 3);
        let fits = available >= LEAST_TITLE + GAP + directory_width && directory_width >= LEAST_DIRECTORY;
        widths[directory] = if fits { directory_width } else { 0 };
        title_width = if fits { available - directory_width - GAP } else { available };
    }
    widths[title] = title_width.max(NARROW_TITLE.min(width));
}

fn cell_width(cell: &[(Style, String)]) -> usize {
    cell.iter().map(|(_, text)| columns(&clean(text))).sum()
}

/// Formats a number in thousands or millions if it is that large.
fn thousands(number: f64) -> String {
    match number {
        ..1000.0 => format!("{number:.0}"),
        ..10_000.0 => format!("{:.1}k", number / 1e3),
        ..1_000_000.0 => format!("{:.0}k", number / 1e3),
        _ => format!("{:.1}M", number / 1e6),
    }
}

pub(crate) use sessile_display::measure::age;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_match_the_settings() {
        let names: Vec<String> = Column::value_variants()
            .iter()
            .map(|column| column.to_possible_value().unwrap().get_name().to_owned())
            .collect();
        assert_eq!(names, sessile::settings::COLUMNS);
    }

    #[test]
    fn numbers_stay_short() {
        let output = [0.0, 999.0, 1000.0, 12_345.0, 1_234_567.0, f64::NAN].map(thousands);
        assert_eq!(output, ["0", "999", "1.0k", "12k", "1.2M", "NaNM"]);
    }

    /// Returns a line as laid out on a terminal of this width.
    fn laid_out(shown_columns: &[Column], cells: &[(Column, &str)], room: Option<usize>) -> String {
        let cell = |column: &Column| {
            let text = cells.iter().find(|(other, _)| other == column).map_or("", |(_, text)| text);
            vec![(PLAIN, text.to_owned())]
        };
        let cells: Vec<Vec<Cell>> = vec![shown_columns.iter().map(cell).collect()];
        let layout = Layout::new(shown_columns, &cells, room);
        let mut bytes = Vec::new();
        let stream = crate::stream::Stream {
            writer: &mut bytes,
            terminal_width: room,
            terminal_height: None,
            takes_color: false,
        };
        Screen::new(stream, crate::screen::Color::Never).print(layout.line(&cells[0])).unwrap();
        String::from_utf8(bytes).unwrap().trim_end().to_owned()
    }

    const CELLS: [(Column, &str); 6] = [
        (Column::Position, "@1"),
        (Column::Age, "40m"),
        (Column::Messages, "29"),
        (Column::Session, "High water an hour early, once more"),
        (Column::Directory, "~/src/tidepool"),
        (Column::Cost, "$12.34"),
    ];

    #[test]
    fn narrow_terminals_drop_the_least_needed_columns() {
        let shown_columns = CELLS.map(|(column, _)| column);
        let at = |width| laid_out(&shown_columns, &CELLS, Some(width));
        let wide = "@1    40m    29  High water an hour early, once more                ~/src/tidepool  $12.34";
        assert_eq!(at(90), wide);
        assert_eq!(at(50), "@1    40m    29  High water an hour early…  $12.34");
        assert_eq!(at(36), "@1    40m  High water an ho…  $12.34");
        assert_eq!(at(27), "@1  High water an …  $12.34");
        assert_eq!(at(20), "High water …  $12.34");
        let cost_alone = [Column::Created, Column::Cost];
        assert_eq!(laid_out(&cost_alone, &[(Column::Created, "2026-01-01 00:00"), CELLS[5]], Some(20)), "$12.34");
    }

    #[test]
    fn nothing_is_cut_without_a_terminal() {
        let long = "潮".repeat(100);
        let cells = [(Column::Session, long.as_str()), (Column::Directory, "~/x")];
        let output = laid_out(&[Column::Session, Column::Directory], &cells, None);
        assert_eq!(output, format!("{long}  ~/x"));
    }
}
