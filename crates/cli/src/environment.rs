//! Where a command works: on the user's own sessions, or on the sample.

use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::error::ErrorKind;
use sessile::date::{self, LocalZone, TimeRange, Timestamp};
use sessile::event::{EventKind, Handlers, SessionEvent};
use sessile::hooks::{HOOK_VARIABLE, HookFolder};
use sessile::list::SessionInfo;
use sessile::os::{Os, RealOs};
use sessile::reference::ReferenceError;
use sessile::sample::Sample;
use sessile::settings::{Origin, Settings};
use sessile::write::{Durability, WriteOptions};
use sessile::{Environment, SessionError, SessionManager, Sessions};
use tempfile::TempDir;

use crate::args::{SampleLocation, SessionArg};
use crate::failure::Failure;
use crate::screen::{Line, NAMED, Screen};

/// Where to find sessions, and the base of relative paths.
pub(crate) struct CommandEnvironment {
    /// The user's own environment.
    environment: Arc<dyn Environment>,
    /// Access to the sessions: the user's, or the sample's.
    pub(crate) sessions: Sessions,
    sample: Option<SampleStore>,
    /// The user's settings.
    pub(crate) settings: Settings,
    /// The remote of the flag.
    remote: Option<String>,
    /// The sessions into which entries were recovered, and the number of entries.
    recovered: Arc<Mutex<Vec<(PathBuf, usize)>>>,
    /// What went wrong with the sessions of other members, and was not printed yet.
    pub(crate) team_troubles: Arc<Mutex<Vec<String>>>,
}

struct SampleStore {
    sample: Sample,
    /// The flag that selects it.
    flag: String,
    /// Removes the directory when dropped.
    temporary: Option<TempDir>,
}

impl CommandEnvironment {
    /// Selects the user's own sessions, a sample in a directory, or a temporary sample.
    pub(crate) fn new(
        environment: Arc<dyn Environment>,
        sample: Option<&SampleLocation>,
        settings: Settings,
    ) -> Result<Self, Failure> {
        let sample = sample.map(|location| SampleStore::new(environment.as_ref(), location)).transpose()?;
        let sessions = match &sample {
            Some(store) => store.sample.sessions(),
            None => Sessions::shared(Arc::clone(&environment)),
        };
        // If this program moved the leaf, the next command continues there.
        let sessions = match sessions.environment().state_dir().filter(|_| settings.remembers_leaf()) {
            Some(state) => sessions.remembering_leaves(state),
            None => sessions,
        };
        let writing = WriteOptions { durability: settings.durability(), ..WriteOptions::default() };
        let recovered = collect_recovered(sessions.handlers());
        let (sessions, team_troubles) = (sessions.writing(writing), Arc::default());
        let mut new = Self { environment, sessions, sample, settings, remote: None, recovered, team_troubles };
        if let Some(dir) = new.session_dir() {
            new.sessions = new.sessions.with_session_dir(dir);
        }
        Ok(new)
    }

    /// Sets the remote of the flag.
    pub(crate) fn use_remote(&mut self, name: Option<&str>) {
        self.remote = name.map(str::to_owned);
    }

    /// Whether the command uses a remote.
    pub(crate) fn has_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns the remote of the flag.
    #[cfg(feature = "remote")]
    pub(crate) fn remote(&self) -> Option<&str> {
        self.remote.as_deref()
    }

    /// Runs the user's hooks for changes from now on.
    ///
    /// Not for changes to the sample, nor for changes by a hook, which would recurse forever.
    pub(crate) fn use_hooks(&mut self) {
        let is_hook = self.environment.variable(HOOK_VARIABLE).is_some_and(|event| !event.is_empty());
        if is_hook || self.sample.is_some() {
            return;
        }
        if let Some(folder) = HookFolder::of(&self.settings, self.environment.as_ref(), Arc::new(RealOs)) {
            folder.register(self.sessions.handlers());
        }
    }

    /// Warns about failed hooks.
    pub(crate) fn report_failed_hooks(&self, err: &mut Screen<'_>) -> std::io::Result<()> {
        self.sessions.handlers().take_failures().iter().try_for_each(|failure| warn(err, &failure.error))
    }

