//! Servers and screens that live as long as the soak, and one server that does not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pty_process::blocking::{Pty, open};
use serde_json::{Value, json};

use super::sampler::RESTARTED;
use super::talk::{Silence, Talk};
use super::{Ended, Soak};
use crate::SplitMix;

/// How long a screen or a watcher may take to show something.
const REACTS_WITHIN: Duration = Duration::from_mins(2);

impl Soak {
    /// Starts a long-living process.
    fn start(&self, name: &'static str, command: std::process::Command) -> Option<Talk> {
        match Talk::start(command, &self.home.outside.join(format!("{name}.errors"))) {
            Ok(talk) => {
                self.lives(name, talk.id());
                Some(talk)
            }
            Err(error) => {
                self.problem(format!("{name} cannot be started: {error}"));
                None
            }
        }
    }

    /// Reports that a process which should live on gives no answer.
    fn silent(&self, name: &'static str, silence: Silence) {
        self.died(name);
        let errors = std::fs::read_to_string(self.home.outside.join(format!("{name}.errors"))).unwrap_or_default();
        self.problem(format!("{name}: {silence:?}: {}", errors.lines().last().unwrap_or_default()));
    }
}

/// One client of an RPC server.
struct Client<'s> {
    soak: &'s Soak,
    name: &'static str,
    talk: Talk,
    /// The current session, which this client uses.
    current: Option<PathBuf>,
    n_requests: u64,
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.soak.died(self.name);
        if let Some(path) = self.current.take() {
            self.soak.board.release(&path);
        }
    }
}

