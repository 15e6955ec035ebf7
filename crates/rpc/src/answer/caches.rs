//! Caches and leftover files.

use sessile::caches::{CacheStatus, CacheUsage, Dropped};
use sessile::clean::{Cleaned, LeftOver};
use sessile::date::{Timestamp, to_iso};
use sessile::json::Json;

use super::{count, object, put_list, put_path, saturating_i64};

/// The status of the caches:
/// `{root?, kinds, sessions, listed, searchable, unsearchableBytes, segments, entries}`, where a kind is
/// `{kind, files, bytes, updated?}`.
pub fn cache_status(status: &CacheStatus) -> Json {
    object(|out| {
        put_path(out, "root", status.root.as_deref());
        put_list(out, "kinds", status.usages.iter().map(usage));
        out.integer("sessions", count(status.n_sessions))
            .integer("listed", count(status.n_listed))
            .integer("searchable", count(status.n_searchable))
            .integer("unsearchableBytes", saturating_i64(status.n_uncovered))
            .integer("segments", count(status.n_segments))
            .integer("entries", saturating_i64(status.n_entries));
    })
}

fn usage(usage: &CacheUsage) -> Json {
    object(|out| {
        out.string("kind", usage.directory).integer("files", count(usage.n_files));
        out.integer("bytes", saturating_i64(usage.n_bytes));
        if let Some(newest) = usage.newest_ms {
            out.string("updated", &to_iso(Timestamp::from_ms(newest)));
        }
    })
}

/// The result of checking the caches: `{dropped: [{cache, path, reason}]}`; the reason is `wrong` or `unproven`.
pub fn checked_caches(dropped: &[Dropped]) -> Json {
    let row = |dropped: &Dropped| {
        object(|out| {
            out.string("cache", dropped.cache).string("path", &dropped.path.to_string_lossy());
            out.string("reason", if dropped.is_wrong { "wrong" } else { "unproven" });
        })
    };
    object(|out| put_list(out, "dropped", dropped.iter().map(row)))
}

/// The result of clearing the caches: `{files, bytes}`. `before` is their status before that.
pub fn cleared_caches(before: &CacheStatus) -> Json {
    object(|out| {
        out.integer("files", count(before.usages.iter().map(|usage| usage.n_files).sum()))
            .integer("bytes", saturating_i64(before.usages.iter().map(|usage| usage.n_bytes).sum()));
    })
}

/// The result of cleaning: `{applied, bytes, files: [{path, kind, of, size, modified, stays?}]}`; bytes counts removed
/// files.
pub fn cleaned(cleaned: &Cleaned) -> Json {
    let row = |file: &LeftOver| {
        object(|out| {
            out.string("path", &file.path.to_string_lossy())
                .string("kind", file.kind.word())
                .string("of", &file.of.to_string_lossy())
                .integer("size", saturating_i64(file.size))
                .string("modified", &to_iso(Timestamp::from_ms(file.modified_ms)));
            if let Some(reason) = file.keep_reason {
                out.string("stays", reason.word());
            }
        })
    };
    object(|out| {
        out.bool("applied", cleaned.applied);
        out.integer("bytes", saturating_i64(cleaned.removed().map(|file| file.size).sum()));
        put_list(out, "files", cleaned.files.iter().map(row));
    })
}
