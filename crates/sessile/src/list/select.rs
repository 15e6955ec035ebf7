//! Filters and sorts the sessions of a list.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;
use std::path::PathBuf;

use super::SessionInfo;
use crate::error::SessionError;
use crate::repository::is_named;
use crate::sessions::Sessions;
use sessile_core::date::Timestamp;

/// Which sessions of a list to return, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only sessions that have each of these words in their name, first message or working directory, or an id that
    /// starts with it. Case is ignored.
    pub words: Vec<String>,
    /// Only named sessions.
    pub named: bool,
    /// Only sessions of this member of a team's store.
    pub member: Option<String>,
    /// Only sessions of this project of a team's store.
    pub project: Option<String>,
    /// Only sessions of this repository: an address, host and path, or the last parts of the path.
    pub repository: Option<String>,
    /// How to treat forks.
    pub children: Children,
    /// How to treat archived sessions.
    pub archived: Archived,
    /// Only sessions with a message at or after this time.
    pub since: Option<Timestamp>,
    /// Only sessions without a message after this time.
    pub until: Option<Timestamp>,
    /// The order.
    pub sort: SortBy,
    /// The maximum number of sessions.
    pub limit: Option<usize>,
}

impl Selection {
    /// Returns the files of the sessions of the member, the project and the repository; `None` if none of these is given.
    pub fn paths_of_team(&self, sessions: &Sessions) -> Result<Option<HashSet<PathBuf>>, SessionError> {
        let (member, project, repository) = (self.member.clone(), self.project.clone(), self.repository.clone());
        if member.is_none() && project.is_none() && repository.is_none() {
            return Ok(None);
        }
        let mut listed = sessions.list_all()?;
        Self { member, project, repository, archived: Archived::Shown, ..Self::default() }.apply(&mut listed);
        Ok(Some(listed.into_iter().map(|session| session.path).collect()))
    }
}

/// How to treat sessions that were forked from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Children {
    /// List them like all others.
    #[default]
    Shown,
    /// Omit them.
    Hidden,
    /// Omit all others.
    Only,
}

/// How to treat archived sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Archived {
    /// Omit them.
    #[default]
    Hidden,
    /// Treat them like all others.
    Shown,
    /// Omit all others.
    Only,
}

impl Archived {
    /// Whether a session with this archive state is included.
    pub fn admits(self, is_archived: bool) -> bool {
        match self {
            Self::Hidden => !is_archived,
            Self::Shown => true,
            Self::Only => is_archived,
        }
    }
}

/// The order of a list; ties are sorted by most recent activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Most recently active first.
    #[default]
    Recent,
    /// Most recently created first, unknown times last.
    Created,
    /// Largest file first.
    Size,
    /// Most expensive first.
    Cost,
    /// Most messages first.
    Messages,
    /// By name, unnamed sessions last.
    Name,
}

impl Selection {
    /// Filters and sorts a list that has the most recently active session first.
    pub fn apply(&self, sessions: &mut Vec<SessionInfo>) {
        let words: Vec<String> = self.words.iter().map(|word| word.to_lowercase()).collect();
        sessions.retain(|session| self.admits(session) && has_words(session, &words));
        match self.sort {
            SortBy::Recent => {}
            SortBy::Created => sessions.sort_by_key(|session| Reverse(session.created)),
            SortBy::Size => sessions.sort_by_key(|session| Reverse(session.size)),
            SortBy::Cost => sessions.sort_by(|one, other| other.facts.cost.total_cmp(&one.facts.cost)),
            SortBy::Messages => sessions.sort_by_key(|session| Reverse(session.message_count)),
            SortBy::Name => sessions.sort_by(by_name),
        }
        sessions.truncate(self.limit.unwrap_or(usize::MAX));
    }

    /// The number of matching sessions, ignoring the limit.
    pub fn count(&self, sessions: &[SessionInfo]) -> usize {
        let words: Vec<String> = self.words.iter().map(|word| word.to_lowercase()).collect();
        sessions.iter().filter(|session| self.admits(session) && has_words(session, &words)).count()
    }

    fn admits(&self, session: &SessionInfo) -> bool {
        if self.member.is_some() && session.member != self.member {
            return false;
        }
        if self.project.is_some() && session.project != self.project {
            return false;
        }
        let is_of = |name: &String| session.repository.as_ref().is_some_and(|repository| is_named(repository, name));
        if !self.repository.as_ref().is_none_or(is_of) {
            return false;
        }
        let is_child = session.parent_session_path.is_some();
        let is_wanted = match self.children {
            Children::Shown => true,
            Children::Hidden => !is_child,
            Children::Only => is_child,
        };
        is_wanted
            && self.archived.admits(session.is_archived)
            && (!self.named || session.name.is_some())
            && self.since.is_none_or(|since| session.modified >= since)
            && self.until.is_none_or(|until| session.modified <= until)
    }
}

