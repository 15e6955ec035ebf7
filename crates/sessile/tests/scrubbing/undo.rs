//! Undo after a scrub.

use sessile::SessionError;
use sessile::operations::{OperationKind, SlimOptions};
use sessile::scrub::ScrubOptions;

use crate::stage::{
    PLACEHOLDER, Simple, assert_clean, content, full_machine, plain_machine, scrub, session_path, sessions, write,
};

#[test]
fn a_scrub_is_not_undone() {
    let os = plain_machine();
    scrub(&os, 2).unwrap();
    let refused = sessions(&os, 3).undo(None, false).unwrap_err().to_string();
    assert!(refused.contains("scrubbed") && refused.contains("cannot be brought back"), "{refused}");
    let os = plain_machine();
    let keeping = ScrubOptions { keep_original: true, ..ScrubOptions::default() };
    let scrubbed = sessions(&os, 2).scrub(session_path(), keeping, &mut Simple::default()).unwrap();
    let refused = sessions(&os, 3).undo(None, false).unwrap_err().to_string();
    assert!(refused.contains(&*scrubbed.original.unwrap().to_string_lossy()), "{refused}");
}

#[test]
fn earlier_operations_are_undone_without_the_removed_text() {
    let os = full_machine();
    scrub(&os, 2).unwrap();
    let ours = sessions(&os, 3);
    let operations = ours.operations().unwrap();
    let of_kind = |kind| operations.iter().rev().filter(move |operation| operation.kind == kind);
    // The second rename: the name before it had the secret.
    let rename = of_kind(OperationKind::Name).next().unwrap();
    ours.undo(Some(&rename.id), false).unwrap();
    let name = ours.open(session_path()).unwrap().session_name().unwrap();
    assert_eq!(name.as_deref(), Some(format!("about {PLACEHOLDER}").as_str()));
    let label = of_kind(OperationKind::Label).next().unwrap();
    ours.undo(Some(&label.id), false).unwrap();
    assert_eq!(ours.open(session_path()).unwrap().label("b").unwrap(), None);
    let delete = of_kind(OperationKind::Delete).next().unwrap();
    ours.undo(Some(&delete.id), false).unwrap();
    assert_clean(&os);
}

#[test]
fn the_original_of_a_slimmed_session_is_scrubbed_in_the_trash() {
    let os = plain_machine();
    let bulk = format!(
        r#"{{"type":"custom","customType":"x","data":"{}","id":"d","parentId":"a","timestamp":"2025-01-01T00:00:03.000Z"}}"#,
        "x".repeat(1000)
    );
    let path = session_path().with_file_name("2025-01-01T00-00-00-000Z_s7.jsonl");
    let text = content().replace("\"s1\"", "\"s7\"");
    let at = text.find(r#"{"type":"message","id":"b""#).unwrap();
    let (before, after) = text.split_at(at);
    write(&os, &path, &format!("{before}{bulk}\n{after}"));
    sessile::os::Os::remove(&os, &session_path()).unwrap();
    let ours = sessions(&os, 1);
    let options = SlimOptions { trash_original: true, ..SlimOptions::default() };
    let slimmed = ours.slim(&path, &options, true).unwrap();
    ours.scrub(&slimmed.session.unwrap().path, ScrubOptions::default(), &mut Simple::default()).unwrap();
    assert_clean(&os);
    match sessions(&os, 2).undo(slimmed.operation.as_deref(), false) {
        Ok(_) | Err(SessionError::ChangedSince { .. }) => assert_clean(&os),
        Err(error) => panic!("{error}"),
    }
}
