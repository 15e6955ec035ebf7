//! People and scripts that use the command line.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Ended, Soak};
use crate::SplitMix;

/// One command in this many is killed.
const KILLED: usize = 6;

/// Writes into sessions with commands, some of which are killed.
pub(super) fn write(soak: &Soak, mut random: SplitMix) {
    while !soak.is_over() {
        if let Some(path) = soak.session(&mut random) {
            for _ in 0..=random.below(6) {
                change(soak, &mut random, &path);
                soak.rest(&mut random, 150);
            }
            soak.board.release(&path);
        }
        soak.rest(&mut random, 300);
    }
}

/// Changes a session in one of many ways.
fn change(soak: &Soak, random: &mut SplitMix, path: &Path) {
    let session = path.to_string_lossy();
    let run = |operation, args: &[&str]| soak.sessile(operation, &[args, &["--json"]].concat());
    match random.below(20) {
        0 => drop(run("label", &["label", &session, "@leaf", "here"])),
        1 => drop(run("branch", &["branch", &session, "@root"])),
        2 => drop(run("fork", &["fork", &session, "@leaf", "--at"])),
        3 => drop(run("compact", &["compact", &session, "--keep", "200"])),
        4 => drop(run("archive", &["archive", &session])),
        5 => drop(run("unarchive", &["archive", &session, "--clear"])),
        6 => acknowledged(soak, random, path, "name", &|mark| vec!["name".into(), session.clone().into(), mark.into()]),
        kind => acknowledged(soak, random, path, "append", &|mark| {
            let mut args = vec!["append".into(), session.clone().into_owned(), text(kind, mark)];
            if kind % 2 == 0 {
                args.extend(["--role", "assistant", "--provider", "p", "--model", "m"].map(str::to_owned));
            }
            args
        }),
    }
}

/// Returns a text with a mark: mostly short, sometimes up to 60 KB.
fn text(kind: usize, mark: &str) -> String {
    let n_words = match kind {
        7 => 10_000,
        8 => 1000,
        _ => 10,
    };
    format!("{mark} {}", "tide ".repeat(n_words))
}

/// Runs a command that writes a mark, or kills it. A command that has succeeded has written it.
fn acknowledged(
    soak: &Soak,
    random: &mut SplitMix,
    path: &Path,
    operation: &'static str,
    args: &dyn Fn(&str) -> Vec<String>,
) {
    let mark = soak.board.mark();
    let args = args(&mark);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let command = if random.one_in(4) { soak.home.shifted(&args) } else { soak.home.sessile(&args) };
    let is_done = if random.one_in(KILLED) {
        killed(soak, command, Duration::from_micros(random.below(30_000) as u64))
    } else {
        matches!(soak.run(operation, command), Ended::Done(_))
    };
    if is_done {
        soak.board.acknowledge(path, mark);
    }
}

/// Starts a command and kills it. Returns whether it was done by then.
fn killed(soak: &Soak, mut command: Command, after: Duration) -> bool {
    let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else { return false };
    std::thread::sleep(after);
    drop(child.kill());
    soak.count("killed commands", 1);
    child.wait().is_ok_and(|status| status.success())
}

/// Reads sessions and the store with commands.
pub(super) fn read(soak: &Soak, mut random: SplitMix) {
    let export = soak.home.root.join("tmp/export.html").to_string_lossy().into_owned();
    while !soak.is_over() {
        let Some(path) = soak.session(&mut random) else { continue };
        let session = path.to_string_lossy();
        let since = Instant::now();
        let (operation, args): (_, &[&str]) = match random.below(14) {
            0 => ("list", &["list", "--all", "--json"]),
            1 => ("list of a directory", &["list"]),
            2 => ("search", &["search", "--all", "soak-1 tide", "--limit", "5"]),
            3 => ("show", &["show", &session]),
            4 => ("tree", &["tree", &session]),
            5 => ("stats", &["stats", "--all", "--json"]),
            6 => ("info", &["info", &session, "--json"]),
            7 => ("context", &["context", &session, "--json"]),
            8 => ("verify", &["verify", &session, "--json"]),
            9 => ("du", &["du", "--all", "--json"]),
            10 => ("entries", &["entries", &session, "--jsonl"]),
            11 => ("index check", &["index", "check"]),
            12 => ("secrets", &["secrets", &session, "--json"]),
            _ => ("export", &["export", &session, "-o", &export, "--force"]),
        };
        soak.run(operation, soak.home.sessile(args));
        soak.board.release(&path);
        // A person looks at the answer.
        soak.sleep(since.elapsed().min(Duration::from_secs(1)));
        soak.rest(&mut random, 400);
    }
}
