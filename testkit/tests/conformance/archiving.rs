//! Archived sessions and branches in pi: they look as before, and pi continues in them.

use std::path::Path;

use sessile::EntryId;
use sessile::begin::BeginOptions;
use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, UserMessage};
use sessile::list::SessionInfo;
use sessile_testkit::SideBySide;

use crate::lines::user_op;

/// Creates a session with two answers to a question and its leaf at the second one. Returns its file and the first
/// answer.
fn branched(sides: &SideBySide) -> (std::path::PathBuf, EntryId) {
    let mut session = sides.sessions().begin(&BeginOptions::default()).unwrap().session;
    let question = session.append_message(UserMessage::new("why", Timestamp::from_ms(1))).unwrap();
    let first = session.append_message(AssistantMessage::new("p", "m", "because", Timestamp::from_ms(2))).unwrap();
    session.append_message(UserMessage::new("sure?", Timestamp::from_ms(3))).unwrap();
    session.branch(&question).unwrap();
    session.append_message(AssistantMessage::new("p", "m", "for another reason", Timestamp::from_ms(4))).unwrap();
    (session.session_file().unwrap().to_path_buf(), first)
}

/// Opens one of our files in pi.
fn hand_over(sides: &mut SideBySide, file: &Path) -> String {
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    let name = format!("s/{}", file.file_name().unwrap().to_str().unwrap());
    sides.write(&name, &text);
    // Each side has its own directories.
    std::fs::write(sides.pi_path(&name), sides.as_pi(&text)).unwrap();
    sides.open(&name);
    name
}

fn row(sides: &SideBySide, file: &Path) -> SessionInfo {
    let rows = sides.sessions().clone().with_session_dir(file.parent().unwrap()).list_all().unwrap();
    rows.into_iter().find(|row| row.path == file).unwrap()
}

#[test]
fn pi_continues_an_archived_session_and_the_marks_stay() {
    let mut sides = SideBySide::new();
    let (file, branch) = branched(&sides);
    let context = ["user:why", "assistant:for another reason"];
    hand_over(&mut sides, &file);
    sides.assert_context(&context);
    let sessions = sides.sessions().clone().recording_operations(Some(sides.our_path("state"))).ignoring_users();
    let one = sessions.archive(&file, Some(&branch), true, false).unwrap().entry_id.unwrap();
    let other = sessions.archive(&file, None, true, false).unwrap().entry_id.unwrap();
    let name = hand_over(&mut sides, &file);
    // The marks are entries at the leaf, and the context is unchanged.
    sides.assert_context(&context);
    sides.assert_same();
    assert_eq!(sides.pi_view("leaf").unwrap(), format!("{:?}", other.to_string()));
    assert!(sides.pi_view("entries").unwrap().contains(&one.to_string()));
    // pi continues after them.
    sides.act(&user_op("on we go"));
    sides.assert_context(&["user:why", "assistant:for another reason", "user:on we go"]);
    sides.assert_same();
    // The file that pi has written still has the marks.
    let written = std::fs::read(sides.pi_path(&name)).unwrap();
    let text = String::from_utf8(written).unwrap();
    assert!(text.lines().last().unwrap().contains(&format!("\"parentId\":\"{other}\"")), "{text}");
    let copy = sides.our_path("by-pi.jsonl");
    std::fs::write(&copy, text).unwrap();
    assert!(row(&sides, &copy).is_archived);
    let session = sides.sessions().open(&copy).unwrap();
    assert!(session.archive().unwrap().is_archived() && session.archive().unwrap().has_branch(&branch));
    drop(session);
    // After undo, pi sees the same again.
    sessions.undo(None, false).unwrap();
    sessions.undo(None, false).unwrap();
    assert!(!row(&sides, &file).is_archived);
    hand_over(&mut sides, &file);
    sides.assert_context(&context);
    sides.assert_same();
}
