//! The soak: every program that works with a store, on one store, for hours.
//!
//! Actors use the command line, RPC servers, the screens, `watch`, the web server, the MCP server and the genuine pi, on its
//! engine and on ours. Processes are killed and stopped, the disk is full now and then, and clocks jump. Old sessions are
//! verified and deleted, so that the store stays as large as it is and nothing else has a reason to grow. Memory,
//! descriptors, threads, files and latencies are sampled; what grows without bound fails the run, like an acknowledged
//! entry that is lost.
#![expect(clippy::print_stdout, reason = "prints the results")]

mod actors;
mod board;
mod chart;
mod faults;
mod front_ends;
pub mod growth;
mod home;
mod janitor;
mod pi;
mod sampler;
mod talk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::board::Board;
use self::growth::Verdict;
use self::home::Home;
use self::sampler::{CONTROL, Judged, Kind, Latencies, Samples};
use crate::SplitMix;
use crate::torture::processes::finish;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How long.
    pub duration: Duration,
    /// The time between two samples.
    pub interval: Duration,
    /// The random seed.
    pub seed: u64,
    /// The `sessile` program.
    pub sessile: PathBuf,
    /// The npm package with its native part, for pi on our engine.
    pub package: Option<PathBuf>,
    /// Where the samples and the chart go.
    pub output: PathBuf,
    /// The size of the disk of the store.
    pub disk_megabytes: u64,
    /// The only actors to run, by a part of their names; all if empty.
    pub only: Vec<String>,
    /// Whether to print JSON.
    pub is_json: bool,
}

/// An actor: its name, and its function, which returns when the soak is over.
type Actor = (&'static str, fn(&Soak, SplitMix));

/// All actors. A new front end is a row.
const ACTORS: &[Actor] = &[
    ("write", actors::write),
    ("write again", actors::write),
    ("read", actors::read),
    ("rpc", front_ends::rpc),
    ("rpc with clock jumps", front_ends::rpc_with_clock_jumps),
    ("rpc killed", front_ends::rpc_killed),
    ("watch", front_ends::watch),
    ("picker", front_ends::picker),
    ("tree", front_ends::tree),
    ("serve", front_ends::serve),
    ("mcp", front_ends::mcp),
    ("pi", pi::own),
    ("pi on ours", pi::on_ours),
    ("janitor", janitor::run),
    ("full disk", faults::full_disk),
    ("clock", faults::clock),
    ("pauses", faults::pauses),
];

/// The sessions that are in use at the same time.
const N_SESSIONS: usize = 24;

/// What all actors share.
struct Soak {
    plan: Plan,
    home: Home,
    board: Board,
    began: Instant,
    latencies: Mutex<Latencies>,
    tally: Mutex<Tally>,
    /// The long-living processes, by name.
    living: Mutex<BTreeMap<&'static str, u32>>,
    disk: Mutex<faults::DiskState>,
}

/// Counts, and what went wrong.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, u64>,
    problems: BTreeMap<String, u64>,
    skipped: Vec<String>,
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// It succeeded, with this output.
    Done(String),
    /// It did nothing: there was nothing to do, a lock was not free, or a fault explains its error.
    Nothing,
}

