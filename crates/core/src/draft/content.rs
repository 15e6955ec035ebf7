//! The content of a new message.

use super::write::{Write, object};
use crate::json::Json;

/// The content of a message: text, or blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A plain string.
    Text(String),
    /// Blocks in order.
    Blocks(Vec<Block>),
}

impl Content {
    /// Returns the blocks. Text becomes one text block.
    pub fn into_blocks(self) -> Vec<Block> {
        match self {
            Self::Text(text) => vec![Block::text(text)],
            Self::Blocks(blocks) => blocks,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<&String> for Content {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Block> for Content {
    fn from(block: Block) -> Self {
        Self::Blocks(vec![block])
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self::Blocks(blocks)
    }
}

/// One block of a message's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(TextBlock),
    /// A picture.
    Image(ImageBlock),
    /// A thinking block.
    Thinking(ThinkingBlock),
    /// A request from the model to run a tool.
    ToolCall(ToolCall),
}

impl Block {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), text_signature: None })
    }

    /// A picture: its bytes in base64 and its MIME type, such as `image/png`.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageBlock { data: data.into(), mime_type: mime_type.into() })
    }

    /// A thinking block.
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking(ThinkingBlock { thinking: thinking.into(), thinking_signature: None, redacted: None })
    }

    /// A tool call. The arguments should be an object.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: Json) -> Self {
        Self::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
            thought_signature: None,
            namespace: None,
            arguments_error: None,
        })
    }
}

/// A block of text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// The provider's signature of the text.
    pub text_signature: Option<String>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageBlock {
    /// The bytes of the picture in base64.
    pub data: String,
    /// The MIME type, such as `image/png`.
    pub mime_type: String,
}

/// A thinking block.
#[derive(Clone, Debug, PartialEq)]
pub struct ThinkingBlock {
    /// The text of the model's thinking.
    pub thinking: String,
    /// The provider's signature of the thinking.
    pub thinking_signature: Option<String>,
    /// Whether the provider withheld the thinking.
    pub redacted: Option<bool>,
}

/// A request from the model to run a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id of this call, to which its result refers.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object.
    pub arguments: Json,
    /// The provider's signature of the thinking that led to the call.
    pub thought_signature: Option<String>,
    /// The group of tools the tool belongs to.
    pub namespace: Option<String>,
    /// Why the arguments could not be parsed.
    pub arguments_error: Option<String>,
}

impl Write for Content {
    fn json(&self) -> Option<Json> {
        match self {
            Self::Text(text) => text.json(),
            Self::Blocks(blocks) => blocks.json(),
        }
    }
}

impl Write for Block {
    fn json(&self) -> Option<Json> {
        Some(match self {
            Self::Text(block) => {
                object(&[("type", &"text"), ("text", &block.text), ("textSignature", &block.text_signature)])
            }
            Self::Image(block) => object(&[("type", &"image"), ("data", &block.data), ("mimeType", &block.mime_type)]),
            Self::Thinking(block) => object(&[
                ("type", &"thinking"),
                ("thinking", &block.thinking),
                ("thinkingSignature", &block.thinking_signature),
                ("redacted", &block.redacted),
            ]),
            Self::ToolCall(call) => object(&[
                ("type", &"toolCall"),
                ("id", &call.id),
                ("name", &call.name),
                ("arguments", &call.arguments),
                ("thoughtSignature", &call.thought_signature),
                ("namespace", &call.namespace),
                ("argumentsError", &call.arguments_error),
            ]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_documented_keys() {
        let arguments = Json::parse("{}").unwrap();
        let cases = [
            (Block::text("a\"\u{2028}"), "{\"type\":\"text\",\"text\":\"a\\\"\u{2028}\"}"),
            (Block::image("AAAA", "image/png"), r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#),
            (Block::thinking("t"), r#"{"type":"thinking","thinking":"t"}"#),
            (
                Block::tool_call("c", "n", arguments.clone()),
                r#"{"type":"toolCall","id":"c","name":"n","arguments":{}}"#,
            ),
            (
                Block::Text(TextBlock { text: "t".into(), text_signature: Some("s".into()) }),
                r#"{"type":"text","text":"t","textSignature":"s"}"#,
            ),
            (
                Block::Thinking(ThinkingBlock {
                    thinking: "t".into(),
                    thinking_signature: Some(String::new()),
                    redacted: Some(false),
                }),
                r#"{"type":"thinking","thinking":"t","thinkingSignature":"","redacted":false}"#,
            ),
            (
                Block::ToolCall(ToolCall {
                    id: "c".into(),
                    name: "n".into(),
                    arguments,
                    thought_signature: Some("s".into()),
                    namespace: Some("g".into()),
                    arguments_error: Some("e".into()),
                }),
                r#"{"type":"toolCall","id":"c","name":"n","arguments":{},"thoughtSignature":"s","namespace":"g","argumentsError":"e"}"#,
            ),
        ];
        for (block, expected) in cases {
            assert_eq!(Json::from(&block).to_text(), expected);
            assert_eq!(Json::from(Content::from(block)).to_text(), format!("[{expected}]"));
        }
    }
}
