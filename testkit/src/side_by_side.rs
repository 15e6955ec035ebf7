//! Two engines side by side: the same files, the same time, the same ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use sessile::list::{ListOptions, SessionInfo};
use sessile::write::WriteOptions;
use sessile::{NewSession, SessionError, SessionManager, Sessions};
use tempfile::TempDir;

use crate::differential::compare::{Paths, compare_sessions};
use crate::differential::run::{START_MS, apply};
use crate::differential::{Explained, Op};
use crate::observe::{ViewResult, listed, observe};
use crate::oracle::{Answer, Oracle, quoted};
use crate::replay::Replay;

/// The seed of all entry ids.
const SEED: u64 = 7;

/// Oracles that are currently unused. Starting one takes half a second, so they are reused.
static IDLE: Mutex<Vec<Oracle>> = Mutex::new(Vec::new());

/// Runs the same operations in pi and in our library, each in its own directory.
///
/// That directory is also the home and the working directory of each. All file names are relative to it.
pub struct SideBySide {
    /// Returned to the pool at the end; present until then.
    oracle: Option<Oracle>,
    world: Replay,
    sessions: Sessions,
    ours: Option<SessionManager>,
    paths: Paths,
    now_ms: i64,
    directory: TempDir,
}

/// The results of an operation in both engines.
#[derive(Debug)]
pub struct Both {
    /// pi's answer.
    pub pi: Answer,
    /// Our result.
    pub ours: Result<(), SessionError>,
}

impl Both {
    /// Asserts that both succeeded.
    #[track_caller]
    pub fn done(self) {
        assert_eq!(self.pi.error(), None, "pi refused");
        self.ours.expect("pi succeeded, but Sessile failed");
    }

    /// Asserts that both refused. Returns their errors.
    #[track_caller]
    pub fn refused(self) -> (String, SessionError) {
        let pi = self.pi.error().expect("pi succeeded").to_owned();
        (pi, self.ours.expect_err("pi refused, but Sessile succeeded"))
    }

    /// Asserts that only pi refused. Returns its error.
    #[track_caller]
    pub fn only_pi_refused(self) -> String {
        let pi = self.pi.error().expect("pi succeeded").to_owned();
        self.ours.expect("Sessile refused");
        pi
    }

    /// Asserts that only we refused. Returns our error.
    #[track_caller]
    pub fn only_we_refused(self) -> SessionError {
        assert_eq!(self.pi.error(), None, "pi refused");
        self.ours.expect_err("Sessile succeeded")
    }
}

impl Default for SideBySide {
    fn default() -> Self {
        Self::new()
    }
}

