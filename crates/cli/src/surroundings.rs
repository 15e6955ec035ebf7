//! Where a command works: on the user's own sessions, or on the sample.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::ErrorKind;
use sessile::date::{self, LocalZone, When};
use sessile::os::RealOs;
use sessile::settings::{Origin, Settings};
use sessile::{
    Durability, Environment, EventKind, HOOK_VARIABLE, Handlers, HookFolder, ListOptions, ReferenceError, Sample,
    SessionError, SessionEvent, SessionInfo, SessionManager, Sessions, WriteOptions,
};
use tempfile::TempDir;

use crate::args::{SamplePlace, SessionArg};
use crate::failure::Failure;
use crate::screen::{Line, NAMED, Screen};

/// Where sessions are found, and relative to what.
pub(crate) struct Surroundings {
    /// The user's own world.
    environment: Arc<dyn Environment>,
    /// The way to the sessions, which may be those of the sample.
    pub(crate) sessions: Sessions,
    sample: Option<SampleStore>,
    /// What the user has set.
    pub(crate) settings: Settings,
    /// Into which sessions entries were put back, and how many.
    recovered: Arc<Mutex<Vec<(PathBuf, usize)>>>,
}

struct SampleStore {
    sample: Sample,
    /// The flag that leads to it.
    flag: String,
    /// Removes the directory in the end.
    temporary: Option<TempDir>,
}

impl Surroundings {
    /// The user's own sessions, or a sample in a directory, or a sample that goes away again.
    pub(crate) fn new(
        environment: Arc<dyn Environment>,
        sample: Option<&SamplePlace>,
        settings: Settings,
    ) -> Result<Self, Failure> {
        let sample = sample.map(|place| SampleStore::new(environment.as_ref(), place)).transpose()?;
        let sessions = match &sample {
            Some(store) => store.sample.sessions(),
            None => Sessions::shared(Arc::clone(&environment)),
        };
        // Where the leaf was moved to, by this program, is where it goes on.
        let sessions = match sessions.environment().state_dir().filter(|_| settings.remembers_leaf()) {
            Some(state) => sessions.remembering_leaves(state),
            None => sessions,
        };
        let writing = WriteOptions { durability: settings.durability(), ..WriteOptions::default() };
        let recovered = note_recovered(sessions.handlers());
        Ok(Self { environment, sessions: sessions.writing(writing), sample, settings, recovered })
    }

    /// From now on the user's hooks are told of what is done to sessions.
    ///
    /// Not of what is done to the sample, nor by a hook: that would have no end.
    pub(crate) fn use_hooks(&mut self) {
        let is_hook = self.environment.variable(HOOK_VARIABLE).is_some_and(|event| !event.is_empty());
        if is_hook || self.sample.is_some() {
            return;
        }
        if let Some(folder) = HookFolder::of(&self.settings, self.environment.as_ref(), Arc::new(RealOs)) {
            folder.register(self.sessions.handlers());
        }
    }

    /// Warns of hooks that have failed.
    pub(crate) fn tell_failed_hooks(&self, err: &mut Screen<'_>) -> std::io::Result<()> {
        self.sessions.handlers().take_failures().iter().try_for_each(|failure| warn(err, &failure.error))
    }

    /// Says that entries were put back that another program had destroyed.
    pub(crate) fn tell_recovered(&self, err: &mut Screen<'_>) -> std::io::Result<()> {
        let recovered = std::mem::take(&mut *self.recovered.lock().unwrap_or_else(PoisonError::into_inner));
        recovered.iter().try_for_each(|(path, n_entries)| {
            let session = self.short(&path.to_string_lossy());
            let (entries, them) = if *n_entries == 1 { ("entry", "it") } else { ("entries", "them") };
            let why = format!("written less than an hour ago, and another program had removed {them}");
            warn(err, &format!("put {n_entries} {entries} back into {session}: {why}"))
        })
    }

    /// The sample beside the user's own world.
    pub(crate) fn with_sample(&self) -> Result<Self, Failure> {
        Self::new(Arc::clone(&self.environment), Some(&SamplePlace::Terminal), self.settings.clone())
    }

    /// The user's own world, also where sessions are those of the sample.
    pub(crate) fn own_environment(&self) -> &dyn Environment {
        self.environment.as_ref()
    }

