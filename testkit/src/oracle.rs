//! The genuine pi as a black box.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// A running pi that answers one request after the other.
pub struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What pi answered.
#[derive(Clone, Debug)]
pub struct Answer(pub Value);

impl Answer {
    /// The answer's error, if pi threw.
    pub fn error(&self) -> Option<&str> {
        (self.0["ok"] != Value::Bool(true)).then(|| self.0["error"].as_str().unwrap_or("(no message)"))
    }

    /// The JSON text of the result; none if it is undefined.
    pub fn text(&self) -> Option<&str> {
        self.0["text"].as_str()
    }

    /// The result as a value.
    pub fn value(&self) -> &Value {
        &self.0["value"]
    }

    /// One observation: its JSON text, or what pi threw.
    pub fn observation(&self, name: &str) -> Result<&str, &str> {
        let seen = &self.0["value"][name];
        seen.as_str().ok_or_else(|| seen["throws"].as_str().unwrap_or("(absent)"))
    }
}

impl Oracle {
    /// Starts pi with this home directory, in UTC.
    pub fn start(home: &Path) -> Self {
        Self::start_by(Command::new(node()), home)
    }

    /// Starts pi where no file can grow beyond 1024 bytes, as on a disk that is almost full.
    pub fn start_short_of_space(home: &Path) -> Self {
        let mut shell = Command::new("bash");
        shell.args(["-c", r#"ulimit -f 1; exec "$0" "$@""#]).arg(oracle_dir().join("node"));
        Self::start_by(shell, home)
    }

    fn start_by(mut node: Command, home: &Path) -> Self {
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/driver.mjs");
        let mut child = node
            .arg(driver)
            .env("SESSILE_ORACLE_DIR", oracle_dir())
            .env("HOME", home)
            .env("TZ", "UTC")
            .env("PI_OFFLINE", "1")
            .env("PI_SKIP_VERSION_CHECK", "1")
            .env_remove("PI_CODING_AGENT_DIR")
            .env_remove("PI_CODING_AGENT_SESSION_DIR")
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts; `cargo xtask oracle` installs it");
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, output }
    }

    /// Sends requests at once and returns their answers.
    pub fn ask_all(&mut self, requests: &[String]) -> Vec<Answer> {
        let mut text = requests.join("\n");
        text.push('\n');
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("pi takes requests");
        requests.iter().map(|request| self.answer(request)).collect()
    }

    /// Sends one request and returns its answer.
    pub fn ask(&mut self, request: impl Into<String>) -> Answer {
        self.ask_all(&[request.into()]).remove(0)
    }

    fn answer(&mut self, request: &str) -> Answer {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("pi answers in UTF-8");
        assert!(!line.is_empty(), "pi ended at the request {request}");
        Answer(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in the answer {line} to {request}")))
    }

    /// What `JSON.stringify(JSON.parse(text))` gives; none if the text does not parse.
    pub fn normalise(&mut self, text: &str) -> Option<String> {
        let answer = self.ask(format!(r#"{{"cmd":"normalise","text":{}}}"#, quoted(text)));
        answer.text().map(str::to_owned)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Closing its input ends it; waiting keeps no zombie.
        drop(self.input.take());
        drop(self.child.wait());
    }
}

/// The Node that pi runs on.
pub(crate) fn node() -> PathBuf {
    oracle_dir().join("node")
}

/// A string as JSON, for requests.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Where pi is: the folder the task runner set up, or one it sets up now.
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
