//! The examples, run as a reader would run them.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sessile::SessionManager;
use tempfile::TempDir;

/// Returns a command that runs an example with its own home.
fn example(name: &str, home: &Path) -> Command {
    // Examples are built together with the tests, in a directory beside them.
    let test = std::env::current_exe().unwrap();
    let program: PathBuf = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).current_dir(home);
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Ends the server with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_session_is_resumed_and_searched() {
    let home = TempDir::new().unwrap();
    let first = output(example("append_and_resume", home.path()).args(["store", "Why is low water late?"]));
    assert!(first.starts_with("0 messages so far\nuser: Why is low water late?\n"), "{first}");
    let second = output(example("append_and_resume", home.path()).args(["store", "And high water?"]));
    assert!(second.starts_with("2 messages so far\n"), "{second}");
    let files = std::fs::read_dir(home.path().join("store")).unwrap().map(|file| file.unwrap().path());
    assert_eq!(files.filter(|path| path.extension().is_some_and(|name| name == "jsonl")).count(), 1, "one session");
    let found = output(example("search", home.path()).args(["store", "low water"]));
    assert!(found.contains("Why is low water late?") && found.ends_with("1 hits\n"), "{found}");
}

#[test]
fn branches_are_compared_and_forked() {
    let home = TempDir::new().unwrap();
    let printed = output(&mut example("fork_and_compare", home.path()));
    let expected =
        "the branches part at true\n1 common, 1 only left, 1 only right, 0 changed\n3 messages in the fork\n";
    assert_eq!(printed, expected);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn a_server_appends_what_all_clients_send_and_a_follower_prints_it() {
    let home = TempDir::new().unwrap();
    let mut command = example("threaded_server", home.path());
    let mut server = Server(command.arg("shared.jsonl").stdout(Stdio::piped()).spawn().unwrap());
    let mut announced = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut announced).unwrap();
    let port: u16 = announced.trim().strip_prefix("port ").unwrap().parse().unwrap();
    let clients: Vec<_> = (0..4)
        .map(|client| {
            std::thread::spawn(move || {
                let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
                (0..5).for_each(|nth| {
                    writeln!(&stream, "client {client} message {nth}").unwrap();
                    let id = answers.next().unwrap().unwrap();
                    assert!(!id.starts_with("error"), "{id}");
                });
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let file = home.path().join("shared.jsonl");
    let session = SessionManager::open(&file).unwrap();
    assert_eq!(session.build_session_context().unwrap().messages.len(), 20, "one chain with all messages");
    let followed = output(example("follow", home.path()).args(["shared.jsonl", "0"]));
    assert!(followed.starts_with("session "), "{followed}");
    assert_eq!(followed.matches("message").count(), 20, "{followed}");
}
