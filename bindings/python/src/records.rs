//! Results of the engine as dataclasses of the Python package.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sessile::compaction::CompactionRecord;
use sessile::context::SessionContext;
use sessile::format::head::Role;
use sessile::format::info::{ModelName, TokenCounts};
use sessile::group::{FamilyTree, SessionRef};
use sessile::list::SessionInfo;
use sessile::search::SearchHit;
use sessile::stats::{SessionStats, Stats, StatsGroup, Tally};
use sessile::verify::{Finding, Remedy, Report};

use crate::value::{Message, text, time};

/// A dataclass, filled by the names of its fields.
macro_rules! record {
    ($py:expr, $name:literal, $($field:ident: $value:expr),* $(,)?) => {{
        let fields = PyDict::new($py);
        $(fields.set_item(pyo3::intern!($py, stringify!($field)), $value)?;)*
        $crate::records::fill($py, $name, &fields)
    }};
}
pub(crate) use record;

/// Makes a dataclass of this name.
pub(crate) fn fill<'py>(py: Python<'py>, name: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    py.import(pyo3::intern!(py, "sessile._records"))?.getattr(name)?.call((), Some(fields))
}

/// Makes a list of records.
pub(crate) fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    record: impl Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items.iter().map(|item| record(py, item)).collect()
}

pub(crate) fn session_info<'py>(py: Python<'py>, info: &SessionInfo) -> PyResult<Bound<'py, PyAny>> {
    let facts = &info.facts;
    let models: Vec<String> = facts.models.iter().map(model_name).collect();
    record!(py, "SessionInfo",
        path: info.path.as_path(),
        id: info.id.as_str(),
        cwd: info.cwd.as_str(),
        name: info.name.as_ref().map(|name| text(py, name)).transpose()?,
        archived: info.is_archived,
        redacted: info.is_redacted,
        imported_from: info.imported_from.as_deref(),
        parent: info.parent_session_path.as_deref(),
        created: time(py, info.created)?,
        modified: time(py, Some(info.modified))?,
        written: time(py, Some(info.written))?,
        size: info.size,
        first_message: text(py, &info.first_message)?,
        text: text(py, &info.all_messages_text)?,
        messages: info.message_count,
        entries: facts.entries,
        user_messages: facts.messages.of(Role::User),
        assistant_messages: facts.messages.of(Role::Assistant),
        tool_results: facts.messages.of(Role::ToolResult),
        compactions: facts.compactions,
        models: models,
        input_tokens: facts.tokens.input,
        output_tokens: facts.tokens.output,
        cache_read_tokens: facts.tokens.cache_read,
        cache_write_tokens: facts.tokens.cache_write,
        cost: facts.cost,
        unreadable_lines: facts.unreadable_lines,
        branched: facts.has_branches,
        unanswered: facts.is_unanswered,
    )
}

/// A model as `provider/model`, as statistics name it.
fn model_name(name: &ModelName) -> String {
    let (provider, model) = (name.provider.to_str(), name.model.to_str());
    if provider.is_empty() { model.into_owned() } else { format!("{provider}/{model}") }
}

pub(crate) fn search_hit<'py>(py: Python<'py>, hit: &SearchHit) -> PyResult<Bound<'py, PyAny>> {
    let excerpt = hit.excerpt.text.as_str();
    // Python counts characters.
    let characters = |to: usize| excerpt.get(..to).map_or(0, |text| text.chars().count());
    let ranges: Vec<(usize, usize)> =
        hit.excerpt.ranges.iter().map(|range| (characters(range.start), characters(range.end))).collect();
    record!(py, "SearchHit",
        path: hit.session_path.as_path(),
        entry_id: hit.entry_id.as_ref().map(|id| text(py, &id.as_text())).transpose()?,
        type: hit.kind.word(),
        role: hit.role.word(),
        time: time(py, hit.time)?,
        offset: hit.offset,
        score: hit.score,
        excerpt: excerpt,
        ranges: ranges,
    )
}

pub(crate) fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyAny>> {
    record!(py, "Report",
        path: report.path.as_path(),
        findings: list(py, &report.findings, finding)?,
        sound: report.is_sound(),
        error: py.None(),
    )
}

/// The report of a file that cannot be read.
pub(crate) fn unreadable<'py>(py: Python<'py>, path: &Path, error: &str) -> PyResult<Bound<'py, PyAny>> {
    record!(py, "Report", path: path, findings: PyList::empty(py), sound: false, error: error)
}

fn finding<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyAny>> {
    record!(py, "Finding",
        code: finding.code.word(),
        severity: finding.severity.word(),
        line: finding.line,
        offset: finding.offset,
        message: finding.message.as_str(),
        consequence: finding.consequence(),
        remedy: finding.remedy.text(),
        repairable: matches!(finding.remedy, Remedy::Repair(_) | Remedy::Permissions(_)),
    )
}

