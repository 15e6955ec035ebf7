//! A small store of invented sessions, the same on every machine and every day.
//!
//! It serves as a demonstration, and for trying out commands. The code writes it through the public interface of
//! [`SessionManager`], so it is also an example.

mod harbour;
mod stage;
mod tidepool;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sessile_store::os::{Lock, Mode, Os, RealOs};
use sessile_store::{StoreError, create_directory, read_head, swap_in};

use crate::SessionError;
#[cfg(doc)]
use crate::SessionManager;
use crate::sessions::Sessions;
use stage::Stage;
use world::{World, at};

/// The main project of the sample.
const TIDEPOOL: &str = "/home/u/src/tidepool";
/// The project that continues one of its sessions.
const HARBOUR: &str = "/home/u/src/harbour-site";

/// A written sample store: see [`write_sample`].
#[derive(Clone)]
pub struct Sample {
    /// The directory, laid out like pi's agent directory.
    pub agent_dir: PathBuf,
    /// The working directory of the project that most sessions belong to.
    pub cwd: PathBuf,
    /// The session that shows the most features.
    pub richest: PathBuf,
    world: Arc<World>,
}

impl Sample {
    /// Gives access to its sessions, in an environment whose clock is just after them.
    pub fn sessions(&self) -> Sessions {
        Sessions::shared(Arc::clone(&self.world) as _)
    }
}

/// The file that marks a sample store and counts how often it was opened.
const MARKER: &str = "sessile-sample";

/// Opens an existing sample, if the directory holds one.
///
/// Each time it is opened, the clock advances by a minute and ids start
/// elsewhere. So a sequence of programs that change the sample produces the
/// same bytes on every run, and no two of them draw the same ids.
pub fn open_sample(dir: &Path) -> Result<Option<Sample>, SessionError> {
    let refused = |source| StoreError::io_at("find", dir, source);
    let agent_dir = std::path::absolute(dir).map_err(refused)?;
    let Some(n_openings) = read_marker(&agent_dir) else { return Ok(None) };
    let n_openings = n_openings.saturating_add(1);
    mark(&agent_dir, n_openings)?;
    let world = Arc::new(World::opened(&agent_dir, n_openings));
    world.travel(at(12, 9, 50) + i64::from(n_openings) * 60_000);
    let richest = agent_dir.join(RICHEST);
    Ok(Some(Sample { agent_dir, cwd: TIDEPOOL.into(), richest, world }))
}

fn read_marker(agent_dir: &Path) -> Option<u32> {
    let mut text = None;
    let read = read_head(&RealOs, &agent_dir.join(MARKER), &mut |line| {
        text = line.bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()?.parse().ok());
        false
    });
    read.ok().and(text)
}

fn mark(agent_dir: &Path, n_openings: u32) -> Result<(), SessionError> {
    Ok(swap_in(&RealOs, &agent_dir.join(MARKER), format!("{n_openings}\n").as_bytes())?)
}

/// The path of the richest session in every sample.
const RICHEST: &str =
    "sessions/--home-u-src-tidepool--/2025-11-10T08-30-00-000Z_019a6ce2-e340-73ae-af1b-5d2830a5422b.jsonl";

/// Opens the sample in a directory, or writes one if the directory is empty or missing.
///
/// Two concurrent processes get the same sample. Returns `None` if the directory holds anything else.
pub fn keep_sample(dir: &Path) -> Result<Option<Sample>, SessionError> {
    if let Some(sample) = open_sample(dir)? {
        return Ok(Some(sample));
    }
    let lock = dir.join(LOCK);
    // In this order: the lock is the first entry of a sample, and another process may create it now.
    let has_entries = dir.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    let is_begun = lock.exists();
    if has_entries && !is_begun {
        return Ok(None);
    }
    create_directory(&RealOs, dir, false)?;
    let failed = |source| StoreError::io_at("lock", &lock, source);
    let file = RealOs.open(&lock, Mode::Sidecar).map_err(failed)?;
    while !file.try_lock(Lock::Exclusive).map_err(failed)? {
        // Writing a sample takes a moment, and the lock of a dead process is released.
        RealOs.wait(Duration::from_millis(5));
    }
    if let Some(sample) = open_sample(dir)? {
        return Ok(Some(sample));
    }
    // A process that died while writing the sample has left a part of it. The lock file proves that the directory is
    // ours.
    for part in ["sessions", "sessile-state", "sessile-trash"] {
        drop(std::fs::remove_dir_all(dir.join(part)));
    }
    write_sample(dir).map(Some)
}

