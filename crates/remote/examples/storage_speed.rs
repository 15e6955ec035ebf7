//! Measures a storage for large lines: `storage_speed URL`, with the keys in `SESSILE_S3_ACCESS_KEY` and
//! `SESSILE_S3_SECRET_KEY`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::time::{Duration, Instant};

use sessile_core::date::Timestamp;
use sessile_remote::blobs::{ObjectHash, Objects, S3Address, S3Keys, S3Storage};

const ROUNDS: u64 = 50;

fn main() {
    let url = std::env::args().nth(1).expect("the address of a bucket");
    let key = |name: &str| std::env::var(name).unwrap();
    let keys = S3Keys::new(key("SESSILE_S3_ACCESS_KEY"), key("SESSILE_S3_SECRET_KEY"));
    let storage = S3Storage::new(S3Address::from_url(&url).unwrap(), keys, now);
    storage.check().unwrap();
    for length in [300_000, 5_000_000] {
        let bodies: Vec<Vec<u8>> = (0..ROUNDS).map(|seed| noise(seed, length)).collect();
        let hashes: Vec<ObjectHash> = bodies.iter().map(|body| ObjectHash::of(body)).collect();
        let objects = || hashes.iter().zip(&bodies);
        let report = |what: &str, times: Vec<Duration>| println!("{what} {length} B: {}", median(times));
        report("put", objects().map(|(hash, body)| timed(|| storage.put(hash, body, false).unwrap())).collect());
        report("get", objects().map(|(hash, _)| timed(|| storage.get(hash, length).unwrap().unwrap())).collect());
        report("head", objects().map(|(hash, _)| timed(|| storage.head(hash).unwrap().unwrap())).collect());
        report("delete", objects().map(|(hash, _)| timed(|| storage.delete(hash).unwrap())).collect());
    }
}

fn timed<T>(act: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(act());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> String {
    times.sort();
    format!("median {:.1?}, fastest {:.1?}", times[times.len() / 2], times[0])
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap())
}
