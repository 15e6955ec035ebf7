//! A whole store: many sessions of many projects, in pi's folders.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use sessile::date::{Timestamp, to_iso};

use super::needle::Needle;
use super::pool::Pools;
use super::random::Random;
use super::session::{Session, Subject, Written};
use super::shape::USUAL;

/// The earliest start of a session.
pub(super) const EPOCH_MS: i64 = 1_772_323_200_000;

const HALF_A_YEAR_MS: usize = 180 * 86_400_000;

/// The number and total size of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) sessions: usize,
    pub(super) bytes: u64,
    pub(super) projects: usize,
}

/// A session to write.
struct Job {
    cwd: String,
    start_ms: i64,
    bytes: u64,
    needle: Option<Needle>,
}

/// A session that was written.
pub(super) struct Filed {
    pub(super) path: PathBuf,
    pub(super) cwd: String,
    pub(super) written: Written,
    pub(super) needle: Option<Needle>,
}

/// Writes a store below `root`, the folder of all sessions.
pub(super) fn write(
    root: &Path,
    seed: u64,
    name: &str,
    size: Size,
    projects: &str,
    pools: &Pools,
) -> io::Result<Vec<Filed>> {
    let jobs = jobs(seed, name, size, projects, pools);
    for job in &jobs {
        fs::create_dir_all(root.join(folder(&job.cwd)))?;
        // So that a program can be started in the project, where it will look for these sessions.
        fs::create_dir_all(&job.cwd).ok();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, io::Result<Filed>)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let filed = write_one(root, Random::new(seed, name, index), job, pools);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, filed));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, filed)| filed).collect()
}

/// Spreads sizes over three orders of magnitude, as in real stores: half of the sessions are small.
fn jobs(seed: u64, name: &str, size: Size, projects: &str, pools: &Pools) -> Vec<Job> {
    let mut random = Random::new(seed, name, usize::MAX);
    let cwds: Vec<String> = (0..size.projects)
        .map(|index| format!("{projects}/{}-{index:03}", pools.vocabulary.word(&mut random)))
        .collect();
    let weights: Vec<f64> = (0..size.sessions).map(|_| random.log_normal(1.5)).collect();
    let total: f64 = weights.iter().sum();
    let mut jobs = Vec::with_capacity(size.sessions);
    for (index, weight) in weights.iter().enumerate() {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the bytes"
        )]
        // The last message usually exceeds the limit by about this much.
        let bytes = ((size.bytes as f64 * weight / total) as u64).saturating_sub(12_000).max(2_500);
        let start_ms = EPOCH_MS + i64::try_from(random.below(HALF_A_YEAR_MS)).unwrap_or_default();
        let needle = match random.below(200) {
            0..=1 => Some(Needle::Word),
            2..=3 => Some(Needle::Phrase),
            _ => None,
        };
        // Even a small store has something to find.
        let needle = match index {
            3 => Some(Needle::Word),
            5 => Some(Needle::Phrase),
            _ => needle,
        };
        jobs.push(Job { cwd: cwds[index % cwds.len()].clone(), start_ms, bytes, needle });
    }
    jobs
}

fn write_one(root: &Path, mut random: Random, job: &Job, pools: &Pools) -> io::Result<Filed> {
    let has_system = random.chance(0.5);
    let is_named = random.chance(0.15);
    let subject = Subject { cwd: &job.cwd, start_ms: job.start_ms, version: 3, profile: USUAL, has_system };
    let mut bytes = Vec::new();
    let mut session = Session::begin(&mut bytes, random, pools, subject)?;
    session.fill(job.bytes, job.needle)?;
    if is_named {
        session.name()?;
    }
    let (id, end_ms, written) = (session.id.clone(), session.now_ms, session.written.clone());
    let stamp = to_iso(Timestamp::from_ms(job.start_ms)).replace([':', '.'], "-");
    let path = root.join(folder(&job.cwd)).join(format!("{stamp}_{id}.jsonl"));
    let mut file = BufWriter::new(File::create(&path)?);
    file.write_all(&bytes)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.set_modified(UNIX_EPOCH + Duration::from_millis(end_ms.unsigned_abs()))?;
    Ok(Filed { path, cwd: job.cwd.clone(), written, needle: job.needle })
}

/// Returns the folder in which pi keeps the sessions of a project.
pub(super) fn folder(cwd: &str) -> String {
    format!("--{}--", cwd.trim_start_matches('/').replace(['/', '\\', ':'], "-"))
}