/// The file that is locked while a sample is written.
const LOCK: &str = "sessile-sample.lock";

/// Removes the samples in a directory that were not opened for a week. Ignores errors.
pub fn drop_old_samples(dir: &Path) {
    let Ok(entries) = dir.read_dir() else { return };
    for sample in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let age = sample.join(MARKER).metadata().and_then(|marker| marker.modified()).map(|opened| opened.elapsed());
        if matches!(age, Ok(Ok(age)) if age > SAMPLE_LIFETIME) {
            drop(std::fs::remove_dir_all(&sample));
        }
    }
}

/// How long a sample is kept after it was last opened.
const SAMPLE_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// Writes a sample store to a directory that does not hold one yet.
///
/// Ids and times are scripted: the same directory gets the same bytes on every
/// run. Another directory changes only the `parentSession` of forks.
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// let sample = sessile::sample::write_sample(dir.path())?;
/// let sessions = sample.sessions().list_all()?;
/// assert_eq!(sessions.len(), 6);
/// assert_eq!(sessions[0].path, sample.richest);
/// # Ok::<(), sessile::SessionError>(())
/// ```
pub fn write_sample(dir: &Path) -> Result<Sample, SessionError> {
    let refused = |source| StoreError::io_at("find", dir, source);
    let agent_dir = std::path::absolute(dir).map_err(refused)?;
    create_directory(&RealOs, &agent_dir, false)?;
    let world = Arc::new(World::new(&agent_dir));
    let new = |cwd| Stage::new(&world, cwd);

    world.travel(at(3, 16, 40));
    tidepool::tiny(new(TIDEPOOL)?)?;
    world.travel(at(5, 9, 15));
    harbour::translation(new(HARBOUR)?)?;
    world.travel(at(10, 8, 30));
    let rich = tidepool::rich(new(TIDEPOOL)?)?;
    world.travel(at(10, 14, 5));
    tidepool::export(Stage::open(&world, &rich.file)?, &rich.cause)?;
    world.travel(at(11, 10, 0));
    harbour::widget(Stage::forked(&world, &rich.file, HARBOUR)?)?;
    world.travel(at(11, 17, 20));
    tidepool::overloaded(new(TIDEPOOL)?)?;
    world.travel(at(12, 9, 10));
    tidepool::release(Stage::open(&world, &rich.file)?)?;
    world.travel(at(12, 9, 50));
    mark(&agent_dir, 0)?;

    Ok(Sample { agent_dir, cwd: TIDEPOOL.into(), richest: rich.file, world })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::list::SessionInfo;

    fn files(dir: &Path) -> BTreeMap<PathBuf, String> {
        let sample = write_sample(dir).unwrap();
        let sessions = sample.sessions().list_all().unwrap();
        let text = |info: SessionInfo| {
            #[expect(clippy::disallowed_methods, reason = "the test reads the file directly")]
            let text = std::fs::read_to_string(&info.path).unwrap();
            (info.path.strip_prefix(dir).unwrap().to_path_buf(), text)
        };
        sessions.into_iter().map(text).collect()
    }

    #[test]
    fn every_run_writes_the_same_bytes() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) = (parent.path().join("one"), parent.path().join("other"));
        let first = files(&one);
        let elsewhere = files(&other);
        std::fs::remove_dir_all(&one).unwrap();
        let again = files(&one);
        assert_eq!(first, again);
        let moved: BTreeMap<_, _> = (first.into_iter())
            .map(|(path, text)| (path, text.replace(&*one.to_string_lossy(), &other.to_string_lossy())))
            .collect();
        assert_eq!(moved, elsewhere);
    }

    #[test]
    fn a_sample_is_never_written_over_another() {
        let dir = tempfile::tempdir().unwrap();
        let before = files(dir.path());
        assert!(matches!(write_sample(dir.path()), Err(SessionError::Store(StoreError::Exists { .. }))));
        assert_eq!(before.len(), 6);
    }

    #[test]
    fn concurrent_processes_keep_the_same_sample() {
        let parent = tempfile::tempdir().unwrap();
        // The race of the first look is lost rarely.
        for n in 0..10 {
            let dir = parent.path().join(format!("{n}/kept"));
            let begin = std::sync::Barrier::new(4);
            let keep = || {
                begin.wait();
                let sample = keep_sample(&dir).unwrap()?;
                Some(sample.sessions().list_all().unwrap().len())
            };
            let kept: Vec<Option<usize>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(keep)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(kept, [Some(6); 4]);
        }
        let dir = parent.path().join("new/kept");
        let sample = keep_sample(&dir).unwrap().unwrap();
        assert_eq!(sample.sessions().list_all().unwrap().len(), 6);
        // If writing was interrupted, the sample is written again.
        std::fs::remove_file(dir.join(MARKER)).unwrap();
        let again = keep_sample(&dir).unwrap().unwrap();
        assert_eq!(again.sessions().list_all().unwrap().len(), 6);
        let full = parent.path().join("new");
        assert!(keep_sample(&full).unwrap().is_none(), "a directory with other files was used");
    }

    #[test]
    fn samples_are_deleted_after_a_week() {
        let parent = tempfile::tempdir().unwrap();
        let [old, new, other] = ["old", "new", "other"].map(|name| parent.path().join(name));
        write_sample(&old).unwrap();
        write_sample(&new).unwrap();
        create_directory(&RealOs, &other, false).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test needs a time in the past")]
        let long_ago = std::time::SystemTime::now() - Duration::from_hours(8 * 24);
        std::fs::File::options().append(true).open(old.join(MARKER)).unwrap().set_modified(long_ago).unwrap();
        drop_old_samples(parent.path());
        assert_eq!([old, new, other].map(|dir| dir.exists()), [false, true, true]);
    }

    #[test]
    fn a_sample_can_be_reopened_and_its_clock_advances() {
        let dir = tempfile::tempdir().unwrap();
        assert!(open_sample(dir.path()).unwrap().is_none());
        let written = write_sample(dir.path()).unwrap();
        let drawn = |sample: &Sample| {
            let sessions = sample.sessions();
            (sessions.environment().now(), sessions.environment().entry_uuid())
        };
        let first = open_sample(dir.path()).unwrap().unwrap();
        let second = open_sample(dir.path()).unwrap().unwrap();
        assert_eq!((&first.richest, &first.cwd), (&written.richest, &written.cwd));
        assert!(drawn(&written).0 < drawn(&first).0 && drawn(&first).0 < drawn(&second).0);
        assert_ne!(drawn(&first).1, drawn(&second).1);
    }

    #[test]
    fn a_sample_has_every_kind_of_entry() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let all: String = files.values().map(String::as_str).collect();
        let kinds = "message thinking_level_change model_change usage compaction branch_summary custom \
                     custom_message context_edit label session_info";
        for kind in kinds.split_whitespace() {
            assert!(all.contains(&format!(r#""type":"{kind}""#)), "{kind}");
        }
        for piece in [r#""type":"thinking""#, r#""role":"bashExecution""#, r#""stopReason":"aborted""#, "parentSession"]
        {
            assert!(all.contains(piece), "{piece}");
        }
        assert!(files.keys().all(|path| path.starts_with("sessions")));
    }
}
