//! Moving in the tree, and extracting a branch.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::extract;
use sessile_core::head::Role;
use sessile_core::json::Json;
use sessile_core::message::Block;
use sessile_core::outline::Row;
use sessile_store::{StoreError, prepare_file};

use super::SessionManager;
use super::navigate::content_text;
use super::open::{NewSession, compose_header, new_session, session_path};
use crate::error::SessionError;
use crate::event::LeafMove;
use crate::event::payload::ForkPosition;
use crate::journal::publish;
use crate::record::SessionLocation;
use crate::session::{Backing, NameOrigin, Session, fresh_id, line_of};

/// The result of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forked {
    /// The new session's file; `None` in memory.
    pub session_file: Option<PathBuf>,
    /// The text of the omitted message, ready to be edited and sent again.
    pub text: Option<String>,
}

impl SessionManager {
    /// Moves the leaf to an entry: the next append becomes its child. Nothing is written.
    pub fn branch(&mut self, id: impl Into<EntryId>) -> Result<(), SessionError> {
        let row = self.require(&id.into())?;
        let leaf = self.leaf_id();
        self.session.leaf = Some(row);
        self.save_leaf();
        self.leaf_moved(leaf, LeafMove::Branch);
        Ok(())
    }

    /// Moves the leaf before all entries: the next append becomes another root. Nothing is written.
    pub fn reset_leaf(&mut self) {
        let leaf = self.leaf_id();
        self.session.leaf = None;
        self.save_leaf();
        self.leaf_moved(leaf, LeafMove::Reset);
    }

    /// Leaves this session and opens a new one that holds only the path to an entry.
    ///
    /// Entries are copied byte for byte; only the parent changes where a label
    /// stood in between. Labels of the path are written again after it, with
    /// their original times. The new file is written at once if it contains conversation.
    /// Returns its present or future path; `None` in memory.
    pub fn create_branched_session(&mut self, leaf: impl Into<EntryId>) -> Result<Option<PathBuf>, SessionError> {
        self.enter(self.branched(&leaf.into())?);
        Ok(self.session_file().map(Path::to_path_buf))
    }

    /// Like [`create_branched_session`](Self::create_branched_session), as a manager of its own. This one does not change.
    pub fn branched_session(&self, leaf: impl Into<EntryId>) -> Result<Self, SessionError> {
        Ok(self.with_session(self.branched(&leaf.into())?))
    }

    /// Starts a new session from this one that ends with an entry, or just before a user message.
    ///
    /// The session must be saved or in memory, unless the fork keeps none of its entries.
    pub fn fork(&mut self, entry: impl Into<EntryId>, position: ForkPosition) -> Result<Forked, SessionError> {
        let (session, text) = self.forked(&entry.into(), position)?;
        self.enter(session);
        Ok(Forked { session_file: self.session_file().map(Path::to_path_buf), text })
    }

    /// The path to an entry as a new session. This session does not change.
    pub(crate) fn branched(&self, leaf: &EntryId) -> Result<Session, SessionError> {
        self.extracted(self.require(leaf)?)
    }

    /// The fork, and the text of the message it omits. This session does not change.
    pub(crate) fn forked(
        &self,
        id: &EntryId,
        position: ForkPosition,
    ) -> Result<(Session, Option<String>), SessionError> {
        let row = self.require(id)?;
        if position == ForkPosition::At {
            self.require_saved()?;
            return Ok((self.extracted(row)?, None));
        }
        let text = self.taken_back(row, id)?;
        let session = if let Some(parent) = self.session.outline.parent(row) {
            self.require_saved()?;
            self.extracted(parent)?
        } else {
            let options = NewSession { id: None, parent_session: self.file_text() };
            new_session(&self.world, &self.cwd, self.session_dir.as_deref(), options)?
        };
        Ok((session, Some(text)))
    }

    /// Starts a new session that holds the path to the current leaf.
    ///
    /// Named after pi's `/clone`. Afterwards the manager is in the copy.
    pub fn clone_session(&mut self) -> Result<Forked, SessionError> {
        let leaf = self.session.leaf_id().ok_or(SessionError::NoLeaf)?;
        self.fork(leaf, ForkPosition::At)
    }

    /// The session's file in the form that headers use.
    pub(crate) fn file_text(&self) -> Option<String> {
        self.session_file().map(|file| file.to_string_lossy().into_owned())
    }

