//! Disk usage.

use sessile::disk::{DiskUse, DiskUses};
use sessile::format::bulk::{Bulk, Weights};
use sessile::json::{Json, ObjectWriter};
use sessile::list::SessionInfo;

use super::{count, object, put_list, saturating_i64};

/// The disk usage of a session: `{path, id, name?, cwd?, size, types, outsideContext}`; types are sizes by name.
pub fn disk_use(used: &DiskUse, info: Option<&SessionInfo>) -> Json {
    object(|out| {
        out.string("path", &used.session.path.to_string_lossy()).string("id", used.session.id.as_str());
        if let Some(name) = info.and_then(|info| info.name.as_ref()) {
            out.text("name", name);
        }
        if let Some(info) = info {
            out.string("cwd", &info.cwd);
        }
        out.integer("size", saturating_i64(used.size()));
        put_types(out, &used.weights);
        out.integer("outsideContext", saturating_i64(used.outside_context));
    })
}

/// The disk usage of several sessions: `{size, sessions, types, outsideContext, groups}`, with a group for each of the
/// `listed` sessions.
pub fn disk_uses(uses: &DiskUses, listed: &[(&SessionInfo, &DiskUse)]) -> Json {
    let weights = uses.weights();
    object(|out| {
        out.integer("size", saturating_i64(weights.total())).integer("sessions", count(uses.sessions.len()));
        put_types(out, &weights);
        out.integer("outsideContext", saturating_i64(uses.outside_context()));
        put_list(out, "groups", listed.iter().map(|(info, used)| disk_use(used, Some(info))));
    })
}

fn put_types(out: &mut ObjectWriter, weights: &Weights) {
    let types = object(|types| {
        for bulk in Bulk::ALL {
            types.integer(bulk.key(), saturating_i64(weights[bulk]));
        }
    });
    out.raw("types", types.raw());
}
