//! Searching sessions of other members whose lines are not on this machine.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc;
use std::thread::scope;

use sessile_core::date::Timestamp;
use sessile_core::search::glance::Glance;
use sessile_remote::{Candidate, CandidatePart, Server, ServerLine, ServerTime, SessionNo};
use sessile_store::threads;

use super::fetcher::Fetcher;
use crate::attribution::Authors;
use crate::error::SessionError;
use crate::known::KnownSessions;
use crate::others::{Catalogue, Finder, OtherSession, Suspect, TeamReach, Wanted, members, safe_name};

/// How many candidates the server names for a set of terms.
const CANDIDATES: u32 = 200;

/// How many sessions get files for one search.
const MAX_FILES: usize = 50;

/// How many sessions wait to be matched.
const MAX_WAITING: usize = 4;

/// How many bytes of lines are read for one search.
const MAX_READ: usize = 64 << 20;

impl Finder for Fetcher {
    fn find(
        &self,
        wanted: &Wanted<'_>,
        is_hit: &mut dyn FnMut(&Suspect<'_>) -> bool,
    ) -> Result<TeamReach, SessionError> {
        if wanted.sets.is_empty() || self.why_down().is_some() {
            return Ok(TeamReach::default());
        }
        self.on(&self.connection.server, &mut |server| self.look(server, wanted, is_hit))
    }

    fn authors(&self, path: &Path) -> Result<Option<Authors>, SessionError> {
        self.recorded_authors(path)
    }
}

/// A session with candidates that are not on this machine.
struct Doubtful<'c> {
    session: &'c OtherSession,
    /// Whether its file gets the lines, if there is a hit.
    is_for_file: bool,
    /// The newest first.
    batches: Vec<Candidate>,
}

impl Fetcher {
    /// Reads the candidates that are not on this machine, the newest first.
    fn look(
        &self,
        server: &mut dyn Server,
        wanted: &Wanted<'_>,
        is_hit: &mut dyn FnMut(&Suspect<'_>) -> bool,
    ) -> Result<TeamReach, SessionError> {
        let mut found: Vec<Candidate> = Vec::new();
        let mut until: Option<ServerTime> = None;
        for terms in wanted.sets {
            let candidates = server.candidates(terms, None, CANDIDATES)?;
            until = until.max(candidates.until);
            found.extend(candidates.found);
        }
        found.sort_by_key(|candidate| std::cmp::Reverse(candidate.at));
        let catalogue = self.sessions.world.catalogues.read(self.sessions.world.os(), &self.directory);
        let doubtful = self.doubtful(&catalogue, wanted, &found);
        let mut outdated = Vec::new();
        let mut is_complete = until.is_none();
        let mut take = |place: usize, lines: Option<Vec<Line>>| {
            let Some(Doubtful { session, is_for_file, .. }) = doubtful.get(place) else { return };
            let is_for_file = *is_for_file;
            let mut has_hit = false;
            for line in lines.iter().flatten() {
                has_hit |= is_hit(&Suspect { session, line: line.borrow(), is_for_file });
            }
            // If the lines could not be read, fetching them for the file shows why.
            if is_for_file && (has_hit || lines.is_none()) {
                is_complete &= outdated.len() < MAX_FILES;
                outdated.push(*session);
            }
        };
        let has_threads = self.sessions.world.os().has_threads();
        let read = if has_threads { read_beside(server, &doubtful, wanted.glance, &mut take) } else { None };
        let n_read = read.unwrap_or_else(|| {
            read_all(server, &doubtful, wanted.glance, &mut |place, lines| {
                take(place, lines);
                true
            })
        })?;
        outdated.truncate(MAX_FILES);
        // The last one was read in part, if the limit was reached.
        if let Some(next) = doubtful.get(n_read).and_then(|it| it.batches.first()) {
            is_complete = false;
            until = until.max(Some(next.at));
        }
        // A session that cannot be fetched does not affect the others.
        self.sessions.mirror_some(server, &self.directory, &outdated, &self.connection.options, &mut |_, _| {})?;
        let until = until.map(|time| Timestamp::from_ms(time.0.div_euclid(1000)));
        Ok(TeamReach { n_fetched: n_read, is_complete, until })
    }

    /// The sessions in scope with candidates that are not on this machine, in the order of their newest one.
    fn doubtful<'c>(&self, catalogue: &'c Catalogue, wanted: &Wanted<'_>, found: &[Candidate]) -> Vec<Doubtful<'c>> {
        let os = self.sessions.world.os();
        let by_no: HashMap<SessionNo, &OtherSession> =
            catalogue.sessions.values().map(|session| (session.no, session)).collect();
        let mut known: HashMap<&str, KnownSessions> = HashMap::new();
        let mut doubtful: Vec<Doubtful<'c>> = Vec::new();
        // Where each session is in the list; none for a session out of scope.
        let mut places: HashMap<SessionNo, Option<usize>> = HashMap::new();
        for candidate in found {
            let Some(session) = by_no.get(&candidate.session).copied() else { continue };
            let place = *places.entry(session.no).or_insert_with(|| {
                (wanted.admits)(session).then(|| {
                    let is_for_file = wanted.needs_files || os.link_stat(&session.path).is_ok();
                    doubtful.push(Doubtful { session, is_for_file, batches: Vec::new() });
                    doubtful.len() - 1
                })
            });
            let Some(it) = place.and_then(|place| doubtful.get_mut(place)) else { continue };
            let load = || KnownSessions::load(os, &members(&self.directory).join(safe_name(&session.owner)));
            let mut has_lines = || {
                let known = known.entry(&session.owner).or_insert_with(load).sessions.get(session.id.as_str());
                known.is_some_and(|known| known.position.n_lines >= candidate.to)
            };
            let is_there = it.is_for_file && os.link_stat(&session.path).is_ok() && has_lines();
            // Several sets may name the same lines.
            if !is_there && !it.batches.iter().any(|batch| batch.from == candidate.from) {
                it.batches.push(*candidate);
            }
        }
        doubtful.retain(|it| !it.batches.is_empty());
        doubtful
    }
}

/// A line on its way to the matching.
struct Line {
    number: u64,
    author: String,
    device: Option<String>,
    bytes: Vec<u8>,
}

impl Line {
    fn borrow(&self) -> ServerLine<'_> {
        let Self { number, author, device, bytes } = self;
        ServerLine { number: *number, author, device: device.as_deref(), bytes }
    }
}

