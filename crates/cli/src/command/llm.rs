//! `sessile llm`

use clap::Args;
use sessile::json::Json;

use crate::args::SessionArg;
use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, report_if_empty};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::transcript;

/// Print the messages of a session as sent to a model
///
/// Like `context`, but shell output, summaries and extension messages are converted to user messages.
#[derive(Debug, Args)]
pub(crate) struct LlmArgs {
    #[command(flatten)]
    session: SessionArg,

    /// The entry that the conversation ends with, as for `context`
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &LlmArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (session, [entry]) = args.session.with_words([args.entry.as_deref()]);
    let session = env.open(&session, err)?;
    let messages = match entry {
        None => session.llm_messages()?,
        Some(entry) => session.llm_messages_at(session.find_entry(&entry)?)?,
    };
    let Some(layout) = args.format.layout() else {
        report_if_empty(&session, err);
        transcript::print(out, &messages)?;
        return Ok(Exit::Done);
    };
    let mut list = ListWriter::new(out.data(), layout);
    messages.iter().map(Json::raw).try_for_each(|message| list.push(message))?;
    list.finish()?;
    Ok(Exit::Done)
}
