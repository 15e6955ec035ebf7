//! Import and lists of other agents' sessions: `agents-measure [MEGABYTES]`, run by `cargo xtask bench agents`.
//!
//! Imports sessions of Claude Code, 1,000 MB by default, and compares that with reading the same files and writing and
//! syncing as many bytes as the imported sessions have. Then lists 10,000 sessions that are not imported. No other program
//! imports Claude's tree into pi's format, so there is no incumbent to compare with.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints results and panics on failure")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of one session to import.
const SESSION_BYTES: usize = 4 << 20;

/// Sessions in the list.
const N_LISTED: usize = 10_000;

fn main() {
    let megabytes: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let mut longest = 0;
    for number in 0..(megabytes << 20).div_ceil(SESSION_BYTES) {
        longest = longest.max(write_session(home, number, SESSION_BYTES));
    }
    let n_bytes = size_of(&home.join("claude"));
    println!("{n_bytes} bytes of Claude Code, longest line {longest} bytes");

    let (took, peak_kb) = run(home, &["import", "--from", "claude", "--all"]);
    let mb_per_s =
        |bytes: u64, took: Duration| f64::from(u32::try_from(bytes / 1_000_000).unwrap()) / took.as_secs_f64();
    let rate = mb_per_s(n_bytes, took);
    println!(
        "import: {took:.2?}, {rate:.0} MB/s, {:.2} × the 100 MB/s asked for; peak memory {peak_kb} kB",
        rate / 100.0
    );
    let (again, _) = run(home, &["import", "--from", "claude", "--all"]);
    println!("import again, nothing new: {again:.2?}, {:.0} MB/s", mb_per_s(n_bytes, again));
    let limit = read_all(&home.join("claude")) + write_and_sync(home, size_of(&home.join("agent")));
    println!(
        "reading the same, and writing and syncing the result: {limit:.2?}; import takes {:.2} × that",
        took.as_secs_f64() / limit.as_secs_f64()
    );

    std::fs::remove_dir_all(home.join("claude")).unwrap();
    for number in 0..N_LISTED {
        write_session(home, number, 4000);
    }
    let list = ["list", "--agents", "--all", "--json"];
    let (cold, _) = run(home, &list);
    let warm = (0..5).map(|_| run(home, &list).0).min().unwrap();
    let reading = read_all(&home.join("claude"));
    println!(
        "list of {N_LISTED} files: first {cold:.2?}, warm {warm:.2?}, {:.2} × the second allowed; reading them {reading:.2?}",
        warm.as_secs_f64()
    );
}

/// Runs the program in a home of its own, and returns its time and peak memory.
fn run(home: &Path, words: &[&str]) -> (Duration, u64) {
    let me = std::env::current_exe().unwrap();
    let report = home.join("report");
    let mut command = Command::new(me.with_file_name("measured"));
    command.arg(&report).arg(me.with_file_name("sessile")).args(words).stdout(Stdio::null()).current_dir(home);
    command
        .env("CLAUDE_CONFIG_DIR", home.join("claude"))
        .env("HOME", home)
        .env("PI_CODING_AGENT_DIR", home.join("agent"));
    for kind in ["CACHE", "CONFIG", "STATE"] {
        command.env(format!("SESSILE_{kind}_DIR"), home.join(kind));
    }
    assert!(command.status().unwrap().success());
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert!(matches!(report["status"].as_i64(), Some(0 | 1)), "{words:?}: {report}");
    (Duration::from_secs_f64(report["ms"].as_f64().unwrap() / 1e3), report["peak_kb"].as_u64().unwrap())
}

/// Writes a session of at least this many bytes: requests, calls of tools with results of 500 bytes to 40 kB, and answers
/// of two lines. Returns the length of its longest line.
fn write_session(home: &Path, number: usize, n_bytes: usize) -> usize {
    let id = format!("{number:08x}-0000-4000-8000-000000000000");
    let directory = home.join("claude/projects").join(format!("-proj-{}", number % 50));
    std::fs::create_dir_all(&directory).unwrap();
    let mut text = String::with_capacity(n_bytes + (64 << 10));
    let (mut parent, mut n_lines, mut longest) = ("null".to_owned(), 0, 0);
    let mut put = |text: &mut String, kind: &str, rest: &str| {
        let begin = text.len();
        let uuid = format!("\"{n_lines:08x}-0000-4000-8000-{number:012x}\"");
        let (minute, second) = (n_lines / 60 % 60, n_lines % 60);
        writeln!(
            text,
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/proj/{}","sessionId":"{id}","version":"2.1.325","gitBranch":"main","type":"{kind}","uuid":{uuid},"timestamp":"2026-01-01T00:{minute:02}:{second:02}.000Z",{rest}}}"#,
            number % 50
        )
        .unwrap();
        parent = uuid;
        n_lines += 1;
        longest = longest.max(text.len() - begin);
    };
    let mut turn = 0;
    while text.len() < n_bytes {
        let answer = |block: &str| {
            format!(
                r#""requestId":"req_{turn}","message":{{"id":"msg_{turn}","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{block}],"stop_reason":"tool_use","usage":{{"input_tokens":12,"cache_creation_input_tokens":900,"cache_read_input_tokens":40000,"output_tokens":250}}}}"#
            )
        };
        let request =
            format!(r#""message":{{"role":"user","content":"Request {turn} of session {number}: why is it slow?"}}"#);
        put(&mut text, "user", &request);
        put(&mut text, "assistant", &answer(&format!(r#"{{"type":"text","text":"I look at file {turn} first."}}"#)));
        let call = format!(
            r#"{{"type":"tool_use","id":"toolu_{turn}","name":"Read","input":{{"file_path":"/proj/src/{turn}.rs"}}}}"#
        );
        put(&mut text, "assistant", &answer(&call));
        let output = r#"fn main() {\n    println!(\"some output of a tool\");\n}\n"#.repeat(10 + turn * 37 % 700);
        put(
            &mut text,
            "user",
            &format!(
                r#""message":{{"role":"user","content":[{{"tool_use_id":"toolu_{turn}","type":"tool_result","content":"{output}"}}]}},"toolUseResult":{{"type":"text"}}"#
            ),
        );
        turn += 1;
    }
    std::fs::write(directory.join(format!("{id}.jsonl")), text).unwrap();
    longest
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

fn size_of(folder: &Path) -> u64 {
    files(folder).iter().map(|file| std::fs::metadata(file).unwrap().len()).sum()
}

/// The time of reading all files on one thread.
fn read_all(folder: &Path) -> Duration {
    let files = files(folder);
    let mut buffer = vec![0; 1 << 20];
    let begin = Instant::now();
    for file in files {
        let mut file = std::fs::File::open(file).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    }
    begin.elapsed()
}

/// The time of writing this many bytes until they are on the disk.
fn write_and_sync(folder: &Path, n_bytes: u64) -> Duration {
    let path = folder.join("written");
    let mut file = std::fs::File::create(&path).unwrap();
    let buffer = vec![b'x'; 1 << 20];
    let begin = Instant::now();
    for _ in 0..n_bytes.div_ceil(1 << 20) {
        file.write_all(&buffer).unwrap();
    }
    file.sync_all().unwrap();
    let elapsed = begin.elapsed();
    std::fs::remove_file(path).unwrap();
    elapsed
}