/// Whether the data that a list shows of a session contains each of these lower-case words.
fn has_words(session: &SessionInfo, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let name = session.name.as_ref().map(|name| name.to_str().to_lowercase()).unwrap_or_default();
    let member = session.member.as_ref().map(|member| member.to_lowercase()).unwrap_or_default();
    let texts = [name, session.first_message.to_str().to_lowercase(), session.cwd.to_lowercase(), member];
    let id = session.id.as_str().to_lowercase();
    words.iter().all(|word| texts.iter().any(|text| text.contains(word)) || id.starts_with(word.as_str()))
}

fn by_name(one: &SessionInfo, other: &SessionInfo) -> Ordering {
    match (&one.name, &other.name) {
        (Some(one), Some(other)) => one.to_str().to_lowercase().cmp(&other.to_str().to_lowercase()),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use sessile_core::info::SessionFacts;

    use super::*;

    fn session(id: &str, name: Option<&'static str>, parent: Option<&str>, number: u32) -> SessionInfo {
        SessionInfo {
            path: id.into(),
            id: id.to_owned().into(),
            cwd: String::new(),
            name: name.map(Into::into),
            is_archived: false,
            is_redacted: false,
            imported_from: None,
            member: None,
            project: None,
            repository: None,
            parent_session_path: parent.map(str::to_owned),
            created: (number > 0).then_some(Timestamp::from_ms(-i64::from(number))),
            modified: Timestamp::from_ms(i64::from(number)),
            message_count: number as usize % 2,
            first_message: "".into(),
            all_messages_text: "".into(),
            size: u64::from(number),
            written: Timestamp::EPOCH,
            facts: SessionFacts { cost: f64::from(number % 3), ..SessionFacts::default() },
        }
    }

    #[test]
    fn archived_sessions_are_left_out_unless_requested() {
        let found = |archived| {
            let mut list = vec![session("a", None, None, 2), session("b", None, None, 1)];
            list[1].is_archived = true;
            Selection { archived, ..Selection::default() }.apply(&mut list);
            list.into_iter().map(|session| session.id.to_string()).collect::<String>()
        };
        assert_eq!([Archived::default(), Archived::Shown, Archived::Only].map(found), ["a", "ab", "b"]);
    }

    fn selected(selection: &Selection) -> String {
        let mut list = vec![
            session("d", Some("b"), None, 4),
            session("c", None, Some("/p"), 3),
            session("b", Some("A"), Some("/p"), 2),
            session("a", None, None, 0),
        ];
        selection.apply(&mut list);
        list.into_iter().map(|session| session.id.to_string()).collect()
    }

    #[test]
    fn words_match_names_messages_directories_and_id_prefixes() {
        let found = |words: &[&str]| {
            let mut named = session("0190-a", Some("High Water"), None, 3);
            named.first_message = "why is it early?".into();
            let mut unnamed = session("0191-b", None, None, 2);
            (unnamed.first_message, unnamed.cwd) = ("Ärger mit tides".into(), "/home/u/Harbour".to_owned());
            let mut list = vec![named, unnamed];
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Selection { words, ..Selection::default() }.apply(&mut list);
            list.into_iter().map(|session| session.id.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found(&[]), "0190-a 0191-b");
        assert_eq!(found(&["water"]), "0190-a");
        assert_eq!(found(&["EARLY", "high"]), "0190-a");
        assert_eq!(found(&["early", "harbour"]), "");
        assert_eq!(found(&["ärger", "harbour", "0191"]), "0191-b");
        assert_eq!(found(&["191-b"]), "", "ids match by prefix only");
        assert_eq!(found(&[""]), "0190-a 0191-b");
    }

    #[test]
    fn selected_sessions_are_sorted_as_requested() {
        let all = Selection::default();
        assert_eq!(selected(&all), "dcba");
        assert_eq!(selected(&Selection { named: true, ..all.clone() }), "db");
        assert_eq!(selected(&Selection { children: Children::Hidden, ..all.clone() }), "da");
        assert_eq!(selected(&Selection { children: Children::Only, ..all.clone() }), "cb");
        assert_eq!(selected(&Selection { since: Some(Timestamp::from_ms(3)), ..all.clone() }), "dc");
        assert_eq!(selected(&Selection { until: Some(Timestamp::from_ms(3)), ..all.clone() }), "cba");
        assert_eq!(
            selected(&Selection {
                since: Some(Timestamp::from_ms(2)),
                until: Some(Timestamp::from_ms(3)),
                ..all.clone()
            }),
            "cb"
        );
        assert_eq!(selected(&Selection { limit: Some(1), ..all.clone() }), "d");
        for (sort, expected) in [
            (SortBy::Created, "bcda"),
            (SortBy::Size, "dcba"),
            (SortBy::Cost, "bdca"),
            (SortBy::Messages, "cdba"),
            (SortBy::Name, "bdca"),
        ] {
            assert_eq!(selected(&Selection { sort, ..all.clone() }), expected, "{sort:?}");
        }
    }
}
