//! Operations on sessions leave files that the genuine pi opens, sees completely, and continues in.

use std::path::{Path, PathBuf};

use sessile::EntryId;
use sessile::begin::BeginOptions;
use sessile::branch::ForkPosition;
use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, UserMessage};
use sessile::import::ImportOptions;
use sessile::operations::Deletion;
use sessile_testkit::SideBySide;

use crate::lines::user_op;

/// Opens one of our files in pi, expects these messages in its context, and continues in it in both.
#[track_caller]
fn pi_continues(sides: &mut SideBySide, file: &Path, expected: &[&str]) {
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    let name = format!("s/{}", file.file_name().unwrap().to_str().unwrap());
    sides.write(&name, &text);
    // Each side has its own directories.
    std::fs::write(sides.pi_path(&name), sides.as_pi(&text)).unwrap();
    sides.open(&name);
    sides.assert_context(expected);
    sides.act(&user_op("on we go"));
    sides.assert_same();
}

/// Creates a session with a question and an answer.
fn conversation(sides: &SideBySide) -> (PathBuf, EntryId) {
    let begun =
        sides.sessions().begin(&BeginOptions { name: Some("Named".to_owned()), ..BeginOptions::default() }).unwrap();
    let mut session = begun.session;
    let question = session.append_message(UserMessage::new("why", Timestamp::from_ms(1))).unwrap();
    session.append_message(AssistantMessage::new("p", "m", "because", Timestamp::from_ms(2))).unwrap();
    (session.session_file().unwrap().to_path_buf(), question)
}

#[test]
fn pi_continues_a_session_that_we_began() {
    let mut sides = SideBySide::new();
    let begun =
        sides.sessions().begin(&BeginOptions { name: Some("Named".to_owned()), ..BeginOptions::default() }).unwrap();
    let file = begun.session.session_file().unwrap().to_path_buf();
    drop(begun);
    pi_continues(&mut sides, &file, &[]);
    assert_eq!(sides.pi_view("name").unwrap(), "\"Named\"");
    let (file, _) = conversation(&sides);
    pi_continues(&mut sides, &file, &["user:why", "assistant:because"]);
}

#[test]
fn pi_continues_our_forks() {
    let mut sides = SideBySide::new();
    let (source, question) = conversation(&sides);
    let whole =
        BeginOptions { fork: Some(source.clone()), id: Some("forked".to_owned().into()), ..BeginOptions::default() };
    let file = sides.sessions().begin(&whole).unwrap().session.session_file().unwrap().to_path_buf();
    pi_continues(&mut sides, &file, &["user:why", "assistant:because"]);
    let mut session = sides.sessions().open(&source).unwrap();
    let file = session.fork(&question, ForkPosition::At).unwrap().session_file.unwrap();
    pi_continues(&mut sides, &file, &["user:why"]);
}

#[test]
fn pi_continues_moved_imported_and_restored_sessions() {
    let mut sides = SideBySide::new();
    let (source, question) = conversation(&sides);
    let sessions = sides.sessions().clone().recording_operations(Some(sides.our_path("state"))).ignoring_users();
    sessions.relabel(&source, &question, Some("start"), false).unwrap();
    let moved = sessions.move_session(&source, sides.our_path("elsewhere"), false).unwrap().sessions.remove(0);
    let context = ["user:why", "assistant:because"];
    pi_continues(&mut sides, &moved.to, &context);
    assert!(sides.pi_view("header").unwrap().contains("elsewhere"));
    sessions.delete(std::slice::from_ref(&moved.to), Deletion::ToTrash, false).unwrap();
    sessions.undo(None, false).unwrap();
    sessions.undo(None, false).unwrap();
    pi_continues(&mut sides, &source, &context);
    assert!(!sides.pi_view("header").unwrap().contains("elsewhere"));
    let away = sides.our_path("away.jsonl");
    std::fs::rename(&source, &away).unwrap();
    let imported = sessions.import(&[away], &ImportOptions::default()).unwrap().remove(0);
    pi_continues(&mut sides, &imported.path, &context);
}
