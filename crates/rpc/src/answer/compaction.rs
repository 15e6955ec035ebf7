//! Compaction and the context window.

use sessile::compaction::{CompactionReport, CompactionSettings, ContextUsage, Preparation};
use sessile::json::{Json, ObjectWriter};
use sessile::{EntryId, SessionManager};

use super::{count, object, put_list, saturating_i64};

/// A written compaction, like pi's `compact`:
/// `{summary, firstKeptEntryId?, tokensBefore, estimatedTokensAfter?, usage?, details?}`.
pub fn compaction_report(report: &CompactionReport) -> Json {
    object(|out| put_report(out, report))
}

/// A written compaction as the command line prints it: `entryId`, then the members of [`compaction_report`].
pub fn compacted(report: &CompactionReport) -> Json {
    object(|out| {
        out.text("entryId", report.entry_id.as_text());
        put_report(out, report);
    })
}

fn put_report(out: &mut ObjectWriter, report: &CompactionReport) {
    out.string("summary", &report.summary);
    // A compaction that keeps nothing refers to itself; pi omits the field in that case.
    if report.first_kept_entry_id != report.entry_id {
        out.text("firstKeptEntryId", report.first_kept_entry_id.as_text());
    }
    out.number("tokensBefore", report.tokens_before);
    if let Some(tokens) = report.estimated_tokens_after {
        out.integer("estimatedTokensAfter", saturating_i64(tokens));
    }
    out.optional("usage", report.usage.as_ref().map(Json::raw))
        .optional("details", report.details.as_ref().map(Json::raw));
}

/// The command line's answer if there was nothing to compact: `{nothing}`, the reason in words.
pub fn nothing_to_compact(reason: &str) -> Json {
    object(|out| {
        out.string("nothing", reason);
    })
}

/// The answer of `prepare_compaction`: `{preparation}` in pi's format. `history` and `prefix` are the messages to
/// summarise.
pub fn preparation(
    prepared: &Preparation,
    (history, prefix): (&[Json], &[Json]),
    settings: &CompactionSettings,
) -> Json {
    let files = object(|out| {
        let files = &prepared.files;
        for (key, paths) in [("read", &files.read), ("written", &files.written), ("edited", &files.edited)] {
            put_list(out, key, paths.iter().map(|path| EntryId::from(path.clone()).to_json()));
        }
    });
    let used = object(|out| {
        out.bool("enabled", settings.enabled)
            .integer("reserveTokens", saturating_i64(settings.reserve_tokens))
            .integer("keepRecentTokens", saturating_i64(settings.keep_recent_tokens));
    });
    let preparation = object(|out| {
        out.text("firstKeptEntryId", prepared.first_kept_entry_id.as_text())
            .array("messagesToSummarize", history.iter().map(Json::raw))
            .array("turnPrefixMessages", prefix.iter().map(Json::raw))
            .bool("isSplitTurn", prepared.is_split_turn)
            .number("tokensBefore", prepared.tokens_before);
        if let Some(summary) = &prepared.previous_summary {
            out.text("previousSummary", summary);
        }
        out.raw("fileOps", files.raw()).raw("settings", used.raw());
    });
    object(|out| {
        out.raw("preparation", preparation.raw());
    })
}

/// A planned compaction as the command line prints it: counts instead of messages, and a digest of the text to
/// summarise, which the caller computes.
pub fn planned_compaction(session: &SessionManager, prepared: &Preparation, sha256: &str) -> Json {
    let index = session.outline().entries().position(|row| row == prepared.first_kept);
    let files = prepared.files.lists().details(None);
    object(|out| {
        out.number("tokensBefore", prepared.tokens_before)
            .text("firstKeptEntryId", prepared.first_kept_entry_id.as_text())
            .integer("firstKeptIndex", index.map_or(-1, count))
            .bool("isSplitTurn", prepared.is_split_turn)
            .integer("messagesToSummarize", count(prepared.history.n_messages))
            .integer("turnPrefixMessages", count(prepared.turn_prefix.n_messages))
            .integer("serializedLength", count(prepared.history.conversation.utf16_len()))
            .string("serializedSha256", sha256)
            .optional("readFiles", files.raw().get("readFiles"))
            .optional("modifiedFiles", files.raw().get("modifiedFiles"));
        if let Some(summary) = &prepared.previous_summary {
            out.text("previousSummary", summary);
        }
    })
}

/// The usage of a context window, pi's `contextUsage`: `{tokens, contextWindow, percent}`; unknown values are `null`.
pub fn context_usage(usage: &ContextUsage) -> Json {
    let put = |out: &mut ObjectWriter, key: &str, value: Option<f64>| {
        match value {
            Some(value) => out.number(key, value),
            None => out.null(key),
        };
    };
    object(|out| {
        put(out, "tokens", usage.tokens);
        out.integer("contextWindow", saturating_i64(usage.window));
        put(out, "percent", usage.percent());
    })
}
