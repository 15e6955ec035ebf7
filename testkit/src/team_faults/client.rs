//! A machine with a store of its own, and what it has written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::json::Json;
use sessile::os::{Os, RealOs};
use sessile::sync::remote::RemoteError;
use sessile::sync::remote::postgres::{Config, PostgresServer};
use sessile::sync::{SyncOptions, SyncResult, SyncScope, SyncState};
use sessile::write::StoreError;
use sessile::{SessionError, Sessions};

use crate::Replay;

/// 2026-01-01.
pub(super) const NOW: i64 = 1_767_225_600_000;

/// The directory of all sessions of the rows, in a client's home.
const STORE: &str = ".pi/agent/sessions/--proj--";

/// The text of the second entry of every session.
pub(super) const SECOND: &str = "how are you";

/// A line that a client has written.
pub(super) struct Written {
    pub(super) session: String,
    pub(super) text: String,
    pub(super) is_acknowledged: bool,
}

/// What moved in a synchronization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "all are numbers")]
pub(super) struct Moved {
    pub(super) n_pushed: u64,
    pub(super) n_pulled: u64,
    pub(super) n_renamed: usize,
}

pub(super) struct Client {
    pub(super) name: String,
    pub(super) home: PathBuf,
    pub(super) environment: Replay,
    pub(super) config: Config,
    pub(super) written: Vec<Written>,
    /// The time of the client's clock.
    pub(super) now: i64,
    os: Arc<dyn Os>,
    server: Option<PostgresServer>,
}

impl Client {
    pub(super) fn new(home: &Path, name: &str, config: Config, seed: u64) -> Self {
        DirBuilder::new().recursive(true).mode(0o700).create(home.join(STORE)).unwrap();
        let environment = Replay::new(NOW, crate::SplitMix::new(seed).next_u64());
        environment.set_home(home);
        environment.set_current_dir(home);
        Self {
            name: name.to_owned(),
            home: home.to_path_buf(),
            environment,
            config,
            written: Vec::new(),
            now: NOW,
            os: Arc::new(RealOs),
            server: None,
        }
    }

    pub(super) fn on(&mut self, os: Arc<dyn Os>) {
        self.os = os;
    }

    /// Logs in elsewhere from now on.
    pub(super) fn log_in(&mut self, config: Config) {
        self.config = config;
        self.server = None;
    }

    pub(super) fn path(&self, id: &str) -> PathBuf {
        self.home.join(STORE).join(format!("2025-01-01T00-00-00-000Z_{id}.jsonl"))
    }

    pub(super) fn sessions(&self) -> Sessions {
        Sessions::new(self.environment.clone())
            .on(Arc::clone(&self.os))
            .recording_operations(Some(self.home.join("state")))
            .caching(None)
            .ignoring_users()
    }

    /// Makes a session with two entries.
    pub(super) fn create(&self, id: &str) {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}}"#
        );
        let text = format!("{header}\n{}\n{}\n", entry("first", "", "hello"), entry("second", "first", SECOND));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path(id)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// The lines of a session after the header.
    pub(super) fn lines(&self, id: &str) -> Vec<u8> {
        let text = fs::read(self.path(id)).unwrap_or_default();
        let end = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
        text[end..].to_vec()
    }

    /// Appends an entry to a session, as a user of this machine does.
    pub(super) fn append(&mut self, id: &str) -> Result<(), SessionError> {
        self.append_long(id, 0)
    }

    /// Like [`append`](Self::append), with this many more bytes of text, which do not compress well.
    pub(super) fn append_long(&mut self, id: &str, n_more: usize) -> Result<(), SessionError> {
        let text = format!("{}-{}", self.name, self.written.len());
        let mut random = crate::SplitMix::new(self.written.len() as u64);
        let mut more = String::new();
        while more.len() < n_more {
            more.push_str(&random.uuid());
            more.push_str(&u64::to_string(&random.next_u64()));
        }
        self.now += 1000;
        self.environment.set_now(self.now);
        let message = format!(r#"{{"role":"user","content":"{text}","more":"{more}","timestamp":1}}"#);
        let mut session = self.sessions().open(self.path(id))?;
        session.append_message(Json::parse(message).unwrap())?;
        self.written.push(Written { session: id.to_owned(), text, is_acknowledged: false });
        Ok(())
    }

    /// Synchronizes all sessions. The lines of those that are equal then are acknowledged.
    pub(super) fn sync(&mut self) -> Result<Moved, SessionError> {
        let mut moved = Moved::default();
        let mut failed = None;
        self.sync_each(&SyncOptions::default(), &mut |result| match result.result {
            Ok(synced) => {
                moved.n_pushed += synced.n_pushed;
                moved.n_pulled += synced.n_pulled;
                moved.n_renamed += synced.n_renamed;
            }
            Err(error) => failed = failed.take().or(Some(error)),
        })?;
        failed.map_or(Ok(moved), Err)
    }

    /// Synchronizes all sessions, and passes on each result.
    pub(super) fn sync_each(
        &mut self,
        options: &SyncOptions,
        on_session: &mut dyn FnMut(SyncResult),
    ) -> Result<(), SessionError> {
        let mut server = match self.server.take() {
            Some(server) => server,
            None => PostgresServer::connect(&self.config)?,
        };
        let sessions = self.sessions();
        let written = &mut self.written;
        let done = sessions.sync(&mut server, &SyncScope::All, options, &mut |result| {
            if result.result.as_ref().is_ok_and(|synced| synced.state == SyncState::Equal) {
                let own = written.iter_mut().filter(|line| line.session == result.id.as_str());
                own.for_each(|line| line.is_acknowledged = true);
            }
            on_session(result);
        });
        // After an error, the next synchronization connects again, as a new process would.
        done?;
        self.server = Some(server);
        Ok(())
    }

    /// Synchronizes until nothing hinders.
    pub(super) fn sync_surely(&mut self) -> Moved {
        let mut last = None;
        for _ in 0..200 {
            match self.sync() {
                Ok(moved) => return moved,
                Err(error) => {
                    assert!(is_passing(&error), "{}: {error}", self.name);
                    last = Some(error);
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            }
        }
        panic!("{} cannot synchronize: {}", self.name, last.map(|error| error.to_string()).unwrap_or_default())
    }

    pub(super) fn n_acknowledged(&self) -> u64 {
        self.written.iter().filter(|line| line.is_acknowledged).count() as u64
    }

    pub(super) fn connect(&self) -> Result<PostgresServer, RemoteError> {
        PostgresServer::connect(&self.config)
    }
}

/// Whether an error may pass by itself: the server is away, or another client was faster.
pub(super) fn is_passing(error: &SessionError) -> bool {
    match error {
        SessionError::Remote(error) => error.is_temporary(),
        SessionError::WrittenMeanwhile { .. } | SessionError::Store(StoreError::Busy { .. }) => true,
        _ => false,
    }
}

/// The line of an entry.
pub(super) fn entry(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}
