//! `sessile clean`

use clap::Args;
use sessile::clean::{CleanOptions, Cleaned};
use sessile::date::Timestamp;
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::{duration_ms, noun, size_words};
use crate::screen::{DIM, Line, Screen};
use crate::table::age;

/// Remove files left behind by interrupted programs and rewrites
///
/// Without --apply, only shows the files. These are temporary files of killed commands, locks and guards of sessions
/// that no longer exist, and the originals that `repair`, `migrate` and `move` keep as NAME.jsonl.orig-TIME. The
/// command looks among sessions, caches and state files, and in the current directory, where exports go.
///
/// Originals, and guards that hold entries, must be at least 30 days old; other files, one hour. Keeps files that a
/// running process may need, and the original of a missing or damaged session.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile clean
  $ sessile clean --older-than 90d --json
  $ sessile clean --apply")]
pub(crate) struct CleanArgs {
    /// Include files of all kinds only if they are at least this old, e.g. 90d, 12h, 2w
    #[arg(long, value_name = "AGE", value_parser = duration_ms)]
    older_than: Option<i64>,

    /// Make the changes
    #[arg(long)]
    apply: bool,

    /// Show what would be done without changing anything; the default without --apply
    #[arg(long, conflicts_with = "apply")]
    dry_run: bool,

    /// Print JSON: {applied, bytes, files: [{path, kind, of, size, modified, stays?}]}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &CleanArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let cleaning = CleanOptions { older_than: args.older_than };
    let cleaned = env.sessions.clean(&cleaning, args.apply)?;
    if args.json {
        write_value(out.data(), &answer::cleaned(&cleaned))?;
    } else {
        print(env, &cleaned, out, err)?;
    }
    Ok(Exit::Done)
}

fn print(
    env: &CommandEnvironment,
    cleaned: &Cleaned,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<(), Failure> {
    let now = env.now();
    for file in &cleaned.files {
        let kept = file.keep_reason.map(|reason| format!("  kept: {}", reason.word())).unwrap_or_default();
        let start = Line::new().right(5, DIM, &age(now, Timestamp::from_ms(file.since_ms))).right(
            16,
            DIM,
            &size_words(file.size),
        );
        let line = start.text("  ").text(file.kind.word()).pad(28);
        out.print_whole(&line.text(" ").text(&env.short(&file.path.to_string_lossy())).styled(DIM, &kept))?;
    }
    let n_removed = cleaned.removed().count();
    let size = size_words(cleaned.removed().map(|file| file.size).sum());
    let files = noun(n_removed, "file", "files");
    Ok(match (n_removed, cleaned.applied) {
        (0, _) => err.print_whole(&Line::new().text("nothing to clean")),
        (_, true) => out.print_whole(&Line::new().text(&format!("{n_removed} {files}, {size}, removed"))),
        (_, false) => {
            let words = format!("{n_removed} {files}, {size}, would be removed; use --apply to do it");
            out.print_whole(&Line::new().text(&words))
        }
    }?)
}