    fn require_saved(&self) -> Result<(), SessionError> {
        if matches!(self.session.backing, Backing::Awaited { .. }) { Err(SessionError::Unsaved) } else { Ok(()) }
    }

    /// The text of a user message, to be edited and sent again.
    fn taken_back(&self, row: Row, id: &EntryId) -> Result<String, SessionError> {
        if self.session.outline.role(row) != Role::User {
            return Err(SessionError::NotForkable { id: id.clone() });
        }
        let entry = self.session.value(row)?;
        Ok(content_text(entry.raw().get("message").and_then(|message| message.get("content"))))
    }

    /// A new session that holds the path to a row. This session does not change.
    fn extracted(&self, row: Row) -> Result<Session, SessionError> {
        let environment = self.world.environment();
        let outline = &self.session.outline;
        let path = outline.path(row);
        let steps = extract::steps(outline, &path);
        let options = NewSession { id: None, parent_session: self.file_text() };
        let header = compose_header(environment, &self.cwd, options)?;
        let next_kept = extract::next_kept(outline, &path);
        let labels = self.label_lines(&steps)?;
        let has_conversation = steps.iter().any(|step| outline.role(step.row).is_conversation());

        let write = |out: &mut dyn std::io::Write, file: &Path| -> Result<(), SessionError> {
            let failed = |source| StoreError::io_at("write", file, source);
            out.write_all(&line_of(header.json().raw())).map_err(failed)?;
            let mut rows = self.session.reading();
            for step in &steps {
                let line = rows.copied_line(step.row)?;
                let rewritten = if extract::may_change(outline, step) {
                    extract::rewritten(outline, &next_kept, step, self.session.parsed(step.row, &line)?)
                } else {
                    None
                };
                let line = rewritten.map_or(line, Json::into_bytes);
                out.write_all(&line).and_then(|()| out.write_all(b"\n")).map_err(failed)?;
            }
            out.write_all(&labels).map_err(failed)?;
            Ok(())
        };
        let dir = self.session_dir.as_deref().filter(|_| !self.world.is_in_memory());
        let file = dir.map(|dir| session_path(dir, &header));
        if let Some(file) = file.as_ref().filter(|_| has_conversation) {
            let (os, is_durable) = (self.world.os(), self.world.is_on_disk());
            let prepared = prepare_file(os, file, is_durable, &mut |out| write(out, file))?;
            let session = SessionLocation { path: file.clone(), id: header.id() };
            let source = self.session_file().map(Path::to_path_buf);
            let _turn = publish(&self.world, prepared, session, source, &|| self.session.refuse_replaced())?;
            return Session::open_file(&self.world, file);
        }
        let mut bytes = Vec::new();
        write(&mut bytes, Path::new("(memory)"))?;
        Session::from_bytes(&self.world, bytes, |log| match file {
            Some(path) => Backing::Awaited { log, path, origin: NameOrigin::Ours },
            None => Backing::memory(log),
        })
    }

    /// The labels of an extracted path, as lines to append after its last entry.
    fn label_lines(&self, steps: &[extract::CopiedEntry]) -> Result<Vec<u8>, SessionError> {
        let outline = &self.session.outline;
        let mut taken: HashSet<EntryId> = steps.iter().filter_map(|step| outline.id(step.row)).collect();
        let mut parent = steps.last().and_then(|step| outline.id(step.row));
        let mut lines = Vec::new();
        for (target, label) in extract::labels(outline, steps, self.session.labels()?) {
            let id = fresh_id(self.world.environment(), &|id| taken.contains(id));
            let entry = extract::label_entry(&id, parent.as_ref(), target, label);
            lines.extend(line_of(entry.raw()));
            taken.insert(id.clone());
            parent = Some(id);
        }
        Ok(lines)
    }

    /// The row of an entry; fails if the entry does not exist.
    pub(crate) fn require(&self, id: &EntryId) -> Result<Row, SessionError> {
        self.session.outline.find(id).ok_or_else(|| SessionError::not_found(id))
    }
}

/// The text of a text block.
pub(super) fn block_text(block: &Block<'_>) -> Option<String> {
    match block {
        Block::Text(block) => block.text(),
        _ => None,
    }
}
