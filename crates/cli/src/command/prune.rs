//! `sessile prune`

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use sessile::operations::{PruneExemption, PruneOptions, PruneScope, Pruned};
use sessile_rpc::answer;

use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::{ShortIds, bytes, duration_ms, noun, size_words};
use crate::screen::{ACCENT, DIM, Line, NAMED, PLAIN, Screen};
use crate::table::age;

/// Move unused sessions to the trash
///
/// Without --apply, only shows which sessions would be moved. Covers the sessions of this directory, or more with
/// --repo or --all. Exits with 1 if there is nothing to prune.
///
/// The age of a session is the time since any session of its family was last used, in any directory. A family is a
/// session and all its forks. Keeps sessions with a name or labels, unless you use --named or --labelled. Without
/// --older-than, also keeps families used in the last seven days.
///
/// Pruned sessions are logged in prune.jsonl in the state directory, and `sessile undo` brings them back. Emptying the
/// trash frees the disk space.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("criterion").required(true).multiple(true).args(["older_than", "larger_than", "keep"])))]
#[command(after_long_help = "Examples:
  $ sessile prune --older-than 2d
  $ sessile prune --all --older-than 2d --larger-than 900 --apply
  $ sessile prune --older-than 1d --keep 2 --named")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct PruneArgs {
    /// Prune sessions of families that have not been used for this long, e.g. 90d, 12h, 2w, 3mo, 1y
    #[arg(long, value_name = "AGE", value_parser = duration_ms)]
    older_than: Option<i64>,

    /// Prune sessions larger than this, e.g. 100M or 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    larger_than: Option<u64>,

    /// Keep the N most recently used families; only families with a session in scope count
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Include sessions with a name
    #[arg(long)]
    named: bool,

    /// Include sessions with labels
    #[arg(long)]
    labelled: bool,

    /// Include the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Include the sessions of all worktrees of this repository
    #[arg(long, conflicts_with = "all")]
    repo: bool,

    /// Use the sessions of DIR instead of this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "repo"])]
    cwd: Option<PathBuf>,

    /// Make the changes
    #[arg(long)]
    apply: bool,

    /// Show what would be done without changing anything; the default without --apply
    #[arg(long, conflicts_with = "apply")]
    dry_run: bool,

    /// Print JSON: {operation?, bytes, sessions, kept}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &PruneArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let pruning = PruneOptions {
        older_than: args.older_than,
        larger_than: args.larger_than,
        keep: args.keep,
        named: args.named,
        labelled: args.labelled,
        scope: args.scope(env),
    };
    let pruned = env.sessions.prune(&pruning, args.apply)?;
    if args.json {
        write_value(out.data(), &answer::pruned(&pruned))?;
    } else {
        print(env, args, &pruned, out, err)?;
    }
    Ok(if pruned.sessions.is_empty() { Exit::Nothing } else { Exit::Done })
}

impl PruneArgs {
    /// Selects the same sessions as a list with the same flags.
    fn scope(&self, env: &CommandEnvironment) -> PruneScope {
        let is_sample = env.sample().is_some() && !env.has_session_dir_flag();
        match &self.cwd {
            Some(cwd) => PruneScope::Cwd(env.directory(Some(cwd))),
            None if self.repo => PruneScope::Project(env.cwd()),
            None if self.all || is_sample => PruneScope::All,
            None => PruneScope::Cwd(env.cwd()),
        }
    }
}

fn print(
    env: &CommandEnvironment,
    args: &PruneArgs,
    pruned: &Pruned,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<(), Failure> {
    let now = env.now();
    let ids = ShortIds::among(pruned.sessions.iter().map(|(session, _)| session.id.as_str()));
    for (session, last_used) in &pruned.sessions {
        let title = session.name.as_ref().unwrap_or(&session.first_message).to_str().into_owned();
        let style = if session.name.is_some() { NAMED } else { PLAIN };
        let start = Line::new().right(5, DIM, &age(now, *last_used)).right(16, DIM, &size_words(session.size));
        let start = start.text("  ").styled(DIM, &ids.of(session.id.as_str())).pad(18 + ids.width());
        let directory = format!("  {}", env.short(&session.cwd));
        out.print(start.text("  ").styled(style, title.trim()).styled(DIM, &directory))?;
    }
    let (n_sessions, size) = (pruned.sessions.len(), size_words(pruned.size()));
    let sessions = if n_sessions == 1 { "1 session".to_owned() } else { format!("{n_sessions} sessions") };
    let words = match &pruned.operation {
        Some(id) => {
            let them = noun(n_sessions, "it", "them");
            let program = env.program();
            format!("{sessions}, {size}, moved to the trash; `{program} undo {id}` brings {them} back")
        }
        None if n_sessions == 0 => "nothing to prune".to_owned(),
        None => format!("{sessions}, {size}, would be moved to the trash; use --apply to do it"),
    };
    let kept: String = [("with a name or labels", false), ("in use", true)]
        .into_iter()
        .map(|(words, is_used)| {
            let n_kept = pruned.kept.iter().filter(|kept| (kept.reason == PruneExemption::InUse) == is_used).count();
            match n_kept {
                0 => String::new(),
                1 => format!("; 1 {words} kept"),
                _ => format!("; {n_kept} {words} kept"),
            }
        })
        .collect();
    // A result goes to standard output; the remark that there is none goes to standard error.
    let line = Line::new().text(&words).styled(DIM, &kept);
    if n_sessions > 0 {
        return Ok(out.print_whole(&line)?);
    }
    err.print_whole(&line)?;
    if pruned.kept.is_empty() && matches!(args.scope(env), PruneScope::Cwd(_)) {
        err.print_whole(&Line::new().styled(ACCENT, "hint:").text(" use --all for the sessions of all directories"))?;
    }
    Ok(())
}
