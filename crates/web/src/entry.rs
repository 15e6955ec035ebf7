//! One entry of a session as HTML.
//!
//! The export and the server show the same HTML: the export stores it, the server sends it. An entry takes a bounded
//! amount of HTML. What does not fit is a [`LongText`], which the page asks for window by window.

mod tool;

use maud::{PreEscaped, Render, html};
use sessile::date::Timestamp;
use sessile::entry::{Entry, Payload};
use sessile::json::Raw;
use sessile::message::{AssistantMessage, Block, Content, Message, ThinkingBlock, TokenUsage};
use sessile_display::code::Highlighter;
use sessile_display::measure::{counted, number_words, size_words};
use sessile_display::text::{role_name, start};

use crate::ansi::push_output;
use crate::code::push_code;
use crate::html::{Text, split_text};
use crate::image::ImageFacts;
use crate::json::indented;
use crate::markdown::push_markdown;

/// What an entry's HTML needs to know besides the entry.
#[derive(Clone, Debug, Default)]
pub struct EntryContext {
    /// The position of the entry among the entries of the file.
    pub index: usize,
    /// Its label.
    pub label: Option<String>,
    /// The member of a team's store that has written it, if the session belongs to another one.
    pub author: Option<String>,
    /// Its time in the reader's zone, as an ISO 8601 text without a zone.
    pub local_time: Option<String>,
    /// Its time.
    pub time: Option<Timestamp>,
    /// The file that the call of a tool result is about.
    pub call_path: Option<String>,
    /// Whether the call of a tool result is known.
    pub has_call: bool,
    /// The number of entries that a compaction replaces.
    pub n_covered: Option<usize>,
}

/// A text of an entry that is too long for its HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongText {
    format: Format,
    text: String,
}

/// How a text is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Format {
    Markdown,
    /// The output of a program.
    Output,
    /// Code in the language of this file name.
    Code(String),
}

/// The lines of a tool's output that are shown before the reader asks for more.
const FOLDED_LINES: usize = 12;
const FOLDED_BYTES: usize = 4 << 10;

/// The bytes of a text in the HTML of its entry, and in each window of the rest.
const INLINE_BYTES: usize = 16 << 10;
const INLINE_LINES: usize = 400;
const WINDOW_BYTES: usize = 32 << 10;
const WINDOW_LINES: usize = 800;

impl LongText {
    /// The windows of the text, each as HTML.
    pub fn windows(&self) -> impl Iterator<Item = String> + '_ {
        let mut rest = self.text.as_str();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (window, after) = split_text(rest, WINDOW_LINES, WINDOW_BYTES);
            rest = after;
            let mut out = String::new();
            self.format.push(&mut out, window);
            Some(out)
        })
    }
}

impl Format {
    fn push(&self, out: &mut String, text: &str) {
        match self {
            Self::Markdown => push_markdown(out, text),
            Self::Output => push_output(out, text),
            Self::Code(file) => push_code(out, &mut Highlighter::for_file(file), text),
        }
    }
}

/// An entry as HTML, and its texts that were too long for it.
#[derive(Clone, Debug, Default)]
pub struct EntryHtml {
    /// An `article` element.
    pub html: String,
    /// The long texts, in the order of their buttons.
    pub long_texts: Vec<LongText>,
}

