//! Contents of Gemini: lists of parts, which Gemini CLI and Qwen Code store.

use sessile_core::json::{Json, Raw, Shape};

use crate::body::{ResultBody, image_block, text_block};
use crate::line::string;

/// The parts of a content: a text, a part, or a list of them.
pub(crate) fn parts(content: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    let single = (content.shape() == Shape::Object).then_some(content);
    content.items().chain(single)
}

/// The first text of a content.
pub(crate) fn first_text(content: Raw<'_>) -> String {
    let is_said = |part: &Raw<'_>| !part.get("thought").is_some_and(Raw::is_truthy);
    content.as_string().unwrap_or_else(|| string(parts(content).filter(is_said).find_map(|part| part.get("text"))))
}

/// Texts and images as blocks of pi.
pub(crate) fn visible_blocks(content: Raw<'_>) -> Vec<Json> {
    if content.shape() == Shape::String {
        return vec![text_block(content)];
    }
    let mut blocks = Vec::new();
    for part in parts(content) {
        let [text, image] = part.pick(["text", "inlineData"]);
        blocks.extend(text.filter(|text| text.shape() == Shape::String).map(text_block));
        let [data, mime] = image.unwrap_or(Raw::NULL).pick(["data", "mimeType"]);
        let data = data.filter(|data| data.shape() == Shape::String);
        blocks.extend(data.map(|data| image_block(data, &string(mime))));
    }
    blocks
}

/// The response of a function: an object with the output or an error.
pub(crate) fn result(response: Raw<'_>) -> ResultBody {
    let [output, error] = response.pick(["output", "error"]);
    let text = output.or(error).filter(|text| text.shape() == Shape::String);
    let block = text.map_or_else(|| text_block(Json::string(&response.to_text()).raw()), text_block);
    ResultBody { blocks: vec![block], is_error: error.is_some() && output.is_none() }
}
