//! The lines of pi for a foreign session.

use rustc_hash::{FxHashMap, FxHashSet};
use sessile_core::EntryId;
use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::{Json, ObjectWriter, Raw};

use crate::body::Body;
use crate::choices::{ImportChoices, ModelChoice};
use crate::entry::{self, Base, Existing, Origin, Written};
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource};
use crate::ids::{Ids, digest, entry_id, mixed, session_id};
use crate::reader::body_of;
use crate::tree::{Slot, Tree};

/// The type of the entries about an import.
pub(crate) const CUSTOM_TYPE: &str = "sessile.import";

/// Where each message of a foreign session goes.
#[derive(Debug)]
pub struct Plan<'s> {
    session: &'s ForeignSession,
    tree: Tree,
    /// The id of the entry that says where the session comes from.
    root: u32,
    /// The id of the entry with the chosen model at the start.
    first_model: u32,
    /// The id of each slot.
    ids: Vec<u32>,
    kept: FxHashMap<u32, u32>,
    given: Ids,
    choices: ImportChoices,
}

/// Reads a place of the source.
pub type ReadPlace<'r, E> = dyn FnMut(Place, &mut Vec<u8>) -> Result<(), E> + 'r;

impl<'s> Plan<'s> {
    /// Makes the plan.
    pub fn new(session: &'s ForeignSession) -> Self {
        let tree = Tree::of(session);
        let mut given = Ids::default();
        let name = |what: &[u8]| digest(&[session.agent.word().as_bytes(), session.id.as_bytes(), b"", what]);
        let root = given.give(name(b"import"));
        let digests = tree.slots.iter().map(|slot| match slot {
            Slot::Node(node) => session.nodes.get(*node as usize).map_or(0, |node| node.digest),
            Slot::NoResult(call) => {
                let answer = session.calls.get(*call as usize).and_then(|call| session.nodes.get(call.answer as usize));
                let first = match answer.map(|answer| answer.kind) {
                    Some(NodeKind::Answer { first_call, .. }) => first_call,
                    _ => 0,
                };
                let number = u64::from(*call - first.min(*call));
                mixed(answer.map_or(0, |answer| answer.digest) ^ mixed(number + 1))
            }
        });
        let ids = digests.map(|digest| given.give(digest)).collect();
        let first_model = given.give(name(b"model"));
        let kept = tree.first_kept(session).into_iter().collect();
        Self { session, tree, root, first_model, ids, kept, given, choices: ImportChoices::default() }
    }

    /// Chooses what a new session has. A session that exists keeps the choices of its first import.
    pub fn choose(&mut self, choices: ImportChoices) {
        self.choices = choices;
    }

    /// The choices of the session's first import; `None` if no import has written to it.
    pub fn choices_of<E>(&self, existing: &mut dyn Existing<E>) -> Result<Option<ImportChoices>, E> {
        Ok(existing.line(&entry_id(self.root))?.map(|line| ImportChoices::of_line(&line)))
    }

    /// The id of the session.
    pub fn session_id(&self) -> sessile_core::SessionId {
        session_id(self.session.agent, &self.session.id, self.session.started)
    }

    /// The header of a new session.
    pub fn header(&self, origin: &Origin<'_>, cwd: &str, parent_session: Option<&str>) -> Json {
        let mut header = ObjectWriter::new();
        header
            .string("type", "session")
            .integer("version", 3)
            .string("id", self.session_id().as_str())
            .string("timestamp", &to_iso(self.started()))
            .string("cwd", cwd);
        if let Some(parent) = parent_session {
            header.string("parentSession", parent);
        }
        header.raw("importedFrom", entry::origin(self.session, origin).finish().raw());
        header.finish()
    }

    fn started(&self) -> Timestamp {
        self.session.started.unwrap_or(Timestamp::EPOCH)
    }

