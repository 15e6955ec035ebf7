//! Sessions of Claude Code: a tree of lines, several of which can be one answer.

mod body;
mod lines;

use rustc_hash::FxHashMap;
use sessile_core::json::{Raw, Shape};

pub(crate) use body::{body, visible_blocks};

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::ids::key;
use crate::line::{beginning, string};
use lines::{Head, Tag, harness_tag, loss_of};

/// The part number of what a line says besides its results.
pub(crate) const REST: u32 = u32::MAX;

/// What the uuid of a line stands for.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A node of a tree.
    Node { tree: u32, node: u32 },
    /// A line that is not kept: what it follows.
    Skipped(Link),
}

/// A line that is part of a tree.
struct TreeLine<'a> {
    tree: usize,
    head: &'a Head<'a>,
    value: Raw<'a>,
    at: At,
}

/// Reads the lines of a session.
#[derive(Debug)]
pub(crate) struct Survey {
    /// The session itself, then the sub-agents whose lines are in the same file.
    trees: Vec<Gathering>,
    /// Whether the whole file is a sub-agent's.
    is_child: bool,
    targets: FxHashMap<u64, Target>,
    answers: FxHashMap<u64, u32>,
    /// The line that says where the session goes on, and how many nodes were known then.
    leaf: Option<(u64, usize)>,
    /// Titles of old versions, with the lines that they are about.
    summaries: Vec<(u64, String)>,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let id = parent.map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
        let mut main = Gathering::new(Agent::Claude, id);
        main.session.parent = parent.map(str::to_owned);
        Self {
            trees: vec![main],
            is_child: parent.is_some(),
            targets: FxHashMap::default(),
            answers: FxHashMap::default(),
            leaf: None,
            summaries: Vec::new(),
        }
    }

    /// The session itself.
    fn main(&mut self) -> &mut Gathering {
        &mut self.trees[0]
    }

    fn any_line(&mut self, value: Raw<'_>, place: Place) {
        if value.shape() != Shape::Object {
            return self.main().session.losses.add("lines of unknown shape");
        }
        let head = Head::of(value);
        let kind = head.kind.to_str().into_owned();
        match kind.as_str() {
            "user" | "assistant" | "system" | "attachment" => self.record(&kind, &head, value, place),
            "summary" => {
                let text = value.get("summary").and_then(Raw::as_string);
                let leaf = value.get("leafUuid").and_then(Raw::as_text);
                if let (Some(text), Some(leaf)) = (text, leaf) {
                    self.summaries.push((key(leaf.as_wtf8()), text));
                }
            }
            "ai-title" | "custom-title" => {
                let is_own = kind == "custom-title";
                let source = if is_own { TitleSource::User } else { TitleSource::Generated };
                let [a, b, c] = value.pick(["customTitle", "aiTitle", "title"]);
                if let Some(text) = a.or(b).or(c).and_then(Raw::as_string) {
                    self.main().session.entitle(&text, source);
                }
            }
            "last-prompt" => {
                let leaf = value.get("leafUuid").and_then(Raw::as_text);
                let n_nodes = self.main().session.nodes.len();
                self.leaf = leaf.map(|leaf| (key(leaf.as_wtf8()), n_nodes)).or(self.leaf);
            }
            _ => {
                self.main().session.losses.add(&loss_of(&kind));
                if let Some(uuid) = &head.uuid {
                    let link = head.link();
                    self.targets.entry(key(uuid.as_wtf8())).or_insert(Target::Skipped(link));
                }
            }
        }
    }

    /// A line that is part of the tree.
    fn record(&mut self, kind: &str, head: &Head<'_>, value: Raw<'_>, place: Place) {
        if let Some(uuid) = &head.uuid
            && self.targets.contains_key(&key(uuid.as_wtf8()))
        {
            return self.main().session.losses.add("repeated lines");
        }
        let tree = self.tree_of(head);
        let time = head.time();
        let gathering = &mut self.trees[tree];
        gathering.session.saw(time);
        note_surroundings(&mut gathering.session, head);
        let link = match (&head.uuid, head.link()) {
            // A line without an id is not in the tree; it follows the line before.
            (None, Link::Root) => gathering.after_last(),
            (_, link) => link,
        };
        let entry = TreeLine { tree, head, value, at: At { link, time, place } };
        let node = match kind {
            "assistant" => self.answer(&entry),
            "user" => self.user(&entry),
            "system" if head.subtype.as_ref().is_some_and(|kind| *kind == "compact_boundary") => self.boundary(&entry),
            _ => self.add(&entry, NodeKind::Harness),
        };
        if let Some(uuid) = &head.uuid {
            let tree = crate::foreign::index(tree);
            self.targets.insert(key(uuid.as_wtf8()), Target::Node { tree, node });
        }
    }

    /// The tree of a line. A sub-agent's line without a known parent begins another tree.
    fn tree_of(&mut self, head: &Head<'_>) -> usize {
        if self.is_child || !head.is_sidechain {
            return 0;
        }
        if let Link::Key(parent) = head.link() {
            return match self.targets.get(&parent) {
                Some(Target::Node { tree, .. }) if *tree > 0 => *tree as usize,
                _ if self.trees.len() > 1 => self.trees.len() - 1,
                _ => self.begin_sidechain(head),
            };
        }
        self.begin_sidechain(head)
    }

    fn begin_sidechain(&mut self, head: &Head<'_>) -> usize {
        let parent = self.trees[0].session.id.clone();
        let name = head.uuid.as_ref().map_or_else(|| self.trees.len().to_string(), |uuid| uuid.to_str().into_owned());
        let mut child = Gathering::new(Agent::Claude, format!("{parent}/{name}"));
        child.session.parent = Some(parent);
        self.trees.push(child);
        self.trees.len() - 1
    }

    fn digest(&self, line: &TreeLine<'_>, part: &[u8]) -> u64 {
        let gathering = &self.trees[line.tree];
        match &line.head.uuid {
            Some(uuid) => gathering.digest(uuid.as_wtf8(), part),
            None => gathering.digest(&line.at.place.offset.to_le_bytes(), part),
        }
    }

    fn add(&mut self, line: &TreeLine<'_>, kind: NodeKind) -> u32 {
        let digest = self.digest(line, b"");
        self.trees[line.tree].push(digest, line.at, kind)
    }

    fn answer(&mut self, line: &TreeLine<'_>) -> u32 {
        let message = line.value.get("message").unwrap_or(Raw::NULL);
        let [id, content] = message.pick(["id", "content"]);
        let response = id.and_then(Raw::as_text).map(|id| {
            let request = line.value.get("requestId").and_then(Raw::as_text).unwrap_or_else(|| "".into());
            key(&[id.as_wtf8(), b"\0", request.as_wtf8(), &line.tree.to_le_bytes()].concat())
        });
        let known = response.and_then(|response| self.answers.get(&response).copied());
        let node = if let Some(node) = known {
            self.trees[line.tree].session.extend(node, line.at.place);
            node
        } else {
            self.add(line, NodeKind::Answer { first_call: 0, n_calls: 0 })
        };
        if let Some(response) = response {
            self.answers.insert(response, node);
        }
        let gathering = &mut self.trees[line.tree];
        for block in content.into_iter().flat_map(Raw::items) {
            let [kind, id, name, signature] = block.pick(["type", "id", "name", "signature"]);
            let kind = kind.and_then(Raw::as_string).unwrap_or_default();
            match kind.as_str() {
                "tool_use" => {
                    gathering.call(node, &string(id), &string(name));
                }
                "thinking" if signature.is_some_and(Raw::is_truthy) => gathering.session.losses.add("signatures"),
                "text" | "thinking" => {}
                "redacted_thinking" => gathering.session.losses.add("hidden thoughts"),
                _ => gathering.session.losses.add("blocks of other types"),
            }
        }
        node
    }

    fn user(&mut self, line: &TreeLine<'_>) -> u32 {
        let [message, is_meta, is_summary, structured] =
            line.value.pick(["message", "isMeta", "isCompactSummary", "toolUseResult"]);
        let content = message.and_then(|message| message.get("content")).unwrap_or(Raw::NULL);
        if is_summary.is_some_and(Raw::is_truthy) {
            return self.summary(line);
        }
        let (last, has_rest) = self.results(line, content);
        if last.is_some() && structured.is_some_and(|value| value.shape() == Shape::Object) {
            self.trees[line.tree].session.losses.add("structured results");
        }
        if let Some(last) = last.filter(|_| !has_rest) {
            return last;
        }
        let at = At { link: last.map_or(line.at.link, Link::Node), ..line.at };
        let first_text = first_text(content);
        let tag = harness_tag(&first_text);
        if tag == Tag::ShellOutput
            && let Some(shell) = self.shell_before(line.tree, at.link)
        {
            self.trees[line.tree].session.extend(shell, at.place);
            return shell;
        }
        let kind = match tag {
            _ if is_meta.is_some_and(Raw::is_truthy) => NodeKind::Harness,
            Tag::None => NodeKind::User,
            Tag::ShellInput => NodeKind::Shell,
            Tag::ShellOutput | Tag::Other => NodeKind::Harness,
        };
        let digest = self.digest(line, if last.is_some() { b"rest" } else { b"" });
        let gathering = &mut self.trees[line.tree];
        if kind == NodeKind::User {
            gathering.session.prompted(&first_text);
        }
        let node = gathering.push(digest, at, kind);
        if let Some(added) = gathering.session.nodes.get_mut(node as usize) {
            added.part = REST;
        }
        node
    }

    /// Adds the results in a line of the user. Returns the last of them, and whether the line says anything else.
    fn results(&mut self, line: &TreeLine<'_>, content: Raw<'_>) -> (Option<u32>, bool) {
        let mut last = None;
        let mut has_rest = content.shape() != Shape::Array;
        for (part, block) in (0..).zip(content.items()) {
            let [kind, id] = block.pick(["type", "tool_use_id"]);
            if kind.and_then(Raw::as_text).is_none_or(|kind| kind != "tool_result") {
                has_rest = true;
                continue;
            }
            let id = id.and_then(Raw::as_string).unwrap_or_default();
            let digest = self.digest(line, &u32::to_le_bytes(part));
            last = Some(self.trees[line.tree].result(&id, digest, line.at, part));
        }
        (last, has_rest)
    }

    /// The shell command that a line is the output of: the node before, if it has no output yet.
    fn shell_before(&self, tree: usize, link: Link) -> Option<u32> {
        let Link::Key(parent) = link else { return None };
        let Some(Target::Node { tree: found, node }) = self.targets.get(&parent) else { return None };
        let before = self.trees[tree].session.nodes.get(*node as usize)?;
        let is_open = before.kind == NodeKind::Shell && before.first == before.last;
        (*found as usize == tree && is_open).then_some(*node)
    }

    /// The line where a compaction begins.
    fn boundary(&mut self, line: &TreeLine<'_>) -> u32 {
        let before = line.value.get("logicalParentUuid").and_then(Raw::as_text);
        let follows = match before {
            Some(before) => Link::Key(key(before.as_wtf8())),
            None => self.trees[line.tree].after_last(),
        };
        let first_kept = line.value.get("compactMetadata").and_then(|data| self.first_kept(line.tree, data));
        let digest = self.digest(line, b"");
        self.trees[line.tree].push(digest, At { link: follows, ..line.at }, NodeKind::Compaction { first_kept })
    }

    /// The first message that a compaction keeps.
    fn first_kept(&self, tree: usize, data: Raw<'_>) -> Option<u32> {
        let [messages, segment] = data.pick(["preservedMessages", "preservedSegment"]);
        let list = messages.map(|messages| messages.get("uuids").unwrap_or(messages));
        let first = list.and_then(|list| list.items().next()).map(|first| first.get("uuid").unwrap_or(first));
        let first = first.or_else(|| segment.and_then(|segment| segment.get("headUuid")))?;
        match self.targets.get(&key(first.as_text()?.as_wtf8()))? {
            Target::Node { tree: found, node } if *found as usize == tree => Some(*node),
            _ => None,
        }
    }

    /// The summary of a compaction: it belongs to the boundary before it.
    fn summary(&mut self, line: &TreeLine<'_>) -> u32 {
        let tree = line.tree;
        let boundary = match line.at.link {
            Link::Key(parent) => match self.targets.get(&parent) {
                Some(Target::Node { tree: found, node }) if *found as usize == tree => Some(*node),
                _ => None,
            },
            _ => None,
        };
        let is_open = |node: &u32| {
            let node = self.trees[tree].session.nodes.get(*node as usize);
            node.is_some_and(|node| matches!(node.kind, NodeKind::Compaction { .. }) && node.first == node.last)
        };
        if let Some(boundary) = boundary.filter(is_open) {
            self.trees[tree].session.extend(boundary, line.at.place);
            return boundary;
        }
        let follows = if line.at.link == Link::Root { self.trees[tree].after_last() } else { line.at.link };
        let digest = self.digest(line, b"");
        self.trees[tree].push(digest, At { link: follows, ..line.at }, NodeKind::Compaction { first_kept: None })
    }
}