/// Renders an entry.
pub fn render_entry(entry: &Entry, context: &EntryContext) -> EntryHtml {
    let mut view = View { context, out: String::new(), long_texts: Vec::new(), n_images: 0 };
    let head = view.entry(entry);
    let View { out: body, long_texts, .. } = view;
    // The reader has not written what another member has.
    let name = if head.author == "You" && context.author.is_some() { "User" } else { head.author.as_ref() };
    let anchor = entry.id().map(|id| anchor_of(&id.to_string()));
    let markup = html! {
        article class={ "e " (head.class) } id=[anchor.as_deref()] data-row=(context.index) tabindex="-1" {
            header {
                h2 { (Text(name)) }
                @if let Some(author) = &context.author { span.note.by { "by " (Text(author)) } }
                @for note in &head.notes { span.note { (Text(note)) } }
                @if let Some(target) = &head.target { a href={ "#" (anchor_of(target)) } { "→ " (Text(&start(target, 100))) } }
                @if let Some(label) = &context.label { span.label { (Text(label)) } }
                @if let Some(local) = &context.local_time {
                    time datetime=[context.time.map(|time| time.to_string())] { (Text(local)) }
                }
                @if let Some(anchor) = &anchor {
                    a.permalink href={ "#" (anchor) } aria-label="Link to this entry" { "#" }
                }
            }
            (PreEscaped(body))
        }
    };
    EntryHtml { html: markup.into_string(), long_texts }
}

/// The `id` attribute of an entry, and its address after `#`: a browser looks for the text of the address as it is.
///
/// Encoded, it has no white space, and no two ids have the same attribute.
pub(crate) fn anchor_of(id: &str) -> String {
    format!("entry-{}", percent_encoded(id))
}

/// Encodes everything but letters, digits and a few marks for use in a URL.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            use std::fmt::Write;
            // Writing to a string cannot fail.
            write!(out, "%{byte:02X}").ok();
        }
    }
    out
}

/// The parts of an entry's header.
struct Head {
    class: &'static str,
    author: String,
    notes: Vec<String>,
    /// The id of the entry that this one is about.
    target: Option<String>,
}

impl Head {
    fn new(class: &'static str, author: impl Into<String>) -> Self {
        Self { class, author: author.into(), notes: Vec::new(), target: None }
    }

    fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note.filter(|note| !note.is_empty()));
        self
    }

    fn target(mut self, id: Option<String>) -> Self {
        self.target = id.filter(|id| !id.is_empty());
        self
    }
}

struct View<'c> {
    context: &'c EntryContext,
    out: String,
    long_texts: Vec<LongText>,
    n_images: usize,
}

