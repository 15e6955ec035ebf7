//! `sessile append`

mod message;

use clap::{Args, ValueEnum};
use sessile::context::ModelChoice;
use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, SystemMessage, UserMessage};
use sessile::json::Json;
use sessile::reference::ReferenceError;
use sessile::write::{Durability, Durable, WriteOptions};
use sessile::{EntryId, SessionError, SessionManager};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input;
use crate::screen::{Line, Screen};

/// Append an entry to a session
///
/// Reads the text of a message, or a whole message as JSON, from the arguments or from standard input, and prints the
/// id of the new entry. The new entry follows the leaf, or the entry given with --parent.
///
/// Another program may have the session open. With --expect-leaf, the command writes only if the session still ends
/// with the given entry, and otherwise exits with 4.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile append @1 \"Now the same for the tide tables.\"
  $ sessile append @1 --role assistant --model tide-1 \"Done.\" --json
  $ sessile append @1 --json-message '{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1763164800000}'
  $ sessile append @1 --custom-type ci.watch \"CI passed.\"")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct AppendArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The text, or the JSON with --json-message or --data; standard input if omitted
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// The role of the message
    #[arg(long, value_enum, default_value = "user")]
    role: MessageRole,

    /// With --role assistant: the provider of the model; the current one by default
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// With --role assistant: the model; the current one by default
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Read TEXT as a whole message in JSON, of any role that pi knows; a missing time is added
    #[arg(long, conflicts_with_all = ["role", "custom_type", "data", "provider", "model"])]
    json_message: bool,

    /// With --json-message: accept a role that pi does not know
    #[arg(long, requires = "json_message")]
    any_role: bool,

    /// Append a message from the extension with this name
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["role", "provider", "model"])]
    custom_type: Option<String>,

    /// With --custom-type: store TEXT as the extension's JSON data, hidden from models
    #[arg(long, requires = "custom_type")]
    data: bool,

    /// Append after this entry instead of the leaf
    #[arg(long, value_name = "ENTRY")]
    parent: Option<String>,

    /// Write nothing unless ENTRY is the last entry of the file; `none` for a session without entries
    #[arg(long, value_name = "ENTRY")]
    expect_leaf: Option<String>,

    /// Wait until the entry is on disk
    #[arg(long)]
    durable: bool,

    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: {entryId, leafId, parentId, sessionPath, durable}; with --dry-run {dryRun, parentId, sessionPath}
    #[arg(long)]
    json: bool,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MessageRole {
    /// A user message
    User,
    /// An answer of the model
    Assistant,
    /// A system message
    System,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &AppendArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [text]) = args.session.with_words([args.text.as_deref()]);
    let path = env.find(&session)?;
    let reader = env.open(&session, err)?;
    let parent = args.parent.as_ref().map(|entry| reader.find_entry(entry)).transpose()?;
    let expected = match args.expect_leaf.as_deref() {
        None => None,
        Some("none") => Some(None),
        Some(entry) => Some(Some(expected_entry(&reader, entry)?)),
    };
    // A dry run keeps no leaf position, so the parent has to be given.
    let parent = parent.or_else(|| reader.leaf_id().filter(|_| args.dry_run && expected.is_none()));
    drop(reader);
    let text = input::text(text.as_deref(), "the text")?;
    let new_entry = parse_new_entry(args, text, env.now())?;
    let mut sessions = if args.dry_run { env.dry_sessions() } else { env.sessions.clone() };
    if args.durable && !args.dry_run {
        sessions = sessions.writing(WriteOptions { durability: Durability::Sync, ..WriteOptions::default() });
    }
    let mut session = sessions.open(path)?;
    session.recover()?;
    let now = env.now();
    let write = |session: &mut SessionManager| {
        if let Some(parent) = &parent {
            session.branch(parent)?;
        }
        let parent = session.leaf_id();
        append_entry(session, &new_entry, args, now).map(|id| (id, parent))
    };
    let (id, parent) = match &expected {
        Some(expected) => session.append_to_last(expected.as_ref(), write)?,
        None => write(&mut session)?,
    };
    if !args.dry_run {
        env.record_change("append", &session);
    }
    env.report_upgrade(session.take_original().as_deref(), err)?;
    report(&session, args, (&id, parent.as_ref()), out, err)
}

