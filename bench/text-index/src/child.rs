//! Runs work in a separate process.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;

use crate::Failure;
use crate::worker::Answers;

/// How the error of a process that did not end by itself begins.
pub const CRASHED: &str = "crashed";

/// A command that does work in a separate process.
pub fn command(engine: &str, work: &str, args: &[&Path]) -> Command {
    let me = std::env::current_exe().unwrap_or_default();
    let mut command = Command::new(me);
    command.args([OsStr::new("worker"), engine.as_ref(), work.as_ref()]).args(args);
    command.stdin(Stdio::null());
    command
}

/// Does work in a separate process, and returns its figures.
pub fn worker<T: DeserializeOwned>(engine: &str, work: &str, args: &[&Path]) -> Result<T, Failure> {
    let output = command(engine, work, args).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout)?),
        Some(1) => Err(format!("{engine} {work}: {}", errors.trim()).into()),
        _ => Err(format!("{CRASHED}: {engine} {work}: {}", errors.trim()).into()),
    }
}

/// The answers of an engine to all queries.
pub fn answers(engine: &str, index: &Path, store: &Path, queries: &Path) -> Result<Answers, Failure> {
    worker(engine, "answer", &[index, store, queries])
}
