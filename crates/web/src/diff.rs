//! Changes to a text, line by line, with the changed words marked.

use similar::{ChangeTag, TextDiff};

use crate::html::push_text;

/// Longer texts are not compared line by line, because that may take quadratic time.
const MAX_COMPARED: usize = 5000;

/// Longer lines are not compared word by word.
const MAX_WORDS_LINE: usize = 600;

/// Appends the lines that change `old` into `new`. Returns the number of lines.
pub(crate) fn push_diff(out: &mut String, old: &str, new: &str) -> usize {
    let mut lines = Lines { out, n_lines: 0 };
    if old.lines().count().max(new.lines().count()) > MAX_COMPARED {
        old.lines().for_each(|line| lines.plain(Side::Old, line));
        new.lines().for_each(|line| lines.plain(Side::New, line));
        return lines.n_lines;
    }
    let diff = TextDiff::from_lines(old, new);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let line = change.value().trim_end_matches(['\n', '\r']);
        match change.tag() {
            ChangeTag::Delete => removed.push(line),
            ChangeTag::Insert => added.push(line),
            ChangeTag::Equal => {
                lines.hunk(&mut removed, &mut added);
                lines.plain(Side::Both, line);
            }
        }
    }
    lines.hunk(&mut removed, &mut added);
    lines.n_lines
}

/// Appends a diff that a tool wrote: lines that start with `+`, `-` or a space.
pub(crate) fn push_written_diff(out: &mut String, diff: &str) {
    let mut lines = Lines { out, n_lines: 0 };
    for line in diff.lines() {
        match line.chars().next() {
            Some('+') => lines.plain(Side::New, line.get(1..).unwrap_or_default()),
            Some('-') => lines.plain(Side::Old, line.get(1..).unwrap_or_default()),
            _ => lines.plain(Side::Both, line.strip_prefix(' ').unwrap_or(line)),
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Old,
    New,
    Both,
}

impl Side {
    /// The start tag of a line. The sign is text, so that it is read aloud and copied.
    fn start(self) -> &'static str {
        match self {
            Self::Old => "<span class=\"d o\">-",
            Self::New => "<span class=\"d w\">+",
            Self::Both => "<span class=d> ",
        }
    }
}

struct Lines<'o> {
    out: &'o mut String,
    n_lines: usize,
}

impl Lines<'_> {
    fn plain(&mut self, side: Side, line: &str) {
        self.out.push_str(side.start());
        push_text(self.out, line);
        self.end();
    }

    fn end(&mut self) {
        self.out.push_str("\n</span>");
        self.n_lines += 1;
    }

    /// Writes removed lines and the lines that replace them. If there are as many, their words are compared.
    fn hunk(&mut self, removed: &mut Vec<&str>, added: &mut Vec<&str>) {
        let are_pairs = removed.len() == added.len();
        let pair = |index: usize, others: &[&str]| -> Option<String> {
            others
                .get(index)
                .filter(|other| are_pairs && other.len() <= MAX_WORDS_LINE)
                .map(|other| (*other).to_owned())
        };
        for (index, line) in removed.iter().enumerate() {
            match pair(index, added).filter(|_| line.len() <= MAX_WORDS_LINE) {
                Some(new) => self.words(Side::Old, line, &new),
                None => self.plain(Side::Old, line),
            }
        }
        for (index, line) in added.iter().enumerate() {
            match pair(index, removed).filter(|_| line.len() <= MAX_WORDS_LINE) {
                Some(old) => self.words(Side::New, &old, line),
                None => self.plain(Side::New, line),
            }
        }
        removed.clear();
        added.clear();
    }

    /// Writes one side of a changed line, with its changed words marked.
    fn words(&mut self, side: Side, old: &str, new: &str) {
        let shown = match side {
            Side::Old => ChangeTag::Delete,
            Side::New | Side::Both => ChangeTag::Insert,
        };
        self.out.push_str(side.start());
        let mut is_marked = false;
        for change in TextDiff::from_words(old, new).iter_all_changes() {
            let is_changed = change.tag() == shown;
            if !is_changed && change.tag() != ChangeTag::Equal {
                continue;
            }
            if is_changed != is_marked {
                self.out.push_str(if is_changed { "<b>" } else { "</b>" });
                is_marked = is_changed;
            }
            push_text(self.out, change.value());
        }
        if is_marked {
            self.out.push_str("</b>");
        }
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(old: &str, new: &str) -> String {
        let mut out = String::new();
        push_diff(&mut out, old, new);
        out
    }

    #[test]
    fn lines_and_words_are_compared() {
        let expected = "<span class=d> a\n</span><span class=\"d o\">-let <b>x</b> = 1;\n</span>\
                        <span class=\"d w\">+let <b>y</b> = 1;\n</span>";
        assert_eq!(html("a\nlet x = 1;\n", "a\nlet y = 1;\n"), expected);
        assert_eq!(html("<b>\n", ""), "<span class=\"d o\">-&lt;b&gt;\n</span>");
        assert_eq!(html("", "x\ny"), "<span class=\"d w\">+x\n</span><span class=\"d w\">+y\n</span>");
        assert_eq!(html("", ""), "");
    }

    #[test]
    fn long_texts_are_not_compared() {
        let long = "x\n".repeat(MAX_COMPARED + 1);
        assert_eq!(push_diff(&mut String::new(), &long, "x"), MAX_COMPARED + 2);
        let line = "word ".repeat(MAX_WORDS_LINE);
        assert!(!html(&line, &format!("{line}!")).contains("<b>"));
    }

    #[test]
    fn written_diffs_keep_their_lines() {
        let mut out = String::new();
        push_written_diff(&mut out, " 1 a\n-2 b\n+2 <c>\n...");
        let expected = "<span class=d> 1 a\n</span><span class=\"d o\">-2 b\n</span>\
                        <span class=\"d w\">+2 &lt;c&gt;\n</span><span class=d> ...\n</span>";
        assert_eq!(out, expected);
    }
}
