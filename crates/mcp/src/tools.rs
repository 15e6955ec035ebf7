//! The tools.

mod definition;
mod file_history;
mod get_session;
mod list_sessions;
mod read_branch;
mod read_entry;
mod search_history;
mod tree;
mod usage;

use sessile::json::{Json, Raw};

use crate::budget::Answer;
use crate::call::Call;
use crate::failure::Failure;
use definition::DEFINITIONS;
pub(crate) use definition::{INSTRUCTIONS, Tool};

/// The tool of a name.
pub(crate) fn tool(name: &str) -> Option<&'static Tool> {
    DEFINITIONS.iter().find(|tool| tool.name == name)
}

/// All definitions as JSON. The oldest revisions know neither annotations nor schemas of answers.
pub(crate) fn definitions(has_annotations: bool, has_output: bool) -> Vec<Json> {
    DEFINITIONS.iter().map(|tool| tool.to_json(has_annotations, has_output)).collect()
}

/// A tool and the number of bytes of its definition, which the client sends to its model with every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSize {
    /// The name.
    pub name: &'static str,
    /// The bytes of its definition as JSON.
    pub bytes: usize,
}

/// The sizes of all tools.
pub fn tool_sizes() -> Vec<ToolSize> {
    let size = |tool: &Tool| ToolSize { name: tool.name, bytes: tool.to_json(true, true).raw().as_bytes().len() };
    DEFINITIONS.iter().map(size).collect()
}

/// A function that answers a call.
type Run = fn(&Call<'_>) -> Result<Answer, Failure>;

/// Adds a member unless the text is empty.
fn put(out: &mut sessile::json::ObjectWriter, key: &str, text: &str) {
    if !text.is_empty() {
        out.string(key, text);
    }
}

/// Whether a row that may have `max` instead of the usual `cap` characters of each text lacks some of them.
fn is_cut<'t>(max: usize, cap: usize, texts: impl IntoIterator<Item = &'t str>) -> bool {
    max < cap && texts.into_iter().any(|text| text.chars().nth(max).is_some())
}

/// The value of a member, for the description of a tool.
fn parsed(json: &str) -> Json {
    Raw::parse(json.as_bytes()).map_or_else(|_| Json::null(), Raw::to_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_small_and_plain() {
        let all: usize = tool_sizes().iter().map(|tool| tool.bytes + 1).sum();
        assert!(all <= 6 << 10, "{all} bytes");
        assert!(INSTRUCTIONS.len() <= 600, "{}", INSTRUCTIONS.len());
        for json in definitions(true, true) {
            let text = json.to_text();
            assert!(!text.contains("null") && !text.contains("$ref") && !text.contains("Of\""), "{text}");
            for key in ["inputSchema", "outputSchema"] {
                let schema = json.raw().get(key).unwrap();
                assert_eq!(schema.get("type").and_then(Raw::as_string).as_deref(), Some("object"));
            }
            assert_eq!(
                json.raw().get("inputSchema").unwrap().get("additionalProperties").unwrap().as_bool(),
                Some(false)
            );
        }
        assert!(!definitions(false, false).iter().any(|json| json.raw().get("annotations").is_some()));
    }
}
