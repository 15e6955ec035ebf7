//! What a reader remembers of a foreign session.

use std::collections::BTreeMap;

use sessile_core::date::Timestamp;

use crate::agent::Agent;

/// Where a piece of a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the file, as the caller of the reader counts.
    pub file: u32,
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Place {
    /// The number of the first blob, far above those of files.
    const FIRST_BLOB: u32 = 1 << 31;

    /// The index in [`ForeignSession::blobs`], if the place is a blob instead of a part of the source.
    ///
    /// Read it as its bytes in base64, as a JSON string, or as `null` if it cannot be read.
    pub fn blob(self) -> Option<usize> {
        self.file.checked_sub(Self::FIRST_BLOB).map(|nth| nth as usize)
    }

    fn of_blob(nth: usize) -> Self {
        Self { file: Self::FIRST_BLOB | index(nth), offset: 0, len: 0 }
    }
}

/// A reference to a file outside of the source with the bytes of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The SHA-256 of its bytes; `None` if the reference is not valid.
    pub sha256: Option<[u8; 32]>,
    /// The line that refers to it.
    pub place: Place,
    /// The number of that line in its file, counting from 1.
    pub line: u64,
}

/// A session of another agent, without its texts.
#[derive(Clone, Debug)]
pub struct ForeignSession {
    /// The agent.
    pub agent: Agent,
    /// Its id for the session. A sub-agent has the id of its parent, a slash and its own.
    pub id: String,
    /// The id of the session that started it, if it is a sub-agent.
    pub parent: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The time of its first line.
    pub started: Option<Timestamp>,
    /// The time of its last line.
    pub ended: Option<Timestamp>,
    /// The version of the agent that wrote its first lines.
    pub version: Option<String>,
    /// Its title.
    pub title: Option<Title>,
    /// The first text of the user, shortened.
    pub first_prompt: Option<String>,
    /// Its messages and other records, in the order of the source.
    pub nodes: Vec<Node>,
    /// All calls of all answers; those of one answer are together.
    pub calls: Vec<Call>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The names of the models, for agents that do not name them in each answer.
    pub(crate) models: Vec<String>,
    /// Where the pieces of the nodes are: chains that begin at [`Node::first`].
    pub(crate) pieces: Vec<Piece>,
    /// The node where the agent goes on.
    pub leaf: Option<u32>,
    /// The files with images that its messages refer to, each as often as it is used.
    pub blobs: Vec<Blob>,
    /// Whether there can be space between values, because the source is a document instead of lines.
    pub(crate) has_space: bool,
    /// What is not kept.
    pub losses: Losses,
    /// Lines that could not be read.
    pub damages: Vec<Damage>,
}

/// A tool call of an answer.
#[derive(Clone, Debug)]
pub struct Call {
    /// The node of the answer.
    pub answer: u32,
    /// Its id: the agent's own, or one that is unique in the answer.
    pub id: Box<str>,
    /// The tool, as an index of [`ForeignSession::tools`].
    pub tool: u32,
    /// The node of its result.
    pub result: Option<u32>,
}

/// A place, and the next one of the same node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) place: Place,
    pub(crate) next: u32,
}

/// The end of a chain of pieces.
pub(crate) const NO_PIECE: u32 = u32::MAX;

/// A message or another record of a foreign session.
#[derive(Clone, Debug)]
pub struct Node {
    /// A hash of the agent, the session and the agent's own id.
    pub digest: u64,
    /// The node that it follows.
    pub parent: Option<u32>,
    /// Its time.
    pub time: Option<Timestamp>,
    /// What it is.
    pub kind: NodeKind,
    /// Which part of its piece it is, if a line has several.
    pub part: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A message of the user.
    User,
    /// An answer of the model, with its calls: their first index and number.
    Answer {
        /// The index of the first call.
        first_call: u32,
        /// The number of calls.
        n_calls: u32,
    },
    /// The result of a call.
    Result {
        /// The index of the call.
        call: u32,
    },
    /// A shell command of the user.
    Shell,
    /// A summary that replaces what came before it.
    Compaction {
        /// The first node that stays visible to the model.
        first_kept: Option<u32>,
    },
    /// Text of the program around the model. No model receives it again.
    Harness,
}

impl NodeKind {
    /// Whether the node is part of the conversation that a model receives.
    pub fn is_conversation(self) -> bool {
        matches!(self, Self::User | Self::Answer { .. } | Self::Shell)
    }
}

/// A title, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The text.
    pub text: String,
    /// Where it comes from.
    pub source: TitleSource,
}

/// Where a title comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleSource {
    /// A program or a model made it.
    Generated,
    /// The user gave it.
    User,
}

/// What an import does not keep, by kind, with the number of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<String, u64>);

impl Losses {
    /// The maximum number of kinds. A hostile file cannot make the list longer.
    const MAX_KINDS: usize = 64;

