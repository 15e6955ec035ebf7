//! A simulated machine on which every place that can hold a session's text holds a secret.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::json::{Json, ObjectWriter};
use sessile::operations::Deletion;
use sessile::os::{Mode, Os, append_fully};
use sessile::scrub::{ScrubOptions, Scrubbed, Scrubber};
use sessile::search::{IndexOptions, SearchScope};
use sessile::{SessionError, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::sim::{SimOs, SnapshotEntry};

/// One word, so that the text index has it as one term, and far from all others, so that it stores it as a whole.
pub(crate) const SECRET: &str = "zqxsecret1234";
pub(crate) const PLACEHOLDER: &str = "[REDACTED:test:00000000]";
pub(crate) const STORE: &str = "/home/u/.pi/agent/sessions";
pub(crate) const STATE: &str = "/home/u/state";
pub(crate) const CACHE: &str = "/home/u/cache";
pub(crate) const NAME: &str = "2025-01-01T00-00-00-000Z_s1.jsonl";
const NOW: i64 = 1_763_164_800_000;

/// Replaces the secret wherever it is.
#[derive(Default)]
pub(crate) struct Simple {
    pub(crate) n_lines: usize,
}

impl Scrubber for Simple {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        self.n_lines += 1;
        let mut rest = line;
        let mut new = Vec::new();
        while let Some(at) = find(rest, SECRET) {
            new.extend_from_slice(&rest[..at]);
            new.extend_from_slice(PLACEHOLDER.as_bytes());
            rest = &rest[at + SECRET.len()..];
        }
        if new.is_empty() && rest.len() == line.len() {
            return Ok(Cow::Borrowed(line));
        }
        new.extend_from_slice(rest);
        Ok(Cow::Owned(new))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        Cow::Owned(text.replace(SECRET, PLACEHOLDER))
    }

    fn audit(&mut self) -> Json {
        ObjectWriter::new().string("level", "secrets").finish()
    }
}

pub(crate) fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}

pub(crate) fn session_path() -> PathBuf {
    Path::new(STORE).join("--proj--").join(NAME)
}

pub(crate) fn message(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user", "content":"{text}","timestamp":1735689601000}}}}"#
    )
}

/// Lines with odd spacing and numbers, which must stay byte for byte.
pub(crate) fn content() -> String {
    let header =
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","x":1.0,"cwd":"/proj"}"#;
    let lines = [
        header.to_owned(),
        message("a", "null", &format!("the key is {SECRET}, {SECRET}!")),
        message("b", "\"a\"", "harmless  \\u0041 1.0e0"),
        format!("not json {SECRET}"),
        r#" {"type":"label","id":"c","parentId":"b","timestamp":"2025-01-01T00:00:02.000Z","targetId":"a","label":"x"} "#.to_owned(),
        String::new(),
    ];
    lines.join("\n")
}

pub(crate) fn sessions(os: &SimOs, seed: u64) -> Sessions {
    let environment = Replay::new(NOW, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment)
        .on(Arc::new(os.clone()))
        .caching(Some(CACHE.into()))
        .recording_operations(Some(STATE.into()))
        .remembering_leaves(STATE)
}

pub(crate) fn write(os: &SimOs, path: impl AsRef<Path>, text: &str) {
    os.make_directories(path.as_ref().parent().unwrap());
    let file = os.open(path.as_ref(), Mode::New).unwrap();
    append_fully(file.as_ref(), text.as_bytes()).unwrap();
}

/// A machine with one session on it.
pub(crate) fn plain_machine() -> SimOs {
    let os = SimOs::new();
    write(&os, session_path(), &content());
    os.settle();
    os
}

/// A machine with the secret in every place.
pub(crate) fn full_machine() -> SimOs {
    let os = plain_machine();
    let ours = sessions(&os, 1);
    // The log of operations, and the session's own entries for it.
    ours.rename(session_path(), Some(&format!("about {SECRET}")), false).unwrap();
    ours.rename(session_path(), Some("harmless"), false).unwrap();
    // The trash: a copy with the same id, deleted here.
    let copy = session_path().with_file_name("2025-01-01T00-00-00-000Z_copy.jsonl");
    write(&os, &copy, &content());
    ours.delete(&[copy], Deletion::ToTrash, false).unwrap();
    // An original of an earlier rewrite, and a file of a process that died.
    let original = format!("{NAME}.orig-2025-01-01T00-00-00-000Z");
    write(&os, session_path().with_file_name(original), &content());
    let fork = message("z", "null", SECRET);
    write(&os, session_path().with_file_name(".fork.jsonl.sessile-tmp-99999-0"), &fork);
    write(&os, Path::new(STATE).join(".operations.jsonl.sessile-tmp-99999-0"), &format!("{SECRET}\n"));
    // Another session, whose caches must survive.
    let other =
        content().replace(SECRET, "lighthouse").replace("\"s1\"", "\"s2\"").replace("\"id\":\"a\"", "\"id\":\"q\"");
    write(&os, session_path().with_file_name("2025-01-01T00-00-00-000Z_s2.jsonl"), &other);
    os.advance(10_000);
    // The guard: lines stay in it for five seconds.
    ours.relabel(session_path(), &"b".into(), Some(SECRET), false).unwrap();
    ours.list_all().unwrap();
    ours.update_text_index(&SearchScope::All, &IndexOptions::default()).unwrap();
    os.settle();
    os
}

pub(crate) fn scrub(os: &SimOs, seed: u64) -> Result<Scrubbed, SessionError> {
    sessions(os, seed).scrub(session_path(), ScrubOptions::default(), &mut Simple::default())
}

/// The files that hold a text, except those whose path contains `but`.
pub(crate) fn holding(os: &SimOs, text: &str, but: &str) -> Vec<PathBuf> {
    let holds = |(path, entry): (PathBuf, SnapshotEntry)| match entry {
        SnapshotEntry::File(bytes) => {
            (find(&bytes, text).is_some() && !path.to_string_lossy().contains(but)).then_some(path)
        }
        _ => None,
    };
    os.snapshot().into_iter().filter_map(holds).collect()
}

#[track_caller]
pub(crate) fn assert_clean(os: &SimOs) {
    assert_eq!(holding(os, SECRET, "\0"), [""; 0].map(PathBuf::from), "the secret is left");
}
