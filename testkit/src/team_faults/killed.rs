//! F1: the server is killed under clients that write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Bench;
use super::check::check;
use super::client::{Client, is_passing};
use super::outcome::{Outcome, Skipped};
use crate::SplitMix;

const SESSIONS: [&str; 2] = ["s1", "s2"];

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let mut clients = bench.clients(4, &SESSIONS);
    let (is_over, n_synced, n_failed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let n_rounds = bench.count(6, 200);
    let cluster = bench.cluster();
    let mut random = bench.random(1);
    let problems: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(index, client)| {
                let (random, is_over) = (bench.random(100 + index as u64), &is_over);
                let (n_synced, n_failed) = (&n_synced, &n_failed);
                scope.spawn(move || write(client, random, is_over, n_synced, n_failed))
            })
            .collect();
        for round in 0..n_rounds {
            // In the middle of the work, not before it.
            let goal = n_synced.load(Ordering::SeqCst) + 4;
            let began = Instant::now();
            while n_synced.load(Ordering::SeqCst) < goal && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(random.below(60) as u64));
            cluster.kill(if round % 3 == 2 { Signal::QUIT } else { Signal::KILL });
            cluster.up();
        }
        is_over.store(true, Ordering::SeqCst);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    for problem in problems {
        outcome.problem(problem);
    }
    outcome.fact(format!("{n_rounds} kills under 4 clients"));
    outcome.fact(format!("{} synchronizations failed", n_failed.load(Ordering::SeqCst)));
    check(&mut clients, &mut outcome);
    Ok(outcome)
}

/// Writes and synchronizes until the row is over. Returns what went wrong.
fn write(
    client: &mut Client,
    mut random: SplitMix,
    is_over: &AtomicBool,
    n_synced: &AtomicU64,
    n_failed: &AtomicU64,
) -> Vec<String> {
    let mut problems = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        for _ in 0..=random.below(3) {
            let n_more = if random.one_in(8) { 5000 } else { 0 };
            if let Err(error) = client.append_long(random.pick(&SESSIONS), n_more) {
                problems.push(format!("{} cannot write: {error}", client.name));
            }
        }
        match client.sync() {
            Ok(_) => {
                n_synced.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => {
                n_failed.fetch_add(1, Ordering::SeqCst);
                if !is_passing(&error) {
                    problems.push(format!("{}: {error}", client.name));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    problems
}
