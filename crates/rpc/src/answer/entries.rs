//! Entries, messages and what was appended.

use sessile::entry::Entry;
use sessile::header::Header;
use sessile::json::{JsText, Json};
use sessile::label::Label;
use sessile::write::Durable;
use sessile::{EntryId, SessionError, SessionManager};

use super::{object, put_id_or_null, put_string};

/// The answer to a write: `{entryId, leafId, durable}`.
pub fn written(entry: &EntryId, leaf: Option<&EntryId>, durable: Durable) -> Json {
    object(|out| {
        out.text("entryId", entry.as_text());
        put_id_or_null(out, "leafId", leaf);
        out.string("durable", durable.as_str());
    })
}

/// An entry that the command line has appended: `{entryId, leafId, parentId, sessionPath, durable}`.
///
/// In a dry run `entry` is `None`, and the answer is `{dryRun, parentId, sessionPath}`.
pub fn appended(session: &SessionManager, entry: Option<&EntryId>, parent: Option<&EntryId>) -> Json {
    object(|out| {
        match entry {
            Some(id) => {
                let leaf = session.leaf_id();
                out.text("entryId", id.as_text()).text("leafId", leaf.as_ref().unwrap_or(id).as_text());
            }
            None => {
                out.bool("dryRun", true);
            }
        }
        put_id_or_null(out, "parentId", parent);
        let path = session.session_file().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        out.string("sessionPath", &path);
        if entry.is_some() {
            let durable = session.last_acknowledgement().map_or("memory", |acknowledged| acknowledged.durable.as_str());
            out.string("durable", durable);
        }
    })
}

/// A context edit of the command line: `{entryId, targetId}`.
///
/// In a dry run `entry` is `None`, and the answer is `{dryRun, targetId}`.
pub fn context_edited(entry: Option<&EntryId>, target: &EntryId) -> Json {
    object(|out| {
        match entry {
            Some(id) => out.text("entryId", id.as_text()),
            None => out.bool("dryRun", true),
        };
        out.text("targetId", target.as_text());
    })
}

/// Some entries: `{entries}`.
pub fn entries(entries: &[Entry]) -> Json {
    object(|out| {
        out.array("entries", entries.iter().map(Entry::raw));
    })
}

/// The answer of pi's `get_entries`, as JSON text: `{entries, leafId}`. Skips the first `n_skipped` entries.
///
/// Reads one entry at a time, so that memory holds only one copy.
pub fn entries_and_leaf(session: &SessionManager, n_skipped: usize) -> Result<Vec<u8>, SessionError> {
    let mut data = b"{\"entries\":[".to_vec();
    for (index, entry) in session.entries_from(n_skipped).enumerate() {
        if index > 0 {
            data.push(b',');
        }
        data.extend_from_slice(entry?.raw().as_bytes());
    }
    data.push(b']');
    end_with_leaf(&mut data, session);
    Ok(data)
}

/// Adds the leaf as the last member of an object.
pub(super) fn end_with_leaf(data: &mut Vec<u8>, session: &SessionManager) {
    let leaf = object(|out| put_id_or_null(out, "leafId", session.leaf_id().as_ref()));
    data.push(b',');
    data.extend_from_slice(&leaf.raw().as_bytes()[1..]);
}

/// One entry: `{entry?}`.
pub fn entry(entry: Option<&Entry>) -> Json {
    object(|out| {
        out.optional("entry", entry.map(Entry::raw));
    })
}

/// The answer of `get_label`: `{label?}`.
pub fn label(label: Option<&str>) -> Json {
    object(|out| put_string(out, "label", label))
}

/// The label of an entry as the command line prints it: `{entryId, label?}`.
pub fn entry_label(entry: &EntryId, label: Option<&str>) -> Json {
    object(|out| {
        out.text("entryId", entry.as_text());
        put_string(out, "label", label);
    })
}

/// A labelled entry in a list of the command line: `{entryId, label, timestamp?}`.
pub fn labelled_entry(id: &EntryId, label: &Label) -> Json {
    object(|out| {
        out.text("entryId", id.as_text()).raw("label", label.value.raw());
        out.optional("timestamp", label.timestamp.as_ref().map(Json::raw));
    })
}

/// The header of a session: `{header}`.
pub fn header(header: &Header) -> Json {
    object(|out| {
        out.raw("header", header.json().raw());
    })
}

/// The answer of pi's `get_messages`, as JSON text: `{messages}`, the messages of the context at the leaf.
///
/// Reads one message at a time, so that memory holds only one copy.
pub fn messages(session: &SessionManager) -> Result<Vec<u8>, SessionError> {
    let rows = session.context_rows()?;
    let n_bytes: u64 = rows.iter().map(|row| session.outline().span(*row).len).sum();
    let mut data = b"{\"messages\":[".to_vec();
    // A message is no longer than its line, except for text that edits and summaries add.
    data.reserve(usize::try_from(n_bytes).unwrap_or_default());
    let mut is_first = true;
    session.each_message(&rows, &mut |message| {
        if !std::mem::take(&mut is_first) {
            data.push(b',');
        }
        data.extend_from_slice(message.as_bytes());
    })?;
    data.extend_from_slice(b"]}");
    Ok(data)
}

/// The context before all entries, like `SessionContext::to_json`: `{messages, thinkingLevel, model}`.
pub fn no_context() -> Json {
    object(|out| {
        out.array("messages", []).string("thinkingLevel", "off").null("model");
    })
}

/// The answer of pi's `get_last_assistant_text`: `{text?}`.
pub fn last_answer(text: Option<&JsText<'_>>) -> Json {
    object(|out| {
        if let Some(text) = text {
            out.text("text", text);
        }
    })
}
