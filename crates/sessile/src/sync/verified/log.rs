//! The lines of a log against the hashes that the server has noted.

use std::ops::ControlFlow;

use sessile_core::cancel::Cancel;
use sessile_remote::{Chain, Head, Position, RemoteError, Server, ServerLine};

use super::report::{LogCode, LogFinding};
use crate::error::SessionError;
use crate::known::lines::SessionLines;

/// How many hashes are asked for at a time.
const BLOCK: u64 = 2048;

/// After how many findings the rest of a log is not looked at.
const MAX_FINDINGS: usize = 20;

/// Reads a log, and compares each line with the hash after it.
///
/// The chain is followed across a wrong line, so that each wrong line is found, and not all lines after the first.
pub(super) struct LogCheck<'c> {
    server: &'c mut dyn Server,
    head: &'c Head,
    /// The session's file, and how far it and the log were equal.
    here: Option<(&'c SessionLines, Position)>,
    cancel: &'c Cancel,
    /// The number of lines until now.
    number: u64,
    /// The chain after them; `None` if a missing line makes it unknown.
    chain: Option<Chain>,
    chains: Vec<Chain>,
}

/// A line that does not fit its hash.
struct Wrong {
    line: Vec<u8>,
    noted: Option<Chain>,
}

impl<'c> LogCheck<'c> {
    pub(super) fn new(
        server: &'c mut dyn Server,
        head: &'c Head,
        here: Option<(&'c SessionLines, Position)>,
        cancel: &'c Cancel,
    ) -> Self {
        Self { server, head, here, cancel, number: 0, chain: Some(Chain::EMPTY), chains: Vec::new() }
    }

    /// Checks all lines. Returns the chain after each.
    pub(super) fn run(mut self, findings: &mut Vec<LogFinding>) -> Result<Vec<Chain>, SessionError> {
        let n_lines = self.head.position.n_lines;
        while self.number < n_lines && findings.len() < MAX_FINDINGS {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let to = (self.number + BLOCK).min(n_lines);
            let noted = self.noted(self.number + 1, to)?;
            findings.extend(self.block(&noted, to)?);
        }
        if findings.is_empty() && self.chain != Some(self.head.position.chain) {
            let message = "the head of the log does not have the hash after the last line".to_owned();
            findings.push(LogFinding { line: Some(n_lines + 1), code: LogCode::Head, message });
        }
        if findings.len() < MAX_FINDINGS && self.has_more(n_lines)? {
            let message = "it is after the end of the log".to_owned();
            findings.push(LogFinding { line: Some(n_lines + 2), code: LogCode::Extra, message });
        }
        Ok(self.chains)
    }

    /// The noted hashes after some lines; all missing if they cannot be read.
    fn noted(&mut self, from: u64, to: u64) -> Result<Vec<Option<Chain>>, SessionError> {
        let numbers: Vec<u64> = (from..=to).collect();
        match self.server.chains(self.head.no, self.head.position.epoch, &numbers) {
            Err(RemoteError::BadData { .. }) => Ok(vec![None; numbers.len()]),
            noted => Ok(noted?),
        }
    }

    /// Whether the server has a line after the last, and no other client has just appended it.
    fn has_more(&mut self, n_lines: u64) -> Result<bool, SessionError> {
        if self.noted(n_lines + 1, n_lines + 1)? == [None] {
            return Ok(false);
        }
        let head = self.server.head(Some(&self.head.owner), &self.head.header_id)?;
        Ok(head.is_some_and(|head| head.position == self.head.position))
    }

    fn advance(&mut self, chain: Option<Chain>) {
        self.number += 1;
        self.chain = chain;
        self.chains.push(chain.unwrap_or(Chain::EMPTY));
    }

    /// Checks lines until one is wrong, or all of a block are right.
    fn block(&mut self, noted: &[Option<Chain>], to: u64) -> Result<Option<LogFinding>, SessionError> {
        let first = self.number;
        let noted_after = |number: u64| {
            let index = number.checked_sub(first + 1).and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| noted.get(index).copied().flatten())
        };
        let mut wrong = None;
        let (no, epoch) = (self.head.no, self.head.position.epoch);
        let (mut number, mut chain, mut chains) = (self.number, self.chain, Vec::new());
        let read = self.server.read(no, epoch, number, to, &mut |line: ServerLine<'_>| {
            let noted = noted_after(number + 1);
            // After a missing line, the first hash is taken for granted.
            let next = chain.map_or(noted, |chain| Some(chain.after(line.bytes)));
            if next.is_none() || next != noted || line.bytes.contains(&b'\n') {
                wrong = Some(Wrong { line: line.bytes.to_vec(), noted });
                return ControlFlow::Break(());
            }
            (number, chain) = (number + 1, next);
            chains.extend(next);
            ControlFlow::Continue(())
        });
        (self.number, self.chain) = (number, chain);
        self.chains.append(&mut chains);
        match (wrong, read) {
            (Some(wrong), _) => self.diagnose(&wrong).map(Some),
            (None, Err(RemoteError::BadData { reason, .. })) if noted_after(number + 1).is_some() => {
                let mut finding = self.finding(LogCode::Unreadable, format!("it cannot be read: {reason}"));
                self.advance(noted_after(number + 1));
                let n_more = self.skip_unreadable(&noted_after, to)?;
                if n_more > 0 {
                    finding.message = format!("it and {n_more} more cannot be read: {reason}");
                }
                Ok(Some(finding))
            }
            (None, Ok(()) | Err(RemoteError::BadData { .. })) if number < to => {
                let n_missing = (number + 1..=to).take_while(|number| noted_after(*number).is_none()).count().max(1);
                let message = match n_missing {
                    1 => "it is missing".to_owned(),
                    _ => format!("it and the next lines are missing, {n_missing} in all"),
                };
                let finding = self.finding(LogCode::Missing, message);
                (0..n_missing).for_each(|_| self.advance(None));
                Ok(Some(finding))
            }
            (None, read) => Ok(read.map(|()| None)?),
        }
    }

    /// Skips the next lines that cannot be read either: they are in the same pack. Returns their number.
    fn skip_unreadable(&mut self, noted_after: &dyn Fn(u64) -> Option<Chain>, to: u64) -> Result<u64, SessionError> {
        let first = self.number;
        while self.number < to && noted_after(self.number + 1).is_some() {
            let (no, epoch) = (self.head.no, self.head.position.epoch);
            match self.server.read(no, epoch, self.number, self.number + 1, &mut |_| ControlFlow::Break(())) {
                Err(RemoteError::BadData { .. }) => self.advance(noted_after(self.number + 1)),
                read => {
                    read?;
                    break;
                }
            }
        }
        Ok(self.number - first)
    }

    /// A finding about the next line.
    fn finding(&self, code: LogCode, message: String) -> LogFinding {
        // The header is line 1.
        LogFinding { line: Some(self.number + 2), code, message }
    }

    /// Says what is wrong with the next line, and goes on after it.
    fn diagnose(&mut self, wrong: &Wrong) -> Result<LogFinding, SessionError> {
        let number = self.number + 1;
        let (finding, chain) = match self.chain {
            _ if wrong.line.contains(&b'\n') => {
                (self.finding(LogCode::Changed, "it contains a newline".to_owned()), wrong.noted)
            }
            None => (self.finding(LogCode::Hash, "it has no hash".to_owned()), None),
            Some(before) => {
                let next = before.after(&wrong.line);
                if self.was_dropped(number, wrong) {
                    let message = "it was removed; the lines after it are one line too early".to_owned();
                    (self.finding(LogCode::Missing, message), wrong.noted)
                } else if self.fits(number, next)? {
                    (
                        self.finding(LogCode::Hash, "the hash after it was changed; the line is right".to_owned()),
                        Some(next),
                    )
                } else if let Some((place, chain)) = self.find(number, before, wrong.noted)? {
                    let message = format!("another line is in its place; it is line {} now", place + 1);
                    (self.finding(LogCode::Moved, message), Some(chain))
                } else if self.is_here(number, before) {
                    let message = "it is not the line that was pushed, and not the one of this machine".to_owned();
                    (self.finding(LogCode::Changed, message), wrong.noted)
                } else {
                    let message = "it was changed, or a line before it was removed".to_owned();
                    (self.finding(LogCode::Changed, message), wrong.noted)
                }
            }
        };
        self.advance(chain);
        Ok(finding)
    }

    /// Whether this machine has the line at this place.
    fn is_here(&self, number: u64, before: Chain) -> bool {
        self.here.is_some_and(|(lines, seen)| {
            number <= seen.n_lines && lines.mark(number - 1).is_some_and(|mark| mark.chain == before)
        })
    }

    /// Whether the next line of this machine's file is in the place of this one.
    fn was_dropped(&self, number: u64, wrong: &Wrong) -> bool {
        let here = self.here.filter(|_| self.chain.is_some_and(|before| self.is_here(number, before)));
        here.is_some_and(|(lines, _)| {
            let after = lines.mark(number + 1).map(|mark| mark.chain);
            after.is_some() && after == wrong.noted && lines.line(number + 1).is_ok_and(|line| line == wrong.line)
        })
    }

    /// Whether the log goes on from this chain after a line.
    fn fits(&mut self, number: u64, chain: Chain) -> Result<bool, SessionError> {
        if number == self.head.position.n_lines {
            return Ok(chain == self.head.position.chain);
        }
        let noted = self.noted(number + 1, number + 1)?;
        let mut fits = false;
        self.look(number, number + 1, &mut |line| {
            fits = noted == [Some(chain.after(line.bytes))];
            ControlFlow::Break(())
        })?;
        Ok(fits)
    }

    /// Looks for the line that belongs in a place. Returns where it is, and the chain after it.
    fn find(&mut self, number: u64, before: Chain, noted: Option<Chain>) -> Result<Option<(u64, Chain)>, SessionError> {
        let n_lines = self.head.position.n_lines;
        let mut candidates: Vec<(u64, Chain)> = Vec::new();
        let mut from = 0;
        while from < n_lines {
            if self.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
            let to = (from + BLOCK).min(n_lines);
            candidates.clear();
            self.look(from, to, &mut |line| {
                if line.number != number {
                    candidates.push((line.number, before.after(line.bytes)));
                }
                ControlFlow::Continue(())
            })?;
            let there = self.noted(from + 1, to)?;
            // Only its bytes were moved, or its hash went with it.
            let belongs = |(place, chain): &&(u64, Chain)| {
                let index = usize::try_from(place - from - 1).unwrap_or(usize::MAX);
                noted == Some(*chain) || there.get(index).copied().flatten() == Some(*chain)
            };
            if let Some(found) = candidates.iter().find(belongs) {
                return Ok(Some(*found));
            }
            from = to;
        }
        Ok(None)
    }

    /// Reads lines as far as they can be read.
    fn look(
        &mut self,
        from: u64,
        to: u64,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        match self.server.read(self.head.no, self.head.position.epoch, from, to, on_line) {
            Err(RemoteError::BadData { .. }) => Ok(()),
            read => Ok(read?),
        }
    }
}
