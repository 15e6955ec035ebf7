//! Sessions as a table for people.

use std::io;

use anstyle::Style;
use clap::ValueEnum;
use sessile::SessionInfo;

use crate::measure::size_words;
use crate::screen::{DIM, Line, NAMED, PLAIN, Screen, clean, columns};
use crate::surroundings::Surroundings;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// The place in the list, as @1
    Place,
    /// How long ago somebody said something
    Age,
    /// How many messages there are
    Messages,
    /// Its name, or else how it begins
    Session,
    /// Its working directory
    Directory,
    /// Its name
    Name,
    /// Its id
    Id,
    /// When it was created
    Created,
    /// When somebody last said something
    Modified,
    /// How large its file is
    Size,
    /// What it cost
    Cost,
    /// How many tokens were used
    Tokens,
    /// Its file
    Path,
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Place => "",
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
            Self::Place => 2,
            Self::Age => 5,
            Self::Messages => 4,
            _ => 0,
        }
    }
}

/// Between columns.
const GAP: usize = 2;
/// The least that is left for what a session is about.
const LEAST_TITLE: usize = 20;
/// A directory that has less than this says nothing.
const LEAST_DIRECTORY: usize = 8;

/// A row of a table.
pub(crate) struct Row<'r> {
    /// The session; none for one that is only known from its children.
    pub(crate) session: Option<&'r SessionInfo>,
    /// What stands before its title.
    pub(crate) before: String,
    /// What is known of the place it belongs to: its working directory, or the path of a file that is missing.
    pub(crate) place: String,
}

impl<'r> Row<'r> {
    /// The row of a session as such.
    pub(crate) fn of(surroundings: &Surroundings, session: &'r SessionInfo) -> Self {
        Self { session: Some(session), before: String::new(), place: surroundings.short(&session.cwd) }
    }
}

/// What stands in one column of one row, in pieces.
type Cell = Vec<(Style, String)>;

