//! Gathering the nodes of one session: links, calls and results.

use rustc_hash::{FxHashMap, FxHashSet};
use sessile_core::date::Timestamp;

use crate::agent::Agent;
use crate::foreign::{Call, ForeignSession, NodeKind, Place, TitleSource, index, shortened};
use crate::ids::{digest, key};

/// What a node follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing.
    Root,
    /// Another node.
    Node(u32),
    /// The record with this key, which may come later.
    Key(u64),
}

/// Where a node comes from: what it follows, its time, and its first piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) link: Link,
    pub(crate) time: Option<Timestamp>,
    pub(crate) place: Place,
}

/// One session that is being read.
#[derive(Debug)]
pub(crate) struct Gathering {
    pub(crate) session: ForeignSession,
    /// What each node follows.
    pub(crate) links: Vec<Link>,
    /// Whether the leaf is known; otherwise it is the last node.
    pub(crate) is_leaf_known: bool,
    /// The latest call with an id, as an index of the calls in the order of the source.
    latest_calls: FxHashMap<u64, u32>,
    /// The answers and the ids of their calls.
    used_ids: FxHashSet<(u32, u64)>,
    tools: FxHashMap<String, u32>,
}

impl Gathering {
    pub(crate) fn new(agent: Agent, id: String) -> Self {
        Self {
            session: ForeignSession::new(agent, id),
            links: Vec::new(),
            is_leaf_known: false,
            latest_calls: FxHashMap::default(),
            used_ids: FxHashSet::default(),
            tools: FxHashMap::default(),
        }
    }

    /// A digest for a record of this session.
    pub(crate) fn digest(&self, id: &[u8], part: &[u8]) -> u64 {
        digest(&[self.session.agent.word().as_bytes(), self.session.id.as_bytes(), id, part])
    }

    /// Adds a node.
    pub(crate) fn push(&mut self, digest: u64, at: At, kind: NodeKind) -> u32 {
        self.links.push(at.link);
        self.session.push(digest, at.time, kind, at.place)
    }

    /// The last node so far.
    pub(crate) fn last(&self) -> Option<u32> {
        self.session.nodes.len().checked_sub(1).map(index)
    }

    /// The link to the last node so far.
    pub(crate) fn after_last(&self) -> Link {
        self.last().map_or(Link::Root, Link::Node)
    }

    /// Adds a call to an answer.
    pub(crate) fn call(&mut self, answer: u32, id: &str, tool: &str) {
        let number = self.session.calls.len();
        let mut unique = id.to_owned();
        let mut is_new = |id: &str| self.used_ids.insert((answer, key(id.as_bytes())));
        let base = if id.is_empty() { "call" } else { id };
        let mut suffix = number;
        let mut is_unique = !id.is_empty() && is_new(id);
        while !is_unique {
            unique = format!("{base}_{suffix}");
            is_unique = is_new(&unique);
            suffix += 1;
        }
        let tool = if tool.is_empty() { "unknown" } else { tool };
        let tool = self.tools.get(tool).copied().unwrap_or_else(|| {
            let new = index(self.session.tools.len());
            self.session.tools.push(tool.to_owned());
            self.tools.insert(tool.to_owned(), new);
            new
        });
        self.latest_calls.insert(key(id.as_bytes()), index(number));
        self.session.calls.push(Call { answer, id: unique.into(), tool, result: None });
    }

    /// Whether the latest call with an id has a result.
    pub(crate) fn has_result(&self, call_id: &str) -> bool {
        let call = self.latest_calls.get(&key(call_id.as_bytes()));
        call.and_then(|call| self.session.calls.get(*call as usize)).is_some_and(|call| call.result.is_some())
    }

    /// Adds the result of the latest call with an id. Without such a call, or if it has a result, the node is text of
    /// the program.
    pub(crate) fn result(&mut self, call_id: &str, digest: u64, at: At, part: u32) -> u32 {
        let call = self.latest_calls.get(&key(call_id.as_bytes())).copied();
        let is_open = |call: &u32| self.session.calls.get(*call as usize).is_some_and(|call| call.result.is_none());
        let kind = match call {
            Some(call) if is_open(&call) => NodeKind::Result { call },
            Some(_) => {
                self.session.losses.add("second results");
                NodeKind::Harness
            }
            None => {
                self.session.losses.add("results without a call");
                NodeKind::Harness
            }
        };
        let node = self.push(digest, at, kind);
        if let Some(added) = self.session.nodes.get_mut(node as usize) {
            added.part = part;
        }
        if let NodeKind::Result { call } = kind
            && let Some(call) = self.session.calls.get_mut(call as usize)
        {
            call.result = Some(node);
        }
        node
    }

    /// The session, with the parents that `find` knows for keys, and the calls of each answer together.
    pub(crate) fn finish(mut self, find: &dyn Fn(u64) -> Option<u32>) -> ForeignSession {
        let session = &mut self.session;
        for (nth, link) in self.links.iter().enumerate() {
            let itself = index(nth);
            let parent = match link {
                Link::Root => None,
                Link::Node(node) => Some(*node),
                Link::Key(key) => find(*key).filter(|parent| *parent != itself).or_else(|| {
                    // The line before is the best guess, because lines are written in order.
                    session.losses.add("missing parents");
                    nth.checked_sub(1).map(index)
                }),
            };
            if let Some(node) = session.nodes.get_mut(nth) {
                node.parent = parent;
            }
        }
        sort_calls(session);
        if !self.is_leaf_known && session.leaf.is_none() {
            session.leaf = session.nodes.len().checked_sub(1).map(index);
        }
        // A sub-agent without a title is named after its task.
        if session.parent.is_some()
            && session.title.is_none()
            && let Some(prompt) = session.first_prompt.clone()
        {
            session.entitle(&shortened(&prompt, 60), TitleSource::Generated);
        }
        self.session
    }
}

/// Puts the calls of each answer together, in their order.
fn sort_calls(session: &mut ForeignSession) {
    let mut order: Vec<u32> = (0..index(session.calls.len())).collect();
    let answer = |call: &u32| session.calls.get(*call as usize).map(|call| call.answer);
    order.sort_by_key(answer);
    let mut sorted = Vec::with_capacity(order.len());
    for (new, old) in order.iter().enumerate() {
        let Some(call) = session.calls.get(*old as usize) else { continue };
        if let Some(node) = call.result.and_then(|node| session.nodes.get_mut(node as usize)) {
            node.kind = NodeKind::Result { call: index(new) };
        }
        if let Some(NodeKind::Answer { first_call, n_calls }) =
            session.nodes.get_mut(call.answer as usize).map(|node| &mut node.kind)
        {
            if *n_calls == 0 {
                *first_call = index(new);
            }
            *n_calls += 1;
        }
        sorted.push(call.clone());
    }
    session.calls = sorted;
}
