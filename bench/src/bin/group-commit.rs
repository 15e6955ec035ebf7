//! Measures the benefit of one sync for many appends: bare syncs, `sync` and `group` in one run.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::write::{Durability, SharedSession, WriteOptions};
use sessile::{Sessions, System, draft};
use sessile_bench::{Contestant, compete, ratio, slow_disk, table, time};

/// Entries per contestant, few enough for a slow disk.
const N_ENTRIES: usize = 640;
const N_ROUNDS: usize = 3;
/// The duration of a sync on the machine whose figures we have to beat.
const SLOW_SYNC: Duration = Duration::from_millis(4);

fn main() {
    let directory = tempfile::tempdir_in(std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from));
    let directory = directory.unwrap();
    println!("{N_ENTRIES} entries on disk, time per entry, best of {N_ROUNDS} rounds");
    compare("this disk", directory.path(), Duration::ZERO);
    compare("a disk whose sync takes 4 ms", directory.path(), SLOW_SYNC);
}

fn compare(what: &str, directory: &Path, sync: Duration) {
    let ours = |durability, n_producers| ours(directory, sync, durability, n_producers);
    let mut contestants = [
        Contestant::new("bare write and fdatasync", || bare(directory, sync)),
        Contestant::new("sync, 1 producer", || ours(Durability::Sync, 1)),
        Contestant::new("sync, 16 producers", || ours(Durability::Sync, 16)),
        Contestant::new("group, 1 producer", || ours(Durability::Group, 1)),
        Contestant::new("group, 16 producers", || ours(Durability::Group, 16)),
        Contestant::new("group, 64 producers", || ours(Durability::Group, 64)),
    ];
    compete(&mut contestants, N_ROUNDS);
    println!("\n{what}\n{}", table(&contestants));
    let best = |index: usize| contestants[index].best();
    let sync = best(1).min(best(2));
    println!("sync / group with 16 producers  {:>6.1}  (at least 8)", ratio(sync, best(4)));
    println!("sync / group with 64 producers  {:>6.1}  (at least 20)", ratio(sync, best(5)));
}

fn message(index: usize) -> draft::UserMessage {
    draft::UserMessage::new(format!("{index} {}", "x".repeat(700)).as_str(), Timestamp::from_ms(1_763_164_800_000))
}

fn bare(directory: &Path, sync: Duration) -> Duration {
    let path = directory.join("bare");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let line = vec![b'x'; 850];
    let took = time(N_ENTRIES / 8, || {
        for _ in 0..N_ENTRIES / 8 {
            file.write_all(&line).unwrap();
            std::thread::sleep(sync);
            file.sync_data().unwrap();
        }
    });
    std::fs::remove_file(path).unwrap();
    took
}

/// Each producer has one entry in flight: it waits for the disk before it writes the next one.
fn ours(directory: &Path, sync: Duration, durability: Durability, n_producers: usize) -> Duration {
    let directory = tempfile::tempdir_in(directory).unwrap();
    let options = WriteOptions { durability, ..WriteOptions::default() };
    let sessions = Sessions::new(System).writing(options).on(slow_disk(sync));
    let mut session = sessions.clone().with_session_dir(directory.path()).create("/proj").unwrap();
    session.append_message(message(0)).unwrap();
    let shared = SharedSession::new(session);
    let n_each = if durability == Durability::Sync { N_ENTRIES / 8 } else { N_ENTRIES * 4 } / n_producers;
    time(n_each * n_producers, || {
        std::thread::scope(|scope| {
            for _ in 0..n_producers {
                let shared = shared.clone();
                scope.spawn(move || {
                    for index in 0..n_each {
                        shared.write(|session| session.append_message(message(index))).unwrap();
                    }
                });
            }
        });
    })
}
