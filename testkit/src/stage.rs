//! Two engines on one stage: the same files, the same time, the same ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use sessile::{ListOptions, NewSession, SessionError, SessionInfo, SessionManager, Sessions, WriteOptions};
use tempfile::TempDir;

use crate::differential::compare::{Paths, compare_sessions};
use crate::differential::run::{START_MS, apply};
use crate::differential::{Explained, Op};
use crate::observe::{Seen, listed, observe};
use crate::oracle::{Answer, Oracle, quoted};
use crate::replay::Replay;

/// The seed of all entry ids.
const SEED: u64 = 7;

/// Oracles that no stage uses at the moment. Starting one takes half a second, so they are passed on.
static IDLE: Mutex<Vec<Oracle>> = Mutex::new(Vec::new());

/// A place where pi and we do the same things, each in a directory of its own.
///
/// That directory is also the home and the working directory of each.
/// Whatever names a file does so relative to it.
pub struct Stage {
    /// Given back at the end; always there until then.
    oracle: Option<Oracle>,
    world: Replay,
    sessions: Sessions,
    ours: Option<SessionManager>,
    paths: Paths,
    now_ms: i64,
    directory: TempDir,
}

/// What came of something that both were asked to do.
#[derive(Debug)]
pub struct Both {
    /// pi's answer.
    pub pi: Answer,
    /// Ours.
    pub ours: Result<(), SessionError>,
}

impl Both {
    /// Both have done it.
    #[track_caller]
    pub fn done(self) {
        assert_eq!(self.pi.error(), None, "pi refused");
        self.ours.expect("pi did it, so we can");
    }

    /// Both have refused. Returns how.
    #[track_caller]
    pub fn refused(self) -> (String, SessionError) {
        let pi = self.pi.error().expect("pi refuses").to_owned();
        (pi, self.ours.expect_err("pi refused, so must we"))
    }

    /// pi has refused what we have done. Returns how.
    #[track_caller]
    pub fn only_pi_refused(self) -> String {
        let pi = self.pi.error().expect("pi refuses").to_owned();
        self.ours.expect("we do it");
        pi
    }

