//! Sessions as a table for people.

use std::io;

use sessile::SessionInfo;

use crate::screen::{DIM, Line, NAMED, PLAIN, Screen, clean, columns};
use crate::surroundings::Surroundings;

/// Which columns a table has besides those it always has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Columns {
    /// The place in the list, as `@1`.
    pub(crate) place: bool,
    /// The working directory.
    pub(crate) cwd: bool,
    /// The file.
    pub(crate) path: bool,
}

/// How wide the columns are, which are aligned to the right.
const AGE: usize = 5;
const COUNT: usize = 6;
/// Between columns.
const GAP: usize = 2;
/// The least that is left for what a session is about.
const LEAST_TITLE: usize = 20;

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

/// Prints sessions in their order.
pub(crate) fn print(
    surroundings: &Surroundings,
    out: &mut Screen<'_>,
    sessions: &[SessionInfo],
    shown: Columns,
) -> io::Result<()> {
    let rows: Vec<Row<'_>> = sessions.iter().map(|session| Row::of(surroundings, session)).collect();
    print_rows(surroundings, out, &rows, shown)
}

/// Prints rows in their order.
pub(crate) fn print_rows(
    surroundings: &Surroundings,
    out: &mut Screen<'_>,
    rows: &[Row<'_>],
    shown: Columns,
) -> io::Result<()> {
    let now = surroundings.now_ms();
    let widest_place = format!("@{}", rows.len()).len().max(4);
    let age_end = if shown.place { widest_place + AGE } else { AGE };
    let title_start = age_end + COUNT + GAP;
    let available = out.width().saturating_sub(title_start);
    let cwd_width = if shown.cwd { cwd_width(rows, available) } else { 0 };
    let title_width = if cwd_width == 0 { available } else { available - cwd_width - GAP };
    let line = |place: &str, age: &str, count: &str, count_style, titled: &dyn Fn(Line) -> Line, cwd: &str| {
        let start = if shown.place { Line::new().styled(DIM, place) } else { Line::new() };
        let start = start.right(age_end, DIM, age).right(age_end + COUNT, count_style, count).pad(title_start);
        let titled = titled(start).cut(title_start + title_width);
        if cwd_width == 0 { titled } else { titled.pad(title_start + title_width + GAP).styled(DIM, cwd) }
    };
    out.print(line("", "age", "msgs", DIM, &|line| line.styled(DIM, "session"), "directory"))?;
    let mut n_sessions = 0;
    for row in rows {
        let Some(session) = row.session else {
            let title = format!("(not here: {})", row.place);
            out.print(line("", "", "", DIM, &|line| line.styled(DIM, &row.before).styled(DIM, &title), ""))?;
            continue;
        };
        n_sessions += 1;
        let (place, age) = (format!("@{n_sessions}"), age(now, session.modified));
        let count = session.message_count.to_string();
        let (style, title) = match &session.name {
            Some(name) => (NAMED, name.to_str()),
            None => (PLAIN, session.first_message.to_str()),
        };
        let titled = |line: Line| line.styled(DIM, &row.before).styled(style, title.trim());
        out.print(line(&place, &age, &count, PLAIN, &titled, &row.place))?;
        if shown.path {
            out.print_whole(&Line::new().pad(title_start).styled(DIM, &session.path.to_string_lossy()))?;
        }
    }
    Ok(())
}

/// As wide as the widest directory, but at most a third of what there is, and nothing if that is too little.
fn cwd_width(rows: &[Row<'_>], available: usize) -> usize {
    let places = rows.iter().filter(|row| row.session.is_some()).map(|row| &row.place);
    let widest = places.map(|place| columns(&clean(place))).max().unwrap_or_default().max("directory".len());
    let width = widest.min(available / 3);
    if available < LEAST_TITLE + GAP + width || width < 8 { 0 } else { width }
}

/// How long ago something was, in the largest unit that fits.
pub(crate) fn age(now_ms: i64, then_ms: i64) -> String {
    let minutes = now_ms.saturating_sub(then_ms) / 60_000;
    let (hours, days) = (minutes / 60, minutes / 60 / 24);
    match (minutes, hours, days) {
        (..1, _, _) => "now".to_owned(),
        (..60, _, _) => format!("{minutes}m"),
        (_, ..24, _) => format!("{hours}h"),
        (_, _, ..7) => format!("{days}d"),
        (_, _, ..30) => format!("{}w", days / 7),
        (_, _, ..365) => format!("{}mo", days / 30),
        _ => format!("{}y", days / 365),
    }
}

/// A number of bytes in the largest unit that leaves something before the point.
pub(crate) fn size(n_bytes: u64) -> String {
    let units = [(1_u64 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    match units.into_iter().find(|(unit, _)| n_bytes >= *unit) {
        None => format!("{n_bytes} B"),
        Some((unit, name)) => {
            let tenths = n_bytes.saturating_mul(10) / unit;
            if tenths < 100 {
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            } else {
                format!("{} {name}", tenths / 10)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_or_more() {
        let told = [0, 1023, 1024, 1536, 10 << 10, 5 << 20, 3 << 30, u64::MAX].map(size);
        assert_eq!(told, ["0 B", "1023 B", "1.0 kB", "1.5 kB", "10 kB", "5.0 MB", "3.0 GB", "1717986918 GB"]);
    }

    #[test]
    fn ages_are_rounded_down() {
        let minute = 60_000;
        let day = 24 * 60 * minute;
        for (ago, expected) in [
            (-5 * day, "now"),
            (minute - 1, "now"),
            (minute, "1m"),
            (60 * minute - 1, "59m"),
            (60 * minute, "1h"),
            (day - 1, "23h"),
            (day, "1d"),
            (7 * day - 1, "6d"),
            (7 * day, "1w"),
            (30 * day - 1, "4w"),
            (30 * day, "1mo"),
            (365 * day - 1, "12mo"),
            (365 * day, "1y"),
            (3 * 365 * day, "3y"),
        ] {
            assert_eq!(age(0, -ago), expected, "{ago}");
        }
        assert_eq!(age(i64::MAX, i64::MIN), age(i64::MAX, 0));
    }
}
