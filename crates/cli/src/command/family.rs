//! `sessile family`

use clap::Args;
use sessile::{FamilyMember, SessionInfo, Who};

use super::info::relatives;
use crate::Exit;
use crate::args::SessionArg;
use crate::data::write_value;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{ACCENT, DIM, Line, NAMED, PLAIN, Screen};
use crate::surroundings::Surroundings;

/// Show which sessions were forked from which
///
/// The whole family of a session: what it was forked from, what was forked from that, and what was forked from it, with
/// how many entries each has in common with its parent. A parent is found by its path, else by the id in its name, else
/// where `sessile move` has put it; one that is nowhere is shown as missing.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile family @1
  $ sessile family @1 --json")]
pub(crate) struct FamilyArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Print JSON: {root, nodes: [{sessionPath, id?, parent?, depth, missing?, sharedEntries?}]}; root and parents
    /// are paths
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &FamilyArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = surroundings.find(&args.session)?;
    // Opened for its warnings alone.
    drop(surroundings.open(&args.session, err)?);
    let sessions = relatives(surroundings, &path)?;
    let Some(family) = surroundings.sessions.family_of(&sessions, &path) else {
        return Err(sessile::SessionError::NotASession { path }.into());
    };
    if args.json {
        write_value(out.data(), &family.to_json(&sessions))?;
        return Ok(Exit::Done);
    }
    for (place, member) in family.members.iter().enumerate() {
        out.print(drawn(surroundings, &sessions, member, place == family.place))?;
    }
    Ok(Exit::Done)
}

/// How many generations are drawn; deeper than this nobody sees the title any more.
const MOST_DRAWN: usize = 12;

fn drawn(surroundings: &Surroundings, sessions: &[SessionInfo], member: &FamilyMember, is_asked: bool) -> Line {
    let before = match member.relative.depth.checked_sub(1) {
        None => String::new(),
        Some(n_above) => "  ".repeat(n_above.min(MOST_DRAWN)) + "└ ",
    };
    let line = Line::new().styled(DIM, &before);
    let line = match &member.relative.who {
        Who::Missing(path) => line.styled(DIM, &format!("(not here: {})", surroundings.short(&path.to_string_lossy()))),
        Who::Listed(at) => {
            let session = &sessions[*at];
            let (style, title) = match &session.name {
                Some(name) => (NAMED, name.to_str()),
                None => (PLAIN, session.first_message.to_str()),
            };
            let id = session.id.get(..8).unwrap_or(&session.id);
            let id = if is_asked { line.styled(ACCENT, id) } else { line.styled(DIM, id) };
            id.text("  ").styled(style, &title)
        }
    };
    match member.shared_entries {
        Some(count) => line.styled(DIM, &format!("  {count} {} shared", noun(count, "entry", "entries"))),
        None => line,
    }
}
