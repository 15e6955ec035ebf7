//! Text of others inside a Markdown document, without power over it.
//!
//! What people and models write is mostly Markdown and stays it. But a document
//! must not run what a session says: no raw HTML, no pictures fetched from
//! elsewhere, no headings that look like ours, no fence that swallows what comes
//! next, no control characters. Renderers differ in what they take for a fence or
//! a code span, so whatever could be read in two ways is escaped: at worst a
//! backslash too many is seen.

/// A text that is Markdown, with its headings below ours and everything harmful escaped.
pub(super) fn flowing(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len() + 64);
    let mut fence: Option<Fence> = None;
    for line in text.trim_matches('\n').split('\n') {
        let was_open = fence;
        fence = match was_open {
            Some(open) => Some(open).filter(|open| !open.is_closed_by(line)),
            None => Fence::opened_by(line),
        };
        if was_open.is_some() || fence.is_some() {
            out.push_str(line);
        } else {
            escape_line(line, &mut out);
        }
        out.push('\n');
    }
    if let Some(open) = fence {
        out.push_str(&open.mark.to_string().repeat(open.length));
        out.push('\n');
    }
    out
}

/// A text shown as it is, between fences longer than any inside it.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let text = visible(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// A short text as code inside a line.
pub(super) fn code(text: &str) -> String {
    let text = visible(text).replace('\n', " ");
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// A short text inside a line, in which no character means anything.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    for char in visible(text).trim().chars() {
        match char {
            '\n' => out.push(' '),
            // The others mean nothing inside a line.
            char if "\\`*_[]<>#!|~&{".contains(char) => out.extend(['\\', char]),
            char => out.push(char),
        }
    }
    out
}

/// A text in which every line stands behind a mark of quotation.
pub(super) fn quoted(text: &str) -> String {
    text.trim_end_matches('\n').split('\n').fold(String::new(), |mut out, line| {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
        out
    })
}

/// The text without control characters and without what turns its order around. Line ends and tabs stay.
fn visible(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let seen = |char: char| match char {
        '\n' | '\t' => char,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        char => char,
    };
    text.chars().map(seen).collect()
}

/// A fence at the margin. Others are not believed in: whether they end, and where, depends on what they stand in.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|char| matches!(char, '`' | '~'))?;
        let length = line.chars().take_while(|char| *char == mark).count();
        // Behind a fence of backticks there are none, else it is code inside a line.
        let rest = line.trim_start_matches(mark);
        (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let indent = line.chars().take_while(|char| *char == ' ').count();
        let marks = line.trim_start_matches(' ').trim_end_matches([' ', '\t']);
        indent < 4 && marks.len() >= self.length && marks.chars().all(|char| char == self.mark)
    }
}

/// A line outside of fences.
fn escape_line(line: &str, out: &mut String) {
    let body = line.trim_start_matches([' ', '\t']);
    let trimmed = body.trim_end();
    let all_are = |mark: char| !trimmed.is_empty() && trimmed.chars().all(|char| char == mark);
    if all_are('=') || (all_are('-') && trimmed.len() < 3) {
        // Would make a heading of the line above it.
        out.push('\\');
    } else if all_are('-') {
        out.push_str("* * *");
        return;
    } else if is_heading(body) {
        out.push_str(if body.starts_with("#####") { "#" } else { "##" });
        escape_inline(body, out);
        return;
    }
    escape_inline(line, out);
}

fn is_heading(body: &str) -> bool {
    let rest = body.trim_start_matches('#');
    (1..=5).contains(&(body.len() - rest.len())) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Escapes what could be HTML, a picture, a fence, or half of a code span; whole spans stay as they are.
fn escape_inline(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        match char {
            '\\' => {
                let n_bytes = rest.chars().nth(1).map_or(1, |next| 1 + next.len_utf8());
                let (escaped, behind) = rest.split_at(n_bytes);
                // A backslash stands for itself before anything but punctuation, so what follows must be looked at.
                let is_escape = escaped.len() == 2 && escaped.as_bytes().get(1).is_some_and(u8::is_ascii_punctuation);
                if is_escape {
                    out.push_str(escaped);
                    rest = behind;
                } else {
                    out.push('\\');
                    rest = rest.get(1..).unwrap_or_default();
                }
            }
            '`' => rest = code_span(rest, out),
            '<' => {
                out.push_str("\\<");
                rest = rest.get(1..).unwrap_or_default();
            }
            '!' if rest.starts_with("![") => {
                out.push_str("!\\[");
                rest = rest.get(2..).unwrap_or_default();
            }
            '~' if rest.starts_with("~~~") => {
                let marks = rest.len() - rest.trim_start_matches('~').len();
                out.push_str(&"\\~".repeat(marks));
                rest = rest.get(marks..).unwrap_or_default();
            }
            char => {
                out.push(char);
                rest = rest.get(char.len_utf8()..).unwrap_or_default();
            }
        }
    }
}

