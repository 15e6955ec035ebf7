//! `sessile llm`

use clap::Args;
use sessile::json::Json;

use crate::args::SessionArg;
use crate::data::{Layout, ListWriter};
use crate::failure::Failure;
use crate::screen::Screen;
use crate::surroundings::{Surroundings, note_if_empty};
use crate::{Exit, transcript};

/// Print the messages of a session as a model would get them
///
/// Like `context`, but with shell output, summaries and messages of extensions turned into messages of the user.
#[derive(Debug, Args)]
pub(crate) struct LlmArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Print JSON: an array of messages
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    surroundings: &Surroundings,
    args: &LlmArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let session = surroundings.open(&args.session, err)?;
    let messages = session.llm_messages()?;
    if !args.json {
        note_if_empty(&session, err);
        transcript::print(out, &messages)?;
        return Ok(Exit::Done);
    }
    let mut list = ListWriter::new(out.data(), Layout::Array);
    messages.iter().map(Json::raw).try_for_each(|message| list.push(message))?;
    list.finish()?;
    Ok(Exit::Done)
}
