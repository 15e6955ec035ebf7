//! Reading a session.

use sessile_core::archive::Archive;
use sessile_core::compaction::collect_abandoned;
use sessile_core::context::{self, Projected, ReadContext, SessionContext};
use sessile_core::date::Timestamp;
use sessile_core::diagnostic::Diagnostic;
use sessile_core::entry::{Entry, js_time};
use sessile_core::head::{Kind, Role};
use sessile_core::header::Header;
use sessile_core::json::{Json, Raw};
use sessile_core::label::{Label, Labels};
use sessile_core::llm;
use sessile_core::message::{AssistantMessage, Message};
use sessile_core::outline::{Outline, Row};
use sessile_core::tree::{self, BranchPoint, BranchStatistics};
use sessile_core::{EntryId, SessionId};

use super::SessionManager;
use crate::environment::Zone;
use crate::error::SessionError;

/// One node of the tree, in pre-order: see [`SessionManager::tree`].
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// The entry's row, for [`SessionManager::entry_at`].
    pub row: Row,
    /// The entry's id.
    pub id: Option<EntryId>,
    /// The number of ancestors.
    pub depth: usize,
    /// Its label. Boxed, since few entries have one.
    pub label: Option<Box<Label>>,
    /// Whether an archived branch begins here.
    pub is_archived: bool,
    /// Whether the entry is on the path to the leaf.
    pub on_path: bool,
    /// Whether the entry appears more than once in the tree, because two lines share its id.
    pub repeated: bool,
}

/// A compaction in a session's history.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionRecord {
    /// The compaction's entry.
    pub id: EntryId,
    /// Whether it is on the path to the leaf.
    pub on_path: bool,
    /// The number of tokens in the context before it.
    pub tokens_before: Option<f64>,
    /// Its time.
    pub time: Option<Timestamp>,
    /// The first entry it keeps.
    pub first_kept_entry_id: Option<EntryId>,
}

/// A session's relations to others, as recorded in its own file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkLinks {
    /// The session's id.
    pub id: SessionId,
    /// The file it was forked from.
    pub parent_session: Option<String>,
    /// Its branch summaries: each names an abandoned branch and the place where work continued.
    pub left_branches: Vec<LeftBranch>,
}

/// A branch that was abandoned with a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBranch {
    /// The summary.
    pub summary_id: EntryId,
    /// The abandoned leaf as stored in the file: an id, or `root`.
    pub from: Option<EntryId>,
    /// The entry at which work continued.
    pub onto: Option<EntryId>,
}

impl SessionManager {
    /// The session's id.
    pub fn session_id(&self) -> SessionId {
        self.session.header.id()
    }

    /// The session's header.
    pub fn header(&self) -> &Header {
        &self.session.header
    }

    /// The version stored in the file.
    pub fn stored_version(&self) -> String {
        self.session.stored_version()
    }

