//! A machine in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::Sessions;
use sessile::os::{MemoryOs, Mode, Os, append_fully, read_upto};
use sessile::redact::{Level, RedactOptions};
use sessile::testing::{HOME, IsolatedSystem};

/// A store in memory with one session.
pub(crate) struct Stage {
    pub(crate) os: Arc<MemoryOs>,
    pub(crate) sessions: Sessions,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let os = Arc::new(MemoryOs::new());
        os.create_directories(Path::new(HOME)).unwrap();
        let sessions = Sessions::new(IsolatedSystem::in_home(HOME)).on(Arc::clone(&os) as Arc<dyn Os>);
        Self { os, sessions }
    }

    pub(crate) fn path(name: &str) -> PathBuf {
        Path::new(HOME).join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.os.open(&Self::path(name), Mode::New).unwrap();
        append_fully(file.as_ref(), text.as_bytes()).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let file = self.os.open(&Self::path(name), Mode::Read).unwrap();
        let length = file.stat().unwrap().length;
        String::from_utf8(read_upto(file.as_ref(), 0, length).unwrap()).unwrap()
    }

    /// Makes a redacted copy and returns its lines.
    pub(crate) fn copy(&self, source: &str, target: &str, level: Level) -> Vec<String> {
        let options = RedactOptions { level, ..RedactOptions::default() };
        self.sessions.export_redacted(Self::path(source), &options, Self::path(target), false).unwrap();
        self.read(target).lines().map(str::to_owned).collect()
    }
}
