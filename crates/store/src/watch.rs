//! Wakes a reader when a file may have changed.
//!
//! The system reports changes of the directory, because replacing or creating a file is a change of the directory, not
//! of the file. A report is only ever a reason to look, and there are periodic looks without a report. So lost, merged
//! or spurious events, a full queue, a file system without events and an exhausted watch limit cost time, but never an
//! entry.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use sessile_core::location::is_session_file_name;

use crate::os::{Os, RealOs};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};

/// The polling interval where the system reports no events.
const POLLING: Duration = Duration::from_millis(100);

/// The polling interval where it does.
const SAFETY_NET: Duration = Duration::from_secs(1);

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Look at the file: it may have changed, or the last look was a while ago.
    Changed,
    /// The timeout has passed.
    Timeout,
}

/// Wakes the reader of one file.
#[derive(Debug)]
pub struct Watch {
    /// Kept alive, because dropping it ends the events. None if the system reports no events.
    watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
    /// Keeps the channel open if there is no watcher.
    sender: SyncSender<()>,
    /// Set when the directory itself was removed, after which there are no more events.
    is_lost: Arc<AtomicBool>,
    /// When to look without an event.
    due: Instant,
}

impl Watch {
    /// Watches a file, which need not exist. Falls back to polling if the system provides no watch.
    pub fn new(path: &Path) -> Self {
        let mut watch = Self::polling();
        watch.watcher = watcher(path, &watch).ok();
        watch.due = Instant::now() + watch.interval();
        watch
    }

    /// Watches for sessions in directories, and for anything that appears or disappears in the first of them.
    ///
    /// Falls back to polling for all of them if the system provides no watch for one.
    pub fn of_sessions(directories: &[PathBuf]) -> Self {
        let mut watch = Self::polling();
        watch.watcher = directories_watcher(directories, &watch).ok();
        watch.due = Instant::now() + watch.interval();
        watch
    }

    /// Creates a watch that only polls.
    pub fn polling() -> Self {
        // One message says as much as many, so the channel holds one and cannot fill memory.
        let (sender, events) = sync_channel(1);
        let due = Instant::now() + POLLING;
        Self { watcher: None, events, sender, is_lost: Arc::default(), due }
    }

    /// Whether the watch only polls.
    pub fn is_polling(&self) -> bool {
        self.watcher.is_none() || self.is_lost.load(Ordering::Relaxed)
    }

    /// Waits until it is time to look at the file, or until the timeout.
    ///
    /// Events since the end of the last wait count, so nothing is missed between a look and the next wait.
    pub fn wait(&mut self, timeout: Duration) -> Woken {
        let now = Instant::now();
        let due = self.due.min(now + self.interval());
        let until_due = due.saturating_duration_since(now);
        let is_reported = self.events.recv_timeout(timeout.min(until_due)).is_ok();
        if !is_reported && timeout < until_due {
            return Woken::Timeout;
        }
        self.due = Instant::now() + self.interval();
        Woken::Changed
    }

    fn interval(&self) -> Duration {
        if self.is_polling() { POLLING } else { SAFETY_NET }
    }
}

/// Asks the system for events of a file and, if it is a link, of its target.
fn watcher(path: &Path, watch: &Watch) -> notify::Result<RecommendedWatcher> {
    let mut paths = vec![path.to_path_buf()];
    paths.extend(RealOs.real_path(path).ok().filter(|real| real != path));
    let names = paths.iter().filter_map(|path| path.file_name()).map(OsString::from).collect();
    let directories: Vec<PathBuf> = paths.iter().map(|path| directory_of(path)).collect();
    start(Filter { files: RelevantFiles::Named(names), directories }, watch)
}

/// Asks the system for events of sessions in directories.
fn directories_watcher(directories: &[PathBuf], watch: &Watch) -> notify::Result<RecommendedWatcher> {
    start(Filter { files: RelevantFiles::Sessions, directories: directories.to_vec() }, watch)
}

