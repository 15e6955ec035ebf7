//! Usage of sessions.

use sessile::SessionManager;
use sessile::compaction::{CompactionRecord, ContextUsage};
use sessile::date::to_iso;
use sessile::format::head::Role;
use sessile::json::{Json, ObjectWriter};
use sessile::stats::{SessionStats, Stats, StatsGroup, Tally};

use super::{context_usage, count, object, put_list, put_path, saturating_i64};

/// The usage of some sessions: `{sessions, forks, branchedSessions, copiedEntries, …, by, groups}`, with the figures of
/// a tally. With sessions of a team that are not on this machine, also `estimatedSessions`, which count by what their
/// owners noted, and `missingSessions`, which do not count. A group is `{key | keys, path?, id?, sessions?, …}`.
pub fn stats(stats: &Stats) -> Json {
    object(|out| {
        out.integer("sessions", count(stats.sessions))
            .integer("forks", count(stats.forks))
            .integer("branchedSessions", count(stats.branched))
            .integer("copiedEntries", saturating_i64(stats.copied));
        for (key, number) in [("estimatedSessions", stats.estimated), ("missingSessions", stats.missing)] {
            if number > 0 {
                out.integer(key, count(number));
            }
        }
        put_tally(out, &stats.total, stats.knows_tools);
        put_list(out, "by", stats.by.iter().map(|grouping| Json::string(grouping.word())));
        put_list(out, "groups", stats.groups.iter().map(|part| group(part, stats.knows_tools)));
    })
}

fn group(group: &StatsGroup, knows_tools: bool) -> Json {
    object(|out| {
        match group.keys.as_slice() {
            [key] => {
                out.string("key", key);
            }
            keys => put_list(out, "keys", keys.iter().map(|key| Json::string(key))),
        }
        if let Some((path, id)) = &group.session {
            out.string("path", &path.to_string_lossy()).string("id", id.as_str());
        }
        if let Some(sessions) = group.sessions {
            out.integer("sessions", count(sessions));
        }
        put_tally(out, &group.tally, knows_tools);
    })
}

/// The usage and the shape of one session: the members of [`session_totals`] and more.
pub fn session_stats(stats: &SessionStats) -> Json {
    let groups = |groups: &[StatsGroup]| groups.iter().map(|part| group(part, true)).collect::<Vec<_>>();
    let shape = object(|out| {
        out.integer("entries", count(stats.shape.entries))
            .integer("roots", count(stats.shape.roots))
            .integer("branches", count(stats.shape.leaves))
            .integer("branchPoints", count(stats.shape.branch_points))
            .integer("widest", count(stats.shape.widest))
            .integer("deepest", count(stats.shape.deepest))
            .integer("activePath", count(stats.shape.active_path));
        let kinds = object(|out| {
            for (kind, number) in &stats.branch_kinds {
                out.integer(kind.word(), count(*number));
            }
        });
        out.raw("kinds", kinds.raw());
    });
    object(|out| {
        out.string("sessionFile", &stats.path.to_string_lossy()).string("sessionId", stats.id.as_str());
        put_tally(out, &stats.total, true);
        if let Some(copied) = &stats.copied {
            out.raw("copied", object(|out| put_tally(out, copied, true)).raw());
        }
        put_list(out, "models", groups(&stats.models));
        put_list(out, "tools", groups(&stats.tools));
        out.raw("tree", shape.raw());
        put_list(out, "compactions", stats.compactions.iter().map(compaction));
        if let Some(parent) = &stats.parent {
            out.string("parentSession", parent);
        }
        put_list(out, "forks", stats.forks.iter().map(|fork| Json::string(&fork.to_string_lossy())));
    })
}

fn compaction(compaction: &CompactionRecord) -> Json {
    object(|out| {
        out.text("id", compaction.id.as_text()).bool("onPath", compaction.on_path);
        if let Some(tokens) = compaction.tokens_before {
            out.number("tokensBefore", tokens);
        }
        if let Some(time) = compaction.time {
            out.string("timestamp", &to_iso(time));
        }
    })
}

/// Adds the figures of a tally, with pi's names where pi has them.
pub(super) fn put_tally(out: &mut ObjectWriter, tally: &Tally, knows_tools: bool) {
    out.integer("userMessages", saturating_i64(tally.messages.of(Role::User)))
        .integer("assistantMessages", saturating_i64(tally.messages.of(Role::Assistant)));
    if knows_tools {
        out.integer("toolCalls", saturating_i64(tally.tool_calls))
            .integer("toolErrors", saturating_i64(tally.tool_errors));
    }
    out.integer("toolResults", saturating_i64(tally.messages.of(Role::ToolResult)))
        .integer("totalMessages", saturating_i64(tally.messages.total()))
        .integer("entries", saturating_i64(tally.entries))
        .integer("compactionCount", saturating_i64(tally.compactions));
    put_tokens(out, tally);
    if let Some(rate) = tally.cache_hit_rate() {
        out.number("cacheHitRate", rate);
    }
    out.number("cost", tally.cost);
}

fn put_tokens(out: &mut ObjectWriter, tally: &Tally) {
    let tokens = object(|out| {
        out.number("input", tally.tokens.input)
            .number("output", tally.tokens.output)
            .number("cacheRead", tally.tokens.cache_read)
            .number("cacheWrite", tally.tokens.cache_write)
            .number("total", tally.tokens.total());
    });
    out.raw("tokens", tokens.raw());
}

/// The answer of pi's `get_session_stats`. `usage` is the usage of the context window, if its size is known.
pub fn session_totals(session: &SessionManager, tally: &Tally, usage: Option<&ContextUsage>) -> Json {
    object(|out| {
        put_path(out, "sessionFile", session.session_file());
        out.string("sessionId", session.session_id().as_str())
            .integer("userMessages", saturating_i64(tally.messages.of(Role::User)))
            .integer("assistantMessages", saturating_i64(tally.messages.of(Role::Assistant)))
            .integer("toolCalls", saturating_i64(tally.tool_calls))
            .integer("toolResults", saturating_i64(tally.messages.of(Role::ToolResult)))
            .integer("totalMessages", saturating_i64(tally.messages.total()));
        put_tokens(out, tally);
        out.number("cost", tally.cost);
        if let Some(usage) = usage {
            out.raw("contextUsage", context_usage(usage).raw());
        }
    })
}
