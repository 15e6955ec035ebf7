//! The tree in memory: a few bytes per entry, without texts.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use sessile::date::Timestamp;
use sessile::entry::{Entry, Payload};
use sessile::format::archive::fold_away;
use sessile::format::head::{Kind, Role};
use sessile::format::outline::Row;
use sessile::message::{Block, Message};
use sessile::tree::{Filter, is_silent};
use sessile::{EntryId, Environment, SessionError, SessionManager};
use sessile_display::drawing::{Drawing, Node};

/// The entries of a session in tree order.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) rows: Vec<Row>,
    depths: Vec<u32>,
    kinds: Vec<Kind>,
    roles: Vec<Role>,
    marks: Vec<Marks>,
    labels: HashMap<u32, Labelled>,
    /// The row of the leaf.
    pub(crate) leaf: Option<Row>,
    pub(crate) name: String,
    pub(crate) n_compactions: usize,
}

/// A label, and when it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labelled {
    pub(crate) label: String,
    pub(crate) time: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the entry")]
struct Marks {
    on_path: bool,
    is_repeated: bool,
    is_labelled: bool,
    /// Whether a compaction keeps the entries from here on.
    is_kept_from: bool,
    /// Whether an archived branch starts here.
    is_archived: bool,
}

impl Model {
    pub(crate) fn new(session: &SessionManager, environment: &dyn Environment) -> Result<Self, SessionError> {
        let outline = session.outline();
        let n_entries = outline.n_entries();
        let mut model = Self {
            rows: Vec::with_capacity(n_entries),
            depths: Vec::with_capacity(n_entries),
            kinds: Vec::with_capacity(n_entries),
            roles: Vec::with_capacity(n_entries),
            marks: Vec::with_capacity(n_entries),
            name: session.session_name()?.unwrap_or_default(),
            ..Self::default()
        };
        let leaf_path = session.path();
        model.leaf = session.leaf_id().and_then(|_| leaf_path.last().copied());
        let mut on_path = vec![false; outline.rows().len()];
        for row in leaf_path {
            on_path[row.index()] = true;
        }
        let compactions = session.compactions()?;
        model.n_compactions = compactions.len();
        let kept: HashSet<Row> =
            compactions.into_iter().filter_map(|it| outline.find(&it.first_kept_entry_id?)).collect();
        let archived: HashSet<Row> =
            session.archive()?.branches().into_iter().filter_map(|id| outline.find(id)).collect();
        session.walk_tree(|node| {
            let row = node.row;
            model.rows.push(row);
            model.depths.push(u32::try_from(node.depth).unwrap_or(u32::MAX));
            model.kinds.push(outline.kind(row));
            model.roles.push(outline.role(row));
            let is_kept_from = kept.contains(&row);
            model.marks.push(Marks {
                on_path: on_path[row.index()],
                is_repeated: node.repeated,
                is_labelled: false,
                is_kept_from,
                is_archived: archived.contains(&row),
            });
        })?;
        model.take_labels(session, environment)?;
        Ok(model)
    }

