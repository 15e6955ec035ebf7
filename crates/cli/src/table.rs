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

/// Where the columns end, the first three aligned to the right.
const PLACE: usize = 4;
const AGE: usize = 5;
const COUNT: usize = 6;
/// Between columns.
const GAP: usize = 2;
/// The least that is left for what a session is about.
const LEAST_TITLE: usize = 20;

/// Prints sessions in their order.
pub(crate) fn print(
    surroundings: &Surroundings,
    out: &mut Screen<'_>,
    sessions: &[SessionInfo],
    shown: Columns,
) -> io::Result<()> {
    let now = surroundings.now_ms();
    let cwds: Vec<String> = sessions.iter().map(|session| surroundings.short(&session.cwd)).collect();
    let age_end = if shown.place { PLACE + AGE } else { AGE };
    let title_start = age_end + COUNT + GAP;
    let available = out.width().saturating_sub(title_start);
    let cwd_width = if shown.cwd { cwd_width(&cwds, available) } else { 0 };
    let title_width = if cwd_width == 0 { available } else { available - cwd_width - GAP };
    let row = |place: &str, age: &str, count: &str, count_style, style, title: &str, cwd: &str| {
        let start = if shown.place { Line::new().styled(DIM, place) } else { Line::new() };
        let start = start.right(age_end, DIM, age).right(age_end + COUNT, count_style, count).pad(title_start);
        let titled = start.styled(style, title).cut(title_start + title_width);
        if cwd_width == 0 { titled } else { titled.pad(title_start + title_width + GAP).styled(DIM, cwd) }
    };
    out.print(row("", "age", "msgs", DIM, DIM, "session", "directory"))?;
    for (n_before, (session, cwd)) in sessions.iter().zip(&cwds).enumerate() {
        let (place, age) = (format!("@{}", n_before + 1), age(now, session.modified));
        let count = session.message_count.to_string();
        let (style, title) = match &session.name {
            Some(name) => (NAMED, name.to_str()),
            None => (PLAIN, session.first_message.to_str()),
        };
        out.print(row(&place, &age, &count, PLAIN, style, title.trim(), cwd))?;
        if shown.path {
            out.print_whole(&Line::new().pad(title_start).styled(DIM, &session.path.to_string_lossy()))?;
        }
    }
    Ok(())
}

/// As wide as the widest directory, but at most a third of what there is, and nothing if that is too little.
fn cwd_width(cwds: &[String], available: usize) -> usize {
    let widest = cwds.iter().map(|cwd| columns(&clean(cwd))).max().unwrap_or_default().max("directory".len());
    let width = widest.min(available / 3);
    if available < LEAST_TITLE + GAP + width || width < 8 { 0 } else { width }
}

/// How long ago something was, in the largest unit that fits.
fn age(now_ms: i64, then_ms: i64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
