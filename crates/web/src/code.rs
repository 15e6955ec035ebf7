//! Highlighted code.

use sessile_display::code::{Highlighter, Token};

use crate::html::push_text;

/// Longer lines are not highlighted.
const MAX_LINE: usize = 16 << 10;

/// The number of lines and bytes of a text that are highlighted.
const MAX_LINES: usize = 800;
const MAX_BYTES: usize = 50 << 10;

/// Appends code, highlighted up to a limit.
pub(crate) fn push_code(out: &mut String, highlighter: &mut Highlighter, code: &str) {
    if highlighter.is_plain() {
        return push_text(out, code);
    }
    let mut n_bytes = 0;
    for (n_lines, line) in code.split_inclusive('\n').enumerate() {
        if line.len() > MAX_LINE || n_lines >= MAX_LINES || n_bytes > MAX_BYTES {
            push_text(out, line);
        } else {
            push_line(out, highlighter, line);
        }
        n_bytes += line.len();
    }
}

fn push_line(out: &mut String, highlighter: &mut Highlighter, line: &str) {
    for (token, piece) in highlighter.pieces(line) {
        let class = match token {
            Token::Plain => {
                push_text(out, piece);
                continue;
            }
            Token::Comment => "c",
            Token::String => "s",
            Token::Number => "n",
            Token::Keyword => "k",
        };
        out.push_str("<i class=");
        out.push_str(class);
        out.push('>');
        push_text(out, piece);
        out.push_str("</i>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(language: &str, code: &str) -> String {
        let mut out = String::new();
        push_code(&mut out, &mut Highlighter::new(language), code);
        out
    }

    #[test]
    fn code_is_escaped_and_classified() {
        assert_eq!(html("rs", "if a<b {} // <i>"), "<i class=k>if</i> a&lt;b {} <i class=c>// &lt;i&gt;</i>");
        assert_eq!(html("", "if a<b"), "if a&lt;b");
    }

    #[test]
    fn long_lines_and_long_texts_stay_plain() {
        assert_eq!(html("rs", &"if ".repeat(MAX_LINE)), "if ".repeat(MAX_LINE));
        let many = html("rs", &"if\n".repeat(MAX_LINES + 3));
        assert_eq!(many.matches("<i class=k>").count(), MAX_LINES);
        assert!(many.ends_with("if\nif\nif\n"));
    }
}