fn start(filter: Filter, watch: &Watch) -> notify::Result<RecommendedWatcher> {
    let directories = filter.directories.clone();
    let (sender, is_lost) = (watch.sender.clone(), Arc::clone(&watch.is_lost));
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        is_lost.fetch_or(event.as_ref().is_ok_and(|event| filter.removes_directory(event)), Ordering::Relaxed);
        // An error may hide any event, so it is a reason to look.
        if event.map_or(true, |event| filter.is_relevant(&event)) {
            // If a message is already waiting, the reader will look anyway.
            let _: Result<(), _> = sender.try_send(());
        }
    })?;
    for directory in &directories {
        watcher.watch(directory, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Selects relevant events: a directory has many files, and unrelated ones may change often, too.
struct Filter {
    files: RelevantFiles,
    directories: Vec<PathBuf>,
}

/// The files whose events are relevant.
enum RelevantFiles {
    /// Files with these names.
    Named(Vec<OsString>),
    /// Sessions, and everything in the first directory, where directories of sessions appear and disappear.
    Sessions,
}

impl RelevantFiles {
    fn includes(&self, path: &Path, directories: &[PathBuf]) -> bool {
        let Some(name) = path.file_name() else { return false };
        match self {
            Self::Named(names) => names.iter().any(|it| it == name),
            Self::Sessions => {
                let is_first = || directories.first().is_some_and(|first| path.parent() == Some(first.as_path()));
                is_session_file_name(name) || is_first()
            }
        }
    }
}

impl Filter {
    fn is_relevant(&self, event: &Event) -> bool {
        // Reading changes nothing, and we read ourselves.
        if matches!(event.kind, EventKind::Access(_)) {
            return false;
        }
        let is_ours = |path: &PathBuf| self.files.includes(path, &self.directories);
        event.need_rescan()
            || event.paths.is_empty()
            || event.paths.iter().any(is_ours)
            || self.removes_directory(event)
    }

    /// Whether the directory itself was removed or moved away.
    fn removes_directory(&self, event: &Event) -> bool {
        let is_move = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        is_move && event.paths.iter().any(|path| self.directories.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, DataChange, Flag, RemoveKind};

    use super::*;

    fn filter() -> Filter {
        Filter { files: RelevantFiles::Named(vec!["s.jsonl".into()]), directories: vec!["/d".into()] }
    }

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(path.into())
    }

    #[test]
    fn only_events_of_the_file_are_relevant() {
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert!(filter().is_relevant(&event(data, "/d/s.jsonl")));
        assert!(!filter().is_relevant(&event(data, "/d/other.jsonl")));
        assert!(!filter().is_relevant(&event(EventKind::Access(AccessKind::Any), "/d/s.jsonl")));
    }

    #[test]
    fn only_sessions_and_directories_of_a_store_are_relevant() {
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let filter = Filter { files: RelevantFiles::Sessions, directories: vec!["/r".into(), "/r/d".into()] };
        assert!(filter.is_relevant(&event(data, "/r/d/s.jsonl")));
        assert!(!filter.is_relevant(&event(data, "/r/d/.s.jsonl.sessile-lock")));
        assert!(filter.is_relevant(&event(EventKind::Create(CreateKind::Folder), "/r/new")));
    }

    /// C16: when the queue overflows, its content is unknown.
    #[test]
    fn a_lost_event_wakes_the_reader() {
        assert!(filter().is_relevant(&Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    }

    #[test]
    fn a_removed_directory_ends_the_events() {
        let removed = event(EventKind::Remove(RemoveKind::Folder), "/d");
        assert!(filter().removes_directory(&removed) && filter().is_relevant(&removed));
        assert!(!filter().removes_directory(&event(EventKind::Remove(RemoveKind::File), "/d/s.jsonl")));
    }

    /// C16: without a system watch, polling wakes the reader.
    #[test]
    fn a_missing_directory_is_polled() {
        let mut watch = Watch::new(Path::new("/no/such/directory/s.jsonl"));
        assert!(watch.is_polling());
        assert_eq!(watch.wait(Duration::from_hours(1)), Woken::Changed);
    }
}