    /// Reports entries that another program had removed and that were recovered.
    pub(crate) fn report_recovered(&self, err: &mut Screen<'_>) -> std::io::Result<()> {
        let recovered = std::mem::take(&mut *self.recovered.lock().unwrap_or_else(PoisonError::into_inner));
        recovered.iter().try_for_each(|(path, n_entries)| {
            let session = self.short(&path.to_string_lossy());
            let entries = if *n_entries == 1 { "entry" } else { "entries" };
            let reason = "written less than an hour ago and removed by another program";
            warn(err, &format!("restored {n_entries} {entries} in {session}: {reason}"))
        })
    }

    /// How long a command may wait before it warns about what went wrong with the sessions of other members.
    pub(crate) fn trouble_interval(&self) -> Duration {
        if self.remote.is_some() { Duration::from_millis(500) } else { Duration::MAX }
    }

    /// Warns about what went wrong with the sessions of other members since the last call.
    pub(crate) fn report_team_troubles(&self, err: &mut Screen<'_>) -> std::io::Result<()> {
        let troubles = std::mem::take(&mut *self.team_troubles.lock().unwrap_or_else(PoisonError::into_inner));
        troubles.iter().try_for_each(|trouble| warn(err, trouble))
    }

    /// Returns the sample, with the user's own environment.
    pub(crate) fn with_sample(&self) -> Result<Self, Failure> {
        Self::new(Arc::clone(&self.environment), Some(&SampleLocation::Terminal), self.settings.clone())
    }

    /// Returns the user's own environment, even if the command works on the sample.
    pub(crate) fn own_environment(&self) -> &dyn Environment {
        self.environment.as_ref()
    }

    /// Returns the user's own environment for another thread.
    pub(crate) fn shared_environment(&self) -> Arc<dyn Environment> {
        Arc::clone(&self.environment)
    }

    /// Returns the sample, if it is in use.
    pub(crate) fn sample(&self) -> Option<&Sample> {
        self.sample.as_ref().map(|store| &store.sample)
    }

    /// Returns how another command on the same sessions starts.
    pub(crate) fn program(&self) -> String {
        self.sample.as_ref().map_or_else(|| "sessile".to_owned(), |sample| format!("sessile {}", sample.flag))
    }

