//! Compares our text index with tantivy and SQLite FTS5: the same sessions, the same tokens, the same queries.
//!
//! `text-index run FOLDER STORE…` measures everything on each store and prints tables; FOLDER holds what it writes.
//! `text-index cost FOLDER` builds a program with each engine alone. `run` starts the other commands in separate
//! processes, one engine in each.

mod appended;
mod child;
mod corpus;
mod crash;
mod damage;
mod engine;
mod engines;
mod figures;
mod limit;
mod queries;
mod run;
mod worker;

#[cfg(feature = "fts5")]
mod fts5;
#[cfg(feature = "ours")]
mod ours;
#[cfg(feature = "tantivy")]
mod tantivy;

mod cost;

use std::process::ExitCode;

/// Any error; it ends the program.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["run", folder, stores @ ..] if !stores.is_empty() => run::run(folder.as_ref(), stores),
        ["cost", folder] => cost::cost(folder.as_ref()),
        ["worker", engine, work, args @ ..] => worker::work(engine, work, args),
        _ => Err("usage: text-index run FOLDER STORE…\n       text-index cost FOLDER".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("text-index: {error}");
            ExitCode::FAILURE
        }
    }
}