impl Client<'_> {
    /// Sends a request. Returns the data of a successful answer.
    fn ask(&mut self, operation: &'static str, mut request: Value) -> Result<Option<Value>, Silence> {
        self.n_requests += 1;
        request["id"] = json!(self.n_requests);
        let (id, since) = (request["id"].clone(), Instant::now());
        let answer = self.talk.ask(&request, |value| value["type"] == "response" && value["id"] == id)?;
        if answer["success"] == true {
            self.soak.took(operation, since);
            return Ok(Some(answer["data"].clone()));
        }
        match answer["code"].as_str() {
            Some("SESSION_BUSY" | "LEAF_MOVED") => self.soak.count("busy", 1),
            _ => self.soak.failed(operation, since, answer["error"].as_str().unwrap_or_default()),
        }
        Ok(None)
    }

    /// Does one of many things with a session.
    fn work(&mut self, random: &mut SplitMix, path: &Path) -> Result<(), Silence> {
        let at = path.to_string_lossy().into_owned();
        let session = |mut request: Value| {
            request["sessionPath"] = json!(at);
            request
        };
        match random.below(12) {
            0..=4 => {
                let mark = self.soak.board.mark();
                let message = json!({"role": "user", "content": format!("{mark} over rpc"), "timestamp": 1});
                let request = session(json!({"type": "append_message", "message": message}));
                if self.ask("rpc append", request)?.is_some() {
                    self.soak.board.acknowledge(path, mark);
                }
            }
            5 => drop(self.ask("rpc entries", session(json!({"type": "get_entries"})))?),
            6 => drop(self.ask("rpc context", session(json!({"type": "build_session_context"})))?),
            7 => drop(self.ask("rpc list", json!({"type": "list_sessions", "scope": "all"}))?),
            8 => drop(self.ask("rpc search", json!({"type": "search", "query": "tide", "scope": "all", "limit": 5}))?),
            9 => drop(self.ask("rpc statistics", session(json!({"type": "get_session_stats"})))?),
            10 => drop(self.ask("rpc verify", session(json!({"type": "verify"})))?),
            _ => {
                if self.ask("rpc switch", json!({"type": "switch_session", "sessionPath": at}))?.is_some() {
                    // The client keeps it until it switches to another one, so it is in use twice.
                    if let Some(used) = self.soak.board.claim_again(path)
                        && let Some(before) = self.current.replace(used)
                    {
                        self.soak.board.release(&before);
                    }
                    let subscribed = self.ask("rpc subscribe", json!({"type": "subscribe"}))?;
                    if let Some(subscription) = subscribed.and_then(|data| data.get("subscription").cloned()) {
                        self.ask("rpc unsubscribe", json!({"type": "unsubscribe", "subscription": subscription}))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Works until the end, or for a number of turns.
    fn work_on(&mut self, random: &mut SplitMix, n_turns: usize) -> Result<(), Silence> {
        for _ in 0..n_turns {
            if self.soak.is_over() {
                break;
            }
            if let Some(path) = self.soak.session(random) {
                let worked = (0..=random.below(4)).try_for_each(|_| self.work(random, &path));
                self.soak.board.release(&path);
                worked?;
            }
            self.soak.rest(random, 400);
        }
        Ok(())
    }
}

/// A client of an RPC server that lives to the end.
pub(super) fn rpc(soak: &Soak, random: SplitMix) {
    lasting_rpc(soak, "rpc", soak.home.sessile(&["rpc", "--no-session"]), random);
}

/// The same with a clock that jumps under the running server.
pub(super) fn rpc_with_clock_jumps(soak: &Soak, random: SplitMix) {
    if soak.home.can_shift_clocks() {
        lasting_rpc(soak, "rpc with clock jumps", soak.home.shifted(&["rpc", "--no-session"]), random);
    }
}

fn lasting_rpc(soak: &Soak, name: &'static str, command: std::process::Command, mut random: SplitMix) {
    let Some(talk) = soak.start(name, command) else { return };
    let mut client = Client { soak, name, talk, current: None, n_requests: 0 };
    match client.work_on(&mut random, usize::MAX) {
        Ok(()) => drop(client),
        Err(silence) => soak.silent(name, silence),
    }
}

/// RPC servers that are killed after a few requests, some of them in the middle of one.
pub(super) fn rpc_killed(soak: &Soak, mut random: SplitMix) {
    let name = RESTARTED;
    while !soak.is_over() {
        let Some(talk) = soak.start(name, soak.home.shifted(&["rpc", "--no-session"])) else { return };
        let mut client = Client { soak, name, talk, current: None, n_requests: 0 };
        let n_turns = 1 + random.below(20);
        if let Err(silence) = client.work_on(&mut random, n_turns) {
            soak.silent(name, silence);
        }
        if let Some(path) = soak.session(&mut random) {
            let message = json!({"role": "user", "content": "never acknowledged", "timestamp": 1});
            client.talk.send(&json!({"type": "append_message", "sessionPath": path, "message": message}));
            std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
            client.talk.kill();
            soak.board.release(&path);
            soak.count("killed servers", 1);
        }
    }
}

/// Watches a session that this actor writes: every acknowledged entry must be shown.
pub(super) fn watch(soak: &Soak, mut random: SplitMix) {
    let name = "watch";
    let Some(path) = soak.session(&mut random) else { return };
    let session = path.to_string_lossy();
    let Some(talk) = soak.start(name, soak.home.guarded(&["watch", &session, "--from-start", "--jsonl"])) else {
        return;
    };
    while !soak.is_over() {
        let mark = soak.board.mark();
        let appended = soak.sessile("append", &["append", &session, &format!("{mark} watched")]);
        if matches!(appended, Ended::Done(_)) {
            soak.board.acknowledge(&path, mark.clone());
            let since = Instant::now();
            let has_mark = |value: &Value| value.to_string().contains(&format!("{mark} watched"));
            match talk.wait_for(has_mark) {
                Ok(_) => soak.took("watch", since),
                Err(silence) => {
                    soak.silent(name, silence);
                    break;
                }
            }
        }
        soak.rest(&mut random, 2000);
    }
    soak.died(name);
    soak.board.release(&path);
}

/// The picker, with keys that move, search and switch.
pub(super) fn picker(soak: &Soak, mut random: SplitMix) {
    const KEYS: [&str; 8] = ["\x1b[B", "\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[5~", "s", "o", "\x7f"];
    // Without any session, it ends at once.
    let Some(path) = soak.session(&mut random) else { return };
    screen(soak, "picker", &["resume"], &KEYS, random);
    soak.board.release(&path);
}

/// The tree of a session that others write.
pub(super) fn tree(soak: &Soak, mut random: SplitMix) {
    const KEYS: [&str; 6] = ["\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[5~", "\x1b[H", "\x1b[F"];
    let Some(path) = soak.session(&mut random) else { return };
    screen(soak, "tree", &["tree", "-i", &path.to_string_lossy()], &KEYS, random);
    soak.board.release(&path);
}

/// Runs a screen in a terminal and presses keys.
fn screen(soak: &Soak, name: &'static str, args: &[&str], keys: &[&str], mut random: SplitMix) {
    let (pty, pts) = open().unwrap();
    pty.resize(pty_process::Size::new(40, 120)).unwrap();
    let command = soak.home.sessile(args);
    // Only the program, arguments, variables and directory of a command are carried over.
    let command = pty_process::blocking::Command::from(command).env("TERM", "xterm-256color");
    let mut child = match command.spawn(pts) {
        Ok(child) => child,
        Err(error) => return soak.problem(format!("{name} cannot be started: {error}")),
    };
    soak.lives(name, child.id());
    let pty = Arc::new(pty);
    let n_shown = Arc::new(AtomicU64::new(0));
    let reader = drain(Arc::clone(&pty), Arc::clone(&n_shown));
    while !soak.is_over() {
        soak.rest(&mut random, 1500);
        if let Ok(Some(status)) = child.try_wait() {
            soak.problem(format!("{name} ended: {:?}, signal {:?}", status.code(), status.signal()));
            break;
        }
        let (before, since) = (n_shown.load(Ordering::Relaxed), Instant::now());
        drop((&*pty).write_all(random.pick(keys).as_bytes()));
        // A key that changes nothing shows nothing, so the window is resized as well, which always draws.
        let n_rows = 30 + u16::try_from(random.below(10)).unwrap();
        drop(pty.resize(pty_process::Size::new(n_rows, 100 + n_rows)));
        while n_shown.load(Ordering::Relaxed) == before && since.elapsed() < REACTS_WITHIN && !soak.is_over() {
            std::thread::sleep(Duration::from_millis(5));
        }
        if n_shown.load(Ordering::Relaxed) > before {
            soak.took(name, since);
        } else if !soak.is_over() {
            soak.problem(format!("{name} does not react"));
        }
    }
    soak.died(name);
    drop(child.kill());
    drop(child.wait());
    drop(pty);
    drop(reader);
}

/// Reads what a terminal shows, and counts it.
fn drain(pty: Arc<Pty>, n_shown: Arc<AtomicU64>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n_read @ 1..) = (&*pty).read(&mut buffer) {
            n_shown.fetch_add(n_read as u64, Ordering::Relaxed);
        }
    })
}

/// A browser at the web server.
pub(super) fn serve(soak: &Soak, mut random: SplitMix) {
    let name = "serve";
    let Some(talk) = soak.start(name, soak.home.guarded(&["serve", "--json"])) else { return };
    let link = match talk.wait_for(|value| value["url"].is_string()) {
        Ok(value) => value["url"].as_str().unwrap_or_default().to_owned(),
        Err(silence) => return soak.silent(name, silence),
    };
    let Some(mut browser) = Browser::sign_in(&link) else {
        return soak.problem(format!("serve: no sign-in at {link}"));
    };
    while !soak.is_over() {
        let list = browser.get(soak, "serve list", "/");
        let pages: Vec<&str> =
            list.split("\"/s/").skip(1).filter_map(|rest| rest.split(['"', '?', '/']).next()).collect();
        if !pages.is_empty() {
            let page = random.pick(&pages);
            browser.get(soak, "serve session", &format!("/s/{page}"));
            browser.get(soak, "serve family", &format!("/s/{page}/family"));
            browser.listen(soak, &format!("/s/{page}/events"), Duration::from_millis(random.below(3000) as u64));
        }
        browser.get(soak, "serve search", "/search?q=tide");
        browser.get(soak, "serve statistics", "/stats");
        browser.listen(soak, "/events", Duration::from_millis(random.below(1000) as u64));
        soak.rest(&mut random, 2000);
    }
    soak.died(name);
}

/// A browser that is signed in.
struct Browser {
    host: String,
    cookie: String,
}

impl Browser {
    fn sign_in(link: &str) -> Option<Self> {
        let rest = link.strip_prefix("http://")?;
        let (host, path) = rest.split_once('/')?;
        let mut browser = Self { host: host.to_owned(), cookie: String::new() };
        let answer = browser.request(&format!("/{path}")).ok()?;
        let cookie = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        })?;
        cookie.trim().split(';').next()?.clone_into(&mut browser.cookie);
        Some(browser)
    }

    fn connect(&self, path: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(REACTS_WITHIN))?;
        let Self { host, cookie } = self;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n")?;
        Ok(stream)
    }

    fn request(&self, path: &str) -> std::io::Result<String> {
        let mut answer = Vec::new();
        self.connect(path)?.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Returns a page, or nothing if there is none. A session may have been deleted since the list was made.
    fn get(&mut self, soak: &Soak, operation: &'static str, path: &str) -> String {
        let since = Instant::now();
        let answer = self.request(path).unwrap_or_else(|error| error.to_string());
        let status = answer.split_whitespace().nth(1).unwrap_or_default().to_owned();
        match status.as_str() {
            "200" => soak.took(operation, since),
            "404" | "303" => soak.count("pages that are gone", 1),
            "503" => soak.count("busy", 1),
            _ => soak.failed(operation, since, answer.lines().next().unwrap_or_default()),
        }
        answer
    }

    /// Opens a stream of events, and closes it after a while without a word.
    fn listen(&self, soak: &Soak, path: &str, duration: Duration) {
        if let Ok(stream) = self.connect(path) {
            soak.sleep(duration);
            soak.count("streams of events", 1);
            drop(stream);
        }
    }
}

