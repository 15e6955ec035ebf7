//! The generator: the same bytes each time, with the shape of real sessions, in pi's spelling.
#![expect(clippy::disallowed_methods, reason = "tests read and write files directly")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Corpus, CorpusSpec, Made, PHRASE, Plan, WORD, foreign_lines};
use sessile::json::{Json, print};
use sessile::{SessionManager, Sessions, System};

fn corpus(dir: &Path, seed: u64) -> Corpus {
    Corpus::new(dir, Plan { seed, scale: 0.01, projects: "/proj".to_owned() })
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let made: Vec<Vec<Vec<u8>>> = dirs
        .iter()
        .zip([1, 1, 2])
        .map(|(dir, seed)| {
            let corpus = corpus(dir.path(), seed);
            for name in ["small", "store-s"] {
                corpus.make_named(name).unwrap();
            }
            files_below(dir.path()).iter().map(|file| std::fs::read(file).unwrap()).collect()
        })
        .collect();
    assert!(made[0] == made[1]);
    assert!(made[0] != made[2]);
}

#[test]
fn every_line_is_printed_as_javascript_prints_it() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus(dir.path(), 3);
    for name in ["small", "tree", "v1", "giant-128"] {
        let made = corpus.make_named(name).unwrap();
        let bytes = std::fs::read(&made.path).unwrap();
        assert!(bytes.ends_with(b"\n") && bytes.len() as u64 == made.bytes);
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len() as u64, made.lines);
        for line in lines {
            let value = Json::parse(line).unwrap();
            assert_eq!(print(value.raw()).to_text(), value.to_text());
        }
    }
}

/// The published figures of real sessions: 789 to 858 bytes for the median line, 3.4 to 4.1 KB for the long ones.
#[test]
fn lines_are_as_long_and_roles_as_common_as_in_real_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let made = corpus(dir.path(), 4).make(&CorpusSpec::session("talk", 12_000_000)).unwrap();
    let bytes = std::fs::read(&made.path).unwrap();
    let mut lengths = Vec::new();
    let mut roles: HashMap<String, usize> = HashMap::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        lengths.push(line.len());
        let value = Json::parse(line).unwrap();
        if let Some(role) = value.raw().get("message").and_then(|message| message.get("role")) {
            *roles.entry(role.as_string().unwrap()).or_default() += 1;
        }
    }
    lengths.sort_unstable();
    let at = |percent: usize| lengths[lengths.len() * percent / 100];
    assert!((650..950).contains(&at(50)), "{}", at(50));
    assert!((2_500..4_200).contains(&at(90)), "{}", at(90));
    assert!((12_000..30_000).contains(&at(99)), "{}", at(99));
    let n_messages: usize = roles.values().sum();
    for (role, percent) in [("assistant", 45..54), ("toolResult", 38..47), ("user", 5..12)] {
        assert!(percent.contains(&(100 * roles[role] / n_messages)), "{role}: {roles:?}");
    }
}

#[test]
fn a_tree_is_valid_and_has_its_branch_points() {
    let dir = tempfile::tempdir().unwrap();
    let made = corpus(dir.path(), 5).make(&CorpusSpec::tree("tree", 5_000)).unwrap();
    let session = SessionManager::open(&made.path).unwrap();
    assert_eq!(session.branch_points().len(), 20);
    assert_eq!(session.compactions().unwrap().len(), 10);
    assert_eq!(session.diagnostics(), []);
    assert!(session.path().len() > 4_000);
}

fn contains(path: &Path, needle: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

fn assert_planted(all: &[PathBuf], planted: &[PathBuf], needle: &str) {
    let mut found: Vec<PathBuf> = all.iter().filter(|path| contains(path, needle)).cloned().collect();
    let mut planted = planted.to_vec();
    found.sort();
    planted.sort();
    assert_eq!(found, planted);
    assert!(!planted.is_empty());
}

#[test]
fn a_store_is_where_pi_looks_and_contains_the_needles() {
    let dir = tempfile::tempdir().unwrap();
    let made: Made = corpus(dir.path(), 6).make(&CorpusSpec::store("store", 60, 1_500_000)).unwrap();
    let sessions = made.path.join("sessions");
    let all = files_below(&sessions);
    assert_eq!(all.len(), 60);
    assert_planted(&all, &made.with_word, WORD);
    assert_planted(&all, &made.with_phrase, PHRASE);
    let store = Sessions::new(System).caching(None);
    let rows = store.clone().with_session_dir(&made.cwd_folder).list(&made.cwd).unwrap();
    assert_eq!(rows.len(), 30);
    assert!(rows.iter().all(|row| row.cwd == made.cwd));
}

#[test]
fn existing_files_are_not_generated_again() {
    let dir = tempfile::tempdir().unwrap();
    let made = corpus(dir.path(), 7).make_named("small").unwrap();
    std::fs::write(&made.path, "touched").unwrap();
    corpus(dir.path(), 7).make_named("small").unwrap();
    assert_eq!(std::fs::read(&made.path).unwrap(), b"touched");
    corpus(dir.path(), 8).make_named("small").unwrap();
    assert_ne!(std::fs::read(&made.path).unwrap(), b"touched");
}

#[test]
fn foreign_lines_form_a_chain() {
    let lines = String::from_utf8(foreign_lines("00000001", 3, 9)).unwrap();
    let mut parent = "00000001".to_owned();
    for line in lines.lines() {
        let value = Json::parse(line).unwrap();
        assert_eq!(value.raw().get("parentId").unwrap().as_string().unwrap(), parent);
        parent = value.raw().get("id").unwrap().as_string().unwrap();
    }
    assert_eq!(parent, "f0900002");
}
