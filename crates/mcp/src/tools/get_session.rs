//! `get_session`

use sessile::SessionManager;
use sessile::compaction::FileOperations;
use sessile::date::to_iso;
use sessile::entry::Payload;
use sessile::format::head::{Kind, Role};
use sessile::json::{JsText, Json, ObjectWriter};
use sessile::list::SessionInfo;

use super::put;
use crate::budget::{Answer, Row};
use crate::call::{Call, minute, money, number};
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::{Trust, framed};
use crate::render::{Detail, Renderer};

const MAX_MESSAGE: usize = 500;
const MAX_SUMMARY: usize = 1_500;
const MAX_PATH: usize = 160;
const MAX_FILES: usize = 30;
const MAX_LABELS: usize = 20;
const MAX_BRANCH_POINTS: usize = 10;
const MAX_COMPACTIONS: usize = 10;

/// A part of the overview, as the file has it.
struct Part {
    kind: &'static str,
    entry: String,
    trust: Trust,
    text: String,
    max_chars: usize,
}

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let info = call.session()?;
    let session = call.history.open(&info)?;
    let everything = call.history.list(call.history.widest(), &call.deadline)?;
    let id = attribute(info.id.as_str());
    let about = format!(
        "Session {id}, {} messages, {}, last active {}.",
        info.message_count,
        money(info.facts.cost),
        minute(info.modified)
    );
    let mut page = call.page("parts", &about)?;
    page.fact("session", facts(call, &info, &session, &everything));
    let (parts, total) = parts(call, &info, &session)?;
    let mut n_shown = 0;
    for part in &parts {
        // A long text is shortened before it is left out.
        let is_shown = [part.max_chars, part.max_chars / 4]
            .into_iter()
            .any(|most| page.push(most, &mut |max| row(call, &id, part, max)));
        n_shown += usize::from(is_shown);
    }
    if n_shown < total {
        page.mark_cut();
    }
    let left = total - n_shown;
    let mut tail = Vec::new();
    if left > 0 {
        tail.push(format!("[{left} of {total} parts left out]"));
    }
    tail.extend(call.remarks(&mut page));
    Ok(page.finish(Some(total), None, &tail.join("\n"), false))
}

/// The figures.
fn facts(call: &Call<'_>, info: &SessionInfo, session: &SessionManager, everything: &[SessionInfo]) -> Json {
    let shape = session.branch_statistics();
    let cwd = attribute(call.outgoing.line(&info.cwd, MAX_PATH).as_str());
    let mut out = ObjectWriter::new();
    out.string("id", &attribute(info.id.as_str())).string("cwd", &cwd);
    put(&mut out, "created", &info.created.map(to_iso).unwrap_or_default());
    out.string("modified", &to_iso(info.modified));
    out.raw("messageCount", number(info.message_count).raw());
    out.integer("entries", i64::try_from(info.facts.entries).unwrap_or(i64::MAX)).number("cost", info.facts.cost);
    out.number("tokens", info.facts.tokens.total());
    out.raw("branches", number(shape.leaves).raw()).raw("branchPoints", number(shape.branch_points).raw());
    out.integer("compactionCount", i64::try_from(info.facts.compactions).unwrap_or(i64::MAX));
    put(&mut out, "leafId", &Call::entry_id(session.leaf_id().as_ref()));
    put(&mut out, "parentSession", &super::list_sessions::parent_id(info, everything));
    let is_fork = |other: &&SessionInfo| other.parent_session_path.as_deref() == info.path.to_str();
    out.raw("forks", number(everything.iter().filter(is_fork).count()).raw());
    let name = |model: &JsText<'_>| attribute(call.outgoing.line(&model.to_str(), 40).as_str());
    let models: Vec<Json> = info.facts.models.iter().take(4).map(|model| Json::string(&name(&model.model))).collect();
    out.array("models", models.iter().map(Json::raw)).raw("modelCount", number(info.facts.models.len()).raw());
    if info.is_archived {
        out.bool("archived", true);
    }
    if call.history.is_live(info) {
        out.bool("live", true);
    }
    out.finish()
}