impl SideBySide {
    /// Starts with empty directories.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let idle = IDLE.lock().unwrap().pop();
        let oracle = idle.unwrap_or_else(|| Oracle::start(directory.path()));
        Self::with_oracle(directory, oracle)
    }

    fn with_oracle(directory: TempDir, oracle: Oracle) -> Self {
        // With symbolic links in the path, pi's working directory would differ from ours.
        let root = directory.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name).to_string_lossy().into_owned();
        let paths = Paths { pi: path("side-pi"), ours: path("side-us") };
        for side in [&paths.pi, &paths.ours] {
            fs::create_dir(side).unwrap();
        }
        let world = Replay::new(START_MS, SEED);
        world.set_home(&paths.ours);
        world.set_current_dir(&paths.ours);
        // These files are damaged on purpose; the guard would restore entries that pi is meant to miss.
        let sessions = Sessions::new(world.clone()).writing(WriteOptions { guard: false, ..WriteOptions::default() });
        let mut sides = Self { oracle: Some(oracle), world, sessions, ours: None, paths, now_ms: START_MS, directory };
        let home = quoted(&sides.paths.pi);
        sides.ask(&format!(r#"{{"cmd":"reset","clock":{START_MS},"idSeed":"{SEED}"}}"#));
        sides.ask(&format!(r#"{{"cmd":"env","set":{{"HOME":{home},"PI_CODING_AGENT_DIR":null}}}}"#));
        sides.ask(&format!(r#"{{"cmd":"chdir","dir":{home}}}"#));
        sides
    }

    /// Sends pi a request that must not fail.
    fn ask(&mut self, request: &str) -> Answer {
        let answer = self.oracle().ask(request);
        assert_eq!(answer.error(), None, "{request}");
        answer
    }

    fn oracle(&mut self) -> &mut Oracle {
        self.oracle.as_mut().expect("the oracle is returned only at the end")
    }

    /// Returns our environment.
    pub fn world(&self) -> &Replay {
        &self.world
    }

    /// Returns our access to sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns our session.
    #[track_caller]
    pub fn ours(&mut self) -> &mut SessionManager {
        self.ours.as_mut().expect("a session was opened")
    }

    /// Returns the path of a file on pi's side.
    pub fn pi_path(&self, name: &str) -> PathBuf {
        Path::new(&self.paths.pi).join(name)
    }

    /// Returns the path of a file on our side.
    pub fn our_path(&self, name: &str) -> PathBuf {
        Path::new(&self.paths.ours).join(name)
    }

    /// Returns the path of a file on pi's side, as an argument of a request.
    pub fn pi_argument(&self, name: &str) -> String {
        quoted(&self.pi_path(name).to_string_lossy())
    }

    /// Returns our text with the paths of our side replaced by pi's.
    pub fn as_pi(&self, text: &str) -> String {
        self.paths.as_pi(text)
    }

    /// Writes a file on both sides.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        for path in [self.pi_path(name), self.our_path(name)] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes.as_ref()).unwrap();
        }
    }

    /// Changes a file on each side.
    pub fn on_each_side(&self, name: &str, change: impl Fn(&Path)) {
        change(&self.pi_path(name));
        change(&self.our_path(name));
    }

    /// Returns the bytes of a file on pi's side; `None` if it does not exist.
    pub fn pi_bytes(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.pi_path(name)).ok()
    }

    /// Returns the bytes of a file on our side; `None` if it does not exist.
    pub fn our_bytes(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.our_path(name)).ok()
    }

    /// Asserts that a file has the same bytes on both sides, or exists on neither, and returns them.
    #[track_caller]
    pub fn same_bytes(&self, name: &str) -> Option<Vec<u8>> {
        let pi = self.pi_bytes(name);
        let ours = self.our_bytes(name).map(|bytes| self.paths.bytes_as_pi(&bytes));
        assert_eq!(readable(pi.as_deref()), readable(ours.as_deref()), "{name}: pi's bytes and ours");
        pi
    }

    /// Returns the bytes of pi's current session file.
    pub fn pi_session(&mut self) -> Vec<u8> {
        let file: PathBuf = serde_json::from_str(&self.pi_view("file").unwrap()).unwrap();
        fs::read(file).unwrap_or_default()
    }

    /// Returns the bytes of our current session file.
    pub fn our_session(&mut self) -> Vec<u8> {
        self.ours().session_file().and_then(|file| fs::read(file).ok()).unwrap_or_default()
    }

    /// Advances the time for both.
    pub fn wait(&mut self, milliseconds: i64) {
        self.now_ms += milliseconds;
        self.synchronise();
    }

    /// Sets the time of both, and gives us pi's number of drawn ids.
    fn synchronise(&mut self) {
        let now_ms = self.now_ms;
        self.world.set_now(now_ms);
        self.ask(&format!(r#"{{"cmd":"clock","ms":{now_ms}}}"#));
        let draws = self.ask(r#"{"cmd":"state"}"#).value()["draws"].as_u64().unwrap();
        self.world.set_draws(SEED, draws);
    }

    /// Sends a request to pi alone.
    pub fn pi(&mut self, request: &str) -> Answer {
        let answer = self.oracle().ask(request);
        // Our next session uses the id that pi has just generated.
        let seen = self.oracle().ask(r#"{"cmd":"observe","what":"sessionId"}"#);
        if let Ok(id) = seen.observation("sessionId") {
            self.world.next_session_id(serde_json::from_str::<String>(id).unwrap());
        }
        answer
    }

    /// Creates a session in pi by a request, and in ours by a function; the new session becomes the current one.
    pub fn both(
        &mut self,
        request: &str,
        ours: impl FnOnce(&Sessions) -> Result<SessionManager, SessionError>,
    ) -> Both {
        self.synchronise();
        let pi = self.pi(request);
        let ours = ours(&self.sessions).map(|manager| self.ours = Some(manager));
        Both { pi, ours }
    }

    /// Changes the current session in both.
    pub fn change<T>(
        &mut self,
        request: &str,
        ours: impl FnOnce(&mut SessionManager) -> Result<T, SessionError>,
    ) -> Both {
        self.synchronise();
        let pi = self.pi(request);
        Both { pi, ours: ours(self.ours()).map(drop) }
    }

    /// Tries an operation on the current session in both.
    pub fn try_op(&mut self, op: &Op) -> Both {
        let request = op.request("").expect("an operation of one call");
        self.change(&request, |ours| apply(ours, op))
    }

    /// Performs an operation on the current session in both, one second after the last.
    #[track_caller]
    pub fn act(&mut self, op: &Op) {
        self.wait(1000);
        self.try_op(op).done();
    }

    /// Tries to open a file in both.
    pub fn try_open(&mut self, name: &str) -> Both {
        let request = static_call("open", &[&self.pi_argument(name)]);
        let path = self.our_path(name);
        self.both(&request, |sessions| sessions.open_or_create(path))
    }

    /// Opens a file in both.
    #[track_caller]
    pub fn open(&mut self, name: &str) {
        self.try_open(name).done();
    }

    /// Opens a file with this content, named `s/f.jsonl`, in both.
    #[track_caller]
    pub fn start(&mut self, bytes: impl AsRef<[u8]>) {
        self.write("s/f.jsonl", bytes);
        self.open("s/f.jsonl");
    }

    /// Creates a session in the directory `s` in both.
    #[track_caller]
    pub fn create(&mut self) {
        let request = static_call("create", &["\"/proj/dir\"", &self.pi_argument("s")]);
        let dir = self.our_path("s");
        self.both(&request, |sessions| sessions.clone().with_session_dir(&dir).create("/proj/dir")).done();
    }

    /// Creates a session without a file in both.
    #[track_caller]
    pub fn in_memory(&mut self) {
        let request = static_call("inMemory", &["\"/proj/dir\""]);
        self.both(&request, |sessions| sessions.in_memory("/proj/dir", NewSession::default())).done();
    }

    /// Opens in each engine the file that the other has written, in place of its own.
    #[track_caller]
    pub fn exchange(&mut self) {
        let file: PathBuf = serde_json::from_str(&self.pi_view("file").unwrap()).unwrap();
        let our_file = self.paths.ours_of(&file);
        let request = static_call("open", &[&quoted(&our_file.to_string_lossy())]);
        self.both(&request, |sessions| sessions.open_or_create(file)).done();
    }

    /// Returns what pi shows in a view, or what it throws.
    pub fn pi_view(&mut self, view: &str) -> ViewResult {
        let answer = self.oracle().ask(format!(r#"{{"cmd":"observe","what":"{view}"}}"#));
        answer.observation(view).map(str::to_owned).map_err(str::to_owned)
    }

    /// Returns what we show in a view, in pi's paths and spelling.
    #[track_caller]
    pub fn our_view(&mut self, view: &'static str) -> String {
        let seen = observe(self.ours()).remove(view).unwrap().unwrap();
        let seen = self.paths.as_pi(&seen);
        self.oracle().normalise(&seen).unwrap()
    }

    /// Asserts that both show this in a view.
    #[track_caller]
    pub fn assert_view(&mut self, view: &'static str, expected: &str) {
        let pi = self.pi_view(view);
        assert_eq!(pi.as_deref(), Ok(expected), "what pi shows as {view}");
        assert_eq!(self.our_view(view), expected, "what we show as {view}");
    }

    /// Returns pi's context, one string per message: its role and its text.
    #[track_caller]
    pub fn pi_context(&mut self) -> Vec<String> {
        context_messages(&self.pi_view("context").unwrap())
    }

    /// Returns our context, one string per message.
    #[track_caller]
    pub fn our_context(&mut self) -> Vec<String> {
        context_messages(&self.our_view("context"))
    }

    /// Asserts that both have this context.
    #[track_caller]
    pub fn assert_context(&mut self, expected: &[&str]) {
        assert_eq!(self.pi_context(), expected, "pi's context");
        assert_eq!(self.our_context(), expected, "our context");
    }

    /// Returns the explained differences between the two, each once. Any other difference is a failure.
    #[track_caller]
    pub fn differences(&mut self) -> Vec<Explained> {
        let oracle = self.oracle.as_mut().expect("the oracle is returned only at the end");
        let ours = self.ours.as_ref().expect("a session was opened");
        let mut explained = compare_sessions(oracle, ours, &self.paths, true).unwrap_or_else(|what| panic!("{what}"));
        explained.sort();
        explained.dedup();
        explained
    }

    /// Asserts that both show the same in every view, and that their files have the same names and bytes.
    #[track_caller]
    pub fn assert_same(&mut self) {
        assert_eq!(self.differences(), [], "there are differences");
    }

    /// Asserts that exactly these differences exist.
    #[track_caller]
    pub fn assert_differ_by(&mut self, expected: &[Explained]) {
        assert_eq!(self.differences(), expected, "there are differences");
    }

    /// Returns the lists of both for a working directory, as pi's JSON with pi's paths.
    #[track_caller]
    pub fn lists(&mut self, cwd: &str, dir: Option<&str>) -> (Vec<Value>, Vec<Value>) {
        let pi_dir = dir.map(|dir| self.pi_argument(dir));
        let args = [Some(quoted(cwd)), pi_dir];
        let args: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
        let pi = self.ask(&static_call("list", &args));
        let our_dir = dir.map(|dir| self.our_path(dir));
        let mut options = ListOptions { texts: true, ..ListOptions::default() };
        let sessions = self.sessions.clone().with_session_dir(our_dir.unwrap_or_default());
        let ours = sessions.list_with(cwd, &mut options).unwrap();
        self.assert_catalogue_agrees(sessions, cwd, &ours);
        let ours = ours.iter().map(|info| self.as_pi(&listed(info).to_string()));
        let ours = ours.map(|row| serde_json::from_str(&row).unwrap()).collect();
        (pi.value().as_array().expect("a list").clone(), ours)
    }

    /// Asserts that a catalogue kept from list to list returns the same as the files themselves.
    #[track_caller]
    fn assert_catalogue_agrees(&self, sessions: Sessions, cwd: &str, scanned: &[SessionInfo]) {
        let cached = sessions.caching(Some(self.directory.path().join("caches")));
        let without_text = |info: &SessionInfo| SessionInfo { all_messages_text: "".into(), ..info.clone() };
        let scanned: Vec<SessionInfo> = scanned.iter().map(without_text).collect();
        for _ in ["collected", "kept"] {
            assert_eq!(cached.list(cwd).unwrap(), scanned, "the catalogue's list");
        }
    }

    /// Asserts that both return the same list, and returns it.
    #[track_caller]
    pub fn same_list(&mut self, cwd: &str, dir: Option<&str>) -> Vec<Value> {
        let (pi, ours) = self.lists(cwd, dir);
        assert_eq!(pi, ours, "pi's list and ours");
        ours
    }
}

impl Drop for SideBySide {
    fn drop(&mut self) {
        // After a failure, the state of pi is unknown.
        if std::thread::panicking() {
            return;
        }
        if let (Some(oracle), Ok(mut idle)) = (self.oracle.take(), IDLE.lock()) {
            idle.push(oracle);
        }
    }
}

/// Builds a request for a static method of pi's session manager, with JSON arguments.
pub fn static_call(method: &str, args: &[&str]) -> String {
    format!(r#"{{"cmd":"static","method":"{method}","args":[{}]}}"#, args.join(","))
}

/// Builds a request for a method of pi's current session manager, with JSON arguments.
pub fn call(method: &str, args: &[&str]) -> String {
    format!(r#"{{"cmd":"call","method":"{method}","args":[{}]}}"#, args.join(","))
}

/// Returns the messages of a context as role and text.
fn context_messages(context: &str) -> Vec<String> {
    let context: Value = serde_json::from_str(context).unwrap();
    context["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| format!("{}:{}", plain(&message["role"]), text(message)))
        .collect()
}

fn text(message: &Value) -> String {
    let block_text = |block: &Value| plain(if block["text"].is_null() { &block["type"] } else { &block["text"] });
    match &message["content"] {
        Value::Array(blocks) => blocks.iter().map(block_text).collect::<Vec<_>>().join("|"),
        Value::Null if !message["summary"].is_null() => plain(&message["summary"]),
        Value::Null => plain(&message["command"]),
        content => plain(content),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn readable(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| bytes.escape_ascii().to_string().replace("\\n", "\\n\n"))
}
