//! One client for every server that speaks JSON lines: pi's RPC mode, ours, and `cat`, which is the limit.
//!
//! `client messages PROGRAM [ARGUMENT…]` times one `get_messages` from the start of the program to its whole answer.
//! `client states N PROGRAM [ARGUMENT…]` sends N `get_state` without waiting, and reports the processor time that the
//! program used for them. `client appends CLIENTS EACH SOCKET FILE PROGRAM [ARGUMENT…]` lets several clients of one
//! socket append, each one entry after the other, and then checks that every acknowledged entry is in the file. Prints
//! one JSON line.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "other programs read its output")]

mod appends;
mod server;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use sessile_bench::digest::{Digest, digest_of};

use server::Server;

const USAGE: &str = "usage: client messages PROGRAM…, client states N PROGRAM…, \
                     client appends CLIENTS EACH SOCKET FILE PROGRAM…";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let report = match words.as_slice() {
        ["messages", program @ ..] => messages(program),
        ["states", n, program @ ..] => number(n).and_then(|n| states(n, program)),
        ["appends", clients, each, socket, file, program @ ..] => number(clients)
            .and_then(|clients| Ok((clients, number(each)?)))
            .and_then(|counts| appends::measure(counts, socket.as_ref(), file.as_ref(), program)),
        _ => Err(wrong(USAGE)),
    };
    match report {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn number(word: &str) -> io::Result<usize> {
    word.parse().map_err(|error| wrong(format!("{word}: {error}")))
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

/// Measures the time from the start of the program to the last byte of its answer. The answer is compared byte for
/// byte.
fn messages(program: &[&str]) -> io::Result<Value> {
    let start = Instant::now();
    let mut server = Server::start(program)?;
    server.send(b"{\"id\":1,\"type\":\"get_messages\"}\n")?;
    let answer = server.record()?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let peak_kb = server.finish()?;
    Ok(json!({ "ms": ms, "peak_kb": peak_kb, "digest": digest_of(&answer), "bytes": answer.len() }))
}

/// Measures the processor time for many requests that are all sent before any answer is read.
///
/// The program's work up to its first answer does not count.
fn states(n: usize, program: &[&str]) -> io::Result<Value> {
    let mut server = Server::start(program)?;
    let request = |id: usize| format!("{{\"id\":{id},\"type\":\"get_state\"}}\n");
    server.send(request(0).as_bytes())?;
    server.record()?;
    let (start, used) = (Instant::now(), server.processor_ms()?);
    let requests: String = (1..=n).map(request).collect();
    let mut input = server.take_input()?;
    let sending = std::thread::spawn(move || {
        io::Write::write_all(&mut input, requests.as_bytes())?;
        Ok::<_, io::Error>(input)
    });
    let mut answers = Vec::with_capacity(n);
    for _ in 0..n {
        answers.push(server.record()?);
    }
    let (wall_ms, ms) = (start.elapsed().as_secs_f64() * 1e3, server.processor_ms()? - used);
    let input = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    drop(input);
    let peak_kb = server.finish()?;
    let mut digest = Digest::default();
    for answer in &answers {
        let answer: Value = serde_json::from_slice(answer).map_err(io::Error::from)?;
        // Agent state and models differ between the programs; the session and its content do not.
        let state = &answer["data"];
        for value in
            [&answer["id"], &answer["success"], &state["sessionFile"], &state["sessionId"], &state["messageCount"]]
        {
            digest.field(value.to_string());
        }
    }
    Ok(json!({ "ms": ms, "wall_ms": wall_ms, "peak_kb": peak_kb, "digest": digest.finish() }))
}
