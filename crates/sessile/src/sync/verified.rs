//! Verifies logs on a server: all their lines against their hashes and heads, and against what this machine has seen.
//!
//! This finds lines that were changed, moved, dropped or added without new hashes, logs that are older than what this
//! machine has seen, and, where this machine has the session, also lines that were forged together with their hashes. It
//! cannot find a forged author, nor a forged log of which this machine has never seen a line.

mod log;
mod report;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use sessile_core::cancel::Cancel;
use sessile_remote::{Chain, Head, RemoteError, Server};

pub use report::{LogCode, LogFinding, LogReport, VerifiedLog};

use self::log::LogCheck;
use super::header_of;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::known::lines::{Mark, SessionLines, Start};
use crate::known::{KnownSession, KnownSessions};
use crate::others::{members, safe_name};
use crate::sessions::Sessions;

/// How often a log is verified again because it was replaced meanwhile.
const MAX_RACES: usize = 4;

impl Sessions {
    /// Verifies the logs on a server that this member sees: all, or those with these ids. Calls `on_log` for each; a log
    /// that cannot be read does not affect the others. Changes nothing.
    pub fn verify_remote(
        &self,
        server: &mut dyn Server,
        wanted: Option<&[String]>,
        cancel: &Cancel,
        on_log: &mut dyn FnMut(VerifiedLog<'_>),
    ) -> Result<(), SessionError> {
        let about = server.about()?;
        let directory = self.store_directory(&about.store)?;
        let os = self.world.os();
        let is_wanted = |id: &str| wanted.is_none_or(|wanted| wanted.iter().any(|wanted| wanted == id));
        let mut known = HashMap::from([(about.member.clone(), KnownSessions::load(os, &directory))]);
        let mut buried = HashSet::new();
        server.tombstones(None, &mut |tombstone| {
            buried.insert(tombstone.header_id);
        })?;
        let mut heads = BTreeMap::new();
        server.heads(None, &mut |head: Head| {
            if is_wanted(&head.header_id) {
                heads.insert((head.owner.clone(), head.header_id.clone()), head);
            }
            ControlFlow::Continue(())
        })?;
        let gone = self.gone(&known[&about.member], &about.member, &heads, &buried, &is_wanted);
        let is_found =
            |id: &String| heads.keys().any(|(_, found)| found == id) || gone.iter().any(|it| it.id.as_str() == id);
        if let Some(missing) = wanted.and_then(|wanted| wanted.iter().find(|id| !is_found(id))) {
            return Err(SessionError::NotOnRemote { id: missing.as_str().into() });
        }
        let n_bytes = heads.values().map(|head| head.bytes).sum();
        let mut n_done = 0;
        for report in gone {
            let (owner, id) = (report.owner.clone(), report.id.to_string());
            on_log(VerifiedLog { owner: &owner, id: &id, report: Ok(report), n_done, n_bytes });
        }
        for ((owner, id), head) in heads {
            if cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            n_done += head.bytes;
            let of_owner = known
                .entry(owner.clone())
                .or_insert_with(|| KnownSessions::load(os, &members(&directory).join(safe_name(&owner))));
            let known = of_owner.sessions.get(&id).filter(|known| !known.is_buried);
            match self.verify_log(server, head, known, cancel) {
                Ok(Some(report)) => {
                    on_log(VerifiedLog { owner: &owner, id: &id, report: Ok(report), n_done, n_bytes });
                }
                // It was deleted meanwhile.
                Ok(None) => {}
                Err(SessionError::Remote(error)) if error.is_disconnected() => return Err(error.into()),
                Err(SessionError::Cancelled) => return Err(SessionError::Cancelled),
                Err(error) => on_log(VerifiedLog { owner: &owner, id: &id, report: Err(error), n_done, n_bytes }),
            }
        }
        Ok(())
    }

    /// Returns the id of a session's file, as logs have it.
    pub fn id_of(&self, path: &Path) -> Result<String, SessionError> {
        let path = absolute(self.environment(), path);
        Ok(crate::session_file::header_of(&self.world, &path)?.0.id().to_string())
    }

    /// The sessions of this member that were on the server, and are not, although they were not deleted.
    fn gone(
        &self,
        known: &KnownSessions,
        member: &str,
        heads: &BTreeMap<(String, String), Head>,
        buried: &HashSet<String>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<LogReport> {
        let is_gone = |(id, session): &(&String, &KnownSession)| {
            let key = (member.to_owned(), (*id).clone());
            is_wanted(id) && !session.is_buried && !buried.contains(*id) && !heads.contains_key(&key)
        };
        let report = |(id, session): (&String, &KnownSession)| {
            let mut report = LogReport::new(member, id);
            report.path = self.world.os().link_stat(&session.path).is_ok().then(|| session.path.clone());
            let n_lines = session.position.n_lines;
            let message = format!("the log is gone; this machine has seen {n_lines} lines of it");
            report.findings.push(LogFinding { line: None, code: LogCode::Gone, message });
            report
        };
        known.sessions.iter().filter(is_gone).map(report).collect()
    }

    fn verify_log(
        &self,
        server: &mut dyn Server,
        mut head: Head,
        known: Option<&KnownSession>,
        cancel: &Cancel,
    ) -> Result<Option<LogReport>, SessionError> {
        let mut n_left = MAX_RACES;
        loop {
            n_left -= 1;
            match self.verify_once(server, &head, known, cancel) {
                Err(SessionError::Remote(RemoteError::Replaced { .. } | RemoteError::NoSuchSession { .. }))
                    if n_left > 0 =>
                {
                    match server.head(Some(&head.owner), &head.header_id)? {
                        Some(newer) => head = newer,
                        None => return Ok(None),
                    }
                }
                report => return report.map(Some),
            }
        }
    }

    fn verify_once(
        &self,
        server: &mut dyn Server,
        head: &Head,
        known: Option<&KnownSession>,
        cancel: &Cancel,
    ) -> Result<LogReport, SessionError> {
        let mut report = LogReport::new(&head.owner, &head.header_id);
        report.n_lines = head.position.n_lines;
        if header_of(head).is_none() {
            let message = "the header is not that of this session".to_owned();
            report.findings.push(LogFinding { line: Some(1), code: LogCode::Header, message });
        }
        let lines = known.and_then(|known| self.lines_of(known));
        report.path = lines.as_ref().map(|lines| lines.path().to_path_buf());
        let here = lines.as_ref().zip(known).filter(|(_, known)| known.position.epoch == head.position.epoch);
        let check = LogCheck::new(server, head, here.map(|(lines, known)| (lines, known.position)), cancel);
        let chains = check.run(&mut report.findings)?;
        if let Some(known) = known {
            report.is_compared = compare(head, known, lines.as_ref(), &chains, &mut report.findings);
        }
        Ok(report)
    }

    /// All lines of the file of a known session; `None` if it cannot be read as one.
    fn lines_of(&self, known: &KnownSession) -> Option<SessionLines> {
        let end = self.end_of_first_line(&known.path).ok().filter(|end| *end > 0)?;
        let start = Start { n_lines: 0, mark: Mark { end, chain: Chain::EMPTY } };
        SessionLines::open(self.world.os(), &known.path, start).ok()
    }
}

/// Compares a log, by the chains of its lines, with what this machine has seen of it. Returns whether that can be compared.
fn compare(
    head: &Head,
    known: &KnownSession,
    lines: Option<&SessionLines>,
    chains: &[Chain],
    findings: &mut Vec<LogFinding>,
) -> bool {
    let (there, seen) = (head.position, known.position);
    if there.epoch < seen.epoch {
        let message = format!("the log is an older one: epoch {}, this machine has seen {}", there.epoch, seen.epoch);
        findings.push(LogFinding { line: None, code: LogCode::Older, message });
    }
    // A log of a newer epoch was replaced on purpose; what is wrong with one that is damaged is said already.
    if there.epoch != seen.epoch || !findings.is_empty() {
        return there.epoch == seen.epoch;
    }
    if there.n_lines < seen.n_lines {
        let message = format!("the log ends before it; this machine has seen {} lines", seen.n_lines);
        findings.push(LogFinding { line: Some(there.n_lines + 2), code: LogCode::Lost, message });
        return true;
    }
    let Some(last) = seen.n_lines.checked_sub(1).and_then(|index| usize::try_from(index).ok()) else { return true };
    if chains.get(last) == Some(&seen.chain) {
        return true;
    }
    // The file shows which line differs, if it still begins with the lines that were seen.
    let lines = lines.filter(|lines| lines.mark(seen.n_lines).is_some_and(|mark| mark.chain == seen.chain));
    let differs = |(number, chain): (u64, &Chain)| {
        lines.is_some_and(|lines| lines.mark(number).map(|mark| mark.chain) != Some(*chain)).then_some(number)
    };
    let first = (1..).zip(chains).find_map(differs).unwrap_or(seen.n_lines);
    let message = "it and the hashes are not those that this machine has seen: it was forged".to_owned();
    findings.push(LogFinding { line: Some(first + 1), code: LogCode::Forged, message });
    true
}
