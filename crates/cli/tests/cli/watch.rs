//! Following a session from the command line.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::Child;

use super::*;

/// A program that runs until it is stopped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    fn watch(home: &Home, file: &Path, words: &[&str]) -> (Self, impl BufRead + use<>) {
        let words: Vec<&str> = ["watch", file.to_str().unwrap()].iter().chain(words).copied().collect();
        let mut command = home.command(&words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        (Self(child), out)
    }

    /// Stops it as Ctrl-C does. On Windows, only the user of a console can do that.
    fn interrupt(&mut self) {
        if cfg!(windows) {
            return self.0.kill().unwrap();
        }
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        assert_eq!(self.0.wait().unwrap().code(), Some(130));
    }
}

fn append(file: &Path, text: &str) {
    OpenOptions::new().append(true).open(file).unwrap().write_all(text.as_bytes()).unwrap();
}

fn next(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    line
}

#[test]
fn entries_are_printed_as_they_are_written_until_ctrl_c() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    let (mut running, mut out) = Running::watch(&home, &file, &["--jsonl", "--from-start"]);
    for entry in small() {
        assert_eq!(next(&mut out), entry + "\n");
    }
    let entry = user("f", Some("d"), "while you watch") + "\n";
    let (first, second) = entry.split_at(20);
    append(&file, first);
    append(&file, second);
    assert_eq!(next(&mut out), entry);
    running.interrupt();
    assert_eq!(next(&mut out), "");
}

#[test]
fn an_array_ends_when_watching_does() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    let watched = home.json(&["watch", "--json", "--from-start", "--until-idle", "0"], &file);
    assert_eq!(watched, home.json(&["entries", "--json"], &file));
    assert_eq!(home.json(&["watch", "--json", "--until-idle", "0"], &file), Value::Array(vec![]));
}

#[test]
fn people_get_the_same_rows_as_from_entries() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    append(&file, "broken\n");
    let file = file.to_str().unwrap();
    let output = home.run(&["watch", file, "--from-start", "--until-idle", "0"]);
    assert_eq!((output.code, output.out), (0, home.run(&["entries", file]).out));
    assert!(
        output.err.starts_with("warning: line 7 (byte ") && output.err.ends_with("not valid JSON\n"),
        "{}",
        output.err
    );
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let home = Home::new();
    let file = home.session("x_s1.jsonl", &small());
    let (mut running, mut out) = Running::watch(&home, &file, &["--jsonl", "--from-start"]);
    assert!(!next(&mut out).is_empty());
    drop(out);
    append(&file, &(user("f", Some("d"), "this is not seen") + "\n"));
    assert_eq!(running.0.wait().unwrap().code(), Some(0));
}
