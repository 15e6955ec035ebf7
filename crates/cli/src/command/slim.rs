//! `sessile slim`

use clap::Args;
use sessile::operations::{SlimOptions, Slimmed};
use sessile_display::measure::number_words;
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::{noun, size_words};
use crate::screen::{DIM, Line, PLAIN, Screen};
use crate::span::time;

/// Copy a session without bulky data: images, tool output, extension data
///
/// The new session has its own id and names the original as its parent, like a fork. It has the same tree, entry ids,
/// texts, usage and cost, and resumes with the same context: placeholders replace data only outside the current
/// context, that is on other branches and before the newest compaction. Sessile compares the copy with the original
/// before it keeps the copy.
///
/// An image becomes a line of text, output becomes a placeholder, and details and data become null. Small pieces stay.
/// On the current branch, the newest data of each extension and the newest details of each tool stay too, because
/// extensions need them.
///
/// Without --images, --outputs and --custom, removes all three. Without --apply, writes nothing. Prints the path of the
/// new session.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile slim @1
  $ sessile slim @1 --images --older-than 1w --apply
  $ sessile slim @1 --apply --trash-original --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct SlimArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Remove images
    #[arg(long)]
    images: bool,

    /// Remove the output of tools and shell commands, and the details of tool results
    #[arg(long)]
    outputs: bool,

    /// Remove extension data
    #[arg(long)]
    custom: bool,

    /// Slim only entries of the current branch that its newest compaction has summarised, not other branches
    #[arg(long)]
    before_compaction: bool,

    /// Slim only entries older than this: 2h, 3d, 1w, yesterday, last-week, 2026-01-31, 2026-01-31T12:00
    #[arg(long, value_name = "WHEN")]
    older_than: Option<String>,

    /// Also slim entries of the current context, which changes what the model sees
    #[arg(long)]
    all: bool,

    /// Move the original to the trash afterwards; `sessile undo` restores it and removes the copy
    #[arg(long)]
    trash_original: bool,

    /// Move the original to the trash even if other programs use it
    #[arg(long, requires = "trash_original")]
    force: bool,

    /// Create the new session instead of only showing how much it would save
    #[arg(long)]
    apply: bool,

    /// Print JSON: {original, path?, id?, size, saved, images, outputs, custom, operation?, trashed?}
    ///
    /// The original is {path, id, size}; images, outputs and custom are {count, bytes}.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &SlimArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find(&args.session)?;
    let slimming = SlimOptions {
        images: args.images,
        outputs: args.outputs,
        custom: args.custom,
        before_compaction: args.before_compaction,
        older_than: time(args.older_than.as_deref(), env)?.map(|when| when.from),
        all: args.all,
        trash_original: args.trash_original,
    };
    let slimmed = env.sessions_for_removal(args.force).slim(&path, &slimming, args.apply)?;
    if args.json {
        write_value(out.data(), &answer::slimmed(&slimmed))?;
    } else {
        print(args, &slimmed, out, err)?;
    }
    Ok(if slimmed.removed.is_nothing() { Exit::Nothing } else { Exit::Done })
}

fn print(args: &SlimArgs, slimmed: &Slimmed, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<(), Failure> {
    if slimmed.removed.is_nothing() {
        let words = if args.all {
            "nothing to remove (pieces below 512 bytes are kept)"
        } else {
            "nothing to remove outside the context (pieces below 512 bytes are kept); --all includes the context"
        };
        return Ok(err.print_whole(&Line::new().text(words))?);
    }
    let sizes = format!("{} → {}", size_words(slimmed.size), size_words(slimmed.new_size));
    let saved = size_words(slimmed.saved());
    let Some(session) = &slimmed.session else {
        print_taken(slimmed, out)?;
        let words = format!("{sizes}, {saved} less; nothing was written; use --apply to do it");
        return Ok(out.print_whole(&Line::new().text(&words))?);
    };
    out.print_whole(&Line::new().text(&session.path.to_string_lossy()))?;
    print_taken(slimmed, err)?;
    let original = if slimmed.trashed.is_some() { ", and the original is in the trash" } else { "" };
    let undo = slimmed.operation.as_ref().map(|id| format!("; `sessile undo {id}` reverts this")).unwrap_or_default();
    Ok(err.print_whole(&Line::new().text(&format!("{sizes}, {saved} less{original}{undo}")))?)
}

fn print_taken(slimmed: &Slimmed, out: &mut Screen<'_>) -> Result<(), Failure> {
    let removed = &slimmed.removed;
    for ((count, bytes), one, many) in [
        (removed.images, "image", "images"),
        (removed.outputs, "output", "outputs"),
        (removed.custom, "piece of extension data", "pieces of extension data"),
    ] {
        if count > 0 {
            let line = Line::new().right(10, PLAIN, &size_words(bytes)).right(18, PLAIN, &number_words(count));
            out.print(line.text("  ").styled(DIM, noun(count, one, many)))?;
        }
    }
    Ok(())
}
