//! The state that all clients share: open sessions and common settings.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use sessile::event::{EventContext, EventKind, EventSet, Handlers, SessionEvent};
use sessile::json::Json;
use sessile::{OpenOptions, SessionHost, SessionManager};

use crate::event_log::EventLog;
use crate::failure::Failure;
use crate::options::Options;
use crate::session::OpenSession;
use crate::sync::lock;

/// How many sessions that are not current for any client stay open, so that later requests are fast.
const MAX_RECENT: usize = 16;

/// The state that all clients share.
pub(crate) struct Server {
    pub(crate) options: Options,
    pub(crate) auto_compacts: AtomicBool,
    pub(crate) modes: Mutex<QueueModes>,
    last_model: Mutex<LastModel>,
    /// The session that each client starts with.
    pub(crate) first: Arc<OpenSession>,
    open: Mutex<OpenSessions>,
    next_number: AtomicU64,
    is_recording: AtomicBool,
    /// Events of sessions that are not open here.
    pub(crate) closed_sessions_log: Mutex<EventLog>,
    /// The sessions that were restored from the trash through this server.
    pub(crate) restored: Mutex<HashSet<PathBuf>>,
}

/// What is known about the model that was asked for last, by provider and id.
type LastModel = Option<((String, String), Option<Json>)>;

/// How an agent would deliver messages that arrive while it works. Only stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueModes {
    pub(crate) steering: &'static str,
    pub(crate) follow_up: &'static str,
}

/// The open sessions.
#[derive(Default)]
struct OpenSessions {
    by_path: HashMap<PathBuf, Weak<OpenSession>>,
    /// All of them, including those without a file.
    all: Vec<Weak<OpenSession>>,
    /// The most recently requested ones, the newest at the end.
    recent: Vec<Arc<OpenSession>>,
}

impl Server {
    /// Serves the sessions of the options, and opens the first one.
    pub(crate) fn new(options: Options, first: SessionManager) -> Self {
        let first = Arc::new(OpenSession::new(SessionHost::new(options.sessions.clone(), first)));
        let server = Self {
            auto_compacts: AtomicBool::new(options.compaction.enabled),
            modes: Mutex::new(QueueModes { steering: "one-at-a-time", follow_up: "one-at-a-time" }),
            last_model: Mutex::default(),
            open: Mutex::default(),
            next_number: AtomicU64::new(1),
            is_recording: AtomicBool::new(false),
            closed_sessions_log: Mutex::default(),
            restored: Mutex::default(),
            first: Arc::clone(&first),
            options,
        };
        server.register(&first);
        server
    }

