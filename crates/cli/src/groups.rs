//! Statistics groups, as a table with bars for people and as CSV for spreadsheets.

use std::io::{self, Write};

use clap::ValueEnum;
use sessile::format::head::Role;
use sessile::stats::{Grouping, StatsGroup, Tally};

use crate::environment::CommandEnvironment;
use crate::measure::{Money, ShortIds, number};
use crate::screen::{ACCENT, DIM, Line, PLAIN, Screen, clean, columns};
use crate::table::WIDEST_ALIGNED;

/// When bars are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plot {
    /// Draw bars on terminals with room for them
    #[default]
    Auto,
    /// Draw bars in files and pipes too
    Always,
    /// Do not draw bars
    Never,
}

/// A table of groups.
pub(crate) struct GroupTable<'g> {
    /// The grouping keys.
    pub(crate) by: &'g [Grouping],
    pub(crate) groups: &'g [StatsGroup],
    /// Whether tool calls were counted.
    pub(crate) knows_tools: bool,
    /// How costs are formatted.
    pub(crate) money: Money,
    pub(crate) plot: Plot,
}

/// A column of figures, in table order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Sessions,
    Messages,
    Calls,
    Failed,
    Tokens,
    Cached,
    Cost,
}

const FIGURES: [Figure; 7] =
    [Figure::Sessions, Figure::Messages, Figure::Calls, Figure::Failed, Figure::Tokens, Figure::Cached, Figure::Cost];

/// The columns that a narrow terminal drops, in this order; the cost is always shown.
const DROP_ORDER: [Figure; 6] =
    [Figure::Cached, Figure::Failed, Figure::Sessions, Figure::Messages, Figure::Calls, Figure::Tokens];

/// The columns dropped to make room for bars.
const DROPPED_FOR_BARS: [Figure; 2] = [Figure::Cached, Figure::Failed];

/// Columns between table columns.
const GAP: usize = 2;
/// Minimum width of a key before figures are dropped. A session's key holds its id and title.
const LEAST_KEY: usize = 16;
const LEAST_SESSION: usize = 26;
/// Minimum width of a key if no figure is left to drop.
const NARROWEST_KEY: usize = 4;
/// Minimum and maximum width of bars.
const LEAST_BAR: usize = 6;
const MAX_BAR: usize = 30;

/// The value that bars show.
type Measured = fn(&Tally) -> f64;

/// A table column: its heading and its cells.
struct Column {
    heading: &'static str,
    cells: Vec<String>,
    width: usize,
    /// The minimum width before other columns are dropped.
    least: usize,
}

impl Column {
    fn new(heading: &'static str, cells: Vec<String>, least: usize) -> Self {
        let width = cells.iter().map(|cell| columns(&clean(cell))).max().unwrap_or_default().max(heading.len());
        Self { heading, cells, width, least }
    }
}

