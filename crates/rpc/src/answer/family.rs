//! Families of forks.

use sessile::SessionManager;
use sessile::group::{FamilyMember, FamilyTree, Relative, SessionRef};
use sessile::json::Json;
use sessile::list::SessionInfo;

use super::{count, object, put_list};

/// The family of a session: `{root, nodes: [{sessionPath, id?, parent?, depth, missing?, sharedEntries?}]}`. `sessions`
/// is the list that the family was found in.
pub fn family(family: &FamilyTree, sessions: &[SessionInfo]) -> Json {
    let path_of = |session: &SessionRef| match session {
        SessionRef::Listed(at) => sessions[*at].path.to_string_lossy().into_owned(),
        SessionRef::Missing(path) => path.to_string_lossy().into_owned(),
    };
    let node = |member: &FamilyMember| {
        let Relative { session, parent, depth } = &member.relative;
        object(|out| {
            out.string("sessionPath", &path_of(session));
            if let SessionRef::Listed(at) = session {
                out.string("id", sessions[*at].id.as_str());
            }
            if let Some(parent) = parent {
                out.string("parent", &path_of(&family.members[*parent].relative.session));
            }
            out.integer("depth", count(*depth));
            if let SessionRef::Missing(_) = session {
                out.bool("missing", true);
            }
            if let Some(shared) = member.shared_entries {
                out.integer("sharedEntries", count(shared));
            }
        })
    };
    object(|out| {
        if let Some(first) = family.members.first() {
            out.string("root", &path_of(&first.relative.session));
        }
        put_list(out, "nodes", family.members.iter().map(node));
    })
}

/// The family of a session that is in no list: it is not written yet, or is stored elsewhere. Its members are the
/// session and its parent.
pub fn lone_family(session: &SessionManager, is_parent_missing: bool) -> Json {
    let path = session.session_file().map(|path| path.to_string_lossy().into_owned());
    let (id, parent) = (session.session_id(), session.header().parent_session());
    let first = parent.as_ref().map(|parent| {
        object(|out| {
            out.string("sessionPath", parent).integer("depth", 0).bool("missing", is_parent_missing);
        })
    });
    let own = object(|out| {
        if let Some(path) = &path {
            out.string("sessionPath", path);
        }
        out.string("id", id.as_str());
        if let Some(parent) = &parent {
            out.string("parent", parent);
        }
        out.integer("depth", i64::from(parent.is_some()));
    });
    let root = parent.as_deref().or(path.as_deref()).unwrap_or(id.as_str());
    object(|out| {
        out.string("root", root);
        put_list(out, "nodes", first.into_iter().chain([own]));
    })
}
