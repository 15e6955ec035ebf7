//! The tree of a session.

use sessile::branch::TreeNode;
use sessile::json::{Json, Raw};
use sessile::team::{Author, Authors};
use sessile::{SessionError, SessionManager};

use super::author::{attributed_entry, put_author};
use super::entries::end_with_leaf;
use super::{count, object, put_id_or_null};

/// Writes the whole tree, nested as in pi's `get_tree`: `[{entry, children, label?, labelTimestamp?}]`. With
/// `with_archived`, nodes in the archive also have `archived`. With `authors`, entries have their author, as in
/// [`attributed_entry`]. Returns the number of nodes.
///
/// `put` receives the text piece by piece, so that memory holds only one entry. Keeps a list of open nodes instead of
/// recursing, so depth costs memory and not stack.
pub fn write_tree<E: From<SessionError>>(
    session: &SessionManager,
    with_archived: bool,
    authors: Option<&Authors>,
    put: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<usize, E> {
    let nodes = session.tree()?;
    let mut open: Vec<&TreeNode> = Vec::new();
    put(b"[")?;
    for (n_before, node) in nodes.iter().enumerate() {
        let is_first_child = open.len() == node.depth;
        while open.len() > node.depth {
            open.pop().map_or(Ok(()), |done| end_node(done, with_archived, put))?;
        }
        if n_before > 0 && !is_first_child {
            put(b",")?;
        }
        put(br#"{"entry":"#)?;
        let entry = session.entry_at(node.row)?;
        match author_of(session, node, authors) {
            Some(author) => put(attributed_entry(entry.raw(), author).raw().as_bytes())?,
            None => put(entry.raw().as_bytes())?,
        }
        put(br#","children":["#)?;
        open.push(node);
    }
    open.into_iter().rev().try_for_each(|done| end_node(done, with_archived, put))?;
    put(b"]")?;
    Ok(nodes.len())
}

fn author_of<'a>(session: &SessionManager, node: &TreeNode, authors: Option<&'a Authors>) -> Option<&'a Author> {
    authors?.at(session.outline().span(node.row).offset)
}

fn end_node<E>(node: &TreeNode, with_archived: bool, put: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    put(b"]")?;
    if let Some(label) = &node.label {
        put(br#","label":"#)?;
        put(label.value.raw().as_bytes())?;
        if let Some(timestamp) = &label.timestamp {
            put(br#","labelTimestamp":"#)?;
            put(timestamp.raw().as_bytes())?;
        }
    }
    if with_archived && node.is_archived {
        put(br#","archived":true"#)?;
    }
    put(b"}")
}

/// The answer of pi's `get_tree`, as JSON text: `{tree, leafId}`.
pub fn tree_and_leaf(session: &SessionManager) -> Result<Vec<u8>, SessionError> {
    let mut data = b"{\"tree\":".to_vec();
    write_tree(session, false, None, &mut |text| {
        data.extend_from_slice(text);
        Ok::<_, SessionError>(())
    })?;
    end_with_leaf(&mut data, session);
    Ok(data)
}

/// An entry in a flat list of the tree:
/// `{id, parentId, depth, type, label?, labelTimestamp?, archived?, onPath, author?, authorDevice?}`; an absent id is
/// `null`.
pub fn tree_row(session: &SessionManager, node: &TreeNode, authors: Option<&Authors>) -> Result<Json, SessionError> {
    let outline = session.outline();
    let kind = match outline.kind(node.row).word() {
        Some(word) => Json::string(word),
        None => session.entry_at(node.row)?.raw().get("type").map_or_else(Json::null, Raw::to_json),
    };
    Ok(object(|out| {
        put_id_or_null(out, "id", node.id.as_ref());
        put_id_or_null(out, "parentId", outline.parent_id(node.row).as_ref());
        out.integer("depth", count(node.depth)).raw("type", kind.raw());
        if let Some(label) = &node.label {
            out.raw("label", label.value.raw()).optional("labelTimestamp", label.timestamp.as_ref().map(Json::raw));
        }
        if node.is_archived {
            out.bool("archived", true);
        }
        out.bool("onPath", node.on_path);
        if let Some(author) = author_of(session, node, authors) {
            put_author(out, author);
        }
    }))
}
