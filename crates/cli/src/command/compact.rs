//! `sessile compact`

use std::path::Path;

use clap::Args;
use sessile::compaction::{
    CompactOptions, Compacted, CompactionReport, CompactionSettings, Generator, NothingToCompact, Preparation, Prepared,
};
use sessile::os::RealOs;
use sessile::{SessionError, SessionHost, SessionManager, Sessions};
use sessile_rpc::answer;
use sessile_summarize::AnySummarizer;
use sha2::{Digest, Sha256};

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::facts::fact;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::measure::{noun, number};
use crate::screen::{Line, Screen};
use crate::summarizing::SummaryDisplay;

/// Summarise the older part of a session
///
/// The summary is appended as an entry and nothing is removed: the model sees the summary and the entries after the
/// cut, while you still see everything. By default it keeps the newest 20,000 tokens; --keep, the setting
/// `compaction.keep_recent_tokens` and pi's own setting change that.
///
/// The settings in the table summarizer select the summarizer. The default is built in: it extracts requests,
/// decisions, files, commands and errors, works offline and costs nothing. If the summarizer fails, the session is not
/// changed.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile compact @1 --dry-run --keep 100
  $ sessile compact @1 --keep 100
  $ sessile compact @1 --keep 100 --instructions \"Keep the names of all tests.\" --json")]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Instructions for what the summary should focus on
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,

    /// Use this model for the summary, as provider/model; `session` means the model that the session used last
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Keep at least this many of the newest tokens unchanged
    #[arg(long, value_name = "TOKENS")]
    keep: Option<u64>,

    /// Show where the cut would be, and what would be summarised and kept, without writing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {entryId, summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter, usage?, details},
    /// or with --dry-run {tokensBefore, firstKeptEntryId, firstKeptIndex, isSplitTurn, messagesToSummarize,
    /// turnPrefixMessages, serializedLength, serializedSha256, readFiles, modifiedFiles, previousSummary?},
    /// or {nothing}
    #[arg(long)]
    json: bool,
}

/// The hook that may veto a compaction.
const BEFORE: &str = "session_before_compact";

pub(super) fn run(
    env: &CommandEnvironment,
    args: &CompactArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find(&args.session)?;
    let session = env.open(&args.session, err)?;
    let settings = settings(env, &session, args.keep)?;
    if args.dry_run {
        let prepared = session.prepare_compaction(&settings)?;
        return match prepared {
            Prepared::Nothing(reason) => report_nothing(reason, args.json, out),
            Prepared::Ready(preparation) if args.json => {
                let digest = sha256(preparation.history.conversation.text());
                write_value(out.data(), &answer::planned_compaction(&session, &preparation, &digest))?;
                Ok(Exit::Done)
            }
            Prepared::Ready(preparation) => {
                let summarizer = env.summarizer(args.model.as_deref())?;
                let plan = Plan { env, session: &session, preparation: &preparation, summarizer, args };
                plan.print(out, err)?;
                Ok(Exit::Done)
            }
        };
    }
    drop(session);
    let summarizer = env.summarizer(args.model.as_deref())?;
    let mut host = host(env.sessions.clone(), &path)?;
    let compacted = compact(&mut host, settings, &summarizer, args, err)?;
    env.report_upgrade(host.session_mut().take_original().as_deref(), err)?;
    match compacted {
        Compacted::Nothing(reason) => report_nothing(reason, args.json, out),
        Compacted::Done(report) => {
            env.record_change("compact", host.session());
            report_done(&report, args.json, out)
        }
    }
}

/// Returns the compaction settings for the session's model; `keep` overrides how much to keep.
fn settings(
    env: &CommandEnvironment,
    session: &SessionManager,
    keep: Option<u64>,
) -> Result<CompactionSettings, Failure> {
    let environment = env.own_environment();
    let model = session.model_name()?;
    let settings = env.settings.compaction(environment, &RealOs, model.as_deref())?;
    Ok(CompactionSettings { keep_recent_tokens: keep.unwrap_or(settings.keep_recent_tokens), ..settings })
}

/// Creates a host for a session, so that hooks run.
fn host(sessions: Sessions, path: &Path) -> Result<SessionHost, Failure> {
    let session = sessions.open(path)?;
    Ok(SessionHost::new(sessions, session))
}

