//! A screen without a terminal: takes keys, returns rows, and runs jobs synchronously.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use sessile::date::Timestamp;
use sessile::{Cancel, Environment, SessionId};

use crate::content::Drawable;
use crate::key::Key;
use crate::paint::{Canvas, rows_of};
use crate::screen::{Effect, Effects, Event, Job, Screen};
use crate::theme::Theme;

/// A screen driven by a test.
pub(crate) struct Driver<S: Screen> {
    pub(crate) screen: S,
    pub(crate) backend: Arc<<S::Job as Job>::Backend>,
    size: (u16, u16),
    pub(crate) outcome: Option<S::Outcome>,
    pub(crate) copied: Vec<String>,
    pub(crate) shown: Vec<Drawable>,
    /// Selects the jobs to skip because they never end.
    skips: fn(&S::Job) -> bool,
}

impl<S: Screen> Driver<S> {
    pub(crate) fn new(screen: S, backend: <S::Job as Job>::Backend, skips: fn(&S::Job) -> bool) -> Self {
        let backend = Arc::new(backend);
        let mut driver =
            Self { screen, backend, size: (100, 24), outcome: None, copied: Vec::new(), shown: Vec::new(), skips };
        driver.screen.update(Event::Clock(NOW));
        driver.screen.update(Event::Size(100, 24));
        let effects = driver.screen.start();
        driver.perform(effects);
        driver
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.size = (width, height);
        self.send(Event::Size(width, height))
    }

    /// Presses keys by name; a word that is not a key name is pasted.
    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        for name in keys.split(' ') {
            match Key::named(name) {
                Some(key) => drop(self.send(Event::Key(key))),
                None => drop(self.send(Event::Paste(name.replace('_', " ")))),
            }
        }
        self
    }

    pub(crate) fn send(&mut self, event: Event<<S::Job as Job>::Event>) -> &mut Self {
        let effects = self.screen.update(event);
        self.perform(effects);
        self
    }

    pub(crate) fn perform(&mut self, effects: Effects<S>) {
        let mut waiting: VecDeque<_> = effects.into();
        while let Some(effect) = waiting.pop_front() {
            match effect {
                Effect::Run(job) if (self.skips)(&job) => {}
                Effect::Run(job) => {
                    let mut events = Vec::new();
                    job.run(&self.backend, &Cancel::default(), &mut |event| events.push(event));
                    for event in events {
                        waiting.extend(self.screen.update(Event::Job(event)));
                    }
                }
                Effect::Copy(text) | Effect::Edit(text) => self.copied.push(text),
                Effect::ShowPictures(pictures) => self.shown.extend(pictures),
                Effect::Leave(outcome) => self.outcome = Some(outcome),
                Effect::Stop(_) | Effect::Suspend => {}
            }
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        self.screen.render(&mut Canvas::new(&mut buffer, Theme::Dark));
        rows_of(&buffer)
    }

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

/// The time of all tests: 2026-03-09, 10:00.
pub(crate) const NOW: Timestamp = Timestamp::from_ms(1_773_050_400_000);

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
