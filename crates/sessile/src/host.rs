//! A program's current session, and the handlers for its events.

mod fork;
mod hosts;
mod replace;

use std::path::PathBuf;

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;

use crate::begin::{BeginOptions, StartedSession};
use crate::error::SessionError;
use crate::event::{Handlers, SessionEvent, ShutdownReason, StartReason, Verdict};
use crate::manager::{SessionManager, one_line};
use crate::sessions::Sessions;
pub use fork::ForkedSession;

/// The session that a program works in, as in pi's hosts. Calls handlers before and after changes.
///
/// It uses the handlers of the [`Sessions`] it was created with ([`Sessions::with_handlers`]). The session itself
/// reports changes made through [`SessionHost::session_mut`]; the methods here report everything else. Each event is
/// reported once:
///
/// | method | events, in this order |
/// |---|---|
/// | [`start`](Self::start) | `session_start` |
/// | [`new_session`](Self::new_session), [`switch_session`](Self::switch_session) | `session_before_switch`, `session_shutdown`, `session_start` |
/// | [`fork`](Self::fork), [`clone_session`](Self::clone_session) | `session_before_fork`, `session_shutdown`, `session_start`, `session_fork` |
/// | [`SessionManager::navigate`] | `session_before_tree`, `entry_appended` for each written entry, `leaf_moved`, `session_tree` |
/// | [`SessionManager::compact`] | `session_before_compact`, `entry_appended`, `session_compact`; or `session_compact_failed` |
/// | [`set_session_name`](Self::set_session_name) | `entry_appended`, `session_info_changed` |
/// | [`shutdown`](Self::shutdown) | `session_shutdown` |
///
/// ```
/// use sessile::event::{EventKind, Handlers, Outcome, Reply};
/// use sessile::{NewSession, SessionHost, Sessions};
///
/// let handlers = Handlers::new();
/// handlers.on(EventKind::SessionBeforeSwitch, "keep", |_, _| Ok(Some(Reply::cancel())));
/// let sessions = Sessions::default().with_handlers(handlers);
/// let session = sessions.in_memory("/proj/project", NewSession::default())?;
/// let mut host = SessionHost::new(sessions, session);
/// host.start();
/// assert_eq!(host.new_session(NewSession::default())?, Outcome::Cancelled { by: "keep".to_owned() });
/// # Ok::<(), sessile::SessionError>(())
/// ```
pub struct SessionHost {
    sessions: Sessions,
    session: SessionManager,
    stage: HostStage,
}

/// The stage of the host's work in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostStage {
    Before,
    Started,
    Over,
}

impl SessionHost {
    /// A host that works in this session and opens other sessions through `sessions`. It sends no events before
    /// [`SessionHost::start`].
    pub fn new(sessions: Sessions, mut session: SessionManager) -> Self {
        session.use_handlers(sessions.handlers().clone());
        Self { sessions, session, stage: HostStage::Before }
    }

    /// Starts a session like [`Sessions::begin`], and reports it. Also returns whether the session is new.
    pub fn begin_session(sessions: Sessions, choice: &BeginOptions) -> Result<(Self, bool), SessionError> {
        let name = choice.name.as_deref().map(one_line);
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(SessionError::BlankName);
        }
        // Report the session before its name.
        let StartedSession { session, is_new } = sessions.begin(&BeginOptions { name: None, ..choice.clone() })?;
        let mut host = Self::new(sessions, session);
        let reason = match (&choice.fork, is_new) {
            (_, false) => StartReason::Resume,
            (Some(_), true) => StartReason::Fork,
            (None, true) => StartReason::New,
        };
        host.begin(reason, choice.fork.clone());
        if let Some(name) = name {
            host.session.append_session_info(&name)?;
        }
        Ok((host, is_new))
    }

    /// Reports that the program has begun to work in the session.
    pub fn start(&mut self) {
        if self.stage == HostStage::Before {
            self.begin(StartReason::Startup, None);
        }
    }

    /// Reloads the handlers: reports a shutdown to the old ones and a start to the new ones.
    ///
    /// `register` removes the old handlers and adds the new ones.
    pub fn reload(&mut self, register: impl FnOnce(&Handlers)) {
        self.end(ShutdownReason::Reload, None);
        register(self.sessions.handlers());
        self.begin(StartReason::Reload, None);
    }

    /// Reports that the program is exiting.
    pub fn shutdown(&mut self) {
        self.end(ShutdownReason::Quit, None);
        self.stage = HostStage::Over;
    }

    /// The current session.
    pub fn session(&self) -> &SessionManager {
        &self.session
    }

    /// The current session, for changes. To switch to another session, use the methods of the host.
    pub fn session_mut(&mut self) -> &mut SessionManager {
        &mut self.session
    }

    /// Gives access to other sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The registered handlers.
    pub fn handlers(&self) -> &Handlers {
        self.sessions.handlers()
    }

    /// Returns the session without notifying handlers.
    pub fn into_session(self) -> SessionManager {
        self.session
    }

    /// Names the session.
    pub fn set_session_name(&mut self, name: &str) -> Result<EntryId, SessionError> {
        if one_line(name).is_empty() {
            return Err(SessionError::BlankName);
        }
        self.session.append_session_info(name)
    }

    /// Selects a model; returns `None` if it is already in use.
    pub fn set_model(&mut self, provider: &str, model_id: &str) -> Result<Option<EntryId>, SessionError> {
        let used = self.session.settings()?.model;
        let used = used.as_ref().and_then(|used| used.provider_name().zip(used.model_name()));
        if used.is_some_and(|(used_provider, used_model)| used_provider == provider && used_model == model_id) {
            return Ok(None);
        }
        self.session.append_model_change(provider, model_id).map(Some)
    }

    /// Selects a thinking level; returns `None` if it is already in use.
    pub fn set_thinking_level(&mut self, level: &str) -> Result<Option<EntryId>, SessionError> {
        let used = self.session.settings()?.thinking_level;
        if used.and_then(|used| used.raw().as_string()).as_deref() == Some(level) {
            return Ok(None);
        }
        self.session.append_thinking_level_change(level).map(Some)
    }

    /// Calls the handlers before an action.
    fn ask(&self, event: &SessionEvent) -> Verdict {
        self.handlers().notify(event, &self.session.event_context(Cancel::default()))
    }

    fn begin(&mut self, reason: StartReason, previous_session_file: Option<PathBuf>) {
        self.stage = HostStage::Started;
        self.session.announce(&SessionEvent::Start { reason, previous_session_file });
    }

    fn end(&mut self, reason: ShutdownReason, target_session_file: Option<PathBuf>) {
        if self.stage == HostStage::Started {
            self.session.announce(&SessionEvent::Shutdown { reason, target_session_file });
        }
    }
}
