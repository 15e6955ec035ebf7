//! The tree of a session.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sessile::branch::TreeNode;
use sessile::format::outline::Row;

use crate::entry::{EntryFacts, PyEntry};
use crate::open_session::OpenSession;
use crate::records::record;
use crate::value::text;

/// A leaf of the tree.
struct Leaf {
    row: Row,
    facts: EntryFacts,
    depth: usize,
    is_current: bool,
}

/// All branches, each by its last entry, in the order of the tree.
pub(crate) fn branches<'py>(py: Python<'py>, session: &Arc<OpenSession>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let leaves = session.read(py, |manager| {
        let outline = manager.outline();
        let current = manager.leaf_id().and_then(|id| outline.find(&id));
        // In pre-order, an entry is a leaf if the next one is not below it.
        let (mut leaves, mut previous) = (Vec::new(), None);
        manager.walk_tree(|node| {
            let before = previous.replace((node.row, node.depth));
            leaves.extend(before.filter(|(_, depth)| *depth >= node.depth));
        })?;
        leaves.extend(previous);
        let leaf =
            |(row, depth)| Leaf { row, facts: EntryFacts::of(outline, row), depth, is_current: Some(row) == current };
        Ok(leaves.into_iter().map(leaf).collect::<Vec<_>>())
    })?;
    let branch = |leaf: Leaf| {
        let entry = PyEntry::stored(Arc::clone(session), leaf.row, leaf.facts);
        record!(py, "Branch", leaf: entry, length: leaf.depth + 1, current: leaf.is_current)
    };
    leaves.into_iter().map(branch).collect()
}

/// The whole tree: parents before children.
pub(crate) fn tree<'py>(py: Python<'py>, session: &Arc<OpenSession>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let nodes = session.read(py, |manager| {
        let (nodes, outline) = (manager.tree()?, manager.outline());
        Ok(nodes.into_iter().map(|node| (EntryFacts::of(outline, node.row), node)).collect::<Vec<_>>())
    })?;
    let node = |(facts, node): (EntryFacts, TreeNode)| {
        record!(py, "TreeNode",
            entry: PyEntry::stored(Arc::clone(session), node.row, facts),
            depth: node.depth,
            label: node.label.as_ref().map(|label| label.text()),
            on_path: node.on_path,
            archived: node.is_archived,
        )
    };
    nodes.into_iter().map(node).collect()
}

/// The labels by the ids of their entries, in file order.
pub(crate) fn labels<'py>(py: Python<'py>, session: &Arc<OpenSession>) -> PyResult<Bound<'py, PyDict>> {
    let labels = PyDict::new(py);
    for (id, label) in session.read(py, |manager| manager.labelled())? {
        labels.set_item(text(py, &id.as_text())?, label.text())?;
    }
    Ok(labels)
}
