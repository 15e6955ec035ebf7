//! Sessions of other agents.

use std::path::Path;

use sessile::date::to_iso;
use sessile::export::AgentExport;
use sessile::import::{ForeignInfo, ImportState, ImportedSession, TitleSource};
use sessile::json::{Json, ObjectWriter};

use super::{count, object, put_list, put_string, saturating_i64};

/// An imported session of another agent: `{agent, from, foreignId, child?, state, path, id, title?, messages, written,
/// opensAtAgent, choices?, losses, damaged}`.
///
/// `state` is `created`, `extended`, `unchanged`, `empty` or `refused`: the session was imported before with other
/// choices. `choices` are those of the session: `{withContext?, keepSignatures?, model?}`. `losses` has a number per kind, and `damaged` the lines
/// that could not be read: `{path, line, offset, reason}`.
pub fn imported_session(imported: &ImportedSession) -> Json {
    object(|out| {
        out.string("agent", imported.agent.word())
            .string("from", &imported.from.to_string_lossy())
            .string("foreignId", &imported.foreign_id);
        if imported.is_child {
            out.bool("child", true);
        }
        let state = match imported.state {
            ImportState::Created => "created",
            ImportState::Extended => "extended",
            ImportState::Unchanged => "unchanged",
            ImportState::Empty => "empty",
            ImportState::Refused => "refused",
        };
        out.string("state", state).string("path", &imported.path.to_string_lossy()).string("id", imported.id.as_str());
        put_string(out, "title", imported.title.as_deref());
        out.integer("messages", count(imported.n_messages))
            .integer("written", count(imported.n_written))
            .bool("opensAtAgent", imported.follows_agent);
        if !imported.choices.is_default() {
            out.raw("choices", imported.choices.to_json().raw());
        }
        let mut losses = ObjectWriter::new();
        for (kind, number) in imported.losses.iter() {
            losses.integer(kind, saturating_i64(number));
        }
        out.raw("losses", losses.finish().raw());
        let damaged = imported.damaged.iter().map(|line| {
            object(|out| {
                out.string("path", &line.path.to_string_lossy())
                    .integer("line", saturating_i64(line.line))
                    .integer("offset", saturating_i64(line.offset))
                    .string("reason", line.reason);
            })
        });
        put_list(out, "damaged", damaged);
    })
}

/// A session of another agent in a list: `{agent, path, foreignId, id, cwd?, title?, titleSource?, firstMessage?,
/// created?, modified?, messageCount, size, version?}`.
///
/// `id` is the id that an import gives it. `titleSource` is `user` or `generated`.
pub fn foreign_session(info: &ForeignInfo) -> Json {
    object(|out| {
        out.string("agent", info.file.agent.word())
            .string("path", &info.file.path.to_string_lossy())
            .string("foreignId", &info.file.id)
            .string("id", info.id.as_str());
        put_string(out, "cwd", info.cwd.as_deref());
        put_string(out, "title", info.title.as_ref().map(|title| title.text.as_str()));
        let source = info.title.as_ref().map(|title| match title.source {
            TitleSource::User => "user",
            TitleSource::Generated => "generated",
        });
        put_string(out, "titleSource", source);
        put_string(out, "firstMessage", info.first_prompt.as_deref());
        put_string(out, "created", info.started.map(to_iso).as_deref());
        put_string(out, "modified", info.ended.map(to_iso).as_deref());
        out.integer("messageCount", count(info.n_messages)).integer("size", saturating_i64(info.file.size));
        put_string(out, "version", info.version.as_deref());
    })
}

/// A session that was exported to another agent: `{agent, id, path, written, installed, cwd, leafId?, messages, losses,
/// resume}`.
///
/// `id` is the agent's id for the session, `written` is `false` if the file was already there with the same content, and
/// `resume` is the command that goes on, for a shell.
pub fn agent_export(export: &AgentExport, path: &Path, is_written: bool, is_installed: bool) -> Json {
    object(|out| {
        let exported = &export.exported;
        out.string("agent", exported.target.word())
            .string("id", &exported.id)
            .string("path", &path.to_string_lossy())
            .bool("written", is_written)
            .bool("installed", is_installed)
            .string("cwd", &export.cwd);
        put_string(out, "leafId", export.leaf.as_ref().map(ToString::to_string).as_deref());
        out.integer("messages", count(exported.n_messages));
        let mut losses = ObjectWriter::new();
        for (kind, number) in exported.losses.iter() {
            losses.integer(kind, saturating_i64(number));
        }
        out.raw("losses", losses.finish().raw()).string("resume", &export.resume_command(path));
    })
}
