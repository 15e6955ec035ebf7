//! The program as the user sees it: few tests, about wiring. The output of the commands is tested in detail beside
//! them.
#![expect(clippy::disallowed_methods, reason = "tests access files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod agent_export;
mod agents;
mod agents_others;
#[cfg(unix)]
mod agents_packed;
mod archive;
#[cfg(all(unix, feature = "remote"))]
mod attribution;
#[cfg(all(unix, feature = "remote"))]
mod burying;
mod changes;
mod codes;
mod compacting;
mod comparing;
mod completion;
mod config;
mod data;
mod deep;
mod disk;
#[cfg(unix)]
mod documents;
mod help;
#[cfg(unix)]
mod hooks;
mod hostile;
mod import_choices;
mod import_killed;
mod index;
#[cfg(all(unix, feature = "remote"))]
mod insight;
mod mcp;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod memory;
mod merge;
mod mishaps;
mod people;
#[cfg(unix)]
mod pi;
mod reading;
mod references;
mod removing;
mod repair;
mod rpc_flags;
mod sample;
#[cfg(unix)]
mod scrub;
mod search;
#[cfg(unix)]
mod secrets;
mod secrets_failing;
#[cfg(feature = "serve")]
mod serve;
#[cfg(all(unix, feature = "remote"))]
mod sharing;
mod stats;
#[cfg(all(unix, feature = "remote"))]
mod storing;
#[cfg(all(unix, feature = "remote"))]
mod syncing;
#[cfg(all(unix, feature = "remote"))]
mod team;
#[cfg(all(unix, feature = "remote"))]
mod team_context;
#[cfg(all(unix, feature = "remote"))]
mod team_rpc;
#[cfg(all(unix, feature = "remote"))]
mod team_troubles;
#[cfg(all(unix, feature = "remote", feature = "serve"))]
mod team_web;
mod watch;
#[cfg(all(unix, feature = "web"))]
mod web;
#[cfg(windows)]
mod windows;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The variable with the directory for temporary files.
const TEMPORARY: &str = if cfg!(windows) { "TMP" } else { "TMPDIR" };

/// A separate home for each test, with a project in it.
struct Home {
    dir: tempfile::TempDir,
}

/// The result of a run of the program.
struct CommandOutput {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("project")).unwrap();
        Self { dir }
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn agent_dir(&self) -> PathBuf {
        self.dir.path().join("agent")
    }

    /// Returns the directory in which pi keeps the project's sessions.
    fn session_dir(&self) -> PathBuf {
        self.sessions_of(&self.project())
    }

    /// Returns the directory in which pi keeps the sessions of a directory.
    fn sessions_of(&self, cwd: &Path) -> PathBuf {
        let name = cwd.to_string_lossy().trim_start_matches('/').replace(['/', '\\', ':'], "-");
        self.agent_dir().join("sessions").join(format!("--{name}--"))
    }

    /// Writes a session of the project and returns its file.
    fn session(&self, name: &str, lines: &[impl AsRef<[u8]>]) -> PathBuf {
        let dir = self.session_dir();
        let cwd = self.project().to_string_lossy().into_owned();
        write_session(&dir.join(name), &cwd, lines)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessile"));
        command.args(words).current_dir(self.project()).stdin(Stdio::null()).env_clear();
        command.env("HOME", self.dir.path()).env("PI_CODING_AGENT_DIR", self.agent_dir());
        for name in ["SESSILE_CACHE_DIR", "SESSILE_CONFIG_DIR", "SESSILE_STATE_DIR"] {
            command.env(name, self.dir.path().join(name));
        }
        // Tests must behave the same with and without a terminal.
        command.env("SESSILE_TERMINAL", "");
        // So that a sample left behind can be found.
        std::fs::create_dir_all(self.dir.path().join("tmp")).unwrap();
        command.env(TEMPORARY, self.dir.path().join("tmp"));
        if cfg!(windows) {
            command.env("USERPROFILE", self.dir.path());
            // The system's libraries need it.
            command.env("SystemRoot", std::env::var_os("SystemRoot").unwrap());
        }
        command
    }

    fn run(&self, words: &[&str]) -> CommandOutput {
        output_of(&mut self.command(words))
    }

    fn run_with(&self, words: &[&str], name: &str, value: &Path) -> CommandOutput {
        output_of(self.command(words).env(name, value))
    }

    /// Runs a command on a session that must succeed, and parses its output.
    fn json(&self, words: &[&str], file: &Path) -> Value {
        let words: Vec<&str> = words.iter().copied().chain([file.to_str().unwrap()]).collect();
        self.run(&words).json()
    }
}

fn output_of(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Sets a file's modification time to an hour ago, so that no program seems to be using it.
fn age(path: &Path) {
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(hour_ago).unwrap();
}

/// Returns a path with slashes, or a text with such paths, as this system writes it.
fn native(text: &str) -> String {
    text.replace('/', std::path::MAIN_SEPARATOR_STR)
}

/// Returns a path as a part of a JSON string.
fn in_json(path: &Path) -> String {
    let quoted = Value::from(path.to_str().unwrap()).to_string();
    quoted.trim_matches('"').to_owned()
}

/// Sets a file's mode, if this system has modes.
fn set_mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    #[cfg(windows)]
    let _ = (path, mode);
}

/// Checks a file's mode, if this system has modes.
#[track_caller]
fn expect_mode(path: &Path, expected: u32) {
    #[cfg(unix)]
    assert_eq!(mode(path), expected, "{}", path.display());
    #[cfg(windows)]
    let _ = (path, expected);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap()) & 0o777
}

impl CommandOutput {
    #[track_caller]
    fn json(&self) -> Value {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        serde_json::from_str(&self.out).unwrap()
    }

    #[track_caller]
    fn expect(&self, code: i32, err: &str) {
        assert_eq!((self.code, self.err.as_str()), (code, err), "{}", self.out);
    }
}

fn write_session(path: &Path, cwd: &str, lines: &[impl AsRef<[u8]>]) -> PathBuf {
    let mut bytes =
        format!(r#"{{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":{cwd:?}}}"#)
            .into_bytes();
    for line in lines {
        bytes.push(b'\n');
        bytes.extend_from_slice(line.as_ref());
    }
    bytes.push(b'\n');
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
    age(path);
    path.to_path_buf()
}

/// Gives a session another id, so that it differs from all others here.
fn with_id(path: PathBuf, id: &str) -> PathBuf {
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"s1\"", &format!("{id:?}"), 1)).unwrap();
    age(&path);
    path
}

/// Returns an entry with the usual fields and some more.
fn entry(kind: &str, id: &str, parent: Option<&str>, rest: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z",{rest}}}"#)
}

fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    entry("message", id, parent, &format!(r#""message":{{"role":"user","content":{text},"timestamp":1735689601000}}"#))
}

/// Returns the path of a shared data file, which exists only in the project's own checkout.
fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name)
}

/// Returns a small conversation with two branches and a label.
fn small() -> Vec<String> {
    vec![
        user("a", None, "first question"),
        entry(
            "message",
            "b",
            Some("a"),
            r#""message":{"role":"assistant","content":[{"type":"text","text":"answer"}],"provider":"p","model":"m","n":1.0,"timestamp":1735689602000}"#,
        ),
        user("c", Some("b"), "second question"),
        user("d", Some("b"), "another second question"),
        entry("label", "e", Some("d"), r#""targetId":"b","label":"here""#),
    ]
}