    /// Everything unusual about the file.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.session.outline.diagnostics()
    }

    /// Why the active branch starts too late, if damage has cut off its beginning.
    ///
    /// An unreadable line cuts off everything before it: the next entry then
    /// names a parent that does not exist.
    pub fn cut_off(&self) -> Option<Diagnostic> {
        let first = self.session.leaf_path().first().copied()?;
        self.session.outline.cut_off(first)
    }

    /// The outline: the position of every entry and the tree they form.
    pub fn outline(&self) -> &Outline {
        &self.session.outline
    }

    /// The id of the leaf; `None` before all entries.
    pub fn leaf_id(&self) -> Option<EntryId> {
        self.session.leaf_id()
    }

    /// The id of the file's last entry, as far as it has been read; `None` in a session without entries.
    ///
    /// This is the leaf of a session that was just opened. The leaf moves with [`branch`](Self::branch); this does
    /// not. [`append_if_last`](Self::append_if_last) compares it.
    pub fn last_id(&self) -> Option<EntryId> {
        self.session.outline.leaf().and_then(|row| self.session.outline.id(row))
    }

    /// The row of the leaf; `None` before all entries.
    pub fn leaf_row(&self) -> Option<Row> {
        self.session.leaf
    }

    /// The leaf's entry.
    pub fn leaf_entry(&self) -> Result<Option<Entry>, SessionError> {
        self.session.leaf.map(|leaf| self.entry_at(leaf)).transpose()
    }

    /// The entry with this id.
    pub fn entry(&self, id: impl Into<EntryId>) -> Result<Option<Entry>, SessionError> {
        self.session.outline.find(&id.into()).map(|row| self.entry_at(row)).transpose()
    }

    /// The entry of a row. A row is valid for the session it came from, while the manager has that session open.
    pub fn entry_at(&self, row: Row) -> Result<Entry, SessionError> {
        if row.index() >= self.session.outline.rows().len() {
            return Err(SessionError::StaleRow { row: row.index() });
        }
        self.session.value(row).map(Entry::new)
    }

    /// All entries in file order, read one at a time.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry, SessionError>> + '_ {
        let mut rows = self.session.reading();
        self.session.outline.entries().map(move |row| rows.value(row).map(Entry::new))
    }

    /// The entries of some rows, read one at a time; file order is fastest.
    ///
    /// Rows belong to the session they came from, as in [`entry_at`](Self::entry_at).
    pub fn entries_of<'m>(
        &'m self,
        rows: impl IntoIterator<Item = Row> + 'm,
    ) -> impl Iterator<Item = (Row, Result<Entry, SessionError>)> + 'm {
        let mut reading = self.session.reading();
        let n_rows = self.session.outline.rows().len();
        rows.into_iter().map(move |row| {
            let is_known = row.index() < n_rows;
            let value = if is_known { reading.value(row) } else { Err(SessionError::StaleRow { row: row.index() }) };
            (row, value.map(Entry::new))
        })
    }

    /// All entries after the first `n_skipped`, in file order, read one at a time.
    pub fn entries_from(&self, n_skipped: usize) -> impl Iterator<Item = Result<Entry, SessionError>> + '_ {
        let mut rows = self.session.reading();
        self.session.outline.entries().skip(n_skipped).map(move |row| rows.value(row).map(Entry::new))
    }

    /// The number of distinct entry ids.
    pub fn entry_count(&self) -> usize {
        self.session.outline.n_ids()
    }

    /// The rows from the root to the leaf; empty if the leaf is before all entries.
    pub fn path(&self) -> Vec<Row> {
        self.session.leaf_path()
    }

    /// The rows from the root to an entry. Fails if the entry does not exist.
    pub fn path_to(&self, id: &EntryId) -> Result<Vec<Row>, SessionError> {
        Ok(self.session.outline.path(self.require(id)?))
    }

    /// The entries from the root to the leaf: pi's `getBranch`.
    pub fn branch_path(&self) -> Result<Vec<Entry>, SessionError> {
        self.branch_entries().collect()
    }

    /// The entries from the root to an entry. Fails if the entry does not exist.
    pub fn branch_path_to(&self, id: &EntryId) -> Result<Vec<Entry>, SessionError> {
        self.branch_entries_to(id)?.collect()
    }

    /// Like [`branch_path`](Self::branch_path), read one at a time so that a path of any length takes little memory.
    pub fn branch_entries(&self) -> impl Iterator<Item = Result<Entry, SessionError>> + use<'_> {
        self.entries_on(self.path())
    }

    /// Like [`branch_path_to`](Self::branch_path_to), read one at a time.
    pub fn branch_entries_to(
        &self,
        id: &EntryId,
    ) -> Result<impl Iterator<Item = Result<Entry, SessionError>> + use<'_>, SessionError> {
        Ok(self.entries_on(self.path_to(id)?))
    }

    fn entries_on(&self, rows: Vec<Row>) -> impl Iterator<Item = Result<Entry, SessionError>> + use<'_> {
        let mut reading = self.session.reading();
        rows.into_iter().map(move |row| reading.value(row).map(Entry::new))
    }

    /// The last entry that the paths to two entries share; `None` if they have different roots.
    ///
    /// This is one of the two if the other is below it. Fails if an entry does not exist.
    ///
    /// ```text
    ///   a ─ b ─ c     merge_base(c, d) is b
    ///       └─ d      merge_base(b, d) is b
    /// ```
    pub fn merge_base(&self, one: &EntryId, other: &EntryId) -> Result<Option<EntryId>, SessionError> {
        let (one, other) = (self.require(one)?, self.require(other)?);
        let left = collect_abandoned(&self.session.outline, Some(one), other);
        Ok(left.common_ancestor.and_then(|row| self.session.outline.id(row)))
    }

    /// The entries whose parent is `null`. An entry whose parent is missing is not among them.
    pub fn roots(&self) -> Result<Vec<Entry>, SessionError> {
        self.children_of(None)
    }

    /// The entries with this parent: pi's `getChildren`. Fails if the parent does not exist.
    pub fn children(&self, parent: &EntryId) -> Result<Vec<Entry>, SessionError> {
        self.require(parent)?;
        self.children_of(Some(parent))
    }

    fn children_of(&self, parent: Option<&EntryId>) -> Result<Vec<Entry>, SessionError> {
        self.session.outline.children(parent).into_iter().map(|row| self.entry_at(row)).collect()
    }

    /// The whole tree in pre-order: parents before children, siblings by time, roots in file order.
    pub fn tree(&self) -> Result<Vec<TreeNode>, SessionError> {
        let outline = &self.session.outline;
        let (labels, archive) = (self.session.labels()?, self.session.archive()?);
        let on_path = self.on_path();
        let mut nodes = Vec::with_capacity(outline.n_entries());
        self.walk_tree(|node| {
            let id = outline.id(node.row);
            let label = id.as_ref().and_then(|id| labels.get(id));
            nodes.push(TreeNode {
                row: node.row,
                label: label.cloned().map(Box::new),
                is_archived: id.as_ref().is_some_and(|id| archive.has_branch(id)),
                id,
                depth: node.depth,
                on_path: on_path[node.row.index()],
                repeated: node.repeated,
            });
        })?;
        Ok(nodes)
    }

    /// Which of the [nodes](Self::tree) a filter shows: without a filter, all that match the query.
    ///
    /// Passes each answer to `on_answer`, shown or not, because its tool calls name the results after it.
    pub fn shown_nodes(
        &self,
        nodes: &[TreeNode],
        filter: Option<tree::Filter>,
        query: &tree::TreeQuery,
        on_answer: &mut dyn FnMut(AssistantMessage<'_>),
    ) -> Result<Vec<bool>, SessionError> {
        let outline = &self.session.outline;
        let leaf = self.leaf_id();
        let mut is_shown = Vec::with_capacity(nodes.len());
        for node in nodes {
            let (kind, role) = (outline.kind(node.row), outline.role(node.row));
            let is_answer = kind == Kind::Message && role == Role::Assistant;
            let is_admitted = filter.is_none_or(|filter| filter.admits(kind, role, node.label.is_some()));
            if !is_answer && (!is_admitted || query.is_anything()) {
                is_shown.push(is_admitted);
                continue;
            }
            let entry = self.entry_at(node.row)?;
            let mut is_silent = false;
            if let Some(Message::Assistant(answer)) = entry.message() {
                on_answer(answer);
                is_silent = filter.is_some() && tree::is_silent(answer);
            }
            let is_leaf = node.id.is_some() && node.id == leaf;
            let label = node.label.as_ref().map(|label| label.text());
            is_shown.push(is_admitted && (!is_silent || is_leaf) && query.matches(&entry, label.as_deref()));
        }
        Ok(is_shown)
    }

    /// Visits the nodes of [`tree`](Self::tree) one at a time: their positions only.
    pub fn walk_tree(&self, visit: impl FnMut(tree::Node)) -> Result<(), SessionError> {
        let zone = Zone(self.world.environment());
        let mut odd_time = |row| {
            let value = self.session.value(row)?;
            Ok::<_, SessionError>(js_time(value.raw().get("timestamp"), &zone))
        };
        tree::walk(&self.session.outline, &mut odd_time, visit)
    }

    /// For each row, whether it is on the path to the leaf.
    fn on_path(&self) -> Vec<bool> {
        let mut on_path = vec![false; self.session.outline.rows().len()];
        for row in self.session.leaf_path() {
            on_path[row.index()] = true;
        }
        on_path
    }

    /// The label of an entry.
    pub fn label(&self, id: impl Into<EntryId>) -> Result<Option<String>, SessionError> {
        self.session.label(&id.into())
    }

    /// The labels of all entries.
    pub fn labels(&self) -> Result<&Labels, SessionError> {
        self.session.labels()
    }

    /// What is archived: the session, or some of its branches.
    pub fn archive(&self) -> Result<&Archive, SessionError> {
        self.session.archive()
    }

    /// Every labelled entry, in file order.
    pub fn labelled(&self) -> Result<Vec<(EntryId, Label)>, SessionError> {
        let labels = self.session.labels()?;
        let outline = &self.session.outline;
        let current = outline.entries().filter(|row| outline.current(*row) == *row);
        let labelled = current.filter_map(|row| outline.id(row)).filter_map(|id| {
            let label = labels.get(&id).cloned()?;
            Some((id, label))
        });
        Ok(labelled.collect())
    }

    /// Fails if the session can never be written to.
    pub fn check_writable(&self) -> Result<(), SessionError> {
        if self.world.is_read_only {
            return Err(SessionError::ReadOnly);
        }
        self.session.check_writable()
    }

    /// The most recent name of the session, from any branch.
    pub fn session_name(&self) -> Result<Option<String>, SessionError> {
        self.session.name()
    }

    /// The rows that make up the context at the leaf, in context order.
    pub fn context_rows(&self) -> Result<Vec<Row>, SessionError> {
        context::select(&self.session.outline, &self.session.leaf_path(), &mut |row| self.session.value(row))
    }

    /// The entries that make up the context at the leaf: pi's `buildContextEntries`.
    pub fn build_context_entries(&self) -> Result<Vec<Entry>, SessionError> {
        let mut rows = self.session.reading();
        self.context_rows()?.into_iter().map(|row| rows.value(row).map(Entry::new)).collect()
    }

    /// Like [`build_context_entries`](Self::build_context_entries), at another entry.
    pub fn build_context_entries_at(&self, leaf: impl Into<EntryId>) -> Result<Vec<Entry>, SessionError> {
        let path = self.session.outline.path(self.require(&leaf.into())?);
        let selected = context::select(&self.session.outline, &path, &mut |row| self.session.value(row))?;
        let mut rows = self.session.reading();
        selected.into_iter().map(|row| rows.value(row).map(Entry::new)).collect()
    }

    /// The context's entries, each with the messages it contributes: pi's `buildSessionProjection`.
    pub fn build_session_projection(&self) -> Result<Vec<Projected>, SessionError> {
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        context::project(&self.session.outline, &rows, &zone, &mut reading)
    }

    /// What the model would see at the leaf: pi's `buildSessionContext`.
    pub fn build_session_context(&self) -> Result<SessionContext, SessionError> {
        self.context_of(&self.session.leaf_path())
    }

    /// What the model would see at another entry.
    pub fn build_session_context_at(&self, leaf: impl Into<EntryId>) -> Result<SessionContext, SessionError> {
        let row = self.require(&leaf.into())?;
        self.context_of(&self.session.outline.path(row))
    }

    fn context_of(&self, path: &[Row]) -> Result<SessionContext, SessionError> {
        let zone = Zone(self.world.environment());
        let mut rows = self.session.reading();
        context::build(&self.session.outline, path, &zone, &mut rows)
    }

    /// The messages of the context in the form that models take: pi's `convertToLlm`.
    pub fn llm_messages(&self) -> Result<Vec<Json>, SessionError> {
        let context = self.build_session_context()?;
        Ok(llm::convert(context.messages.iter().map(Json::raw)))
    }

    /// Like [`llm_messages`](Self::llm_messages), at another entry.
    pub fn llm_messages_at(&self, leaf: impl Into<EntryId>) -> Result<Vec<Json>, SessionError> {
        let context = self.build_session_context_at(leaf)?;
        Ok(llm::convert(context.messages.iter().map(Json::raw)))
    }

    /// All entries at which the session branches.
    pub fn branch_points(&self) -> Vec<BranchPoint> {
        tree::branch_points(&self.session.outline)
    }

    /// Statistics about the shape of the tree.
    pub fn branch_statistics(&self) -> BranchStatistics {
        tree::branch_statistics(&self.session.outline, self.session.leaf)
    }

    /// All compactions of the session, in file order.
    pub fn compactions(&self) -> Result<Vec<CompactionRecord>, SessionError> {
        let outline = &self.session.outline;
        let on_path = self.on_path();
        let zone = Zone(self.world.environment());
        let rows = outline.entries().filter(|row| outline.kind(*row) == Kind::Compaction);
        let mut records = Vec::new();
        for row in rows.filter(|row| outline.current(*row) == *row) {
            let Some(id) = outline.id(row) else { continue };
            let value = self.session.value(row)?;
            let field = |key| value.raw().get(key);
            records.push(CompactionRecord {
                id,
                on_path: on_path[row.index()],
                tokens_before: field("tokensBefore").and_then(Raw::as_number),
                time: js_time(field("timestamp"), &zone),
                first_kept_entry_id: field("firstKeptEntryId").and_then(Raw::as_text).map(EntryId::from),
            });
        }
        Ok(records)
    }

    /// The session's relations to others.
    pub fn fork_links(&self) -> Result<ForkLinks, SessionError> {
        let header = self.header();
        let outline = &self.session.outline;
        let mut left_branches = Vec::new();
        for row in outline.entries().filter(|row| outline.kind(*row) == Kind::BranchSummary) {
            let Some(summary_id) = outline.id(row) else { continue };
            let from = self.session.value(row)?.raw().get("fromId").and_then(Raw::as_text).map(EntryId::from);
            left_branches.push(LeftBranch { summary_id, from, onto: outline.parent_id(row) });
        }
        Ok(ForkLinks { id: header.id(), parent_session: header.parent_session(), left_branches })
    }
}