    /// The same, for threads of their own.
    pub(crate) fn shared_environment(&self) -> Arc<dyn Environment> {
        Arc::clone(&self.environment)
    }

    /// The sample, if that is where we are.
    pub(crate) fn sample(&self) -> Option<&Sample> {
        self.sample.as_ref().map(|store| &store.sample)
    }

    /// How a further command on the same sessions begins.
    pub(crate) fn program(&self) -> String {
        self.sample.as_ref().map_or_else(|| "sessile".to_owned(), |sample| format!("sessile {}", sample.flag))
    }

    /// The working directory whose sessions are meant.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.sessions.environment().current_dir()
    }

    /// The time by which ages are told.
    pub(crate) fn now_ms(&self) -> i64 {
        self.sessions.environment().now_ms()
    }

    /// A time that the user gave; none if it is none.
    pub(crate) fn when(&self, text: &str) -> Option<When> {
        date::when(text, self.now_ms(), &Zone(self.sessions.environment()))
    }

    /// A time by the local clock, to the minute.
    pub(crate) fn local_time(&self, ms: i64) -> String {
        let text = date::to_iso(date::to_local(ms, &Zone(self.sessions.environment())));
        text.get(..16).unwrap_or_default().replace('T', " ")
    }

    /// A path in short, with `~` for the home directory.
    pub(crate) fn short(&self, path: &str) -> String {
        let home = self.sessions.environment().home();
        // Without what a path means as much without, such as `./`.
        let path: PathBuf = Path::new(path).components().collect();
        match path.strip_prefix(&home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) if home.parent().is_some() => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }

    /// Tells that a write has brought a file to the current version, and where the original is.
    pub(crate) fn tell_upgrade(&self, original: Option<&Path>, err: &mut Screen<'_>) -> std::io::Result<()> {
        let Some(original) = original else { return Ok(()) };
        let kept = self.short(&original.to_string_lossy());
        err.print_whole(&Line::new().text(&format!("the file was brought to version 3; the original is {kept}")))
    }

    /// The directory that holds the sessions, if it is not where pi keeps them by default.
    pub(crate) fn session_dir(&self) -> Option<PathBuf> {
        let dir = self.settings.session_dir().filter(|dir| !dir.as_os_str().is_empty())?;
        match &self.sample {
            None => Some(dir),
            // The sample is no place of the user's, so only what is said on the spot counts: relative to where the user is.
            Some(_) => self.has_given_dir().then(|| self.environment.current_dir().join(dir)),
        }
    }

    /// Whether a flag says where the sessions are.
    pub(crate) fn has_given_dir(&self) -> bool {
        let origin = self.settings.get("session_dir").map(|setting| &setting.origin);
        origin.is_ok_and(|origin| matches!(origin, Origin::Flag(_)))
    }

    /// The flag that says where the sessions are, as it would be typed again behind other words.
    pub(crate) fn given_dir_words(&self) -> String {
        let dir = self.settings.session_dir().filter(|_| self.has_given_dir());
        dir.map(|dir| format!(" --session-dir {}", dir.display())).unwrap_or_default()
    }

    /// Whether there is such a directory, seen from where the user is.
    pub(crate) fn is_directory(&self, dir: &Path) -> bool {
        self.environment.current_dir().join(dir).is_dir()
    }

    /// Opens the session that a command is about.
    pub(crate) fn open(&self, arg: &SessionArg, err: &mut Screen<'_>) -> Result<SessionManager, Failure> {
        let path = self.find(arg)?;
        // Commands that show something must not change anything.
        let session = self.sessions.clone().read_only().open_existing(&path)?;
        // An empty file may become a session, as in pi, but it is none yet: what it would show is made up.
        if !session.is_stored() {
            return Err(SessionError::NotASession { path }.into());
        }
        // Not worth failing for if it cannot be told.
        drop(warn_of_damage(&session, err));
        Ok(session)
    }

    /// The file of the session that a command is about.
    pub(crate) fn find(&self, arg: &SessionArg) -> Result<PathBuf, Failure> {
        let usage = |kind, what: &str| Err(Failure::misuse(kind, what));
        match (&arg.session, &arg.chosen, arg.newest) {
            (Some(_), Some(_), _) | (Some(_), _, true) => {
                usage(ErrorKind::ArgumentConflict, "the session is given twice, by its place and by a flag")
            }
            (Some(wanted), None, false) | (None, Some(wanted), _) => self.find_session(wanted),
            (None, None, true) if self.sample.is_none() => self.most_recent(),
            (None, None, _) if let Some(sample) = self.sample() => nth_of_sample(self, sample, "1"),
            _ => {
                let what = "the SESSION is missing; -c or @latest is the newest, and `sessile list` shows them";
                usage(ErrorKind::MissingRequiredArgument, what)
            }
        }
    }

    /// The file of a session for a screen; none if no session is given, so that it is picked on the screen.
    #[cfg(feature = "tui")]
    pub(crate) fn find_unless_picked(&self, arg: &SessionArg) -> Result<Option<PathBuf>, Failure> {
        let is_given = arg.session.is_some() || arg.chosen.is_some() || arg.newest;
        is_given.then(|| self.find(arg)).transpose()
    }

    /// A path as seen from where the user is; without one, the working directory whose sessions are meant.
    pub(crate) fn directory(&self, path: Option<&Path>) -> PathBuf {
        path.map_or_else(|| self.cwd(), |path| self.environment.current_dir().join(path))
    }

    /// The sessions, to be moved or deleted; with `force` also those that other programs use.
    pub(crate) fn sessions_to_take(&self, force: bool) -> Sessions {
        if force { self.sessions.clone().despite_users() } else { self.sessions.clone() }
    }

    /// The sessions, in which everything that is written stays in memory.
    pub(crate) fn dry_sessions(&self) -> Sessions {
        let writing = WriteOptions { durability: Durability::Memory, ..WriteOptions::default() };
        let sessions = self.sessions.clone().telling(Handlers::new());
        sessions.writing(writing).noting_operations(None).forgetting_leaves()
    }

    /// Whether places in a list are known to later commands: not of a sample that goes away again.
    pub(crate) fn notes_places(&self) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.temporary.is_none())
    }

    /// The file of the session that a word stands for.
    pub(crate) fn find_session(&self, wanted: &Path) -> Result<PathBuf, Failure> {
        let text = wanted.to_string_lossy();
        if let Some(place) = text.strip_prefix('@')
            && text != "@latest"
        {
            return self.find_listed(wanted, place);
        }
        // Relative to where the user is, not to where the sample pretends to be.
        let wanted = if sessile::is_path(wanted) && self.sample.is_some() {
            self.environment.current_dir().join(wanted)
        } else {
            wanted.to_path_buf()
        };
        Ok(self.sessions.find_session(wanted, self.cwd(), self.session_dir().as_deref())?)
    }

    /// The session at a place of the last list in this terminal.
    fn find_listed(&self, wanted: &Path, place: &str) -> Result<PathBuf, Failure> {
        let own = Sessions::shared(self.shared_environment());
        let listed = || own.find_session(wanted, self.environment.current_dir(), self.listed_dir().as_deref());
        let Some(sample) = self.sample() else { return Ok(listed()?) };
        match self.notes_places().then(listed) {
            // The sample is small and always the same, so its places count without a list.
            None | Some(Err(ReferenceError::NoList { .. } | ReferenceError::OtherStore { .. })) => {
                nth_of_sample(self, sample, place)
            }
            Some(found) => Ok(found?),
        }
    }

    /// Notes which session has which place, for later commands. Not being able to is not a reason not to list.
    pub(crate) fn note_places<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) {
        let own = Sessions::shared(self.shared_environment());
        drop(own.note_list(paths, self.listed_dir().as_deref()));
    }

    /// Notes that a command has appended to a session, which an undo cannot take back.
    pub(crate) fn note_change(&self, command: &str, session: &SessionManager) {
        if let Some(path) = session.session_file() {
            self.sessions.note_change(command, path);
        }
    }

    /// The directory that lists are of, as the user's own world sees it.
    fn listed_dir(&self) -> Option<PathBuf> {
        self.session_dir().or_else(|| self.sample().map(|sample| sample.agent_dir.join("sessions")))
    }

    /// Whether there is not a single session, whatever its directory.
    #[cfg(feature = "tui")]
    pub(crate) fn is_store_empty(&self) -> Result<bool, Failure> {
        Ok(!self.sessions.has_sessions(self.session_dir().as_deref())?)
    }

    /// The session that pi would continue here.
    fn most_recent(&self) -> Result<PathBuf, Failure> {
        let found = self.sessions.most_recent(self.cwd(), self.session_dir().as_deref())?;
        found.ok_or_else(|| Failure::NothingToContinue { cwd: self.short(&self.cwd().to_string_lossy()) })
    }
}