    fn take_labels(&mut self, session: &SessionManager, environment: &dyn Environment) -> Result<(), SessionError> {
        let outline = session.outline();
        let mut by_row: HashMap<Row, Labelled> = HashMap::new();
        for (id, label) in session.labels()?.iter() {
            let time = label.timestamp.as_ref().and_then(|time| sessile::time::time_of(environment, time.raw()));
            by_row.extend(outline.find(id).map(|row| (row, Labelled { label: label.text(), time })));
        }
        if by_row.is_empty() {
            return Ok(());
        }
        for (node, row) in (0_u32..).zip(&self.rows) {
            if let Some(label) = by_row.get(row) {
                self.marks[node as usize].is_labelled = true;
                self.labels.insert(node, label.clone());
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the row of an entry in a drawing, else of its nearest ancestor there, else the last row.
    pub(crate) fn nearest(&self, drawing: &Drawing, follow: Option<Row>) -> usize {
        let last = drawing.len().saturating_sub(1);
        let Some(node) = follow.and_then(|row| self.rows.iter().position(|it| *it == row)) else { return last };
        if let Some((at, _)) = drawing.rows().find(|(_, shown)| *shown == node) {
            return at;
        }
        let mut row_of: Vec<Option<usize>> = vec![None; node + 1];
        for (at, shown) in drawing.rows().filter(|(_, shown)| *shown <= node) {
            row_of[shown] = Some(at);
        }
        // In pre-order, the parent is the last node before it with a smaller depth.
        let mut ceiling = u32::MAX;
        for node in (0..=node).rev() {
            if self.depths[node] < ceiling {
                if let Some(at) = row_of[node] {
                    return at;
                }
                ceiling = self.depths[node];
            }
        }
        last
    }

    pub(crate) fn label(&self, node: usize) -> Option<&Labelled> {
        self.labels.get(&u32::try_from(node).ok()?)
    }

    pub(crate) fn is_labelled(&self, node: usize) -> bool {
        self.marks[node].is_labelled
    }

    pub(crate) fn is_on_path(&self, node: usize) -> bool {
        self.marks[node].on_path
    }

    pub(crate) fn is_kept_from(&self, node: usize) -> bool {
        self.marks[node].is_kept_from
    }

    pub(crate) fn is_archived(&self, node: usize) -> bool {
        self.marks[node].is_archived
    }

    /// Hides archived branches. Returns the nodes where they start, with the number of entries in each. The branch with
    /// the session's leaf is not hidden.
    pub(crate) fn hide_archived(&self, is_shown: &mut [bool]) -> HashMap<usize, usize> {
        let is_hidden = |marks: &Marks| marks.is_archived && !marks.on_path;
        if !self.marks.iter().any(is_hidden) {
            return HashMap::new();
        }
        let nodes = self.depths.iter().zip(&self.marks).map(|(depth, marks)| (*depth as usize, is_hidden(marks)));
        fold_away(nodes, is_shown)
    }

    /// Whether navigating there moves the leaf before the message and offers its text for editing.
    pub(crate) fn reopens_for_editing(&self, node: usize) -> bool {
        self.roles[node] == Role::User || self.kinds[node] == Kind::CustomMessage
    }

    fn is_answer(&self, node: usize) -> bool {
        self.kinds[node] == Kind::Message && self.roles[node] == Role::Assistant
    }

    /// Returns the rows of all answers in file order.
    pub(crate) fn answers(&self) -> Vec<Row> {
        let mut answers: Vec<Row> =
            (0..self.len()).filter(|node| self.is_answer(*node)).map(|node| self.rows[node]).collect();
        answers.sort_unstable();
        answers.dedup();
        answers
    }

    /// Returns which nodes a filter shows, as far as that is known without reading entries.
    pub(crate) fn admitted(&self, filter: Filter, survey: Option<&Survey>) -> Vec<bool> {
        (0..self.len())
            .map(|node| {
                let row = self.rows[node];
                let is_silent = self.is_answer(node)
                    && self.leaf != Some(row)
                    && survey.is_some_and(|survey| survey.is_silent(row));
                filter.admits(self.kinds[node], self.roles[node], self.marks[node].is_labelled) && !is_silent
            })
            .collect()
    }

    /// Returns the input for a drawing.
    pub(crate) fn nodes(&self, shown: &[bool]) -> Vec<Node> {
        let node = |(at, is_shown): (usize, &bool)| Node {
            depth: self.depths[at],
            is_first: self.marks[at].on_path && !self.marks[at].is_repeated,
            is_shown: *is_shown,
        };
        shown.iter().enumerate().map(node).collect()
    }
}

/// Facts that require reading entries: which answers are empty, and which answer made each tool call.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Indexed by row.
    silent: Vec<bool>,
    /// The answers by a hash of their tool call ids. The caller checks the answer, so collisions are harmless.
    calls: HashMap<u64, Row>,
}

impl Survey {
    pub(crate) fn for_rows(n_rows: usize) -> Self {
        Self { silent: vec![false; n_rows], calls: HashMap::new() }
    }

    pub(crate) fn take(&mut self, row: Row, entry: &Entry) {
        let Payload::Message(message) = entry.payload() else { return };
        let Some(Message::Assistant(answer)) = message.message() else { return };
        if let Some(slot) = self.silent.get_mut(row.index()) {
            *slot = is_silent(answer);
        }
        for block in answer.content().blocks() {
            if let Block::ToolCall(call) = block
                && let Some(id) = call.id()
            {
                self.calls.insert(digest(&id), row);
            }
        }
    }

    fn is_silent(&self, row: Row) -> bool {
        self.silent.get(row.index()).copied().unwrap_or_default()
    }

    /// Returns the answer that most likely made a tool call.
    pub(crate) fn caller(&self, call_id: &str) -> Option<Row> {
        self.calls.get(&digest(call_id)).copied()
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns the id of a row's entry.
pub(crate) fn id_of(session: &SessionManager, row: Row) -> Option<EntryId> {
    (row.index() < session.outline().rows().len()).then(|| session.outline().id(row)).flatten()
}
