//! Search hits.

use sessile::date::to_iso;
use sessile::json::Json;
use sessile::search::{SearchHit, SearchResult};

use super::author::put_author;
use super::{count, object, put_id, put_list, saturating_i64};

/// A search hit. Ranges are pairs of start and end in UTF-16 units of the excerpt.
pub fn search_hit(hit: &SearchHit) -> Json {
    let ranges = hit.excerpt.utf16_ranges();
    let ranges = ranges.iter().filter_map(|range| Json::parse(format!("[{},{}]", range.start, range.end)).ok());
    object(|out| {
        out.string("sessionPath", &hit.session_path.to_string_lossy());
        put_id(out, "entryId", hit.entry_id.as_ref());
        if let Some(role) = hit.role.word() {
            out.string("role", role);
        }
        out.number("score", (f64::from(hit.score) * 1e4).round() / 1e4).string("excerpt", &hit.excerpt.text);
        put_list(out, "ranges", ranges);
        if let Some(kind) = hit.kind.word() {
            out.string("type", kind);
        }
        if let Some(time) = hit.time {
            out.string("timestamp", &to_iso(time));
        }
        if let Some(offset) = hit.offset {
            out.integer("offset", saturating_i64(offset));
        }
        if let Some(author) = &hit.author {
            put_author(out, author);
        }
    })
}

/// The answer of `search`: `{hits, team?}`, where `team` is `{complete, fetched, until?}`.
pub fn search_result(result: &SearchResult) -> Json {
    object(|out| {
        put_list(out, "hits", result.hits.iter().map(search_hit));
        let Some(reach) = result.team else { return };
        let team = object(|out| {
            out.bool("complete", reach.is_complete).integer("fetched", count(reach.n_fetched));
            if let Some(until) = reach.until {
                out.string("until", &to_iso(until));
            }
        });
        out.raw("team", team.raw());
    })
}
