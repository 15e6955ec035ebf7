//! Splits a line as bash does, and quotes words for it.

/// The quotes that are open at the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quote {
    None,
    Single,
    Double,
}

/// A line being typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TypedLine {
    /// The words of its last command, unquoted; the last one is being typed.
    pub(crate) words: Vec<String>,
    pub(crate) quote: Quote,
    /// The bytes of the last word that bash does not replace: those before the open quote, or before the last character
    /// at which it breaks words. It breaks at more characters than we do, for example at `=` and `:`.
    n_unreplaced: usize,
}

/// Splits a line. Nothing in it is ever evaluated.
pub(crate) fn split(line: &str, breaks: &str) -> TypedLine {
    let mut words = vec![String::new()];
    let mut quote = Quote::None;
    let mut is_open = false;
    let mut n_unreplaced = 0;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        let length = words.last().map_or(0, String::len);
        match (quote, char) {
            (Quote::Single, '\'') | (Quote::Double, '"') => quote = Quote::None,
            (Quote::None, '\'') => (quote, is_open, n_unreplaced) = (Quote::Single, true, length),
            (Quote::None, '"') => (quote, is_open, n_unreplaced) = (Quote::Double, true, length),
            (Quote::None | Quote::Double, '\\') => {
                is_open = true;
                push(&mut words, chars.next());
            }
            (Quote::None, ';' | '|' | '&' | '(' | '\n') => {
                // Another command starts.
                words = vec![String::new()];
                (is_open, n_unreplaced) = (false, 0);
            }
            (Quote::None, char) if char.is_whitespace() => {
                if is_open {
                    words.push(String::new());
                }
                (is_open, n_unreplaced) = (false, 0);
            }
            (_, char) => {
                is_open = true;
                push(&mut words, Some(char));
                if quote == Quote::None && breaks.contains(char) {
                    // These two characters belong to the word after the break.
                    n_unreplaced = if matches!(char, '@' | '$') { length } else { length + char.len_utf8() };
                }
            }
        }
    }
    TypedLine { words, quote, n_unreplaced }
}

fn push(words: &mut [String], char: Option<char>) {
    if let (Some(word), Some(char)) = (words.last_mut(), char) {
        word.push(char);
    }
}

impl TypedLine {
    /// Returns the text with which bash has to replace its part of the word, so that the typed word becomes `word`.
    pub(crate) fn completed(&self, word: &str) -> String {
        escaped(word.get(self.n_unreplaced..).unwrap_or(word), self.quote)
    }
}

/// Escapes a word for use inside these quotes.
fn escaped(word: &str, quote: Quote) -> String {
    let mut text = String::new();
    for char in word.chars() {
        let needs_escape = match quote {
            Quote::None => !(char.is_alphanumeric() || "@%+=:,./-_~".contains(char)),
            Quote::Double => "\"\\$`".contains(char),
            Quote::Single => false,
        };
        if quote == Quote::Single && char == '\'' {
            // This is the only way to write a single quote.
            text.push_str("'\\''");
            continue;
        }
        text.extend(needs_escape.then_some('\\'));
        text.push(char);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    #[test]
    fn lines_are_split_like_in_bash() {
        let words = |line: &str| split(line, BREAKS).words;
        assert_eq!(words("sessile  tree "), ["sessile", "tree", ""]);
        assert_eq!(words("sessile tree @la"), ["sessile", "tree", "@la"]);
        assert_eq!(words(r"sessile tree Tide\ ta"), ["sessile", "tree", "Tide ta"]);
        assert_eq!(words("cd x && sessile li"), ["sessile", "li"]);
        assert_eq!(words("sessile tree \"Tide ta"), ["sessile", "tree", "Tide ta"]);
        assert_eq!(words("sessile tree 'a\\"), ["sessile", "tree", "a\\"]);
        assert_eq!(words("sessile '' "), ["sessile", "", ""]);
    }

    #[test]
    fn shell_characters_are_escaped() {
        assert_eq!(escaped("a $(rm) `x` 'y'", Quote::None), r"a\ \$\(rm\)\ \`x\`\ \'y\'");
        assert_eq!(escaped("a $(rm) \"", Quote::Double), "a \\$(rm) \\\"");
        assert_eq!(escaped("it's", Quote::Single), r"it'\''s");
    }

    #[test]
    fn only_the_part_that_bash_replaces_is_returned() {
        let completed = |line: &str, word: &str| split(line, BREAKS).completed(word);
        assert_eq!(completed("sessile tree @la", "@latest"), "@latest");
        assert_eq!(completed("sessile tree a@l", "a@latest"), "@latest");
        assert_eq!(completed("sessile --color=a", "--color=always"), "always");
        assert_eq!(completed(r"sessile tree a\:\ b", "a: bc"), r"a:\ bc");
        assert_eq!(completed("sessile tree \"a: b", "a: bc"), "a: bc");
        assert_eq!(completed("sessile tree --session='a b", "--session=a bc"), "a bc");
        assert_eq!(completed("sessile li", "list"), "list");
    }

    proptest! {
        #[test]
        fn completed_words_are_split_back(word in "\\PC{1,12}") {
            for (quote, open) in [(Quote::None, ""), (Quote::Double, "\""), (Quote::Single, "'")] {
                let line = format!("sessile {open}{}", escaped(&word, quote));
                prop_assert_eq!(split(&line, BREAKS).words.pop(), Some(word.clone()));
            }
        }
    }
}
