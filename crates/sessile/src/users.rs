//! Finds the users of a session, before it is moved or deleted.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_store::os::{Os, Process};
use sessile_store::{StoreError, ends_with_ours, open_elsewhere};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::{SessionInfo, read_header};
use crate::sessions::Sessions;
use crate::world::World;

/// A write within this time indicates that a program may be active.
const RECENT_MS: i64 = 2 * 60 * 1000;

/// The minimum length of an id to search for in arguments; a shorter one would match by chance.
const LEAST_ID: usize = 8;

/// Runtimes that may run pi, besides a program called pi.
const RUNTIMES: [&str; 4] = ["node", "nodejs", "bun", "deno"];

/// pi's process titles.
const TITLES: [&str; 2] = ["pi", "pi-rpc"];

/// The maximum length of a program's name that is shown.
const MAX_NAME: usize = 40;

/// A program that uses a session, or seems to.
///
/// Its text form is a sentence without its full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionUser {
    /// Another Sessile process has it open for writing.
    Sessile {
        /// The process.
        pid: u32,
        /// The machine.
        host: String,
        /// When it began to write to the session, in milliseconds since 1970.
        since_ms: i64,
    },
    /// A running agent that probably has it open.
    Agent {
        /// The process.
        pid: u32,
        /// The name that it gives itself, sanitised.
        program: String,
        /// The evidence.
        why: AgentSign,
    },
    /// It was written to recently, as far as known not by Sessile.
    RecentWrite {
        /// The age of the write in milliseconds.
        age_ms: i64,
    },
}

/// The evidence that an agent uses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSign {
    /// It runs in the session's working directory.
    SameDirectory,
    /// Its arguments contain the session's path, name or id.
    NamesSession,
}

impl SessionUser {
    /// A description in a word or two, where there is no room for a sentence.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Sessile { .. } | Self::Agent { why: AgentSign::NamesSession, .. } => "in use",
            Self::RecentWrite { .. } => "just written",
            Self::Agent { why: AgentSign::SameDirectory, .. } => "pi runs there",
        }
    }
}

impl AgentSign {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::SameDirectory => "sameDirectory",
            Self::NamesSession => "namesSession",
        }
    }
}

impl fmt::Display for SessionUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sessile { pid, host, .. } => write!(f, "Sessile has it open (process {pid} on {})", harmless(host)),
            Self::Agent { pid, program, why: AgentSign::SameDirectory } => {
                write!(f, "{program} is running in its directory (process {pid})")
            }
            Self::Agent { pid, program, why: AgentSign::NamesSession } => {
                write!(f, "{program} was started with this session (process {pid})")
            }
            Self::RecentWrite { age_ms } => {
                let seconds = age_ms / 1000;
                let unit = if seconds == 1 { "second" } else { "seconds" };
                write!(f, "it was written to {seconds} {unit} ago, possibly by another program")
            }
        }
    }
}

impl Sessions {
    /// The users of a session, as far as they can be detected. Changes nothing.
    ///
    /// Does not report our own writes: a write that the session's guard still has, or that left the file with
    /// `own_length` bytes.
    pub fn users_of(&self, path: &Path, own_length: Option<u64>) -> Result<Vec<SessionUser>, SessionError> {
        let path = absolute(self.environment(), path);
        let stat = self.world.os().stat(&path).map_err(|source| StoreError::io_at("access", &path, source))?;
        let header = read_header(&self.world, &path);
        let cwd = header.as_ref().and_then(sessile_core::header::Header::cwd).unwrap_or_default();
        let id = header.map(|header| header.id()).unwrap_or_default();
        let session = Used { path: &path, id: &id, cwd: &cwd };
        let mut snapshot = ProcessSnapshot::new(&self.world);
        let mut users = snapshot.others(&session);
        if own_length != Some(stat.length) {
            users.extend(snapshot.recent_write(&path));
        }
        Ok(users)
    }

    /// The users of each of these sessions. Lists the running processes only once.
    pub fn users_of_all(&self, sessions: &[SessionInfo]) -> Vec<Vec<SessionUser>> {
        self.users_of_sessions(sessions, &HashMap::new())
    }

    /// The users of each of these sessions. A file that still has the length that an operation gave it was not written
    /// to since.
    pub(crate) fn users_of_sessions(
        &self,
        sessions: &[SessionInfo],
        own_lengths: &HashMap<PathBuf, u64>,
    ) -> Vec<Vec<SessionUser>> {
        let mut snapshot = ProcessSnapshot::new(&self.world);
        let users = |info: &SessionInfo| {
            let session = Used { path: &info.path, id: &info.id, cwd: &info.cwd };
            let mut users = snapshot.others(&session);
            if own_lengths.get(&info.path) != Some(&info.size) {
                users.extend(snapshot.recent_write(&info.path));
            }
            users
        };
        sessions.iter().map(users).collect()
    }
}

