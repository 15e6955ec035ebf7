//! Performs one operation with the library and reports the result.
//!
//! `ours OPERATION ARGUMENTS…` prints one JSON line: the duration in milliseconds, the memory used by then, and a
//! digest of the result. `pi.mjs` is its counterpart. `SESSILE_CACHE_DIR` sets the directory of the caches.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

mod size;
mod text;

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use sessile::branch::TreeNode;
use sessile::context::SessionContext;
use sessile::date::Timestamp;
use sessile::json::Json;
use sessile::list::{Copies, ListOptions, Progress, SessionInfo};
use sessile::{SessionManager, Sessions, draft};
use sessile_bench::digest::Digest;
use sessile_rpc::answer;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let figures = match words.as_slice() {
        ["entries", file] => timed(|| open(file), digest_every_entry),
        ["open", file] => timed(|| open(file), digest_entries),
        ["context", file] => timed(|| open(file).build_session_context().unwrap(), digest_context),
        ["tree", file] => {
            let session = open(file);
            timed(|| session.tree().unwrap(), |nodes, digest| digest_tree(nodes, digest))
        }
        ["context-warm", file, times] => context_warm(&open(file), times.parse().unwrap()),
        ["list-all"] => list_all(),
        ["list", cwd, dir] => timed(
            || Sessions::default().with_session_dir(Path::new(dir)).list(cwd).unwrap(),
            |rows, digest| digest_rows(rows, digest),
        ),
        ["fork", file, cwd, dir] => timed(
            || Sessions::default().with_session_dir(Path::new(dir)).fork_from(file, cwd).unwrap(),
            |session, _| json!({ "file": session.session_file().unwrap() }),
        ),
        ["migrate", file] => timed(|| migrate(file), |session, _| json!({ "file": session.session_file().unwrap() })),
        ["append", file, count, bytes] => append(file, count.parse().unwrap(), bytes.parse().unwrap()),
        ["text-size", dir] => timed(|| size::text_below(Path::new(dir)), |bytes, _| json!({ "text_bytes": bytes })),
        ["text-append", "--probe"] => json!({}),
        ["text-append"] => text::append(),
        _ => panic!("no such operation: {}", words.join(" ")),
    };
    println!("{figures}");
}

/// Runs the work once, and returns its duration and what `digest_result` reports about its result.
fn timed<T>(work: impl FnOnce() -> T, digest_result: impl FnOnce(&T, &mut Digest) -> Value) -> Value {
    let start = Instant::now();
    let result = work();
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let peak_kb = peak_kb();
    let mut digest = Digest::default();
    let mut figures = digest_result(&result, &mut digest);
    figures["ms"] = ms.into();
    figures["peak_kb"] = peak_kb.into();
    figures["digest"] = digest.finish().into();
    figures
}

/// Returns the peak memory of this process, as the kernel counts it.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn open(file: &str) -> SessionManager {
    Sessions::default().open(file).unwrap()
}

fn digest_entries(session: &SessionManager, digest: &mut Digest) -> Value {
    let text = |id: Option<sessile::EntryId>| id.map(|id| id.to_string());
    digest.field(session.session_id().as_str()).optional(text(session.leaf_id()));
    let outline = session.outline();
    for row in outline.entries() {
        digest.field(outline.kind(row).word().unwrap_or_default());
        digest.field(text(outline.id(row)).unwrap_or_default()).optional(text(outline.parent_id(row)));
        digest.field(outline.time(row).map_or_else(|| "NaN".to_owned(), |time| time.as_ms().to_string()));
    }
    json!({})
}

/// Reads every entry in full, as a check: nothing is measured.
fn digest_every_entry(session: &SessionManager, digest: &mut Digest) -> Value {
    for entry in session.entries() {
        digest.field(entry.unwrap().raw().to_text().as_bytes());
    }
    json!({})
}

fn digest_tree(nodes: &[TreeNode], digest: &mut Digest) -> Value {
    for node in nodes {
        let id = node.id.as_ref().map(ToString::to_string).unwrap_or_default();
        digest.field(id).field(node.depth.to_string());
        let label = node.label.as_ref();
        digest.optional(label.map(|label| label.text()));
        digest.optional(label.and_then(|label| label.timestamp.as_ref()?.raw().as_string()));
    }
    json!({})
}

fn digest_context(context: &SessionContext, digest: &mut Digest) -> Value {
    digest.field(context.to_json().to_text().as_bytes());
    json!({})
}

fn digest_rows(rows: &[SessionInfo], digest: &mut Digest) -> Value {
    let text = |row| answer::session_info(row, false, &Copies::default()).to_text().into_owned();
    let rows: Vec<String> = rows.iter().map(text).collect();
    digest.field(format!("[{}]", rows.join(",")));
    json!({ "rows": rows.len() })
}

/// Returns the median of many calls after the first few, as for pi, whose first calls include compilation.
fn context_warm(session: &SessionManager, times: usize) -> Value {
    let mut context = None;
    let mut all: Vec<f64> = Vec::new();
    for index in 0..times + 3 {
        let start = Instant::now();
        let built = session.build_session_context().unwrap();
        if index >= 3 {
            all.push(start.elapsed().as_secs_f64() * 1e3);
        }
        context = Some(built);
    }
    all.sort_by(f64::total_cmp);
    let mut figures = timed(|| context.unwrap(), digest_context);
    figures["ms"] = all[all.len() / 2].into();
    figures
}

fn list_all() -> Value {
    let start = Instant::now();
    let mut first_ms = None;
    let mut note = |progress: Progress<'_>| {
        if first_ms.is_none() && progress.partial.is_some_and(|rows| !rows.is_empty()) {
            first_ms = Some(start.elapsed().as_secs_f64() * 1e3);
        }
    };
    let mut options = ListOptions { progress: Some(&mut note), ..ListOptions::default() };
    let mut figures =
        timed(|| Sessions::default().list_all_with(&mut options).unwrap(), |rows, digest| digest_rows(rows, digest));
    figures["first_ms"] = first_ms.into();
    figures
}

/// pi upgrades a file when it opens it; we do so on the first write.
fn migrate(file: &str) -> SessionManager {
    let mut session = open(file);
    session.append_session_info("upgraded").unwrap();
    session
}

fn message(index: usize, bytes: usize) -> Json {
    let text = format!("{index} {}", "x".repeat(bytes));
    draft::UserMessage::new(text.as_str(), Timestamp::from_ms(1_790_000_000_000 + i64::try_from(index).unwrap())).into()
}

fn append(file: &str, count: usize, bytes: usize) -> Value {
    let mut session = open(file);
    session.append_message(message(0, bytes)).unwrap();
    let messages: Vec<Json> = (1..=count).map(|index| message(index, bytes)).collect();
    timed(
        || {
            for message in messages {
                session.append_message(message).unwrap();
            }
        },
        |(), _| json!({ "per": count }),
    )
}
