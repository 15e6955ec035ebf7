//! The parts that child processes play.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use sessile::json::Json;
use sessile::{
    Busy, Durability, ListOptions, NewSession, SessionError, SessionManager, Sessions, SharedSession, StoreError,
    System, WriteOptions,
};
use sessile_cli::{Stream, run};
use sessile_store::{chain, planted};

use super::bug_named;
use crate::SplitMix;

/// A writer that fails more often than this gives up.
const MAX_ERRORS: usize = 1000;

/// Plays a part: a planted bug or `-`, the part's name, its arguments. None if there is no such part.
pub fn play(args: &[String]) -> Option<ExitCode> {
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
            append(Path::new(path), written(durability), number(count), sizes);
        }
        ("slow", [path, pause_us]) => append_slowly(Path::new(path), number(pause_us)),
        ("naive", [path, smallest, largest]) => append_naively(Path::new(path), number(smallest), number(largest)),
        ("lunge", [path]) => lunge(Path::new(path)),
        ("crowd", [path, n_threads]) => append_in_a_crowd(Path::new(path), number(n_threads)),
        ("create", [directory, durability]) => create(Path::new(directory), written(durability)),
        ("upgrade", [directory, durability]) => upgrade(Path::new(directory), written(durability)),
        ("hold", [path]) => hold(Path::new(path)),
        ("try", [path, busy, ms]) => try_once(Path::new(path), busy, number(ms)),
        ("limit", [path]) => outgrow(Path::new(path)),
        ("list", [directory]) => list(Path::new(directory)),
        ("umask", [directory, mask]) => create_under(Path::new(directory), mask),
        ("program", [directory]) => program(Path::new(directory)),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// The command line, as the program `sessile` runs it.
fn sessile(args: &[String]) -> ExitCode {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let stream = |writer| Stream { writer, terminal_width: None, terminal_height: None, takes_color: false };
    let words = std::iter::once("sessile".into()).chain(args.iter().map(Into::into));
    run(words, Arc::new(System), stream(&mut out), stream(&mut err)).into()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Options by the name of their durability.
fn written(durability: &str) -> WriteOptions {
    let durability = match durability {
        "sync" => Durability::Sync,
        "group" => Durability::Group,
        _ => Durability::Buffered,
    };
    WriteOptions { durability, busy: Busy::Wait, ..WriteOptions::default() }
}

/// The way acknowledgements leave the process: one system call each, nothing in between.
struct Acks(File);

impl Acks {
    fn new() -> Self {
        Self(File::from(std::io::stdout().as_fd().try_clone_to_owned().unwrap()))
    }

    fn say(&mut self, line: &str) {
        // Nobody reads any more: there is nothing left to do.
        if self.0.write_all(format!("{line}\n").as_bytes()).is_err() {
            std::process::exit(4);
        }
    }

    /// Says what came of an append.
    fn tell<T: ToString>(&mut self, outcome: Result<T, SessionError>) -> bool {
        match outcome {
            Ok(id) => {
                self.say(&id.to_string());
                true
            }
            Err(error) => {
                self.say(&format!("!{}", chain(&error).replace('\n', " ")));
                false
            }
        }
    }
}

/// A message that says how long it is.
pub(super) fn message(len: u64) -> Json {
    let text = "x".repeat(usize::try_from(len).unwrap());
    Json::parse(format!(r#"{{"role":"user","content":"{len}:{text}","timestamp":1}}"#)).unwrap()
}

/// Lengths of records: as many small ones as large ones, by the order of their size.
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
    Sessions::default().writing(options).open(path, None, None)
}

/// Appends as fast as it can, so many times or until it is killed. After an error it opens the file anew.
fn append(path: &Path, options: WriteOptions, count: u64, mut sizes: Sizes) {
    let mut acks = Acks::new();
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
                acks.say(&id.to_string());
                n_written += 1;
            }
            Err(error) => {
                acks.say(&format!("!{}", chain(&error)));
                session = None;
                n_errors += 1;
            }
        }
    }
}

/// Appends small records with a pause after each, until it is told to stop by a file beside the session.
fn append_slowly(path: &Path, pause_us: u64) {
    let mut acks = Acks::new();
    let stop = path.with_extension("stop");
    let mut session = None;
    while !stop.exists() {
        match &mut session {
            None => match open(path, written("buffered")) {
                Ok(opened) => session = Some(opened),
                Err(error) => drop(acks.tell(Err::<String, _>(error))),
            },
            Some(opened) => {
                if !acks.tell(opened.append_message(message(200))) {
                    session = None;
                }
            }
        }
        std::thread::sleep(Duration::from_micros(pause_us));
    }
}

/// Appends as a program does that knows of no torn lines.
fn append_naively(path: &Path, smallest: u64, largest: u64) {
    let mut acks = Acks::new();
    let pid = std::process::id();
    let mut sizes = Sizes { random: SplitMix::new(u64::from(pid)), smallest, largest };
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    for n in 0u64.. {
        let id = format!("n{pid}-{n}");
        let message = message(sizes.next());
        let message = message.to_text();
        let line = format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
        );
        let line = format!("{line}\n");
        if file.write(line.as_bytes()).is_ok_and(|n_written| n_written == line.len()) {
            acks.say(&id);
        }
    }
}

/// Says that it is ready, and a moment later writes one very long record, without lock or seal.
fn lunge(path: &Path) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    let line = format!("{{\"type\":\"custom\",\"id\":\"lunge\",\"data\":\"{}\"}}\n", "z".repeat(16 << 20));
    Acks::new().say("ready");
    std::thread::sleep(Duration::from_millis(1));
    // It is meant to be killed before this returns.
    drop(file.write(line.as_bytes()));
}