impl Soak {
    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.plan.duration
    }

    /// Sleeps, but not beyond the end.
    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration.min(self.plan.duration.saturating_sub(self.began.elapsed())));
    }

    /// Sleeps up to so many milliseconds.
    fn rest(&self, random: &mut SplitMix, most: usize) {
        self.sleep(Duration::from_millis(random.below(most) as u64));
    }

    /// Returns how long a session is in use: a small part of the run, so that the store is as large as it gets soon.
    fn session_age(&self) -> Duration {
        (self.plan.duration / 12).clamp(Duration::from_secs(20), Duration::from_mins(10))
    }

    fn count(&self, what: &'static str, n: u64) {
        *self.tally.lock().unwrap().counts.entry(what).or_default() += n;
    }

    fn problem(&self, what: impl Into<String>) {
        let what: String = what.into();
        let mut tally = self.tally.lock().unwrap();
        let n = tally.problems.entry(what.chars().take(300).collect()).or_default();
        *n += 1;
        if *n == 1 && !self.plan.is_json {
            println!("{:>6.0} s  PROBLEM {what}", self.began.elapsed().as_secs_f64());
        }
    }

    fn skip(&self, why: impl Into<String>) {
        self.tally.lock().unwrap().skipped.push(why.into());
    }

    /// Reports a failed request, unless a full disk explains it.
    fn failed(&self, operation: &str, since: Instant, error: &str) {
        if self.was_full(since) {
            self.count("refused on a full disk", 1);
        } else {
            self.problem(format!("{operation}: {error}"));
        }
    }

    /// Records the latency of an operation that no fault has slowed down.
    fn took(&self, operation: &'static str, since: Instant) {
        if !self.was_full(since) {
            self.latencies.lock().unwrap().add(operation, since.elapsed().as_secs_f64() * 1000.0);
        }
        self.count(operation, 1);
    }

    /// Runs a command to its end and records how long it took.
    fn run(&self, operation: &'static str, command: Command) -> Ended {
        let since = Instant::now();
        let ended = finish(command);
        match ended.code {
            Some(0) => {
                self.took(operation, since);
                Ended::Done(ended.out)
            }
            Some(1) => {
                self.took(operation, since);
                Ended::Nothing
            }
            Some(4) => {
                self.count("busy", 1);
                Ended::Nothing
            }
            _ => {
                self.failed(operation, since, &ended.words());
                Ended::Nothing
            }
        }
    }

    /// Runs a command of Sessile.
    fn sessile(&self, operation: &'static str, args: &[&str]) -> Ended {
        self.run(operation, self.home.sessile(args))
    }

    /// Returns a session that its caller then uses, and releases.
    fn session(&self, random: &mut SplitMix) -> Option<PathBuf> {
        if let Some(path) = self.board.claim(random, N_SESSIONS) {
            return Some(path);
        }
        let Ended::Done(out) = self.sessile("new", &["new", "--json"]) else { return self.board.claim(random, 1) };
        let path = serde_json::from_str::<Value>(&out).ok().and_then(|new| new["path"].as_str().map(PathBuf::from))?;
        self.board.add(&path);
        // Many commands need an entry.
        let mark = self.board.mark();
        if let Ended::Done(_) = self.sessile("append", &["append", &path.to_string_lossy(), &format!("{mark} first")]) {
            self.board.acknowledge(&path, mark);
        }
        Some(path)
    }

    /// Records a long-living process, which is sampled and sometimes stopped.
    fn lives(&self, name: &'static str, id: u32) {
        self.living.lock().unwrap().insert(name, id);
    }

    fn died(&self, name: &'static str) {
        self.living.lock().unwrap().remove(name);
    }

    /// Samples everything until the end.
    fn sample(&self) -> Samples {
        let mut samples = Samples::default();
        while !self.is_over() {
            self.sleep(self.plan.interval);
            let since = Instant::now();
            if Command::new("/bin/true").status().is_ok_and(|status| status.success()) {
                self.took(CONTROL, since);
            }
            let at = self.began.elapsed().as_secs_f64();
            let living = self.living.lock().unwrap().clone();
            for (name, id) in living {
                samples.add_process(name, id, at);
            }
            samples.add_files(&self.home.root, at);
            self.latencies.lock().unwrap().drain_into(&mut samples, at);
        }
        samples
    }
}