/// An agent at the MCP server.
pub(super) fn mcp(soak: &Soak, mut random: SplitMix) {
    let name = "mcp";
    let Some(mut talk) = soak.start(name, soak.home.sessile(&["mcp", "--all"])) else { return };
    let mut n_requests = 0;
    let mut ask = |talk: &mut Talk, operation: &'static str, method: &str, params: Value| {
        n_requests += 1;
        let (id, since) = (n_requests, Instant::now());
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = talk.ask(&request, |value| value["id"] == id)?;
        match answer["error"]["message"].as_str() {
            Some(error) => soak.failed(operation, since, error),
            None if answer["result"]["isError"] == true => soak.count("mcp tools that found nothing", 1),
            None => soak.took(operation, since),
        }
        Ok(())
    };
    let client = json!({"name": "soak", "version": "1"});
    let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let mut result = ask(&mut talk, "mcp initialize", "initialize", begin);
    talk.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    while result.is_ok() && !soak.is_over() {
        let Some(path) = soak.session(&mut random) else { continue };
        let id = path.file_stem().and_then(|stem| stem.to_str()?.split('_').next_back().map(str::to_owned));
        let (operation, tool, arguments) = match random.below(6) {
            0 => ("mcp search", "search_history", json!({"query": "tide", "scope": "all"})),
            1 => ("mcp list", "list_sessions", json!({"scope": "all"})),
            2 => ("mcp session", "get_session", json!({"session": id})),
            3 => ("mcp branch", "read_branch", json!({"session": id})),
            4 => ("mcp tree", "get_tree", json!({"session": id})),
            _ => ("mcp usage", "usage", json!({"scope": "all", "by": "day"})),
        };
        result = ask(&mut talk, operation, "tools/call", json!({"name": tool, "arguments": arguments}));
        soak.board.release(&path);
        soak.rest(&mut random, 1000);
    }
    match result {
        Ok(()) => soak.died(name),
        Err(silence) => soak.silent(name, silence),
    }
    if !talk.finish() {
        soak.problem("mcp did not end well");
    }
}