/// Notes from now on into which sessions entries are put back, and how many.
fn note_recovered(handlers: &Handlers) -> Arc<Mutex<Vec<(PathBuf, usize)>>> {
    let recovered: Arc<Mutex<Vec<(PathBuf, usize)>>> = Arc::default();
    let noted = Arc::clone(&recovered);
    handlers.on(EventKind::Recovered, "report", move |event, context| {
        if let (SessionEvent::Recovered { entry_ids, .. }, Some(path)) = (event, &context.session_file) {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), entry_ids.len()));
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
    fn new(environment: &dyn Environment, place: &SamplePlace) -> Result<Self, Failure> {
        let refused = |path: &Path, reason| Failure::BadSamplePlace { path: path.to_path_buf(), reason };
        let agent_dir = real(&environment.current_dir().join(sessile::agent_dir(environment)));
        let kept = match place {
            SamplePlace::Dir(dir) => Some(environment.current_dir().join(dir)),
            SamplePlace::Terminal => kept_for_terminal(environment),
        };
        let (dir, temporary) = if let Some(dir) = kept {
            (dir, None)
        } else {
            let temporary = tempfile::Builder::new().prefix("sessile-sample-").tempdir();
            let temporary = temporary.map_err(Failure::NoTemporary)?;
            (temporary.path().to_path_buf(), Some(temporary))
        };
        if real(&dir).starts_with(&agent_dir) {
            return Err(refused(&dir, "that is where your own sessions are"));
        }
        if dir.symlink_metadata().is_ok() && !dir.is_dir() {
            return Err(refused(&dir, "it is not a directory"));
        }
        let sample = sessile::keep_sample(&dir)?.ok_or_else(|| refused(&dir, "it is not empty"))?;
        let flag = match place {
            SamplePlace::Terminal => "--sample".to_owned(),
            SamplePlace::Dir(dir) => format!("--sample={}", dir.display()),
        };
        Ok(Self { sample, flag, temporary })
    }
}