    /// Writes the lines that `existing` lacks: all of a new session, without its header.
    ///
    /// An entry that is there with the same content stays. One with other content stays as well, and the new content
    /// becomes a branch. The last line is where the agent goes on. If the user has gone on from another entry, the
    /// last line is a mark there, so that pi opens the session where the user was.
    pub fn write<E>(
        &mut self,
        origin: &Origin<'_>,
        existing: &mut dyn Existing<E>,
        read: &mut ReadPlace<'_, E>,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Written, E> {
        if let Some(chosen) = self.choices_of(existing)? {
            self.choices = chosen;
        }
        let ending = existing.ending();
        let old_last = ending.first().cloned();
        let start = entry_id(self.root);
        let mut writer = Writer {
            plan: self,
            start,
            existing,
            sink,
            actual: FxHashMap::default(),
            superseded: FxHashSet::default(),
            n_new: 0,
            last: old_last.clone(),
        };
        writer.begin(origin)?;
        // The entry where the conversation stops; what follows it in the file are notes.
        let stop = ending.last().cloned();
        let ending: FxHashSet<EntryId> = ending.into_iter().collect();
        let mut follows_agent = stop.as_ref().is_none_or(|stop| *stop == entry_id(writer.plan.root));
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        let mut time = writer.plan.started();
        for nth in 0..writer.plan.tree.order.len() {
            let slot = writer.plan.tree.order[nth];
            let body = writer.plan.body(slot, &mut pieces, read)?;
            time = writer.plan.time_of(slot).unwrap_or(time);
            let planned = writer.parent_of(slot);
            let parent = old_last.clone().filter(|_| ending.contains(&planned)).unwrap_or_else(|| planned.clone());
            let id = writer.entry(slot, &planned, &parent, time, &body)?;
            follows_agent |= stop.as_ref() == Some(&id);
        }
        follows_agent |= stop.is_some_and(|stop| writer.superseded.contains(&stop));
        writer.end(old_last, &ending, follows_agent)
    }

    /// The outcome for a session that has everything.
    pub fn nothing_new<E>(&self, existing: &mut dyn Existing<E>) -> Result<Written, E> {
        let ending = existing.ending();
        let is_planned = |stop: &EntryId| self.ids.iter().chain([&self.root]).any(|id| entry_id(*id) == *stop);
        let leaf = self.leaf().and_then(|leaf| self.ids.get(leaf as usize).copied());
        Ok(Written {
            n_entries: 0,
            n_lines: 0,
            leaf: entry_id(leaf.unwrap_or(self.root)),
            last: ending.first().cloned(),
            follows_agent: ending.last().is_none_or(is_planned),
            choices: self.choices_of(existing)?.unwrap_or_default(),
        })
    }

    /// The slot where the agent goes on.
    fn leaf(&self) -> Option<u32> {
        self.session.leaf.and_then(|leaf| self.tree.tails.get(leaf as usize)).copied()
    }

    fn time_of(&self, slot: u32) -> Option<Timestamp> {
        match self.tree.slots.get(slot as usize)? {
            Slot::Node(node) => self.session.nodes.get(*node as usize)?.time,
            Slot::NoResult(_) => None,
        }
    }

    fn body<E>(&self, slot: u32, pieces: &mut Vec<Vec<u8>>, read: &mut ReadPlace<'_, E>) -> Result<Body, E> {
        let node = match self.tree.slots.get(slot as usize) {
            Some(Slot::Node(node)) => self.session.nodes.get(*node as usize),
            _ => None,
        };
        let Some(node) = node else { return Ok(entry::no_result()) };
        let mut n_pieces = 0;
        for place in self.session.places(node) {
            if pieces.len() <= n_pieces {
                pieces.push(Vec::new());
            }
            pieces[n_pieces].clear();
            read(place, &mut pieces[n_pieces])?;
            n_pieces += 1;
        }
        Ok(body_of(self.session, node, &pieces[..n_pieces], self.choices.keep_signatures))
    }

