//! Entries as columns, for data frames.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sessile::entry::Entry;
use sessile::format::outline::Row;
use sessile::stats::{OTHER_MODELS, Share, SplitBy};
use sessile::time::Timestamp;
use sessile::{SessionError, SessionManager, System};

use crate::entry::{EntryFacts, entry_text};
use crate::open_session::OpenSession;
use crate::value::text;

/// One row of the table.
struct TableRow {
    facts: EntryFacts,
    share: Option<Share>,
    text: Option<sessile::json::JsText<'static>>,
}

/// The columns of up to `count` entries, starting at the row with this index, and the index of the next row.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    session: &Arc<OpenSession>,
    start: usize,
    count: usize,
    has_text: bool,
) -> PyResult<(Bound<'py, PyDict>, usize)> {
    let (rows, next) = session.read(py, move |manager| read_rows(manager, start, count, has_text))?;
    Ok((to_columns(py, &rows, has_text)?, next))
}

fn read_rows(
    manager: &SessionManager,
    start: usize,
    count: usize,
    has_text: bool,
) -> Result<(Vec<TableRow>, usize), SessionError> {
    let outline = manager.outline();
    let rows: Vec<Row> = outline.entries_from(start).take(count).collect();
    let next = rows.last().map_or(start, |row| row.index() + 1);
    let read =
        manager.entries_of(rows).map(|(row, entry)| Ok(table_row(EntryFacts::of(outline, row), &entry?, has_text)));
    Ok((read.collect::<Result<_, SessionError>>()?, next))
}

fn table_row(mut facts: EntryFacts, entry: &Entry, has_text: bool) -> TableRow {
    let share = Share::of_line(entry.raw().as_bytes(), &System);
    facts.time = facts.time.or_else(|| share.as_ref().and_then(|share| share.time));
    TableRow { facts, share, text: has_text.then(|| entry_text(entry)) }
}

fn to_columns<'py>(py: Python<'py>, rows: &[TableRow], has_text: bool) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let facts = || rows.iter().map(|row| &row.facts);
    let id = |id: &Option<sessile::EntryId>| id.as_ref().map(|id| text(py, &id.as_text())).transpose();
    columns.set_item("line", facts().map(|facts| facts.line).collect::<Vec<_>>())?;
    columns.set_item("id", facts().map(|facts| id(&facts.id)).collect::<PyResult<Vec<_>>>()?)?;
    columns.set_item("parent_id", facts().map(|facts| id(&facts.parent)).collect::<PyResult<Vec<_>>>()?)?;
    columns.set_item("type", facts().map(|facts| facts.kind.word()).collect::<Vec<_>>())?;
    columns.set_item("role", facts().map(|facts| facts.role.word()).collect::<Vec<_>>())?;
    columns.set_item("time", facts().map(|facts| facts.time.map(Timestamp::as_ms)).collect::<Vec<_>>())?;
    columns.set_item("size", facts().map(|facts| facts.size).collect::<Vec<_>>())?;
    let shares: Vec<_> = rows.iter().map(|row| row.share.clone().unwrap_or_default()).collect();
    let tallies: Vec<_> = shares.iter().map(Share::whole).collect();
    columns.set_item("model", shares.iter().map(model).collect::<Vec<_>>())?;
    columns.set_item("tools", shares.iter().map(tools).collect::<Vec<_>>())?;
    columns.set_item("tool_errors", tallies.iter().map(|tally| tally.tool_errors).collect::<Vec<_>>())?;
    columns.set_item("input_tokens", tallies.iter().map(|tally| tally.tokens.input).collect::<Vec<_>>())?;
    columns.set_item("output_tokens", tallies.iter().map(|tally| tally.tokens.output).collect::<Vec<_>>())?;
    columns.set_item("cache_read_tokens", tallies.iter().map(|tally| tally.tokens.cache_read).collect::<Vec<_>>())?;
    columns.set_item("cache_write_tokens", tallies.iter().map(|tally| tally.tokens.cache_write).collect::<Vec<_>>())?;
    columns.set_item("cost", tallies.iter().map(|tally| tally.cost).collect::<Vec<_>>())?;
    if has_text {
        let texts = rows.iter().map(|row| text(py, row.text.as_ref().unwrap_or(&sessile::json::JsText::default())));
        columns.set_item("text", texts.collect::<PyResult<Vec<_>>>()?)?;
    }
    Ok(columns)
}

/// The model that an entry's tokens were spent on, as statistics name it.
fn model(share: &Share) -> Option<String> {
    let parts = share.parts(SplitBy::Model);
    parts.into_iter().next().map(|(model, _)| model).filter(|model| model != OTHER_MODELS)
}

/// The tools that an entry calls, or whose result it is.
fn tools(share: &Share) -> Vec<String> {
    share.parts(SplitBy::Tool).into_iter().map(|(tool, _)| tool).collect()
}