/// The texts, most important first, and how many there would be without limits.
fn parts(call: &Call<'_>, info: &SessionInfo, session: &SessionManager) -> Result<(Vec<Part>, usize), Failure> {
    let mut parts = Vec::new();
    let mut n_left_out = 0;
    if let Some(name) = &info.name {
        parts.push(Part::new("name", "", Trust::User, name.to_str().into_owned(), MAX_PATH));
    }
    add_messages(call, session, &mut parts)?;
    let labels = session.labelled()?;
    n_left_out += labels.len().saturating_sub(MAX_LABELS);
    for (id, label) in labels.iter().take(MAX_LABELS) {
        parts.push(Part::new("label", &Call::entry_id(Some(id)), Trust::User, label.text(), 80));
    }
    let points = session.branch_points();
    n_left_out += points.len().saturating_sub(MAX_BRANCH_POINTS);
    for point in points.iter().take(MAX_BRANCH_POINTS) {
        let id = point.at.and_then(|row| session.outline().id(row));
        let label = id.as_ref().and_then(|id| session.label(id.clone()).ok().flatten()).unwrap_or_default();
        let text = format!("{} branches, {} {label}", point.children.len(), point.kind.word());
        parts.push(Part::new("branchPoint", &Call::entry_id(id.as_ref()), Trust::User, text.trim().to_owned(), 120));
    }
    let compactions = session.compactions()?;
    n_left_out += compactions.len().saturating_sub(MAX_COMPACTIONS);
    for compaction in compactions.iter().take(MAX_COMPACTIONS) {
        let tokens = compaction.tokens_before.map(|tokens| format!("{tokens} tokens before")).unwrap_or_default();
        let text = format!("{} {tokens}", compaction.time.map(minute).unwrap_or_default());
        parts.push(Part::new("compaction", &Call::entry_id(Some(&compaction.id)), Trust::Model, text, 120));
    }
    let files = files(call, session)?;
    n_left_out += files.len().saturating_sub(MAX_FILES);
    for (kind, path) in files.into_iter().take(MAX_FILES) {
        parts.push(Part::new(kind, "", Trust::Model, path, MAX_PATH));
    }
    let total = parts.len() + n_left_out;
    Ok((parts, total))
}

/// Adds the first and the last message of the user on the path, and the last summary.
fn add_messages(call: &Call<'_>, session: &SessionManager, parts: &mut Vec<Part>) -> Result<(), Failure> {
    let outline = session.outline();
    let path = session.path();
    let is_user = |row: &&sessile::rows::Row| outline.role(**row) == Role::User;
    let (first, last) = (path.iter().find(is_user), path.iter().rfind(is_user));
    let mut renderer = Renderer::new(&call.outgoing, Detail::Brief, true);
    for (kind, row) in [("firstMessage", first), ("lastMessage", last.filter(|last| Some(*last) != first))] {
        let Some(row) = row else { continue };
        let entry = session.entry_at(*row)?;
        if let Some(rendered) = renderer.render(&entry) {
            let id = Call::entry_id(entry.id().as_ref());
            parts.push(Part::new(kind, &id, rendered.trust, rendered.text, MAX_MESSAGE));
        }
    }
    let is_summary = |row: &&sessile::rows::Row| matches!(outline.kind(**row), Kind::Compaction | Kind::BranchSummary);
    if let Some(row) = path.iter().rfind(is_summary) {
        let entry = session.entry_at(*row)?;
        let summary = match entry.payload() {
            Payload::Compaction(compaction) => compaction.summary(),
            Payload::BranchSummary(summary) => summary.summary(),
            _ => None,
        };
        let id = Call::entry_id(entry.id().as_ref());
        parts.push(Part::new("summary", &id, Trust::Model, summary.unwrap_or_default(), MAX_SUMMARY));
    }
    Ok(())
}

/// The files that the session changed, and then those that it only read.
fn files(call: &Call<'_>, session: &SessionManager) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut operations = FileOperations::default();
    for entry in session.entries() {
        call.check()?;
        if let Some(message) = entry?.message() {
            operations.add_message(message.raw());
        }
    }
    let lists = operations.lists();
    let named = |kind: &'static str, paths: Vec<JsText<'static>>| {
        paths.into_iter().map(move |path| (kind, path.to_str().into_owned()))
    };
    Ok(named("fileChanged", lists.modified).chain(named("fileRead", lists.read)).collect())
}

impl Part {
    fn new(kind: &'static str, entry: &str, trust: Trust, text: String, max_chars: usize) -> Self {
        Self { kind, entry: entry.to_owned(), trust, text, max_chars }
    }
}

fn row(call: &Call<'_>, session: &str, part: &Part, max: usize) -> Row {
    let end = part.text.char_indices().nth(max.min(part.max_chars)).map(|(at, _)| at);
    let shown = call.outgoing.part(&part.text, 0..end.unwrap_or(part.text.len()));
    let mut json = ObjectWriter::new();
    json.string("kind", part.kind);
    put(&mut json, "entryId", &part.entry);
    json.string("trust", part.trust.word()).string("text", shown.as_str());
    if end.is_some() {
        json.raw("size", number(part.text.len()).raw());
    }
    let cut = if end.is_some() { format!(" [cut: {} bytes in all]", part.text.len()) } else { String::new() };
    let attributes = [("session", session), ("entry", part.entry.as_str()), ("role", part.kind)];
    let text = format!("{}{cut}", framed(&attributes, part.trust, &shown));
    Row { text, json: json.finish(), item: 0, is_cut: end.is_some() }
}