    /// The call that a slot is the result of: its id and its tool.
    fn call_of(&self, slot: u32) -> (&str, &str) {
        let call = match self.tree.slots.get(slot as usize) {
            Some(Slot::NoResult(call)) => Some(*call),
            Some(Slot::Node(node)) => match self.session.nodes.get(*node as usize).map(|node| node.kind) {
                Some(NodeKind::Result { call }) => Some(call),
                _ => None,
            },
            None => None,
        };
        let call = call.and_then(|call| self.session.calls.get(call as usize));
        let tool = call.and_then(|call| self.session.tools.get(call.tool as usize));
        (call.map_or("", |call| &call.id), tool.map_or("unknown", String::as_str))
    }

    fn digest_of(&self, slot: u32) -> u64 {
        u64::from(self.ids.get(slot as usize).copied().unwrap_or_default()) << 32
    }
}

/// An entry without space between its values, as pi writes it. A source that is a document, and not lines, brings line breaks
/// and spaces along, for example in the arguments of a call.
fn without_space(entry: Json) -> Json {
    let (mut in_string, mut is_escaped) = (false, false);
    let mut text = entry.into_bytes();
    text.retain(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            _ => {}
        }
        in_string || !byte.is_ascii_whitespace()
    });
    Json::parse(text).unwrap_or_else(|_| Json::null())
}

/// Writes the lines of a plan.
struct Writer<'w, 's, E> {
    plan: &'w mut Plan<'s>,
    existing: &'w mut dyn Existing<E>,
    sink: &'w mut dyn FnMut(&[u8]) -> Result<(), E>,
    /// The entry that the first messages follow.
    start: EntryId,
    /// The entries of the slots so far.
    actual: FxHashMap<u32, EntryId>,
    /// Entries of earlier imports whose content or parent has changed since.
    superseded: FxHashSet<EntryId>,
    n_new: usize,
    /// The last entry of the file.
    last: Option<EntryId>,
}

impl<E> Writer<'_, '_, E> {
    fn put(&mut self, id: &EntryId, line: Json) -> Result<(), E> {
        let mut line = line.into_bytes();
        line.push(b'\n');
        (self.sink)(&line)?;
        self.n_new += 1;
        self.last = Some(id.clone());
        Ok(())
    }

    /// The entries that a session begins with: where it comes from, and the model.
    fn begin(&mut self, origin: &Origin<'_>) -> Result<(), E> {
        let root = entry_id(self.plan.root);
        if self.existing.line(&root)?.is_none() {
            self.root(&root, origin)?;
        }
        let Some(model) = self.plan.choices.model.clone() else { return Ok(()) };
        let id = entry_id(self.plan.first_model);
        if self.existing.line(&id)?.is_none() {
            self.model(&id, &root, self.plan.started(), &model)?;
        }
        self.start = id;
        Ok(())
    }

    /// Notes the model that pi goes on with, after an entry.
    fn model(&mut self, id: &EntryId, parent: &EntryId, time: Timestamp, model: &ModelChoice) -> Result<(), E> {
        let timestamp = to_iso(time);
        let line = entry::model_change(&Base { id, parent: Some(parent), timestamp: &timestamp }, model);
        self.put(id, line)
    }

    /// The entry that says where the session comes from.
    fn root(&mut self, id: &EntryId, origin: &Origin<'_>) -> Result<(), E> {
        let timestamp = to_iso(self.plan.started());
        let base = Base { id, parent: None, timestamp: &timestamp };
        let mut data = entry::origin(self.plan.session, origin);
        let mut losses = ObjectWriter::new();
        for (kind, number) in self.plan.choices.losses(self.plan.session).iter() {
            losses.integer(kind, i64::try_from(number).unwrap_or(i64::MAX));
        }
        data.raw("losses", losses.finish().raw());
        let damaged = i64::try_from(self.plan.session.damages.len()).unwrap_or(i64::MAX);
        if damaged > 0 {
            data.integer("damagedLines", damaged);
        }
        if !self.plan.choices.is_default() {
            data.raw("choices", self.plan.choices.to_json().raw());
        }
        let line = entry::custom(&base, CUSTOM_TYPE, data.finish().raw());
        self.put(id, line)
    }

