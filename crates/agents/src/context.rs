//! What the program around a model has told it.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::agent::Agent;
use crate::body::text_block;
use crate::line::string;
use crate::{claude, codex, genai};

/// The blocks that a text of the program has for a model, as an array; `None` if it is only for the screen or for the
/// program itself.
pub(crate) fn content(agent: Agent, data: Raw<'_>) -> Option<Json> {
    let [kind, subtype, said, message, attachment] = data.pick(["type", "subtype", "content", "message", "attachment"]);
    match string(kind).as_str() {
        "system" if string(subtype) != "local_command" => return None,
        "info" | "error" | "warning" => return None,
        _ => {}
    }
    let said = said.or_else(|| message.and_then(|message| message.get("parts").or_else(|| message.get("content"))));
    let mut blocks = said.map(|said| blocks(agent, said)).unwrap_or_default();
    blocks.extend(attachment.map(|attachment| attached(agent, attachment)).unwrap_or_default());
    let is_empty =
        |block: &Json| block.raw().get("text").and_then(Raw::as_string).is_some_and(|text| text.trim().is_empty());
    blocks.retain(|block| !is_empty(block));
    (!blocks.is_empty()).then(|| Json::array(&blocks))
}

fn blocks(agent: Agent, said: Raw<'_>) -> Vec<Json> {
    // opencode's are texts; those of the others have a type.
    if said.items().any(|item| item.shape() == Shape::String) {
        return said.items().filter(|item| item.shape() == Shape::String).map(text_block).collect();
    }
    match agent {
        Agent::Claude => claude::visible_blocks(said),
        Agent::Codex => codex::visible_blocks(said),
        _ => genai::visible_blocks(said),
    }
}

/// An attachment of Claude Code: its text, or all of it as JSON.
fn attached(agent: Agent, attachment: Raw<'_>) -> Vec<Json> {
    let said = attachment.get("content").filter(|said| matches!(said.shape(), Shape::String | Shape::Array));
    let blocks = said.map(|said| blocks(agent, said)).unwrap_or_default();
    if blocks.is_empty() { vec![text_block(Json::string(&attachment.to_text()).raw())] } else { blocks }
}

/// What else is known about a text of the program.
pub(crate) fn details(data: Raw<'_>) -> Json {
    let [kind, subtype, role] = data.pick(["type", "subtype", "role"]);
    let mut details = ObjectWriter::new();
    details.optional("type", kind).optional("subtype", subtype).optional("role", role);
    details.finish()
}
