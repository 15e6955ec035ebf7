//! Reading a log of 5,000 lines, beside COPY of the same rows.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use sessile::sync::remote::postgres::{Config, PostgresServer};
use sessile::sync::remote::{Batch, NewSession, Server};

use crate::bare::Bare;

/// The lines of the log.
const N_LINES: usize = 5000;

/// Longer lines are single rows of some hundred kilobytes, of which few sessions have many.
const MAX_LINE: usize = 20_000;

/// The time of a pull, that of a bare one, and the bytes.
pub(crate) fn measure(
    config: &Config,
    bare: &Bare,
    sessions: &[Vec<Vec<u8>>],
    dir: &Path,
) -> (Duration, Duration, usize) {
    let lines = sessions.iter().flatten().filter(|line| line.len() < MAX_LINE).take(N_LINES);
    let lines: Vec<Vec<u8>> = lines.cloned().collect();
    let n_bytes = lines.iter().map(Vec::len).sum();
    let mut server = PostgresServer::connect(config).unwrap();
    let session = NewSession { header_id: "pulled", header: b"{}", ..NewSession::default() };
    let head = server.create(&session).unwrap();
    let mut batch = Batch::at(head.position);
    for line in &lines {
        if batch.is_full() {
            batch = Batch::at(server.append(head.no, &batch, None).unwrap().unwrap());
        }
        batch.push(line).unwrap();
    }
    server.append(head.no, &batch, None).unwrap().unwrap();
    let pull = |_| {
        let (begin, mut n) = (Instant::now(), 0);
        let read = server.read(head.no, 0, 0, u64::MAX, &mut |line| {
            n += line.bytes.len();
            ControlFlow::Continue(())
        });
        read.unwrap();
        assert_eq!(n, n_bytes, "all lines");
        begin.elapsed()
    };
    let ours = (0..9).map(pull).min().unwrap();
    bare.load(std::slice::from_ref(&lines), dir);
    let copy = "\\copy (select data from public.bare order by seq) to '/dev/null' (format binary)";
    (ours, bare.time_of(copy, 9), n_bytes)
}