    /// Returns the working directory whose sessions are selected.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.sessions.environment().current_dir()
    }

    /// Returns the current time, for showing ages.
    pub(crate) fn now(&self) -> Timestamp {
        self.sessions.environment().now()
    }

    /// Parses a time given by the user; `None` if it is invalid.
    pub(crate) fn parse_time(&self, text: &str) -> Option<TimeRange> {
        sessile::time::parse_range(self.sessions.environment(), text)
    }

    /// Formats a local time to the minute.
    pub(crate) fn local_time(&self, time: Timestamp) -> String {
        let text = date::to_iso(date::to_local(time, &Zone(self.sessions.environment())));
        text.get(..16).unwrap_or_default().replace('T', " ")
    }

    /// Shortens a path with `~` for the home directory.
    pub(crate) fn short(&self, path: &str) -> String {
        let home = self.sessions.environment().home();
        // Removes redundant components such as `./`.
        let path: PathBuf = Path::new(path).components().collect();
        match path.strip_prefix(&home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) if home.parent().is_some() => format!("~{MAIN_SEPARATOR}{}", rest.display()),
            _ => path.display().to_string(),
        }
    }

    /// Reports that a write has migrated a file to the current version, and where the original is.
    pub(crate) fn report_upgrade(&self, original: Option<&Path>, err: &mut Screen<'_>) -> std::io::Result<()> {
        let Some(original) = original else { return Ok(()) };
        let kept = self.short(&original.to_string_lossy());
        err.print_whole(&Line::new().text(&format!("the file was migrated to version 3; the original is {kept}")))
    }

    /// Returns the directory that holds the sessions, if it is not pi's default.
    pub(crate) fn session_dir(&self) -> Option<PathBuf> {
        let dir = self.settings.session_dir().filter(|dir| !dir.as_os_str().is_empty())?;
        match &self.sample {
            None => Some(dir),
            // The user's settings do not apply to the sample; only a flag does, relative to the user's directory.
            Some(_) => self.has_session_dir_flag().then(|| self.environment.current_dir().join(dir)),
        }
    }

    /// Whether a flag gives the directory of the sessions.
    pub(crate) fn has_session_dir_flag(&self) -> bool {
        let origin = self.settings.get("session_dir").map(|setting| &setting.origin);
        origin.is_ok_and(|origin| matches!(origin, Origin::Flag(_)))
    }

    /// Returns the flag with the directory of the sessions, as typed, to append to other words.
    pub(crate) fn session_dir_flag(&self) -> String {
        let dir = self.settings.session_dir().filter(|_| self.has_session_dir_flag());
        dir.map(|dir| format!(" --session-dir {}", dir.display())).unwrap_or_default()
    }

    /// Whether a directory exists, relative to the user's directory.
    pub(crate) fn is_directory(&self, dir: &Path) -> bool {
        self.environment.current_dir().join(dir).is_dir()
    }

    /// Opens the session that a command is about.
    pub(crate) fn open(&self, arg: &SessionArg, err: &mut Screen<'_>) -> Result<SessionManager, Failure> {
        let path = self.find(arg)?;
        // Commands that show something must not change anything.
        let session = self.sessions.clone().read_only().open(&path)?;
        // An empty file may become a session, as in pi, but is not one yet: its contents would be made up.
        if !session.is_stored() {
            return Err(SessionError::NotASession { path }.into());
        }
        // A warning that cannot be printed is not an error.
        drop(warn_of_damage(&session, err));
        Ok(session)
    }

    /// Returns the file of the session that a command is about.
    pub(crate) fn find(&self, arg: &SessionArg) -> Result<PathBuf, Failure> {
        let usage = |kind, message: &str| Err(Failure::misuse(kind, message));
        match (&arg.session, &arg.chosen, arg.newest) {
            (Some(_), Some(_), _) | (Some(_), _, true) => {
                usage(ErrorKind::ArgumentConflict, "the session is given twice, as an argument and by a flag")
            }
            (Some(reference), None, false) | (None, Some(reference), _) => self.find_session(reference),
            (None, None, true) if self.sample.is_none() => self.most_recent(),
            (None, None, _) if let Some(sample) = self.sample() => nth_of_sample(self, sample, "1"),
            _ => {
                let message = "SESSION is missing; use -c or @latest for the newest, or `sessile list` to see all";
                usage(ErrorKind::MissingRequiredArgument, message)
            }
        }
    }

    /// Returns the file of a session for a screen; `None` if no session is given and the user picks one there.
    #[cfg(feature = "tui")]
    pub(crate) fn find_unless_picked(&self, arg: &SessionArg) -> Result<Option<PathBuf>, Failure> {
        let is_given = arg.session.is_some() || arg.chosen.is_some() || arg.newest;
        is_given.then(|| self.find(arg)).transpose()
    }

    /// Resolves a path against the user's directory; without one, returns the working directory whose sessions are
    /// selected.
    pub(crate) fn directory(&self, path: Option<&Path>) -> PathBuf {
        match path {
            None => self.cwd(),
            // A path without a drive means the drive of the sessions' own directory. The sample has none.
            Some(path) if path.has_root() => path.to_path_buf(),
            Some(path) => self.environment.current_dir().join(path),
        }
    }

    /// Returns the sessions to search for relatives of a file: all sessions of the store and, if the file is not in the
    /// store, the sessions in its directory.
    pub(crate) fn relatives(&self, path: &Path) -> Result<Vec<SessionInfo>, Failure> {
        let mut others = self.sessions.list_all()?;
        if !others.iter().any(|other| other.path == path) {
            let beside = self.sessions.clone().with_session_dir(path.parent().unwrap_or(path));
            others.extend(beside.list_all()?);
        }
        Ok(others)
    }

    /// Returns the sessions for moving or deleting; with `force`, even if other programs use them.
    pub(crate) fn sessions_for_removal(&self, force: bool) -> Sessions {
        if force { self.sessions.clone().ignoring_users() } else { self.sessions.clone() }
    }

    /// Returns the sessions for a dry run: all writes stay in memory.
    pub(crate) fn dry_sessions(&self) -> Sessions {
        let writing = WriteOptions { durability: Durability::Memory, ..WriteOptions::default() };
        let sessions = self.sessions.clone().with_handlers(Handlers::new());
        sessions.writing(writing).recording_operations(None).forgetting_leaves()
    }

    /// Whether later commands know list positions. They do not for a temporary sample.
    pub(crate) fn stores_positions(&self) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.temporary.is_none())
    }

    /// Returns the file of the session that a word refers to.
    pub(crate) fn find_session(&self, reference: &Path) -> Result<PathBuf, Failure> {
        let text = reference.to_string_lossy();
        if let Some(position) = text.strip_prefix('@')
            && text != "@latest"
        {
            return self.find_listed(reference, position);
        }
        // Relative to the user's directory, not to the sample's.
        let reference = if sessile::reference::is_path(reference) && self.sample.is_some() {
            self.environment.current_dir().join(reference)
        } else {
            reference.to_path_buf()
        };
        self.find_and_fetch(&reference)
    }

    /// Finds a session; one of another member gets its file.
    fn find_and_fetch(&self, reference: &Path) -> Result<PathBuf, Failure> {
        let path = self.sessions.find_session(reference, self.cwd())?;
        self.sessions.fetch(&path)?;
        Ok(path)
    }

    /// Returns the session at a position of the last list in this terminal.
    fn find_listed(&self, reference: &Path, position: &str) -> Result<PathBuf, Failure> {
        let Some(sample) = self.sample() else { return self.find_and_fetch(reference) };
        let own = self.own_sessions();
        let listed = || own.find_session(reference, self.environment.current_dir());
        match self.stores_positions().then(listed) {
            // The sample is small and constant, so its positions work without a list.
            None | Some(Err(ReferenceError::NoList { .. } | ReferenceError::OtherStore { .. })) => {
                nth_of_sample(self, sample, position)
            }
            Some(result) => Ok(result?),
        }
    }

    /// Stores the list position of each session for later commands. A failure does not prevent listing.
    pub(crate) fn store_positions<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) {
        drop(self.own_sessions().note_list(paths));
    }

    /// Records that a command has appended to a session, which undo cannot reverse.
    pub(crate) fn record_change(&self, command: &str, session: &SessionManager) {
        if let Some(path) = session.session_file() {
            self.sessions.note_change(command, path);
        }
    }

    /// Returns the listed sessions, in the user's own environment, which has the positions of the last list.
    fn own_sessions(&self) -> Sessions {
        let dir = self.session_dir().or_else(|| self.sample().map(|sample| sample.agent_dir.join("sessions")));
        Sessions::shared(self.shared_environment()).with_session_dir(dir.unwrap_or_default())
    }

    /// Whether the store has no sessions in any directory.
    #[cfg(feature = "tui")]
    pub(crate) fn is_store_empty(&self) -> Result<bool, Failure> {
        Ok(!self.sessions.has_sessions()?)
    }

    /// Returns the session that pi would continue here.
    fn most_recent(&self) -> Result<PathBuf, Failure> {
        let path = self.sessions.most_recent(self.cwd())?;
        path.ok_or_else(|| Failure::NothingToContinue { cwd: self.short(&self.cwd().to_string_lossy()) })
    }
}