impl Format for Survey {
    fn line(&mut self, value: Raw<'_>, place: Place) {
        self.any_line(value, place);
    }

    fn session(&mut self) -> &mut ForeignSession {
        &mut self.main().session
    }

    fn finish(mut self: Box<Self>) -> Vec<ForeignSession> {
        if let Some((_, text)) = self.summaries.iter().rev().find(|(leaf, _)| self.targets.contains_key(leaf)) {
            let text = text.clone();
            self.main().session.entitle(&text, TitleSource::Generated);
        }
        let mut skipped = Resolver { targets: &self.targets, known: FxHashMap::default() };
        let n_main = self.trees.first().map_or(0, |tree| tree.session.nodes.len());
        let leaf = self.leaf.filter(|(_, n_nodes)| *n_nodes == n_main);
        let leaf = leaf.and_then(|(leaf, _)| skipped.find(leaf, 0));
        let mut sessions = Vec::new();
        for (tree, mut gathering) in (0..).zip(self.trees) {
            let keys: Vec<u64> = gathering
                .links
                .iter()
                .filter_map(|link| match link {
                    Link::Key(key) => Some(*key),
                    _ => None,
                })
                .collect();
            let found: FxHashMap<u64, Option<u32>> =
                keys.into_iter().map(|key| (key, skipped.find(key, tree))).collect();
            if tree == 0 {
                gathering.session.leaf = leaf;
            }
            sessions.push(gathering.finish(&|key| found.get(&key).copied().flatten()));
        }
        sessions
    }
}