impl GroupTable<'_> {
    /// Prints the table, with an empty line before it.
    pub(crate) fn print(&self, env: &CommandEnvironment, out: &mut Screen<'_>) -> io::Result<()> {
        let mut keys: Vec<Column> = self.by.iter().enumerate().map(|(index, by)| self.keys(env, index, *by)).collect();
        let mut figures: Vec<(Figure, Column)> = FIGURES
            .into_iter()
            .filter(|figure| self.is_shown(*figure))
            .map(|figure| (figure, self.figures(figure)))
            .collect();
        let room = out.room();
        match room {
            Some(width) => fit(&mut keys, &mut figures, width, self.plot != Plot::Never),
            None => keys.iter_mut().for_each(|key| key.width = key.width.min(WIDEST_ALIGNED)),
        }
        let taken: usize = keys.iter().chain(figures.iter().map(|(_, column)| column)).map(|it| it.width + GAP).sum();
        let bars = self.bars(room.map(|width| width.saturating_sub(taken)));
        let cuts = room.is_some();
        out.blank()?;
        let heading = |column: &Column| column.heading.to_owned();
        let line = row(&keys, &figures, cuts, true, heading);
        out.print(match &bars {
            // Cost bars need no heading, because the cost column is next to them.
            Some((label, _)) if *label != "cost" => line.pad(taken).styled(DIM, label),
            _ => line,
        })?;
        for index in 0..self.groups.len() {
            let line = row(&keys, &figures, cuts, false, |column| column.cells[index].clone());
            out.print(match &bars {
                Some((_, bars)) => line.pad(taken).styled(ACCENT, &bars[index]),
                None => line,
            })?;
        }
        Ok(())
    }

    /// Builds the column of one kind of key.
    fn keys(&self, env: &CommandEnvironment, index: usize, by: Grouping) -> Column {
        let ids = ShortIds::among(self.groups.iter().filter_map(|group| Some(group.session.as_ref()?.1.as_str())));
        let n_id = ids.width();
        let cell = |group: &StatsGroup| {
            let key = group.keys.get(index).map(|key| key.trim()).unwrap_or_default();
            match (by, &group.session) {
                (Grouping::Project, _) if key.is_empty() => "(unknown)".to_owned(),
                (Grouping::Project, _) => env.short(key),
                (Grouping::Repository, _) if key.is_empty() => "(none)".to_owned(),
                (Grouping::Member, _) if key.is_empty() => "(you)".to_owned(),
                (Grouping::Session, Some((_, id))) => format!("{:n_id$}  {key}", ids.of(id.as_str())),
                _ => key.to_owned(),
            }
        };
        let least = if by == Grouping::Session { LEAST_SESSION } else { LEAST_KEY };
        Column::new(by.word(), self.groups.iter().map(cell).collect(), least)
    }

    /// Whether a column of figures contains any information.
    fn is_shown(&self, figure: Figure) -> bool {
        let has = |has_value: fn(&Tally) -> bool| self.groups.iter().any(|group| has_value(&group.tally));
        match figure {
            Figure::Sessions => {
                let is_one = self.by.contains(&Grouping::Session);
                !is_one && self.groups.iter().any(|group| group.sessions.is_some())
            }
            Figure::Messages => has(|tally| tally.messages.total() > 0),
            Figure::Calls => self.knows_tools && has(|tally| tally.tool_calls > 0),
            Figure::Failed => self.knows_tools && has(|tally| tally.tool_errors > 0),
            Figure::Tokens => has(|tally| tally.tokens.total() > 0.0),
            Figure::Cached => has(|tally| tally.tokens.cache_read > 0.0),
            Figure::Cost => has(|tally| tally.cost > 0.0),
        }
    }

    fn figures(&self, figure: Figure) -> Column {
        let count = |count: u64| if count == 0 { String::new() } else { count_text(count) };
        let cell = |group: &StatsGroup| {
            let tally = &group.tally;
            match figure {
                Figure::Sessions => group.sessions.map(|sessions| count(sessions as u64)).unwrap_or_default(),
                Figure::Messages => count(tally.messages.total()),
                Figure::Calls => count(tally.tool_calls),
                Figure::Failed => count(tally.tool_errors),
                Figure::Tokens if tally.tokens.total() > 0.0 => number(tally.tokens.total()),
                Figure::Tokens => String::new(),
                Figure::Cached => {
                    tally.cache_hit_rate().map(|rate| format!("{:.1}%", rate * 100.0)).unwrap_or_default()
                }
                Figure::Cost => self.money.words(tally.cost),
            }
        };
        let heading = match figure {
            Figure::Sessions => "sessions",
            Figure::Messages => "messages",
            Figure::Calls => "calls",
            Figure::Failed => "failed",
            Figure::Tokens => "tokens",
            Figure::Cached => "cached",
            Figure::Cost => "cost",
        };
        Column::new(heading, self.groups.iter().map(cell).collect(), 0)
    }

    /// Returns what the bars show and a bar for each group, if there is room for them.
    fn bars(&self, room: Option<usize>) -> Option<(&'static str, Vec<String>)> {
        let width = match (self.plot, room) {
            (Plot::Never, _) | (Plot::Auto, None) => return None,
            (Plot::Auto, Some(room)) if room < LEAST_BAR => return None,
            (_, room) => room.unwrap_or(MAX_BAR).clamp(LEAST_BAR, MAX_BAR),
        };
        let is_of_tools = self.by.contains(&Grouping::Tool);
        #[expect(clippy::cast_precision_loss, reason = "a bar has few steps")]
        let kinds: [(&'static str, Measured); 4] = [
            ("calls", |tally| tally.tool_calls as f64),
            ("cost", |tally| tally.cost),
            ("tokens", |tally| tally.tokens.total()),
            ("messages", |tally| tally.messages.total() as f64),
        ];
        let largest = |value: Measured| self.groups.iter().map(|group| value(&group.tally)).fold(0.0, f64::max);
        let mut kinds = kinds.into_iter().skip(usize::from(!is_of_tools));
        let (label, value) = kinds.find(|(_, value)| largest(*value) > 0.0)?;
        let largest = largest(value);
        Some((label, self.groups.iter().map(|group| bar(value(&group.tally) / largest, width)).collect()))
    }
}