/// A session to check.
struct Used<'s> {
    path: &'s Path,
    id: &'s SessionId,
    cwd: &'s str,
}

/// A snapshot of the running processes.
struct ProcessSnapshot<'w> {
    world: &'w World,
    agents: Vec<Process>,
    now_ms: i64,
    /// The real paths of working directories.
    real: HashMap<String, PathBuf>,
    /// Whether directories contain our sidecar files, to avoid opening missing files.
    sidecars: HashMap<PathBuf, bool>,
}

impl<'w> ProcessSnapshot<'w> {
    fn new(world: &'w World) -> Self {
        let agents = world.os().processes().into_iter().filter(is_pi).collect();
        Self {
            world,
            agents,
            now_ms: world.environment().now().as_ms(),
            real: HashMap::new(),
            sidecars: HashMap::new(),
        }
    }

    /// The processes that use a session.
    fn others(&mut self, session: &Used<'_>) -> Vec<SessionUser> {
        let mut users = Vec::new();
        if self.may_have_sidecars(session.path)
            && let Some(holder) = open_elsewhere(self.world.os(), session.path)
        {
            users.push(SessionUser::Sessile { pid: holder.pid, host: holder.host, since_ms: holder.since_ms });
        }
        if self.agents.is_empty() {
            return users;
        }
        let cwd = self.real_directory(session.cwd);
        let os = self.world.os();
        let sign = |agent: &Process| match () {
            () if names(os, agent, session) => Some(AgentSign::NamesSession),
            () if cwd.is_some() && agent.directory == cwd => Some(AgentSign::SameDirectory),
            () => None,
        };
        users.extend(self.agents.iter().filter_map(|agent| {
            let why = sign(agent)?;
            Some(SessionUser::Agent { pid: agent.pid, program: harmless(&agent.name), why })
        }));
        users
    }

    /// Whether another program wrote to a session recently.
    fn recent_write(&self, path: &Path) -> Option<SessionUser> {
        let os = self.world.os();
        let stat = os.stat(path).ok()?;
        let age_ms = self.now_ms.saturating_sub(stat.modified_ms);
        // File system clocks may be slightly ahead.
        let is_recent = (-RECENT_MS..=RECENT_MS).contains(&age_ms);
        (is_recent && !ends_with_ours(os, path, &stat)).then_some(SessionUser::RecentWrite { age_ms: age_ms.max(0) })
    }

    /// The real path of a working directory, which is what a process in it reports.
    fn real_directory(&mut self, cwd: &str) -> Option<PathBuf> {
        if cwd.is_empty() {
            return None;
        }
        let os = self.world.os();
        let real = self.real.entry(cwd.to_owned()).or_insert_with(|| real_path(os, Path::new(cwd)));
        Some(real.clone())
    }

    /// Whether a session's directory contains our sidecar files; looked up once per directory.
    fn may_have_sidecars(&mut self, path: &Path) -> bool {
        let Some(directory) = path.parent() else { return true };
        let os = self.world.os();
        *self.sidecars.entry(directory.to_path_buf()).or_insert_with(|| {
            let is_ours = |path: PathBuf| {
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                name.starts_with(b".") && name.ends_with(b".sessile-lock")
            };
            os.list(directory).map_or(true, |files| files.into_iter().any(is_ours))
        })
    }
}

