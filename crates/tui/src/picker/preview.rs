//! A short preview of a session: what the user wants to know before opening it.

use std::path::Path;

use sessile::date::Timestamp;
use sessile::entry::{Entry, Payload};
use sessile::format::archive::ArchiveMark;
use sessile::format::cause::chain;
use sessile::format::head::Role;
use sessile::list::SessionInfo;
use sessile::message::Message;
use sessile::{SessionManager, Sessions};
use sessile_display::measure::{age, counted, number_words, size_words};
use sessile_display::text::{Calls, headline, start};
use sessile_display::wrapped;

use super::view::short_path;
use crate::paint::Line;
use crate::theme::Ink;

/// Lines shown of the last question and the last answer.
const MAX_QUESTION_LINES: usize = 8;
const MAX_ANSWER_LINES: usize = 24;

/// Maximum number of entries before the leaf that are searched for them.
const MAX_SEARCHED_ENTRIES: usize = 200;

/// Describes a session. Read errors are shown in place of the missing parts.
pub(super) fn preview(
    sessions: &Sessions,
    path: &Path,
    list: &[SessionInfo],
    width: usize,
    now: Timestamp,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let Some(info) = list.iter().find(|session| session.path == path) else { return lines };
    let home = sessions.environment().home().to_string_lossy().into_owned();
    let title = info.name.as_ref().unwrap_or(&info.first_message).to_str().into_owned();
    let ink = if info.name.is_some() { Ink::NAMED.bold() } else { Ink::BOLD };
    lines.extend(wrapped(start(&title, 200).trim(), width).iter().take(2).map(|line| Line::new().ink(ink, line)));
    let branch = sessions.group_by_project(std::slice::from_ref(info)).pop();
    let branch = branch.and_then(|project| project.directories.into_iter().next()?.branch);
    let directory = Line::new().ink(Ink::DIM, &short_path(&info.cwd, &home));
    lines.push(branch.iter().fold(directory, |line, branch| line.ink(Ink::ACCENT, &format!("  ⎇ {branch}"))));
    lines.extend(wrapped(&facts(info, now), width).iter().map(|line| Line::new().ink(Ink::DIM, line)));
    let models: Vec<String> = info.facts.models.iter().map(|model| model.model.to_str().into_owned()).collect();
    if !models.is_empty() {
        lines.push(Line::new().ink(Ink::DIM, &models.join(", ")).cut(width));
    }
    let n_forks = list.iter().filter(|other| other.parent_session_path.as_deref() == path.to_str()).count();
    if n_forks > 0 {
        lines.push(Line::new().ink(Ink::DIM, &counted(n_forks, "fork", "forks")));
    }
    match sessions.clone().read_only().open(path) {
        Ok(session) => content_lines(&session, width, &mut lines).unwrap_or_else(|error| {
            lines.push(Line::new().ink(Ink::BAD, &chain(&error)));
        }),
        Err(error) => lines.push(Line::new().ink(Ink::BAD, &chain(&error))),
    }
    lines
}

fn facts(info: &SessionInfo, now: Timestamp) -> String {
    let mut facts = vec![
        counted(info.message_count, "message", "messages"),
        match age(now, info.modified).as_str() {
            "now" => "just now".to_owned(),
            age => format!("{age} ago"),
        },
        size_words(info.size),
    ];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of tokens")]
    let tokens = info.facts.tokens.total() as u64;
    if tokens > 0 {
        facts.push(format!("{} tokens", number_words(tokens)));
    }
    if info.facts.cost > 0.0 {
        facts.push(format!("${:.3}", info.facts.cost));
    }
    facts.join(" · ")
}

/// Adds the lines that require reading the session file.
fn content_lines(session: &SessionManager, width: usize, lines: &mut Vec<Line>) -> Result<(), sessile::SessionError> {
    let shape = session.branch_statistics();
    let mut counts = vec![counted(shape.entries, "entry", "entries")];
    if shape.leaves > 1 {
        counts.push(format!("{} branches", shape.leaves));
    }
    let n_compactions = session.compactions()?.len();
    if n_compactions > 0 {
        counts.push(counted(n_compactions, "compaction", "compactions"));
    }
    lines.push(Line::new().ink(Ink::DIM, &counts.join(" · ")));
    let labels: Vec<String> = session.labels()?.iter().map(|(_, label)| label.text()).collect();
    if !labels.is_empty() {
        let labels = labels.iter().fold(Line::new(), |line, label| line.ink(Ink::NAMED, &format!("[{label}] ")));
        lines.push(labels.cut(width));
    }
    if let Some(leaf) = last_entry(session)? {
        let headline = headline(&leaf, &Calls::default());
        let line = Line::new().ink(Ink::DIM, "at ").ink(Ink::of(headline.tone), &headline.lead).text(&headline.text);
        lines.push(line.cut(width));
    }
    lines.push(Line::new());
    for (role, ink, who, max_lines) in [
        (Role::User, Ink::PERSON, "you", MAX_QUESTION_LINES),
        (Role::Assistant, Ink::ACCENT, "model", MAX_ANSWER_LINES),
    ] {
        if let Some(text) = last_message(session, role)? {
            lines.push(Line::new().ink(ink.bold(), who));
            let text_lines = wrapped(&start(text.trim(), 4000), width);
            let n_more = text_lines.len().saturating_sub(max_lines);
            lines.extend(text_lines.iter().take(max_lines).map(|line| Line::new().text(line)));
            if n_more > 0 {
                lines.push(Line::new().ink(Ink::DIM, &format!("… {n_more} more lines")));
            }
            lines.push(Line::new());
        }
    }
    Ok(())
}

/// Returns the last entry on the path to the leaf that is not an archive mark.
fn last_entry(session: &SessionManager) -> Result<Option<Entry>, sessile::SessionError> {
    let id = session.session_id();
    for row in session.path().into_iter().rev().take(MAX_SEARCHED_ENTRIES) {
        let entry = session.entry_at(row)?;
        if ArchiveMark::of(entry.raw(), &id).is_none() {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns the last message with this role on the path to the leaf.
fn last_message(session: &SessionManager, role: Role) -> Result<Option<String>, sessile::SessionError> {
    let outline = session.outline();
    let path = session.path();
    for row in path.into_iter().rev().take(MAX_SEARCHED_ENTRIES).filter(|row| outline.role(*row) == role) {
        let entry = session.entry_at(row)?;
        let Payload::Message(message) = entry.payload() else { continue };
        let text = message.message().map(Message::text).unwrap_or_default();
        if !text.trim().is_empty() {
            return Ok(Some(text));
        }
    }
    Ok(None)
}
