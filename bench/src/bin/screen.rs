//! Runs a program in a terminal until one of some texts is visible, and reports how long that took and what it read from
//! the disk.
//!
//! `screen TEXTS PROGRAM [ARGUMENT…]`, with one text on each line of TEXTS. Prints one JSON line. The program is killed
//! afterwards.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "other programs read its output")]
#![expect(clippy::disallowed_methods, reason = "not part of the product")]

use std::ffi::OsString;
use std::io::{self, Read};
use std::num::NonZeroU16;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pty_process::blocking::{Command, open};

/// The size of the terminal.
const COLUMNS: u16 = 130;
const ROWS: u16 = 40;

/// How long a text may take to appear.
const MOST: Duration = Duration::from_mins(2);

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(texts), Some(program)) = (args.next(), args.next()) else {
        eprintln!("usage: screen TEXTS PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    match run(&texts.to_string_lossy(), &program, args) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("screen: error: {}: {error}", program.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}

fn run(texts: &str, program: &OsString, args: impl Iterator<Item = OsString>) -> io::Result<serde_json::Value> {
    let texts: Vec<&str> = texts.lines().filter(|text| !text.is_empty()).collect();
    let (mut pty, pts) = open().map_err(io::Error::other)?;
    pty.resize(pty_process::Size::new(ROWS, COLUMNS)).map_err(io::Error::other)?;
    let size = |number: u16| NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN);
    let mut parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
    let start = Instant::now();
    let command = Command::new(program).args(args).env("TERM", "xterm-256color");
    let mut child = command.spawn(pts).map_err(io::Error::other)?;
    let mut buffer = vec![0; 1 << 16];
    let ms = loop {
        // A program that ends or hangs up has nothing more to show.
        let n_read = pty.read(&mut buffer).unwrap_or(0);
        parser.process(&buffer[..n_read]);
        let shown = parser.screen().contents();
        if texts.iter().any(|text| shown.contains(text)) {
            break start.elapsed().as_secs_f64() * 1e3;
        }
        if n_read == 0 || start.elapsed() > MOST {
            child.kill()?;
            return Err(io::Error::other(format!("none of the texts is on the screen:\n{shown}")));
        }
    };
    let facts = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", child.id())).unwrap_or_default();
    let number = |text: &str, key: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
    };
    let (peak_kb, read_bytes) = (number(&facts("status"), "VmHWM:"), number(&facts("io"), "read_bytes:"));
    child.kill()?;
    child.wait()?;
    Ok(serde_json::json!({"ms": ms, "peak_kb": peak_kb, "read_bytes": read_bytes}))
}
