//! Another program takes the name of a new file just before every system call of the operation that creates it.
//!
//! The other program's file must stay unchanged, whatever happens to the operation.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sessile::import::ImportOptions;
use sessile::{SessionError, Sessions};

use super::{Effort, RowResult};
use crate::Replay;
use crate::sim::SimOs;

const NOW_MS: i64 = 1_763_164_800_000;
const NAME: &str = "2025-01-01T00-00-00-000Z_s1.jsonl";
const SESSION: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi","timestamp":1}}
"#;
const FOREIGN: &[u8] = b"what another program wrote\n";

/// An operation that creates a file with a known name.
struct CreatingOperation {
    name: &'static str,
    /// The directory of the session before.
    source: &'static str,
    /// The directory of the new file.
    directory: &'static str,
    act: fn(&Sessions, &Path) -> Result<(), SessionError>,
}

const STORE: &str = "/home/u/.pi/agent/sessions";

const CREATING_OPERATIONS: [CreatingOperation; 2] = [
    CreatingOperation {
        name: "import",
        source: "/in",
        directory: "/home/u/.pi/agent/sessions/--proj--",
        act: |sessions, source| sessions.import(&[source.to_path_buf()], &ImportOptions::default()).map(drop),
    },
    CreatingOperation {
        name: "move to another file system",
        source: "/home/u/.pi/agent/sessions/--proj--",
        directory: "/home/u/.pi/agent/sessions/--other--",
        act: |sessions, source| sessions.move_session(source, "/other", false).map(drop),
    },
];

/// Runs every operation that creates a file with a known name, for every call of it.
pub fn taken_names(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("taken names", effort);
    for operation in &CREATING_OPERATIONS {
        for n in 1.. {
            let mut is_reached = true;
            result.case(
                || format!("{}, the name taken before call {n}", operation.name),
                || {
                    is_reached = attempt(operation, n)?;
                    Ok(())
                },
            );
            if !is_reached || result.is_over() {
                break;
            }
        }
    }
    result
}

/// Runs one attempt; returns whether the operation reached this call.
fn attempt(operation: &CreatingOperation, n: u64) -> Result<bool, String> {
    let os = SimOs::new();
    let (source, target) = (Path::new(operation.source).join(NAME), Path::new(operation.directory).join(NAME));
    os.make_directories(STORE);
    os.make_directories(operation.source);
    if operation.source != "/in" {
        os.mount(operation.directory);
    }
    os.make_directories(operation.directory);
    os.foreign_append(&source, SESSION);
    os.settle();
    let (is_reached, is_taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (reached, taken, target_path) = (Arc::clone(&is_reached), Arc::clone(&is_taken), target.clone());
    os.on_call(n, move |world| {
        reached.store(true, Ordering::SeqCst);
        if world.read_file(&target_path).is_none() {
            world.foreign_append(&target_path, FOREIGN);
            taken.store(true, Ordering::SeqCst);
        }
    });
    let environment = Replay::new(NOW_MS, 1);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    let state = Some(PathBuf::from("/home/u/state"));
    let sessions = Sessions::new(environment).on(Arc::new(os.clone())).caching(None).recording_operations(state);
    let ended = (operation.act)(&sessions.ignoring_users(), &source);
    if is_taken.load(Ordering::SeqCst) && os.read_file(&target).as_deref() != Some(FOREIGN) {
        return Err(format!("the file of the other program is gone: {ended:?}"));
    }
    Ok(is_reached.load(Ordering::SeqCst))
}
