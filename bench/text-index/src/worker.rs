//! The work that a separate process does with one engine. It prints its figures as JSON.

use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::resource::UsageWho;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::appended;
use crate::corpus::sessions;
use crate::engine::Query;
use crate::engines::open;
use crate::figures::{cpu_ms, peak_mb};
use crate::queries::Queries;

/// How many hits a search shows.
pub const LIMIT: usize = 50;

/// How often each query is measured.
const ROUNDS: usize = 5;

/// How often all session files are examined.
#[cfg(feature = "ours")]
const PASSES: usize = 50;

/// What a build costs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Built {
    pub ms: f64,
    pub cpu_ms: f64,
    pub peak_mb: f64,
}

/// The times of one kind of query, in milliseconds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct QueryTimes {
    pub kind: String,
    /// Opening the index and finding the best hits.
    pub opened: Vec<f64>,
    /// Finding the best hits in an index that is open.
    pub best: Vec<f64>,
    /// Finding the newest hits in an index that is open.
    pub newest: Vec<f64>,
}

/// All queries, and the most memory that they took.
#[derive(Debug, Serialize, Deserialize)]
pub struct AllQueryTimes {
    pub kinds: Vec<QueryTimes>,
    pub peak_mb: f64,
}

/// The number of hits and the best of them, or an error, for each query.
pub type Answers = Vec<Result<(usize, Vec<(u32, u64)>), String>>;

/// Does one piece of work.
pub fn work(engine: &str, work: &str, args: &[&str]) -> Result<(), Failure> {
    let [index, store, rest @ ..] = args else { return Err("a worker needs an index and a store".into()) };
    let (index, store) = (Path::new(index), Path::new(store));
    let output = match (work, rest) {
        ("build", []) => serde_json::to_string(&build(engine, index, store)?)?,
        ("ask", [queries]) => serde_json::to_string(&ask(engine, index, store, &read(queries)?)?)?,
        ("answer", [queries]) => serde_json::to_string(&answer(engine, index, store, &read(queries)?)?)?,
        ("one", [word]) => {
            let hits = open(engine, index, sessions(store)?)?.best(&Query::Word((*word).to_owned()), LIMIT)?;
            serde_json::to_string(&hits.len())?
        }
        #[cfg(feature = "ours")]
        ("survey", []) => {
            let time = || {
                let start = Instant::now();
                crate::ours::Ours::survey(store)?;
                Ok::<_, Failure>(start.elapsed().as_secs_f64() * 1e3)
            };
            serde_json::to_string(&(0..PASSES).map(|_| time()).collect::<Result<Vec<f64>, _>>()?)?
        }
        ("append", [session, how]) => {
            let mut files = sessions(store)?;
            files.push(PathBuf::from(session));
            serde_json::to_string(&appended::append(engine, index, files, *how == "eager")?)?
        }
        _ => return Err(format!("no such work: {work}").into()),
    };
    println!("{output}");
    Ok(())
}

fn read(queries: &str) -> Result<Queries, Failure> {
    Ok(serde_json::from_slice(&std::fs::read(queries)?)?)
}

fn build(engine: &str, index: &Path, store: &Path) -> Result<Built, Failure> {
    let files = sessions(store)?;
    let start = Instant::now();
    open(engine, index, files)?.update()?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(Built { ms, cpu_ms: cpu_ms(UsageWho::RUSAGE_SELF)?, peak_mb: peak_mb()? })
}

fn ask(engine: &str, index: &Path, store: &Path, queries: &Queries) -> Result<AllQueryTimes, Failure> {
    let files = sessions(store)?;
    let mut kinds = Vec::new();
    let mut kept = open(engine, index, files.clone())?;
    for (kind, queries) in queries {
        let mut times = QueryTimes { kind: kind.clone(), ..QueryTimes::default() };
        for _ in 0..ROUNDS {
            for query in queries {
                let files = files.clone();
                let start = Instant::now();
                open(engine, index, files)?.best(query, LIMIT)?;
                times.opened.push(start.elapsed().as_secs_f64() * 1e3);
                let start = Instant::now();
                kept.best(query, LIMIT)?;
                times.best.push(start.elapsed().as_secs_f64() * 1e3);
                let start = Instant::now();
                kept.newest(query, LIMIT)?;
                times.newest.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        kinds.push(times);
    }
    Ok(AllQueryTimes { kinds, peak_mb: peak_mb()? })
}

fn answer(engine: &str, index: &Path, store: &Path, queries: &Queries) -> Result<Answers, Failure> {
    let mut engine = open(engine, index, sessions(store)?)?;
    let mut answer = |query: &Query| -> Result<(usize, Vec<(u32, u64)>), Failure> {
        let count = engine.count(query)?;
        let mut best = engine.best(query, LIMIT)?;
        // Hits of the same score may come in any order.
        best.sort_unstable();
        Ok((count, best))
    };
    let all = queries.iter().flat_map(|(_, queries)| queries);
    Ok(all.map(|query| answer(query).map_err(|error| error.to_string())).collect())
}
