//! The JSON of remotes and synchronization.

use std::path::PathBuf;

use sessile::date::{Timestamp, to_iso};
use sessile::json::{Json, ObjectWriter};
use sessile::sync::remote::{About, AuditRecord, May, Member, Project, ServerTime, Share};
use sessile::sync::{ConfiguredRemote, SyncResult, SyncState};

use super::{count, object, put_list, put_path, put_string, saturating_i64, secret_finding};

/// A session that was synchronized: `{id, path?, state?, pushed?, pulled?, renamed?, epoch?, lines?, chain?, secrets?,
/// operation?, ownLines?, error?}`.
///
/// The state is `equal`, `otherOrder`, `ahead`, `behind`, `diverged`, `others`, `deleted`, `buried` or `secrets`.
pub fn synced(result: &SyncResult) -> Json {
    object(|out| {
        out.string("id", result.id.as_str());
        put_path(out, "path", result.path.as_deref());
        let synced = match &result.result {
            Ok(synced) => synced,
            Err(error) => {
                out.string("error", &error.to_string());
                return;
            }
        };
        out.string("state", state_word(&synced.state));
        for (key, number) in [("pushed", synced.n_pushed), ("pulled", synced.n_pulled)] {
            if number > 0 {
                out.integer(key, saturating_i64(number));
            }
        }
        if synced.n_renamed > 0 {
            out.integer("renamed", count(synced.n_renamed));
        }
        out.integer("epoch", i64::from(synced.position.epoch));
        out.integer("lines", saturating_i64(synced.position.n_lines));
        out.string("chain", &synced.position.chain.to_string());
        if let SyncState::Secrets(found) = &synced.state {
            put_list(out, "secrets", found.iter().map(secret_finding));
        }
        if let SyncState::Deleted { operation, has_own_lines } = &synced.state {
            put_string(out, "operation", operation.as_deref());
            out.bool("ownLines", *has_own_lines);
        }
    })
}

fn state_word(state: &SyncState) -> &'static str {
    match state {
        SyncState::Equal => "equal",
        SyncState::OtherOrder => "otherOrder",
        SyncState::Ahead => "ahead",
        SyncState::Behind => "behind",
        SyncState::Diverged => "diverged",
        SyncState::Others => "others",
        SyncState::Deleted { .. } => "deleted",
        SyncState::Buried => "buried",
        SyncState::Secrets(_) => "secrets",
    }
}

/// A remote in the settings: `{name, url, passwordFile?, caFile?, blobs?, blobsRegion?, blobsKeyFile?}`.
pub fn configured_remote(remote: &ConfiguredRemote) -> Json {
    object(|out| {
        out.string("name", &remote.name).string("url", &remote.url);
        put_path(out, "passwordFile", remote.password_file.as_deref());
        put_path(out, "caFile", remote.ca_file.as_deref());
        for (key, text) in [("blobs", &remote.blobs), ("blobsRegion", &remote.blobs_region)] {
            if let Some(text) = text {
                out.string(key, text);
            }
        }
        put_path(out, "blobsKeyFile", remote.blobs_key_file.as_deref());
    })
}

/// A remote, what it says about itself, and the sessions that differ from it:
/// `{name, url, server, store, version, member, admin?, blobs?: {place, error?}, equal, different}`.
///
/// `different` has a [`synced`] for each session.
pub fn remote_status(
    remote: &ConfiguredRemote,
    about: &About,
    storage: Option<(&str, Option<&str>)>,
    n_equal: usize,
    different: &[SyncResult],
) -> Json {
    object(|out| {
        out.string("name", &remote.name).string("url", &remote.url);
        out.string("server", &about.server_version).string("store", &about.store);
        out.integer("version", i64::from(about.schema_version)).string("member", &about.member);
        if about.is_admin {
            out.bool("admin", true);
        }
        if let Some((place, error)) = storage {
            let blobs = object(|out| {
                out.string("place", place);
                put_text(out, "error", error);
            });
            out.raw("blobs", blobs.raw());
        }
        out.integer("equal", count(n_equal));
        put_list(out, "different", different.iter().map(synced));
    })
}

/// A member of a store: `{name, admin?, joined, revoked?, sessions}`. The sessions are those that the user sees.
pub fn member(member: &Member) -> Json {
    object(|out| {
        out.string("name", &member.name);
        if member.is_admin {
            out.bool("admin", true);
        }
        put_time(out, "joined", Some(member.joined_at));
        put_time(out, "revoked", member.revoked_at);
        out.integer("sessions", saturating_i64(member.n_sessions));
    })
}

/// A right that was given or taken back, for [`granted`].
#[derive(Clone, Debug, Default)]
pub struct Granted {
    /// The member.
    pub member: String,
    /// The project; `None` for the membership itself.
    pub project: Option<String>,
    /// What the member may do there now.
    pub may: Option<May>,
    /// Whether the member administers the store now.
    pub is_admin: bool,
    /// The file with the password of the login.
    pub password_file: Option<PathBuf>,
    /// Whether this was a change.
    pub has_changed: bool,
}

/// A right that was given or taken back: `{member, project?, may?, admin?, passwordFile?, changed}`.
pub fn granted(granted: &Granted) -> Json {
    object(|out| {
        out.string("member", &granted.member);
        put_text(out, "project", granted.project.as_deref());
        put_text(out, "may", granted.may.map(May::as_str));
        if granted.is_admin {
            out.bool("admin", true);
        }
        put_path(out, "passwordFile", granted.password_file.as_deref());
        out.bool("changed", granted.has_changed);
    })
}

/// The right of a member: `{member, may, project?, grantedBy, granted}`. `may` is `read` or `write`.
pub fn share(share: &Share) -> Json {
    object(|out| {
        out.string("member", &share.member).string("may", share.may.as_str());
        put_text(out, "project", share.project.as_deref());
        out.string("grantedBy", &share.granted_by);
        put_time(out, "granted", Some(share.granted_at));
    })
}

/// A project: `{name, madeBy, made, may?, members, sessions?}`. `may` and `sessions` are absent if the user has no access.
pub fn project(project: &Project) -> Json {
    object(|out| {
        out.string("name", &project.name).string("madeBy", &project.made_by);
        put_time(out, "made", Some(project.made_at));
        put_text(out, "may", project.may.map(May::as_str));
        out.integer("members", saturating_i64(project.n_members));
        if let Some(n_sessions) = project.n_sessions {
            out.integer("sessions", saturating_i64(n_sessions));
        }
    })
}

/// An act on record: `{at, member, device?, act, session?, lines?, whom?, project?, detail?}`. `session` is the id of a
/// session.
pub fn audit_record(record: &AuditRecord) -> Json {
    object(|out| {
        put_time(out, "at", Some(record.at));
        out.string("member", &record.member);
        put_text(out, "device", record.device.as_deref());
        out.string("act", &record.act);
        put_text(out, "session", record.header_id.as_deref());
        if let Some(n_lines) = record.n_lines {
            out.integer("lines", saturating_i64(n_lines));
        }
        put_text(out, "whom", record.whom.as_deref());
        put_text(out, "project", record.project.as_deref());
        put_text(out, "detail", record.detail.as_deref());
    })
}

fn put_text(out: &mut ObjectWriter, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.string(key, text);
    }
}

fn put_time(out: &mut ObjectWriter, key: &str, time: Option<ServerTime>) {
    if let Some(time) = time {
        out.string(key, &to_iso(Timestamp::from_ms(time.0.div_euclid(1000))));
    }
}
