//! Syntax highlighting.
//!
//! One scanner serves all languages: comments, strings, numbers and the keywords that most languages share. It is
//! sometimes wrong, but still easier to read than no colour at all, and it is cheap.

use crate::paint::Line;
use crate::theme::Ink;

/// Highlights code line by line.
pub(crate) struct Highlighter {
    /// The markers that start a comment up to the end of the line.
    comment: &'static [&'static str],
    /// Whether `/*` starts a comment.
    has_blocks: bool,
    is_plain: bool,
    is_in_block: bool,
}

const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "begin",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "defer",
    "del",
    "do",
    "done",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "extern",
    "False",
    "false",
    "fi",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "include",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "of",
    "or",
    "override",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "range",
    "ref",
    "require",
    "return",
    "select",
    "Self",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "True",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "use",
    "using",
    "val",
    "var",
    "virtual",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

impl Highlighter {
    /// Creates a highlighter for a language name or a file extension.
    pub(crate) fn new(language: &str) -> Self {
        let language = language.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
        let (comment, has_blocks): (&[&str], bool) = match language.as_str() {
            "rust" | "rs" | "c" | "h" | "cpp" | "cc" | "hpp" | "java" | "kt" | "kotlin" | "js" | "jsx"
            | "javascript" | "mjs" | "ts" | "tsx" | "typescript" | "go" | "swift" | "cs" | "csharp" | "scala"
            | "php" | "dart" | "zig" | "proto" | "css" | "scss" => (&["//"], true),
            "py" | "python" | "rb" | "ruby" | "sh" | "bash" | "zsh" | "fish" | "shell" | "console" | "toml"
            | "yaml" | "yml" | "pl" | "perl" | "r" | "make" | "makefile" | "dockerfile" | "nix" | "ex" | "exs"
            | "elixir" => (&["#"], false),
            "sql" | "lua" | "haskell" | "hs" | "ada" | "elm" => (&["--"], false),
            "lisp" | "clj" | "scheme" | "ini" | "asm" => (&[";"], false),
            "json" | "jsonc" | "html" | "xml" => (&[], false),
            _ => return Self { comment: &[], has_blocks: false, is_plain: true, is_in_block: false },
        };
        Self { comment, has_blocks, is_plain: false, is_in_block: false }
    }

    /// Creates a highlighter for a file name.
    pub(crate) fn for_file(path: &str) -> Self {
        Self::new(path.rsplit(['.', '/']).next().unwrap_or_default())
    }

    /// Highlights the next line.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        let text = text.replace('\t', "    ");
        if self.is_plain {
            return Line::new().text(&text);
        }
        let mut line = Line::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (ink, len) = self.piece(rest);
            let (piece, rest_after) = rest.split_at_checked(len).unwrap_or((rest, ""));
            line.push(ink, piece);
            rest = rest_after;
        }
        line
    }

    /// Returns the ink of the next piece and its length in bytes.
    fn piece(&mut self, rest: &str) -> (Ink, usize) {
        if self.is_in_block {
            let end = rest.find("*/");
            self.is_in_block = end.is_none();
            return (Ink::DIM, end.map_or(rest.len(), |end| end + 2));
        }
        if self.has_blocks && rest.starts_with("/*") {
            self.is_in_block = true;
            return (Ink::DIM, 2);
        }
        if self.comment.iter().any(|comment| rest.starts_with(comment)) {
            return (Ink::DIM, rest.len());
        }
        let first = rest.chars().next().unwrap_or(' ');
        match first {
            '"' | '\'' | '`' => match string_end(rest, first) {
                Some(end) => (Ink::PERSON, end),
                // An unclosed quote is a lifetime, an apostrophe or similar.
                None => (Ink::PLAIN, 1),
            },
            _ if first.is_ascii_digit() => {
                let is_part = |char: char| char.is_ascii_alphanumeric() || char == '.' || char == '_';
                (Ink::NAMED, rest.find(|char| !is_part(char)).unwrap_or(rest.len()))
            }
            _ if first.is_alphabetic() || first == '_' => {
                let len = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
                let is_keyword =
                    KEYWORDS.binary_search_by(|word| order(word).cmp(&order(rest.get(..len).unwrap_or_default())));
                (if is_keyword.is_ok() { Ink::ACCENT } else { Ink::PLAIN }, len)
            }
            _ => (Ink::PLAIN, first.len_utf8()),
        }
    }
}

/// Sort key of a keyword: alphabetical without regard to case, then by case.
fn order(word: &str) -> (String, &str) {
    (word.to_ascii_lowercase(), word)
}

/// Returns the byte offset after the closing quote.
fn string_end(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if char == quote => return Some(at + char.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inked(highlighter: &mut Highlighter, text: &str, ink: Ink) -> String {
        let line = highlighter.line(text);
        assert_eq!(line.to_text(), text);
        let marked = (0..text.len())
            .filter(|at| line.columns_from(*at, 1) == Line::new().ink(ink, text.get(*at..=*at).unwrap()));
        marked.filter_map(|at| text.get(at..=at)).collect()
    }

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted_by_key(|word| order(word)), "{KEYWORDS:?}");
    }

    #[test]
    fn tokens_are_distinguished() {
        let mut rust = Highlighter::new("rust");
        assert_eq!(inked(&mut rust, "let x = \"a\\\"b\"; // c", Ink::ACCENT), "let");
        assert_eq!(inked(&mut rust, "let x = \"a\\\"b\"; // c", Ink::PERSON), "\"a\\\"b\"");
        assert_eq!(inked(&mut rust, "let x = 1_000; // c", Ink::NAMED), "1_000");
        assert_eq!(inked(&mut rust, "fn f<'a>() {} // c", Ink::DIM), "// c");
        assert_eq!(inked(&mut rust, "a /* b", Ink::DIM), "/* b");
        assert_eq!(inked(&mut rust, "c */ d", Ink::DIM), "c */");
        assert_eq!(inked(&mut Highlighter::for_file("src/a.py"), "x # y", Ink::DIM), "# y");
        assert_eq!(inked(&mut Highlighter::new("prose"), "let it be 1", Ink::ACCENT), "");
    }
}
