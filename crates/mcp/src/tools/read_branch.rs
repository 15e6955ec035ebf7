//! `read_branch`

use sessile::SessionManager;
use sessile::entry::{Entry, Payload};
use sessile::format::head::{Kind, Role};
use sessile::json::ObjectWriter;
use sessile::rows::Row as SessionRow;

use crate::budget::{Answer, Row};
use crate::call::{Call, minute, number};
use crate::cursor::item;
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::framed;
use crate::render::{Detail, Rendered, Renderer};

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let info = call.session()?;
    let session = call.history.open(&info)?;
    let path = match call.arguments.text("entry")? {
        Some(entry) => session.path_to(&session.find_entry(&entry)?)?,
        None => session.path(),
    };
    let detail = call.arguments.word("detail", &Detail::WORDS)?.unwrap_or(Detail::Brief);
    let is_forward = call.arguments.text("from")?.is_some();
    let order = order(call, &session, &path)?;
    let start = call.start_among(order.iter().map(|at| path.get(*at).map_or(0, |row| item_of(*row))))?;
    let branch = Branch {
        call,
        session: &session,
        id: attribute(info.id.as_str()),
        n_compacted: n_compacted(&session, &path)?,
        path: &path,
        max_text: max_text(detail),
    };
    let is_live = if call.history.is_live(&info) { " It is live: it was written just now." } else { "" };
    let mut page = call.page("entries", &format!("A branch of {} entries.{is_live}", path.len()))?;
    let mut renderer = Renderer::new(&call.outgoing, detail, call.history.options.omits_tool_output());
    let mut has_more = false;
    for at in order.into_iter().skip(start) {
        call.check()?;
        let Some((entry, shown)) = branch.render(at, &mut renderer)? else { continue };
        if !page.push(branch.max_text, &mut |max| branch.row(at, &entry, &shown, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, path.len(), has_more, !is_forward))
}

/// The positions on the path in the order in which they are read: from an entry on, or the newest first.
fn order(call: &Call<'_>, session: &SessionManager, path: &[SessionRow]) -> Result<Vec<usize>, Failure> {
    let Some(from) = call.arguments.text("from")? else { return Ok((0..path.len()).rev().collect()) };
    let from = session.find_entry(&from)?;
    let outline = session.outline();
    let start = path.iter().position(|row| outline.id(*row).as_ref() == Some(&from));
    let start = start.ok_or_else(|| Failure::explained("the entry in \"from\" is not on this branch"))?;
    Ok((start..path.len()).collect())
}

/// The bytes of one entry.
fn max_text(detail: Detail) -> usize {
    match detail {
        Detail::Brief => 1_500,
        Detail::Messages => 3_000,
        Detail::Full => 8_000,
    }
}

fn item_of(row: SessionRow) -> u64 {
    item(&format!("row {}", row.index()))
}

/// The number of entries at the start of the path that the last compaction replaces.
fn n_compacted(session: &SessionManager, path: &[SessionRow]) -> Result<usize, Failure> {
    let outline = session.outline();
    let Some(at) = path.iter().rposition(|row| outline.kind(*row) == Kind::Compaction) else { return Ok(0) };
    let Some(row) = path.get(at) else { return Ok(0) };
    let entry = session.entry_at(*row)?;
    let Payload::Compaction(compaction) = entry.payload() else { return Ok(0) };
    let kept = compaction.first_kept_entry_id();
    let is_kept = |row: &SessionRow| kept.is_some() && outline.id(*row) == kept;
    Ok(path.iter().position(is_kept).unwrap_or(at).min(at))
}

/// The answer before a position of a path, whose calls have the results that follow it.
pub(super) fn answer_before(
    session: &SessionManager,
    path: &[SessionRow],
    at: usize,
) -> Result<Option<Entry>, Failure> {
    let outline = session.outline();
    let before = path.get(..at).unwrap_or_default().iter().rev();
    let answer =
        before.take_while(|row| outline.role(**row) != Role::User).find(|row| outline.role(**row) == Role::Assistant);
    Ok(answer.map(|row| session.entry_at(*row)).transpose()?)
}

/// A branch that is read.
struct Branch<'b, 'c> {
    call: &'b Call<'c>,
    session: &'b SessionManager,
    /// The id of the session.
    id: String,
    path: &'b [SessionRow],
    n_compacted: usize,
    max_text: usize,
}

impl Branch<'_, '_> {
    /// The entry at a position; `None` if it is not shown.
    fn render(&self, at: usize, renderer: &mut Renderer<'_>) -> Result<Option<(Entry, Rendered)>, Failure> {
        let Some(row) = self.path.get(at) else { return Ok(None) };
        if self.session.outline().role(*row) == Role::ToolResult
            && let Some(answer) = answer_before(self.session, self.path, at)?
        {
            renderer.note(&answer);
        }
        let entry = self.session.entry_at(*row)?;
        let shown = renderer.render(&entry).filter(|shown| !shown.text.trim().is_empty());
        Ok(shown.map(|shown| (entry, shown)))
    }

    fn row(&self, at: usize, entry: &Entry, rendered: &Rendered, max: usize) -> Row {
        let Rendered { role, trust, text } = rendered;
        let mut shown = self.call.outgoing.start(text, max);
        let end = text.floor_char_boundary(max);
        let is_cut = end < text.len();
        if is_cut {
            shown.close_fence();
        }
        let (role, id) = (attribute(role), Call::entry_id(entry.id().as_ref()));
        let time = self.path.get(at).and_then(|row| self.session.outline().time(*row)).map(minute).unwrap_or_default();
        let is_compacted = at < self.n_compacted;
        let compacted = if is_compacted { "true" } else { "" };
        let attributes =
            [("session", self.id.as_str()), ("entry", &id), ("role", &role), ("time", &time), ("compacted", compacted)];
        let mut out = framed(&attributes, *trust, &shown);
        let mut json = ObjectWriter::new();
        json.string("entryId", &id).string("role", &role).string("trust", trust.word());
        super::put(&mut json, "timestamp", &time);
        json.string("text", shown.as_str());
        if is_compacted {
            json.bool("compacted", true);
        }
        if is_cut {
            let size = text.len();
            json.raw("size", number(size).raw()).raw("nextOffset", number(end).raw());
            out = format!("{out}\n[cut: {end} of {size} bytes; read_entry has all of it]");
        }
        Row { text: out, json: json.finish(), item: self.path.get(at).map_or(0, |row| item_of(*row)), is_cut }
    }
}
