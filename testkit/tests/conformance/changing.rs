//! Operations on sessions leave files that the genuine pi opens, sees completely, and continues in.

use std::path::{Path, PathBuf};

use sessile::draft::{AssistantMessage, UserMessage};
use sessile::{Begin, Deletion, EntryId, ForkPosition, Importing};
use sessile_testkit::Stage;

use crate::lines::say;

/// Opens one of our files in pi, expects these messages in its context, and continues in it in both.
#[track_caller]
fn pi_goes_on(stage: &mut Stage, file: &Path, expected: &[&str]) {
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    let name = format!("s/{}", file.file_name().unwrap().to_str().unwrap());
    stage.write(&name, &text);
    // Each side has its own directories.
    std::fs::write(stage.pi_path(&name), stage.as_pi(&text)).unwrap();
    stage.open(&name);
    stage.both_say(expected);
    stage.act(&say("on we go"));
    stage.assert_same();
}

/// Creates a session with a question and an answer.
fn conversation(stage: &Stage) -> (PathBuf, EntryId) {
    let begun = stage.sessions().begin(&Begin { name: Some("Named".to_owned()), ..Begin::default() }).unwrap();
    let mut session = begun.session;
    let question = session.append_message(UserMessage::new("why", 1)).unwrap();
    session.append_message(AssistantMessage::new("p", "m", "because", 2)).unwrap();
    (session.session_file().unwrap().to_path_buf(), question)
}

#[test]
fn pi_goes_on_in_what_was_begun() {
    let mut stage = Stage::new();
    let begun = stage.sessions().begin(&Begin { name: Some("Named".to_owned()), ..Begin::default() }).unwrap();
    let file = begun.session.session_file().unwrap().to_path_buf();
    drop(begun);
    pi_goes_on(&mut stage, &file, &[]);
    assert_eq!(stage.pi_sees("name").unwrap(), "\"Named\"");
    let (file, _) = conversation(&stage);
    pi_goes_on(&mut stage, &file, &["user:why", "assistant:because"]);
}

#[test]
fn pi_goes_on_in_forks() {
    let mut stage = Stage::new();
    let (source, question) = conversation(&stage);
    let whole = Begin { fork: Some(source.clone()), id: Some("forked".to_owned()), ..Begin::default() };
    let file = stage.sessions().begin(&whole).unwrap().session.session_file().unwrap().to_path_buf();
    pi_goes_on(&mut stage, &file, &["user:why", "assistant:because"]);
    let mut session = stage.sessions().open(&source).unwrap();
    let file = session.fork(&question, ForkPosition::At).unwrap().session_file.unwrap();
    pi_goes_on(&mut stage, &file, &["user:why"]);
}

#[test]
fn pi_goes_on_in_what_was_moved_imported_or_brought_back() {
    let mut stage = Stage::new();
    let (source, question) = conversation(&stage);
    let sessions = stage.sessions().clone().recording_operations(Some(stage.our_path("state"))).ignoring_users();
    sessions.relabel(&source, &question, Some("start"), false).unwrap();
    let moved = sessions.move_session(&source, stage.our_path("elsewhere"), false).unwrap().sessions.remove(0);
    let said = ["user:why", "assistant:because"];
    pi_goes_on(&mut stage, &moved.to, &said);
    assert!(stage.pi_sees("header").unwrap().contains("elsewhere"));
    sessions.delete(std::slice::from_ref(&moved.to), Deletion::ToTrash, false).unwrap();
    sessions.undo(None, false).unwrap();
    sessions.undo(None, false).unwrap();
    pi_goes_on(&mut stage, &source, &said);
    assert!(!stage.pi_sees("header").unwrap().contains("elsewhere"));
    let away = stage.our_path("away.jsonl");
    std::fs::rename(&source, &away).unwrap();
    let imported = sessions.import(&[away], &Importing::default()).unwrap().remove(0);
    pi_goes_on(&mut stage, &imported.path, &said);
}
