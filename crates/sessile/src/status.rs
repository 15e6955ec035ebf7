//! Whether an agent works on a session, waits for its user, or has stopped.
//!
//! A session does not say so itself. It follows from two facts: when its file was last written, and whether its last
//! message leaves something to do for the agent.
//!
//! | written | the last message leaves work | it does not |
//! |---|---|---|
//! | less than 10 seconds ago | [`Working`](Status::Working) | [`Working`](Status::Working) |
//! | less than 10 minutes ago | [`Quiet`](Status::Quiet) | [`Waiting`](Status::Waiting) |
//! | earlier | [`Stopped`](Status::Stopped) | [`Waiting`](Status::Waiting) |

use std::time::Duration;

use sessile_core::date::Timestamp;
use sessile_core::head::{Kind, Role};
use sessile_core::info::leaves_work;
use sessile_store::StoreError;

use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::manager::SessionManager;

/// How long a session counts as being worked on after a write.
const WORKING: Duration = Duration::from_secs(10);

/// How long an agent with something to do may write nothing before it counts as stopped.
const QUIET: Duration = Duration::from_mins(10);

/// What happens in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its file was written within the last 10 seconds.
    Working,
    /// It waits for its user: its last message is a finished answer, or there is none.
    Waiting,
    /// Its agent has something to do and wrote nothing for 10 seconds: a model or a tool takes time.
    Quiet,
    /// Its agent has something to do and wrote nothing for 10 minutes.
    Stopped,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Working, Self::Waiting, Self::Quiet, Self::Stopped];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Quiet => "quiet",
            Self::Stopped => "stopped",
        }
    }
}

/// What the status of a session follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// When its file was last written.
    pub written: Timestamp,
    /// Whether its last message leaves something to do for the agent.
    pub is_unanswered: bool,
}

impl Activity {
    /// The status at a time.
    pub fn status(self, now: Timestamp) -> Status {
        let age = now.as_ms().saturating_sub(self.written.as_ms());
        let is_within = |limit: Duration| age < ms(limit);
        // A time that is far ahead of the clock says nothing about the last seconds.
        let is_ahead = age < -ms(WORKING);
        match self.is_unanswered {
            _ if is_within(WORKING) && !is_ahead => Status::Working,
            false => Status::Waiting,
            true if is_within(QUIET) && !is_ahead => Status::Quiet,
            true => Status::Stopped,
        }
    }

