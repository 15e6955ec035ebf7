//! Measures the cost of an append: bare writes, Sessile and pi in one run.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::fs::OpenOptions;
use std::io::{Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::json::Json;
use sessile::write::WriteOptions;
use sessile::{SessionManager, Sessions, System, draft};
use sessile_bench::{Contestant, compete, ratio, table, time};

const N_APPENDS: usize = 10_000;
const N_BYTES: usize = 2048;
const BATCH: usize = 16;
const N_ROUNDS: usize = 7;

fn main() {
    let directory = tempfile::tempdir_in(std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from));
    let directory = directory.unwrap();
    let place = directory.path();
    let line = line();
    let batch = line.repeat(BATCH);
    let messages: Vec<Json> = (0..N_APPENDS).map(message).collect();
    let unguarded = WriteOptions { guard: false, ..WriteOptions::default() };
    let mut contestants = [
        Contestant::new("bare write, one by one", || bare(place, &line, N_APPENDS)),
        Contestant::new("bare write, batches of 16", || bare(place, &batch, N_APPENDS / BATCH) / 16),
        Contestant::new("Sessile, one by one", || ours(place, &messages, WriteOptions::default())),
        Contestant::new("Sessile, one by one, without guard", || ours(place, &messages, unguarded)),
        Contestant::new("Sessile, batches of 16", || ours_in_batches(place, &messages)),
        Contestant::new("pi 1.5.0, appendMessage", || pi(place)),
        Contestant::new("the system calls of an append alone", || calls_alone(place, &line)),
    ];
    compete(&mut contestants, N_ROUNDS);
    println!(
        "{N_APPENDS} appends of {N_BYTES} bytes ({} with the entry around), best of {N_ROUNDS} rounds\n",
        line.len()
    );
    println!("{}", table(&contestants));
    let best = |index: usize| contestants[index].best();
    println!("pi / Sessile                       {:>6.2}  (at least 5)", ratio(best(5), best(2)));
    println!("Sessile / bare, one by one         {:>6.2}  (at most 5)", ratio(best(2), best(0)));
    println!("Sessile / bare, batches of 16      {:>6.2}  (at most 2)", ratio(best(4), best(1)));
    println!("pi / the system calls alone        {:>6.2}", ratio(best(5), best(6)));
    println!("Sessile in batches / bare single   {:>6.2}", ratio(best(4), best(0)));
    println!("the guard writes {} bytes more per append than the line itself", guard_bytes(place, &messages[0]));
}

fn message(index: usize) -> Json {
    let text = format!("{index} {}", "x".repeat(N_BYTES));
    draft::AssistantMessage::new("acme", "acme-1", text.as_str(), Timestamp::from_ms(1_763_164_800_000)).into()
}

/// Returns a line of the same length as Sessile's lines.
fn line() -> Vec<u8> {
    let mut session = SessionManager::in_memory("/proj");
    let id = session.append_message(message(0)).unwrap();
    let mut line = session.entry(&id).unwrap().unwrap().json().raw().as_bytes().to_vec();
    line.push(b'\n');
    line
}

fn bare(place: &Path, bytes: &[u8], n_writes: usize) -> Duration {
    let path = place.join("bare");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let took = time(n_writes, || {
        for _ in 0..n_writes {
            file.write_all(bytes).unwrap();
        }
    });
    std::fs::remove_file(path).unwrap();
    took
}

/// Measures the lower bound: the system calls that the promises of an append require.
///
/// Takes and releases the turn; checks that the lock is the right one and that the file exists with its expected length
/// and end; writes the line, asks where it went, and copies it into the guard.
fn calls_alone(place: &Path, bytes: &[u8]) -> Duration {
    let paths = ["file", "guard", "lock"].map(|name| place.join(name));
    let [mut file, guard, lock] = paths.each_ref().map(|path| {
        OpenOptions::new().create_new(true).read(true).append(path.ends_with("file")).write(true).open(path).unwrap()
    });
    file.write_all(bytes).unwrap();
    let took = time(N_APPENDS, || {
        for place in 0..N_APPENDS {
            lock.try_lock().unwrap();
            assert_eq!(lock.metadata().unwrap().nlink(), 1);
            let end = file.metadata().unwrap().len();
            file.read_exact_at(&mut [0; 64], end - 64).unwrap();
            file.write_all(bytes).unwrap();
            assert_eq!(file.stream_position().unwrap(), end + bytes.len() as u64);
            guard.write_all_at(bytes, (place * bytes.len()) as u64).unwrap();
            lock.unlock().unwrap();
        }
    });
    for path in paths {
        std::fs::remove_file(path).unwrap();
    }
    took
}

fn session(place: &Path, options: WriteOptions) -> (tempfile::TempDir, SessionManager) {
    let directory = tempfile::tempdir_in(place).unwrap();
    let sessions = Sessions::new(System).writing(options);
    let mut session = sessions.clone().with_session_dir(directory.path()).create("/proj").unwrap();
    for index in 0..500 {
        session.append_message(message(index)).unwrap();
    }
    (directory, session)
}

fn ours(place: &Path, messages: &[Json], options: WriteOptions) -> Duration {
    let (_directory, mut session) = session(place, options);
    // The caller hands over each message, as in pi's loop.
    let messages = messages.to_vec();
    time(messages.len(), || {
        for message in messages {
            session.append_message(message).unwrap();
        }
    })
}

fn ours_in_batches(place: &Path, messages: &[Json]) -> Duration {
    let (_directory, mut session) = session(place, WriteOptions::default());
    let messages: Vec<Vec<Json>> = messages.chunks(BATCH).map(<[Json]>::to_vec).collect();
    time(messages.len(), || {
        for batch in messages {
            session.append_messages(batch).unwrap();
        }
    })
}

fn pi(place: &Path) -> Duration {
    let oracle = PathBuf::from(std::env::var_os("SESSILE_ORACLE_DIR").expect("run this by `cargo xtask bench`"));
    let directory = tempfile::tempdir_in(place).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("pi-append.mjs");
    let output = Command::new(oracle.join("node"))
        .arg(script)
        .arg(directory.path())
        .args([N_APPENDS.to_string(), N_BYTES.to_string()])
        .env("HOME", directory.path())
        .output()
        .unwrap();
    let micros: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().expect("pi ran");
    Duration::from_secs_f64(micros / 1e6)
}

/// Returns the bytes that one append writes to the guard besides the line itself: the head of a record.
fn guard_bytes(place: &Path, message: &Json) -> u64 {
    let directory = tempfile::tempdir_in(place).unwrap();
    let mut session = Sessions::default().with_session_dir(directory.path()).create("/proj").unwrap();
    session.append_message(message.clone()).unwrap();
    let file = session.session_file().unwrap().to_path_buf();
    let guard = file.with_file_name(format!(".{}.sessile-guard", file.file_name().unwrap().to_string_lossy()));
    let used =
        |path: &Path| std::fs::read(path).unwrap().iter().rposition(|byte| *byte != 0).unwrap_or_default() as u64;
    let (line, record) = (used(&file), used(&guard));
    session.append_message(message.clone()).unwrap();
    (used(&guard) - record) - (used(&file) - line)
}
