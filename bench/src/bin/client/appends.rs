//! Several clients of one socket append to one session.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::Server;
use super::wrong;

/// How long a server may take until it listens.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs clients that append, each waiting for one answer before it sends the next, and checks the acknowledged entries.
pub(super) fn measure(
    (n_clients, n_each): (usize, usize),
    socket: &Path,
    file: &Path,
    program: &[&str],
) -> io::Result<Value> {
    let server = Server::start(program)?;
    let streams: Vec<UnixStream> = (0..n_clients).map(|_| connect(socket)).collect::<io::Result<_>>()?;
    let (start, used) = (Instant::now(), server.processor_ms()?);
    let clients: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(client, stream)| thread::spawn(move || append(client, n_each, stream)))
        .collect();
    let mut acknowledged = BTreeMap::new();
    for client in clients {
        acknowledged.extend(client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    let (ms, processor_ms) = (start.elapsed().as_secs_f64() * 1e3, server.processor_ms()? - used);
    let peak_kb = server.terminate()?;
    let n_lost = lost(&acknowledged, file)?;
    let n = n_clients * n_each;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = n as f64 / (ms / 1e3);
    Ok(json!({
        "ms": ms, "peak_kb": peak_kb, "processor_ms": processor_ms, "acknowledged": acknowledged.len(),
        "unacknowledged": n - acknowledged.len(), "lost": n_lost, "entries_per_s": rate,
    }))
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let start = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Err(_) if start.elapsed() < CONNECT_TIMEOUT => thread::sleep(Duration::from_millis(2)),
            connected => return connected,
        }
    }
}

/// Appends one message after the other, and returns their texts by the acknowledged ids.
fn append(client: usize, n_each: usize, mut stream: UnixStream) -> io::Result<Vec<(String, String)>> {
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut acknowledged = Vec::with_capacity(n_each);
    let mut line = Vec::new();
    for index in 0..n_each {
        let text = format!("entry {index} of client {client}");
        let message = json!({ "role": "user", "content": text, "timestamp": 1_763_164_800_000_u64 });
        let request = json!({ "id": index, "type": "append_message", "message": message });
        stream.write_all(format!("{request}\n").as_bytes())?;
        loop {
            line.clear();
            if answers.read_until(b'\n', &mut line)? == 0 {
                return Err(wrong("the server hung up"));
            }
            let record: Value = serde_json::from_slice(&line).map_err(io::Error::from)?;
            if record["type"] == "response" {
                let id = record["data"]["entryId"].as_str().ok_or_else(|| wrong(format!("refused: {record}")))?;
                acknowledged.push((id.to_owned(), text));
                break;
            }
        }
    }
    Ok(acknowledged)
}

/// Counts the acknowledged entries that are not in the file with their text, on one path from its last entry to its
/// first.
fn lost(acknowledged: &BTreeMap<String, String>, file: &Path) -> io::Result<usize> {
    let file = BufReader::new(fs::File::open(file)?);
    let mut found = BTreeSet::new();
    let mut last = Value::Null;
    for line in file.lines().skip(1) {
        let entry: Value = serde_json::from_str(&line?).map_err(io::Error::from)?;
        let is_next = entry["parentId"] == last;
        last = entry["id"].clone();
        if let Some(id) = entry["id"].as_str().filter(|_| is_next)
            && acknowledged.get(id).is_some_and(|text| entry["message"]["content"] == text.as_str())
        {
            found.insert(id.to_owned());
        }
    }
    Ok(acknowledged.keys().filter(|id| !found.contains(*id)).count())
}
