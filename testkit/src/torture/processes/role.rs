//! The roles that child processes run.

#[cfg(unix)]
mod limited;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use sessile::format::cause::chain;
use sessile::json::Json;
use sessile::write::{Busy, Durability, SharedSession, StoreError, WriteOptions};
use sessile::{NewSession, SessionError, SessionManager, Sessions, System};
use sessile_cli::{Stream, run};
use sessile_store::planted;

use super::bug_named;
use crate::SplitMix;

/// A writer with more errors than this gives up.
const MAX_ERRORS: usize = 1000;

/// Runs a role: a planted bug or `-`, the name of the role, its arguments. Returns `None` if there is no such role.
pub fn run_role(args: &[String]) -> Option<ExitCode> {
    let [plant, name, args @ ..] = args else { return None };
    planted::plant(bug_named(plant));
    if name == "sessile" {
        return Some(sessile(args));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match (name.as_str(), &args[..]) {
        ("append", [path, durability, count, smallest, largest, seed]) => {
            let sizes =
                Sizes { random: SplitMix::new(number(seed)), smallest: number(smallest), largest: number(largest) };
            append(Path::new(path), write_options(durability), number(count), sizes);
        }
        ("slow", [path, pause_us]) => append_slowly(Path::new(path), number(pause_us)),
        ("naive", [path, count, smallest, largest]) => {
            append_naively(Path::new(path), number(count), number(smallest), number(largest));
        }
        ("lunge", [path]) => write_long_record(Path::new(path)),
        ("crowd", [path, n_threads]) => append_from_threads(Path::new(path), number(n_threads)),
        ("create", [directory, durability]) => create(Path::new(directory), write_options(durability)),
        ("upgrade", [directory, durability]) => upgrade(Path::new(directory), write_options(durability)),
        ("hold", [path]) => hold(Path::new(path)),
        ("try", [path, busy, ms]) => try_once(Path::new(path), busy, number(ms)),
        #[cfg(unix)]
        ("limit", [path]) => limited::append_beyond_limit(Path::new(path)),
        #[cfg(unix)]
        ("list", [directory]) => limited::list(Path::new(directory)),
        #[cfg(unix)]
        ("umask", [directory, mask]) => limited::create_under_umask(Path::new(directory), mask),
        ("program", [directory]) => program(Path::new(directory)),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// Runs the command line of the `sessile` program.
fn sessile(args: &[String]) -> ExitCode {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let stream = |writer| Stream { writer, terminal_width: None, terminal_height: None, takes_color: false };
    let words = std::iter::once("sessile".into()).chain(args.iter().map(Into::into));
    run(words, Arc::new(System), stream(&mut out), stream(&mut err)).into()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Returns write options by the name of their durability.
fn write_options(durability: &str) -> WriteOptions {
    let durability = match durability {
        "sync" => Durability::Sync,
        "group" => Durability::Group,
        _ => Durability::Buffered,
    };
    WriteOptions { durability, busy: Busy::Wait, ..WriteOptions::default() }
}

/// The channel for acknowledgements: one system call each, unbuffered.
struct AckPipe(File);

impl AckPipe {
    fn new() -> Self {
        let stdout = std::io::stdout();
        #[cfg(unix)]
        let stdout = std::os::fd::AsFd::as_fd(&stdout).try_clone_to_owned();
        #[cfg(windows)]
        let stdout = std::os::windows::io::AsHandle::as_handle(&stdout).try_clone_to_owned();
        Self(File::from(stdout.unwrap()))
    }

    fn write_line(&mut self, line: &str) {
        // The reader is gone, so there is nothing left to do.
        if self.0.write_all(format!("{line}\n").as_bytes()).is_err() {
            std::process::exit(4);
        }
    }

    /// Reports the result of an append.
    fn report<T: ToString>(&mut self, result: Result<T, SessionError>) -> bool {
        match result {
            Ok(id) => {
                self.write_line(&id.to_string());
                true
            }
            Err(error) => {
                self.write_line(&format!("!{}", chain(&error).replace('\n', " ")));
                false
            }
        }
    }
}

/// Returns a message that contains its own length.
pub(super) fn message(len: u64) -> Json {
    let text = "x".repeat(usize::try_from(len).unwrap());
    Json::parse(format!(r#"{{"role":"user","content":"{len}:{text}","timestamp":1}}"#)).unwrap()
}

/// Record lengths, evenly distributed over the orders of magnitude.
struct Sizes {
    random: SplitMix,
    smallest: u64,
    largest: u64,
}

impl Sizes {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rough length"
    )]
    fn next(&mut self) -> u64 {
        let share = self.random.below(10_000) as f64 / 10_000.0;
        let ratio = self.largest as f64 / self.smallest as f64;
        (self.smallest as f64 * ratio.powf(share)).round() as u64
    }
}

fn open(path: &Path, options: WriteOptions) -> Result<SessionManager, SessionError> {
    Sessions::default().writing(options).open(path)
}

/// Appends as fast as it can, `count` times or until killed. After an error it opens the file again.
fn append(path: &Path, options: WriteOptions, count: u64, mut sizes: Sizes) {
    let mut acks = AckPipe::new();
    let mut session = None;
    let (mut n_written, mut n_errors) = (0, 0);
    while (count == 0 || n_written < count) && n_errors < MAX_ERRORS {
        let appended = match &mut session {
            None => open(path, options).map(|opened| session = Some(opened)).map(|()| None),
            Some(session) => session.append_message(message(sizes.next())).map(Some),
        };
        match appended {
            Ok(None) => {}
            Ok(Some(id)) => {
                acks.write_line(&id.to_string());
                n_written += 1;
            }
            Err(error) => {
                acks.write_line(&format!("!{}", chain(&error)));
                session = None;
                n_errors += 1;
            }
        }
    }
}

/// Appends small records with a pause after each, until a stop file appears beside the session.
fn append_slowly(path: &Path, pause_us: u64) {
    let mut acks = AckPipe::new();
    let stop = path.with_extension("stop");
    let mut session = None;
    while !stop.exists() {
        match &mut session {
            None => match open(path, write_options("buffered")) {
                Ok(opened) => session = Some(opened),
                Err(error) => drop(acks.report(Err::<String, _>(error))),
            },
            Some(opened) => {
                if !acks.report(opened.append_message(message(200))) {
                    session = None;
                }
            }
        }
        std::thread::sleep(Duration::from_micros(pause_us));
    }
}

/// Appends like a program that does not know about locks and torn lines, `count` times or until killed.
fn append_naively(path: &Path, count: u64, smallest: u64, largest: u64) {
    let mut acks = AckPipe::new();
    let pid = std::process::id();
    let mut sizes = Sizes { random: SplitMix::new(u64::from(pid)), smallest, largest };
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    for n in (0u64..).take_while(|n| count == 0 || *n < count) {
        let id = format!("n{pid}-{n}");
        let message = message(sizes.next());
        let message = message.to_text();
        let line = format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
        );
        let line = format!("{line}\n");
        if file.write(line.as_bytes()).is_ok_and(|n_written| n_written == line.len()) {
            acks.write_line(&id);
        }
    }
}

/// Reports that it is ready, and a moment later writes one very long record, without lock or seal.
fn write_long_record(path: &Path) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    let line = format!("{{\"type\":\"custom\",\"id\":\"lunge\",\"data\":\"{}\"}}\n", "z".repeat(16 << 20));
    AckPipe::new().write_line("ready");
    std::thread::sleep(Duration::from_millis(1));
    // It should be killed before this returns.
    drop(file.write(line.as_bytes()));
}

/// Appends from several threads that share one session and its syncs.
fn append_from_threads(path: &Path, n_threads: u64) {
    let session = SharedSession::new(open(path, write_options("group")).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            let session = session.clone();
            scope.spawn(move || {
                let mut acks = AckPipe::new();
                while acks.report(session.write(|session| session.append_message(message(300))).map(|(id, _)| id)) {}
            });
        }
    });
}