/// Finds the nodes that keys stand for, through lines that are not kept.
struct Resolver<'t> {
    targets: &'t FxHashMap<u64, Target>,
    /// What was found for lines that are not kept.
    known: FxHashMap<u64, Option<(u32, u32)>>,
}

impl Resolver<'_> {
    fn find(&mut self, key: u64, tree: u32) -> Option<u32> {
        let mut passed = Vec::new();
        let mut at = key;
        let found = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            match self.targets.get(&at) {
                Some(Target::Node { tree, node }) => break Some((*tree, *node)),
                Some(Target::Skipped(Link::Key(parent))) => {
                    passed.push(at);
                    // A loop of lines that are not kept leads nowhere.
                    self.known.insert(at, None);
                    at = *parent;
                }
                _ => break None,
            }
        };
        for key in passed {
            self.known.insert(key, found);
        }
        found.filter(|(found, _)| *found == tree).map(|(_, node)| node)
    }
}

/// Notes what a line says about the session as a whole.
fn note_surroundings(session: &mut ForeignSession, head: &Head<'_>) {
    if session.cwd.is_none() {
        session.cwd = head.cwd.as_ref().map(|cwd| cwd.to_str().into_owned());
    }
    if session.version.is_none() {
        session.version = head.version.as_ref().map(|version| version.to_str().into_owned());
    }
}

/// The first text of a message, up to some length.
fn first_text(content: Raw<'_>) -> String {
    let text = match content.shape() {
        Shape::Array => content
            .items()
            .find(|block| block.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "text"))
            .and_then(|block| block.get("text")),
        _ => Some(content),
    };
    beginning(string(text))
}
