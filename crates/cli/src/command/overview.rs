//! `sessile` without a command

use std::io;

use crate::authors::EntryAuthors;
use crate::clock::Clock;
use crate::command::list::{self, ListArgs};
use crate::command::tree::{self, TreeSelection};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{BOLD, DIM, Line, NAMED, Screen};

/// Lists the sessions of this directory, or shows the sample if there are none.
pub(super) fn run(env: &CommandEnvironment, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<Exit, Failure> {
    if env.sample().is_some() {
        return demonstrate(env, out, err);
    }
    let listed = list::find_listed(env, &ListArgs::default(), err)?;
    if !listed.sessions.is_empty() {
        list::print_table(env, &ListArgs::default(), &listed, out)?;
    }
    if !listed.sessions.is_empty() || listed.n_archived > 0 {
        list::report_archived(&ListArgs::default(), listed.n_archived, err);
        return Ok(Exit::Done);
    }
    let cwd = env.short(&env.cwd().to_string_lossy());
    out.print(Line::new().text("No sessions for ").text(&cwd).text(" yet. This is what sessions look like:"))?;
    out.blank()?;
    demonstrate(&env.with_sample()?, out, err)
}

/// Prints the list of the sample, and the tree of its richest session.
fn demonstrate(sample: &CommandEnvironment, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<Exit, Failure> {
    let Some(store) = sample.sample() else { return Ok(Exit::Nothing) };
    let listed = list::find_listed(sample, &ListArgs::default(), err)?;
    heading(out, &format!("{} made-up sessions", listed.sessions.len()))?;
    list::print_table(sample, &ListArgs::default(), &listed, out)?;
    out.blank()?;
    let position = listed.sessions.iter().position(|session| session.path == store.richest).unwrap_or_default() + 1;
    heading(out, &format!("the tree of @{position}; • marks the path to its leaf; a [label] precedes its entry"))?;
    let session = sample.sessions.open(&store.richest)?;
    tree::draw((&session, &EntryAuthors::default()), &TreeSelection::default_view(), &Clock::new(sample), out)?;
    out.blank()?;
    for (command, description) in SUGGESTIONS {
        out.print(Line::new().styled(BOLD, command).pad(34).styled(DIM, description))?;
    }
    Ok(Exit::Done)
}

const SUGGESTIONS: [(&str, &str); 3] = [
    ("sessile --sample context @1", "what the model sees"),
    ("sessile --sample tree @1 --all", "every entry"),
    ("sessile list --all", "your own sessions in all directories"),
];

fn heading(out: &mut Screen<'_>, text: &str) -> io::Result<()> {
    out.print(Line::new().styled(NAMED, "SAMPLE").text("  ").styled(DIM, text))
}