/// Creates one session after the other, each in its own directory, until killed.
fn create(directory: &Path, options: WriteOptions) {
    let mut acks = AckPipe::new();
    for n in 0u64.. {
        let directory = directory.join(format!("d{n}"));
        let created = Sessions::default().writing(options).with_session_dir(&directory).create("/");
        let reported = created.and_then(|mut session| {
            let id = session.append_message(message(100))?;
            Ok(format!("{}\t{id}", session.session_file().unwrap().display()))
        });
        if !acks.report(reported) {
            return;
        }
    }
}

/// The number of entries in an old session at the start.
pub(super) const N_OLD_ENTRIES: usize = 20;

/// Returns a session of version 2 as text, and its ids.
pub(super) fn old_session() -> (String, Vec<String>) {
    let ids: Vec<String> = (0..N_OLD_ENTRIES).map(|n| format!("0ddba{n:03}")).collect();
    let mut text = concat!(
        r#"{"type":"session","version":2,"id":"01234567-89ab-7def-8123-456789abcdef","#,
        r#""timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#,
        "\n"
    )
    .to_owned();
    for (n, id) in ids.iter().enumerate() {
        let parent = n.checked_sub(1).map_or_else(|| "null".to_owned(), |n| format!("\"{}\"", ids[n]));
        let message = message(100);
        let message = message.to_text();
        let line = format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:00.000Z","message":{message}}}"#
        );
        text.extend([line.as_str(), "\n"]);
    }
    (text, ids)
}

