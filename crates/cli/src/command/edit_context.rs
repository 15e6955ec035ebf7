//! `sessile edit-context`

use clap::Args;
use sessile::json::{Json, ObjectWriter, Shape};
use sessile_rpc::answer;

use super::label::annotated;
use crate::args::{SessionArg, required};
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::screen::{Line, Screen};

/// Change what the model sees of an entry
///
/// The entry itself does not change: the command appends an edit that replaces its content for the model, or hides it.
/// The last edit of an entry counts.
///
/// The entry must be on the active branch and be a user, assistant, tool or extension message. Prints the id of the
/// edit. @leaf still means the last entry that the tree shows, not the edit.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile edit-context @1 \"cause found\" \"(a long answer, cut)\"
  $ sessile edit-context @1 \"cause found\" --drop
  $ sessile edit-context @1 \"cause found\" --restore")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct EditContextArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// The content that the model sees instead; standard input if omitted
    #[arg(value_name = "TEXT", conflicts_with_all = ["drop", "restore"])]
    text: Option<String>,

    /// Read TEXT as JSON: a string, or an array of text and image blocks
    #[arg(long, conflicts_with_all = ["drop", "restore"])]
    json_content: bool,

    /// Hide the entry from the model
    #[arg(long, conflicts_with = "restore")]
    drop: bool,

    /// Show the original entry to the model again
    #[arg(long)]
    restore: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {entryId, targetId}; with --dry-run {dryRun, targetId}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &EditContextArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry, text]) = args.session.with_words([args.entry.as_deref(), args.text.as_deref()]);
    let path = env.find(&session)?;
    let reader = env.open(&session, err)?;
    let target = reader.find_shown_entry(&required(entry, "ENTRY")?)?;
    if let Some((kind, annotated_id)) = annotated(&reader, &target)? {
        return Err(Failure::NoContent { id: target, kind, target: annotated_id });
    }
    let leaf = reader.leaf_id();
    drop(reader);
    let sessions = if args.dry_run { env.dry_sessions() } else { env.sessions.clone() };
    let mut session = sessions.open(path)?;
    if let Some(leaf) = leaf.filter(|_| args.dry_run) {
        session.branch(leaf)?;
    }
    let id = if args.restore {
        session.append_context_restore(&target)?
    } else {
        session.append_context_edit(&target, &replacement(args, text.as_deref())?)?
    };
    if !args.dry_run {
        env.record_change("edit-context", &session);
    }
    env.report_upgrade(session.take_original().as_deref(), err)?;
    if args.json {
        write_value(out.data(), &answer::context_edited((!args.dry_run).then_some(&id), &target))?;
        return Ok(Exit::Done);
    }
    let visible_content = match (args.drop, args.restore) {
        (true, _) => "nothing of it",
        (_, true) => "its original content",
        _ => "the replacement",
    };
    let verb = if args.dry_run { "would see" } else { "sees" };
    let words = format!("entry {target}: the model {verb} {visible_content}");
    if args.dry_run {
        out.print_whole(&Line::new().text(&words))?;
    } else {
        out.print_whole(&Line::new().text(&id.to_string()))?;
        err.print_whole(&Line::new().text(&words))?;
    }
    Ok(Exit::Done)
}

fn replacement(args: &EditContextArgs, text: Option<&str>) -> Result<Json, Failure> {
    if args.drop {
        return Ok(Json::null());
    }
    let text = input::text(text, "the replacement text")?;
    let content = if args.json_content {
        let content = Json::parse(&text).map_err(|source| Failure::NotJson { source })?;
        if !matches!(content.raw().shape(), Shape::String | Shape::Array) {
            return Err(Failure::NotContent);
        }
        content
    } else {
        Json::string(&text)
    };
    Ok(ObjectWriter::new().raw("content", content.raw()).finish())
}