/// Returns the entry that the session should end with. If the session has no such entry, the leaf has moved.
fn expected_entry(session: &SessionManager, word: &str) -> Result<EntryId, Failure> {
    session.find_entry(word).map_err(|error| match error {
        ReferenceError::NoSuchEntry { .. } => {
            SessionError::LeafMoved { expected: Some(EntryId::from(word)), actual: session.leaf_id() }.into()
        }
        error => error.into(),
    })
}

/// The content to append.
enum NewEntry {
    Text(String),
    Message(Json),
    Data(Json),
}

fn parse_new_entry(args: &AppendArgs, text: String, now: Timestamp) -> Result<NewEntry, Failure> {
    if !args.json_message && !args.data {
        return Ok(NewEntry::Text(text));
    }
    let json = Json::parse(&text).map_err(|source| Failure::NotJson { source })?;
    if args.data {
        return Ok(NewEntry::Data(json));
    }
    message::checked(json.raw(), args.any_role, now).map(NewEntry::Message)
}

fn append_entry(
    session: &mut SessionManager,
    new_entry: &NewEntry,
    args: &AppendArgs,
    now: Timestamp,
) -> Result<EntryId, SessionError> {
    match (new_entry, &args.custom_type) {
        (NewEntry::Data(data), custom_type) => {
            session.append_custom_entry(custom_type.as_deref().unwrap_or_default(), Some(data))
        }
        (NewEntry::Message(message), _) => session.append_message(message.clone()),
        (NewEntry::Text(text), Some(custom_type)) => {
            session.append_custom_message_entry(custom_type, Json::string(text), true, None)
        }
        (NewEntry::Text(text), None) => match args.role {
            MessageRole::User => session.append_message(UserMessage::new(text.as_str(), now)),
            MessageRole::System => session.append_message(SystemMessage::new(text.as_str(), now)),
            MessageRole::Assistant => {
                let (provider, model) = model_in_use(session, args)?;
                session.append_message(AssistantMessage::new(provider, model, text.as_str(), now))
            }
        },
    }
}

/// Returns the model that the arguments name, else the session's model.
fn model_in_use(session: &SessionManager, args: &AppendArgs) -> Result<(String, String), SessionError> {
    let unknown = || "unknown".to_owned();
    let used = match (&args.provider, &args.model) {
        (Some(_), Some(_)) => None,
        _ => session.build_session_context()?.settings.model,
    };
    let provider = args.provider.clone().or_else(|| used.as_ref().and_then(ModelChoice::provider_name));
    let model = args.model.clone().or_else(|| used.as_ref().and_then(ModelChoice::model_name));
    Ok((provider.unwrap_or_else(unknown), model.unwrap_or_else(unknown)))
}

fn report(
    session: &SessionManager,
    args: &AppendArgs,
    (id, parent): (&EntryId, Option<&EntryId>),
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.json {
        write_value(out.data(), &answer::appended(session, (!args.dry_run).then_some(id), parent))?;
        return Ok(Exit::Done);
    }
    if args.dry_run {
        let location = parent.map_or_else(|| "as a root".to_owned(), |parent| format!("after {parent}"));
        out.print_whole(&Line::new().text(&format!("an entry would be appended {location}; nothing was written")))?;
        return Ok(Exit::Done);
    }
    out.print_whole(&Line::new().text(&id.to_string()))?;
    let durable = session.last_acknowledgement().map(|acknowledged| acknowledged.durable);
    if args.durable && durable == Some(Durable::PageCache) {
        let weaker = "this file system cannot empty the cache of the disk: the entry may not survive power loss";
        err.print_whole(&Line::new().text(weaker))?;
    }
    if err.is_terminal() {
        let location = parent.map_or_else(|| "as a root".to_owned(), |parent| format!("after {parent}"));
        err.print_whole(&Line::new().text(&format!("appended {location}")))?;
    }
    Ok(Exit::Done)
}