impl View<'_> {
    /// Writes the body of an entry and returns its head.
    fn entry(&mut self, entry: &Entry) -> Head {
        match entry.payload() {
            Payload::Message(message) => match message.message() {
                Some(message) => self.message(message),
                None => self.odd_entry(entry.raw(), "message"),
            },
            Payload::CustomMessage(custom) => {
                self.content(custom.content(), custom.raw());
                let head = Head::new("custom", custom.custom_type().unwrap_or_else(|| "custom message".to_owned()));
                head.note((custom.display() == Some(false)).then(|| "not displayed in pi".to_owned()))
            }
            Payload::Compaction(compaction) => {
                self.summary(compaction.summary(), compaction.raw());
                self.files(compaction.details());
                let n_covered = self.context.n_covered.map(|n| format!("covers {}", counted(n, "entry", "entries")));
                if let Some(kept) = compaction.first_kept_entry_id().map(|id| id.to_string()) {
                    let link = html! {
                        p.aside { "The context continues from "
                            a href={ "#" (anchor_of(&kept)) } { "this entry" } "." }
                    };
                    link.render_to(&mut self.out);
                }
                Head::new("summary", "Compaction")
                    .note(compaction.tokens_before().map(|tokens| format!("{} tokens before", tokens_text(tokens))))
                    .note(n_covered)
                    .note(usage_text(compaction.usage()))
            }
            Payload::BranchSummary(summary) => {
                self.summary(summary.summary(), summary.raw());
                self.files(summary.details());
                Head::new("summary", "Summary of another branch").note(usage_text(summary.usage()))
            }
            Payload::ModelChange(change) => {
                let names: Vec<String> = [change.provider(), change.model_id()].into_iter().flatten().collect();
                self.setting("Model", &names.join("/"), change.raw())
            }
            Payload::ThinkingLevelChange(change) => {
                self.setting("Thinking level", &change.thinking_level().unwrap_or_default(), change.raw())
            }
            Payload::SessionInfo(info) => self.setting("Session name", &info.name().unwrap_or_default(), info.raw()),
            Payload::Label(label) => {
                let name = label.label().filter(|name| !name.is_empty());
                let target = label.target_id().map(|id| id.to_string());
                self.setting("Label", name.as_deref().unwrap_or("(removed)"), label.raw()).target(target)
            }
            Payload::Usage(usage) => {
                let names = [usage.kind(), usage.provider(), usage.model(), usage.note()];
                let text: Vec<String> = names.into_iter().flatten().chain(usage_text(usage.usage())).collect();
                self.setting("Usage", &text.join(" · "), usage.raw())
            }
            Payload::ContextEdit(edit) => {
                let is_omitted = edit.replacement().is_some_and(Raw::is_null);
                if let Some(replacement) = edit.replacement().filter(|_| !is_omitted) {
                    self.content(Content::new(replacement.get("content")), replacement);
                }
                let verb = if is_omitted { "Context omits an entry" } else { "Context replaces an entry" };
                Head::new("setting", verb).target(edit.target_id().map(|id| id.to_string()))
            }
            Payload::Custom(custom) => {
                self.json(custom.data());
                let name = custom.custom_type().unwrap_or_else(|| "custom".to_owned());
                Head::new("setting", "Extension data").note(Some(name))
            }
            Payload::Unknown(raw) => {
                self.json(Some(raw));
                let kind = raw.get("type").and_then(Raw::as_string);
                Head::new("setting", "Unknown entry").note(kind.map(|kind| start(&kind, 100)))
            }
        }
    }

    fn message(&mut self, message: Message<'_>) -> Head {
        match message {
            Message::User(user) => {
                self.content(user.content(), user.raw());
                Head::new("user", "You")
            }
            Message::Assistant(answer) => self.answer(answer),
            Message::ToolResult(result) => self.result(result),
            Message::BashExecution(run) => self.execution(run),
            Message::System(system) => {
                self.content(system.content(), system.raw());
                Head::new("setting", "System prompt")
            }
            Message::Custom(custom) => {
                self.content(custom.content(), custom.raw());
                Head::new("custom", custom.custom_type().unwrap_or_else(|| "custom message".to_owned()))
            }
            Message::BranchSummary(summary) => {
                self.summary(summary.summary(), summary.raw());
                Head::new("summary", "Summary of another branch")
            }
            Message::CompactionSummary(summary) => {
                self.summary(summary.summary(), summary.raw());
                Head::new("summary", "Compaction")
            }
            other => {
                self.content(other.content(), other.raw());
                Head::new("custom", role_name(other))
            }
        }
    }

    fn answer(&mut self, answer: AssistantMessage<'_>) -> Head {
        self.content(answer.content(), answer.raw());
        if let Some(error) = answer.error_message() {
            self.problem(&error);
        }
        for diagnostic in answer.diagnostics() {
            let message = diagnostic.error().and_then(sessile::message::DiagnosticError::message);
            let texts: Vec<String> = [diagnostic.kind(), message].into_iter().flatten().collect();
            self.aside(&texts.join(": "));
        }
        let stop = answer.stop_reason().filter(|reason| reason != "stop" && reason != "toolUse");
        Head::new("model", answer.model().unwrap_or_else(|| "Model".to_owned()))
            .note(answer.thinking_level().map(|level| format!("thinking {level}")))
            .note(stop)
            .note(usage_text(answer.usage()))
            .note(answer.duration_ms().map(duration_text))
    }

    fn content(&mut self, content: Content<'_>, owner: Raw<'_>) {
        match content {
            Content::Text(text) => self.markdown(&text),
            Content::Blocks(blocks) => blocks.iter().for_each(|block| self.block(*block)),
            Content::Missing | Content::Odd(_) => self.odd("content", owner),
        }
    }

    fn block(&mut self, block: Block<'_>) {
        match block {
            Block::Text(text) => match text.text() {
                Some(text) => self.markdown(&text),
                None => self.odd("text block", text.raw()),
            },
            Block::Thinking(thought) => self.thinking(thought),
            Block::ToolCall(call) => self.call(call),
            Block::Image(image) => self.image(&ImageFacts::new(image)),
            other => self.odd("block", other.raw()),
        }
    }

    fn thinking(&mut self, thought: ThinkingBlock<'_>) {
        if thought.redacted() == Some(true) {
            return self.aside("Thinking, withheld by the provider.");
        }
        match thought.thinking() {
            Some(text) if text.trim().is_empty() => {}
            Some(text) => {
                self.out.push_str("<details class=thinking open><summary>Thinking</summary>");
                self.markdown(&text);
                self.out.push_str("</details>");
            }
            None => self.odd("thinking block", thought.raw()),
        }
    }

    /// Writes a picture. The page loads its bytes from the session.
    fn image(&mut self, image: &ImageFacts) {
        let at = self.n_images;
        self.n_images += 1;
        let facts = image.text();
        let markup = if let Some(raster_type) = image.raster_type {
            html! {
                figure { img data-image=(format!("{}:{at}", self.context.index)) data-type=(raster_type)
                    width=[image.size.map(|size| size.0)] height=[image.size.map(|size| size.1)] alt=(facts);
                    figcaption { (facts) } }
            }
        } else {
            html! { p.aside { (Text(&facts)) ", not shown" } }
        };
        markup.render_to(&mut self.out);
    }

    fn summary(&mut self, summary: Option<String>, owner: Raw<'_>) {
        match summary {
            Some(summary) => self.markdown(&summary),
            None => self.odd("summary", owner),
        }
    }

    /// Writes the lists of files that summaries carry.
    fn files(&mut self, details: Option<Raw<'_>>) {
        for (key, name) in [("readFiles", "Files read"), ("modifiedFiles", "Files modified")] {
            let files = details.and_then(|details| details.get(key));
            let files: Vec<String> = files.into_iter().flat_map(Raw::items).filter_map(Raw::as_string).collect();
            if !files.is_empty() {
                let markup = html! {
                    details.files { summary { (name) " (" (files.len()) ")" }
                        ul { @for file in files.iter().take(500) { li { code { (Text(file)) } } } } }
                };
                markup.render_to(&mut self.out);
            }
        }
    }

    fn setting(&mut self, what: &str, value: &str, raw: Raw<'_>) -> Head {
        if value.trim_matches([' ', '/']).is_empty() {
            self.json(Some(raw));
        }
        Head::new("setting", what).note(Some(start(value, 300)))
    }

    /// Writes a Markdown text.
    fn markdown(&mut self, text: &str) {
        let (inline, rest) = split_text(text, usize::MAX, INLINE_BYTES);
        self.out.push_str("<div class=md>");
        push_markdown(&mut self.out, inline);
        self.out.push_str("</div>");
        if !rest.is_empty() {
            self.more(Format::Markdown, rest);
        }
    }

    /// Writes output or code, folded after a few lines.
    fn folded(&mut self, class: &str, format: Format, text: &str) {
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let (top, rest) = split_text(text, FOLDED_LINES, FOLDED_BYTES);
        self.pre(class, &format, top);
        if rest.is_empty() {
            return;
        }
        let n_lines = text.matches('\n').count() + 1;
        let size = size_words(text.len() as u64);
        let summary =
            html! { details.rest { summary { "Show all " (number_words(n_lines as u64)) " lines, " (size) } } };
        let summary = summary.into_string();
        self.out.push_str(summary.strip_suffix("</details>").unwrap_or(&summary));
        let (inline, rest) = split_text(rest, INLINE_LINES, INLINE_BYTES);
        self.pre(class, &format, inline);
        if !rest.is_empty() {
            self.more(format, rest);
        }
        self.out.push_str("</details>");
    }

    fn pre(&mut self, class: &str, format: &Format, text: &str) {
        self.out.push_str("<pre tabindex=0 class=");
        self.out.push_str(class);
        self.out.push('>');
        // A browser drops a line break at the start of the element.
        if text.starts_with('\n') {
            self.out.push('\n');
        }
        format.push(&mut self.out, text.strip_suffix('\n').unwrap_or(text));
        self.out.push_str("</pre>");
    }

    /// Writes the button that loads the rest of a text.
    fn more(&mut self, format: Format, rest: &str) {
        let at = self.long_texts.len();
        let class = match format {
            Format::Markdown => "md",
            Format::Output => "output",
            Format::Code(_) => "code",
        };
        let size = size_words(rest.len() as u64);
        let markup = html! {
            button.more type="button" data-more=(format!("{}:{at}", self.context.index)) data-class=(class) { "Show " (size) " more" }
        };
        markup.render_to(&mut self.out);
        self.long_texts.push(LongText { format, text: rest.to_owned() });
    }

    fn json(&mut self, value: Option<Raw<'_>>) {
        if let Some(value) = value {
            self.folded("code", Format::Code("x.json".to_owned()), &indented(value));
        }
    }

    fn problem(&mut self, text: &str) {
        html! { p.problem { (Text(&start(text, 4000))) } }.render_to(&mut self.out);
    }

    fn aside(&mut self, text: &str) {
        html! { p.aside { (Text(&start(text, 4000))) } }.render_to(&mut self.out);
    }

    /// Shows a value whose shape is not the one that pi writes.
    fn odd(&mut self, what: &str, raw: Raw<'_>) {
        html! { p.problem { "This " (what) " has an unusual shape. Its text:" } }.render_to(&mut self.out);
        self.folded("code", Format::Code("x.json".to_owned()), &raw.to_text());
    }

    fn odd_entry(&mut self, raw: Raw<'_>, what: &str) -> Head {
        self.odd(what, raw);
        Head::new("setting", "Unusual entry")
    }
}

