//! Commands for many sessions, and for their files.

use std::path::{Path, PathBuf};

use sessile::date;
use sessile::date::Timestamp;
use sessile::json::Raw;
use sessile::list::{Archived, Children, Copies, Selection, SessionInfo};
use sessile::operations::Deletion;
use sessile::search::{SearchOptions, SearchScope};
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::failure::Failure;
use crate::sync::lock;

/// Returns the working directory that a command refers to.
fn cwd(call: &Call<'_>) -> PathBuf {
    match call.path("cwd") {
        Some(cwd) => call.server().absolute(&cwd),
        None => call.client.current().lock().cwd().to_path_buf(),
    }
}

/// Returns the sessions in a scope, newest first.
pub(super) fn in_scope(call: &Call<'_>, scope: &str) -> Result<Vec<SessionInfo>, Failure> {
    let sessions = &call.server().options.sessions;
    Ok(match scope {
        "all" => sessions.list_all()?,
        "repo" => sessions.list_project(cwd(call))?,
        _ => sessions.list(cwd(call))?,
    })
}

/// Returns how to treat archived sessions.
fn archived(call: &Call<'_>) -> Archived {
    match (call.flag("archived"), call.text("archived").as_deref()) {
        (Some(true), _) | (_, Some("only")) => Archived::Only,
        (_, Some("shown")) => Archived::Shown,
        _ => Archived::Hidden,
    }
}

/// Returns which sessions of a team's store are wanted.
fn of_team(call: &Call<'_>) -> Selection {
    let [member, project, repository] = ["member", "project", "repository"].map(|name| call.text(name));
    Selection { member, project, repository, ..Selection::default() }
}