    fn parent_of(&self, slot: u32) -> EntryId {
        let parent = self.plan.tree.parents.get(slot as usize).copied().flatten();
        parent.and_then(|parent| self.actual.get(&parent).cloned()).unwrap_or_else(|| self.start.clone())
    }

    /// Writes the entry of a slot, unless it is there.
    ///
    /// `planned` is what it follows in the source, and `parent` what it follows in the file if it is new.
    fn entry(
        &mut self,
        slot: u32,
        planned: &EntryId,
        parent: &EntryId,
        time: Timestamp,
        body: &Body,
    ) -> Result<EntryId, E> {
        let timestamp = to_iso(time);
        let kept = self.plan.kept.get(&slot).and_then(|kept| self.actual.get(kept)).cloned();
        let (call, tool) = self.plan.call_of(slot);
        let (agent, choices) = (self.plan.session.agent, &self.plan.choices);
        let context = entry::Context { agent, choices, time, call, tool, kept: kept.as_ref() };
        let has_space = self.plan.session.has_space;
        let compose = |id: &EntryId, parent: Option<&EntryId>| {
            let entry = entry::compose(&Base { id, parent, timestamp: &timestamp }, &context, body);
            if has_space { without_space(entry) } else { entry }
        };
        let mut number = self.plan.ids.get(slot as usize).copied().unwrap_or_default();
        let mut attempt = None;
        let (id, line) = loop {
            let id = entry_id(number);
            let Some(found) = self.existing.line(&id)? else {
                let line = compose(&id, Some(parent));
                break (id, Some(line));
            };
            let found_parent = Raw::parse(&found).ok().and_then(|line| line.get("parentId")).and_then(Raw::as_text);
            let found_parent = found_parent.map(EntryId::from);
            let is_same = entry::is_redacted(&found)
                || (compose(&id, found_parent.as_ref()).raw().as_bytes() == found.as_slice()
                    && self.existing.follows(&id, planned));
            if is_same {
                break (id, None);
            }
            // The content has changed, or it follows another entry: it becomes a branch, with the next free id of a fixed
            // sequence.
            self.superseded.insert(id);
            let mut next = mixed(attempt.unwrap_or_else(|| self.plan.digest_of(slot)).wrapping_add(1));
            while self.plan.given.has((next >> 32) as u32) {
                next = mixed(next.wrapping_add(1));
            }
            attempt = Some(next);
            number = (next >> 32) as u32;
        };
        if attempt.is_some() {
            self.plan.given.take(number);
        }
        if let Some(line) = line {
            self.put(&id, line)?;
        }
        self.actual.insert(slot, id.clone());
        Ok(id)
    }

    /// Writes the title, and the mark where the session goes on.
    fn end(
        &mut self,
        old_last: Option<EntryId>,
        ending: &FxHashSet<EntryId>,
        follows_agent: bool,
    ) -> Result<Written, E> {
        let n_entries = self.n_new;
        let leaf = self.plan.leaf().and_then(|leaf| self.actual.get(&leaf).cloned());
        let leaf = leaf.unwrap_or_else(|| self.start.clone());
        let time = self.plan.session.ended.unwrap_or(self.plan.started());
        let target = match old_last {
            // What follows the leaf in the file already belongs to it.
            Some(old_last) if !follows_agent || ending.contains(&leaf) => old_last,
            _ => leaf.clone(),
        };
        let has_moved = follows_agent && !ending.contains(&target) && self.is_all_own(ending)?;
        let model = self.plan.choices.model.clone().filter(|_| has_moved && target != self.start);
        if let Some(model) = model {
            // Answers name their models, so pi takes the model of the last one unless a change follows it.
            let id = self.free_id(&model_name(&target))?;
            self.model(&id, &target, time, &model)?;
        } else if (n_entries > 0 || has_moved) && self.last.as_ref() != Some(&target) {
            let name = [target.as_wtf8(), &n_entries.to_le_bytes()].concat();
            let id = self.free_id(&name)?;
            let timestamp = to_iso(time);
            let base = Base { id: &id, parent: Some(&target), timestamp: &timestamp };
            let mut data = ObjectWriter::new();
            data.string("agent", self.plan.session.agent.word())
                .integer("added", i64::try_from(n_entries).unwrap_or(i64::MAX));
            let line = entry::custom(&base, CUSTOM_TYPE, data.finish().raw());
            self.put(&id, line)?;
        }
        self.title(time)?;
        let (n_lines, choices) = (self.n_new, self.plan.choices.clone());
        Ok(Written { n_entries, n_lines, leaf, last: self.last.clone(), follows_agent, choices })
    }

