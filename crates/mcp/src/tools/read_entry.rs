//! `read_entry`

use sessile::json::ObjectWriter;

use crate::budget::{Answer, Row};
use crate::call::{Call, number};
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::framed;
use crate::render::{Detail, Rendered, Renderer};

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let info = call.session()?;
    let session = call.history.open(&info)?;
    let id = session.find_entry(&call.arguments.required("entry")?)?;
    let offset = call.arguments.count("offset")?.unwrap_or(0);
    let path = session.path_to(&id)?;
    let mut renderer = Renderer::new(&call.outgoing, Detail::Full, call.history.options.omits_tool_output());
    if let Some(before) = super::read_branch::answer_before(&session, &path, path.len().saturating_sub(1))? {
        renderer.note(&before);
    }
    let gone = || Failure::explained("the entry does not exist any more");
    let entry = session.entry(id.clone())?.ok_or_else(gone)?;
    let whole = renderer.render(&entry).ok_or_else(gone)?;
    if offset > whole.text.len() {
        return Err(Failure::explained(format!("offset is past the end: the entry has {} bytes", whole.text.len())));
    }
    let (session, entry) = (attribute(info.id.as_str()), Call::entry_id(Some(&id)));
    let mut page = call.page("entries", "One entry.")?;
    page.push(usize::MAX, &mut |max| row(call, (&session, &entry), &whole, offset, max));
    let mut tail = Vec::new();
    let next = page.last().and_then(|row| row.json.raw().get("nextOffset")?.as_integer());
    if let Some(next) = next {
        let size = whole.text.len();
        tail.push(format!("[cut: bytes {offset} to {next} of {size}; more: read_entry with offset {next}]"));
    }
    page.fact("size", number(whole.text.len()));
    tail.extend(call.remarks(&mut page));
    Ok(page.finish(None, None, &tail.join("\n"), false))
}

fn row(call: &Call<'_>, (session, entry): (&str, &str), rendered: &Rendered, offset: usize, max: usize) -> Row {
    let Rendered { role, trust, text } = rendered;
    let start = text.floor_char_boundary(offset);
    // At least one character, so that the next page is another one.
    let end = text.ceil_char_boundary(start.saturating_add(max.max(1)).min(text.len()));
    let mut shown = call.outgoing.part(text, start..end);
    let is_cut = end < text.len();
    if is_cut {
        shown.close_fence();
    }
    let role = attribute(role);
    let mut json = ObjectWriter::new();
    json.string("session", session).string("entryId", entry).string("role", &role).string("trust", trust.word());
    json.string("text", shown.as_str()).raw("offset", number(start).raw());
    if is_cut {
        json.raw("nextOffset", number(end).raw());
    }
    let attributes = [("session", session), ("entry", entry), ("role", &role)];
    Row { text: framed(&attributes, *trust, &shown), json: json.finish(), item: 0, is_cut }
}
