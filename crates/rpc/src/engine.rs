//! What all clients of a server share: the sessions that are open, and what is set for all.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sessile::compaction::{BranchSummarySettings, CompactionSettings, Extractive, Summarizer};
use sessile::json::{Json, ObjectWriter};
use sessile::settings::SettingsError;
use sessile::{EventKind, EventSet, Handlers, NewSession, OperationKind, SessionHost, SessionManager, Sessions};

use crate::command::replace::in_pi_words;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::frame::MAX_RECORD;
use crate::news::Happened;
use crate::session::OpenSession;

/// How many sessions that nobody has as the current one stay open, so that asking again is quick.
const MAX_KEPT: usize = 16;

/// How long a client that is told of the end is waited for.
const FAREWELL: Duration = Duration::from_millis(500);

/// A summarizer that several threads may ask.
pub type AnySummarizer = Arc<dyn Summarizer + Send + Sync>;

/// What is decided about a server before it starts.
#[derive(Clone)]
pub struct Options {
    /// The way to the sessions.
    pub sessions: Sessions,
    /// The working directory.
    pub cwd: PathBuf,
    /// Where sessions are, if not where pi keeps them.
    pub session_dir: Option<PathBuf>,
    /// The tokens of the model's context window, if that is known.
    pub context_window: Option<u64>,
    /// When to compact, and how much to keep.
    pub compaction: CompactionSettings,
    /// The same for sessions of a model, if that makes a difference.
    pub compaction_of: Option<CompactionOf>,
    /// How branches are summarised.
    pub branch_summary: BranchSummarySettings,
    /// Who writes summaries.
    pub summarizer: AnySummarizer,
    /// The model of sessions that name none, as provider and id.
    pub model: Option<(String, String)>,
    /// The longest record that is taken.
    pub max_record: usize,
}

/// When to compact a session that last used a model (`provider/model`), and how much to keep.
pub type CompactionOf = Arc<dyn Fn(&str) -> Result<CompactionSettings, SettingsError> + Send + Sync>;

impl Options {
    /// When to compact a session, and how much to keep.
    pub(crate) fn compaction_for(&self, session: &SessionManager) -> Result<CompactionSettings, Failure> {
        let Some(of_model) = &self.compaction_of else { return Ok(self.compaction) };
        let started_with = || self.model.as_ref().map(|(provider, id)| format!("{provider}/{id}"));
        match session.model_name()?.or_else(started_with) {
            Some(model) => Ok(of_model(&model)?),
            None => Ok(self.compaction),
        }
    }

    /// What is usual.
    pub fn new(sessions: Sessions) -> Self {
        Self {
            cwd: sessions.environment().current_dir(),
            sessions,
            session_dir: None,
            context_window: None,
            compaction: CompactionSettings::default(),
            compaction_of: None,
            branch_summary: BranchSummarySettings::default(),
            summarizer: Arc::new(Extractive::default()),
            model: None,
            max_record: MAX_RECORD,
        }
    }
}

/// Which session a server starts with: what pi's flags say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// A new one, whose file comes with the first message.
    #[default]
    New,
    /// The one with this id if the working directory has it, else a new one with this id.
    WithId(String),
    /// This file, which need not exist yet.
    Open(PathBuf),
    /// The one of the working directory that was written last, or a new one.
    Continue,
    /// A copy of this file, with all branches, and perhaps with an id of its own.
    Fork {
        /// The file.
        source: PathBuf,
        /// The copy's id.
        id: Option<String>,
    },
    /// A new one without a file.
    Memory,
}

/// What all clients share.
pub struct Engine {
    pub(crate) options: Options,
    pub(crate) auto_compacts: AtomicBool,
    pub(crate) modes: Mutex<QueueModes>,
    first: Arc<OpenSession>,
    open: Mutex<Opened>,
    clients: Mutex<Vec<Weak<Connection>>>,
    next_number: AtomicU64,
    is_noting: AtomicBool,
    /// What happened to sessions that are not open here.
    pub(crate) elsewhere: Mutex<Happened>,
    /// The sessions that were brought back from the trash through this server.
    pub(crate) restored: Mutex<HashSet<PathBuf>>,
}

/// How an agent would take messages that come while it works. Only remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueModes {
    pub(crate) steering: &'static str,
    pub(crate) follow_up: &'static str,
}