    /// Whether only imports have written the last entries, so that the user has not chosen where the session goes on.
    fn is_all_own(&mut self, ending: &FxHashSet<EntryId>) -> Result<bool, E> {
        let written: FxHashSet<EntryId> = self.actual.values().cloned().collect();
        for id in ending.iter().filter(|id| !written.contains(id)) {
            let line = self.existing.line(id)?.unwrap_or_default();
            let line = Raw::parse(&line).unwrap_or(Raw::NULL);
            let [kind, name, model, parent] = line.pick(["customType", "name", "modelId", "parentId"]);
            let is_mark = kind.and_then(Raw::as_text).is_some_and(|kind| kind == CUSTOM_TYPE);
            let is_title = name.and_then(Raw::as_string).is_some_and(|name| self.is_title_id(id, &name));
            let parent = parent.and_then(Raw::as_text).map(EntryId::from).filter(|_| model.is_some());
            let is_model = parent.is_some_and(|parent| *id == self.start || self.is_own(id, &model_name(&parent)));
            if !is_mark && !is_title && !is_model && !self.superseded.contains(id) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Names the session after its title, unless it has a name that is not from an import.
    fn title(&mut self, time: Timestamp) -> Result<(), E> {
        let Some(title) = &self.plan.session.title else { return Ok(()) };
        if let Some((id, name)) = self.existing.last_name()
            && (name == title.text || !self.is_title_id(&id, &name))
        {
            return Ok(());
        }
        let text = title.text.clone();
        let is_auto = title.source == TitleSource::Generated;
        let id = self.free_id(&title_name(&text))?;
        let timestamp = to_iso(time);
        let base = Base { id: &id, parent: self.last.as_ref(), timestamp: &timestamp };
        let line = entry::session_info(&base, &text, is_auto);
        self.put(&id.clone(), line)
    }

    /// Whether an import has given a session this name with this entry.
    fn is_title_id(&self, id: &EntryId, name: &str) -> bool {
        self.is_own(id, &title_name(name))
    }

    /// Whether an entry has an id that [`free_id`](Self::free_id) gives for a name.
    fn is_own(&self, id: &EntryId, name: &[u8]) -> bool {
        let digest = self.own_digest(name);
        (0..4).any(|attempt| entry_id((own_attempt(digest, attempt) >> 32) as u32) == *id)
    }

    fn own_digest(&self, name: &[u8]) -> u64 {
        let session = self.plan.session;
        digest(&[session.agent.word().as_bytes(), session.id.as_bytes(), b"own", name])
    }

    /// An id for an entry of our own that no other entry has.
    fn free_id(&mut self, name: &[u8]) -> Result<EntryId, E> {
        let digest = self.own_digest(name);
        let mut attempt = 0;
        loop {
            let number = (own_attempt(digest, attempt) >> 32) as u32;
            let id = entry_id(number);
            attempt += 1;
            if !self.plan.given.has(number) && self.existing.line(&id)?.is_none() {
                return Ok(id);
            }
        }
    }
}

fn title_name(title: &str) -> Vec<u8> {
    [b"title\0", title.as_bytes()].concat()
}

fn model_name(after: &EntryId) -> Vec<u8> {
    [b"model\0", after.as_wtf8()].concat()
}

fn own_attempt(digest: u64, attempt: u64) -> u64 {
    if attempt == 0 { digest } else { mixed(digest.wrapping_add(attempt)) }
}
