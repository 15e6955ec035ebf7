//! The secrets of a session, for the marks beside its entries and for the warning before a download.
//!
//! No answer holds a value.

use axum::http::StatusCode;
use axum::response::Response;
use sessile::format::cause::chain;
use sessile::format::outline::Row;
use sessile::json::{Json, ObjectWriter};
use sessile::redact::{EntryFindings, SecretFinding, Tier};
use sessile::{Cancel, SessionError};

use super::app::App;
use super::reply::{json, reply};
use super::session::NoPart;

/// The findings that an answer lists. Its counts are complete.
const MAX_FINDINGS: usize = 2000;

/// Answers `/s/{key}/secrets`: scans the session.
pub(crate) fn scan(app: &App, key: &str, cancel: &Cancel) -> Response {
    let list = app.list.snapshot();
    let Some(row) = list.find(key) else { return missing() };
    let found = app.sessions.scan_session(&row.path, cancel).map_err(NoPart::from).and_then(|report| {
        app.open_sessions.with(&app.sessions, &row.path, |opened| Ok(report.into_entries(&opened.session)))
    });
    match found {
        Ok(found) => json(answer(&found)),
        Err(NoPart::Missing) => missing(),
        Err(NoPart::Failed(error)) => failed(&error),
    }
}

pub(super) fn missing() -> Response {
    refused(StatusCode::NOT_FOUND, "There is no such session.")
}

pub(super) fn failed(error: &SessionError) -> Response {
    refused(StatusCode::INTERNAL_SERVER_ERROR, &chain(error))
}

/// `{error}`
pub(super) fn refused(status: StatusCode, words: &str) -> Response {
    reply(status, "application/json", ObjectWriter::new().string("error", words).finish().into_bytes())
}

/// `{findings, certain, likely, entries, elsewhere}`: some findings, and the numbers of all of them, of the entries that
/// have any, and of findings that are in no entry.
fn answer(found: &EntryFindings) -> Json {
    let entries = found.by_row.iter().flat_map(|(row, findings)| findings.iter().map(|finding| (Some(*row), finding)));
    let all = found.elsewhere.iter().map(|finding| (None, finding)).chain(entries);
    let findings: Vec<Json> = all.take(MAX_FINDINGS).map(|(row, finding)| finding_json(row, finding)).collect();
    let mut out = ObjectWriter::new();
    out.array("findings", findings.iter().map(Json::raw));
    for (name, count) in [
        ("certain", found.count(Tier::Certain)),
        ("likely", found.count(Tier::Likely)),
        ("entries", found.by_row.len()),
        ("elsewhere", found.elsewhere.len()),
    ] {
        out.integer(name, i64::try_from(count).unwrap_or(i64::MAX));
    }
    out.finish()
}

/// `{row, tier, rule, masked, place, times, encoded}`; the row is -1 if the finding is in no entry.
fn finding_json(row: Option<Row>, finding: &SecretFinding) -> Json {
    let tier = match finding.tier {
        Tier::Certain => "certain",
        Tier::Likely => "likely",
    };
    let row = row.and_then(|row| i64::try_from(row.index()).ok()).unwrap_or(-1);
    let mut out = ObjectWriter::new();
    out.integer("row", row).string("tier", tier).string("rule", &finding.rule).string("masked", &finding.masked);
    out.string("place", &finding.pointer).integer("times", i64::try_from(finding.occurrences).unwrap_or(i64::MAX));
    out.bool("encoded", finding.via.is_some()).finish()
}
