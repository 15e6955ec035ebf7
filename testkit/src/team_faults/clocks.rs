//! F7: clocks that are a year wrong, and go back.

use super::Bench;
use super::check::check;
use super::client::NOW;
use super::outcome::{Outcome, Skipped};

const YEAR: i64 = 365 * 86_400_000;

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let mut clients = bench.clients(3, &["s1"]);
    clients[1].now = NOW + YEAR;
    clients[2].now = NOW - YEAR;
    let mut random = bench.random(7);
    let (n_steps, mut n_back) = (bench.count(40, 600), 0);
    for _ in 0..n_steps {
        let index = random.below(3);
        let client = &mut clients[index];
        match random.below(6) {
            0 => {
                // Somewhere in the last two years.
                client.now -= i64::try_from(random.below(730)).unwrap() * 86_400_000;
                n_back += 1;
            }
            1 | 2 => {
                client.sync_surely();
            }
            _ => client.append("s1").unwrap(),
        }
    }
    outcome.fact(format!("{n_steps} steps, clocks went back {n_back} times"));
    check(&mut clients, &mut outcome);
    Ok(outcome)
}
