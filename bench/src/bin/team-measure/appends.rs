//! Appends of one line each, by writers with their own sessions, beside bare inserts.

use std::path::Path;
use std::time::{Duration, Instant};

use sessile::sync::remote::postgres::{Config, PostgresServer};
use sessile::sync::remote::{Batch, NewSession, Server};

use crate::bare::Bare;
use crate::report::Report;

/// The length of the lines.
const LINE: usize = 1300;

/// How long each number of writers appends.
const APPENDING: Duration = Duration::from_secs(5);

/// The times of all appends.
struct Times {
    per_second: f64,
    p50: f64,
    p99: f64,
}

impl Times {
    fn new(mut milliseconds: Vec<f64>, took: Duration) -> Self {
        milliseconds.sort_unstable_by(f64::total_cmp);
        let at = |percent: usize| milliseconds[milliseconds.len() * percent / 100];
        Self { per_second: milliseconds.len() as f64 / took.as_secs_f64(), p50: at(50), p99: at(99) }
    }

    fn words(&self) -> String {
        format!("{:.0}/s, p50 {:.1}, p99 {:.1} ms", self.per_second, self.p50, self.p99)
    }
}

pub(crate) fn measure(config: &Config, bare: &Bare, dir: &Path, report: &mut Report) {
    bare.psql("create table public.inserted (session bigint, seq bigserial, data bytea, primary key (session, seq))");
    let script = dir.join("insert.sql");
    let text = "y".repeat(LINE);
    std::fs::write(&script, format!("insert into public.inserted (session, data) values (:client_id, '{text}');\n"))
        .unwrap();
    for n_writers in [1, 16, 64] {
        let ours = append(config, n_writers);
        let inserts = insert(bare, dir, &script, n_writers);
        let what = format!("append, {n_writers} writers with a session each, lines of {LINE} bytes");
        report.row(&what, &ours.words(), &inserts.words(), ours.p50 / inserts.p50);
    }
}

fn append(config: &Config, n_writers: usize) -> Times {
    let line = vec![b'x'; LINE];
    let begin = Instant::now();
    let times: Vec<f64> = std::thread::scope(|scope| {
        let writer = |writer| {
            let line = &line;
            scope.spawn(move || {
                let mut server = PostgresServer::connect(config).unwrap();
                let id = format!("append-{n_writers}-{writer}");
                let session = NewSession { header_id: &id, header: b"{}", ..NewSession::default() };
                let head = server.create(&session).unwrap();
                let (mut at, mut times) = (head.position, Vec::new());
                while begin.elapsed() < APPENDING {
                    let started = Instant::now();
                    let mut batch = Batch::at(at);
                    batch.push(line).unwrap();
                    at = server.append(head.no, &batch, None).unwrap().unwrap();
                    times.push(started.elapsed().as_secs_f64() * 1e3);
                }
                times
            })
        };
        let writers: Vec<_> = (0..n_writers).map(writer).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    Times::new(times, begin.elapsed())
}

fn insert(bare: &Bare, dir: &Path, script: &Path, n_writers: usize) -> Times {
    let prefix = dir.join(format!("pgbench-{n_writers}"));
    let (seconds, clients) = (APPENDING.as_secs().to_string(), n_writers.to_string());
    let log = format!("--log-prefix={}", prefix.display());
    let script = script.to_str().unwrap();
    bare.run("pgbench", &["-n", "-c", &clients, "-j", "2", "-T", &seconds, "-f", script, "-l", &log]);
    let logs = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let logs = logs.filter(|path| path.to_string_lossy().starts_with(&format!("{}.", prefix.display())));
    let text: String = logs.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    // Client, number, microseconds, …
    let times = text.lines().map(|line| line.split(' ').nth(2).unwrap().parse::<f64>().unwrap() / 1e3);
    Times::new(times.collect(), APPENDING)
}