pub(crate) fn list_sessions(call: &Call<'_>) -> CommandResult {
    let mut sessions = in_scope(call, call.text("scope").as_deref().unwrap_or("cwd"))?;
    let children = match (call.flag("children"), call.text("children").as_deref()) {
        (Some(false), _) | (_, Some("hidden")) => Children::Hidden,
        (_, Some("only")) => Children::Only,
        _ => Children::Shown,
    };
    let limit = call.count("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let named = call.flag("named").unwrap_or_default();
    let copies = Copies::among(&sessions);
    let archived = archived(call);
    Selection { named, children, archived, limit, ..of_team(call) }.apply(&mut sessions);
    answered(answer::sessions(&sessions, &copies))
}

pub(crate) fn search(call: &Call<'_>) -> CommandResult {
    let query = Query::parse(&call.required("query")?).map_err(|error| Failure::invalid(error.to_string()))?;
    let sessions = &call.server().options.sessions;
    let scope = call.text("scope");
    let current = || call.client.current().path().map(Path::to_path_buf);
    let one_file = call.session_path()?;
    let one_file = one_file.or_else(|| current().filter(|_| scope.as_deref() == Some("session")));
    let search_scope = match (one_file, scope.as_deref()) {
        (Some(file), _) => SearchScope::Files(vec![file]),
        (None, Some("session")) => SearchScope::Files(Vec::new()),
        (None, Some("all" | "repo")) => SearchScope::All,
        (None, _) => {
            let filtered = call.get("filters").and_then(|filters| filters.get("cwd")).and_then(Raw::as_string);
            // A filter by directory refers to that directory, not to the current one.
            let cwd = filtered.filter(|_| scope.is_none()).map_or_else(|| cwd(call), PathBuf::from);
            SearchScope::Cwd(cwd)
        }
    };
    let project = (scope.as_deref() == Some("repo")).then(|| sessions.project_of(cwd(call)));
    let selected = of_team(call).paths_of_team(sessions)?;
    let admits = |path: &Path, cwd: &str| {
        selected.as_ref().is_none_or(|paths| paths.contains(path))
            && project.as_ref().is_none_or(|project| project.holds(cwd))
    };
    let filters = call.get("filters");
    let results = sessions.search(
        &query,
        &SearchOptions {
            scope: search_scope,
            filter: filters.map(filter).transpose()?.unwrap_or_default(),
            cwd: filters.and_then(|filters| filters.get("cwd")).and_then(Raw::as_string).map(PathBuf::from),
            archived: archived(call),
            admits: (project.is_some() || selected.is_some()).then_some(&admits as _),
            limit: call.count("limit").map_or(50, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            ..SearchOptions::default()
        },
    )?;
    answered(answer::search_result(&results))
}

fn filter(filters: Raw<'_>) -> Result<Filter, Failure> {
    let text = |key: &str| filters.get(key).and_then(Raw::as_string);
    let roles = filters.get("role");
    let words = roles
        .and_then(Raw::as_string)
        .into_iter()
        .chain(roles.into_iter().flat_map(Raw::items).filter_map(Raw::as_string));
    let kinds = words.map(|word| {
        DocumentKind::of_word(&word).ok_or_else(|| {
            let known = DocumentKind::ALL.map(DocumentKind::word).join(", ");
            Failure::invalid(format!("unknown role {word:?}; the roles are {known}"))
        })
    });
    Ok(Filter {
        kinds: kinds.collect::<Result<_, _>>()?,
        tool: text("tool"),
        model: text("model"),
        since: filters.get("since").map(time).transpose()?,
        until: filters.get("until").map(time).transpose()?,
    })
}

/// Parses a time like JavaScript does.
fn time(value: Raw<'_>) -> Result<Timestamp, Failure> {
    #[expect(clippy::cast_possible_truncation, reason = "times out of range are clamped")]
    let number = value.as_number().map(|number| Timestamp::from_ms(number as i64));
    let parsed = || value.as_string().and_then(|text| date::parse(&text, &date::Utc));
    number
        .or_else(parsed)
        .ok_or_else(|| Failure::invalid(format!("{} is not a date or a number of milliseconds", value.to_text())))
}

pub(crate) fn family(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let path = session.lock_fresh().session_file().map(Path::to_path_buf);
    let listed = in_scope(call, "all")?;
    let sessions = &call.server().options.sessions;
    let family = path.as_ref().and_then(|path| sessions.family_of(&listed, path));
    if let Some(family) = family {
        return answered(answer::family(&family, &listed));
    }
    let manager = session.lock();
    let parent = manager.header().parent_session();
    let is_parent_missing = parent.is_some_and(|parent| sessions.file_stat(Path::new(&parent)).is_none());
    answered(answer::lone_family(&manager, is_parent_missing))
}

pub(crate) fn delete_session(call: &Call<'_>) -> CommandResult {
    let path = call.session_path()?.ok_or_else(|| Failure::invalid("sessionPath is missing"))?;
    let sessions = call.server().options.sessions.clone();
    let sessions = if call.flag("force") == Some(true) { sessions.ignoring_users() } else { sessions };
    let deleted = sessions.delete(std::slice::from_ref(&path), Deletion::ToTrash, false)?;
    call.server().forget(&path);
    let to = deleted.sessions.first().and_then(|session| session.to.as_ref());
    answered(answer::trashed(to))
}

pub(crate) fn restore_session(call: &Call<'_>) -> CommandResult {
    let reference = call.required("sessionPath")?;
    let (restored, _) = {
        // Locked, so that no subscription reports the session before it is recorded as restored.
        let mut known = lock(&call.server().restored);
        let restored = call.server().options.sessions.restore(&reference, false)?;
        known.insert(restored.0.session.path.clone());
        restored
    };
    answered(answer::restored_path(&restored.session.path))
}

pub(crate) fn verify(call: &Call<'_>) -> CommandResult {
    let path = if let Some(path) = call.session_path()? {
        path
    } else {
        let session = call.client.current();
        let stored = session.lock().is_stored();
        let Some(path) = session.path().filter(|_| stored) else {
            return answered(answer::findings(&[]));
        };
        path.to_path_buf()
    };
    let report = call.server().options.sessions.verify(&path)?;
    answered(answer::findings(&report.findings))
}
