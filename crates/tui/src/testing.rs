//! What tests of screens share: stored screens, a fixed environment, pi's golden screens.

use std::path::PathBuf;

use sessile::date::Timestamp;
use sessile::{Environment, SessionId};

use crate::driver::{Driver, NOW};
use crate::screen::Screen;

impl<S: Screen> Driver<S> {
    /// Compares the screen at three sizes with the files in `tests/screens`.
    ///
    /// If the variable `SESSILE_KEEP_SCREENS` is set, updates the files instead.
    #[expect(clippy::disallowed_methods, reason = "the stored screens are source files")]
    pub(crate) fn assert_stored_screens(&mut self, name: &str) {
        for (width, height) in [(80, 24), (40, 10), (160, 48)] {
            self.resize(width, height);
            let path =
                PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/{name}-{width}x{height}.txt"));
            let seen = self.lines().join("\n") + "\n";
            if std::env::var_os("SESSILE_KEEP_SCREENS").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &seen).unwrap();
                continue;
            }
            let stored = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(stored == seen, "{} differs; the screen is now\n{seen}", path.display());
        }
    }
}

/// An environment with a fixed time.
pub(crate) struct FixedEnvironment {
    pub(crate) home: PathBuf,
}

impl Environment for FixedEnvironment {
    fn now(&self) -> Timestamp {
        NOW
    }

    fn entry_uuid(&self) -> String {
        sessile::System.entry_uuid()
    }

    fn session_uuid(&self) -> SessionId {
        sessile::System.session_uuid()
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn current_dir(&self) -> PathBuf {
        self.home.join("src/tidepool")
    }

    fn state_dir(&self) -> Option<PathBuf> {
        Some(self.home.join("state"))
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}

/// Returns the rows of one of pi's golden screens: the lines after a heading, if the file exists.
#[expect(clippy::disallowed_methods, reason = "reads a shared test file")]
pub(crate) fn golden(file: &str, heading: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(shared(file)?).ok()?;
    let mut lines = text.lines().skip_while(|line| line.strip_prefix("### ") != Some(heading)).skip(1);
    let lines: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("### ")).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "{file} has no {heading}");
    Some(lines)
}

/// Returns the path of a shared data file, if it exists.
pub(crate) fn shared(file: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(file);
    path.exists().then_some(path)
}

/// The part of the secrets of [`planted`] that no detail shows.
pub(crate) const SECRET_PART: &str = "7Kq2vTz9LmNp4RsWb8YcD3fGh6Jk";

/// Writes a session with made-up secrets in `b` and `d` of its branch, of which trees hide `d` at first, and in `x` of
/// another branch.
#[expect(clippy::disallowed_methods, reason = "a session in a temporary directory")]
pub(crate) fn planted(dir: &std::path::Path) -> (sessile::Sessions, PathBuf) {
    let key = |letter: char| format!("gsk_{letter}{SECRET_PART}Q1aE5uV0iZoXtB7nMyPqRsT");
    let user = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-09T09:00:00.000Z","message":{{"role":"user","content":"{text}","timestamp":1773046800000}}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-09T09:00:00.000Z","cwd":"/p"}"#.to_owned(),
        user("a", "null", "hello"),
        user("b", "\"a\"", &format!("first {} and {}", key('1'), key('2'))),
        user("x", "\"a\"", &format!("another way {}", key('3'))),
        user("c", "\"b\"", "nothing here"),
        format!(
            r#"{{"type":"custom","customType":"t","data":{{"k":"{}"}},"id":"d","parentId":"c","timestamp":"2026-03-09T09:00:00.000Z"}}"#,
            key('4')
        ),
        user("e", "\"d\"", "the end"),
    ];
    let path = dir.join("2026-03-09T09-00-00-000Z_s.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    (sessile::Sessions::new(FixedEnvironment { home: dir.to_path_buf() }).caching(None), path)
}