/// The sessions that are open.
#[derive(Default)]
struct Opened {
    by_path: HashMap<PathBuf, Weak<OpenSession>>,
    /// All of them, those without a file too.
    all: Vec<Weak<OpenSession>>,
    /// Those that were asked for last, the newest at the end.
    kept: Vec<Arc<OpenSession>>,
}

impl Engine {
    /// Opens the first session.
    pub fn start(mut options: Options, start: &Start, name: Option<&str>) -> Result<Arc<Self>, Failure> {
        // pi goes on at the last entry of a file, wherever somebody was before.
        options.sessions = options.sessions.forgetting_leaves().noting_new_files_as(OperationKind::Fork);
        let sessions = &options.sessions;
        let (cwd, dir) = (&options.cwd, options.session_dir.as_deref());
        let with_id = |id: Option<String>| NewSession { id, parent_session: None };
        let mut manager = match start {
            Start::New => sessions.create(cwd, dir, NewSession::default())?,
            Start::WithId(id) => match sessions.find_by_id(cwd, id, dir) {
                Some(path) => sessions.open(path, dir, Some(cwd))?,
                None => sessions.create(cwd, dir, with_id(Some(id.clone())))?,
            },
            Start::Open(path) => open_at(&options, path, cwd)?,
            Start::Continue => sessions.continue_recent(cwd, dir)?,
            Start::Fork { source, id } => sessions.fork_from(source, cwd, dir, id.clone())?,
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
            is_noting: AtomicBool::new(false),
            elsewhere: Mutex::default(),
            restored: Mutex::default(),
            first: Arc::clone(&first),
            options,
        };
        engine.register(&first);
        let engine = Arc::new(engine);
        let told = Arc::downgrade(&engine);
        engine.handlers().on_failure(move |failure| {
            let mut event = ObjectWriter::new();
            event
                .string("type", "extension_error")
                .string("extensionPath", &failure.handler)
                .string("event", failure.event.name())
                .string("error", &failure.error);
            let event = event.finish();
            told.upgrade().iter().flat_map(|engine| engine.clients()).for_each(|client| client.tell_anyway(&event));
        });
        Ok(engine)
    }

    /// Serves one client until it has nothing more to say and everything is answered.
    pub fn serve(self: &Arc<Self>, input: impl Read, output: impl Write + Send + 'static) {
        let connection = Connection::new(Arc::clone(self), Arc::clone(&self.first), Box::new(output));
        {
            // Those who have gone need no place any more.
            let mut clients = lock(&self.clients);
            clients.retain(|client| client.strong_count() > 0);
            clients.push(Arc::downgrade(&connection));
        }
        self.first.lock().host().start();
        connection.run(input);
    }

    /// Stops what is under way, and tells that the program ends.
    pub fn stop(&self) {
        self.sessions().iter().for_each(|session| session.stop());
        self.clients().iter().for_each(|client| client.leave(Some(FAREWELL)));
    }

    /// Whether a client other than this one is at a session.
    pub(crate) fn others_are_at(&self, session: &Arc<OpenSession>, client: &Connection) -> bool {
        let is_other = |other: &Arc<Connection>| !std::ptr::eq(Arc::as_ptr(other), client) && !other.is_leaving();
        self.clients().iter().any(|other| is_other(other) && Arc::ptr_eq(&other.current(), session))
    }

    /// The sessions that are open.
    pub(crate) fn sessions(&self) -> Vec<Arc<OpenSession>> {
        lock(&self.open).all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Who is asked before something happens and told afterwards.
    pub(crate) fn handlers(&self) -> &Handlers {
        self.options.sessions.handlers()
    }

    /// Begins to note what happens, for those who subscribe. Once is enough.
    pub(crate) fn note_what_happens(self: &Arc<Self>) {
        if self.is_noting.swap(true, Ordering::Relaxed) {
            return;
        }
        let engine = Arc::downgrade(self);
        self.handlers().on(EventSet::from_iter(EventKind::ALL), "subscriptions", move |event, context| {
            if let Some(engine) = engine.upgrade() {
                engine.note(event, context);
            }
            Ok(None)
        });
    }

    /// How many clients there are.
    #[cfg(unix)]
    pub(crate) fn n_clients(&self) -> usize {
        lock(&self.clients).iter().filter(|client| client.strong_count() > 0).count()
    }

    /// A number that no other call gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn clients(&self) -> Vec<Arc<Connection>> {
        lock(&self.clients).iter().filter_map(Weak::upgrade).collect()
    }

