//! Renders Markdown as lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use sessile_display::code::Highlighter;

use super::code::highlighted;
use crate::paint::Line;
use crate::theme::Ink;

/// Renders a Markdown text as lines of at most `width` columns. Raw HTML is shown as plain text.
pub(super) fn lines(text: &str, width: usize) -> Vec<Line> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page { width, ..Page::default() };
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    page.end_line();
    while page.lines.last().is_some_and(|line| line.columns() == 0) {
        page.lines.pop();
    }
    page.lines
}

#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<Line>,
    line: Line,
    /// The styles in force, innermost last.
    inks: Vec<Ink>,
    /// The prefixes that the open blocks put before every line.
    indents: Vec<String>,
    /// The prefix of the first line of a list item.
    bullet: Option<String>,
    /// The next number of each open list; `None` for an unnumbered list.
    numbers: Vec<Option<u64>>,
    code: Option<Highlighter>,
    link: Option<String>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.line.push(Ink::ACCENT, &code),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::SoftBreak => self.line.push(self.ink(), " "),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.end_line();
                self.lines.push(Line::new().ink(Ink::DIM, &"─".repeat(self.width.min(40))));
            }
            Event::TaskListMarker(is_done) => self.line.push(Ink::DIM, if is_done { "[x] " } else { "[ ] " }),
            _ => {}
        }
    }

    fn ink(&self) -> Ink {
        self.inks.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str) {
        if self.code.is_some() {
            let indent = self.indents.concat();
            for line in text.trim_end_matches('\n').split('\n') {
                let lead = Line::new().ink(Ink::DIM, &format!("{indent}  "));
                let code = self.code.as_mut().map(|code| highlighted(code, line)).unwrap_or_default();
                self.lines.push(lead.join(code).cut(self.width));
            }
            return;
        }
        let ink = self.ink();
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                self.end_line();
            }
            self.line.push(ink, piece);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.gap();
                self.inks.push(Ink::ACCENT.bold());
                if level > HeadingLevel::H2 {
                    self.line.push(Ink::DIM, "▸ ");
                }
            }
            Tag::Paragraph if self.bullet.is_none() => self.gap(),
            Tag::Emphasis | Tag::Strikethrough => self.inks.push(Ink { tone: self.ink().tone, ..Ink::BOLD }),
            Tag::Strong => self.inks.push(self.ink().bold()),
            Tag::BlockQuote(_) => {
                self.gap();
                self.indents.push("│ ".to_owned());
                self.inks.push(Ink::DIM);
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Highlighter::new(&language));
            }
            Tag::List(first) => {
                if self.numbers.is_empty() {
                    self.gap();
                } else {
                    self.end_line();
                }
                self.numbers.push(first);
            }
            Tag::Item => {
                self.end_line();
                let bullet = match self.numbers.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.indents.push(" ".repeat(bullet.chars().count()));
                self.bullet = Some(bullet);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Table(_) => self.gap(),
            Tag::TableHead => self.inks.push(Ink::BOLD),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::TableHead => {
                self.end_line();
                self.inks.pop();
            }
            TagEnd::Paragraph | TagEnd::TableRow => self.end_line(),
            TagEnd::Emphasis | TagEnd::Strikethrough | TagEnd::Strong => drop(self.inks.pop()),
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.inks.pop();
                self.indents.pop();
            }
            TagEnd::CodeBlock => self.code = None,
            TagEnd::List(_) => {
                self.end_line();
                self.numbers.pop();
            }
            TagEnd::Item => {
                self.end_line();
                self.bullet = None;
                self.indents.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.link.take()
                    && !self.line.to_text().ends_with(&link)
                {
                    self.line.push(Ink::DIM, &format!(" ({link})"));
                }
            }
            TagEnd::TableCell => self.line.push(Ink::DIM, " │ "),
            _ => {}
        }
    }

    /// Puts an empty line between blocks.
    fn gap(&mut self) {
        self.end_line();
        if self.lines.last().is_some_and(|line| line.columns() > 0) && self.numbers.is_empty() {
            self.lines.push(Line::new());
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.columns() == 0 {
            return;
        }
        let indent = self.indents.concat();
        let lead = match self.bullet.take() {
            Some(bullet) => {
                let outer: String = self.indents.iter().take(self.indents.len().saturating_sub(1)).cloned().collect();
                // Later lines of the item are indented to its text.
                format!("{outer}{bullet}")
            }
            None => indent.clone(),
        };
        let line = Line::new().ink(Ink::DIM, &lead).join(line);
        self.lines.extend(line.wrapped(self.width, indent.chars().count()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_lines() {
        let text = "# Title\n\nSome *text* with `code`\nand [a link](http://x).\n\n- one\n- two\n  1. deep\n\n> said\n\n```rust\nfn main() {}\n```\n\n<b>raw</b>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let seen: Vec<String> = lines(text, 60).iter().map(Line::to_text).collect();
        let expected = [
            "Title",
            "",
            "Some text with code and a link (http://x).",
            "",
            "• one",
            "• two",
            "  1. deep",
            "",
            "│ said",
            "",
            "  fn main() {}",
            "",
            "<b>raw</b>",
            "",
            "a │ b │ ",
            "1 │ 2 │ ",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn lines_fit_and_contain_no_control_characters() {
        let text = "# \u{1b}[31m".to_owned() + &"word ".repeat(40) + "\n\n    " + &"x".repeat(300);
        for width in [10, 30, 80] {
            for line in lines(&text, width) {
                assert!(line.columns() <= width.max(14), "{width} {}", line.to_text());
                assert!(!line.to_text().contains('\u{1b}'));
            }
        }
    }
}