/// Upgrades one old session after the other by appending to it, until killed.
fn upgrade(directory: &Path, options: WriteOptions) {
    let mut acks = AckPipe::new();
    let (text, ids) = old_session();
    for n in 0u64.. {
        let path = directory.join(format!("old-{n}.jsonl"));
        let made = File::create_new(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            File::open(directory)?.sync_all()
        });
        if made.is_err() {
            return;
        }
        for id in &ids {
            acks.write_line(&format!("{}\t{id}", path.display()));
        }
        let upgraded = open(&path, options).and_then(|mut session| session.append_message(message(100)));
        if !acks.report(upgraded.map(|id| format!("{}\t{id}", path.display()))) {
            return;
        }
    }
}

/// Takes the lock, reports it, and holds it until killed or until a stop file appears beside the session.
fn hold(path: &Path) {
    let mut acks = AckPipe::new();
    let stop = path.with_extension("stop");
    let mut session = open(path, write_options("buffered")).unwrap();
    let leaf = session.leaf_id();
    let id = session.append_to_last(leaf.as_ref(), |session| {
        let mut acks = AckPipe::new();
        let id = session.append_message(message(100))?;
        acks.write_line("holding");
        while !stop.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(id)
    });
    acks.report(id);
}

/// Reads, then appends once, and reports both results.
fn try_once(path: &Path, busy: &str, ms: u64) {
    let timeout = Duration::from_millis(ms);
    let busy = if busy == "fail" { Busy::Fail(timeout) } else { Busy::Continue(timeout) };
    let options = WriteOptions { busy, ..WriteOptions::default() };
    let mut acks = AckPipe::new();
    match Sessions::default().writing(options).open(path) {
        Err(error) => drop(acks.report(Err::<String, _>(error))),
        Ok(mut session) => {
            acks.write_line(&format!("read {}", session.entry_count()));
            match session.append_message(message(100)) {
                Err(SessionError::Store(StoreError::Busy { holder: Some(holder), .. })) => {
                    acks.write_line(&format!("!busy {}", holder.pid));
                }
                result => drop(acks.report(result)),
            }
        }
    }
}

/// Creates, appends, labels, forks and upgrades. Reports every acknowledged entry with its file.
pub(super) fn program(directory: &Path) {
    let mut acks = AckPipe::new();
    let sessions = Sessions::default().writing(write_options("sync"));
    let (new, old) = (directory.join("new"), directory.join("old.jsonl"));
    let mut report = |session: &SessionManager, result: Result<sessile::EntryId, SessionError>| {
        let file = session.session_file().unwrap().display().to_string();
        acks.report(result.map(|id| format!("{file}\t{id}")));
    };
    if let Ok(mut session) = sessions
        .clone()
        .with_session_dir(&new)
        .create_with("/", &NewSession { id: Some("one".to_owned().into()), parent_session: None })
    {
        for _ in 0..3 {
            let result = session.append_message(message(300));
            report(&session, result);
        }
        if let Some(leaf) = session.leaf_id() {
            let result = session.append_label_change(leaf.clone(), Some("here"));
            report(&session, result);
            if session.fork(leaf, sessile::branch::ForkPosition::At).is_ok() {
                let result = session.append_message(message(300));
                report(&session, result);
            }
        }
    }
    if let Ok(mut session) = sessions.open(&old) {
        let result = session.append_message(message(300));
        report(&session, result);
    }
}

/// Creates a session file on disk, so that writers can open it.
pub(super) fn start_session(directory: &Path) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let mut session = Sessions::default().with_session_dir(directory).create("/").unwrap();
    session.persist_now().unwrap();
    session.session_file().unwrap().to_path_buf()
}
