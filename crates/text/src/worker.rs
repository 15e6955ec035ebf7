//! Workers that read sessions and write segments.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use sessile_index::{Caches, Mark};
use sessile_store::os::{Mode, OsFile, Stat};
use sessile_store::{LineReader, StoreError, threads};

use crate::builder::Builder;
use crate::manifest::{Interned, KIND, KnownSession, Manifest};
use crate::opening::{Heading, Opening};
use crate::options::{Progress, UpdateOptions};
use crate::segment::write_segment;
use crate::survey::SurveyedFile;

/// A file, or its end, that has to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) file: usize,
    /// Its index in the manifest, if it is known.
    pub(crate) known: Option<usize>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The manifest while it is being changed.
pub(crate) struct State {
    pub(crate) manifest: Manifest,
    /// The indices of newly added sessions.
    added: FxHashMap<PathBuf, usize>,
    interned: Interned,
    pub(crate) is_changed: bool,
}

impl State {
    pub(crate) fn new(manifest: Manifest, is_changed: bool) -> Self {
        let interned = manifest.directory_numbers();
        Self { manifest, added: FxHashMap::default(), interned, is_changed }
    }

    /// Records how far sessions are covered.
    fn cover(&mut self, covered: Vec<KnownSession>) {
        for known in covered {
            self.is_changed = true;
            let before = self.added.get(&known.path).copied().or_else(|| self.manifest.find(&known.path));
            let index = self.manifest.put(before, &known, &mut self.interned);
            if before.is_none() {
                self.added.insert(known.path, index);
            }
        }
    }
}

/// The shared state of all workers.
pub(crate) struct Workers<'w> {
    pub(crate) caches: &'w Caches,
    pub(crate) files: &'w [SurveyedFile],
    pub(crate) jobs: &'w [Job],
    pub(crate) options: &'w UpdateOptions<'w>,
    pub(crate) next: AtomicUsize,
    pub(crate) next_number: AtomicU32,
    pub(crate) n_done: AtomicU64,
    pub(crate) n_bytes: u64,
    pub(crate) state: Mutex<State>,
}

/// From this many bytes on, a second thread pays off.
const MIN_FOR_THREADS: u64 = 4 << 20;

impl Workers<'_> {
    /// Reads everything, with two threads if that pays off.
    pub(crate) fn run(&self) -> Result<(), StoreError> {
        if self.n_bytes < MIN_FOR_THREADS || self.jobs.len() < 2 || !self.caches.os().has_threads() {
            return Worker::new(self, self.options.memory).run();
        }
        let work = || Worker::new(self, self.options.memory / 2).run();
        let (mine, other) = threads::both(work, work);
        other.and(mine)
    }
}

/// One worker.
struct Worker<'w> {
    workers: &'w Workers<'w>,
    memory: usize,
    builder: Builder,
    /// The sessions whose lines are in the builder, with their coverage.
    covered: Vec<KnownSession>,
}

/// A session that is being read.
struct Reading<'r> {
    file: &'r dyn OsFile,
    stat: Stat,
    path: &'r Path,
    number: u32,
    heading: Heading,
    /// Whether the part that was covered before may have changed since.
    is_doubtful: bool,
    /// Whether more of it has to be read.
    is_unfinished: bool,
}

impl<'w> Worker<'w> {
    fn new(workers: &'w Workers<'w>, memory: usize) -> Self {
        Self { workers, memory, builder: Builder::default(), covered: Vec::new() }
    }

    fn run(mut self) -> Result<(), StoreError> {
        while let Some(job) = self.workers.jobs.get(self.workers.next.fetch_add(1, Ordering::Relaxed)) {
            if (self.workers.options.is_cancelled)() {
                break;
            }
            self.read(*job)?;
            let n_done = self.workers.n_done.fetch_add(job.to - job.from, Ordering::Relaxed) + job.to - job.from;
            (self.workers.options.on_progress)(Progress { n_done, n_bytes: self.workers.n_bytes });
        }
        self.flush()
    }

