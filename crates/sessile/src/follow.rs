//! Follows a session that another program writes, entry by entry.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sessile_core::EntryId;
use sessile_core::diagnostic::{Diagnostic, Oddity};
use sessile_core::head::Kind;
use sessile_core::header::Header;
use sessile_core::json::{Json, Raw};
use sessile_core::line::Line;
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_store::{Polled, Restart, Tail, TailEvent, TailStart, Watch, Woken};

use crate::directory::absolute;
use crate::environment::{Environment, Migrated};
use crate::error::SessionError;
use crate::sessions::Sessions;
use sessile_core::cancel::Cancel;

/// Where following starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FollowFrom {
    /// At the header.
    #[default]
    Beginning,
    /// After the current end.
    Now,
    /// After the first entry with this id, which must exist.
    After(EntryId),
}

/// Options for following.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// Where to start.
    pub from: FollowFrom,
    /// Ends following from another thread, within a tenth of a second; see [`Follower::next`].
    pub cancel: Cancel,
    /// Whether to poll, without system notifications.
    pub polls: bool,
}

/// An event in a followed session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowEvent {
    /// The header.
    Header(Header),
    /// The next entry in file order, on any branch, in the current version's form.
    Entry {
        /// The entry.
        entry: Json,
        /// Its id, if it has one.
        id: Option<EntryId>,
        /// The id it names as its parent.
        parent: Option<EntryId>,
        /// The number of its line, counted from 1.
        line: u64,
        /// The byte offset of its line.
        offset: u64,
    },
    /// A line that pi ignores, and why. Blank lines are not reported.
    Skipped(Diagnostic),
    /// Earlier events are void: the file is read again from its beginning.
    Restarted {
        /// The reason.
        reason: Restart,
    },
    /// The file does not exist. If it appears again, [`FollowEvent::Restarted`] follows.
    Gone,
}

/// A followed session, created by [`Sessions::follow`].
///
/// Only complete lines count. Memory holds one chunk of entries, and 8 bytes for
/// every 64 KiB of the file to detect that it was overwritten. A file of
/// version 1 or 2, which no program appends to, also costs its outline.
pub struct Follower {
    environment: Arc<dyn Environment>,
    tail: Tail,
    watch: Watch,
    cancel: Cancel,
    reading: Reading,
}

impl Sessions {
    /// Follows a session file that another program may be writing; see [`Follower`].
    ///
    /// The file need not exist yet, but if it exists it must be a session.
    /// If following does not start at the beginning, the earlier part is read once
    /// to determine the version and the line numbers.
    pub fn follow(&self, path: impl AsRef<Path>, options: FollowOptions) -> Result<Follower, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        // Watch first, so that no change between the first look and the first wait is missed.
        let watch = if options.polls { Watch::polling() } else { Watch::new(&path) };
        let tail = Tail::open(Arc::clone(&self.world.os), path, TailStart::Beginning)?;
        let environment = Arc::clone(&self.world.environment);
        let reading = Reading::new(options.from.clone());
        let mut follower = Follower { environment, tail, watch, cancel: options.cancel, reading };
        follower.go_to_start(options.from)?;
        Ok(follower)
    }
}

/// The interval at which a wait checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl Follower {
    /// The next event, waiting for at most `timeout`; `None` if the time is up.
    ///
    /// Once the options' [`Cancel`] has fired, this and every later call fail with [`SessionError::Cancelled`]: that is
    /// how a thread ends a follower. After any other error, this can be called again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<FollowEvent>, SessionError> {
        // An overflow means no deadline.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            self.check_cancelled()?;
            if let Some(event) = self.reading.events.pop_front() {
                return Ok(Some(event));
            }
            let polled = self.step()?;
            if polled == Polled::CaughtUp && self.reading.events.is_empty() && !self.wait(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Whether the file is polled, because the system cannot send notifications.
    pub fn is_polling(&self) -> bool {
        self.watch.is_polling()
    }

    /// The path of the file, which may not exist yet.
    pub fn path(&self) -> &Path {
        self.tail.path()
    }

    /// Waits until it is time to check the file. Returns false if the time is up first.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, SessionError> {
        loop {
            self.check_cancelled()?;
            let rest = deadline.map_or(POLL_INTERVAL, |deadline| deadline.saturating_duration_since(Instant::now()));
            if rest.is_zero() {
                return Ok(false);
            }
            if self.watch.wait(rest.min(POLL_INTERVAL)) == Woken::Changed {
                return Ok(true);
            }
        }
    }

    /// Reads up to the start of following without reporting events.
    fn go_to_start(&mut self, from: FollowFrom) -> Result<(), SessionError> {
        loop {
            self.check_cancelled()?;
            let polled = self.step()?;
            let has_begun = match &from {
                FollowFrom::Beginning => self.reading.header.is_some(),
                // The entry was found, or the file was replaced and is reported from its beginning.
                FollowFrom::Now | FollowFrom::After(_) => self.reading.quiet.is_none(),
            };
            if has_begun {
                return Ok(());
            }
            if polled == Polled::CaughtUp {
                break;
            }
        }
        // If the file restarts from here on, report it from its first line.
        self.reading.quiet = None;
        match from {
            FollowFrom::After(id) => Err(SessionError::EntryNotFound { id }),
            FollowFrom::Beginning | FollowFrom::Now => Ok(()),
        }
    }

    fn step(&mut self) -> Result<Polled, SessionError> {
        let (reading, environment) = (&mut self.reading, self.environment.as_ref());
        let polled = self.tail.poll(&mut |event| reading.take(event, environment))?;
        if std::mem::take(&mut reading.is_refused) {
            return Err(SessionError::NotASession { path: self.tail.path().to_path_buf() });
        }
        Ok(polled)
    }

    fn check_cancelled(&self) -> Result<(), SessionError> {
        if self.cancel.is_cancelled() { Err(SessionError::Cancelled) } else { Ok(()) }
    }
}