/// Fits a table into a terminal. Keys shrink to their minimum first; then columns are dropped to make room for bars,
/// and further ones, with the bars, if the table is still too wide.
fn fit(keys: &mut [Column], figures: &mut Vec<(Figure, Column)>, width: usize, plots: bool) {
    let figures_width =
        |figures: &[(Figure, Column)]| figures.iter().map(|(_, column)| column.width + GAP).sum::<usize>();
    let least: usize = keys.iter().map(|key| key.width.min(key.least) + GAP).sum();
    let bar_width = if plots { LEAST_BAR + GAP } else { 0 };
    for figure in DROPPED_FOR_BARS {
        if least + figures_width(figures) + bar_width > width + GAP {
            figures.retain(|(other, _)| *other != figure);
        }
    }
    for figure in DROP_ORDER {
        if least + figures_width(figures) > width + GAP && figures.len() > 1 {
            figures.retain(|(other, _)| *other != figure);
        }
    }
    let has_bar = least + figures_width(figures) + bar_width <= width + GAP;
    let mut remaining = (width + GAP).saturating_sub(figures_width(figures) + if has_bar { bar_width } else { 0 });
    // The narrowest first, so that the others get the room they leave.
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|index| keys[*index].width);
    for (n_done, index) in order.iter().enumerate() {
        let share = (remaining / (keys.len() - n_done)).saturating_sub(GAP).max(NARROWEST_KEY);
        keys[*index].width = keys[*index].width.min(share);
        remaining = remaining.saturating_sub(keys[*index].width + GAP);
    }
}

/// Builds a table row.
fn row(
    keys: &[Column],
    figures: &[(Figure, Column)],
    cuts: bool,
    is_heading: bool,
    cell: impl Fn(&Column) -> String,
) -> Line {
    let style = if is_heading { DIM } else { PLAIN };
    let mut line = Line::new();
    let mut at = 0;
    for column in keys {
        let text = Line::new().styled(style, &cell(column));
        line = line.pad_after(at, GAP).join(if cuts { text.cut(column.width) } else { text });
        at += column.width + GAP;
    }
    for (_, column) in figures {
        line = line.pad_after(at, GAP).right(at + column.width, style, &cell(column));
        at += column.width + GAP;
    }
    line
}

/// Draws a bar in eighths of a column.
fn bar(part: f64, width: usize) -> String {
    if part.is_nan() || part <= 0.0 {
        return String::new();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a fraction of a width"
    )]
    let n_eighths = ((part.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    let last_block = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][n_eighths % 8];
    "█".repeat(n_eighths / 8) + last_block
}

fn count_text(count: u64) -> String {
    sessile_display::measure::number_words(count)
}