/// The directory of this terminal's sample, if there is a terminal and a place for it. Those of others go after a while.
fn kept_for_terminal(environment: &dyn Environment) -> Option<PathBuf> {
    let samples = environment.state_dir()?.join("samples");
    let dir = samples.join(format!("{:016x}", sessile::location::fingerprint(environment.terminal()?.as_bytes())));
    if !dir.exists() {
        sessile::drop_old_samples(&samples);
    }
    Some(dir)
}

/// A path with all symbolic links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(mut real), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing)) {
            for part in rest.components() {
                match part {
                    // What does not exist is no link, so its parent is the one before it.
                    Component::ParentDir => drop(real.pop()),
                    other => real.push(other),
                }
            }
            return real;
        }
    }
    path.to_path_buf()
}

/// The session at a place of the sample's whole list, which is noted: the place must not become that of another one.
fn nth_of_sample(surroundings: &Surroundings, sample: &Sample, place: &str) -> Result<PathBuf, Failure> {
    let mut sessions: Vec<SessionInfo> = sample.sessions().list_all(None, &mut ListOptions::default())?;
    // The list leaves archived ones out.
    sessions.retain(|session| !session.is_archived);
    if surroundings.notes_places() {
        surroundings.note_places(sessions.iter().map(|session| session.path.as_path()));
    }
    let n_sessions = sessions.len();
    let index = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
    match index.and_then(|index| sessions.into_iter().nth(index)) {
        Some(session) => Ok(session.path),
        None => Err(Failure::NoSuchSample { wanted: format!("@{place}"), n_sessions }),
    }
}

/// Says that there is nothing to show, to people who would otherwise see nothing at all.
pub(crate) fn note_if_empty(session: &SessionManager, err: &mut Screen<'_>) {
    if session.outline().n_entries() == 0 {
        // Not worth failing for if it cannot be told.
        drop(err.print_whole(&Line::new().text("this session has no entries")));
    }
}

/// Says that something of a file cannot be seen, because it cannot be read.
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

/// Tells of something that is no error.
pub(crate) fn warn(err: &mut Screen<'_>, text: &str) -> std::io::Result<()> {
    err.print_whole(&Line::new().styled(NAMED, "warning:").text(" ").text(text))
}