/// The state of the lines read so far, and the events not reported yet.
struct Reading {
    events: VecDeque<FollowEvent>,
    /// Until where events are suppressed; `None` once all are reported.
    quiet: Option<FollowFrom>,
    n_lines: u64,
    /// Whether the first value was a header; `None` before it arrived. If it was not, everything else is ignored.
    header: Option<bool>,
    /// Whether the caller must still be told that this is not a session.
    is_refused: bool,
    /// All lines of a file that needs an upgrade, else only the current one: entries of the current version do not
    /// depend on other entries, and a stream may be endless.
    outline: Outline,
}

impl Reading {
    fn new(from: FollowFrom) -> Self {
        let quiet = Some(from).filter(|from| *from != FollowFrom::Beginning);
        let outline = Outline::new();
        Self { events: VecDeque::new(), quiet, n_lines: 0, header: None, is_refused: false, outline }
    }

    fn take(&mut self, event: TailEvent<'_>, environment: &dyn Environment) {
        match event {
            TailEvent::Line(line) => self.take_line(line, environment),
            TailEvent::Gone => self.events.push_back(FollowEvent::Gone),
            TailEvent::Restarted { reason } => {
                let events = std::mem::take(&mut self.events);
                *self = Self { events, ..Self::new(FollowFrom::Beginning) };
                self.events.push_back(FollowEvent::Restarted { reason });
            }
        }
    }

    fn take_line(&mut self, line: Line<'_>, environment: &dyn Environment) {
        self.n_lines += 1;
        if self.header == Some(false) {
            return;
        }
        let is_upgraded = self.outline.upgrade().is_needed();
        if self.header.is_some() && !is_upgraded {
            if self.quiet == Some(FollowFrom::Now) {
                return;
            }
            self.outline = Outline::new();
        }
        let n_rows = self.outline.rows().len();
        self.outline.push(line, &mut Migrated(environment));
        match self.outline.rows().nth(n_rows) {
            None => self.skip(line, None),
            Some(row) if self.header.is_none() => self.take_header(row, line),
            Some(row) if self.outline.kind(row) == Kind::Header => self.skip(line, Some(Oddity::ExtraHeader)),
            Some(row) => self.take_entry(row, line),
        }
    }

    fn take_header(&mut self, row: Row, line: Line<'_>) {
        let is_session = self.outline.is_session();
        self.header = Some(is_session);
        self.is_refused = !is_session;
        if let Some(header) = self.value(row, line).filter(|_| is_session) {
            self.push_event(FollowEvent::Header(Header::new(header)));
        }
    }

    fn take_entry(&mut self, row: Row, line: Line<'_>) {
        let (id, parent) = (self.outline.id(row), self.outline.parent_id(row));
        if let Some(FollowFrom::After(wanted)) = &self.quiet {
            if id.as_ref() == Some(wanted) {
                self.quiet = None;
            }
            return;
        }
        if let Some(entry) = self.value(row, line) {
            let (line, offset) = (self.n_lines, line.span.offset);
            self.push_event(FollowEvent::Entry { entry, id, parent, line, offset });
        }
    }

    /// The value of a line in the current version's form. A line that is a row always has one.
    fn value(&self, row: Row, line: Line<'_>) -> Option<Json> {
        let value = Raw::parse(line.without_bom().bytes?).ok()?;
        // `upgrade_value` calls the callback only to read a later row, and there is none yet.
        let Ok(upgraded) = upgrade_value(&self.outline, row, value, &mut |_| Ok::<_, Infallible>(Json::null()));
        Some(upgraded)
    }

    fn skip(&mut self, line: Line<'_>, oddity: Option<Oddity>) {
        let problem = match oddity {
            Some(oddity) => Some((line.span.offset, oddity)),
            None => problem_in(line),
        };
        if let Some((offset, oddity)) = problem {
            let severity = oddity.severity();
            self.push_event(FollowEvent::Skipped(Diagnostic { severity, line: self.n_lines, offset, oddity }));
        }
    }

    fn push_event(&mut self, event: FollowEvent) {
        if self.quiet.is_none() {
            self.events.push_back(event);
        }
    }
}

/// Why a line is not a row, and where; `None` if it is blank.
fn problem_in(line: Line<'_>) -> Option<(u64, Oddity)> {
    let mut outline = Outline::new();
    outline.push(line, &mut sessile_core::version::StableIds);
    let problem = outline.diagnostics().into_iter().find(|problem| problem.oddity != Oddity::ByteOrderMark)?;
    Some((problem.offset, problem.oddity))
}
