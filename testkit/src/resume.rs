//! The genuine pi resumes sessions in print mode, against a fake provider that checks signatures.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::oracle::{Process, node_command};

/// The APIs whose providers treat signatures in different ways.
pub const APIS: [&str; 5] =
    ["anthropic-messages", "bedrock-converse-stream", "openai-responses", "openai-completions", "google-generative-ai"];

/// How long pi may take to resume one session, on a busy machine.
const DEADLINE: Duration = Duration::from_mins(10);

/// The fake provider, and pi. `oracle/resume` says what the provider refuses.
pub struct Provider {
    process: Process,
}

/// A session of an API, with signatures that fit.
pub struct Signed {
    /// The lines of the session.
    pub text: String,
    /// The secrets in its texts.
    pub planted: Vec<String>,
}

/// What came of resuming a session.
#[derive(Debug)]
pub struct Resumed {
    /// Whether pi ended without an error.
    pub succeeded: bool,
    /// What pi printed.
    pub output: String,
    /// The bodies of the requests that pi sent.
    pub requests: Vec<String>,
    /// Why the provider refused them.
    pub reasons: Vec<String>,
}

impl Provider {
    /// Starts the provider.
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/resume/resume.mjs");
        let mut node = node_command();
        node.arg(script);
        Self { process: Process::spawn(node) }
    }

    /// Makes a session whose texts all have secrets. If it is open, it ends with the result of a call.
    pub fn session(&self, api: &str, cwd: &Path, is_open: bool) -> Signed {
        let answer = self.ask(&json!({"cmd": "session", "api": api, "cwd": cwd, "isOpen": is_open}));
        Signed { text: answer["text"].as_str().unwrap().to_owned(), planted: strings(&answer["planted"]) }
    }

    /// Lets pi resume a session with a new prompt.
    pub fn resume(&self, api: &str, file: &Path, cwd: &Path) -> Resumed {
        let answer = self.ask(&json!({"cmd": "resume", "api": api, "file": file, "cwd": cwd}));
        let requests = answer["requests"].as_array().unwrap();
        Resumed {
            succeeded: answer["code"] == 0,
            output: answer["output"].as_str().unwrap().to_owned(),
            requests: requests.iter().map(|request| request["body"].as_str().unwrap().to_owned()).collect(),
            reasons: requests.iter().flat_map(|request| strings(&request["reasons"])).collect(),
        }
    }

    fn ask(&self, request: &Value) -> Value {
        self.process.send(format!("{request}\n").into_bytes());
        let line = self.process.output.next(DEADLINE).unwrap_or_else(|error| panic!("{error:?}: {request}"));
        serde_json::from_slice(&line).unwrap()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // Its server keeps it running after its input is closed.
        self.process.kill();
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}