    /// Returns the open sessions.
    pub(crate) fn sessions(&self) -> Vec<Arc<OpenSession>> {
        lock(&self.open).all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the handlers, which are asked before events and notified afterwards.
    pub(crate) fn handlers(&self) -> &Handlers {
        self.options.sessions.handlers()
    }

    /// Returns what is known about a model. The answer about the last one is kept.
    pub(crate) fn known_model(&self, provider: &str, id: &str) -> Option<Json> {
        let find = self.options.known_model.as_ref()?;
        let mut last = lock(&self.last_model);
        match &*last {
            Some(((last_provider, last_id), known)) if last_provider == provider && last_id == id => known.clone(),
            _ => {
                let known = find(provider, id);
                *last = Some(((provider.to_owned(), id.to_owned()), known.clone()));
                known
            }
        }
    }

    /// Starts recording events for subscriptions. Does nothing if it has already started.
    pub(crate) fn start_recording(self: &Arc<Self>) {
        if self.is_recording.swap(true, Ordering::Relaxed) {
            return;
        }
        let server = Arc::downgrade(self);
        self.handlers().on(EventSet::from_iter(EventKind::ALL), "subscriptions", move |event, context| {
            if let Some(server) = server.upgrade() {
                server.record_event(event, context);
            }
            Ok(None)
        });
    }

    /// Records an event. The caller has the session locked, so this must not lock it.
    fn record_event(&self, event: &SessionEvent, context: &EventContext) {
        let session = self.sessions().into_iter().find(|session| *session.id() == context.session_id);
        let log = session.as_ref().map_or(&self.closed_sessions_log, |session| &session.event_log);
        lock(log).record(event);
        match &session {
            Some(session) => session.wake_senders(),
            None => self.sessions().iter().for_each(|session| session.wake_senders()),
        }
    }

    /// Returns a number that no other call gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the session of an existing file, opening it if necessary.
    pub(crate) fn session_at(&self, path: &Path) -> Result<Arc<OpenSession>, Failure> {
        let path = self.absolute(path);
        if let Some(session) = self.find_open(&path) {
            return Ok(session);
        }
        let manager = self.options.sessions.open(&path)?;
        if !manager.is_stored() {
            return Err(Failure::not_found(format!("no such session: {}", path.display())));
        }
        Ok(self.add_session(SessionHost::new(self.options.sessions.clone(), manager)))
    }

    /// Returns a session that a client still has open although its file had disappeared: the file is back.
    fn reopened(&self, host: &SessionHost) -> Option<Arc<OpenSession>> {
        let (path, id) = (host.session().session_file()?, host.session().session_id());
        let session = self.sessions().into_iter().find(|known| known.path() == Some(path) && *known.id() == id)?;
        let mut open = lock(&self.open);
        open.by_path.insert(path.to_path_buf(), Arc::downgrade(&session));
        open.keep_recent(&session);
        Some(session)
    }

    /// Returns a session that was opened by this path and is still open.
    pub(crate) fn find_open(&self, path: &Path) -> Option<Arc<OpenSession>> {
        let mut open = lock(&self.open);
        let session = open.by_path.get(path).and_then(Weak::upgrade)?;
        open.keep_recent(&session);
        Some(session)
    }

    /// Opens a path like pi's `switch_session`: an existing session, or the name of a new one.
    pub(crate) fn open_at(&self, path: &Path, cwd: &Path) -> Result<SessionManager, Failure> {
        open_at(&self.options, &self.absolute(path), cwd)
    }

    /// Registers a session for all clients.
    ///
    /// If another client has already opened it, that instance is used, so that no entries go unseen.
    pub(crate) fn add_session(&self, host: SessionHost) -> Arc<OpenSession> {
        if let Some(session) = host.session().session_file().and_then(|path| self.find_open(path)) {
            return session;
        }
        if let Some(session) = self.reopened(&host) {
            return session;
        }
        let session = Arc::new(OpenSession::new(host));
        self.register(&session);
        session
    }

    fn register(&self, session: &Arc<OpenSession>) {
        let mut open = lock(&self.open);
        open.by_path.retain(|_, session| session.strong_count() > 0);
        open.all.retain(|session| session.strong_count() > 0);
        open.all.push(Arc::downgrade(session));
        if let Some(path) = session.path() {
            open.by_path.insert(path.to_path_buf(), Arc::downgrade(session));
            open.keep_recent(session);
        }
    }

    /// Forgets a session whose file has disappeared, so that the next file at its path is read from scratch.
    pub(crate) fn forget(&self, path: &Path) {
        let mut open = lock(&self.open);
        open.by_path.remove(path);
        open.recent.retain(|session| session.path() != Some(path));
    }

    /// Returns an absolute path, relative to the working directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let path = match path.strip_prefix("~") {
            Ok(rest) => self.options.sessions.environment().home().join(rest),
            Err(_) => self.options.cwd.join(path),
        };
        // Normalised, so that one session has one path.
        path.components().collect()
    }
}

impl OpenSessions {
    fn keep_recent(&mut self, session: &Arc<OpenSession>) {
        self.recent.retain(|recent| !Arc::ptr_eq(recent, session));
        self.recent.push(Arc::clone(session));
        if self.recent.len() > MAX_RECENT {
            self.recent.remove(0);
        }
    }
}

/// Opens a path like pi: an existing session, or the name of a new one.
pub(crate) fn open_at(options: &Options, path: &Path, cwd: &Path) -> Result<SessionManager, Failure> {
    let sessions = &options.sessions;
    let open_options = OpenOptions::new().create(true).session_dir(sessions.session_dir().unwrap_or(Path::new("")));
    let manager = sessions.open_with(path, &open_options).map_err(Failure::with_pi_message)?;
    if !manager.is_stored() {
        // A session that is yet to be written uses the current directory.
        return Ok(sessions.open_with(path, &open_options.cwd(cwd))?);
    }
    let stored = manager.header().cwd().unwrap_or_default();
    if !stored.is_empty() && options.sessions.file_stat(manager.cwd()).is_none() {
        let message = format!(
            "Stored session working directory does not exist: {stored}\nSession file: {}\nCurrent working directory: {}",
            path.display(),
            cwd.display()
        );
        return Err(Failure::invalid(message));
    }
    Ok(manager)
}
