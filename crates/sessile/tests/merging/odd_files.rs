//! Files that are empty, torn, or spelled in another way.

use sessile::merge::{MergeOptions, Merged};
use sessile::{SessionError, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::sim::SimOs;

use crate::stage::{
    HEADER, NOW, desktop, entry, laptop, laptop_text, machine, read, sessions, sessions_in, target, text,
};

fn machine_with(desktop_text: &str) -> (SimOs, Sessions) {
    let os = machine();
    os.change(|world| world.foreign_rewrite(&desktop(), desktop_text.as_bytes()));
    os.settle();
    let ours = sessions(&os, 2);
    (os, ours)
}

fn merged(ours: &Sessions) -> Result<Merged, SessionError> {
    ours.merge(&[laptop(), desktop()], Some(&target()), false, &MergeOptions::default())
}

#[test]
fn empty_files_and_other_sessions_are_refused() {
    for bad in ["", "\n\n", "no header\n", &text(&[]).replace("\"s1\"", "\"s2\""), "{\"type\":\"session\",\"ver"] {
        let (os, ours) = machine_with(bad);
        let refused = merged(&ours).unwrap_err();
        let is_expected = match &refused {
            SessionError::NotASession { path } => *path == desktop(),
            SessionError::DifferentSessions { first, other } => (first, other) == (&laptop(), &desktop()),
            _ => false,
        };
        assert!(is_expected, "{bad:?}: {refused}");
        assert!(os.read_file(target()).is_none());
        ours.merge_into(&laptop(), &[desktop()], &MergeOptions::default()).unwrap_err();
        assert_eq!(read(&os, laptop()), laptop_text());
    }
}

#[test]
fn a_copy_that_has_everything_is_the_result() {
    let longer = laptop_text() + &entry("y", "x", 9) + "\n";
    let odd = "  {\"odd\" : 1}\r\n";
    for (copy, expected) in [
        (text(&[]), laptop_text()),
        (longer.clone(), longer.clone()),
        (longer.replace('\n', "\r\n"), longer.replace('\n', "\r\n")),
        (longer.clone() + odd, longer.clone() + odd),
        (longer.clone() + "{\"type\":\"mess", longer.clone() + "{\"type\":\"mess\n"),
        (longer.trim_end().to_owned(), longer.clone()),
        (format!("\u{feff}{longer}"), format!("\u{feff}{longer}")),
    ] {
        let (os, ours) = machine_with(&copy);
        let merged = merged(&ours).unwrap();
        assert_eq!(read(&os, target()), expected);
        let same_as = if copy == text(&[]) { laptop() } else { desktop() };
        assert_eq!(merged.same_as, Some(same_as));
        assert_eq!(merged.n_written, merged.n_entries);
    }
}

#[test]
fn a_copy_that_hides_entries_is_not_the_result() {
    let hiding = laptop_text() + &entry("x", "a", 9) + "\n";
    let (os, ours) = machine_with(&hiding);
    let merged = merged(&ours).unwrap();
    assert_eq!((merged.same_as, merged.renamed.len()), (None, 1));
    assert_eq!(read(&os, target()).lines().count(), 5);
}

#[test]
fn a_torn_session_absorbs() {
    let os = machine();
    let torn = laptop_text() + r#"{"type":"message","id":"to"#;
    os.change(|world| world.foreign_rewrite(&laptop(), torn.as_bytes()));
    sessions(&os, 2).merge_into(&laptop(), &[desktop()], &MergeOptions::default()).unwrap();
    let text = read(&os, laptop());
    assert!(text.starts_with(&(torn + "\n")), "{text}");
    assert_eq!(text.lines().count(), 1 + 3 + 1 + 2 + 1, "{text}");
}

#[test]
fn a_session_without_entries_absorbs() {
    let os = machine();
    os.change(|world| world.foreign_rewrite(&laptop(), format!("{HEADER}\n").as_bytes()));
    let merged = sessions(&os, 2).merge_into(&laptop(), &[desktop()], &MergeOptions::default()).unwrap();
    assert_eq!(merged.n_written, 4);
    let text = read(&os, laptop());
    let mark = text.lines().last().unwrap();
    assert!(mark.contains("sessile.merge") && mark.contains("\"parentId\":null"), "{text}");
}

#[test]
fn the_mark_gets_an_id_that_no_copy_has() {
    let os = machine();
    let environment = Replay::new(NOW, 2);
    // All draws of two machines are the same: the mark gets the first that is new to both copies.
    environment.script_ids(["d", "x", "b", "new"]);
    sessions_in(&os, environment).merge_into(&laptop(), &[desktop()], &MergeOptions::default()).unwrap();
    let text = read(&os, laptop());
    let mark = text.lines().last().unwrap();
    assert!(mark.contains("sessile.merge") && mark.contains("\"id\":\"new\""), "{text}");
}
