//! What one sync for many is worth: bare syncs, `sync` and `group` in one run.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement talks to the terminal and ends on errors")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile::{Durability, NewSession, Sessions, SharedSession, System, WriteOptions, draft};
use sessile_bench::{Contestant, compete, ratio, table, time};

/// How many entries each contestant writes, so that a slow disk does not take all day.
const N_ENTRIES: usize = 640;
const N_ROUNDS: usize = 3;

fn main() {
    let directory = tempfile::tempdir_in(std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from));
    let directory = directory.unwrap();
    let place = directory.path();
    let mut contestants = [
        Contestant::new("bare write and fdatasync", || bare(place)),
        Contestant::new("sync, 1 producer", || ours(place, Durability::Sync, 1)),
        Contestant::new("sync, 16 producers", || ours(place, Durability::Sync, 16)),
        Contestant::new("group, 1 producer", || ours(place, Durability::Group, 1)),
        Contestant::new("group, 16 producers", || ours(place, Durability::Group, 16)),
        Contestant::new("group, 64 producers", || ours(place, Durability::Group, 64)),
    ];
    compete(&mut contestants, N_ROUNDS);
    println!("{N_ENTRIES} entries on disk, time per entry, best of {N_ROUNDS} rounds\n\n{}", table(&contestants));
    let best = |index: usize| contestants[index].best();
    println!("sync / group with 16 producers  {:>6.1}  (at least 8)", ratio(best(2), best(4)));
    println!("sync / group with 64 producers  {:>6.1}  (at least 20)", ratio(best(1).min(best(2)), best(5)));
}

fn message(index: usize) -> draft::UserMessage {
    draft::UserMessage::new(format!("{index} {}", "x".repeat(700)).as_str(), 1_763_164_800_000)
}

fn bare(place: &Path) -> Duration {
    let path = place.join("bare");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let line = vec![b'x'; 850];
    let took = time(N_ENTRIES / 8, || {
        for _ in 0..N_ENTRIES / 8 {
            file.write_all(&line).unwrap();
            file.sync_data().unwrap();
        }
    });
    std::fs::remove_file(path).unwrap();
    took
}

/// Each producer has one entry in flight: it waits for the disk before it writes the next one.
fn ours(place: &Path, durability: Durability, n_producers: usize) -> Duration {
    let directory = tempfile::tempdir_in(place).unwrap();
    let sessions = Sessions::new(System).writing(WriteOptions { durability, ..WriteOptions::default() });
    let mut session = sessions.create("/proj", Some(directory.path()), NewSession::default()).unwrap();
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
