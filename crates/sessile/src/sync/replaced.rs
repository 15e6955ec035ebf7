//! Logs that were replaced on purpose: a scrub on one machine reaches the server and all other machines.

use std::borrow::Cow;
use std::collections::HashMap;

use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_core::search::terms::LineTerms;
use sessile_remote::{Batch, Chain, Head, Position, Replacement};

use super::replica::Replica;
use super::summary::Whereabouts;
use crate::error::SessionError;
use crate::known::KnownSession;
use crate::known::lines::SessionLines;
use crate::scrub::{ScrubOptions, Scrubber};

/// Puts the lines of a new log in the place of those of the old one, in the session and in every copy of it.
#[derive(Default)]
struct NewLines {
    /// The new lines, by a hash of the old ones; only those that differ.
    lines: HashMap<Chain, Vec<u8>>,
    /// The new names and labels, by the old ones.
    texts: HashMap<String, String>,
    epoch: u32,
}

impl NewLines {
    fn add(&mut self, old: &[u8], new: &[u8]) {
        if old == new {
            return;
        }
        self.lines.insert(Chain::EMPTY.after(old), new.to_vec());
        for key in ["name", "label"] {
            let text = |line| Raw::parse(line).ok()?.get(key)?.as_string();
            if let (Some(old), Some(new)) = (text(old), text(new)) {
                self.texts.insert(old, new);
            }
        }
    }
}

impl Scrubber for NewLines {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        let new = self.lines.get(&Chain::EMPTY.after(line));
        Ok(new.map_or(Cow::Borrowed(line), |new| Cow::Owned(new.clone())))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.texts.get(text).map_or(Cow::Borrowed(text), |new| Cow::Owned(new.clone()))
    }

    fn audit(&mut self) -> Json {
        ObjectWriter::new().string("level", "remote").integer("epoch", i64::from(self.epoch)).finish()
    }
}

impl Replica<'_> {
    /// Brings the file to the epoch of the log, or the log to that of a file which was scrubbed here. False if the two
    /// sides have to be compared again.
    pub(super) fn is_of_known_epoch(&mut self, head: &Head) -> Result<bool, SessionError> {
        let Some(known) = self.known.clone() else { return Ok(true) };
        let (epoch, n_known) = (head.position.epoch, known.position.n_lines);
        if epoch == known.position.epoch && !known.is_scrubbed {
            return Ok(true);
        }
        let lines = self.all_lines()?;
        let n_there = head.position.n_lines;
        let is_beginning = || lines.mark(n_there).is_some_and(|mark| mark.chain == head.position.chain);
        // Between the known epoch and the next is one change: a scrub, which keeps all lines in their places, or a deletion
        // after which a machine made the log again, with the lines that it had.
        let is_next = epoch == known.position.epoch + 1;
        if epoch > known.position.epoch && n_there < n_known && (is_next || is_beginning()) {
            self.known = None;
            return Ok(true);
        }
        let there = self.server.chains(head.no, epoch, &[n_known])?.first().copied().flatten();
        let refused = SessionError::RemoteReplaced { path: self.path.clone(), epoch, known: known.position.epoch };
        let (Some(here), Some(there)) = (lines.mark(n_known), there) else { return Err(refused) };
        if epoch == known.position.epoch && there == known.position.chain {
            self.replace_log(&lines, head, &known)?;
        } else if epoch > known.position.epoch && here.chain == known.position.chain && here.chain != there {
            if !self.follow(&lines, head, n_known)? {
                self.known = None;
                return if is_next { Ok(true) } else { Err(refused) };
            }
        } else if epoch < known.position.epoch || here.chain != there {
            return Err(refused);
        }
        // Otherwise an earlier attempt has done it.
        self.known = None;
        Ok(false)
    }

    /// Replaces the known lines of the file by those of the new log. Lines that came later stay. Does nothing and returns
    /// false if the new log has other entries in their places: then it was not scrubbed, but made again.
    fn follow(&mut self, lines: &SessionLines, head: &Head, n_known: u64) -> Result<bool, SessionError> {
        let spool = self.spool(lines, head, 0, Chain::EMPTY)?;
        let new = SessionLines::open(self.sessions.world.os(), &spool.path, self.first_line())?;
        let mut scrubber = NewLines { epoch: head.position.epoch, ..NewLines::default() };
        let (mut number, mut is_same) = (0, true);
        let id = |line: &[u8]| Raw::parse(line).ok()?.get("id")?.as_string();
        lines.lines_after(0, &mut |old| {
            number += 1;
            let new = new.line(number)?;
            is_same = id(old) == id(&new);
            scrubber.add(old, &new);
            Ok(is_same && number < n_known)
        })?;
        if !is_same {
            return Ok(false);
        }
        let mut sessions = self.sessions.clone();
        sessions.world.is_syncing = true;
        sessions.scrub(&self.path, ScrubOptions::default(), &mut scrubber)?;
        Ok(true)
    }

    /// Replaces the log by the lines of the file that was scrubbed, and those that other clients have pushed since.
    fn replace_log(&mut self, lines: &SessionLines, head: &Head, known: &KnownSession) -> Result<(), SessionError> {
        let spool = self.spool(lines, head, known.position.n_lines, known.position.chain)?;
        let new = SessionLines::open(self.sessions.world.os(), &spool.path, self.first_line())?;
        // The row may have been read before the scrub.
        let note = Whereabouts::of(&self.sessions.world, &self.header.cwd().unwrap_or_default()).to_note(None);
        let header = self.header.json().to_text();
        let replacement =
            Replacement { header: Some(header.as_bytes()), summary: Some(&note), reason: "secrets were removed" };
        let mut failed = None;
        let mut terms = LineTerms::default();
        let mut next_batch = |at: Position| {
            let mut batch = Batch::at(at);
            while !batch.is_full() && batch.end().n_lines < new.n_lines() {
                match new.line(batch.end().n_lines + 1) {
                    Ok(line) => {
                        if batch.push(&line).is_ok() {
                            batch.add_terms(terms.of(&line));
                        }
                    }
                    Err(error) => {
                        failed = Some(error);
                        return None;
                    }
                }
            }
            (!batch.is_empty()).then_some(batch)
        };
        // If another client was first, the two sides are compared again.
        let replaced = self.server.replace(head.no, &head.position, &replacement, &mut next_batch)?;
        if let Some(error) = failed {
            return Err(error);
        }
        if replaced.is_none() {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        }
        Ok(())
    }
}
