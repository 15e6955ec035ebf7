//! When a scrub refuses, and leaves everything as it is.

use std::borrow::Cow;
use std::path::Path;

use sessile::SessionError;
use sessile::os::Process;
use sessile::scrub::{ScrubOptions, Scrubber};
use sessile::write::StoreError;
use sessile_testkit::sim::SimOs;

use crate::stage::{SECRET, Simple, content, plain_machine, scrub, session_path, sessions};

/// Replaces one text by another in every line.
struct Replacing(&'static str, &'static str);

impl Scrubber for Replacing {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        let text = String::from_utf8_lossy(line);
        if self.0.is_empty() && text.contains(SECRET) {
            return Err("the rules failed".to_owned());
        }
        Ok(Cow::Owned(text.replacen(self.0, self.1, 1).into_bytes()))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }
}

#[track_caller]
fn assert_unchanged(os: &SimOs) {
    assert_eq!(os.read_file(session_path()).unwrap(), content().into_bytes());
    assert!(sessions(os, 9).operations().unwrap().is_empty(), "nothing was begun");
}

#[test]
fn entries_stay_the_same_entries() {
    for (old, new, line) in [
        ("\"id\":\"a\"", "\"id\":\"x\"", 2),
        ("\"parentId\":\"a\"", "\"parentId\":null", 3),
        ("\"targetId\":\"a\"", "\"targetId\":\"b\"", 5),
        ("\"id\":\"s1\"", "\"id\":\"s2\"", 1),
        ("\"version\":3", "\"version\":2", 1),
        ("harmless", "harm\nless", 3),
        ("not json ", "{}//", 0),
        ("user", "assistant", 2),
        ("", "", 2),
    ] {
        let os = plain_machine();
        let scrubbed = sessions(&os, 2).scrub(session_path(), ScrubOptions::default(), &mut Replacing(old, new));
        match scrubbed {
            Err(SessionError::ScrubFailed { line: at, what, .. }) => {
                assert_eq!(at, line, "{old}: {what}");
                assert!(!what.contains(SECRET));
                assert_unchanged(&os);
            }
            Ok(_) if line == 0 => {}
            other => panic!("{old}: {other:?}"),
        }
    }
}

#[test]
fn a_session_in_use_is_refused() {
    let os = plain_machine();
    os.change(|world| assert!(world.foreign_lock(&session_path(), sessile::os::Lock::Exclusive)));
    let refused = scrub(&os, 2).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Busy { .. })), "{refused}");
    assert_unchanged(&os);
    os.change(|world| world.foreign_unlock(&session_path()));
    let pi = Process {
        pid: 77,
        name: "pi".to_owned(),
        program: Some("/usr/bin/pi".into()),
        directory: Some("/proj".into()),
        arguments: vec!["pi".to_owned()],
    };
    os.set_running(vec![pi]);
    let refused = scrub(&os, 2).unwrap_err();
    assert!(matches!(refused, SessionError::InUse { .. }), "{refused}");
    assert_unchanged(&os);
    sessions(&os, 2).ignoring_users().scrub(session_path(), ScrubOptions::default(), &mut Simple::default()).unwrap();
}

#[test]
fn links_other_files_and_newer_versions_are_refused() {
    let os = plain_machine();
    os.make_link("/home/u/link.jsonl", session_path());
    let scrub = |path: &str| sessions(&os, 2).scrub(Path::new(path), ScrubOptions::default(), &mut Simple::default());
    let refused = scrub("/home/u/link.jsonl").unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::NotRegular { .. })), "{refused}");
    assert!(scrub("/home/u/missing.jsonl").unwrap_err().is_not_found());
    crate::stage::write(&os, "/home/u/new.jsonl", &content().replace("\"version\":3", "\"version\":4"));
    let refused = scrub("/home/u/new.jsonl").unwrap_err();
    assert!(matches!(refused, SessionError::NewerVersion { .. }), "{refused}");
    assert_unchanged(&os);
}