fn real_path(os: &dyn Os, path: &Path) -> PathBuf {
    os.real_path(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether a process is pi: by its title, or by the script that a runtime runs.
fn is_pi(process: &Process) -> bool {
    let program = process.program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    // If a runtime was replaced on disk, the system appends a remark to its name.
    let program = program.as_deref().map(|name| name.trim_end_matches(" (deleted)"));
    let is_runtime = program.is_none_or(|name| RUNTIMES.contains(&name));
    let title = process.arguments.first().and_then(|title| title.split(' ').next()).unwrap_or_default();
    let is_titled = TITLES.contains(&process.name.as_str()) || TITLES.contains(&title);
    let is_own_program = program.is_some_and(|name| TITLES.contains(&name));
    is_own_program
        || (is_runtime && (is_titled || process.arguments.iter().skip(1).take(4).any(|word| is_script(word))))
}

/// Whether an argument is pi's script, by the name of its package or of a link to it.
fn is_script(word: &str) -> bool {
    let path = Path::new(word);
    let is = |name: Option<&std::ffi::OsStr>, wanted: &str| name.is_some_and(|name| name == wanted);
    let in_package = || path.iter().any(|part| part == "pi-coding-agent" || part == "pi");
    is(path.file_name(), "pi") || (is(path.file_name(), "cli.js") && in_package())
}

/// Whether a process's arguments refer to a session.
///
/// A path to another file, such as a copy of the session, does not count.
fn names(os: &dyn Os, process: &Process, session: &Used<'_>) -> bool {
    let file = session.path.file_name().unwrap_or_default().to_string_lossy();
    let has = |word: &String| {
        (!file.is_empty() && word.contains(file.as_ref()))
            || (session.id.as_str().len() >= LEAST_ID && word.contains(session.id.as_str()))
    };
    let identity = |path: &Path| os.stat(path).ok().map(|stat| stat.identity);
    let is_other = |word: &String| {
        let named = Path::new(word);
        named.is_absolute() && identity(named).is_some_and(|named| Some(named) != identity(session.path))
    };
    process.arguments.iter().skip(1).any(|word| has(word) && !is_other(word))
}

/// A name chosen by another program, without characters that act on a terminal or are invisible.
fn harmless(name: &str) -> String {
    let is_plain = |char: &char| char.is_alphanumeric() || char.is_ascii_graphic() || *char == ' ';
    let name: String = name.chars().filter(is_plain).take(MAX_NAME).collect();
    if name.trim().is_empty() { "an unnamed program".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use sessile_store::os::RealOs;

    use super::*;

    fn process(name: &str, program: Option<&str>, arguments: &[&str]) -> Process {
        Process {
            pid: 7,
            name: name.to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            directory: None,
            program: program.map(PathBuf::from),
        }
    }

    #[test]
    fn pi_is_recognised_by_its_title_or_script() {
        for (name, program, arguments) in [
            ("pi", Some("/usr/bin/node"), &["pi"][..]),
            ("pi", Some("/usr/bin/node (deleted)"), &["pi"]),
            ("MainThread", Some("/usr/bin/node"), &["pi - project"]),
            ("pi-rpc", Some("/usr/bin/node"), &["pi-rpc"]),
            ("pi", None, &["pi"]),
            ("pi", Some("/opt/pi/pi"), &["/opt/pi/pi", "--session", "x"]),
            ("node", Some("/usr/bin/node"), &["node", "/usr/local/bin/pi", "-c"]),
            ("node", Some("/usr/bin/node"), &["node", "--import", "x", "/l/@scope/pi-coding-agent/dist/bundle/cli.js"]),
            ("bun", Some("/usr/bin/bun"), &["bun", "/home/u/pi/dist/cli.js"]),
        ] {
            assert!(is_pi(&process(name, program, arguments)), "{name} {arguments:?}");
        }
        for (name, program, arguments) in [
            ("node", Some("/usr/bin/node"), &["node", "server.js"][..]),
            ("node", Some("/usr/bin/node"), &["node", "/srv/app/dist/cli.js"]),
            ("bash", Some("/usr/bin/bash"), &["bash", "-c", "pi --session x"]),
            ("pi", Some("/usr/bin/bash"), &["/bin/bash", "/home/u/bin/pi"]),
            ("vim", Some("/usr/bin/vim"), &["vim", "/home/u/pi"]),
        ] {
            assert!(!is_pi(&process(name, program, arguments)), "{name} {arguments:?}");
        }
    }

    #[test]
    fn a_session_is_named_by_its_file_or_its_id() {
        let path = Path::new("/s/2026_0198a1b2-aaaa.jsonl");
        let named = |words: &[&str], id: &str| {
            names(&RealOs, &process("pi", None, words), &Used { path, id: &id.into(), cwd: "/" })
        };
        assert!(named(&["pi", "--session", "/s/2026_0198a1b2-aaaa.jsonl"], "x"));
        assert!(named(&["pi", "--session=2026_0198a1b2-aaaa.jsonl"], "x"));
        assert!(named(&["pi", "--session", "0198a1b2-aaaa"], "0198a1b2-aaaa"));
        assert!(
            !named(&["pi", "--session", "other"], "x")
                && !named(&["pi", "x"], "x")
                && !named(&["0198a1b2-aaaa"], "0198a1b2-aaaa")
        );
    }

    #[test]
    fn program_names_are_safe_for_a_terminal() {
        assert_eq!(harmless("p\u{1b}[2Ji\u{202e}\u{9d}"), "p[2Ji");
        assert_eq!(harmless("\u{7}\u{200b} "), "an unnamed program");
        assert_eq!(harmless(&"x".repeat(1000)).len(), 40);
        let agent = SessionUser::Agent { pid: 7, program: harmless("pi"), why: AgentSign::SameDirectory };
        assert_eq!(agent.to_string(), "pi is running in its directory (process 7)");
    }
}
