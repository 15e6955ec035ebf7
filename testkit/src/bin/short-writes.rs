//! Writes sessions while files cannot grow, for the conformance tests, and prints the results.
//!
//! A file size limit applies to a whole process, so this is a separate program. Start it with the signal XFSZ ignored;
//! otherwise the system kills it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the tests read its output")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sessile::json::Json;
use sessile::{SessionManager, Sessions};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["first-flush", directory] => first_flush(Path::new(directory)),
        ["append", file] => append(Path::new(file)),
        ["upgrade", file] => upgrade(Path::new(file)),
        ["copy", file] => copy(Path::new(file)),
        _ => {
            eprintln!("usage: short-writes first-flush DIR | append FILE | upgrade FILE | copy FILE");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Limits the size of files to this many bytes from now on; `None` removes the limit.
fn limit_files(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

fn print_line(manager: &mut SessionManager, text: &str) -> &'static str {
    let message = format!(r#"{{"role":"user","content":"{text}","timestamp":1}}"#);
    if manager.append_message(Json::parse(message).unwrap()).is_ok() { "written" } else { "refused" }
}

fn first_flush(directory: &Path) {
    let mut manager = Sessions::default().with_session_dir(directory).create("/tmp").unwrap();
    let file = manager.session_file().unwrap().to_path_buf();
    limit_files(Some(1024));
    println!("a long message is {}", print_line(&mut manager, &"x".repeat(5000)));
    println!("entries: {}, file exists: {}", manager.entry_count(), file.exists());
    println!("a short message is {}", print_line(&mut manager, "y"));
    println!("entries: {}, file exists: {}", manager.entry_count(), file.exists());
}

fn append(file: &Path) {
    let mut manager = SessionManager::open(file).unwrap();
    limit_files(Some(1024));
    println!("a long message is {}", print_line(&mut manager, &"z".repeat(3000)));
    println!("entries: {}, leaf: {}", manager.entry_count(), manager.leaf_id().unwrap());
    limit_files(None);
    println!("a short message is {}", print_line(&mut manager, "y"));
    println!("entries: {}", manager.entry_count());
}

fn upgrade(file: &Path) {
    let before = fs::metadata(file).unwrap().len();
    limit_files(Some(1024));
    let mut manager = SessionManager::open(file).unwrap();
    println!("opened with {} entries", manager.entry_count());
    println!("a message is {}", print_line(&mut manager, "y"));
    let n_files = n_files_beside(file);
    println!("the file is unchanged: {}, files: {n_files}", fs::metadata(file).unwrap().len() == before);
    limit_files(None);
    println!("a message is {}", print_line(&mut manager, "y"));
}

fn copy(file: &Path) {
    let mut manager = SessionManager::open(file).unwrap();
    limit_files(Some(1024));
    let done = |is_done| if is_done { "made" } else { "refused" };
    let leaf = manager.leaf_id().unwrap();
    println!("a branch is {}", done(manager.create_branched_session(leaf).is_ok()));
    let beside = Sessions::default().with_session_dir(file.parent().unwrap());
    println!("a fork is {}", done(beside.fork_from(file, "/tmp").is_ok()));
    let n_files = n_files_beside(file);
    println!("the session is the same: {}, files: {n_files}", manager.session_file() == Some(file));
}

/// Counts the files beside this one, without those of the lock and the guard.
fn n_files_beside(file: &Path) -> usize {
    let names = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| !name.to_string_lossy().starts_with('.')).count()
}
