//! Measures `sessile mcp` on a store of 1 GB: `mcp-measure [CORPUS]`, run by `cargo xtask bench mcp`.
//!
//! Prints each figure beside its bar. The peak memory is that of a server that starts without an index, builds one while it
//! answers, and then answers every tool.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sessile_bench::generate::{COMMON_WORD, Corpus, Made, Plan, WORD};

const N_STARTS: usize = 21;
const N_CALLS: usize = 41;

fn main() {
    let me = std::env::current_exe().unwrap();
    let corpus =
        std::env::args().nth(1).map_or_else(|| me.ancestors().nth(2).unwrap().join("bench-corpus"), PathBuf::from);
    std::fs::create_dir_all(&corpus).unwrap();
    let made = Corpus::new(corpus.canonicalize().unwrap(), Plan::default()).make_named("store-l").unwrap();
    let cache = tempfile::tempdir().unwrap();
    let program = me.with_file_name("sessile");
    println!("{} sessions, {} bytes, no index at first\n", made.sessions, made.bytes);

    for method in ["initialize", "server/discover", "tools/list"] {
        let times = (0..N_STARTS).map(|_| {
            let start = Instant::now();
            let mut server = Server::start(&program, &made, cache.path());
            server.ask(method, &json!({"protocolVersion": "2025-11-25"}));
            start.elapsed()
        });
        figure(&format!("start to the answer of {method}"), median(times), Duration::from_millis(30));
    }

    let mut server = Server::start(&program, &made, cache.path());
    let bar = Duration::from_secs(2);
    let search = |query: &str| json!({"query": query, "limit": 10});
    let mut n_calls = 0;
    let begin = Instant::now();
    let mut slowest = Duration::ZERO;
    loop {
        let (took, answer) = server.call("search_history", &search(WORD));
        slowest = slowest.max(took);
        n_calls += 1;
        let is_unread = |key: &str| answer["structuredContent"].get(key).is_some();
        if !is_unread("unreadBytes") && !is_unread("unreadSessions") {
            break;
        }
    }
    figure(&format!("slowest of {n_calls} first searches"), slowest, bar);
    println!("{:<56}{:>10.2} s", "the whole index after", begin.elapsed().as_secs_f64());
    println!("{:<56}{:>10.1} MB", "peak memory until then", server.peak_mb());
    for (what, query) in [("a rare word", WORD), ("a common word", COMMON_WORD)] {
        let times = (0..N_CALLS).map(|_| server.call("search_history", &search(query)).0);
        figure(&format!("search_history, {what}, warm"), median(times), Duration::from_millis(20));
    }
    let latest = json!({"session": "@latest"});
    for (tool, arguments) in [
        ("list_sessions", json!({})),
        ("get_session", latest.clone()),
        ("read_entry", json!({"session": "@latest", "entry": "@leaf"})),
        ("read_branch", latest.clone()),
        ("get_tree", latest),
        ("find_file_history", json!({"path": "src/main.rs"})),
        ("usage", json!({"by": "session"})),
        ("usage", json!({"by": "day"})),
        ("search_history", json!({"query": "re:[0-9]never"})),
    ] {
        let times: Vec<Duration> = (0..5).map(|_| server.call(tool, &arguments).0).collect();
        figure(&format!("{tool} {arguments}"), median(times), bar);
    }
    let peak = server.peak_mb();
    println!("{:<56}{peak:>10.1} MB{:>9.2} × of 64 MB", "peak memory", peak / 64.0);
}

fn figure(what: &str, took: Duration, bar: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{what:<56}{:>10.2} ms{:>9.2} × of {} ms", ms(took), ms(took) / ms(bar), bar.as_millis());
}

fn median(times: impl IntoIterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.into_iter().collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// A server of its own process.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(program: &Path, made: &Made, cache: &Path) -> Self {
        let mut child = Command::new(program)
            .args(["mcp", "--all"])
            .env("PI_CODING_AGENT_DIR", &made.path)
            .env("SESSILE_CACHE_DIR", cache)
            .env("SESSILE_CONFIG_DIR", cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut params = params.clone();
        if method != "initialize" {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.input.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> (Duration, Value) {
        let start = Instant::now();
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let elapsed = start.elapsed();
        assert_eq!(result["isError"], false, "{tool}: {result}");
        (elapsed, result)
    }

    /// The peak resident memory so far.
    fn peak_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or_default() / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends at the latest when this process does; the next one must not run beside it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
