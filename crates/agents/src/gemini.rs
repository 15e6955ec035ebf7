//! Sessions of Gemini CLI: a log of messages, of which the last one with an id counts.

mod body;
mod message;

use rustc_hash::FxHashMap;
use sessile_core::json::{Raw, Shape};

pub(crate) use body::body;

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::ids::key;
use crate::line::{place_of, string, time_of};
use message::{Message, Said};

/// Reads the lines of a session. Because a later line can replace a message, the nodes are made at the end.
#[derive(Debug)]
pub(crate) struct Survey {
    gathering: Gathering,
    messages: Vec<Message>,
    /// The messages that the agent has in its history.
    history: Vec<InHistory>,
    /// The latest message with an id.
    known: FxHashMap<u64, u32>,
    is_id_known: bool,
}

/// A message of the history.
#[derive(Clone, Copy, Debug)]
struct InHistory {
    message: u32,
    /// The latest message up to this one. All others so far are on the path to it.
    latest: u32,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let mut gathering = Gathering::new(Agent::Gemini, id.to_owned());
        gathering.session.parent = parent.map(str::to_owned);
        Self { gathering, messages: Vec::new(), history: Vec::new(), known: FxHashMap::default(), is_id_known: false }
    }

    /// What a line says about the session as a whole. It can have all messages.
    fn metadata(&mut self, data: Raw<'_>, whole: Raw<'_>, place: Place) {
        let [id, start, updated, summary, messages] =
            data.pick(["sessionId", "startTime", "lastUpdated", "summary", "messages"]);
        let session = &mut self.gathering.session;
        if let Some(id) = id.and_then(Raw::as_string).filter(|id| !id.is_empty() && !self.is_id_known) {
            self.is_id_known = true;
            session.id = match &session.parent {
                Some(parent) => format!("{parent}/{id}"),
                None => id,
            };
        }
        session.saw(time_of(start));
        session.ended = session.ended.max(time_of(updated));
        if let Some(summary) = summary.and_then(Raw::as_string) {
            session.entitle(&summary, TitleSource::Generated);
        }
        if let Some(messages) = messages.filter(|messages| messages.shape() == Shape::Array) {
            self.replace_history(messages, whole, place);
        }
        let has_scratchpad = data.get("memoryScratchpad").is_some_and(Raw::is_truthy);
        self.gathering.session.losses.add_many("memory notes", u64::from(has_scratchpad));
    }

    /// A whole new history. Messages at the same position with the same id are the same; from the first other one on, it
    /// is a branch. If it begins with a summary, it is a compaction.
    fn replace_history(&mut self, messages: Raw<'_>, whole: Raw<'_>, place: Place) {
        let list: Vec<Message> =
            messages.items().filter_map(|value| Message::of(value, place_of(value, whole, place))).collect();
        let is_same = |(old, new): &(&InHistory, &Message)| {
            self.messages.get(old.message as usize).is_some_and(|old| old.id == new.id)
        };
        let n_same = self.history.iter().zip(&list).take_while(is_same).count();
        let begins_with_summary = list.first().is_some_and(|first| matches!(first.said, Said::Compaction { .. }));
        if n_same == 0 && begins_with_summary {
            return self.compact(list);
        }
        self.cut(n_same);
        for message in list {
            self.message(message);
        }
    }

    /// A history that begins with a summary: what it keeps of the old one stays where it is.
    fn compact(&mut self, list: Vec<Message>) {
        let kept = list.iter().find_map(|message| self.current(message));
        let mut history = Vec::with_capacity(list.len());
        for mut message in list {
            if let (Said::Compaction { first_kept }, true) = (&mut message.said, history.is_empty()) {
                *first_kept = kept;
            }
            history.push(self.message(message));
        }
        self.cut(0);
        for message in history {
            self.remember(message);
        }
    }

    /// The message of the history with the id of this one.
    fn current(&self, message: &Message) -> Option<u32> {
        let known = self.known.get(&key(message.id.as_bytes())).copied()?;
        self.messages.get(known as usize).filter(|known| known.is_current && known.id == message.id).map(|_| known)
    }

    /// Adds a message to the history, or replaces the one with its id.
    fn message(&mut self, mut message: Message) -> u32 {
        self.gathering.session.saw(message.time);
        if let Some(known) = self.current(&message)
            && let Some(old) = self.messages.get_mut(known as usize)
        {
            message.parent = old.parent;
            message.is_current = true;
            *old = message;
            return known;
        }
        let number = crate::foreign::index(self.messages.len());
        message.parent = self.history.last().map(|last| last.latest);
        self.known.insert(key(message.id.as_bytes()), number);
        self.messages.push(message);
        self.remember(number);
        number
    }

    fn remember(&mut self, message: u32) {
        let latest = self.history.last().map_or(message, |last| last.latest.max(message));
        self.history.push(InHistory { message, latest });
        if let Some(message) = self.messages.get_mut(message as usize) {
            message.is_current = true;
        }
    }

    /// Keeps only the first messages of the history.
    fn cut(&mut self, length: usize) {
        for removed in self.history.drain(length.min(self.history.len())..) {
            if let Some(message) = self.messages.get_mut(removed.message as usize) {
                message.is_current = false;
            }
        }
    }

    /// Removes a message and all after it from the history; all messages if it is not there.
    fn rewind(&mut self, id: &str) {
        let has_id = |at: &InHistory| self.messages.get(at.message as usize).is_some_and(|message| *message.id == *id);
        // From the end, so that the work is no more than what is removed.
        let position = self.history.iter().rposition(has_id).unwrap_or(0);
        self.cut(position);
    }

    /// Makes the nodes of a message, and returns the last one.
    fn make(&mut self, message: &Message, parent: Option<u32>) -> Option<u32> {
        let link = parent.map_or(Link::Root, Link::Node);
        let digest = self.gathering.digest(message.id.as_bytes(), b"");
        let at = At { link, time: message.time, place: message.place };
        let kind = match message.said {
            Said::User { has_text: false } => return self.results(message, at).or(parent),
            Said::User { has_text: true } => NodeKind::User,
            Said::Answer => NodeKind::Answer { first_call: 0, n_calls: 0 },
            Said::Harness => NodeKind::Harness,
            Said::Compaction { .. } => NodeKind::Compaction { first_kept: None },
        };
        if kind != (NodeKind::Answer { first_call: 0, n_calls: 0 }) {
            let last = self.results(message, at);
            let at = At { link: last.map_or(link, Link::Node), ..at };
            return Some(self.gathering.push(digest, at, kind));
        }
        let answer = self.gathering.push(digest, at, kind);
        for call in &message.calls {
            self.gathering.call(answer, &call.id, &call.name);
        }
        let at = At { link: Link::Node(answer), ..at };
        Some(self.results(message, at).unwrap_or(answer))
    }

    /// Makes the results of a message, and returns the last one. Newer versions write a result twice: in the answer, and
    /// as a message of the user.
    fn results(&mut self, message: &Message, at: At) -> Option<u32> {
        let mut last = None;
        for (nth, call) in (0_u32..).zip(&message.calls) {
            let Some(place) = call.result else { continue };
            if matches!(message.said, Said::User { .. }) && self.gathering.has_result(&call.id) {
                continue;
            }
            // The same for both ways, so that a result is the same when it comes again the other way.
            let number = if call.id.is_empty() { nth.to_le_bytes().to_vec() } else { call.id.as_bytes().to_vec() };
            let digest = self.gathering.digest(b"result", &number);
            let at = At { time: call.time.or(at.time), place, link: last.map_or(at.link, Link::Node) };
            last = Some(self.gathering.result(&call.id, digest, at, 0));
        }
        last
    }

    fn make_all(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        // For each message its first node, and the node that the next message follows.
        let mut firsts = Vec::with_capacity(messages.len());
        let mut lasts: Vec<Option<u32>> = Vec::with_capacity(messages.len());
        for message in &messages {
            let parent = message.parent.and_then(|parent| lasts.get(parent as usize).copied().flatten());
            let before = self.gathering.session.nodes.len();
            lasts.push(self.make(message, parent));
            firsts.push((self.gathering.session.nodes.len() > before).then(|| crate::foreign::index(before)));
        }
        for (message, last) in messages.iter().zip(&lasts) {
            let Said::Compaction { first_kept: Some(kept) } = message.said else { continue };
            let kept = firsts.get(kept as usize).copied().flatten();
            if let Some(node) = last.and_then(|last| self.gathering.session.nodes.get_mut(last as usize)) {
                node.kind = NodeKind::Compaction { first_kept: kept };
            }
        }
        let leaf = self.history.last().and_then(|last| lasts.get(last.latest as usize).copied().flatten());
        self.gathering.session.leaf = leaf;
        self.gathering.is_leaf_known = true;
        for message in messages.iter().filter(|message| matches!(message.said, Said::User { has_text: true })) {
            self.gathering.session.prompted(&message.text);
        }
    }
}

impl Format for Survey {
    fn line(&mut self, value: Raw<'_>, place: Place) {
        let [rewind, id, set, session] = value.pick(["$rewindTo", "id", "$set", "sessionId"]);
        if let Some(rewind) = rewind.filter(|rewind| rewind.shape() == Shape::String) {
            self.rewind(&string(Some(rewind)));
        } else if id.is_some_and(|id| id.shape() == Shape::String) {
            if let Some(message) = Message::of(value, place) {
                self.message(message);
            }
        } else if let Some(set) = set.filter(|set| set.shape() == Shape::Object) {
            self.metadata(set, value, place);
        } else if session.is_some() {
            self.metadata(value, value, place);
        } else {
            self.gathering.session.losses.add("lines of unknown shape");
        }
    }

    fn session(&mut self) -> &mut ForeignSession {
        &mut self.gathering.session
    }

    fn finish(mut self: Box<Self>) -> Vec<ForeignSession> {
        self.make_all();
        vec![self.gathering.finish(&|_| None)]
    }
}