/// Copies a code span that ends on the same line; of one that does not, the backticks are escaped.
///
/// A bar ends the cell of a table even inside a span, so that what is behind it is no code.
fn code_span<'t>(rest: &'t str, out: &mut String) -> &'t str {
    let behind = rest.trim_start_matches('`');
    let ticks = rest.len() - behind.len();
    let Some(end) = closing(behind, ticks) else {
        out.push_str(&"\\`".repeat(ticks));
        return behind;
    };
    let (inside, rest_of_line) = behind.split_at(end);
    let mark = "`".repeat(ticks);
    out.push_str(&mark);
    if inside.contains('|') {
        out.push_str(&inside.replace('<', "\\<").replace("![", "!\\["));
    } else {
        out.push_str(inside);
    }
    out.push_str(&mark);
    rest_of_line.get(ticks..).unwrap_or_default()
}

/// Where a run of exactly so many backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find('`') {
        let start = at + found;
        let run = text.get(start..)?;
        let length = run.len() - run.trim_start_matches('`').len();
        if length == ticks {
            return Some(start);
        }
        at = start + length;
    }
    None
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for char in text.chars() {
        run = if char == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_stays_and_harm_does_not() {
        for (given, expected) in [
            ("plain *text* and [a](b)", "plain *text* and [a](b)\n"),
            ("a <script>x</script>", "a \\<script>x\\</script>\n"),
            ("<div>\n`Vec<T>`", "\\<div>\n`Vec<T>`\n"),
            ("half ` a\n` <b> ` c", "half \\` a\n` <b> ` c\n"),
            ("| ` | <b> ` |", "| ` | \\<b> ` |\n"),
            ("\\<b>", "\\<b>\n"),
            ("\\\\<b>", "\\\\\\<b>\n"),
            ("\\é<b>", "\\é\\<b>\n"),
            ("![x](http://e)", "!\\[x](http://e)\n"),
            ("# One\n##### Five", "### One\n###### Five\n"),
            ("Title\n===\nOther\n---\n-", "Title\n\\===\nOther\n* * *\n\\-\n"),
            ("```rust\nfn <T>\n```\n<b>", "```rust\nfn <T>\n```\n\\<b>\n"),
            ("```\nopen <b>", "```\nopen <b>\n```\n"),
            ("- ```\n  <b>\n  ```\n<c>", "- \\`\\`\\`\n  \\<b>\n  \\`\\`\\`\n\\<c>\n"),
            ("> ~~~\n<b>", "> \\~\\~\\~\n\\<b>\n"),
            ("~~~\n```\n<b>\n~~~ x\n~~~~\n<c>", "~~~\n```\n<b>\n~~~ x\n~~~~\n\\<c>\n"),
            ("a\u{1b}[2J\u{202e}\r\nb\u{0}", "a␛[2J\u{fffd}\nb␀\n"),
        ] {
            assert_eq!(flowing(given), expected, "{given:?}");
        }
    }

    #[test]
    fn fences_are_longer_than_what_is_inside() {
        assert_eq!(fenced("", "a"), "```\na\n```\n");
        assert_eq!(fenced("json", "a\n````\nb\n"), "`````json\na\n````\nb\n`````\n");
    }

    #[test]
    fn short_texts_stay_in_their_line() {
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(code("a\nb"), "`a b`");
        assert_eq!(code(""), "");
        assert_eq!(plain(" [x] <b>\n*y*, (ok-ish)?"), "\\[x\\] \\<b\\> \\*y\\*, (ok-ish)?");
        assert_eq!(quoted("a\n\nb\n"), "> a\n>\n> b\n");
    }
}
