//! The content of a message: text, or blocks.

use super::view::{Field, views};
use crate::json::{Raw, Shape};

/// The `content` of a message.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::Raw;
/// use sessile::message::{Block, Content};
///
/// let blocks = Raw::parse(br#"[{"type":"text","text":"Look:"},{"type":"image","mimeType":"image/png"}]"#)?;
/// let content = Content::new(Some(blocks));
/// assert_eq!(content.text(), "Look:");
/// assert!(matches!(content.blocks(), [Block::Text(_), Block::Image(_)]));
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A plain string.
    Text(String),
    /// An array, item by item.
    Blocks(Vec<Block<'a>>),
    /// Absent, or `null`.
    Missing,
    /// A value that is not content: a number, a boolean or an object.
    Odd(Raw<'a>),
}

impl<'a> Content<'a> {
    /// Reads the value of a `content` key; `None` if the key is absent.
    pub fn new(value: Option<Raw<'a>>) -> Self {
        let Some(raw) = value else { return Self::Missing };
        match raw.shape() {
            Shape::Null => Self::Missing,
            Shape::String => Self::Text(raw.as_string().unwrap_or_default()),
            Shape::Array => Self::Blocks(raw.items().map(Block::new).collect()),
            Shape::Bool | Shape::Number | Shape::Object => Self::Odd(raw),
        }
    }

    /// The blocks; empty if the content does not consist of blocks.
    pub fn blocks(&self) -> &[Block<'a>] {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Text(_) | Self::Missing | Self::Odd(_) => &[],
        }
    }

    /// The text as pi lists it: a string unchanged, or else the text blocks joined by a space.
    ///
    /// Blocks of other types are left out. A text block without text counts as empty, as in JavaScript.
    pub fn text(&self) -> String {
        if let Self::Text(text) = self {
            return text.clone();
        }
        let texts = self.blocks().iter().filter_map(|block| match block {
            Block::Text(block) => Some(block.text().unwrap_or_default()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join(" ")
    }
}

impl<'a> Field<'a> for Content<'a> {
    fn read(value: Option<Raw<'a>>) -> Self {
        Self::new(value)
    }
}

/// One block of a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Block<'a> {
    /// `text`
    Text(TextBlock<'a>),
    /// `image`
    Image(ImageBlock<'a>),
    /// `thinking`
    Thinking(ThinkingBlock<'a>),
    /// `toolCall`
    ToolCall(ToolCall<'a>),
    /// A block of unknown type, or a value that is not a block.
    Unknown(Raw<'a>),
}

impl<'a> Block<'a> {
    /// Wraps an item of a content array.
    pub fn new(raw: Raw<'a>) -> Self {
        let Some(word) = raw.get("type").and_then(Raw::as_string) else { return Self::Unknown(raw) };
        match word.as_str() {
            "text" => Self::Text(TextBlock::new(raw)),
            "image" => Self::Image(ImageBlock::new(raw)),
            "thinking" => Self::Thinking(ThinkingBlock::new(raw)),
            "toolCall" => Self::ToolCall(ToolCall::new(raw)),
            _ => Self::Unknown(raw),
        }
    }

    /// The block as it is in the file.
    pub fn raw(self) -> Raw<'a> {
        match self {
            Self::Text(block) => block.raw(),
            Self::Image(block) => block.raw(),
            Self::Thinking(block) => block.raw(),
            Self::ToolCall(call) => call.raw(),
            Self::Unknown(raw) => raw,
        }
    }
}

views! {
    /// A block of text.
    TextBlock<'a> {
        /// The text.
        text: Option<String> = "text";
        /// The provider's signature of the text.
        text_signature: Option<String> = "textSignature";
    }

    /// A picture.
    ImageBlock<'a> {
        /// The bytes of the picture in base64.
        data: Option<String> = "data";
        /// The MIME type, such as `image/png`.
        mime_type: Option<String> = "mimeType";
    }

    /// The model's thinking before it answered.
    ThinkingBlock<'a> {
        /// The text of the thinking.
        thinking: Option<String> = "thinking";
        /// The provider's signature of the thinking.
        thinking_signature: Option<String> = "thinkingSignature";
        /// Whether the provider withheld the thinking.
        redacted: Option<bool> = "redacted";
    }

    /// A request from the model to run a tool.
    ToolCall<'a> {
        /// The id of this call, to which its result refers.
        id: Option<String> = "id";
        /// The name of the tool.
        name: Option<String> = "name";
        /// The arguments; an object in all files that pi writes.
        arguments: Option<Raw<'a>> = "arguments";
        /// The provider's signature of the thinking that led to the call.
        thought_signature: Option<String> = "thoughtSignature";
        /// The group of tools the tool belongs to.
        namespace: Option<String> = "namespace";
        /// Why the arguments could not be parsed.
        arguments_error: Option<String> = "argumentsError";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    fn content(text: &str) -> Content<'_> {
        Content::new(Some(raw(text)))
    }

    #[test]
    fn content_depends_on_its_json_shape() {
        assert_eq!(Content::new(None), Content::Missing);
        assert_eq!(content("null"), Content::Missing);
        assert_eq!(content(r#""a\n""#), Content::Text("a\n".into()));
        assert_eq!(content("[]"), Content::Blocks(Vec::new()));
        for odd in ["5", "true", "{}", r#"{"type":"text","text":"no"}"#] {
            assert_eq!(content(odd), Content::Odd(raw(odd)));
            assert_eq!(content(odd).text(), "");
        }
    }

    #[test]
    fn blocks_depend_on_their_type() {
        let cases = [
            (r#"{"type":"text"}"#, "Text"),
            (r#"{"\u0074ype":"im\u0061ge"}"#, "Image"),
            (r#"{"type":"text","type":"thinking"}"#, "Thinking"),
            (r#"{"type":"toolCall","id":null}"#, "ToolCall"),
            (r#"{"type":"Text"}"#, "Unknown"),
            (r#"{"type":["text"]}"#, "Unknown"),
            ("{}", "Unknown"),
            ("null", "Unknown"),
            (r#""text""#, "Unknown"),
            ("[[]]", "Unknown"),
        ];
        for (text, variant) in cases {
            let block = Block::new(raw(text));
            assert!(format!("{block:?}").starts_with(variant), "{block:?}");
            assert_eq!(block.raw(), raw(text));
        }
    }

    #[test]
    fn texts_are_joined_by_a_space() {
        let cases = [
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "a b"),
            (r#"[null,5,{"type":"thinking","thinking":"x"},{"type":"text","text":"a"},[]]"#, "a"),
            (r#"[{"type":"text"},{"type":"text","text":"a"}]"#, " a"),
            (r#"[{"text":"a"}]"#, ""),
            (r#"" as it is ""#, " as it is "),
        ];
        for (text, expected) in cases {
            assert_eq!(content(text).text(), expected, "{text}");
        }
    }

    #[test]
    fn block_fields_are_read() {
        let call = ToolCall::new(raw(
            r#"{"type":"toolCall","id":"c1","name":"read","arguments":{"path":1.0},"thoughtSignature":"s","namespace":"n","argumentsError":"e"}"#,
        ));
        assert_eq!(call.id().as_deref(), Some("c1"));
        assert_eq!(call.name().as_deref(), Some("read"));
        assert_eq!(call.arguments(), Some(raw(r#"{"path":1.0}"#)));
        assert_eq!(call.thought_signature().as_deref(), Some("s"));
        assert_eq!(call.namespace().as_deref(), Some("n"));
        assert_eq!(call.arguments_error().as_deref(), Some("e"));

        let thinking = ThinkingBlock::new(raw(r#"{"thinking":"t","thinkingSignature":"s","redacted":true}"#));
        assert_eq!(thinking.thinking().as_deref(), Some("t"));
        assert_eq!(thinking.thinking_signature().as_deref(), Some("s"));
        assert_eq!(thinking.redacted(), Some(true));

        let image = ImageBlock::new(raw(r#"{"data":"AAAA","mimeType":"image/png"}"#));
        assert_eq!(image.data().as_deref(), Some("AAAA"));
        assert_eq!(image.mime_type().as_deref(), Some("image/png"));

        let text = TextBlock::new(raw(r#"{"text":"a","text":"b","textSignature":5}"#));
        assert_eq!(text.text().as_deref(), Some("b"));
        assert_eq!(text.text_signature(), None);
    }
}
