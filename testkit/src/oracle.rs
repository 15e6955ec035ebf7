//! The genuine pi as a black box.

mod lines;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use lines::{DEADLINE, Input, Lines, NoLine};

/// A running pi that answers requests one after the other.
///
/// A pi that exceeds its deadline or ends is replaced by a new one without the state of earlier requests; see
/// [`Oracle::take_silence`].
pub struct Oracle {
    process: Process,
    home: PathBuf,
    is_short_of_space: bool,
    deadline: Duration,
    /// Whether a request got no answer.
    was_silent: bool,
}

/// A process that runs pi.
pub(crate) struct Process {
    child: Child,
    input: Option<Input>,
    pub(crate) output: Lines,
}

/// The error of an [`Answer`] that pi did not give.
pub const NO_ANSWER: &str = "Driver: no answer";

/// An answer of pi.
#[derive(Clone, Debug)]
pub struct Answer(pub Value);

impl Answer {
    /// Returns the answer's error, if pi threw.
    pub fn error(&self) -> Option<&str> {
        (self.0["ok"] != Value::Bool(true)).then(|| self.0["error"].as_str().unwrap_or("(no message)"))
    }

    /// Returns the JSON text of the result; `None` if it is undefined.
    pub fn text(&self) -> Option<&str> {
        self.0["text"].as_str()
    }

    /// Returns the result as a value.
    pub fn value(&self) -> &Value {
        &self.0["value"]
    }

    /// Returns one view: its JSON text, or what pi threw.
    pub fn observation(&self, name: &str) -> Result<&str, &str> {
        let seen = &self.0["value"][name];
        seen.as_str().ok_or_else(|| seen["throws"].as_str().unwrap_or("(absent)"))
    }
}

impl Oracle {
    /// Starts pi with this home directory, in UTC.
    pub fn start(home: &Path) -> Self {
        Self::start_as(home, false)
    }

    /// Starts pi with a file size limit of 1024 bytes, as on an almost full disk.
    pub fn start_short_of_space(home: &Path) -> Self {
        Self::start_as(home, true)
    }

    fn start_as(home: &Path, is_short_of_space: bool) -> Self {
        Self {
            process: Process::start(home, is_short_of_space),
            home: home.to_path_buf(),
            is_short_of_space,
            deadline: DEADLINE,
            was_silent: false,
        }
    }

    /// Sets how long pi may take for an answer.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the id of the process that runs pi now.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// Sends requests at once and returns their answers. From the first unanswered request on, all are [`NO_ANSWER`].
    pub fn ask_all(&mut self, requests: &[String]) -> Vec<Answer> {
        let mut text = requests.join("\n");
        text.push('\n');
        if let Some(input) = &self.process.input {
            input.send(text.into_bytes());
        }
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            if let Ok(line) = self.process.next_line(self.deadline) {
                answers.push(answer(&line, request));
                continue;
            }
            answers.resize(requests.len(), Answer(json!({"ok": false, "error": NO_ANSWER})));
            self.was_silent = true;
            let shown: String = request.chars().take(400).collect();
            drop(writeln!(std::io::stderr(), "pi does not answer, and is started again: {shown}"));
            self.process.kill();
            self.process = Process::start(&self.home, self.is_short_of_space);
            break;
        }
        answers
    }

    /// Sends one request and returns its answer.
    pub fn ask(&mut self, request: impl Into<String>) -> Answer {
        self.ask_all(&[request.into()]).remove(0)
    }

    /// Returns whether a request got no answer since the last call. If so, pi was restarted, without its sessions.
    pub fn take_silence(&mut self) -> bool {
        std::mem::take(&mut self.was_silent)
    }

    /// Returns the result of `JSON.stringify(JSON.parse(text))`; `None` if the text does not parse.
    pub fn normalise(&mut self, text: &str) -> Option<String> {
        let answer = self.ask(format!(r#"{{"cmd":"normalise","text":{}}}"#, quoted(text)));
        answer.text().map(str::to_owned)
    }
}

fn answer(line: &[u8], request: &str) -> Answer {
    let shown = || String::from_utf8_lossy(line);
    Answer(
        serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error} in the answer {} to {request}", shown())),
    )
}

impl Process {
    fn start(home: &Path, is_short_of_space: bool) -> Self {
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/driver.mjs");
        let mut node = node_command();
        if is_short_of_space {
            let mut shell = Command::new("bash");
            shell.args(["-c", r#"ulimit -f 1; exec "$0" "$@""#]).arg(node.get_program()).args(node.get_args());
            node = shell;
        }
        node.arg(driver)
            .env("HOME", home)
            .env("TZ", "UTC")
            .env("PI_OFFLINE", "1")
            .env("PI_SKIP_VERSION_CHECK", "1")
            .env_remove("PI_CODING_AGENT_DIR")
            .env_remove("PI_CODING_AGENT_SESSION_DIR")
            .current_dir(home);
        Self::spawn(node)
    }

    /// Starts a script that reads requests and writes answers, each a line.
    pub(crate) fn spawn(mut node: Command) -> Self {
        node.env("SESSILE_ORACLE_DIR", oracle_dir()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = node.spawn().expect("node starts; `cargo xtask oracle` installs it");
        let input = child.stdin.take().map(Input::of);
        let output = Lines::of(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// Returns the next line of its output. On a busy machine, a process that has got hardly any CPU time is given more
    /// time.
    fn next_line(&self, deadline: Duration) -> Result<Vec<u8>, NoLine> {
        const MAX_WAITS: u32 = 10;
        let mut outcome = Err(NoLine::Late);
        for _ in 0..MAX_WAITS {
            let before = cpu_time(self.child.id());
            outcome = self.output.next(deadline);
            let worked = cpu_time(self.child.id()).zip(before).map(|(after, before)| after.saturating_sub(before));
            if outcome != Err(NoLine::Late) || worked.is_none_or(|worked| worked >= deadline / 10) {
                break;
            }
        }
        outcome
    }

    /// Sends a request.
    pub(crate) fn send(&self, request: Vec<u8>) {
        self.input.as_ref().expect("it is open until the end").send(request);
    }

    pub(crate) fn kill(&mut self) {
        // It may have ended by itself. Waiting for it avoids a zombie.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Closing its input ends it, and lets it clean up; if it does not end, it is killed.
        drop(self.input.take());
        self.output.wait_for_end(DEADLINE);
        self.kill();
    }
}

/// Returns the CPU time of a process, where the system reports it.
fn cpu_time(id: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = stat.rsplit(')').next()?.split_whitespace();
    // User and system time, in ticks of 10 ms.
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks * 10))
}

/// Returns the Node that pi runs on.
pub(crate) fn node() -> PathBuf {
    oracle_dir().join("node")
}

/// Returns a command that runs a script in Node. The process exits with its parent, even if it is busy.
pub(crate) fn node_command() -> Command {
    let guard = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/parent.mjs");
    let mut command = Command::new(node());
    command.arg("--import").arg(format!("file://{}?parent={}", guard.display(), std::process::id()));
    command
}

/// Quotes a string as JSON, for requests.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the folder of pi, which the task runner has set up or sets up now.
pub(crate) fn oracle_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| match std::env::var_os("SESSILE_ORACLE_DIR") {
        Some(dir) => dir.into(),
        None => install(),
    })
}

fn install() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--", "oracle"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "`cargo xtask oracle` failed");
    let printed = String::from_utf8(output.stdout).unwrap();
    PathBuf::from(printed.lines().last().expect("`cargo xtask oracle` prints a folder"))
}