    /// Counts a loss.
    pub(crate) fn add(&mut self, kind: &str) {
        self.add_many(kind, 1);
    }

    /// Counts several losses of a kind.
    pub(crate) fn add_many(&mut self, kind: &str, number: u64) {
        if number == 0 {
            return;
        }
        if let Some(count) = self.0.get_mut(kind) {
            *count += number;
        } else if self.0.len() < Self::MAX_KINDS {
            self.0.insert(kind.to_owned(), number);
        } else {
            *self.0.entry("other".to_owned()).or_default() += number;
        }
    }

    /// Removes a kind.
    pub(crate) fn remove(&mut self, kind: &str) {
        self.0.remove(kind);
    }

    /// The kinds and their numbers, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, number)| (kind.as_str(), *number))
    }

    /// The number of losses of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or_default()
    }
}

/// A line that could not be read, or only in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The number of the file, as the caller of the reader counts.
    pub file: u32,
    /// The line, counting from 1.
    pub line: u64,
    /// The offset of the line in its file.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl ForeignSession {
    pub(crate) fn new(agent: Agent, id: String) -> Self {
        Self {
            agent,
            id,
            parent: None,
            cwd: None,
            started: None,
            ended: None,
            version: None,
            title: None,
            first_prompt: None,
            nodes: Vec::new(),
            calls: Vec::new(),
            tools: Vec::new(),
            models: Vec::new(),
            pieces: Vec::new(),
            leaf: None,
            blobs: Vec::new(),
            has_space: matches!(agent, Agent::Gemini | Agent::Opencode),
            losses: Losses::default(),
            damages: Vec::new(),
        }
    }

    /// The places of a node's pieces, in the order of the source.
    pub fn places(&self, node: &Node) -> impl Iterator<Item = Place> {
        let mut at = node.first;
        std::iter::from_fn(move || {
            let piece = self.pieces.get(at as usize)?;
            at = piece.next;
            Some(piece.place)
        })
    }

    /// Adds a node with one piece, and returns its index.
    pub(crate) fn push(&mut self, digest: u64, time: Option<Timestamp>, kind: NodeKind, place: Place) -> u32 {
        let piece = self.new_piece(place);
        let node = Node { digest, parent: None, time, kind, part: 0, first: piece, last: piece };
        self.nodes.push(node);
        index(self.nodes.len() - 1)
    }

    /// Adds a piece to a node.
    pub(crate) fn extend(&mut self, node: u32, place: Place) {
        let piece = self.new_piece(place);
        let Some(node) = self.nodes.get_mut(node as usize) else { return };
        if let Some(last) = self.pieces.get_mut(node.last as usize) {
            last.next = piece;
        }
        node.last = piece;
    }

    /// Adds an image in another file to a node. The line number is not known yet.
    pub(crate) fn refer(&mut self, node: u32, sha256: Option<[u8; 32]>, place: Place) {
        self.extend(node, Place::of_blob(self.blobs.len()));
        self.blobs.push(Blob { sha256, place, line: 0 });
    }

    /// Notes that an image in another file is not kept, and why.
    pub fn lose_blob(&mut self, nth: usize, reason: &'static str) {
        let Some(blob) = self.blobs.get(nth) else { return };
        let Blob { place, line, .. } = *blob;
        self.damages.push(Damage { file: place.file, line, offset: place.offset, reason });
        self.losses.add("images");
    }

    fn new_piece(&mut self, place: Place) -> u32 {
        self.pieces.push(Piece { place, next: NO_PIECE });
        index(self.pieces.len() - 1)
    }

    /// Notes the time of a line.
    pub(crate) fn saw(&mut self, time: Option<Timestamp>) {
        self.started = self.started.or(time);
        self.ended = self.ended.max(time);
    }

    /// Notes a title, unless the known one comes from the user and this one does not.
    pub(crate) fn entitle(&mut self, text: &str, source: TitleSource) {
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || self.title.as_ref().is_some_and(|known| known.source > source) {
            return;
        }
        self.title = Some(Title { text, source });
    }

    /// Notes the first text of the user.
    pub(crate) fn prompted(&mut self, text: &str) {
        if self.first_prompt.is_none() && !text.trim().is_empty() {
            self.first_prompt = Some(shortened(text, 200));
        }
    }

    /// The number of messages that pi counts: those of the user and the model, and results.
    pub fn n_messages(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.kind.is_conversation() || matches!(node.kind, NodeKind::Result { .. }))
            .count()
    }
}

/// The first characters of a text, on one line.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    let mut short = String::new();
    let mut n_chars = 0;
    for word in text.split_whitespace() {
        n_chars += word.chars().count() + 1;
        if n_chars > max && !short.is_empty() {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.extend(word.chars().take(max));
    }
    short
}

/// An index in 32 bits. A source with more lines than that does not exist: it would be terabytes.
pub(crate) fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
