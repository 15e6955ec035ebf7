//! The JSON of merges.

use sessile::json::{Json, ObjectWriter};
use sessile::merge::{Merged, MergedCopy};

use super::{object, put_path, put_string};

/// A merge: `{dryRun?, path?, sameAs?, id, entries, written, renamed, odd?, torn?, healed?, loops?, copies, operation?}`.
///
/// A renamed entry is `{from, to}`. A copy is `{path, size, entries, own, missing, shadowed?, complete, aligned?}`, and
/// `aligned` is `{with, entries}`.
pub fn merged(merged: &Merged, dry_run: bool) -> Json {
    let renamed = merged.renamed.iter().map(|renamed| {
        object(|out| {
            out.text("from", renamed.from.as_text()).text("to", renamed.to.as_text());
        })
    });
    let renamed: Vec<Json> = renamed.collect();
    let copies: Vec<Json> = merged.copies.iter().map(copy).collect();
    object(|out| {
        if dry_run {
            out.bool("dryRun", true);
        }
        put_path(out, "path", merged.path.as_deref());
        put_path(out, "sameAs", merged.same_as.as_deref());
        out.string("id", merged.id.as_str());
        out.integer("entries", count(merged.n_entries)).integer("written", count(merged.n_written));
        out.array("renamed", renamed.iter().map(Json::raw));
        put_count(out, "odd", merged.n_odd);
        put_count(out, "torn", merged.n_torn);
        put_count(out, "healed", merged.n_healed);
        put_count(out, "loops", merged.n_loops);
        out.array("copies", copies.iter().map(Json::raw));
        put_string(out, "operation", merged.operation.as_deref());
    })
}

fn copy(copy: &MergedCopy) -> Json {
    object(|out| {
        put_path(out, "path", Some(&copy.path));
        out.integer("size", i64::try_from(copy.size).unwrap_or(i64::MAX));
        out.integer("entries", count(copy.n_entries));
        out.integer("own", count(copy.n_own)).integer("missing", count(copy.n_missing));
        put_count(out, "shadowed", copy.n_shadowed);
        out.bool("complete", copy.is_complete);
        if let Some((with, n_entries)) = &copy.aligned {
            let aligned = object(|out| {
                put_path(out, "with", Some(with));
                out.integer("entries", count(*n_entries));
            });
            out.raw("aligned", aligned.raw());
        }
    })
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Omits a count of zero.
fn put_count(out: &mut ObjectWriter, key: &str, number: usize) {
    if number > 0 {
        out.integer(key, count(number));
    }
}
