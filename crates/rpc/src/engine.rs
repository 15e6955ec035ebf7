//! The state that all clients of a server share: open sessions and common settings.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sessile::compaction::{BranchSummarySettings, CompactionSettings, Summarizer};
use sessile::event::{EventKind, EventSet, Handlers};
use sessile::json::{Json, ObjectWriter};
use sessile::operations::OperationKind;
use sessile::settings::SettingsError;
use sessile::{NewSession, OpenOptions, SessionHost, SessionManager, Sessions};
use sessile_summarize::Extractive;

use crate::command::replace::with_pi_message;
use crate::connection::Connection;
use crate::envelope::Request;
use crate::event_log::EventLog;
use crate::failure::Failure;
use crate::frame::MAX_RECORD;
use crate::local::{self, Events, LocalClient};
use crate::outbox::{Outbox, RecordQueue};
use crate::session::OpenSession;

/// How many sessions that are not current for any client stay open, so that later requests are fast.
const MAX_RECENT: usize = 16;

/// How long to wait for a client at shutdown.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// A summarizer that several threads may use.
pub type AnySummarizer = Arc<dyn Summarizer + Send + Sync>;

/// Options of a server.
#[derive(Clone)]
pub struct Options {
    /// Access to the sessions.
    pub sessions: Sessions,
    /// The working directory.
    pub cwd: PathBuf,
    /// The context window of the model in tokens, if known.
    pub context_window: Option<u64>,
    /// When to compact, and how much to keep.
    pub compaction: CompactionSettings,
    /// Overrides `compaction` depending on the session's model.
    pub compaction_for_model: Option<CompactionForModel>,
    /// Settings for branch summaries.
    pub branch_summary: BranchSummarySettings,
    /// The summarizer. By default rules that work offline.
    pub summarizer: AnySummarizer,
    /// The model of sessions that name none, as provider and id.
    pub model: Option<(String, String)>,
    /// The longest accepted record, in bytes.
    pub max_record: usize,
}

/// Returns when to compact a session that last used a model (`provider/model`), and how much to keep.
pub type CompactionForModel = Arc<dyn Fn(&str) -> Result<CompactionSettings, SettingsError> + Send + Sync>;

impl Options {
    /// Returns when to compact a session, and how much to keep.
    pub(crate) fn compaction_for(&self, session: &SessionManager) -> Result<CompactionSettings, Failure> {
        let Some(of_model) = &self.compaction_for_model else { return Ok(self.compaction) };
        let initial_model = || self.model.as_ref().map(|(provider, id)| format!("{provider}/{id}"));
        match session.model_name()?.or_else(initial_model) {
            Some(model) => Ok(of_model(&model)?),
            None => Ok(self.compaction),
        }
    }

    /// Returns the default options.
    pub fn new(sessions: Sessions) -> Self {
        Self {
            cwd: sessions.environment().current_dir(),
            sessions,
            context_window: None,
            compaction: CompactionSettings::default(),
            compaction_for_model: None,
            branch_summary: BranchSummarySettings::default(),
            summarizer: Arc::new(Extractive::default()),
            model: None,
            max_record: MAX_RECORD,
        }
    }
}

/// The session that a server starts with, as selected by pi's flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// A new session, whose file is created with the first message.
    #[default]
    New,
    /// The session with this id if the working directory has it, else a new one with this id.
    WithId(String),
    /// This file, which need not exist yet.
    Open(PathBuf),
    /// The most recently written session of the working directory, or a new one.
    Continue,
    /// A copy of this file with all branches, optionally with a given id.
    Fork {
        /// The file.
        source: PathBuf,
        /// The copy's id.
        id: Option<String>,
    },
    /// A new session without a file.
    Memory,
}

/// The state that all clients share.
pub struct Engine {
    pub(crate) options: Options,
    pub(crate) auto_compacts: AtomicBool,
    pub(crate) modes: Mutex<QueueModes>,
    first: Arc<OpenSession>,
    open: Mutex<OpenSessions>,
    clients: Mutex<Vec<Weak<Connection>>>,
    next_number: AtomicU64,
    is_recording: AtomicBool,
    /// Events of sessions that are not open here.
    pub(crate) closed_sessions_log: Mutex<EventLog>,
    /// The sessions that were restored from the trash through this server.
    pub(crate) restored: Mutex<HashSet<PathBuf>>,
}

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

