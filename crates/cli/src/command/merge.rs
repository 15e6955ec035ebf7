//! `sessile merge`

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ValueHint};
use sessile::SessionError;
use sessile::merge::{MergeOptions, Merged, MergedCopy};
use sessile::write::StoreError;
use sessile_display::measure::number_words;
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::measure::noun;
use crate::progress::{Meter, Unit};
use crate::screen::{Line, Screen};

/// Merge copies of a session that were continued separately
///
/// The result has every entry of every copy once. Where two entries have the same id, the later one gets a new id, and
/// everything that refers to it follows. Every branch keeps its context. The copies are only read.
///
/// With -o, writes a new file. If a copy has everything, the new file is equal to it. Otherwise, its order depends only
/// on the entries: on all machines, the same entries give the same lines after the header. With --into, appends what a
/// session lacks. Its lines stay, and it continues where it did. This cannot be undone.
///
/// Copies of a file of version 1 that pi upgraded separately have different ids. If their first entries are equal, they
/// get the same ids, unless you use --no-align.
///
/// Exits with 1 if --into finds that nothing is missing.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile merge laptop.jsonl desktop.jsonl --dry-run
  $ sessile merge laptop.jsonl desktop.jsonl -o both.jsonl
  $ sessile merge backup.jsonl --into @1")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct MergeArgs {
    /// The copies: session files, or sessions of the store
    #[arg(value_name = "SESSION", required = true)]
    copies: Vec<PathBuf>,

    /// Write the result to FILE, which must not exist
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "into")]
    output: Option<PathBuf>,

    /// Append to SESSION what it lacks
    #[arg(long, value_name = "SESSION")]
    into: Option<PathBuf>,

    /// Show what would be done without writing anything
    #[arg(long)]
    dry_run: bool,

    /// Match entries by their ids alone
    #[arg(long)]
    no_align: bool,

    /// Replace FILE if it exists; never one of the copies or a session of the store
    #[arg(long, requires = "output")]
    force: bool,

    /// Print JSON: {dryRun?, path?, sameAs?, id, entries, written, renamed, odd?, torn?, healed?, loops?, copies, operation?}
    ///
    /// A renamed entry is {from, to}. A copy is {path, size, entries, own, missing, shadowed?, complete, aligned?}.
    #[arg(long)]
    json: bool,
}

impl MergeArgs {
    pub(super) fn writes_session(&self) -> bool {
        self.into.is_some() && !self.dry_run
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &MergeArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.output.is_none() && args.into.is_none() && !args.dry_run {
        let message = "say where the result goes: -o FILE or --into SESSION; or use --dry-run";
        return Err(Failure::misuse(ErrorKind::MissingRequiredArgument, message));
    }
    let mut copies: Vec<PathBuf> =
        args.copies.iter().map(|copy| env.find_session(copy)).collect::<Result<_, Failure>>()?;
    let into = args.into.as_ref().map(|into| env.find_session(into)).transpose()?;
    if let Some(into) = &into {
        copies.retain(|copy| copy != into);
    }
    if copies.is_empty() || (into.is_none() && copies.len() < 2) {
        let message = "name at least two copies of a session";
        return Err(Failure::misuse(ErrorKind::TooFewValues, message));
    }
    let meter = Meter::default();
    let on_progress = |n_done: u64, n_all: u64| meter.update(n_done, n_all);
    let options = MergeOptions {
        only_ids: args.no_align,
        dry_run: args.dry_run,
        cancel: on_interrupt()?,
        on_progress: Some(&on_progress),
    };
    let target = args.output.as_ref().map(|path| env.directory(Some(path)));
    let merged = meter.watch(Unit::Bytes, err, || match &into {
        Some(into) => env.sessions.merge_into(into, &copies, &options),
        None => env.sessions.merge(&copies, target.as_deref(), args.force, &options),
    });
    let merged = merged.map_err(|error| match error {
        SessionError::Store(StoreError::Exists { path }) => Failure::OutputExists { path },
        error => error.into(),
    })?;
    if args.json {
        write_value(out.data(), &answer::merged(&merged, args.dry_run))?;
    } else {
        print(env, args, &merged, out, err)?;
    }
    let is_nothing = into.is_some() && merged.n_written == 0 && merged.n_odd == 0;
    Ok(if is_nothing { Exit::Nothing } else { Exit::Done })
}

fn print(
    env: &CommandEnvironment,
    args: &MergeArgs,
    merged: &Merged,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<(), Failure> {
    if let Some(path) = merged.path.as_ref().filter(|_| !args.dry_run) {
        out.print_whole(&Line::new().text(&path.to_string_lossy()))?;
    }
    // What a dry run found is its result.
    if args.dry_run { report(env, args, merged, out) } else { report(env, args, merged, err) }
}

fn report(env: &CommandEnvironment, args: &MergeArgs, merged: &Merged, screen: &mut Screen<'_>) -> Result<(), Failure> {
    for copy in &merged.copies {
        let words = format!("{}: {}", env.short(&copy.path.to_string_lossy()), copy_words(env, copy));
        screen.print_whole(&Line::new().text(&words))?;
    }
    if let Some(path) = merged.same_as.as_ref().filter(|_| args.output.is_some()) {
        let words = format!("the result is {}, byte for byte", env.short(&path.to_string_lossy()));
        screen.print_whole(&Line::new().text(&words))?;
    }
    for words in remarks(merged) {
        screen.print_whole(&Line::new().text(&words))?;
    }
    let written = entries(merged.n_written);
    let words = match (args.into.is_some(), args.dry_run) {
        (true, _) if merged.n_written == 0 && merged.n_odd == 0 => "nothing is missing".to_owned(),
        (true, true) => format!("{written} would be appended; nothing was written"),
        (true, false) => format!("{written} appended"),
        (false, true) => format!("{written} in all; nothing was written"),
        (false, false) => format!("{written} written"),
    };
    Ok(screen.print_whole(&Line::new().text(&words))?)
}

fn entries(number: usize) -> String {
    format!("{} {}", number_words(number as u64), noun(number as u64, "entry", "entries"))
}

fn copy_words(env: &CommandEnvironment, copy: &MergedCopy) -> String {
    let mut words = vec![entries(copy.n_entries)];
    if copy.is_complete {
        words.push("has everything".to_owned());
    } else {
        words.push(format!("{} only here, {} missing", copy.n_own, copy.n_missing));
    }
    if copy.n_shadowed > 0 {
        words.push(format!("{} hidden by later ones with the same id", copy.n_shadowed));
    }
    if let Some((with, n_entries)) = &copy.aligned {
        words.push(format!("the first {n_entries} get the ids of {}", env.short(&with.to_string_lossy())));
    }
    words.join(", ")
}

/// What else a user should know.
fn remarks(merged: &Merged) -> Vec<String> {
    let counted = |number: usize, words: &str| (number > 0).then(|| format!("{number} {words}"));
    [
        counted(merged.renamed.len(), "renamed, because another entry has the same id"),
        counted(merged.n_healed, "with a parent that only another copy has"),
        counted(merged.n_loops, "in loops of parents, which pi cannot read; `sessile verify` shows them"),
        counted(merged.n_odd, "lines that are not entries are kept"),
        counted(merged.n_torn, "incomplete lines are left out, because they are there whole"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