    /// The session of a file that exists: the one that is open already, or opened now.
    pub(crate) fn session_at(&self, path: &Path) -> Result<Arc<OpenSession>, Failure> {
        let path = self.absolute(path);
        if let Some(session) = self.opened(&path) {
            return Ok(session);
        }
        let manager = self.options.sessions.open_existing(&path)?;
        if !manager.is_stored() {
            return Err(Failure::not_found(format!("there is no session {}", path.display())));
        }
        Ok(self.enter(SessionHost::new(self.options.sessions.clone(), manager)))
    }

    /// A session that somebody still has, though its file went away: it has come back.
    fn returned(&self, host: &SessionHost) -> Option<Arc<OpenSession>> {
        let (path, id) = (host.session().session_file()?, host.session().session_id());
        let session = self.sessions().into_iter().find(|known| known.path() == Some(path) && known.id() == id)?;
        let mut open = lock(&self.open);
        open.by_path.insert(path.to_path_buf(), Arc::downgrade(&session));
        open.keep(&session);
        Some(session)
    }

    /// A session that was opened by this path and still is.
    pub(crate) fn opened(&self, path: &Path) -> Option<Arc<OpenSession>> {
        let mut open = lock(&self.open);
        let session = open.by_path.get(path).and_then(Weak::upgrade)?;
        open.keep(&session);
        Some(session)
    }

    /// Opens what is at a path as pi's `switch_session` does: a session, or a name for a new one.
    pub(crate) fn open_at(&self, path: &Path, cwd: &Path) -> Result<SessionManager, Failure> {
        open_at(&self.options, &self.absolute(path), cwd)
    }

    /// Makes a session known to all.
    ///
    /// If somebody else has opened it meanwhile, that one counts, so that nobody's entries go unseen.
    pub(crate) fn enter(&self, host: SessionHost) -> Arc<OpenSession> {
        if let Some(session) = host.session().session_file().and_then(|path| self.opened(path)) {
            return session;
        }
        if let Some(session) = self.returned(&host) {
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
            open.keep(session);
        }
    }

    /// Forgets a session whose file went away, so that the next one at its place is read anew.
    pub(crate) fn forget(&self, path: &Path) {
        let mut open = lock(&self.open);
        open.by_path.remove(path);
        open.kept.retain(|session| session.path() != Some(path));
    }

    /// A path as seen from the working directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let path = match path.strip_prefix("~") {
            Ok(rest) => self.options.sessions.environment().home().join(rest),
            Err(_) => self.options.cwd.join(path),
        };
        // Without what a path means as much without, so that one session has one path.
        path.components().collect()
    }

    /// Tells an event of pi's to all whose current session it is about, to the one who asked before it is answered.
    pub(crate) fn tell(&self, session: &Arc<OpenSession>, event: &Json, asker: &Connection) {
        asker.tell_if_current(session, event);
        for client in self.clients() {
            if !std::ptr::eq(Arc::as_ptr(&client), asker) {
                client.tell_later(session, event);
            }
        }
    }
}

impl Opened {
    fn keep(&mut self, session: &Arc<OpenSession>) {
        self.kept.retain(|kept| !Arc::ptr_eq(kept, session));
        self.kept.push(Arc::clone(session));
        if self.kept.len() > MAX_KEPT {
            self.kept.remove(0);
        }
    }
}

fn open_at(options: &Options, path: &Path, cwd: &Path) -> Result<SessionManager, Failure> {
    let manager = options.sessions.open(path, options.session_dir.as_deref(), None).map_err(in_pi_words)?;
    if !manager.is_stored() {
        // A session that is yet to be written runs where we are.
        return Ok(options.sessions.open(path, options.session_dir.as_deref(), Some(cwd))?);
    }
    let stored = manager.header().cwd().unwrap_or_default();
    if !stored.is_empty() && options.sessions.look_at(manager.cwd()).is_none() {
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
    // Whoever panicked while holding it has left whole values behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
