//! The twelve hot paths. Each prepares what it needs, and then measures one kind of work.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use sessile::date::Timestamp;
use sessile::export::{ExportFormat, ExportOptions};
use sessile::json::Json;
use sessile::search::{IndexOptions, SearchOptions, SearchScope, Upkeep};
use sessile::text::query::Query;
use sessile::{SessionError, draft};
use sessile_rpc::{Engine, Options, Start};
use sessile_tui::headless::TreeScreen;

use crate::Failure;
use crate::region::measure;
use crate::world::World;

/// A session of text, and a tree with branches.
const SESSION: &str = "giant-128-text.jsonl";
const TREE: &str = "tree.jsonl";

/// Runs one of the paths that `names` lists.
pub(crate) fn run(name: &str, world: &World) -> Result<(), Failure> {
    match name {
        "open" => open(world),
        "reopen" => reopen(world),
        "append" => append(world),
        "context" => context(world),
        "tree" => tree(world),
        "list" => list(world),
        "first-list" => first_list(world),
        "search" => search(world),
        "fork" => fork(world),
        "rpc-request" => rpc_request(world),
        "tui-frame" => tui_frame(world),
        "export" => export(world),
        _ => Err(format!("no path `{name}`").into()),
    }
}

/// Builds the caches of the paths that start with them.
pub(crate) fn prepare(world: &World) -> Result<(), Failure> {
    let known = world.sessions(&world.fresh("caches")?);
    for session in [SESSION, TREE] {
        drop(known.open(world.fixture(session))?);
    }
    known.list_all()?;
    known.update_text_index(&SearchScope::All, &IndexOptions::default())?;
    Ok(())
}

fn open(world: &World) -> Result<(), Failure> {
    let sessions = world.sessions(&world.fresh("open")?);
    measure(|| Ok(sessions.open(world.fixture(SESSION))?))?;
    Ok(())
}

fn reopen(world: &World) -> Result<(), Failure> {
    let sessions = world.known();
    measure(|| Ok(sessions.open(world.fixture(SESSION))?))?;
    Ok(())
}

/// The number of appends, requests and frames that are measured.
const N_TIMES: u16 = 100;

fn message(number: u16) -> Json {
    let text = format!("{number} {}", "words ".repeat(50));
    draft::UserMessage::new(text.as_str(), Timestamp::from_ms(1_790_000_000_000 + i64::from(number))).into()
}

fn append(world: &World) -> Result<(), Failure> {
    let folder = world.fresh("append")?;
    let file = folder.join("session.jsonl");
    std::fs::copy(world.fixture(SESSION), &file)?;
    let mut session = world.sessions(&folder.join("caches")).open(&file)?;
    // The first append ends what opening has left to do.
    session.append_message(message(0))?;
    let messages: Vec<Json> = (1..=N_TIMES).map(message).collect();
    measure(|| {
        for message in messages {
            session.append_message(message)?;
        }
        Ok(())
    })
}

fn context(world: &World) -> Result<(), Failure> {
    let session = world.known().open(world.fixture(SESSION))?;
    measure(|| Ok(session.build_session_context()?))?;
    Ok(())
}

fn tree(world: &World) -> Result<(), Failure> {
    let session = world.known().open(world.fixture(TREE))?;
    measure(|| Ok(session.tree()?))?;
    Ok(())
}

fn list(world: &World) -> Result<(), Failure> {
    let sessions = world.known();
    measure(|| Ok(sessions.list_all()?))?;
    Ok(())
}

fn first_list(world: &World) -> Result<(), Failure> {
    let sessions = world.sessions(&world.fresh("first-list")?);
    measure(|| Ok(sessions.list_all()?))?;
    Ok(())
}

/// A word that is in almost every session, and one that is in a few.
const WORDS: [&str; 2] = ["session", "barnacleLantern58"];

fn search(world: &World) -> Result<(), Failure> {
    let sessions = world.known();
    let queries = [Query::parse(WORDS[0])?, Query::parse(WORDS[1])?];
    measure(|| {
        for query in &queries {
            let options = SearchOptions { upkeep: Upkeep::Never, ..SearchOptions::default() };
            let found = sessions.search(query, &options)?;
            if found.hits.is_empty() || found.unindexed_bytes > 0 {
                return Err(format!("{} hits, {} bytes not indexed", found.hits.len(), found.unindexed_bytes).into());
            }
        }
        Ok(())
    })
}

fn fork(world: &World) -> Result<(), Failure> {
    let folder = world.fresh("fork")?;
    let sessions = world.known().with_session_dir(folder.join("sessions"));
    measure(|| Ok(sessions.fork_from(world.fixture(SESSION), &folder)?))?;
    Ok(())
}

/// The output of a server.
#[derive(Clone, Default)]
struct Answers(Arc<Mutex<Vec<u8>>>);

impl Write for Answers {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn rpc_request(world: &World) -> Result<(), Failure> {
    // A server opens a session only in a working directory that exists.
    let folder = world.fresh("rpc-request")?;
    let sessions = world.known().with_session_dir(&folder);
    let mut session = sessions.create(&folder)?;
    for number in 0..N_TIMES {
        session.append_message(message(number))?;
    }
    let start = Start::Open(session.session_file().ok_or("no file")?.to_path_buf());
    drop(session);
    let options = Options { cwd: folder, ..Options::new(sessions) };
    let engine = Engine::start(options, &start, None).map_err(|failure| format!("{failure:?}"))?;
    let requests: String = (0..N_TIMES).map(|id| format!("{{\"id\":{id},\"type\":\"get_state\"}}\n")).collect();
    let answers = Answers::default();
    measure(|| {
        engine.serve(requests.as_bytes(), answers.clone());
        Ok(())
    })?;
    let answers = answers.0.lock().unwrap_or_else(PoisonError::into_inner);
    let n_answers = answers.split(|byte| *byte == b'\n').filter(|line| contains(line, b"\"success\":true")).count();
    if n_answers == usize::from(N_TIMES) { Ok(()) } else { Err(format!("{n_answers} answers").into()) }
}

fn contains(line: &[u8], wanted: &[u8]) -> bool {
    line.windows(wanted.len()).any(|window| window == wanted)
}

fn tui_frame(world: &World) -> Result<(), Failure> {
    let mut screen = TreeScreen::open(world.known(), world.fixture(TREE));
    let first: Vec<String> = screen.draw();
    measure(|| {
        for _ in 0..N_TIMES {
            screen.press("up");
            screen.draw();
        }
        Ok(())
    })?;
    if screen.draw() == first { Err("the keys had no effect".into()) } else { Ok(()) }
}

fn export(world: &World) -> Result<(), Failure> {
    let session = world.known().open(world.fixture(SESSION))?;
    let formats = [ExportFormat::Jsonl, ExportFormat::Markdown];
    let n_bytes = measure(|| {
        let mut n_bytes = 0;
        for format in formats {
            let options = ExportOptions { format, ..ExportOptions::default() };
            session.export::<SessionError>(&options, &mut |bytes| {
                n_bytes += bytes.len();
                Ok(())
            })?;
        }
        Ok(n_bytes)
    })?;
    if n_bytes > 0 { Ok(()) } else { Err("nothing was exported".into()) }
}
