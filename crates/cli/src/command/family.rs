//! `sessile family`

use std::collections::HashSet;

use clap::Args;
use sessile::group::{FamilyMember, FamilyTree, SessionRef};
use sessile::list::SessionInfo;
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{ACCENT, DIM, Line, NAMED, PLAIN, Screen};

/// Show which sessions were forked from which
///
/// Shows the whole family of a session: its ancestors and all their forks, each with the number of entries it shares
/// with its parent. Finds a parent by its path, else by the id in its file name, else where `sessile move` has put it;
/// otherwise shows it as missing.
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
    env: &CommandEnvironment,
    args: &FamilyArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find(&args.session)?;
    // Opened only to print its warnings.
    drop(env.open(&args.session, err)?);
    let sessions = env.relatives(&path)?;
    let Some(family) = env.sessions.family_of(&sessions, &path) else {
        return Err(sessile::SessionError::NotASession { path }.into());
    };
    if args.json {
        write_value(out.data(), &answer::family(&family, &sessions))?;
        return Ok(Exit::Done);
    }
    let n_letters = unique_prefix_length(&family, &sessions);
    for (index, member) in family.members.iter().enumerate() {
        let style = if index == family.requested { ACCENT } else { DIM };
        let line = Line::new().styled(DIM, &tree_prefix(member.relative.depth));
        out.print(match &member.relative.session {
            SessionRef::Missing(path) => {
                let path = env.short(&path.to_string_lossy());
                line.styled(DIM, &format!("(missing: {path})"))
            }
            SessionRef::Listed(at) => {
                let session = &sessions[*at];
                let line = line.styled(style, start(session.id.as_str(), n_letters));
                // Before the title, which may be cut.
                let shared =
                    member.shared_entries.map(|count| format!("  {count} {} shared", noun(count, "entry", "entries")));
                line.styled(DIM, &shared.unwrap_or_default()).text("  ").join(title(session))
            }
        })?;
    }
    Ok(Exit::Done)
}

/// Upper bound on the indent, in generations; a deeper one would hide the title.
const MAX_INDENT_DEPTH: usize = 12;

fn tree_prefix(depth: usize) -> String {
    match depth.checked_sub(1) {
        None => String::new(),
        Some(n_above) => "  ".repeat(n_above.min(MAX_INDENT_DEPTH)) + "└ ",
    }
}

/// Returns the name of a session, else its first message.
fn title(session: &SessionInfo) -> Line {
    match &session.name {
        Some(name) => Line::new().styled(NAMED, &name.to_str()),
        None => Line::new().styled(PLAIN, &session.first_message.to_str()),
    }
}

/// Minimum number of characters shown of an id.
const LEAST_LETTERS: usize = 8;

/// Returns how many characters distinguish the ids of all members. Ids start with the time, which relatives may share.
fn unique_prefix_length(family: &FamilyTree, sessions: &[SessionInfo]) -> usize {
    let listed = |member: &FamilyMember| match member.relative.session {
        SessionRef::Listed(at) => Some(sessions[at].id.as_str()),
        SessionRef::Missing(_) => None,
    };
    let ids: Vec<&str> = family.members.iter().filter_map(listed).collect();
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or(0);
    let are_unique = |n_letters: &usize| {
        let starts: HashSet<&str> = ids.iter().map(|id| start(id, *n_letters)).collect();
        starts.len() == ids.len()
    };
    (LEAST_LETTERS..=longest).find(are_unique).unwrap_or(LEAST_LETTERS)
}

fn start(id: &str, n_letters: usize) -> &str {
    id.get(..n_letters).unwrap_or(id)
}