/// Reads the candidates on another thread: while some lines are matched, the next ones are on their way. `None` if the
/// system provides no thread.
fn read_beside(
    server: &mut dyn Server,
    doubtful: &[Doubtful<'_>],
    glance: &Glance,
    take: &mut dyn FnMut(usize, Option<Vec<Line>>),
) -> Option<Result<usize, SessionError>> {
    scope(|scope| {
        let (send, receive) = mpsc::sync_channel(MAX_WAITING);
        let read = move || read_all(server, doubtful, glance, &mut |place, lines| send.send((place, lines)).is_ok());
        let reader = threads::spawn_in(scope, read).ok()?;
        for (place, lines) in receive {
            take(place, lines);
        }
        Some(reader.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Reads the candidates. Passes on, for each session, its place in the list and those lines that may be hits, or `None` if
/// the lines could not be read. Stops at the limit, and when `take` returns false. Returns the number of sessions that were
/// read in full.
fn read_all(
    server: &mut dyn Server,
    doubtful: &[Doubtful<'_>],
    glance: &Glance,
    take: &mut dyn FnMut(usize, Option<Vec<Line>>) -> bool,
) -> Result<usize, SessionError> {
    let places = doubtful.iter().enumerate();
    let batches: Vec<Candidate> = doubtful.iter().flat_map(|it| &it.batches).copied().collect();
    let places: Vec<usize> = places.flat_map(|(place, it)| it.batches.iter().map(move |_| place)).collect();
    let (mut n_read, mut n_left) = (0, MAX_READ);
    let mut lines = Some(Vec::new());
    server.read_candidates(&batches, &mut |index, part| {
        let is_going_on = match part {
            CandidatePart::Line(line) => {
                n_left = n_left.saturating_sub(line.bytes.len());
                if let Some(lines) = &mut lines
                    && glance.admits(line.bytes)
                {
                    let (author, device) = (line.author.to_owned(), line.device.map(str::to_owned));
                    lines.push(Line { number: line.number, author, device, bytes: line.bytes.to_vec() });
                }
                n_left > 0
            }
            CandidatePart::End(read) => {
                lines = lines.take().filter(|_| read.is_ok());
                let is_last = places.get(index + 1) != places.get(index);
                if is_last {
                    let is_taken = take(n_read, lines.replace(Vec::new()));
                    n_read += usize::from(is_taken);
                    is_taken
                } else {
                    true
                }
            }
        };
        if is_going_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    // The limit was reached within a session.
    if n_left == 0 {
        take(n_read, lines);
    }
    Ok(n_read)
}