/// Registers a handler that collects recovered sessions and the number of entries.
fn collect_recovered(handlers: &Handlers) -> Arc<Mutex<Vec<(PathBuf, usize)>>> {
    let recovered: Arc<Mutex<Vec<(PathBuf, usize)>>> = Arc::default();
    let collected = Arc::clone(&recovered);
    handlers.on(EventKind::Recovered, "report", move |event, context| {
        if let (SessionEvent::Recovered { entry_ids, .. }, Some(path)) = (event, &context.session_file) {
            collected.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), entry_ids.len()));
        }
        Ok(None)
    });
    recovered
}

/// The time zone of an environment.
struct Zone<'z>(&'z dyn Environment);

impl LocalZone for Zone<'_> {
    fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
        self.0.local_offset_ms(local_ms)
    }
}

impl SampleStore {
    fn new(environment: &dyn Environment, location: &SampleLocation) -> Result<Self, Failure> {
        let refused = |path: &Path, reason| Failure::BadSampleDirectory { path: path.to_path_buf(), reason };
        let agent_dir = resolve_links(&environment.current_dir().join(sessile::directory::agent_dir(environment)));
        let kept = match location {
            SampleLocation::Dir(dir) => Some(environment.current_dir().join(dir)),
            SampleLocation::Terminal => kept_for_terminal(environment),
        };
        let (dir, temporary) = if let Some(dir) = kept {
            (dir, None)
        } else {
            let temporary = tempfile::Builder::new().prefix("sessile-sample-").tempdir();
            let temporary = temporary.map_err(Failure::NoTemporary)?;
            (temporary.path().to_path_buf(), Some(temporary))
        };
        if resolve_links(&dir).starts_with(&agent_dir) {
            return Err(refused(&dir, "your own sessions are stored there"));
        }
        if dir.symlink_metadata().is_ok() && !dir.is_dir() {
            return Err(refused(&dir, "it is not a directory"));
        }
        let sample = sessile::sample::keep_sample(&dir)?.ok_or_else(|| refused(&dir, "it is not empty"))?;
        let flag = match location {
            SampleLocation::Terminal => "--sample".to_owned(),
            SampleLocation::Dir(dir) => format!("--sample={}", dir.display()),
        };
        Ok(Self { sample, flag, temporary })
    }
}