/// Prints rows in their order, with the path of each below it if that is wanted.
pub(crate) fn print(
    surroundings: &Surroundings,
    out: &mut Screen<'_>,
    rows: &[Row<'_>],
    shown: &[Column],
    with_paths: bool,
) -> io::Result<()> {
    let cells = cells(surroundings, rows, shown);
    let layout = Layout::new(shown, &cells, out.width());
    let headings: Vec<Cell> = shown.iter().map(|column| vec![(DIM, column.heading().to_owned())]).collect();
    out.print(layout.line(&headings))?;
    for (row, cells) in rows.iter().zip(&cells) {
        let line = layout.line(cells);
        match shown.last() {
            // A path is to be copied, so it is never cut.
            Some(Column::Path) => out.print_whole(&line)?,
            _ => out.print(line)?,
        }
        if let Some(session) = row.session.filter(|_| with_paths) {
            out.print_whole(&Line::new().pad(layout.title_start).styled(DIM, &session.path.to_string_lossy()))?;
        }
    }
    Ok(())
}

fn cells(surroundings: &Surroundings, rows: &[Row<'_>], shown: &[Column]) -> Vec<Vec<Cell>> {
    let now = surroundings.now_ms();
    let mut n_sessions = 0;
    let cells_of = |row: &Row<'_>| {
        n_sessions += usize::from(row.session.is_some());
        let cell = |column: &Column| match row.session {
            Some(session) => cell(surroundings, now, n_sessions, row, session, *column),
            None if *column == Column::Session => {
                vec![(DIM, row.before.clone()), (DIM, format!("(not here: {})", row.place))]
            }
            None => Vec::new(),
        };
        shown.iter().map(cell).collect()
    };
    rows.iter().map(cells_of).collect()
}

fn cell(
    surroundings: &Surroundings,
    now: i64,
    place: usize,
    row: &Row<'_>,
    session: &SessionInfo,
    column: Column,
) -> Cell {
    let named = session.name.as_ref().map(|name| (NAMED, name.to_str().trim().to_owned()));
    let plain = |text: String| vec![(PLAIN, text)];
    let dim = |text: String| vec![(DIM, text)];
    match column {
        Column::Place => dim(format!("@{place}")),
        Column::Age => dim(age(now, session.modified)),
        Column::Messages => plain(session.message_count.to_string()),
        Column::Session => {
            let title = named.unwrap_or_else(|| (PLAIN, session.first_message.to_str().trim().to_owned()));
            vec![(DIM, row.before.clone()), title]
        }
        Column::Directory => dim(row.place.clone()),
        Column::Name => named.into_iter().collect(),
        Column::Id => plain(session.id.clone()),
        Column::Created => dim(session.created.map(|created| surroundings.local_time(created)).unwrap_or_default()),
        Column::Modified => dim(surroundings.local_time(session.modified)),
        Column::Size => plain(size_words(session.size)),
        Column::Cost => plain(format!("${:.2}", session.facts.cost)),
        Column::Tokens => plain(thousands(session.facts.tokens.total())),
        Column::Path => dim(session.path.to_string_lossy().into_owned()),
    }
}

/// Where the columns stand.
struct Layout {
    /// For each column its place, and how wide it is; none if there is no room for it.
    places: Vec<Option<(usize, usize)>>,
    is_right_aligned: Vec<bool>,
    /// Where the title begins.
    title_start: usize,
}

impl Layout {
    /// Columns are as wide as what stands in them. What a session is about gets what the others leave, and a directory a third.
    fn new(shown: &[Column], cells: &[Vec<Cell>], width: usize) -> Self {
        let mut widths: Vec<usize> = Vec::new();
        for (place, column) in shown.iter().enumerate() {
            let widest = cells.iter().map(|row| cell_width(&row[place])).max().unwrap_or_default();
            widths.push(widest.max(column.heading().len()).max(column.least_width()));
        }
        let place_of = |column| shown.iter().position(|shown| *shown == column);
        if let Some(title) = place_of(Column::Session) {
            let directory = place_of(Column::Directory);
            let is_fixed = |place: &usize| *place != title && Some(*place) != directory;
            let fixed: usize = (0..shown.len()).filter(is_fixed).map(|place| widths[place] + GAP).sum();
            let available = width.saturating_sub(fixed);
            let mut left = available;
            if let Some(directory) = directory {
                let wanted = widths[directory].min(available / 3);
                let fits = available >= LEAST_TITLE + GAP + wanted && wanted >= LEAST_DIRECTORY;
                widths[directory] = if fits { wanted } else { 0 };
                left = if fits { available - wanted - GAP } else { available };
            }
            widths[title] = left.max(LEAST_TITLE.min(width));
        }
        let mut at = 0;
        let mut places = Vec::new();
        for width in widths {
            places.push((width > 0).then_some((at, width)));
            at += if width > 0 { width + GAP } else { 0 };
        }
        let title_start = place_of(Column::Session).and_then(|title| places[title]).map_or(GAP, |(at, _)| at);
        let is_right_aligned = shown.iter().map(|column| column.is_right_aligned()).collect();
        Self { places, is_right_aligned, title_start }
    }

    fn line(&self, cells: &[Cell]) -> Line {
        let mut line = Line::new();
        for (place, cell) in cells.iter().enumerate() {
            let Some((at, width)) = self.places[place] else { continue };
            line = line.pad(at);
            for (style, text) in cell {
                let is_right = self.is_right_aligned[place];
                line = if is_right { line.right(at + width, *style, text) } else { line.styled(*style, text) };
            }
            if place + 1 < cells.len() {
                line = line.cut(at + width);
            }
        }
        line
    }
}

fn cell_width(cell: &[(Style, String)]) -> usize {
    cell.iter().map(|(_, text)| columns(&clean(text))).sum()
}

/// A number in thousands or millions, once it is that large.
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
    fn columns_are_those_that_settings_know() {
        let names: Vec<String> = Column::value_variants()
            .iter()
            .map(|column| column.to_possible_value().unwrap().get_name().to_owned())
            .collect();
        assert_eq!(names, sessile::settings::COLUMNS);
    }

    #[test]
    fn numbers_stay_short() {
        let told = [0.0, 999.0, 1000.0, 12_345.0, 1_234_567.0, f64::NAN].map(thousands);
        assert_eq!(told, ["0", "999", "1.0k", "12k", "1.2M", "NaNM"]);
    }
}
