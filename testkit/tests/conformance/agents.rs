//! Imported sessions of other agents in pi.

use std::path::{Path, PathBuf};

use sessile::Sessions;
use sessile::import::{Agent, AgentImportOptions};
use sessile_testkit::Oracle;

use super::compaction::{seen_by_pi, seen_by_us};

/// The fixtures of an agent.
fn fixtures(agent: Agent) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/agents/tests/fixtures").join(agent.word());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn pi_sees_imported_sessions_as_we_do() {
    let directory = tempfile::tempdir().unwrap();
    let mut oracle = Oracle::start(directory.path());
    let store = directory.path().join("store");
    let sessions = Sessions::default().with_session_dir(&store).recording_operations(None).caching(None);
    let mut n_sessions = 0;
    for agent in Agent::ALL {
        for fixture in fixtures(*agent) {
            let file = sessions.foreign_file(&[*agent], &fixture).unwrap();
            for imported in sessions.import_foreign(&[file], AgentImportOptions::default()).unwrap() {
                let path = &imported.path;
                assert!(sessions.verify(path).unwrap().findings.iter().all(|finding| !finding.counts()), "{path:?}");
                assert_eq!(seen_by_pi(&mut oracle, path), seen_by_us(path), "{}", fixture.display());
                n_sessions += 1;
            }
        }
    }
    // Five of Claude Code, one of which has a sub-agent, three of Codex, and one of Qwen Code.
    assert_eq!(n_sessions, 10);
}