/// Returns the directory of this terminal's sample, if there is a terminal and a state directory. Old samples of other
/// terminals are removed.
fn kept_for_terminal(environment: &dyn Environment) -> Option<PathBuf> {
    let samples = environment.state_dir()?.join("samples");
    let dir =
        samples.join(format!("{:016x}", sessile::format::location::fingerprint(environment.terminal()?.as_bytes())));
    if !dir.exists() {
        sessile::sample::drop_old_samples(&samples);
    }
    Some(dir)
}

/// Resolves all symbolic links of a path, as far as it exists.
fn resolve_links(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(mut resolved), Ok(rest)) = (RealOs.real_path(existing), path.strip_prefix(existing)) {
            for part in rest.components() {
                match part {
                    // A path that does not exist is not a link, so `..` removes the last component.
                    Component::ParentDir => drop(resolved.pop()),
                    other => resolved.push(other),
                }
            }
            return resolved;
        }
    }
    path.to_path_buf()
}

/// Returns the session at a position of the sample's whole list, and stores the list, so that the position keeps
/// its meaning.
fn nth_of_sample(env: &CommandEnvironment, sample: &Sample, position: &str) -> Result<PathBuf, Failure> {
    let mut sessions: Vec<SessionInfo> = sample.sessions().list_all()?;
    // The list leaves archived sessions out.
    sessions.retain(|session| !session.is_archived);
    if env.stores_positions() {
        env.store_positions(sessions.iter().map(|session| session.path.as_path()));
    }
    let n_sessions = sessions.len();
    let index = position.parse::<usize>().ok().and_then(|position| position.checked_sub(1));
    match index.and_then(|index| sessions.into_iter().nth(index)) {
        Some(session) => Ok(session.path),
        None => Err(Failure::NoSuchSample { reference: format!("@{position}"), n_sessions }),
    }
}

/// Says that a session has no entries, since the output is empty.
pub(crate) fn report_if_empty(session: &SessionManager, err: &mut Screen<'_>) {
    if session.outline().n_entries() == 0 {
        // A message that cannot be printed is not an error.
        drop(err.print_whole(&Line::new().text("this session has no entries")));
    }
}

/// Warns that parts of a file are unreadable and not shown.
fn warn_of_damage(session: &SessionManager, err: &mut Screen<'_>) -> std::io::Result<()> {
    let mut unreadable = session.outline().unreadable();
    if let Some(first) = unreadable.next() {
        let more = match unreadable.count() {
            0 => String::new(),
            n_more => format!(", and {n_more} more like it"),
        };
        warn(err, &format!("{first}{more}"))?;
    }
    match session.cut_off() {
        Some(cut) => warn(err, &format!("the conversation is cut off at {cut}")),
        None => Ok(()),
    }
}

/// Prints a warning.
pub(crate) fn warn(err: &mut Screen<'_>, text: &str) -> std::io::Result<()> {
    err.print_whole(&Line::new().styled(NAMED, "warning:").text(" ").text(text))
}
