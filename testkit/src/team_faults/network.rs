//! F2: a network that cuts, stalls, crawls and resets.

use std::time::{Duration, Instant};

use super::Bench;
use super::check::check;
use super::client::is_passing;
use super::cluster::at_port;
use super::outcome::{Outcome, Skipped};
use super::proxy::{Proxy, Trouble};

/// How long a client may be silent.
const LIMIT: Duration = Duration::from_secs(15);

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let mut clients = bench.clients(2, &["s1"]);
    let cluster = bench.cluster();
    let proxy = Proxy::to(cluster.running().port());
    let user = clients[0].config.user().to_owned();
    // Longer than a second, because a network that crawls still moves.
    let answer_limit = Duration::from_millis(1500);
    for client in &mut clients {
        client.log_in(at_port(cluster, &user, proxy.port).with_answer_limit(answer_limit));
    }
    let (n_cases, mut n_happened, mut slowest) = (bench.count(20, 1000), [0_u32; 4], Duration::ZERO);
    let mut random = bench.random(2);
    for number in 0..n_cases {
        // Up to here, a client has logged in and looked at the log.
        let after = random.below(5000) as u64;
        let (kind, trouble) = match number % 10 {
            3 => (1, Trouble::Stall { after }),
            7 if number % 20 == 7 => (2, Trouble::Crawl),
            1 | 5 | 9 => (3, Trouble::LoseAnswers { after }),
            _ => (0, Trouble::Cut { after }),
        };
        let client = &mut clients[random.below(2)];
        for _ in 0..=random.below(3) {
            client.append_long("s1", random.below(3) * 1500).unwrap();
        }
        proxy.set(Some(trouble));
        let began = Instant::now();
        let synced = std::thread::scope(|scope| {
            let proxy = &proxy;
            if trouble == Trouble::Crawl {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(3500));
                    proxy.set(None);
                });
            }
            client.sync()
        });
        let took = began.elapsed();
        n_happened[kind] += u32::from(trouble == Trouble::Crawl || !proxy.is_waiting());
        proxy.set(None);
        slowest = slowest.max(took);
        outcome.check(took < LIMIT, || format!("{trouble:?}: the client took {took:?}"));
        if let Err(error) = synced {
            outcome.check(is_passing(&error), || format!("{trouble:?}: {error}"));
        }
    }
    let [n_cuts, n_stalls, n_crawls, n_resets] = n_happened;
    outcome.fact(format!("{n_cuts} cuts, {n_stalls} stalls, {n_crawls} crawls, {n_resets} lost answers"));
    outcome.fact(format!("slowest {:.1} s", slowest.as_secs_f64()));
    check(&mut clients, &mut outcome);
    Ok(outcome)
}
