//! `sessile context`

use clap::Args;
use sessile::context::{ModelChoice, SessionContext};

use crate::args::SessionArg;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{BOLD, DIM, Line, Screen};
use crate::{data, transcript};

/// Print what the model sees at the end of a session, or at an entry
///
/// These are the messages of the active branch, with summaries in place of compacted entries and with edits applied,
/// and the current model and thinking level.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry that the context ends with: an id or its beginning, a label, @leaf, @root, or any of these with ~N for
    /// N steps up
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    /// Print JSON: an object of messages, thinkingLevel and model
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ContextArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry]) = args.session.with_words([args.entry.as_deref()]);
    let session = env.open(&session, err)?;
    let context = match entry {
        None => session.build_session_context()?,
        Some(entry) => session.build_session_context_at(session.find_entry(&entry)?)?,
    };
    if args.json {
        data::write_value(out.data(), &context.to_json())?;
        return Ok(Exit::Done);
    }
    out.print(summary(&context))?;
    if !context.messages.is_empty() {
        out.blank()?;
        transcript::print(out, &context.messages)?;
    }
    Ok(Exit::Done)
}

fn summary(context: &SessionContext) -> Line {
    let model = context.settings.model.as_ref();
    let provider = model.and_then(ModelChoice::provider_name);
    let name = model.and_then(ModelChoice::model_name).unwrap_or_else(|| "none".to_owned());
    let level = context.settings.thinking_level.as_ref().and_then(|level| level.raw().as_string());
    let n_messages = context.messages.len();
    Line::new()
        .styled(DIM, "model ")
        .styled(BOLD, &provider.map(|provider| provider + "/").unwrap_or_default())
        .styled(BOLD, &name)
        .styled(DIM, " · thinking ")
        .styled(BOLD, level.as_deref().unwrap_or("none"))
        .styled(DIM, &format!(" · {n_messages} {}", if n_messages == 1 { "message" } else { "messages" }))
}