/// Several threads that share one session and its syncs.
fn append_in_a_crowd(path: &Path, n_threads: u64) {
    let session = SharedSession::new(open(path, written("group")).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            let session = session.clone();
            scope.spawn(move || {
                let mut acks = Acks::new();
                while acks.tell(session.write(|session| session.append_message(message(300))).map(|(id, _)| id)) {}
            });
        }
    });
}

/// Makes one session after the other, each in a directory of its own, until it is killed.
fn create(directory: &Path, options: WriteOptions) {
    let mut acks = Acks::new();
    for n in 0u64.. {
        let directory = directory.join(format!("d{n}"));
        let created = Sessions::default().writing(options).create("/", Some(&directory), NewSession::default());
        let said = created.and_then(|mut session| {
            let id = session.append_message(message(100))?;
            Ok(format!("{}\t{id}", session.session_file().unwrap().display()))
        });
        if !acks.tell(said) {
            return;
        }
    }
}

/// How many entries an old session starts with.
pub(super) const N_OLD_ENTRIES: usize = 20;

/// A session of version 2, as text, and the ids in it.
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

/// Upgrades one old session after the other by appending to it, until it is killed.
fn upgrade(directory: &Path, options: WriteOptions) {
    let mut acks = Acks::new();
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
            acks.say(&format!("{}\t{id}", path.display()));
        }
        let upgraded = open(&path, options).and_then(|mut session| session.append_message(message(100)));
        if !acks.tell(upgraded.map(|id| format!("{}\t{id}", path.display()))) {
            return;
        }
    }
}

/// Takes its turn, says so, and goes on with it until it is killed or a file beside the session says to end it.
fn hold(path: &Path) {
    let mut acks = Acks::new();
    let stop = path.with_extension("stop");
    let mut session = open(path, written("buffered")).unwrap();
    let leaf = session.leaf_id();
    let id = session.append_if_leaf(leaf.as_ref(), |session| {
        let mut acks = Acks::new();
        let id = session.append_message(message(100))?;
        acks.say("holding");
        while !stop.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(id)
    });
    acks.tell(id);
}

/// Reads, then appends once, and says what came of both.
fn try_once(path: &Path, busy: &str, ms: u64) {
    let patience = Duration::from_millis(ms);
    let busy = if busy == "fail" { Busy::Fail(patience) } else { Busy::Continue(patience) };
    let options = WriteOptions { busy, ..WriteOptions::default() };
    let mut acks = Acks::new();
    match Sessions::default().writing(options).open(path, None, None) {
        Err(error) => drop(acks.tell(Err::<String, _>(error))),
        Ok(mut session) => {
            acks.say(&format!("read {}", session.entry_count()));
            match session.append_message(message(100)) {
                Err(SessionError::Store(StoreError::Busy { holder: Some(holder), .. })) => {
                    acks.say(&format!("!busy {}", holder.pid));
                }
                outcome => drop(acks.tell(outcome)),
            }
        }
    }
}

/// Appends where files cannot grow, and again where they can.
fn outgrow(path: &Path) {
    let mut acks = Acks::new();
    let mut session = open(path, written("buffered")).unwrap();
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(8192), maximum }).unwrap();
    for _ in 0..20 {
        let full = match session.append_message(message(2000)) {
            Err(SessionError::Store(error)) => error.is_disk_full(),
            outcome => {
                acks.tell(outcome);
                continue;
            }
        };
        acks.say(if full { "!full" } else { "!some other error" });
    }
    setrlimit(Resource::Fsize, Rlimit { current: maximum, maximum }).unwrap();
    acks.tell(session.append_message(message(2000)));
}

/// Lists more sessions than it may open files.
fn list(directory: &Path) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(32), maximum: Some(32) }).unwrap();
    let listed = SessionManager::list_all(Some(directory), &mut ListOptions::default());
    Acks::new().tell(listed.map(|sessions| sessions.len()));
}

/// Makes every kind of file there is, under a umask.
fn create_under(directory: &Path, mask: &str) {
    umask(Mode::from_raw_mode(u32::from_str_radix(mask, 8).unwrap()));
    program(directory);
}

/// A short life: create, append, label, fork, upgrade. Every acknowledged entry is said with its file.
pub(super) fn program(directory: &Path) {
    let mut acks = Acks::new();
    let sessions = Sessions::default().writing(written("sync"));
    let (new, old) = (directory.join("new"), directory.join("old.jsonl"));
    let mut say = |session: &SessionManager, outcome: Result<sessile::EntryId, SessionError>| {
        let file = session.session_file().unwrap().display().to_string();
        acks.tell(outcome.map(|id| format!("{file}\t{id}")));
    };
    if let Ok(mut session) =
        sessions.create("/", Some(&new), NewSession { id: Some("one".to_owned()), parent_session: None })
    {
        for _ in 0..3 {
            let outcome = session.append_message(message(300));
            say(&session, outcome);
        }
        if let Some(leaf) = session.leaf_id() {
            let outcome = session.append_label_change(leaf.clone(), Some("here"));
            say(&session, outcome);
            if session.fork(leaf, sessile::ForkPosition::At).is_ok() {
                let outcome = session.append_message(message(300));
                say(&session, outcome);
            }
        }
    }
    if let Ok(mut session) = sessions.open(&old, None, None) {
        let outcome = session.append_message(message(300));
        say(&session, outcome);
    }
}

/// A new session file that is there, so that writers can open it.
pub(super) fn start_session(directory: &Path) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let mut session = SessionManager::create("/", Some(directory), NewSession::default()).unwrap();
    session.persist_now().unwrap();
    session.session_file().unwrap().to_path_buf()
}
