//! The memory of processes that live for long.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use super::Home;

/// The alignment of glibc's arenas. Nothing else that is mapped without a name begins there and can be written.
const ARENA: u64 = 64 << 20;

/// Counts the arenas of a process besides that of its first thread.
fn n_arenas(process: u32) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let is_arena = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let begin = words[0].split_once('-').map(|(begin, _)| u64::from_str_radix(begin, 16).unwrap());
        begin.is_some_and(|begin| begin % ARENA == 0) && words[1] == "rw-p" && words.len() == 5
    };
    maps.lines().filter(is_arena).count()
}

/// An arena never shrinks, and by default each of the first threads gets one of its own.
#[test]
fn a_server_with_many_threads_has_few_arenas() {
    let home = Home::new();
    let socket = home.dir.path().join("socket");
    let mut command = home.command(&["rpc", "--listen", socket.to_str().unwrap()]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let connect = || loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            return stream;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let clients: Vec<UnixStream> = (0..16)
        .map(|_| {
            let mut client = connect();
            writeln!(client, r#"{{"type":"get_state"}}"#).unwrap();
            let mut answer = String::new();
            BufReader::new(&client).read_line(&mut answer).unwrap();
            assert!(answer.contains(r#""success":true"#), "{answer}");
            client
        })
        .collect();
    let (arenas, threads) = (n_arenas(server.id()), format!("/proc/{}/task", server.id()));
    let threads = std::fs::read_dir(threads).unwrap().count();
    server.kill().unwrap();
    server.wait().unwrap();
    drop(clients);
    assert!(threads > 16, "{threads} threads");
    assert!((1..4).contains(&arenas), "{arenas} arenas");
}
