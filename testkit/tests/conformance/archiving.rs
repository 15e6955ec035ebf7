//! Archived sessions and branches in pi: they look as before, and pi continues in them.

use std::path::Path;

use sessile::draft::{AssistantMessage, UserMessage};
use sessile::{Begin, EntryId, SessionInfo};
use sessile_testkit::Stage;

use crate::lines::say;

/// Creates a session with two answers to a question and its leaf at the second one. Returns its file and the first
/// answer.
fn branched(stage: &Stage) -> (std::path::PathBuf, EntryId) {
    let mut session = stage.sessions().begin(&Begin::default()).unwrap().session;
    let question = session.append_message(UserMessage::new("why", 1)).unwrap();
    let first = session.append_message(AssistantMessage::new("p", "m", "because", 2)).unwrap();
    session.append_message(UserMessage::new("sure?", 3)).unwrap();
    session.branch(&question).unwrap();
    session.append_message(AssistantMessage::new("p", "m", "for another reason", 4)).unwrap();
    (session.session_file().unwrap().to_path_buf(), first)
}

/// Opens one of our files in pi.
fn hand_over(stage: &mut Stage, file: &Path) -> String {
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    let name = format!("s/{}", file.file_name().unwrap().to_str().unwrap());
    stage.write(&name, &text);
    // Each side has its own directories.
    std::fs::write(stage.pi_path(&name), stage.as_pi(&text)).unwrap();
    stage.open(&name);
    name
}

fn row(stage: &Stage, file: &Path) -> SessionInfo {
    let rows = stage.sessions().clone().with_session_dir(file.parent().unwrap()).list_all().unwrap();
    rows.into_iter().find(|row| row.path == file).unwrap()
}

#[test]
fn pi_goes_on_in_what_was_archived_and_the_marks_hold() {
    let mut stage = Stage::new();
    let (file, branch) = branched(&stage);
    let said = ["user:why", "assistant:for another reason"];
    hand_over(&mut stage, &file);
    stage.both_say(&said);
    let sessions = stage.sessions().clone().recording_operations(Some(stage.our_path("state"))).ignoring_users();
    let one = sessions.archive(&file, Some(&branch), true, false).unwrap().entry_id.unwrap();
    let other = sessions.archive(&file, None, true, false).unwrap().entry_id.unwrap();
    let name = hand_over(&mut stage, &file);
    // The marks are entries at the leaf, and the context is unchanged.
    stage.both_say(&said);
    stage.assert_same();
    assert_eq!(stage.pi_sees("leaf").unwrap(), format!("{:?}", other.to_string()));
    assert!(stage.pi_sees("entries").unwrap().contains(&one.to_string()));
    // pi continues after them.
    stage.act(&say("on we go"));
    stage.both_say(&["user:why", "assistant:for another reason", "user:on we go"]);
    stage.assert_same();
    // The file that pi has written still has the marks.
    let written = std::fs::read(stage.pi_path(&name)).unwrap();
    let text = String::from_utf8(written).unwrap();
    assert!(text.lines().last().unwrap().contains(&format!("\"parentId\":\"{other}\"")), "{text}");
    let copy = stage.our_path("by-pi.jsonl");
    std::fs::write(&copy, text).unwrap();
    assert!(row(&stage, &copy).is_archived);
    let session = stage.sessions().open(&copy).unwrap();
    assert!(session.archive().unwrap().is_archived() && session.archive().unwrap().has_branch(&branch));
    drop(session);
    // After undo, pi sees the same again.
    sessions.undo(None, false).unwrap();
    sessions.undo(None, false).unwrap();
    assert!(!row(&stage, &file).is_archived);
    hand_over(&mut stage, &file);
    stage.both_say(&said);
    stage.assert_same();
}