/// Runs the soak, prints its results and writes the samples and a chart. Returns false if something was lost, failed or
/// grew without bound.
pub fn run(plan: &Plan) -> bool {
    let scratch = tempfile::Builder::new().prefix("soak-").tempdir().unwrap();
    let model = pi::Model::start();
    let (home, skipped) = Home::create(plan, scratch.path(), model.port);
    let soak = Soak {
        plan: plan.clone(),
        home,
        board: Board::default(),
        began: Instant::now(),
        latencies: Mutex::default(),
        tally: Mutex::new(Tally { skipped, ..Tally::default() }),
        living: Mutex::default(),
        disk: Mutex::default(),
    };
    let is_wanted = |name: &str| plan.only.is_empty() || plan.only.iter().any(|part| name.contains(part.as_str()));
    let samples = std::thread::scope(|scope| {
        for (number, (name, actor)) in ACTORS.iter().enumerate().filter(|(_, (name, _))| is_wanted(name)) {
            let random = SplitMix::new(plan.seed.wrapping_mul(0x1_0001).wrapping_add(number as u64));
            let soak = &soak;
            std::thread::Builder::new()
                .name((*name).to_owned())
                .spawn_scoped(scope, move || actor(soak, random))
                .unwrap();
        }
        soak.sample()
    });
    janitor::check_all(&soak, scratch.path());
    let judged = samples.judge();
    for judged in judged.iter().filter(|judged| judged.is_failure()) {
        soak.problem(format!(
            "{} of {} grows without bound: {:.1}, later {:.1}",
            judged.kind.name(),
            judged.of,
            judged.growth.early,
            judged.growth.late
        ));
    }
    write_results(plan, &samples);
    let tally = soak.tally.lock().unwrap();
    if plan.is_json {
        println!("{}", as_json(plan, &soak.board, &tally, &judged));
    } else {
        print_results(plan, &soak.board, &tally, &judged);
    }
    tally.problems.is_empty()
}

fn write_results(plan: &Plan, samples: &Samples) {
    std::fs::create_dir_all(&plan.output).unwrap();
    std::fs::write(plan.output.join("soak.csv"), samples.csv()).unwrap();
    std::fs::write(plan.output.join("soak.svg"), chart::draw(samples)).unwrap();
}

fn print_results(plan: &Plan, board: &Board, tally: &Tally, judged: &[Judged]) {
    for kind in Kind::ALL {
        println!("\n{:<28}{:>10}{:>10}{:>12}  growth", kind.name(), "early", "late", "per hour");
        for judged in judged.iter().filter(|judged| judged.kind == kind) {
            let growth = judged.growth;
            println!(
                "{:<28}{:>10.1}{:>10.1}{:>12.2}  {}",
                judged.of,
                growth.early,
                growth.late,
                growth.per_hour,
                outcome(judged)
            );
        }
    }
    println!();
    for (what, n) in &tally.counts {
        println!("{n:>9}  {what}");
    }
    for why in &tally.skipped {
        println!("SKIPPED {why}");
    }
    for (problem, n) in &tally.problems {
        println!("PROBLEM ({n} times) {problem}");
    }
    println!(
        "soak: {:.0} minutes, seed {}, {} acknowledged entries, {} problems",
        plan.duration.as_secs_f64() / 60.0,
        plan.seed,
        board.n_acknowledged(),
        tally.problems.len()
    );
    println!("{}", show(&plan.output.join("soak.csv")));
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

fn outcome(judged: &Judged) -> &'static str {
    match (judged.excuse, judged.growth.verdict) {
        (Some(excuse), _) => excuse,
        (None, Verdict::Bounded) => "bounded",
        (None, Verdict::Unbounded) => "UNBOUNDED",
        (None, Verdict::Unknown) => "too few samples",
    }
}

fn as_json(plan: &Plan, board: &Board, tally: &Tally, judged: &[Judged]) -> Value {
    let series: Vec<Value> = judged
        .iter()
        .map(|judged| {
            json!({
                "kind": judged.kind.name(), "of": judged.of, "early": judged.growth.early, "late": judged.growth.late,
                "perHour": judged.growth.per_hour, "outcome": outcome(judged),
            })
        })
        .collect();
    json!({
        "minutes": plan.duration.as_secs_f64() / 60.0, "seed": plan.seed, "acknowledged": board.n_acknowledged(),
        "counts": tally.counts, "skipped": tally.skipped, "problems": tally.problems, "series": series,
    })
}
