//! Markdown as HTML.
//!
//! The writer produces only the elements below, from parsed events. Raw HTML is shown as text, remote images become
//! links, and only links to web pages and mail addresses are links. So there is nothing to sanitize.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use sessile_display::code::Highlighter;

use crate::ansi::is_web_link;
use crate::code::push_code;
use crate::html::push_text;

/// The number of elements that may be open at a time. Browsers stop nesting at 512.
const MAX_DEPTH: usize = 40;

/// Appends a Markdown text.
pub(crate) fn push_markdown(out: &mut String, text: &str) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer =
        Writer { out, open: Vec::new(), code: None, image: None, alignments: Vec::new(), cell: 0, is_in_head: false };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.close_all();
}

struct Writer<'o> {
    out: &'o mut String,
    /// The end tags of the open elements. Empty for an element that is not written.
    open: Vec<&'static str>,
    code: Option<Highlighter>,
    /// The text of an image, which is collected until its end.
    image: Option<(String, String)>,
    alignments: Vec<Alignment>,
    cell: usize,
    is_in_head: bool,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Some((_, alt)) = &mut self.image {
            match &event {
                Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => return alt.push_str(text),
                Event::End(TagEnd::Image) => {}
                _ => return,
            }
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(highlighter) => push_code(self.out, highlighter, &text),
                None => push_text(self.out, &text),
            },
            Event::Code(code) => {
                self.out.push_str("<code>");
                push_text(self.out, &code);
                self.out.push_str("</code>");
            }
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => push_text(self.out, &text),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.out.push_str(if is_done { "☑ " } else { "☐ " }),
        }
    }

    /// Writes a start tag and remembers its end tag.
    fn open(&mut self, start: &str, end: &'static str) {
        let is_too_deep = self.open.len() >= MAX_DEPTH;
        if !is_too_deep {
            self.out.push_str(start);
        }
        self.open.push(if is_too_deep { "" } else { end });
    }

    fn close(&mut self) {
        if let Some(end) = self.open.pop() {
            self.out.push_str(end);
        }
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                // Headings of the page are entries; those of a message are only large text.
                let start = match level {
                    HeadingLevel::H1 => "<p class=h1>",
                    HeadingLevel::H2 => "<p class=h2>",
                    _ => "<p class=h3>",
                };
                self.open(start, "</p>");
            }
            Tag::Paragraph => self.open("<p>", "</p>"),
            Tag::BlockQuote(_) => self.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some(Highlighter::new(language));
                self.open("<pre class=code tabindex=0>", "</pre>");
            }
            Tag::List(None) => self.open("<ul>", "</ul>"),
            Tag::List(Some(first)) => {
                let start = if first == 1 { "<ol>".to_owned() } else { format!("<ol start=\"{first}\">") };
                self.open(&start, "</ol>");
            }
            Tag::Item => self.open("<li>", "</li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.open("<div class=table tabindex=0><table>", "</table></div>");
            }
            Tag::TableHead => {
                self.is_in_head = true;
                self.cell = 0;
                self.open("<thead><tr>", "</tr></thead>");
            }
            Tag::TableRow => {
                self.cell = 0;
                self.open("<tr>", "</tr>");
            }
            Tag::TableCell => {
                let class = match self.alignments.get(self.cell) {
                    Some(Alignment::Right) => " class=right",
                    Some(Alignment::Center) => " class=center",
                    _ => "",
                };
                self.cell += 1;
                let (name, end) = if self.is_in_head { ("th", "</th>") } else { ("td", "</td>") };
                self.open(&format!("<{name}{class}>"), end);
            }
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<s>", "</s>"),
            Tag::Link { dest_url, .. } => {
                if is_web_link(&dest_url) {
                    let mut start = String::from("<a rel=\"noopener noreferrer nofollow\" href=\"");
                    push_text(&mut start, &dest_url);
                    start.push_str("\">");
                    self.open(&start, "</a>");
                } else {
                    let mut start = String::from("<span class=link title=\"");
                    push_text(&mut start, &dest_url);
                    start.push_str("\">");
                    self.open(&start, "</span>");
                }
            }
            Tag::Image { dest_url, .. } => {
                self.image = Some((dest_url.to_string(), String::new()));
                self.open("", "");
            }
            Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => self.open("", ""),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => self.code = None,
            TagEnd::TableHead => self.is_in_head = false,
            TagEnd::Image => self.image_link(),
            _ => {}
        }
        self.close();
    }

    /// Shows an image as a link: loading it would tell its server who reads the session.
    fn image_link(&mut self) {
        let Some((url, alt)) = self.image.take() else { return };
        let alt = if alt.trim().is_empty() { "image" } else { alt.trim() };
        if is_web_link(&url) {
            self.out.push_str("<a rel=\"noopener noreferrer nofollow\" href=\"");
            push_text(self.out, &url);
            self.out.push_str("\">🖼 ");
            push_text(self.out, alt);
            self.out.push_str("</a>");
        } else {
            self.out.push_str("<span class=link>🖼 ");
            push_text(self.out, alt);
            self.out.push_str("</span>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        push_markdown(&mut out, text);
        out
    }

    #[test]
    fn markdown_becomes_our_elements() {
        for (text, expected) in [
            (
                "# T\n\na **b** *c* ~~d~~ `e<`",
                "<p class=h1>T</p><p>a <strong>b</strong> <em>c</em> <s>d</s> <code>e&lt;</code></p>",
            ),
            ("- a\n- [x] b\n\n3. c", "<ul><li>a</li><li>☑ b</li></ul><ol start=\"3\"><li>c</li></ol>"),
            ("```rs\nfn x\n```", "<pre class=code tabindex=0><i class=k>fn</i> x\n</pre>"),
            ("> q", "<blockquote><p>q</p></blockquote>"),
            (
                "|a|b|\n|-|-:|\n|1|2|",
                "<div class=table tabindex=0><table><thead><tr><th>a</th><th class=right>b</th></tr></thead><tr><td>1</td><td class=right>2</td></tr></table></div>",
            ),
            ("a  \nb\n\n---", "<p>a<br>b</p><hr>"),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn raw_html_is_text() {
        assert_eq!(html("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
        assert_eq!(html("a <b onclick=x>c</b>"), "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>");
    }

    #[test]
    fn links_are_web_links_and_images_are_not_loaded() {
        let anchor = "<p><a rel=\"noopener noreferrer nofollow\" href=\"https://e.com/&quot;x\">a</a></p>";
        assert_eq!(html("[a](https://e.com/\"x)"), anchor);
        assert_eq!(html("[a](javascript:alert(1))"), "<p><span class=link title=\"javascript:alert(1)\">a</span></p>");
        assert!(html("![b *c*](https://e.com/x.png)").contains(">🖼 b c</a>"));
        assert!(!html("![b](//e.com/x.png)").contains("href"));
        assert_eq!(html("![](data:image/png;base64,AA)"), "<p><span class=link>🖼 image</span></p>");
    }

    #[test]
    fn nesting_is_bounded_and_balanced() {
        for text in ["> ".repeat(3000), "- ".repeat(3000), "*a ".repeat(3000), "[".repeat(3000)] {
            let html = html(&format!("{text}x"));
            assert!(html.matches("<blockquote>").count() + html.matches("<ul>").count() <= MAX_DEPTH);
            for name in ["blockquote", "ul", "li", "p", "em"] {
                let (start, end) =
                    (html.matches(&format!("<{name}>")).count(), html.matches(&format!("</{name}>")).count());
                assert_eq!(start, end, "{name}");
            }
        }
    }
}
