//! Faults of synchronization with a real PostgreSQL: servers that die, lose and lie, networks that fail, machines that
//! stop in the middle, and members that mean harm.
//!
//! Each row has clients with stores of their own. A line counts as *acknowledged* once a synchronization has said that its
//! session is equal to the log. In the end, all clients synchronize until nothing moves. Then every line must be in the
//! log once, each client's lines in their order, and all replicas must have the bytes of the log after their headers.
#![expect(clippy::print_stdout, reason = "prints the results")]
#![expect(clippy::unnecessary_wraps, reason = "all rows have the same signature")]

mod backup;
mod buried;
mod check;
mod client;
mod clocks;
mod cluster;
mod death;
mod failover;
mod faulty_os;
mod full;
mod killed;
mod laptops;
mod local;
mod network;
mod outcome;
mod partitions;
mod poison;
mod pooled;
mod proxy;
mod role;
mod secrets;
mod tampered;
mod verified;
mod versions;

use std::cell::{Cell, OnceCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use sessile::sync::remote::postgres::Config;

use self::client::Client;
use self::cluster::Cluster;
use self::outcome::{Outcome, Skipped};
use crate::SplitMix;

pub use role::run_role;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether to run the long form, for nights.
    pub is_long: bool,
    /// The rows to run; all if there are none.
    pub only: Vec<String>,
    /// The random seed.
    pub seed: u64,
}

type Row = fn(&Bench) -> Result<Outcome, Skipped>;

const ROWS: [(&str, &str, Row); 16] = [
    ("F1", "the server is killed", killed::run),
    ("F2", "the network cuts, stalls, crawls and resets", network::run),
    ("F3", "failover with a lost tail", failover::run),
    ("F4", "an old backup is restored", backup::run),
    ("F5", "the client is killed", death::run),
    ("F6", "full disks", full::run),
    ("F7", "clocks", clocks::run),
    ("F8", "two laptops offline", laptops::run),
    ("F9", "partitions, merges by file and by server", partitions::run),
    ("F11", "poison of another member", poison::run),
    ("F13", "replays, reorders, rollbacks", tampered::replayed),
    ("F14", "many writers through pgbouncer", pooled::run),
    ("F15", "a scrub, and a deletion, while a laptop is offline", secrets::run),
    ("F16", "an administrator changes lines", tampered::changed),
    ("F17", "other versions of the schema", versions::run),
    ("F18", "local commands make no connection", local::run),
];

/// What a row works with.
struct Bench {
    is_long: bool,
    seed: u64,
    /// This program, which also runs the roles of children.
    program: PathBuf,
    /// A directory for the clients, removed in the end.
    directory: PathBuf,
    cluster: OnceCell<Cluster>,
    n_named: Cell<u32>,
}

impl Bench {
    fn count(&self, short: u32, long: u32) -> u32 {
        if self.is_long { long } else { short }
    }

    fn random(&self, salt: u64) -> SplitMix {
        SplitMix::new(self.seed.wrapping_mul(0x1_0001).wrapping_add(salt))
    }

    /// The server that all rows share. A row that harms it leaves it running.
    fn cluster(&self) -> &Cluster {
        self.cluster.get_or_init(Cluster::start)
    }

    /// A name that no other row uses.
    fn name(&self, what: &str) -> String {
        self.n_named.set(self.n_named.get() + 1);
        format!("{what}{}", self.n_named.get())
    }

    /// The login of a new member, who has no sessions yet.
    fn member(&self) -> Config {
        self.cluster().running().member(&self.name("m")).unwrap()
    }

    /// A client with an empty store.
    fn client(&self, config: &Config) -> Client {
        let name = self.name("c");
        Client::new(&self.directory.join(&name), &name, config.clone(), u64::from(self.n_named.get()))
    }

    /// Clients of a new member that all have the same sessions.
    fn clients(&self, n_clients: usize, ids: &[&str]) -> Vec<Client> {
        let config = self.member();
        let mut clients: Vec<Client> = (0..n_clients).map(|_| self.client(&config)).collect();
        for id in ids {
            clients[0].create(id);
        }
        for client in &mut clients {
            client.sync().unwrap();
        }
        clients
    }
}

/// Runs the rows, and prints a line for each. Returns whether all went well.
pub fn run(plan: &Plan, program: &Path) -> bool {
    let is_wanted = |name: &str| plan.only.is_empty() || plan.only.iter().any(|only| only == name);
    let rows: Vec<_> = ROWS.iter().filter(|(name, ..)| is_wanted(name)).collect();
    if rows.is_empty() || plan.only.iter().any(|only| ROWS.iter().all(|(name, ..)| name != only)) {
        println!("team-faults: no such row; there are {}", ROWS.map(|(name, ..)| name).join(", "));
        return false;
    }
    let directory = tempfile::Builder::new().prefix("team-faults-").tempdir().unwrap();
    let began = Instant::now();
    let bench = Bench {
        is_long: plan.is_long,
        seed: plan.seed,
        program: program.to_path_buf(),
        directory: directory.path().to_path_buf(),
        cluster: OnceCell::new(),
        n_named: Cell::new(0),
    };
    bench.cluster();
    let (mut n_bad, mut n_skipped) = (0, 0);
    for (name, what, row) in &rows {
        let began = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| row(&bench)));
        let seconds = began.elapsed().as_secs_f64();
        match result {
            Ok(Ok(outcome)) => {
                println!("{name} {} ({what}: {}; seed {}, {seconds:.1} s)", outcome.line(), outcome.facts(), plan.seed);
                outcome.print_problems();
                n_bad += u32::from(!outcome.is_good());
            }
            Ok(Err(Skipped(why))) => {
                println!("{name} SKIPPED: {why}");
                n_skipped += 1;
            }
            Err(panic) => {
                let words = panic.downcast_ref::<String>().map(String::as_str);
                let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                println!("{name} PANICKED: {words} ({what}; seed {}, {seconds:.1} s)", plan.seed);
                n_bad += 1;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("team-faults: {} rows, {n_skipped} skipped, {n_bad} failed, {seconds:.0} s", rows.len());
    n_bad == 0
}
