//! Searching sessions of other members whose lines are not on this machine.

use std::collections::HashMap;
use std::path::Path;

use sessile_core::date::Timestamp;
use sessile_core::search::query::Query;
use sessile_core::search::terms::query_terms;
use sessile_remote::{Server, ServerTime, SessionNo};

use super::fetcher::Fetcher;
use crate::attribution::Authors;
use crate::error::SessionError;
use crate::known::KnownSessions;
use crate::others::{Finder, OtherSession, TeamReach, members, safe_name};

/// How many candidates the server names at a time.
const CANDIDATES: u32 = 200;

/// How many sessions are fetched for one search.
const MAX_FETCHED: usize = 50;

impl Finder for Fetcher {
    fn find(&self, query: &Query) -> Result<TeamReach, SessionError> {
        let sets = query_terms(query);
        if sets.is_empty() {
            return Ok(TeamReach::default());
        }
        if self.why_down().is_some() {
            return Ok(TeamReach::default());
        }
        self.on(&self.connection.server, &mut |server| self.fetch_found(server, &sets))
    }

    fn authors(&self, path: &Path) -> Result<Option<Authors>, SessionError> {
        self.recorded_authors(path)
    }
}

impl Fetcher {
    fn fetch_found(&self, server: &mut dyn Server, sets: &[Vec<u32>]) -> Result<TeamReach, SessionError> {
        // The number of lines that the file of each candidate must have, the newest candidate first.
        let mut needed: Vec<(SessionNo, u64)> = Vec::new();
        let mut until: Option<ServerTime> = None;
        for terms in sets {
            let candidates = server.candidates(terms, None, CANDIDATES)?;
            until = until.max(candidates.until);
            for candidate in candidates.found {
                match needed.iter_mut().find(|(no, _)| *no == candidate.session) {
                    Some((_, n_lines)) => *n_lines = candidate.to.max(*n_lines),
                    None => needed.push((candidate.session, candidate.to)),
                }
            }
        }
        let os = self.sessions.world.os();
        let catalogue = self.sessions.world.catalogues.read(os, &self.directory);
        let by_no: HashMap<SessionNo, &OtherSession> =
            catalogue.sessions.values().map(|session| (session.no, session)).collect();
        let mut known: HashMap<&str, KnownSessions> = HashMap::new();
        let missing = needed.into_iter().filter_map(|(no, n_lines)| {
            let session = *by_no.get(&no)?;
            let load = || KnownSessions::load(os, &members(&self.directory).join(safe_name(&session.owner)));
            let known = known.entry(&session.owner).or_insert_with(load).sessions.get(session.id.as_str());
            let is_there = os.link_stat(&session.path).is_ok();
            let has_lines = known.is_some_and(|known| is_there && known.position.n_lines >= n_lines);
            (!has_lines).then_some(session)
        });
        let missing: Vec<&OtherSession> = missing.collect();
        let is_complete = until.is_none() && missing.len() <= MAX_FETCHED;
        let mut n_fetched = 0;
        let missing = &missing[..missing.len().min(MAX_FETCHED)];
        // A session that cannot be fetched does not affect the others.
        self.sessions.mirror_some(server, &self.directory, missing, &self.connection.options, &mut |_, fetched| {
            n_fetched += usize::from(fetched.is_ok_and(|is_there| is_there));
        })?;
        let until = until.map(|time| Timestamp::from_ms(time.0.div_euclid(1000)));
        Ok(TeamReach { n_fetched, is_complete, until })
    }
}