fn compact(
    host: &mut SessionHost,
    settings: CompactionSettings,
    summarizer: &AnySummarizer,
    args: &CompactArgs,
    err: &mut Screen<'_>,
) -> Result<Compacted, Failure> {
    let cancel = on_interrupt()?;
    let mut display = SummaryDisplay::begin(summarizer.generator(), err);
    let mut progress = |progress: sessile::compaction::SummaryProgress<'_>| display.report(progress);
    let options = CompactOptions {
        settings,
        custom_instructions: args.instructions.clone(),
        cancel: cancel.clone(),
        ..CompactOptions::default()
    };
    let compacted = host.session_mut().compact(options, summarizer.as_ref(), &mut progress);
    display.end();
    match compacted {
        // The user did not press Ctrl-C, so a hook vetoed.
        Err(SessionError::Cancelled) if !cancel.is_cancelled() => Err(Failure::Vetoed { by: BEFORE.to_owned() }),
        compacted => Ok(compacted?),
    }
}

fn report_nothing(reason: NothingToCompact, json: bool, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let words = match reason {
        NothingToCompact::AlreadyCompacted => "already compacted",
        NothingToCompact::TooSmall => "nothing to compact: everything is recent enough to keep",
    };
    if json {
        write_value(out.data(), &answer::nothing_to_compact(words))?;
    } else {
        out.print_whole(&Line::new().text(words))?;
    }
    Ok(Exit::Nothing)
}

fn report_done(report: &CompactionReport, json: bool, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    if json {
        write_value(out.data(), &answer::compacted(report))?;
        return Ok(Exit::Done);
    }
    let after = report.estimated_tokens_after.map(|tokens| format!(", about {} now", grouped(tokens)));
    let words = format!(
        "compacted by {}; kept everything from {} on; {} tokens before{}",
        report.entry_id,
        report.first_kept_entry_id,
        number(report.tokens_before),
        after.unwrap_or_default()
    );
    out.print_whole(&Line::new().text(&words))?;
    Ok(Exit::Done)
}

#[expect(clippy::cast_precision_loss, reason = "a displayed number needs no precision")]
fn grouped(tokens: u64) -> String {
    number(tokens as f64)
}

fn sha256(text: &str) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A planned compaction, for a dry run.
struct Plan<'p> {
    env: &'p CommandEnvironment,
    session: &'p SessionManager,
    preparation: &'p Preparation,
    summarizer: AnySummarizer,
    args: &'p CompactArgs,
}

impl Plan<'_> {
    fn print(&self, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<(), Failure> {
        let Self { session, preparation, .. } = self;
        let outline = session.outline();
        let leaf = session.leaf_id().and_then(|leaf| outline.find(&leaf));
        let path = leaf.map(|leaf| outline.path(leaf)).unwrap_or_default();
        let index = path.iter().position(|row| *row == preparation.first_kept).unwrap_or(0);
        let n_kept = path.len() - index;
        let id = &preparation.first_kept_entry_id;
        fact(out, "cut", &format!("before {id}, entry {} of {} on the path", index + 1, path.len()))?;
        let messages = |count: usize| format!("{count} {}", noun(count, "message", "messages"));
        let mut summarised = messages(preparation.history.n_messages);
        if preparation.is_split_turn {
            let first = match preparation.turn_prefix.n_messages {
                1 => "message".to_owned(),
                count => messages(count),
            };
            summarised = format!("{summarised}, and the first {first} of the turn that is cut, summarised separately");
        }
        if preparation.previous_summary.is_some() {
            summarised += ", with the existing summary";
        }
        fact(out, "summarised", &summarised)?;
        let kept = session.kept_tokens(preparation)?;
        fact(out, "kept", &format!("{n_kept} {}, about {} tokens", noun(n_kept, "entry", "entries"), grouped(kept)))?;
        let files = preparation.files.lists();
        fact(out, "files", &format!("{} read, {} changed", files.read.len(), files.modified.len()))?;
        let after = self.after(kept, err)?;
        fact(out, "tokens", &format!("{} before, {after} after", number(preparation.tokens_before)))?;
        let by = match self.summarizer.generator() {
            Generator::Extractive => "the built-in rule, offline",
            Generator::Model => "a model",
            Generator::Command => "your command",
        };
        Ok(fact(out, "summary", &format!("by {by}"))?)
    }

    /// Returns the size of the context after the compaction. A summary that costs nothing is written in memory to find
    /// out.
    fn after(&self, kept: u64, err: &mut Screen<'_>) -> Result<String, Failure> {
        if self.summarizer.generator() != Generator::Extractive {
            return Ok(format!("about {} and the summary", grouped(kept)));
        }
        let path = self.env.find(&self.args.session)?;
        let mut host = host(self.env.dry_sessions(), &path)?;
        let compacted = compact(&mut host, self.preparation.settings, &self.summarizer, self.args, err)?;
        let after = match compacted {
            Compacted::Done(report) => report.estimated_tokens_after,
            Compacted::Nothing(_) => None,
        };
        Ok(format!("about {}", grouped(after.unwrap_or(kept))))
    }
}
