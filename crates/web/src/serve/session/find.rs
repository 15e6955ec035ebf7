//! Searching one session: the same rules as the search of an exported page.

use sessile::json::{Raw, Shape};

/// Properties that no reader sees.
const HIDDEN_KEYS: &[&str] = &[
    "id",
    "parentId",
    "timestamp",
    "type",
    "toolCallId",
    "textSignature",
    "thinkingSignature",
    "thoughtSignature",
    "responseId",
    "api",
    "mimeType",
];

/// Whether the texts of an entry contain all words, which are in lower case.
pub(super) fn has_words(entry: Raw<'_>, words: &[String]) -> bool {
    let mut missing: Vec<&String> = words.iter().collect();
    let mut todo = vec![entry];
    while let Some(value) = todo.pop() {
        match value.shape() {
            Shape::String => {
                let text = value.as_string().unwrap_or_default().to_lowercase();
                missing.retain(|word| !text.contains(word.as_str()));
                if missing.is_empty() {
                    return true;
                }
            }
            Shape::Array => todo.extend(value.items()),
            Shape::Object => {
                let is_image = value.get("type").and_then(Raw::as_string).is_some_and(|kind| kind == "image");
                for member in value.members() {
                    let key = member.key.as_string().unwrap_or_default();
                    let is_hidden = HIDDEN_KEYS.contains(&key.as_str()) || is_image && key == "data";
                    if !is_hidden {
                        todo.push(member.value);
                    }
                }
            }
            _ => {}
        }
    }
    missing.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_arguments_and_thinking_are_searched_but_not_ids() {
        let entry = r#"{"type":"message","id":"zebra","message":{"role":"assistant","content":[
            {"type":"thinking","thinking":"Hm, Ünique"},{"type":"toolCall","name":"bash","arguments":{"command":"cargo \u0074est"}},
            {"type":"image","mimeType":"image/png","data":"needle"}]}}"#;
        let has = |query: &str| {
            let words: Vec<String> = query.split(' ').map(str::to_lowercase).collect();
            has_words(Raw::parse(entry.as_bytes()).unwrap(), &words)
        };
        assert!(has("cargo test") && has("ünique bash") && has("HM"));
        assert!(!has("zebra") && !has("needle") && !has("cargo missing"));
    }
}