    /// We have refused what pi has done. Returns how.
    #[track_caller]
    pub fn only_we_refused(self) -> SessionError {
        assert_eq!(self.pi.error(), None, "pi refused");
        self.ours.expect_err("we refuse")
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

impl Stage {
    /// An empty stage.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let idle = IDLE.lock().unwrap().pop();
        let oracle = idle.unwrap_or_else(|| Oracle::start(directory.path()));
        Self::with_oracle(directory, oracle)
    }

    fn with_oracle(directory: TempDir, oracle: Oracle) -> Self {
        // Links on the way would make pi's idea of its working directory differ from ours.
        let root = directory.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name).to_string_lossy().into_owned();
        let paths = Paths { pi: path("side-pi"), ours: path("side-us") };
        for side in [&paths.pi, &paths.ours] {
            fs::create_dir(side).unwrap();
        }
        let world = Replay::new(START_MS, SEED);
        world.set_home(&paths.ours);
        world.set_current_dir(&paths.ours);
        // Damage is done to these files on purpose; the guard would put back what pi is meant to miss.
        let sessions = Sessions::new(world.clone()).writing(WriteOptions { guard: false, ..WriteOptions::default() });
        let mut stage = Self { oracle: Some(oracle), world, sessions, ours: None, paths, now_ms: START_MS, directory };
        let home = quoted(&stage.paths.pi);
        stage.ask(&format!(r#"{{"cmd":"reset","clock":{START_MS},"idSeed":"{SEED}"}}"#));
        stage.ask(&format!(r#"{{"cmd":"env","set":{{"HOME":{home},"PI_CODING_AGENT_DIR":null}}}}"#));
        stage.ask(&format!(r#"{{"cmd":"chdir","dir":{home}}}"#));
        stage
    }

    /// Asks pi for something that must not fail.
    fn ask(&mut self, request: &str) -> Answer {
        let answer = self.oracle().ask(request);
        assert_eq!(answer.error(), None, "{request}");
        answer
    }

    fn oracle(&mut self) -> &mut Oracle {
        self.oracle.as_mut().expect("given back only at the end")
    }

    /// Our environment.
    pub fn world(&self) -> &Replay {
        &self.world
    }

    /// Our way to sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Our session.
    #[track_caller]
    pub fn ours(&mut self) -> &mut SessionManager {
        self.ours.as_mut().expect("a session was opened")
    }

    /// A file on pi's side.
    pub fn pi_path(&self, name: &str) -> PathBuf {
        Path::new(&self.paths.pi).join(name)
    }

    /// A file on our side.
    pub fn our_path(&self, name: &str) -> PathBuf {
        Path::new(&self.paths.ours).join(name)
    }

    /// A file on pi's side, as an argument of a request.
    pub fn pi_argument(&self, name: &str) -> String {
        quoted(&self.pi_path(name).to_string_lossy())
    }

    /// Our text as pi would have it: paths of our side become those of pi's.
    pub fn as_pi(&self, text: &str) -> String {
        self.paths.as_pi(text)
    }

    /// Puts a file on both sides.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        for path in [self.pi_path(name), self.our_path(name)] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes.as_ref()).unwrap();
        }
    }

    /// Does something to a file of each side.
    pub fn on_each_side(&self, name: &str, change: impl Fn(&Path)) {
        change(&self.pi_path(name));
        change(&self.our_path(name));
    }

    /// The bytes of a file on pi's side; none if it is not there.
    pub fn pi_bytes(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.pi_path(name)).ok()
    }

    /// The bytes of a file on our side; none if it is not there.
    pub fn our_bytes(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.our_path(name)).ok()
    }

    /// Asserts that a file has the same bytes on both sides, or is on neither, and returns them.
    #[track_caller]
    pub fn same_bytes(&self, name: &str) -> Option<Vec<u8>> {
        let pi = self.pi_bytes(name);
        let ours = self.our_bytes(name).map(|bytes| self.paths.bytes_as_pi(&bytes));
        assert_eq!(shown(pi.as_deref()), shown(ours.as_deref()), "{name}: pi's bytes and ours");
        pi
    }

    /// The bytes of pi's current session file.
    pub fn pi_session(&mut self) -> Vec<u8> {
        let file: PathBuf = serde_json::from_str(&self.pi_sees("file").unwrap()).unwrap();
        fs::read(file).unwrap_or_default()
    }

    /// The bytes of our current session file.
    pub fn our_session(&mut self) -> Vec<u8> {
        self.ours().session_file().and_then(|file| fs::read(file).ok()).unwrap_or_default()
    }

    /// Lets time pass for both.
    pub fn wait(&mut self, milliseconds: i64) {
        self.now_ms += milliseconds;
        self.keep_in_step();
    }

    /// Gives us pi's time, and as many drawn ids as it has.
    fn keep_in_step(&mut self) {
        let now_ms = self.now_ms;
        self.world.set_now(now_ms);
        self.ask(&format!(r#"{{"cmd":"clock","ms":{now_ms}}}"#));
        let draws = self.ask(r#"{"cmd":"state"}"#).value()["draws"].as_u64().unwrap();
        self.world.set_draws(SEED, draws);
    }

    /// Has pi alone do something.
    pub fn pi(&mut self, request: &str) -> Answer {
        let answer = self.oracle().ask(request);
        // Our next session takes the id that pi has just made up.
        let seen = self.oracle().ask(r#"{"cmd":"observe","what":"sessionId"}"#);
        if let Ok(id) = seen.observation("sessionId") {
            self.world.next_session_id(serde_json::from_str::<String>(id).unwrap());
        }
        answer
    }

    /// Has pi make a session by a request, and us by a function; the new session becomes the current one.
    pub fn both(
        &mut self,
        request: &str,
        ours: impl FnOnce(&Sessions) -> Result<SessionManager, SessionError>,
    ) -> Both {
        self.keep_in_step();
        let pi = self.pi(request);
        let ours = ours(&self.sessions).map(|manager| self.ours = Some(manager));
        Both { pi, ours }
    }

    /// Has both change the current session.
    pub fn change<T>(
        &mut self,
        request: &str,
        ours: impl FnOnce(&mut SessionManager) -> Result<T, SessionError>,
    ) -> Both {
        self.keep_in_step();
        let pi = self.pi(request);
        Both { pi, ours: ours(self.ours()).map(drop) }
    }

    /// Has both try an operation on the current session.
    pub fn try_to(&mut self, op: &Op) -> Both {
        let request = op.request("").expect("an operation of one call");
        self.change(&request, |ours| apply(ours, op))
    }

    /// Has both do an operation on the current session, one second after the last.
    #[track_caller]
    pub fn act(&mut self, op: &Op) {
        self.wait(1000);
        self.try_to(op).done();
    }

    /// Has both open a file.
    pub fn try_open(&mut self, name: &str) -> Both {
        let request = statically("open", &[&self.pi_argument(name)]);
        let path = self.our_path(name);
        self.both(&request, |sessions| sessions.open(path, None, None))
    }

    /// Has both open a file.
    #[track_caller]
    pub fn open(&mut self, name: &str) {
        self.try_open(name).done();
    }

    /// Has both open a file with this content, named `s/f.jsonl`.
    #[track_caller]
    pub fn start(&mut self, bytes: impl AsRef<[u8]>) {
        self.write("s/f.jsonl", bytes);
        self.open("s/f.jsonl");
    }

    /// Has both create a session in the directory `s`.
    #[track_caller]
    pub fn create(&mut self) {
        let request = statically("create", &["\"/proj/dir\"", &self.pi_argument("s")]);
        let dir = self.our_path("s");
        self.both(&request, |sessions| sessions.create("/proj/dir", Some(&dir), NewSession::default())).done();
    }

    /// Has both create a session without a file.
    #[track_caller]
    pub fn in_memory(&mut self) {
        let request = statically("inMemory", &["\"/proj/dir\""]);
        self.both(&request, |sessions| sessions.in_memory("/proj/dir", NewSession::default())).done();
    }

    /// Has each open the file the other has written, in place of its own.
    #[track_caller]
    pub fn exchange(&mut self) {
        let file: PathBuf = serde_json::from_str(&self.pi_sees("file").unwrap()).unwrap();
        let our_file = self.paths.ours_of(&file);
        let request = statically("open", &[&quoted(&our_file.to_string_lossy())]);
        self.both(&request, |sessions| sessions.open(file, None, None)).done();
    }

    /// What pi shows through a window, or what it throws.
    pub fn pi_sees(&mut self, window: &str) -> Seen {
        let answer = self.oracle().ask(format!(r#"{{"cmd":"observe","what":"{window}"}}"#));
        answer.observation(window).map(str::to_owned).map_err(str::to_owned)
    }

    /// What we show through a window, in pi's paths and pi's spelling.
    #[track_caller]
    pub fn we_see(&mut self, window: &'static str) -> String {
        let seen = observe(self.ours()).remove(window).unwrap().unwrap();
        let seen = self.paths.as_pi(&seen);
        self.oracle().normalise(&seen).unwrap()
    }

    /// Asserts that both show this through a window.
    #[track_caller]
    pub fn both_see(&mut self, window: &'static str, expected: &str) {
        let pi = self.pi_sees(window);
        assert_eq!(pi.as_deref(), Ok(expected), "what pi shows as {window}");
        assert_eq!(self.we_see(window), expected, "what we show as {window}");
    }

    /// pi's context, a message a piece: its role and its text.
    #[track_caller]
    pub fn pi_says(&mut self) -> Vec<String> {
        said(&self.pi_sees("context").unwrap())
    }

    /// Our context, a message a piece.
    #[track_caller]
    pub fn we_say(&mut self) -> Vec<String> {
        said(&self.we_see("context"))
    }

    /// Asserts that both have this context.
    #[track_caller]
    pub fn both_say(&mut self, expected: &[&str]) {
        assert_eq!(self.pi_says(), expected, "pi's context");
        assert_eq!(self.we_say(), expected, "our context");
    }

    /// The explained differences between the two, each once. Others are a failure.
    #[track_caller]
    pub fn differences(&mut self) -> Vec<Explained> {
        let oracle = self.oracle.as_mut().expect("given back only at the end");
        let ours = self.ours.as_ref().expect("a session was opened");
        let mut explained = compare_sessions(oracle, ours, &self.paths, true).unwrap_or_else(|what| panic!("{what}"));
        explained.sort();
        explained.dedup();
        explained
    }

    /// Asserts that both show the same through every window, in files of the same name and the same bytes.
    #[track_caller]
    pub fn assert_same(&mut self) {
        assert_eq!(self.differences(), [], "what differs");
    }

    /// Asserts that these differences are all there are.
    #[track_caller]
    pub fn assert_differ_by(&mut self, expected: &[Explained]) {
        assert_eq!(self.differences(), expected, "what differs");
    }

    /// The lists of both for a working directory, as pi's JSON in pi's paths.
    #[track_caller]
    pub fn lists(&mut self, cwd: &str, dir: Option<&str>) -> (Vec<Value>, Vec<Value>) {
        let pi_dir = dir.map(|dir| self.pi_argument(dir));
        let args = [Some(quoted(cwd)), pi_dir];
        let args: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
        let pi = self.ask(&statically("list", &args));
        let our_dir = dir.map(|dir| self.our_path(dir));
        let mut options = ListOptions { texts: true, ..ListOptions::default() };
        let ours = self.sessions.list(cwd, our_dir.as_deref(), &mut options).unwrap();
        self.assert_catalogue_agrees(cwd, our_dir.as_deref(), &ours);
        let ours = ours.iter().map(|info| self.as_pi(&listed(info).to_string()));
        let ours = ours.map(|row| serde_json::from_str(&row).unwrap()).collect();
        (pi.value().as_array().expect("a list").clone(), ours)
    }

    /// Asserts that a catalogue, which is kept from list to list, has no other answer than the files themselves.
    #[track_caller]
    fn assert_catalogue_agrees(&self, cwd: &str, dir: Option<&Path>, scanned: &[SessionInfo]) {
        let cached = self.sessions.clone().caching(Some(self.directory.path().join("caches")));
        let without_text = |info: &SessionInfo| SessionInfo { all_messages_text: "".into(), ..info.clone() };
        let scanned: Vec<SessionInfo> = scanned.iter().map(without_text).collect();
        for _ in ["collected", "kept"] {
            assert_eq!(cached.list(cwd, dir, &mut ListOptions::default()).unwrap(), scanned, "the catalogue's list");
        }
    }

    /// Asserts that both list the same, and returns it.
    #[track_caller]
    pub fn same_list(&mut self, cwd: &str, dir: Option<&str>) -> Vec<Value> {
        let (pi, ours) = self.lists(cwd, dir);
        assert_eq!(pi, ours, "pi's list and ours");
        ours
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // After a failure nobody knows what state pi is in.
        if std::thread::panicking() {
            return;
        }
        if let (Some(oracle), Ok(mut idle)) = (self.oracle.take(), IDLE.lock()) {
            idle.push(oracle);
        }
    }
}

/// A request for a static method of pi's session manager, its arguments as JSON.
pub fn statically(method: &str, args: &[&str]) -> String {
    format!(r#"{{"cmd":"static","method":"{method}","args":[{}]}}"#, args.join(","))
}

/// A request for a method of pi's current session manager, its arguments as JSON.
pub fn call(method: &str, args: &[&str]) -> String {
    format!(r#"{{"cmd":"call","method":"{method}","args":[{}]}}"#, args.join(","))
}

/// The messages of a context as role and text.
fn said(context: &str) -> Vec<String> {
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

fn shown(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| bytes.escape_ascii().to_string().replace("\\n", "\\n\n"))
}