/// Tokens and cost in a few words.
pub(crate) fn usage_text(usage: Option<TokenUsage<'_>>) -> Option<String> {
    let usage = usage?;
    let count = |tokens: Option<f64>, what: &str| {
        tokens.filter(|tokens| *tokens > 0.0).map(|tokens| format!("{} {what}", tokens_text(tokens)))
    };
    let parts = [
        count(usage.input(), "in"),
        count(usage.output(), "out"),
        count(usage.cache_read(), "cached"),
        usage.cost().and_then(sessile::message::Cost::total).filter(|cost| *cost > 0.0).map(cost_text),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// A number of tokens: `950`, `1.2k`, `3.4M`.
pub(crate) fn tokens_text(tokens: f64) -> String {
    match tokens {
        _ if !tokens.is_finite() || tokens < 1000.0 => format!("{}", tokens.max(0.0).round()),
        _ if tokens < 1_000_000.0 => format!("{:.1}k", tokens / 1000.0),
        _ => format!("{:.1}M", tokens / 1_000_000.0),
    }
}

/// A cost in dollars, with enough digits to see it.
pub(crate) fn cost_text(cost: f64) -> String {
    if cost < 0.01 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

/// A duration: `850 ms`, `3.2 s`, `2 min 5 s`.
pub(crate) fn duration_text(ms: f64) -> String {
    let ms = if ms.is_finite() { ms.max(0.0) } else { 0.0 };
    match ms {
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if ms < 60_000.0 => format!("{:.1} s", ms / 1000.0),
        _ => format!("{:.0} min {:.0} s", (ms / 60_000.0).floor(), (ms % 60_000.0) / 1000.0),
    }
}

#[cfg(test)]
mod checked;
#[cfg(test)]
mod tests;