impl Engine {
    /// Opens the first session.
    pub fn start(mut options: Options, start: &Start, name: Option<&str>) -> Result<Arc<Self>, Failure> {
        // pi continues at the last entry of a file, whatever leaf was current before.
        options.sessions = options.sessions.forgetting_leaves().recording_new_files_as(OperationKind::Fork);
        let sessions = &options.sessions;
        let cwd = &options.cwd;
        let with_id = |id: Option<String>| NewSession { id, parent_session: None };
        let mut manager = match start {
            Start::New => sessions.create(cwd)?,
            Start::WithId(id) => match sessions.find_by_id(cwd, id) {
                Some(path) => sessions.open_with(path, &OpenOptions::new().cwd(cwd))?,
                None => sessions.create_with(cwd, &with_id(Some(id.clone())))?,
            },
            Start::Open(path) => open_at(&options, path, cwd)?,
            Start::Continue => sessions.continue_recent(cwd)?,
            Start::Fork { source, id } => sessions.fork_from_with(source, cwd, &with_id(id.clone()))?,
            Start::Memory => sessions.in_memory(cwd, NewSession::default())?,
        };
        if let Some(name) = name {
            manager.append_session_info(name)?;
        }
        let first = Arc::new(OpenSession::new(SessionHost::new(options.sessions.clone(), manager)));
        let engine = Self {
            auto_compacts: AtomicBool::new(options.compaction.enabled),
            modes: Mutex::new(QueueModes { steering: "one-at-a-time", follow_up: "one-at-a-time" }),
            open: Mutex::default(),
            clients: Mutex::default(),
            next_number: AtomicU64::new(1),
            is_recording: AtomicBool::new(false),
            closed_sessions_log: Mutex::default(),
            restored: Mutex::default(),
            first: Arc::clone(&first),
            options,
        };
        engine.register(&first);
        let engine = Arc::new(engine);
        let weak_engine = Arc::downgrade(&engine);
        engine.handlers().on_failure(move |failure| {
            let mut event = ObjectWriter::new();
            event
                .string("type", "extension_error")
                .string("extensionPath", &failure.handler)
                .string("event", failure.event.name())
                .string("error", &failure.error);
            let event = event.finish();
            weak_engine
                .upgrade()
                .iter()
                .flat_map(|engine| engine.clients())
                .for_each(|client| client.queue_event(&event));
        });
        Ok(engine)
    }

    /// Serves one client until it has closed its input and everything is answered.
    pub fn serve(self: &Arc<Self>, input: impl Read, output: impl Write + Send + 'static) {
        self.add_client(Outbox::stream(Box::new(output))).run(input);
    }

    /// Connects a client in this process: it calls commands and reads events without a stream of bytes.
    ///
    /// Like a client on a stream, it has its own current session, subscriptions and hooks. Drop [`Events`] if you
    /// do not read them.
    ///
    /// ```
    /// use sessile_rpc::{Engine, Options, Request, Start};
    ///
    /// let engine = Engine::start(Options::new(sessile::Sessions::default()), &Start::Memory, None)?;
    /// let (client, mut events) = engine.connect();
    /// client.call(&Request::new("set_session_name").with("name", "Tides"))?;
    /// assert_eq!(events.next().unwrap().to_text(), r#"{"type":"session_info_changed","name":"Tides"}"#);
    /// # Ok::<(), sessile_rpc::Failure>(())
    /// ```
    pub fn connect(self: &Arc<Self>) -> (LocalClient, Events) {
        let queue = Arc::new(RecordQueue::default());
        let connection = self.add_client(Outbox::queue(Arc::clone(&queue)));
        (LocalClient::new(connection), Events::new(queue))
    }

