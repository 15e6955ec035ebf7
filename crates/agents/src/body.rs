//! The content of one message, in no agent's form.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

/// What a node says.
#[derive(Clone, Debug)]
pub enum Body {
    /// A message of the user: a string, or blocks of pi.
    User(Json),
    /// An answer.
    Answer(AnswerBody),
    /// The result of a call.
    Result(ResultBody),
    /// A shell command of the user.
    Shell {
        /// The command.
        command: String,
        /// Its output.
        output: String,
        /// Whether no model receives it.
        is_private: bool,
    },
    /// A summary that replaces what came before it.
    Compaction {
        /// The summary.
        summary: Json,
        /// The number of tokens before it.
        tokens_before: f64,
    },
    /// Text of the program around the model.
    Harness(Json),
}

/// An answer of a model.
#[derive(Clone, Debug, Default)]
pub struct AnswerBody {
    /// Blocks of pi.
    pub blocks: Vec<Json>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The tokens.
    pub usage: Usage,
    /// Why it ended, in pi's words.
    pub stop_reason: &'static str,
    /// The error that ended it.
    pub error: Option<String>,
    /// The id of the provider's response.
    pub response_id: Option<String>,
}

/// The result of a tool call.
#[derive(Clone, Debug)]
pub struct ResultBody {
    /// Blocks of pi.
    pub blocks: Vec<Json>,
    /// Whether it is an error.
    pub is_error: bool,
}

/// Tokens in pi's terms: `input` without what came from a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens read, without those from a cache.
    pub input: f64,
    /// Tokens written, with those of thoughts.
    pub output: f64,
    /// Tokens from a cache.
    pub cache_read: f64,
    /// Tokens written to a cache.
    pub cache_write: f64,
    /// Those of them that stay for an hour.
    pub cache_write_1h: f64,
    /// Tokens of thoughts, which are part of `output`.
    pub reasoning: f64,
    /// The cost in dollars, if the agent says it.
    pub cost: f64,
}

impl Usage {
    /// The sum of all tokens.
    pub fn total(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    pub(crate) fn to_json(self) -> Json {
        let mut cost = ObjectWriter::new();
        cost.number("input", 0.0).number("output", 0.0).number("cacheRead", 0.0).number("cacheWrite", 0.0);
        cost.number("total", self.cost);
        let mut usage = ObjectWriter::new();
        usage
            .number("input", self.input)
            .number("output", self.output)
            .number("cacheRead", self.cache_read)
            .number("cacheWrite", self.cache_write);
        if self.cache_write_1h > 0.0 {
            usage.number("cacheWrite1h", self.cache_write_1h);
        }
        if self.reasoning > 0.0 {
            usage.number("reasoning", self.reasoning);
        }
        usage.number("totalTokens", self.total()).raw("cost", cost.finish().raw());
        usage.finish()
    }
}

/// A count of tokens: a finite number that is not negative, else zero.
pub(crate) fn tokens(value: Option<Raw<'_>>) -> f64 {
    value.and_then(Raw::as_number).filter(|number| number.is_finite() && *number >= 0.0).unwrap_or_default()
}

/// A text block with the text of a JSON string.
pub(crate) fn text_block(text: Raw<'_>) -> Json {
    ObjectWriter::with_room(text.as_bytes().len() + 32).string("type", "text").raw("text", text).finish()
}

/// A thinking block with the text of a JSON string.
pub(crate) fn thinking_block(text: Raw<'_>) -> Json {
    ObjectWriter::with_room(text.as_bytes().len() + 40).string("type", "thinking").raw("thinking", text).finish()
}

/// A thinking block with the signature that its provider wants back. The text of a redacted one only stands for it.
pub(crate) fn signed_thinking_block(text: &str, signature: Raw<'_>, is_redacted: bool) -> Json {
    let mut block = ObjectWriter::with_room(text.len() + signature.as_bytes().len() + 80);
    block.string("type", "thinking").string("thinking", text).raw("thinkingSignature", signature);
    if is_redacted {
        block.bool("redacted", true);
    }
    block.finish()
}

/// An image block.
pub(crate) fn image_block(data: Raw<'_>, mime_type: &str) -> Json {
    let room = data.as_bytes().len() + 64;
    ObjectWriter::with_room(room).string("type", "image").raw("data", data).string("mimeType", mime_type).finish()
}

/// An image block from a data URL; `None` if the URL is of another kind or not of an image.
pub(crate) fn data_url_block(url: &str) -> Option<Json> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    mime.starts_with("image/").then(|| image_block(Json::string(data).raw(), mime))
}

/// A tool call block.
pub(crate) fn call_block(id: &str, name: &str, arguments: Raw<'_>) -> Json {
    let mut block = ObjectWriter::with_room(arguments.as_bytes().len() + 96);
    block.string("type", "toolCall").string("id", id).string("name", name).raw("arguments", arguments);
    block.finish()
}

/// The arguments of a call as an object: an object, an object in a string, or anything else as its `input`.
pub(crate) fn call_arguments(arguments: Option<Raw<'_>>) -> Json {
    let text = arguments.and_then(Raw::as_string).unwrap_or_default();
    let parsed = Raw::parse(text.as_bytes()).ok();
    let object = [parsed, arguments].into_iter().flatten().find(|value| value.shape() == Shape::Object);
    object.map_or_else(
        || ObjectWriter::new().optional("input", arguments.filter(|value| value.is_truthy())).finish(),
        Raw::to_json,
    )
}

impl AnswerBody {
    fn blocks_of<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = Raw<'b>> {
        let blocks = self.blocks.iter().map(Json::raw);
        blocks.filter(move |block| block.get("type").and_then(Raw::as_text).is_some_and(|found| found == *kind))
    }

    /// Whether it has thoughts, all of which have a signature. pi sends a thought without one as a text.
    pub(crate) fn is_signed(&self) -> bool {
        let mut thoughts = self.blocks_of("thinking").peekable();
        thoughts.peek().is_some() && thoughts.all(|thought| thought.get("thinkingSignature").is_some())
    }

    /// Whether it has tool calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.blocks_of("toolCall").next().is_some()
    }

    /// Its first text.
    pub(crate) fn first_text(&self) -> Option<String> {
        self.blocks_of("text").next().and_then(|block| block.get("text")).and_then(Raw::as_string)
    }
}
