//! The server from the command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use super::*;

/// A server that runs until it is stopped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    fn start(command: &mut Command) -> (Self, impl BufRead + use<>) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        (Self(child), out)
    }

    /// Stops it with a signal, which must give this exit code. On Windows, only the user of a console can do that.
    fn stop(&mut self, signal: &str, code: i32) {
        if cfg!(windows) {
            return self.0.kill().unwrap();
        }
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(self.0.wait().unwrap().code(), Some(code));
    }
}

fn line(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    line
}

/// Asks for an address of the server.
fn get(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_server_prints_its_link_and_stops_at_a_signal() {
    let home = Home::new();
    home.session("x_s1.jsonl", &small());
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (mut running, mut out) = Running::start(&mut home.command(&["serve", "--json"]));
        let ready: Value = serde_json::from_str(&line(&mut out)).unwrap();
        assert_eq!(ready["pid"], running.0.id());
        let url = ready["url"].as_str().unwrap();
        let token = url.split_once("/login?token=").unwrap().1;
        #[cfg(target_os = "linux")]
        for file in ["cmdline", "environ"] {
            let bytes = std::fs::read(format!("/proc/{}/{file}", running.0.id())).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(token), "{file}");
        }
        assert!(get(url).starts_with("HTTP/1.1 303"));
        assert!(get(url).starts_with("HTTP/1.1 403"));
        running.stop(signal, code);
        let (mut rest, mut err) = (String::new(), String::new());
        out.read_to_string(&mut rest).unwrap();
        running.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((rest.as_str(), err.as_str()), ("", ""));
        assert!(!err.contains(token));
    }
}

#[test]
fn each_browser_gets_a_link_of_its_own() {
    let home = Home::new();
    let (_running, mut out) = Running::start(&mut home.command(&["serve", "--no-open", "--read-only"]));
    assert!(line(&mut out).starts_with("Sessions are on http://127.0.0.1:"));
    let mut links = Vec::new();
    for _ in 0..3 {
        line(&mut out);
        let link = line(&mut out).trim().to_owned();
        assert!(!links.contains(&link));
        if links.is_empty() {
            assert_eq!(line(&mut out), "Press Ctrl-C to stop.\n");
        }
        assert!(get(&link).starts_with("HTTP/1.1 303"), "{link}");
        links.push(link);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_browser_gets_the_link_in_a_file_of_the_user() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let programs = home.dir.path().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    let called = home.dir.path().join("called");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" > '{0}.new'\n/bin/cat \"$1\" >> '{0}.new'\n/bin/mv '{0}.new' '{0}'\n",
        called.display()
    );
    std::fs::write(programs.join("xdg-open"), script).unwrap();
    std::fs::set_permissions(programs.join("xdg-open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["serve"]);
    let (_running, mut out) = Running::start(command.env("PATH", &programs).env("DISPLAY", ":0"));
    let printed: Vec<String> = (0..4).map(|_| line(&mut out)).collect();
    let link = printed[2].trim();
    while !called.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let called = std::fs::read_to_string(called).unwrap();
    let mut words = called.lines();
    assert_eq!(words.next(), Some("1"));
    let page = PathBuf::from(words.next().unwrap());
    assert!(!page.to_str().unwrap().contains("token") && page.starts_with(home.dir.path().join("SESSILE_STATE_DIR")));
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(words.next().unwrap().contains(&format!("content=\"0; url={link}\"")));
    // Once it was used, the file is of no use to anyone.
    assert!(get(link).starts_with("HTTP/1.1 303"));
    assert_eq!(line(&mut out), "Signed in. For another browser:\n");
    assert!(!page.exists());
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = home.run(&["serve", "--no-open", "--port", &port.to_string()]);
    assert_eq!(output.code, 3);
    assert!(output.err.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", output.err);
    assert_eq!(home.run(&["serve", "--port", "0"]).code, 2);
}