    /// Runs one command and returns its data, if it has any.
    ///
    /// The command refers to the session in its `sessionPath`, else to the one that the engine was started with. No
    /// events are delivered, and what belongs to a client ends with the call: a subscription, a hook, or a change of
    /// the current session. Use [`connect`](Self::connect) for those.
    ///
    /// ```
    /// use sessile_rpc::{Engine, Options, Request, Start};
    ///
    /// let engine = Engine::start(Options::new(sessile::Sessions::default()), &Start::Memory, Some("Tides"))?;
    /// let state = engine.call(&Request::new("get_state"))?.unwrap();
    /// assert_eq!(state.raw().get("sessionName").unwrap().as_string().unwrap(), "Tides");
    /// # Ok::<(), sessile_rpc::Failure>(())
    /// ```
    pub fn call(self: &Arc<Self>, request: &Request) -> Result<Option<Json>, Failure> {
        self.first.lock().host().start();
        let connection = Connection::new(Arc::clone(self), Arc::clone(&self.first), Outbox::discarding());
        let result = local::call(&connection, request);
        connection.end_call();
        result
    }

    fn add_client(self: &Arc<Self>, outbox: Outbox) -> Arc<Connection> {
        let connection = Connection::new(Arc::clone(self), Arc::clone(&self.first), outbox);
        {
            // Drops the entries of clients that are gone.
            let mut clients = lock(&self.clients);
            clients.retain(|client| client.strong_count() > 0);
            clients.push(Arc::downgrade(&connection));
        }
        self.first.lock().host().start();
        connection
    }

    /// Stops work in progress, and notifies clients that the program is exiting.
    pub fn stop(&self) {
        self.sessions().iter().for_each(|session| session.stop());
        self.clients().iter().for_each(|client| client.leave(Some(SHUTDOWN_GRACE)));
    }

    /// Whether a client other than this one has a session as its current one.
    pub(crate) fn is_current_for_others(&self, session: &Arc<OpenSession>, client: &Connection) -> bool {
        let is_other = |other: &Arc<Connection>| !std::ptr::eq(Arc::as_ptr(other), client) && !other.is_leaving();
        self.clients().iter().any(|other| is_other(other) && Arc::ptr_eq(&other.current(), session))
    }

    /// Returns the open sessions.
    pub(crate) fn sessions(&self) -> Vec<Arc<OpenSession>> {
        lock(&self.open).all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the handlers, which are asked before events and notified afterwards.
    pub(crate) fn handlers(&self) -> &Handlers {
        self.options.sessions.handlers()
    }

    /// Starts recording events for subscriptions. Does nothing if it has already started.
    pub(crate) fn start_recording(self: &Arc<Self>) {
        if self.is_recording.swap(true, Ordering::Relaxed) {
            return;
        }
        let engine = Arc::downgrade(self);
        self.handlers().on(EventSet::from_iter(EventKind::ALL), "subscriptions", move |event, context| {
            if let Some(engine) = engine.upgrade() {
                engine.record_event(event, context);
            }
            Ok(None)
        });
    }

    /// Returns the number of clients.
    #[cfg(unix)]
    pub(crate) fn n_clients(&self) -> usize {
        lock(&self.clients).iter().filter(|client| client.strong_count() > 0).count()
    }

    /// Returns a number that no other call gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn clients(&self) -> Vec<Arc<Connection>> {
        lock(&self.clients).iter().filter_map(Weak::upgrade).collect()
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
        let session = self.sessions().into_iter().find(|known| known.path() == Some(path) && known.id() == id)?;
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

    /// Sends one of pi's events to all clients whose current session it concerns; to the asking client before its
    /// answer.
    pub(crate) fn broadcast(&self, session: &Arc<OpenSession>, event: &Json, caller: &Connection) {
        caller.send_event_if_current(session, event);
        for client in self.clients() {
            if !std::ptr::eq(Arc::as_ptr(&client), caller) {
                client.queue_event_if_current(session, event);
            }
        }
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

fn open_at(options: &Options, path: &Path, cwd: &Path) -> Result<SessionManager, Failure> {
    let sessions = &options.sessions;
    let open_options = OpenOptions::new().create(true).session_dir(sessions.session_dir().unwrap_or(Path::new("")));
    let manager = sessions.open_with(path, &open_options).map_err(with_pi_message)?;
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while holding the lock has left consistent values.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
