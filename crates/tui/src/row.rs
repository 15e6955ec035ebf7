//! Rows of session lists: a title, the location of the session, and its age.
//!
//! The title comes first and the age is never cut. The text between them gets the remaining room and is cut from the
//! left, because paths differ at their end.

use sessile::list::SessionInfo;
use sessile_display::columns;

use crate::paint::Line;
use crate::theme::Ink;

/// Returns the title of a session on one line: its name, or else its first message.
pub(crate) fn title(info: &SessionInfo) -> String {
    let text = info.name.as_ref().unwrap_or(&info.first_message).to_str();
    text.replace(|char: char| char.is_ascii_control(), " ").trim().to_owned()
}

/// Minimum columns for an excerpt.
const MIN_EXCERPT_COLUMNS: usize = 10;

/// Minimum columns for the text beside a title.
const MIN_BESIDE_COLUMNS: usize = 8;

/// Columns that a long title leaves for the end of a path in a wide row.
const RESERVED_BESIDE_COLUMNS: usize = 16;

/// Minimum columns of a wide row.
const MIN_WIDE_COLUMNS: usize = 48;

/// The parts of a row.
pub(crate) struct Parts<'p> {
    /// The text before the title: cursor, tree lines, marks.
    pub(crate) lead: Line,
    pub(crate) title: Line,
    /// Renders the matching excerpt of the session in a number of columns.
    pub(crate) excerpt: Option<&'p dyn Fn(usize) -> Line>,
    /// The path, if paths are shown.
    pub(crate) path: Option<String>,
    /// A note about the session, such as "in use".
    pub(crate) note: Option<String>,
    /// The directory, if it differs between rows.
    pub(crate) folder: Option<String>,
    /// The number of messages and the age, which are never cut.
    pub(crate) end: String,
    pub(crate) ink: Ink,
}

impl Parts<'_> {
    /// Renders the row in `width` columns.
    pub(crate) fn line(self, width: usize) -> Line {
        let room = width.saturating_sub(self.lead.columns() + columns(&self.end) + 2);
        let note = self.note.map(|note| format!("{note} ·"));
        let is_wide = room >= MIN_WIDE_COLUMNS;
        let kept = match (&self.path, &self.folder) {
            // The user asked for paths.
            (Some(_), _) => room / 2,
            (None, Some(_)) if is_wide => RESERVED_BESIDE_COLUMNS,
            _ => 0,
        };
        let kept = kept + note.as_ref().filter(|_| is_wide).map_or(0, |note| columns(note) + 1);
        let mut spare = room - self.title.columns().min(room.saturating_sub(kept));
        let mut take = |text: &Option<String>, is_path: bool| {
            let text = text.as_ref().filter(|text| !text.is_empty())?;
            let fits = columns(text) < spare;
            let text = if fits { text.clone() } else { end_of(text, spare.saturating_sub(1)) };
            let is_shown = fits || (is_path && columns(&text) >= MIN_BESIDE_COLUMNS);
            spare -= if is_shown { columns(&text) + 1 } else { 0 };
            is_shown.then_some(text)
        };
        let note = take(&note, false);
        let (path, folder) = (take(&self.path, true), take(&self.folder, true));
        let mut right = String::new();
        for part in [path, note, folder].into_iter().flatten() {
            right.push_str(&part);
            right.push(' ');
        }
        right.push_str(&self.end);
        let room = width.saturating_sub(self.lead.columns() + columns(&right) + 2);
        let title = self.title.cut(room);
        let left_over = room.saturating_sub(title.columns() + 3);
        let mut left = self.lead.join(title);
        if let Some(excerpt) = self.excerpt.filter(|_| left_over >= MIN_EXCERPT_COLUMNS) {
            left = left.ink(Ink::DIM, " · ").join(excerpt(left_over));
        }
        // The end is visible even if there is no room for a title.
        let left = left.cut(width.saturating_sub(columns(&right) + 1));
        let gap = width.saturating_sub(left.columns() + columns(&right)).max(1);
        left.text(&" ".repeat(gap)).ink(self.ink, &right)
    }
}

/// Returns the end of a path in at most `width` columns, starting at a path component unless that loses too much.
fn end_of(path: &str, width: usize) -> String {
    let all = Line::new().text(path);
    if all.columns() <= width {
        return path.to_owned();
    }
    let room = width.saturating_sub(1);
    let end = all.columns_from(all.columns() - room, room).to_text();
    let from_name = end.find('/').and_then(|at| end.get(at..)).filter(|name| columns(name) * 2 > room);
    format!("…{}", from_name.unwrap_or(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(title: &str, folder: &str, end: &str, width: usize) -> String {
        let parts = Parts {
            lead: Line::new().text("› "),
            title: Line::new().text(title),
            excerpt: None,
            path: None,
            note: None,
            folder: Some(folder.to_owned()),
            end: end.to_owned(),
            ink: Ink::DIM,
        };
        parts.line(width).to_text()
    }

    #[test]
    fn the_title_has_priority_and_the_age_is_never_cut() {
        let folder = "~/work/clients/harbour-authority/monorepo/packages/tide-tables";
        for (title, width, seen) in [
            // A terminal of 120 columns with a preview leaves 66.
            ("Move the tide tables to the store", 66, "› Move the tide tables to the store  …/tide-tables 128 11mo"),
            ("Short", 66, "› Short  …/monorepo/packages/tide-tables 128 11mo"),
            ("Move the tide tables to the store", 40, "› Move the tide tables to the…  128 11mo"),
            ("Short", 40, "› Short  …/packages/tide-tables 128 11mo"),
        ] {
            let row = row(title, folder, "128 11mo", width);
            assert_eq!(columns(&row), width, "{row}");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&row), words(seen));
        }
    }

    #[test]
    fn rows_fit_into_their_width() {
        for width in 14..150 {
            for title in ["", "x", "潮汐潮汐潮汐潮汐潮汐潮汐潮汐", &"long ".repeat(50)] {
                for folder in ["", "/w", "~/src/潮汐/tide-tables", &"/deep".repeat(40)] {
                    let row = row(title, folder, "12345 11mo", width);
                    assert!(columns(&row) <= width && row.ends_with("12345 11mo"), "{width}: {row}");
                }
            }
        }
    }

    #[test]
    fn paths_are_cut_from_the_left() {
        assert_eq!(end_of("~/src/tidepool", 14), "~/src/tidepool");
        assert_eq!(end_of("~/src/tidepool", 12), "…/tidepool");
        assert_eq!(end_of("/a/an-extremely-long-name", 12), "…y-long-name");
        assert_eq!(end_of("/潮汐/潮汐", 6), "…/潮汐");
    }
}
