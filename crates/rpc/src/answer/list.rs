//! Sessions in a list, and all details of one of them.

use std::borrow::Cow;

use sessile::EntryId;
use sessile::date::{Timestamp, to_iso};
use sessile::details::SessionDetails;
use sessile::group::ProjectLocation;
use sessile::json::{Json, ObjectWriter};
use sessile::list::{Copies, DamagedFile, SessionInfo};
use sessile::users::SessionUser;

use super::stats::put_tally;
use super::{count, object, put_id_or_null, put_list, saturating_i64};

/// A row of a list in pi's key order, with the path of the original in `copyOf` if the file is one of the `copies`.
/// Includes the texts of all messages only if `with_texts` is set.
///
/// An unknown creation time is `null`; `archived` and `redacted` are omitted unless they are true, `importedFrom` unless the
/// session was imported from another agent, and `member` unless another member of a team's store owns the session.
/// `project` and `repository` are there only if such a store is in use.
pub fn session_info(info: &SessionInfo, with_texts: bool, copies: &Copies) -> Json {
    let n_texts = if with_texts { info.all_messages_text.as_wtf8().len() } else { 0 };
    // Everything but the texts is short, and escapes are rare.
    let mut row = ObjectWriter::with_room(512 + info.first_message.as_wtf8().len() + n_texts);
    put_info(&mut row, info, with_texts, copies);
    if info.is_redacted {
        row.bool("redacted", true);
    }
    if let Some(agent) = &info.imported_from {
        row.string("importedFrom", agent);
    }
    if let Some(member) = &info.member {
        row.string("member", member);
    }
    if let Some(project) = &info.project {
        row.string("project", project);
    }
    if let Some(repository) = &info.repository {
        row.string("repository", repository);
    }
    row.finish()
}

fn put_info(row: &mut ObjectWriter, info: &SessionInfo, with_texts: bool, copies: &Copies) {
    // Most paths are valid UTF-8, and checking that is faster than a lossy conversion.
    let path = info.path.to_str().map_or_else(|| info.path.to_string_lossy(), Cow::Borrowed);
    row.string("path", &path).string("id", info.id.as_str()).string("cwd", &info.cwd);
    if let Some(name) = &info.name {
        row.text("name", name);
    }
    if let Some(parent) = &info.parent_session_path {
        row.string("parentSessionPath", parent);
    }
    match info.created {
        Some(created) => row.string("created", &to_iso(created)),
        None => row.null("created"),
    };
    row.string("modified", &to_iso(info.modified))
        .integer("messageCount", count(info.message_count))
        .text("firstMessage", &info.first_message);
    if with_texts {
        row.text("allMessagesText", &info.all_messages_text);
    }
    if info.is_archived {
        row.bool("archived", true);
    }
    if let Some(original) = copies.original_of(&info.path) {
        row.string("copyOf", &original.to_string_lossy());
    }
}

/// The answer of `list_sessions`: `{sessions}`.
pub fn sessions(sessions: &[SessionInfo], copies: &Copies) -> Json {
    object(|out| put_list(out, "sessions", sessions.iter().map(|info| session_info(info, false, copies))))
}

/// A file that a list skips: `{path, size?, reason, repair, repairable}`.
pub fn damaged_file(file: &DamagedFile) -> Json {
    object(|out| {
        out.string("path", &file.path.to_string_lossy());
        if let Some(size) = file.size {
            out.integer("size", saturating_i64(size));
        }
        out.string("reason", &file.reason).string("repair", &file.repair).bool("repairable", file.is_repairable);
    })
}

/// A program that uses a session: `{kind, …, message}` with the kinds `sessile`, `agent` and `recentWrite`.
pub fn session_user(user: &SessionUser) -> Json {
    object(|out| {
        match user {
            SessionUser::Sessile { pid, host, since_ms } => {
                out.string("kind", "sessile").integer("pid", i64::from(*pid)).string("host", host);
                out.string("since", &to_iso(Timestamp::from_ms(*since_ms)));
            }
            SessionUser::Agent { pid, program, why } => {
                out.string("kind", "agent").integer("pid", i64::from(*pid)).string("program", program);
                out.string("why", why.word());
            }
            SessionUser::RecentWrite { age_ms } => {
                out.string("kind", "recentWrite").integer("ageMs", *age_ms);
            }
        }
        out.string("message", &user.to_string());
    })
}

/// All details of one session: a row of a list and more.
pub fn session_details(details: &SessionDetails) -> Json {
    let SessionDetails { info, shape, .. } = details;
    object(|out| {
        put_info(out, info, false, &details.copies);
        out.integer("size", saturating_i64(info.size));
        out.number("version", details.version.unwrap_or(1.0)).bool("cwdExists", details.cwd_exists());
        if let ProjectLocation::Repository(common) = &details.project {
            out.string("repository", &common.to_string_lossy());
        }
        if let Some(branch) = &details.git_branch {
            out.string("gitBranch", branch);
        }
        if let Some(redaction) = &details.redaction {
            out.raw("redacted", object(|out| redaction.put(out)).raw());
        }
        out.bool("parentFound", details.parent.is_some());
        put_list(out, "children", details.children.iter().map(|child| Json::string(&child.path.to_string_lossy())));
        out.integer("family", count(details.family));
        let copies = details.copies.of(&info.path);
        put_list(out, "copies", copies.iter().map(|copy| Json::string(&copy.to_string_lossy())));
        put_id_or_null(out, "leafId", details.leaf.as_ref());
        let labels = details.labels.iter().map(|(id, label)| {
            object(|out| {
                out.text("id", id.as_text()).raw("label", label.value.raw());
                out.optional("timestamp", label.timestamp.as_ref().map(Json::raw));
            })
        });
        put_list(out, "labels", labels);
        put_list(out, "archivedBranches", details.archived_branches.iter().map(EntryId::to_json));
        out.integer("branches", count(shape.leaves)).integer("branchPoints", count(shape.branch_points));
        out.integer("activePath", count(shape.active_path));
        let models = info.facts.models.iter().map(|model| {
            object(|out| {
                out.text("provider", &model.provider).text("model", &model.model);
            })
        });
        put_list(out, "models", models);
        put_tally(out, &(&info.facts).into(), false);
        out.number("contextTokens", details.context.tokens);
        if let Some(writer) = &details.writer {
            let writer = object(|out| {
                out.integer("pid", i64::from(writer.pid)).string("host", &writer.host);
                out.string("since", &to_iso(Timestamp::from_ms(writer.since_ms)));
            });
            out.raw("writer", writer.raw());
        }
        put_list(out, "inUse", details.users.iter().map(session_user));
        out.bool("guarded", details.is_guarded);
        out.bool("sound", details.report.is_sound()).integer("findings", count(details.report.findings.len()));
    })
}