/// The totals of some entries. A list does not count tool calls.
fn tally<'py>(py: Python<'py>, tally: &Tally, knows_tools: bool) -> PyResult<Bound<'py, PyAny>> {
    let TokenCounts { input, output, cache_read, cache_write } = tally.tokens;
    record!(py, "Tally",
        entries: tally.entries,
        messages: tally.messages.total(),
        user_messages: tally.messages.of(Role::User),
        assistant_messages: tally.messages.of(Role::Assistant),
        tool_results: tally.messages.of(Role::ToolResult),
        tool_calls: knows_tools.then_some(tally.tool_calls),
        tool_errors: knows_tools.then_some(tally.tool_errors),
        compactions: tally.compactions,
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
        total_tokens: tally.tokens.total(),
        cost: tally.cost,
        cache_hit_rate: tally.cache_hit_rate(),
    )
}

fn stats_group<'py>(py: Python<'py>, group: &StatsGroup, knows_tools: bool) -> PyResult<Bound<'py, PyAny>> {
    record!(py, "StatsGroup",
        keys: group.keys.as_slice(),
        path: group.session.as_ref().map(|(path, _)| path.as_path()),
        id: group.session.as_ref().map(|(_, id)| id.as_str()),
        sessions: group.sessions,
        tally: tally(py, &group.tally, knows_tools)?,
    )
}

pub(crate) fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyAny>> {
    let by: Vec<&str> = stats.by.iter().map(|grouping| grouping.word()).collect();
    let unreadable: Vec<&Path> = stats.unreadable.iter().map(std::path::PathBuf::as_path).collect();
    record!(py, "Stats",
        by: by,
        total: tally(py, &stats.total, stats.knows_tools)?,
        sessions: stats.sessions,
        forks: stats.forks,
        branched: stats.branched,
        copied: stats.copied,
        groups: list(py, &stats.groups, |py, group| stats_group(py, group, stats.knows_tools))?,
        unreadable: unreadable,
    )
}

pub(crate) fn session_stats<'py>(py: Python<'py>, stats: &SessionStats) -> PyResult<Bound<'py, PyAny>> {
    let group = |py: Python<'py>, group: &StatsGroup| stats_group(py, group, true);
    let forks: Vec<&Path> = stats.forks.iter().map(std::path::PathBuf::as_path).collect();
    record!(py, "SessionStats",
        path: stats.path.as_path(),
        id: stats.id.as_str(),
        total: tally(py, &stats.total, true)?,
        copied: stats.copied.as_ref().map(|copied| tally(py, copied, true)).transpose()?,
        models: list(py, &stats.models, group)?,
        tools: list(py, &stats.tools, group)?,
        entries: stats.shape.entries,
        roots: stats.shape.roots,
        branches: stats.shape.leaves,
        branch_points: stats.shape.branch_points,
        deepest: stats.shape.deepest,
        active_path: stats.shape.active_path,
        compactions: list(py, &stats.compactions, compaction)?,
        parent: stats.parent.as_deref(),
        forks: forks,
    )
}

fn compaction<'py>(py: Python<'py>, compaction: &CompactionRecord) -> PyResult<Bound<'py, PyAny>> {
    let first_kept = compaction.first_kept_entry_id.as_ref();
    record!(py, "CompactionInfo",
        id: text(py, &compaction.id.as_text())?,
        on_path: compaction.on_path,
        tokens_before: compaction.tokens_before,
        time: time(py, compaction.time)?,
        first_kept_entry_id: first_kept.map(|id| text(py, &id.as_text())).transpose()?,
    )
}

pub(crate) fn family<'py>(
    py: Python<'py>,
    family: &FamilyTree,
    sessions: &[SessionInfo],
) -> PyResult<Bound<'py, PyAny>> {
    let mut members = Vec::with_capacity(family.members.len());
    for member in &family.members {
        let (path, id) = match &member.relative.session {
            SessionRef::Listed(at) => (sessions[*at].path.as_path(), Some(sessions[*at].id.as_str())),
            SessionRef::Missing(path) => (path.as_path(), None),
        };
        members.push(record!(py, "FamilyMember",
            path: path,
            id: id,
            parent: member.relative.parent,
            depth: member.relative.depth,
            missing: id.is_none(),
            shared_entries: member.shared_entries,
        )?);
    }
    record!(py, "Family", members: members, requested: family.requested)
}

pub(crate) fn context(py: Python<'_>, context: SessionContext) -> PyResult<Bound<'_, PyAny>> {
    let messages: PyResult<Vec<_>> =
        context.messages.into_iter().map(|message| Bound::new(py, Message::new(message))).collect();
    let level = context.settings.thinking_level.as_ref().and_then(|level| level.raw().as_text());
    let model = context.settings.model.as_ref();
    record!(py, "Context",
        messages: messages?,
        provider: model.and_then(|model| model.provider.as_ref()?.raw().as_text()).map(|word| text(py, &word)).transpose()?,
        model: model.and_then(|model| model.model_id.as_ref()?.raw().as_text()).map(|word| text(py, &word)).transpose()?,
        thinking_level: level.map(|level| text(py, &level)).transpose()?,
    )
}
