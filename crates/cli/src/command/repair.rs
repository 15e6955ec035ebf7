//! `sessile repair`

use clap::Args;
use sessile::{Repair, RepairOptions};

use crate::Exit;
use crate::args::SessionArg;
use crate::command::verify::print_finding;
use crate::data::write_value;
use crate::failure::Failure;
use crate::screen::{BOLD, DIM, Line, NAMED, PERSON, Screen};
use crate::surroundings::Surroundings;

/// Mend what can be mended in a session
///
/// Whole records in damaged lines get lines of their own, and entries whose parent is nowhere in the file are hung on
/// the entry before them. What cannot be placed stays where it is. The original is kept beside the file, as
/// NAME.jsonl.orig-TIME. A second run finds nothing more to do.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Tell what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Make the file and its directory readable by you alone
    ///
    /// The directory only if it holds nothing but sessions.
    #[arg(long)]
    permissions: bool,

    /// Print JSON: what was changed and what is left
    #[arg(long)]
    json: bool,
}

pub(super) fn run(surroundings: &Surroundings, args: &RepairArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let path = surroundings.find(&args.session)?;
    let options = RepairOptions { dry_run: args.dry_run, permissions: args.permissions };
    let repair = surroundings.sessions.repair(path, options)?;
    if args.json {
        write_value(out.data(), &repair.to_json())?;
    } else {
        print(surroundings, &repair, out)?;
    }
    Ok(Exit::Done)
}

fn print(surroundings: &Surroundings, repair: &Repair, out: &mut Screen<'_>) -> std::io::Result<()> {
    let path = surroundings.short(&repair.path.to_string_lossy());
    out.print_whole(&Line::new().styled(BOLD, &path))?;
    let word = if repair.dry_run { "would mend" } else { "mended" };
    for change in &repair.changes {
        let place = format!(" line {}, byte {}: ", change.line, change.offset);
        let code = format!("  {}", change.code.word());
        let start = Line::new().text("  ").styled(PERSON, word).styled(DIM, &place);
        out.print_whole(&start.text(&change.message).styled(DIM, &code))?;
    }
    for finding in repair.left.iter().filter(|finding| finding.counts()) {
        print_finding(finding, out)?;
    }
    let done = match (repair.changes.len(), repair.dry_run) {
        (0, _) => "nothing to repair".to_owned(),
        (1, true) => "1 change would be made; nothing was changed".to_owned(),
        (number, true) => format!("{number} changes would be made; nothing was changed"),
        (1, false) => "1 change made".to_owned(),
        (number, false) => format!("{number} changes made"),
    };
    let kept = repair.original.as_ref().map(|original| surroundings.short(&original.to_string_lossy()));
    let kept = kept.map(|kept| format!("; the original is {kept}")).unwrap_or_default();
    let style = if repair.changes.is_empty() { DIM } else { NAMED };
    out.print_whole(&Line::new().styled(style, &done).text(&kept))
}
