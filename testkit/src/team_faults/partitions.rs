//! F9: three replicas that are often apart, with merges by file and by server.

use sessile::merge::MergeOptions;

use super::Bench;
use super::check::check;
use super::outcome::{Outcome, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let (n_runs, n_steps) = (bench.count(3, 40), 40);
    let (mut n_merges, mut n_syncs) = (0, 0);
    for number in 0..n_runs {
        let mut random = bench.random(900 + u64::from(number));
        let mut clients = bench.clients(3, &["s1"]);
        if number % 2 == 0 {
            // All machines make the same ids, so every new entry gets another one somewhere.
            for client in &clients {
                client.environment.set_draws(9, 0);
            }
        }
        for _ in 0..n_steps {
            let index = random.below(3);
            match random.below(6) {
                0 => {
                    clients[index].sync_surely();
                    n_syncs += 1;
                }
                1 => {
                    // A file from another machine, on a stick.
                    let other = clients[(index + 1 + random.below(2)) % 3].path("s1");
                    let (client, options) = (&clients[index], MergeOptions::default());
                    client.sessions().merge_into(&client.path("s1"), &[other], &options).unwrap();
                    n_merges += 1;
                }
                _ => clients[index].append("s1").unwrap(),
            }
        }
        check(&mut clients, &mut outcome);
        if !outcome.is_good() {
            outcome.problem(format!("this was run {number}"));
            break;
        }
    }
    outcome.fact(format!("{n_runs} runs, {n_merges} merges by file, {n_syncs} by server"));
    Ok(outcome)
}