/// Writes groups as CSV: a heading, and one row per group.
pub(crate) fn write_csv(
    by: &[Grouping],
    groups: &[StatsGroup],
    knows_tools: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_of_sessions = by.contains(&Grouping::Session);
    let mut heading: Vec<&str> = by.iter().map(|by| by.word()).collect();
    if is_of_sessions {
        heading.extend(["id", "path"]);
    }
    heading.extend(CSV_FIGURES);
    writeln!(out, "{}", heading.join(","))?;
    for group in groups {
        let mut cells: Vec<String> = group.keys.iter().map(|key| quoted(key)).collect();
        if let Some((path, id)) = group.session.as_ref().filter(|_| is_of_sessions) {
            cells.extend([quoted(id.as_str()), quoted(&path.to_string_lossy())]);
        }
        cells.extend(csv_figures(group, knows_tools));
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// Programs rely on the order of these columns; new ones go to the end.
const CSV_FIGURES: [&str; 12] = [
    "sessions",
    "messages",
    "user_messages",
    "assistant_messages",
    "tool_calls",
    "tool_errors",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "tokens",
    "cost",
];

fn csv_figures(group: &StatsGroup, knows_tools: bool) -> [String; 12] {
    let Tally { messages, tokens, .. } = &group.tally;
    let calls = |count: u64| if knows_tools { count.to_string() } else { String::new() };
    [
        group.sessions.map(|sessions| sessions.to_string()).unwrap_or_default(),
        messages.total().to_string(),
        messages.of(Role::User).to_string(),
        messages.of(Role::Assistant).to_string(),
        calls(group.tally.tool_calls),
        calls(group.tally.tool_errors),
        tokens.input.to_string(),
        tokens.output.to_string(),
        tokens.cache_read.to_string(),
        tokens.cache_write.to_string(),
        tokens.total().to_string(),
        format!("{:.6}", group.tally.cost),
    ]
}

/// Converts a text to a CSV cell: safe in terminals and spreadsheets, and quoted if necessary.
fn quoted(text: &str) -> String {
    let mut text = clean(text.trim());
    // Spreadsheets treat text with these prefixes as a formula, and the texts come from other programs.
    if text.starts_with(['=', '+', '-', '@']) {
        text.insert(0, '\'');
    }
    if text.contains([',', '"', ';']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!([0.0, 0.001, 0.5, 1.0, 2.0, f64::NAN].map(|part| bar(part, 4)), ["", "▏", "██", "████", "████", ""]);
        assert_eq!(bar(0.33, 4), "█▍");
        assert_eq!(bar(f64::INFINITY, 2), "██");
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (text, cell) in [
            ("plain", "plain"),
            (" a,b ", "\"a,b\""),
            ("say \"no\"", "\"say \"\"no\"\"\""),
            ("two\nlines\t", "two lines"),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("@cf/model", "'@cf/model"),
            ("-1+2", "'-1+2"),
            ("\t=1", "'=1"),
            ("\u{200b}=1", "'=1"),
            ("\u{1b}[2J", "␛[2J"),
        ] {
            assert_eq!(quoted(text), cell, "{text:?}");
        }
    }

    fn group(keys: &[&str], cost: f64) -> StatsGroup {
        let mut tally = Tally { tool_calls: 3, tool_errors: 1, cost, ..Tally::default() };
        tally.tokens.input = 1_234_567.0;
        tally.tokens.cache_read = 5.0;
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        StatsGroup { keys, sessions: Some(2), tally, ..StatsGroup::default() }
    }

    /// Returns the remaining columns, and the widths of the keys.
    fn fitted(keys: &[&str], width: usize, plot: Plot) -> (Vec<&'static str>, Vec<usize>) {
        let groups = [group(keys, 1234.5)];
        let by = &[Grouping::Model, Grouping::Tool][..keys.len()];
        let table = GroupTable { by, groups: &groups, knows_tools: true, money: Money::upto(1234.5), plot };
        let mut columns: Vec<Column> =
            keys.iter().map(|key| Column::new("x", vec![(*key).to_owned()], LEAST_KEY)).collect();
        let visible = FIGURES.into_iter().filter(|figure| table.is_shown(*figure));
        let mut figures: Vec<(Figure, Column)> = visible.map(|figure| (figure, table.figures(figure))).collect();
        fit(&mut columns, &mut figures, width, plot != Plot::Never);
        let headings = figures.iter().map(|(_, column)| column.heading).collect();
        (headings, columns.iter().map(|column| column.width).collect())
    }

    #[test]
    fn the_cost_is_dropped_last() {
        let key = "x".repeat(40);
        let at = |width| fitted(&[&key], width, Plot::Never);
        let all = vec!["sessions", "calls", "failed", "tokens", "cached", "cost"];
        assert_eq!((at(100), at(71).0), ((all.clone(), vec![40]), all));
        assert_eq!(at(70).0, ["sessions", "calls", "failed", "tokens", "cost"]);
        assert_eq!(at(60).0, ["sessions", "calls", "tokens", "cost"]);
        assert_eq!(at(50).0, ["calls", "tokens", "cost"]);
        assert_eq!(at(40).0, ["tokens", "cost"]);
        assert_eq!(at(30), (vec!["cost"], vec![19]));
        assert_eq!(at(20), (vec!["cost"], vec![9]));
        assert_eq!(fitted(&["short", &key], 100, Plot::Never).1, [5, 38]);
        assert_eq!(fitted(&[&key, &key], 20, Plot::Never), (vec!["cost"], vec![4, 4]));
    }

    #[test]
    fn bars_replace_the_least_needed_columns() {
        let key = "x".repeat(40);
        assert_eq!(fitted(&[&key], 71, Plot::Auto), (vec!["sessions", "calls", "failed", "tokens", "cost"], vec![16]));
        assert_eq!(fitted(&[&key], 60, Plot::Auto).0, ["sessions", "calls", "tokens", "cost"]);
    }
}
