//! `usage`

use sessile::date::Timestamp;
use sessile::json::{Json, ObjectWriter};
use sessile::stats::{Grouping, LedgerQuery, StatsGroup, StatsOptions, Tally};

use super::{is_cut, put};
use crate::budget::{Answer, Row};
use crate::call::{Call, money, number};
use crate::cursor::item;
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::{Trust, framed};

/// The characters of a key.
const MAX_KEY: usize = 120;

const GROUPINGS: [(&str, Grouping); 4] = [
    ("day", Grouping::Day),
    ("model", Grouping::Model),
    ("project", Grouping::Project),
    ("session", Grouping::Session),
];

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let scope = call.scope()?;
    let (since, until) = call.span()?;
    let by = call.arguments.word("by", &GROUPINGS)?.unwrap_or(Grouping::Day);
    let sessions = call.history.list_shown(scope, &call.deadline)?;
    let stats = if let Some(query) = ledger_query(call, by, since, until) {
        call.history.ledger(&sessions, &call.deadline)?.stats(&query)
    } else {
        let cancel = call.deadline.cancel.clone();
        let options = StatsOptions { by: vec![by], since, until, cancel, on_progress: None };
        call.history.sessions().stats(&sessions, &options)?
    };
    let start = call.start_among(stats.groups.iter().map(item_of))?;
    let about = format!("{} sessions in scope {}: {}.", stats.sessions, scope.word(), words(&stats.total));
    let mut page = call.page("groups", &about)?;
    page.fact("by", Json::string(by.word()));
    page.fact("sessions", number(stats.sessions));
    page.fact("tokens", tokens(&stats.total));
    page.fact("cost", amount(stats.total.cost));
    let mut has_more = false;
    for group in stats.groups.iter().skip(start) {
        if !page.push(MAX_KEY, &mut |max| row(call, group, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, stats.groups.len(), has_more, false))
}

/// The question to a ledger, if it has the answer: it knows whole days only. The catalogue knows whole sessions as well,
/// and faster.
fn ledger_query(
    call: &Call<'_>,
    by: Grouping,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Option<LedgerQuery<'static>> {
    if until.is_some() || (since.is_none() && !matches!(by, Grouping::Day | Grouping::Model)) {
        return None;
    }
    let sessions = call.history.sessions();
    let day_of = |time: Timestamp| sessions.local_day(time);
    let is_start = |since: &Timestamp| day_of(Timestamp::from_ms(since.as_ms() - 1)) < day_of(*since);
    let since = match since {
        Some(since) => Some(Some(since).filter(is_start).map(day_of)?),
        None => None,
    };
    Some(LedgerQuery { by: vec![by], since, ..LedgerQuery::default() })
}

fn item_of(group: &StatsGroup) -> u64 {
    let path = group.session.as_ref().map(|(path, _)| path.to_string_lossy().into_owned()).unwrap_or_default();
    item(&format!("{}\0{path}", group.keys.join("\0")))
}

fn amount(amount: f64) -> Json {
    let mut out = ObjectWriter::new();
    out.number("n", amount);
    out.finish().raw().get("n").map_or_else(Json::null, sessile::json::Raw::to_json)
}

fn tokens(tally: &Tally) -> Json {
    let mut out = ObjectWriter::new();
    out.number("input", tally.tokens.input).number("output", tally.tokens.output);
    out.number("cacheRead", tally.tokens.cache_read).number("cacheWrite", tally.tokens.cache_write);
    out.number("total", tally.tokens.total()).finish()
}

fn words(tally: &Tally) -> String {
    format!("{} messages, {} tokens, {}", tally.messages.total(), tally.tokens.total(), money(tally.cost))
}

fn row(call: &Call<'_>, group: &StatsGroup, max: usize) -> Row {
    let max = max.min(MAX_KEY);
    let key = call.outgoing.line(&group.keys.join(", "), max);
    let id = group.session.as_ref().map(|(_, id)| attribute(id.as_str())).unwrap_or_default();
    let mut json = ObjectWriter::new();
    json.string("key", key.as_str());
    put(&mut json, "id", &id);
    if let Some(sessions) = group.sessions {
        json.raw("sessions", number(sessions).raw());
    }
    json.integer("totalMessages", i64::try_from(group.tally.messages.total()).unwrap_or(i64::MAX));
    json.raw("tokens", tokens(&group.tally).raw()).number("cost", group.tally.cost);
    let attributes = [("session", id.as_str())];
    let text = format!("{} {}", words(&group.tally), framed(&attributes, Trust::Untrusted, &key));
    let is_cut = is_cut(max, MAX_KEY, group.keys.iter().map(String::as_str));
    Row { text, json: json.finish(), item: item_of(group), is_cut }
}
