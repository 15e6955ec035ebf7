//! Sessions that were started, forked, named or switched to, and moves in their trees.

use std::path::Path;

use sessile::branch::{ForkMessage, Forked, Navigated};
use sessile::json::{Json, ObjectWriter};
use sessile::{EntryId, SessionError, SessionId, SessionManager};

use super::{object, put_id_or_null, put_list, put_path, put_string};

/// A session that the command line has started or continued: `{path?, id, cwd, name?, parentSession?, created}`. It has
/// no path if it is in memory.
pub fn started(session: &SessionManager, created: bool, in_memory: bool) -> Result<Json, SessionError> {
    let name = session.session_name()?;
    Ok(object(|out| {
        put_path(out, "path", session.session_file().filter(|_| !in_memory));
        out.string("id", session.session_id().as_str()).string("cwd", &session.cwd().to_string_lossy());
        put_origin(out, name.as_deref(), session);
        out.bool("created", created);
    }))
}

/// The answer of `export_html`: `{path}`.
pub fn exported(path: &Path) -> Json {
    object(|out| {
        out.string("path", &path.to_string_lossy());
    })
}

/// A session that the command line would start: `{dryRun, path | directory, id?, cwd, name?, parentSession?, created}`.
/// `path` is that of an existing session, which would be continued; `id` is the requested id.
pub fn new_preview(
    session: &SessionManager,
    (path, directory): (Option<&Path>, &Path),
    id: Option<&SessionId>,
    created: bool,
) -> Result<Json, SessionError> {
    let name = session.session_name()?;
    Ok(object(|out| {
        out.bool("dryRun", true);
        match path {
            Some(path) => out.string("path", &path.to_string_lossy()),
            None => out.string("directory", &directory.to_string_lossy()),
        };
        put_string(out, "id", id.map(SessionId::as_str));
        out.string("cwd", &session.cwd().to_string_lossy());
        put_origin(out, name.as_deref(), session);
        out.bool("created", created);
    }))
}

fn put_origin(out: &mut ObjectWriter, name: Option<&str>, session: &SessionManager) {
    put_string(out, "name", name);
    put_string(out, "parentSession", session.header().parent_session().as_deref());
}

/// The name of a session: `{path, id, name?}`.
pub fn name(session: &SessionManager, name: Option<&str>) -> Json {
    let path = session.session_file().map(|path| path.to_string_lossy().into_owned());
    object(|out| {
        out.string("path", &path.unwrap_or_default()).string("id", session.session_id().as_str());
        put_string(out, "name", name);
    })
}

/// A fork that the command line has written: `{path?, id, parentSession?, text?}`. The text is that of the message at
/// which it was forked.
pub fn fork_written(session: &SessionManager, forked: &Forked) -> Json {
    object(|out| {
        put_path(out, "path", forked.session_file.as_deref());
        out.string("id", session.session_id().as_str());
        put_string(out, "parentSession", session.header().parent_session().as_deref());
        put_string(out, "text", forked.text.as_deref());
    })
}

/// The answer of pi's `fork`: `{text, cancelled, newSessionPath?}`. The path is that of a fork that the client has not
/// switched to.
pub fn forked(text: &str, path: Option<&Path>) -> Json {
    object(|out| {
        out.string("text", text).bool("cancelled", false);
        put_path(out, "newSessionPath", path);
    })
}

/// The answer of pi's `clone`: `{cancelled, newSessionPath?}`, with the path as in [`forked`].
pub fn cloned(path: Option<&Path>) -> Json {
    object(|out| {
        out.bool("cancelled", false);
        put_path(out, "newSessionPath", path);
    })
}

/// Whether a handler has cancelled the command: `{cancelled}`.
pub fn cancelled(cancelled: bool) -> Json {
    object(|out| {
        out.bool("cancelled", cancelled);
    })
}

/// The answer of `create_branched_session`: `{sessionPath?, sessionId, leafId}`.
pub fn branched(path: Option<&Path>, id: &SessionId, leaf: Option<&EntryId>) -> Json {
    object(|out| {
        put_path(out, "sessionPath", path);
        out.string("sessionId", id.as_str());
        put_id_or_null(out, "leafId", leaf);
    })
}

/// The answer of pi's `get_fork_messages`: `{messages: [{entryId, text}]}`.
pub fn fork_messages(messages: &[ForkMessage]) -> Json {
    let row = |message: &ForkMessage| {
        object(|out| {
            out.text("entryId", message.entry_id.as_text()).string("text", &message.text);
        })
    };
    object(|out| put_list(out, "messages", messages.iter().map(row)))
}

/// The leaf after a move: `{leafId}`.
pub fn leaf(leaf: Option<&EntryId>) -> Json {
    object(|out| put_id_or_null(out, "leafId", leaf))
}

/// The answer of `navigate_tree`: `{cancelled, editorText?, summaryEntry?, leafId}`.
pub fn navigated(
    cancelled: bool,
    navigated: Option<&Navigated>,
    summary_entry: Option<&Json>,
    leaf: Option<&EntryId>,
) -> Json {
    object(|out| {
        out.bool("cancelled", cancelled);
        put_string(out, "editorText", navigated.and_then(|navigated| navigated.editor_text.as_deref()));
        out.optional("summaryEntry", summary_entry.map(Json::raw));
        put_id_or_null(out, "leafId", leaf);
    })
}

/// The answer of `restore_session`: `{sessionPath}`.
pub fn restored_path(path: &Path) -> Json {
    object(|out| put_path(out, "sessionPath", Some(path)))
}

/// The answer of `subscribe`: `{subscription, cursor}`.
pub fn subscribed(subscription: &str, cursor: &str) -> Json {
    object(|out| {
        out.string("subscription", subscription).string("cursor", cursor);
    })
}

/// An answer with no members, `{}`: a subscription that ended, or a compaction that has nothing to prepare.
pub fn nothing() -> Json {
    object(|_| {})
}

/// The line that a server prints when its socket accepts clients: `{type, socket}`.
pub fn listening(socket: &Path) -> Json {
    object(|out| {
        out.string("type", "listening").string("socket", &socket.to_string_lossy());
    })
}

/// What `sessile serve --json` prints: `{url, pid}`.
pub fn serving(url: &str, pid: u32) -> Json {
    object(|out| {
        out.string("url", url).integer("pid", i64::from(pid));
    })
}
