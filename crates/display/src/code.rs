//! Syntax highlighting.
//!
//! One scanner serves all languages: comments, strings, numbers and the keywords that most languages share. It is
//! sometimes wrong, but still easier to read than no colour at all. It takes linear time, whatever the text.

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// Anything else.
    Plain,
    /// A comment.
    Comment,
    /// A string.
    String,
    /// A number.
    Number,
    /// A keyword.
    Keyword,
}

/// Highlights code line by line.
#[derive(Clone, Debug)]
pub struct Highlighter {
    /// The markers that start a comment up to the end of the line.
    comment: &'static [&'static str],
    /// Whether `/*` starts a comment.
    has_blocks: bool,
    is_plain: bool,
    is_in_block: bool,
}

/// Sorted by bytes.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "False", "None", "Self", "True", "abstract", "and", "as", "async", "await", "begin", "break", "case", "catch",
    "class", "const", "continue", "def", "default", "defer", "del", "do", "done", "elif", "else", "elsif", "end",
    "enum", "esac", "except", "export", "extends", "extern", "false", "fi", "final", "finally", "fn", "for", "from",
    "func", "function", "go", "goto", "if", "impl", "implements", "import", "in", "include", "interface", "is",
    "lambda", "let", "local", "loop", "match", "mod", "module", "move", "mut", "namespace", "new", "nil", "not",
    "null", "of", "or", "override", "package", "pass", "private", "protected", "pub", "public", "raise", "range",
    "ref", "require", "return", "select", "self", "static", "struct", "super", "switch", "then", "this", "throw",
    "trait", "true", "try", "type", "typeof", "union", "unsafe", "use", "using", "val", "var", "virtual", "void",
    "where", "while", "with", "yield",
];

impl Highlighter {
    /// Creates a highlighter for a language name or a file extension.
    pub fn new(language: &str) -> Self {
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
    pub fn for_file(path: &str) -> Self {
        Self::new(path.rsplit(['.', '/']).next().unwrap_or_default())
    }

    /// Whether the language is unknown, so that nothing is highlighted.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Splits the next line into pieces. Together they are the whole line; neighbours differ.
    pub fn pieces<'t>(&mut self, line: &'t str) -> Vec<(Token, &'t str)> {
        let mut pieces: Vec<(Token, &str)> = Vec::new();
        let (mut start, mut at) = (0, 0);
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            let (token, len) = if self.is_plain { (Token::Plain, rest.len()) } else { self.piece(rest) };
            let end = at + len.max(1);
            match pieces.last_mut() {
                Some((last, text)) if *last == token => *text = line.get(start..end).unwrap_or_default(),
                _ => {
                    start = at;
                    pieces.push((token, line.get(start..end).unwrap_or_default()));
                }
            }
            at = end;
        }
        pieces
    }

    /// The kind of the next piece and its length in bytes.
    fn piece(&mut self, rest: &str) -> (Token, usize) {
        if self.is_in_block {
            let end = rest.find("*/");
            self.is_in_block = end.is_none();
            return (Token::Comment, end.map_or(rest.len(), |end| end + 2));
        }
        if self.has_blocks && rest.starts_with("/*") {
            self.is_in_block = true;
            return (Token::Comment, 2);
        }
        if self.comment.iter().any(|comment| rest.starts_with(comment)) {
            return (Token::Comment, rest.len());
        }
        let first = rest.chars().next().unwrap_or(' ');
        match first {
            '"' | '\'' | '`' => match string_end(rest, first) {
                Some(end) => (Token::String, end),
                // An unclosed quote is a lifetime, an apostrophe or similar.
                None => (Token::Plain, 1),
            },
            _ if first.is_ascii_digit() => {
                let is_part = |char: char| char.is_ascii_alphanumeric() || char == '.' || char == '_';
                (Token::Number, rest.find(|char| !is_part(char)).unwrap_or(rest.len()))
            }
            _ if first.is_alphabetic() || first == '_' => {
                let len = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
                let is_keyword = KEYWORDS.binary_search(&rest.get(..len).unwrap_or_default()).is_ok();
                (if is_keyword { Token::Keyword } else { Token::Plain }, len)
            }
            _ => (Token::Plain, first.len_utf8()),
        }
    }
}

/// The length of a quoted text that is searched for its end. Bounds the time for a line of many quotes.
const MAX_STRING: usize = 4096;

/// Returns the byte offset after the closing quote.
fn string_end(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1).take(MAX_STRING) {
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

    fn of(highlighter: &mut Highlighter, text: &str, token: Token) -> String {
        let pieces = highlighter.pieces(text);
        assert_eq!(pieces.iter().map(|(_, piece)| *piece).collect::<String>(), text);
        assert!(pieces.windows(2).all(|pair| pair[0].0 != pair[1].0), "{pieces:?}");
        pieces.iter().filter(|(it, _)| *it == token).map(|(_, piece)| *piece).collect()
    }

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted(), "{KEYWORDS:?}");
    }

    #[test]
    fn tokens_are_distinguished() {
        let mut rust = Highlighter::new("rust");
        assert_eq!(of(&mut rust, "let x = \"a\\\"b\"; // c", Token::Keyword), "let");
        assert_eq!(of(&mut rust, "let x = \"a\\\"b\"; // c", Token::String), "\"a\\\"b\"");
        assert_eq!(of(&mut rust, "let x = 1_000; // c", Token::Number), "1_000");
        assert_eq!(of(&mut rust, "fn f<'a>() {} // ç", Token::Comment), "// ç");
        assert_eq!(of(&mut rust, "a /* b", Token::Comment), "/* b");
        assert_eq!(of(&mut rust, "c */ d", Token::Comment), "c */");
        assert_eq!(of(&mut Highlighter::for_file("src/a.py"), "x # y", Token::Comment), "# y");
        assert_eq!(of(&mut Highlighter::new("prose"), "let it be 1", Token::Plain), "let it be 1");
        assert_eq!(of(&mut Highlighter::new("rs"), "", Token::Plain), "");
    }

    #[test]
    fn a_line_of_quotes_takes_linear_time() {
        // Without a bound on the search, this would take about 10^9 steps.
        let line = "\"\\".repeat(20_000);
        assert_eq!(of(&mut Highlighter::new("rs"), &line, Token::Plain).len(), line.len());
    }
}
