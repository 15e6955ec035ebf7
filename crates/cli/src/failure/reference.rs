//! Messages for unknown and ambiguous sessions and entries.

use std::io;

use sessile::list::SessionCandidate;
use sessile::reference::ReferenceError;

use crate::screen::{DIM, Line, NAMED, Screen};

/// Suggests what the user can do.
pub(super) fn hint(error: &ReferenceError) -> Option<String> {
    let hint = match error {
        ReferenceError::NoSuchFile { nearest: Some(nearest), .. } => format!("did you mean {}?", nearest.display()),
        ReferenceError::NoSuchSession { nearest: Some(nearest), .. }
        | ReferenceError::NoSuchEntry { nearest: Some(nearest), .. } => format!("did you mean {}?", quoted(nearest)),
        ReferenceError::NotFetched { .. } => "`--remote NAME` fetches sessions of other members".to_owned(),
        ReferenceError::NoSuchFile { .. } | ReferenceError::NoSuchSession { .. } => {
            "`sessile list` shows the sessions of this directory, `sessile list --all` those of all directories"
                .to_owned()
        }
        ReferenceError::AmbiguousSession { candidates, .. } if have_one_id(candidates) => {
            "these files hold the same session; use the path of one of them".to_owned()
        }
        ReferenceError::AmbiguousSession { .. } => "use more of its id, or its path".to_owned(),
        ReferenceError::NoSuchRow { .. } | ReferenceError::NoList { .. } | ReferenceError::OtherStore { .. } => {
            "run `sessile list` to number the sessions; @latest is the newest one".to_owned()
        }
        ReferenceError::NoSessions => "`sessile --sample` shows a made-up store".to_owned(),
        ReferenceError::NoSuchEntry { .. } => "`sessile entries SESSION` shows all ids".to_owned(),
        ReferenceError::AmbiguousEntry { .. } => "use the id of one of them".to_owned(),
        _ => return None,
    };
    Some(hint)
}

/// Whether files that may be meant hold one session, so that its id does not tell which is meant.
fn have_one_id(candidates: &[SessionCandidate]) -> bool {
    candidates.windows(2).all(|pair| pair[0].id == pair[1].id)
}

/// Quotes a word as it has to be typed.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "@-_.~".contains(char);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("\"{word}\"") }
}

/// Prints the candidates, one per line.
pub(super) fn print_candidates(error: &ReferenceError, err: &mut Screen<'_>) -> io::Result<()> {
    let (n_shown, total) = match error {
        ReferenceError::AmbiguousSession { candidates, total, .. } => {
            let is_same_session = have_one_id(candidates);
            for session in candidates {
                let title = session.title.as_deref().unwrap_or_default().trim();
                let line = Line::new().text("  ").styled(NAMED, session.id.as_str()).text("  ").text(title).text("  ");
                let location = if is_same_session { session.path.to_string_lossy() } else { (&session.cwd).into() };
                err.print_whole(&line.styled(DIM, &location))?;
            }
            (candidates.len(), *total)
        }
        ReferenceError::AmbiguousEntry { candidates, total, .. } => {
            for entry in candidates {
                let label = entry.label.as_deref().map(|label| format!("[{label}] ")).unwrap_or_default();
                let line = Line::new().text("  ").styled(NAMED, &entry.id.to_string()).text("  ").text(&label);
                err.print(line.styled(DIM, entry.what.unwrap_or_default()))?;
            }
            (candidates.len(), *total)
        }
        _ => return Ok(()),
    };
    match total - n_shown {
        0 => Ok(()),
        n_more => err.print(Line::new().text("  ").styled(DIM, &format!("and {n_more} more"))),
    }
}