    /// Reads one file. A file that cannot be read stays uncovered.
    fn read(&mut self, job: Job) -> Result<(), StoreError> {
        let path = &self.workers.files[job.file].path;
        let Ok(file) = self.workers.caches.os().open(path, Mode::Read) else { return Ok(()) };
        let Ok(stat) = file.stat() else { return Ok(()) };
        let known = job.known.map(|index| {
            let state = self.workers.state.lock().unwrap_or_else(PoisonError::into_inner);
            // Places stay valid while files are read: sessions are only replaced or added.
            state.manifest.known(index)
        });
        let known = known.flatten();
        let is_doubtful = known
            .as_ref()
            .is_some_and(|known| job.from > 0 && known.mark.is_doubtful(known.mark.freshness(file.as_ref(), &stat)));
        let number = known
            .as_ref()
            .map_or_else(|| self.workers.next_number.fetch_add(1, Ordering::Relaxed), |known| known.number);
        let mut opening = match known {
            None => Opening::Awaited,
            Some(known) if known.is_session => Opening::Session(Heading { id: known.id, cwd: known.cwd }),
            Some(_) => Opening::NoSession,
        };
        let heading = Heading::default();
        let mut reading =
            Reading { file: file.as_ref(), stat, path, number, heading, is_doubtful, is_unfinished: true };
        let mut end = job.from;
        let mut failed = Ok(());
        let (mut is_lost, mut is_stopped) = (false, false);
        let mut checkpoint = self.builder.checkpoint();
        let read = LineReader::default().read_range(file.as_ref(), job.from..stat.length, &mut |line| {
            let line = line.without_bom();
            if !line.terminated {
                // It may be incomplete, so it is read again each time.
                return true;
            }
            if let Some(bytes) = line.bytes
                && opening.take(bytes)
            {
                self.builder.push(number, bytes, line.span);
            }
            end = line.span.end() + 1;
            if self.builder.memory() >= self.memory {
                if let Opening::Session(heading) = &opening {
                    reading.heading.clone_from(heading);
                }
                if !self.cover(&reading, end, true) {
                    is_lost = true;
                    return false;
                }
                failed = self.flush();
                checkpoint = self.builder.checkpoint();
            }
            let is_over = opening == Opening::NoSession || failed.is_err();
            is_stopped = !is_over && (self.workers.options.is_cancelled)();
            !is_over && !is_stopped
        });
        failed?;
        reading.is_unfinished = is_stopped;
        let is_covered = match opening {
            _ if is_lost || read.is_err() => false,
            Opening::Session(heading) => {
                reading.heading = heading;
                self.cover(&reading, end, true)
            }
            Opening::NoSession => self.cover(&reading, stat.length, false),
            Opening::Awaited => true,
        };
        if !is_covered {
            // Lines that are not recorded as covered must not be found through the index.
            self.builder.rewind(checkpoint);
        }
        Ok(())
    }

    /// Records how far a session has been read. False if it cannot be read any more.
    fn cover(&mut self, reading: &Reading<'_>, end: u64, is_session: bool) -> bool {
        let now_ms = self.workers.caches.os().now_ms();
        let Some(mark) = Mark::of(reading.file, &reading.stat, end, now_ms) else { return false };
        let Heading { id, cwd } = reading.heading.clone();
        let path = reading.path.to_path_buf();
        let mark = mark.with_doubt(reading.is_doubtful).unfinished(reading.is_unfinished);
        self.covered.push(KnownSession { number: reading.number, path, mark, is_session, id, cwd });
        true
    }

    /// Writes a segment of what has been read, and then records the coverage.
    fn flush(&mut self) -> Result<(), StoreError> {
        let caches = self.workers.caches;
        let mut segment = None;
        if !self.builder.is_empty() {
            let name = new_name(caches);
            let path = caches.path(KIND, &name);
            let (runs, documents) = (self.builder.runs().to_vec(), self.builder.documents().to_vec());
            segment = Some(write_segment(caches.os().as_ref(), &path, name, runs, &documents, &mut self.builder)?);
            self.builder.clear();
        }
        let covered = std::mem::take(&mut self.covered);
        if segment.is_none() && covered.is_empty() {
            return Ok(());
        }
        let mut state = self.workers.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.manifest.segments.extend(segment);
        state.manifest.next_number = self.workers.next_number.load(Ordering::Relaxed);
        state.cover(covered);
        // A long update must not lose its progress; a small one is written once, at its end.
        if self.workers.n_bytes >= MIN_FOR_THREADS { state.manifest.write(caches) } else { Ok(()) }
    }
}

/// Returns a name that no segment ever had.
pub(crate) fn new_name(caches: &Caches) -> String {
    static N_NAMED: AtomicU32 = AtomicU32::new(0);
    let (now, pid) = (caches.os().now_ms(), caches.os().whoami().0);
    format!("{now:x}-{pid:x}-{:x}.segment", N_NAMED.fetch_add(1, Ordering::Relaxed))
}
