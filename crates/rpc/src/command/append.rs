//! Commands that add entries.

use sessile::branch::BranchSummary;
use sessile::compaction::{Compaction, UsageNote};
use sessile::json::{Json, Raw};
use sessile::{EntryId, SessionError, SessionManager};

use super::state::report_name;
use super::titles::after_answer;
use super::{Call, CommandResult, answered};
use crate::answer;
use crate::failure::Failure;

/// Adds an entry to the session of the call, and answers with what was written.
fn write(call: &Call<'_>, write: impl FnOnce(&mut SessionManager) -> Result<EntryId, SessionError>) -> CommandResult {
    let expected = call.expected_leaf();
    let written = call.session()?.write(&expected, write)?;
    answered(answer::written(&written.value, written.leaf.as_ref(), written.durable))
}

/// Returns a required parameter.
fn required(call: &Call<'_>, name: &str) -> Result<Json, Failure> {
    call.json(name).ok_or_else(|| Failure::invalid(format!("{name} is missing")))
}

/// Returns a parameter; none if it is null.
fn non_null_parameter(call: &Call<'_>, name: &str) -> Option<Json> {
    call.json(name).filter(|value| !value.raw().is_null())
}

pub(crate) fn message(call: &Call<'_>) -> CommandResult {
    let message = required(call, "message")?;
    let ends_turn = ends_turn(message.raw());
    let session = call.session()?;
    let mut written = session.write(&call.expected_leaf(), |session| session.append_message(message))?;
    if ends_turn && let Some(leaf) = after_answer(call, &session) {
        written.leaf = Some(leaf);
    }
    answered(answer::written(&written.value, written.leaf.as_ref(), written.durable))
}

/// Whether a message is an answer after which it is the user's turn.
fn ends_turn(message: Raw<'_>) -> bool {
    let is = |key: &str, word: &str| message.get(key).and_then(Raw::as_string).as_deref() == Some(word);
    is("role", "assistant") && !is("stopReason", "toolUse")
}

pub(crate) fn thinking_level_change(call: &Call<'_>) -> CommandResult {
    let level = call.required("thinkingLevel")?;
    write(call, |session| session.append_thinking_level_change(&level))
}

pub(crate) fn model_change(call: &Call<'_>) -> CommandResult {
    let (provider, model) = (call.required("provider")?, call.required("modelId")?);
    write(call, |session| session.append_model_change(&provider, &model))
}

pub(crate) fn usage(call: &Call<'_>) -> CommandResult {
    let note = UsageNote {
        kind: call.required("kind")?,
        provider: call.required("provider")?,
        model: call.required("model")?,
        usage: required(call, "usage")?,
        note: call.text("note"),
    };
    write(call, |session| session.append_usage(&note))
}

pub(crate) fn compaction(call: &Call<'_>) -> CommandResult {
    let compaction = Compaction {
        summary: call.required("summary")?,
        first_kept_entry_id: call.entry("firstKeptEntryId"),
        tokens_before: call.get("tokensBefore").and_then(Raw::as_number).unwrap_or_default(),
        details: call.json("details"),
        from_hook: call.flag("fromHook"),
        usage: call.json("usage"),
    };
    if let Some(first_kept) = &compaction.first_kept_entry_id
        && call.session()?.lock_fresh().outline().find(first_kept).is_none()
    {
        return Err(SessionError::EntryNotFound { id: first_kept.clone() }.into());
    }
    write(call, |session| session.append_compaction(&compaction))
}

pub(crate) fn custom_entry(call: &Call<'_>) -> CommandResult {
    let (custom_type, data) = (call.required("customType")?, call.json("data"));
    write(call, |session| session.append_custom_entry(&custom_type, data.as_ref()))
}

pub(crate) fn custom_message_entry(call: &Call<'_>) -> CommandResult {
    let (custom_type, content) = (call.required("customType")?, required(call, "content")?);
    let (display, details) = (call.flag("display").unwrap_or_default(), call.json("details"));
    write(call, |session| session.append_custom_message_entry(&custom_type, content, display, details.as_ref()))
}

pub(crate) fn session_info(call: &Call<'_>) -> CommandResult {
    let name = call.required("name")?;
    let result = write(call, |session| session.append_session_info(&name))?;
    let session = call.session()?;
    let name = session.lock().session_name()?;
    report_name(call.client, &session, name.as_deref());
    Ok(result)
}

pub(crate) fn rename_session(call: &Call<'_>) -> CommandResult {
    session_info(call)
}

pub(crate) fn label_change(call: &Call<'_>) -> CommandResult {
    label(call, "targetId")
}

pub(crate) fn set_label(call: &Call<'_>) -> CommandResult {
    label(call, "entryId")
}

fn label(call: &Call<'_>, target: &str) -> CommandResult {
    let (target, label) = (call.required_entry(target)?, call.text("label"));
    write(call, |session| session.append_label_change(target, label.as_deref()))
}

pub(crate) fn archive(call: &Call<'_>) -> CommandResult {
    let (entry, is_archived) = (call.entry("entryId"), call.flag("archived").unwrap_or(true));
    write(call, |session| session.set_archived(entry.as_ref(), is_archived))
}

pub(crate) fn context_edit(call: &Call<'_>) -> CommandResult {
    let (target, replacement) = (call.required_entry("targetId")?, required(call, "replacement")?);
    write(call, |session| session.append_context_edit(target, &replacement))
}

pub(crate) fn branch_with_summary(call: &Call<'_>) -> CommandResult {
    let target = call.entry("entryId");
    let summary = BranchSummary {
        summary: call.required("summary")?,
        details: non_null_parameter(call, "details"),
        from_hook: call.flag("fromHook"),
        usage: non_null_parameter(call, "usage"),
    };
    write(call, |session| session.branch_with_summary(target.as_ref(), &summary))
}