    /// The status at a time, and those that follow if nothing else is written, each with the time until it begins.
    pub fn course(self, now: Timestamp) -> Vec<(Duration, Status)> {
        let mut course = vec![(Duration::ZERO, self.status(now))];
        for limit in [WORKING, QUIET] {
            let then = Timestamp::from_ms(self.written.as_ms().saturating_add(ms(limit)));
            let wait = u64::try_from(then.as_ms().saturating_sub(now.as_ms())).unwrap_or_default();
            let status = self.status(then);
            let is_change = course.last().is_some_and(|(_, before)| *before != status);
            // From a time far ahead of the clock, nothing follows.
            if wait > 0 && wait <= 2 * QUIET.as_secs() * 1000 && is_change {
                course.push((Duration::from_millis(wait), status));
            }
        }
        course
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl SessionInfo {
    /// What the status of the session follows from.
    pub fn activity(&self) -> Activity {
        Activity { written: self.written, is_unanswered: self.facts.is_unanswered }
    }
}

impl SessionManager {
    /// What the status of the session follows from; `None` if it has no file yet.
    ///
    /// Gives the same as the row of a list, and reads only the last message.
    pub fn activity(&self) -> Result<Option<Activity>, SessionError> {
        let Some(path) = self.session_file() else { return Ok(None) };
        let stat = self.world.os().stat(path).map_err(|error| StoreError::io_at("access", path, error))?;
        let outline = self.outline();
        let has_word = |role: Role| matches!(role, Role::User | Role::Assistant | Role::ToolResult);
        let last = outline.entries().rfind(|row| outline.kind(*row) == Kind::Message && has_word(outline.role(*row)));
        let is_unanswered = match last {
            Some(row) => {
                let entry = self.entry_at(row)?;
                let reason = entry.raw().get("message").and_then(|message| message.get("stopReason"));
                leaves_work(outline.role(row), reason).unwrap_or_default()
            }
            None => false,
        };
        Ok(Some(Activity { written: Timestamp::from_ms(stat.modified_ms), is_unanswered }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Sessions;
    use crate::testing::IsolatedSystem;

    const SECOND: i64 = 1000;
    const MINUTE: i64 = 60 * SECOND;

    fn activity(is_unanswered: bool) -> Activity {
        Activity { written: Timestamp::from_ms(1_000_000_000), is_unanswered }
    }

    fn after(ms: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000_000 + ms)
    }

    #[test]
    fn the_status_follows_from_the_last_write_and_the_last_message() {
        let at = |is_unanswered, ms| activity(is_unanswered).status(after(ms));
        for is_unanswered in [false, true] {
            assert_eq!(at(is_unanswered, 0), Status::Working);
            assert_eq!(at(is_unanswered, 10 * SECOND - 1), Status::Working);
            assert_eq!(at(is_unanswered, -3 * SECOND), Status::Working, "clocks differ a little");
        }
        assert_eq!([10 * SECOND, 10 * MINUTE, i64::MAX / 2].map(|ms| at(false, ms)), [Status::Waiting; 3]);
        assert_eq!([10 * SECOND, 10 * MINUTE - 1].map(|ms| at(true, ms)), [Status::Quiet; 2]);
        assert_eq!([10 * MINUTE, i64::MAX / 2].map(|ms| at(true, ms)), [Status::Stopped; 2]);
        let ahead = -365 * 24 * 60 * MINUTE;
        assert_eq!([at(false, ahead), at(true, ahead)], [Status::Waiting, Status::Stopped]);
    }

    #[test]
    fn the_course_is_the_status_at_each_later_time() {
        for is_unanswered in [false, true] {
            let activity = activity(is_unanswered);
            for from in [-2 * SECOND, 0, 1, 9_999, 10_000, 10_001, 599_999, 600_000, 900_000] {
                let course = activity.course(after(from));
                for later in [0, 1, SECOND, 9_999, 10_000, 12_000, 60_000, 599_999, 600_000, 700_000] {
                    let begun = course.iter().rfind(|(wait, _)| ms(*wait) <= later).unwrap();
                    assert_eq!(begun.1, activity.status(after(from + later)), "{from} {later} {course:?}");
                }
            }
        }
        let course = activity(true).course(after(SECOND));
        let wait = Duration::from_secs;
        assert_eq!(course, [(wait(0), Status::Working), (wait(9), Status::Quiet), (wait(599), Status::Stopped)]);
        assert_eq!(activity(true).course(Timestamp::MIN).len(), 1);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is another program")]
    fn an_open_session_and_a_list_agree() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-01-01T00-00-00-000Z_s.jsonl");
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#,
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}"#,
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","stopReason":"toolUse","content":[]}}"#,
            r#"{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","content":[]}}"#,
            r#"{"type":"message","id":"d","parentId":"c","message":{"role":"assistant","stopReason":"stop","content":[]}}"#,
            r#"{"type":"label","id":"e","parentId":"d","targetId":"a","label":"x"}"#,
        ];
        let sessions = Sessions::new(IsolatedSystem::in_home(dir.path())).with_session_dir(dir.path()).read_only();
        let mut found = Vec::new();
        for n_lines in 1..=lines.len() {
            std::fs::write(&path, lines[..n_lines].join("\n") + "\n").unwrap();
            let activity = sessions.open(&path).unwrap().activity().unwrap().unwrap();
            assert_eq!(sessions.row(&path).unwrap().activity(), activity);
            found.push(activity.is_unanswered);
        }
        assert_eq!(found, [false, true, true, true, false, false]);
    }
}
