//! `sessile entries`

use clap::Args;
use sessile::SessionManager;
use sessile::entry::{Entry, Payload};
use sessile::message::Message;

use crate::args::SessionArg;
use crate::authors::EntryAuthors;
use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, report_if_empty};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{DIM, Line, PERSON, Screen, style_of};
use sessile_display::text::{Calls, headline};

/// Print all entries of a session in file order
///
/// Includes every branch, but not the header.
#[derive(Debug, Args)]
pub(crate) struct EntriesArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Print the intact records in damaged lines instead
    ///
    /// These are not entries: no other command shows them until `sessile repair` puts them on separate lines.
    #[arg(long)]
    salvaged: bool,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &EntriesArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.salvaged {
        return print_salvaged(env, args, out);
    }
    let session = env.open(&args.session, err)?;
    let authors = EntryAuthors::of(env, &session);
    let Some(layout) = args.format.layout() else {
        report_if_empty(&session, err);
        print_rows(&session, &authors, out)?;
        return Ok(Exit::Done);
    };
    let mut list = ListWriter::new(out.data(), layout);
    for (row, entry) in session.entries_of(session.outline().entries()) {
        list.push(authors.json(&session, row, &entry?).raw())?;
    }
    list.finish()?;
    Ok(Exit::Done)
}

/// Prints the records that repair would recover.
fn print_salvaged(env: &CommandEnvironment, args: &EntriesArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let hidden = env.sessions.hidden_records(env.find(&args.session)?)?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        hidden.iter().try_for_each(|hidden| list.push(hidden.record.raw()))?;
        list.finish()?;
    } else {
        for hidden in &hidden {
            let position = format!("line {}, byte {}", hidden.line, hidden.offset);
            out.print(Line::new().styled(DIM, &position).pad(26).text(&hidden.record.to_text()))?;
        }
    }
    Ok(if hidden.is_empty() { Exit::Nothing } else { Exit::Done })
}

fn print_rows(session: &SessionManager, authors: &EntryAuthors, out: &mut Screen<'_>) -> Result<(), Failure> {
    let mut rows = Rows::default();
    for (row, entry) in session.entries_of(session.outline().entries()) {
        out.print(rows.line(&entry?, authors.words(session, row)))?;
    }
    Ok(())
}

/// Renders one line per entry: its id, its time, and a few words.
///
/// Keeps a description of every tool call, to name its result later.
#[derive(Debug, Default)]
pub(super) struct Rows {
    calls: Calls,
}

impl Rows {
    /// Returns the line of an entry, with who has written it if that is worth saying.
    pub(super) fn line(&mut self, entry: &Entry, author: Option<String>) -> Line {
        if let Payload::Message(message) = entry.payload()
            && let Some(Message::Assistant(answer)) = message.message()
        {
            self.calls.note(&answer.content());
        }
        let id = entry.id().map(|id| id.to_string()).unwrap_or_default();
        let words = headline(entry, &self.calls);
        let line = Line::new()
            .styled(DIM, &id)
            .cut(12)
            .pad(10)
            .styled(DIM, &entry.timestamp().unwrap_or_default())
            .cut(34)
            .pad(36);
        let line = author.into_iter().fold(line, |line, author| line.styled(PERSON, &author).text("  "));
        line.styled(style_of(words.tone), &words.lead).text(&words.text)
    }
}
