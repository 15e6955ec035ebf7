//! The rows of a session as HTML, for an export and for a server.

use std::fmt::Write as _;

use sessile::entry::{Entry, Payload};
use sessile::format::outline::Row;
use sessile::message::Message;
use sessile::team::Authors;
use sessile::time::time_of;
use sessile::{Environment, SessionError, SessionManager};
use sessile_display::Tone;
use sessile_display::text::{Calls, headline};

use crate::entry::{EntryContext, EntryHtml, render_entry};
use crate::html::push_text;
use crate::page::local_text;

/// Separates pieces of HTML that the page asks for together. No text of a session contains it once it is HTML.
pub(crate) const SEPARATOR: char = '\u{1e}';

/// The lines of the tree that the page asks for together.
pub(crate) const TITLES_PER_CHUNK: usize = 1000;

/// Results follow their calls closely.
pub(crate) const REMEMBERED_CALLS: usize = 2000;

#[cfg(feature = "serve")]
/// The distance between a result and its call, at most, for a reader that starts in the middle.
const MAX_CALL_DISTANCE: usize = 64;

/// The plain HTML at the end of the current branch.
const STATIC_BYTES: usize = 160 << 10;
const STATIC_ENTRIES: usize = 60;

/// How much of that a browser with JavaScript draws before the script has started. Laying out more of it would hold up
/// the script.
const DRAWN_AT_ONCE_BYTES: usize = 12 << 10;
const DRAWN_AT_ONCE: usize = 6;

/// How many of the last texts have at most this length together; at least one, if there is one.
fn n_last(texts: &[String], most: usize) -> usize {
    let lengths = texts.iter().rev().scan(0, |sum, text| {
        *sum += text.len();
        Some(*sum)
    });
    lengths.take_while(|sum| *sum <= most).count().max(1).min(texts.len())
}

/// What a page shows without JavaScript.
fn without_script(n_shown: usize, n_on_branch: usize, n_entries: usize) -> String {
    let part = if n_shown < n_on_branch {
        format!("the last {n_shown} of {n_on_branch} entries of the current branch")
    } else if n_on_branch < n_entries {
        "only the current branch".to_owned()
    } else {
        return String::new();
    };
    format!("<p class=aside>Without JavaScript, this page shows {part}. The session has {n_entries} entries.</p>")
}

/// Renders the rows of one session.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'s> {
    pub(crate) session: &'s SessionManager,
    pub(crate) environment: &'s dyn Environment,
    /// Who has written the entries, if the session is on a remote that is in use.
    pub(crate) authors: Option<&'s Authors>,
}

impl Reader<'_> {
    /// The last entries of the current branch as HTML, as much as fits into a small page. A browser with JavaScript
    /// draws only the very last ones of them.
    pub(crate) fn last_entries(&self) -> Result<String, SessionError> {
        let path = self.session.path();
        // Results need their calls, so the entries are read forwards from a little earlier.
        let tail = path.len().saturating_sub(STATIC_ENTRIES);
        let mut calls = Calls::recent(REMEMBERED_CALLS);
        let mut rendered: Vec<String> = Vec::new();
        for row in path.get(tail..).unwrap_or_default() {
            let entry = self.session.entry_at(*row)?;
            rendered.push(self.render(*row, &entry, &mut calls)?.html);
        }
        let mut shown = rendered.split_off(rendered.len() - n_last(&rendered, STATIC_BYTES));
        let drawn = shown.split_off(shown.len() - n_last(&shown, DRAWN_AT_ONCE_BYTES).min(DRAWN_AT_ONCE));
        let n_shown = shown.len() + drawn.len();
        let notice = without_script(n_shown, path.len(), self.session.outline().n_entries());
        Ok(format!("<noscript>{notice}{}</noscript>{}", shown.concat(), drawn.concat()))
    }

    /// Renders an entry. `calls` has the calls of the entries before it, and gets those of this entry.
    pub(crate) fn render(&self, row: Row, entry: &Entry, calls: &mut Calls) -> Result<EntryHtml, SessionError> {
        let time = entry.raw().get("timestamp").and_then(|time| time_of(self.environment, time));
        let label = match entry.id() {
            Some(id) => self.session.label(id)?,
            None => None,
        };
        let mut context = EntryContext {
            index: row.index(),
            label,
            author: self.author_of(row),
            local_time: time.map(|time| local_text(self.environment, time)),
            time,
            ..EntryContext::default()
        };
        match entry.payload() {
            Payload::Message(message) => match message.message() {
                Some(Message::Assistant(answer)) => calls.note(&answer.content()),
                Some(Message::ToolResult(result)) => {
                    let call = result.tool_call_id().and_then(|id| calls.get(&id).cloned());
                    context.has_call = call.is_some();
                    context.call_path = call.and_then(|call| call.path);
                }
                _ => {}
            },
            Payload::Compaction(compaction) => {
                let outline = self.session.outline();
                let path = outline.path(row);
                let kept = compaction.first_kept_entry_id().and_then(|id| outline.find(&id));
                context.n_covered = kept.and_then(|kept| path.iter().position(|row| *row == kept));
            }
            _ => {}
        }
        Ok(render_entry(entry, &context))
    }

    /// Who has written an entry, unless it is the owner of the session.
    fn author_of(&self, row: Row) -> Option<String> {
        let author = self.authors?.at(self.session.outline().span(row).offset)?;
        (!author.is_owner).then(|| author.member.clone())
    }

    #[cfg(feature = "serve")]
    /// Renders the entry of a row, and finds the call of a result among the entries above it.
    pub(crate) fn render_row(&self, row: Row) -> Result<EntryHtml, SessionError> {
        let entry = self.session.entry_at(row)?;
        let mut calls = self.calls_above(row, &entry)?;
        self.render(row, &entry, &mut calls)
    }

    #[cfg(feature = "serve")]
    /// The calls that the entry of a row refers to.
    pub(crate) fn calls_above(&self, row: Row, entry: &Entry) -> Result<Calls, SessionError> {
        let mut calls = Calls::default();
        let Some(Message::ToolResult(result)) = entry.message() else { return Ok(calls) };
        let Some(id) = result.tool_call_id() else { return Ok(calls) };
        let outline = self.session.outline();
        let mut next = outline.parent(row);
        for _ in 0..MAX_CALL_DISTANCE {
            let Some(above) = next else { break };
            if let Some(Message::Assistant(answer)) = self.session.entry_at(above)?.message() {
                calls.note(&answer.content());
                if calls.get(&id).is_some() {
                    break;
                }
            }
            next = outline.parent(above);
        }
        Ok(calls)
    }
}

/// One line of the tree as HTML, with the label of the entry.
pub(crate) fn title(session: &SessionManager, entry: &Entry, calls: &Calls) -> Result<String, SessionError> {
    let headline = headline(entry, calls);
    let class = match headline.tone {
        Tone::Plain => "",
        Tone::Dim => "dim",
        Tone::Accent => "model",
        Tone::Named => "named",
        Tone::Person => "user",
        Tone::Bad => "bad",
    };
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = entry.id().map(|id| session.label(id)).transpose()?.flatten().filter(|label| !label.is_empty());
    let mut out = String::new();
    if let Some(label) = label {
        out.push_str("<span class=\"label\">");
        push_text(&mut out, &one_line(&label));
        out.push_str("</span> ");
    }
    write!(out, "<b class=\"{class}\">").ok();
    push_text(&mut out, &one_line(&headline.lead));
    out.push_str("</b> ");
    push_text(&mut out, &one_line(&headline.text));
    Ok(out)
}
