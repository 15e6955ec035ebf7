//! Quotes pieces of foreign text: shortened, on one line each, and safe to print.

/// Tag names used around summaries. Quoted text must not open or close them.
const TAGS: &[&str] = &["summary", "previous-summary", "conversation", "read-files", "modified-files"];

/// A longer run of ASCII without a space is data, not a word.
const LONGEST_WORD: usize = 160;

/// The space a text takes, roughly in quarters of a token.
pub(super) fn cost(text: &str) -> usize {
    text.chars().map(char_cost).sum()
}

/// In scripts without spaces a character carries more meaning and takes more tokens.
fn char_cost(character: char) -> usize {
    if character < '\u{1100}' { 1 } else { 2 }
}

/// A text as one line that costs at most `room`. An ellipsis marks a cut.
pub(super) fn line(text: &str, room: usize) -> String {
    let mut out = String::new();
    let mut left = room;
    let mut word_len = 0;
    let mut is_space_due = false;
    for character in visible(text) {
        if character.is_whitespace() {
            is_space_due = !out.is_empty();
            word_len = 0;
            continue;
        }
        word_len = if character.is_ascii() { word_len + 1 } else { 0 };
        if word_len > LONGEST_WORD {
            if word_len == LONGEST_WORD + 1 {
                out.push('…');
            }
            continue;
        }
        let needed = char_cost(character) + usize::from(is_space_due);
        if needed > left {
            return without_tags(&cut(out));
        }
        left -= needed;
        if is_space_due {
            out.push(' ');
            is_space_due = false;
        }
        out.push(character);
    }
    without_tags(&out)
}

/// Cuts a line after its last whole word, unless that is far back, and adds an ellipsis.
fn cut(mut line: String) -> String {
    let far = line.len().saturating_sub(24);
    if let Some(at) = line.rfind(' ').filter(|at| *at >= far) {
        line.truncate(at);
    }
    while line.ends_with([',', ';', ':', '-', ' ']) {
        line.pop();
    }
    line.push('…');
    line
}

/// The characters of a text, without those that control a terminal or change the text direction.
fn visible(text: &str) -> impl Iterator<Item = char> {
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let character = characters.next()?;
            if character == '\u{1b}' {
                skip_escape(&mut characters);
            } else if character.is_whitespace() || !is_steering(character) {
                return Some(character);
            }
        }
    })
}

/// Skips the rest of an escape sequence, if it is a short one of the usual form.
fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if characters.next_if_eq(&'[').is_none() {
        return;
    }
    for _ in 0..32 {
        match characters.next_if(|it| it.is_ascii_digit() || matches!(it, ';' | '?' | '=' | '>')) {
            Some(_) => {}
            None => break,
        }
    }
    characters.next_if(char::is_ascii_alphabetic);
}

fn is_steering(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || ('\u{e0000}'..='\u{e007f}').contains(&character)
}

/// Defuses the tags used around summaries.
pub(super) fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let name = after.strip_prefix('/').unwrap_or(after);
        let is_tag = TAGS.iter().any(|tag| {
            let same = name.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag));
            same && !name.get(tag.len()..).is_some_and(|it| it.starts_with(|next: char| next.is_alphanumeric()))
        });
        out.push_str(before);
        out.push(if is_tag { '‹' } else { '<' });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The lines of a text that are prose or lists: not code, tables or rules.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().map(str::trim).filter(move |line| {
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            return false;
        }
        !is_code && !line.starts_with('|') && line.chars().any(char::is_alphanumeric)
    })
}

/// The text that the user apparently wrote by hand: without lines that are mostly symbols and digits, such as data,
/// logs and traces.
pub(super) fn own_words(text: &str) -> String {
    let is_own = |line: &&str| {
        let n_letters = line.chars().take(400).filter(|it| it.is_alphabetic() || it.is_whitespace()).count();
        let n_characters = line.chars().take(400).count();
        5 * n_letters >= 4 * n_characters && !line.starts_with("at ") && line.len() < 4000
    };
    let own: Vec<&str> = prose(text).take(2000).filter(is_own).collect();
    if own.iter().map(|line| line.len()).sum::<usize>() < 12 { text.to_owned() } else { own.join("\n") }
}

/// The sentences of a text, without list, heading and quotation markers.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| Sentences(unmarked(line)))
}

/// The sentences of a text that make a statement. Headings are left out.
pub(super) fn statements(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|line| !line.starts_with('#')).flat_map(|line| Sentences(unmarked(line)))
}

/// A line without its list marker, `#` or `>`.
pub(super) fn unmarked(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', ' ']);
    let line =
        ["- [ ] ", "- [x] ", "- ", "* ", "• ", "– "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=3).contains(&digits).then(|| line.get(digits..)).flatten();
    let rest = numbered.and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")));
    rest.unwrap_or(line).trim()
}

struct Sentences<'t>(&'t str);

impl<'t> Iterator for Sentences<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let text = self.0.trim_start();
            if text.is_empty() {
                return None;
            }
            let (sentence, rest) = text.split_at(sentence_end(text));
            self.0 = rest;
            let sentence = sentence.trim_end();
            if sentence.chars().any(char::is_alphanumeric) {
                return Some(sentence);
            }
        }
    }
}

/// The end of the first sentence of a line.
fn sentence_end(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let end = at + character.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        let ends = match character {
            '。' | '！' | '？' | '｡' => true,
            '.' => next.is_none_or(char::is_whitespace) && !is_abbreviated(text.split_at(at).0),
            '!' | '?' | '…' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            return end;
        }
    }
    text.len()
}

/// Whether a dot after this text belongs to an abbreviation (`e.g`, `z. B`) or a number.
fn is_abbreviated(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let n_letters = word.chars().count();
    n_letters <= 1 || (word.contains('.') && n_letters <= 4 && word.chars().all(|it| it == '.' || it.is_alphabetic()))
}

/// The beginning of a text: as many whole sentences as fit, but at least the first.
pub(super) fn opening(text: &str, room: usize) -> String {
    let mut out = String::new();
    for sentence in sentences(text) {
        let sentence = line(sentence, room);
        if out.is_empty() {
            out = sentence;
        } else if cost(&out) + cost(&sentence) < room {
            out.push_str(if out.ends_with(|it: char| it.is_alphanumeric() || matches!(it, ')' | '`' | '"')) {
                "; "
            } else {
                " "
            });
            out.push_str(&sentence);
        } else {
            break;
        }
    }
    if out.is_empty() { line(text, room) } else { out }
}

/// A text of several lines within `room`, each safe to print. Consecutive blank lines become one.
pub(super) fn block(text: &str, room: usize) -> String {
    let mut out = String::new();
    let mut left = room;
    for piece in text.trim().lines() {
        let indent = piece.len() - piece.trim_start_matches(' ').len();
        let shown = line(piece, left);
        if shown.is_empty() {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.extend(std::iter::repeat_n(' ', indent.min(8)));
        out.push_str(&shown);
        left = left.saturating_sub(cost(&shown) + 1);
        if left < 8 {
            out.push_str(if shown.ends_with('…') { "" } else { " …" });
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_harmless() {
        for (text, room, expected) in [
            ("  a\n\n b\tc ", 10, "a b c"),
            ("one two three", 9, "one two…"),
            ("日本語のとても長い文", 8, "日本語の…"),
            ("\u{1b}[31mred\u{1b}[0m \u{202e}x\u{0}y\u{7}", 20, "red xy"),
            ("</summary> <summaryx> a<b </Read-Files>", 60, "‹/summary> <summaryx> a<b ‹/Read-Files>"),
            ("👩‍👩‍👧 ok", 40, "👩‍👩‍👧 ok"),
            ("", 5, ""),
        ] {
            assert_eq!(line(text, room), expected, "{text:?}");
        }
        let blob = "A".repeat(1000);
        assert_eq!(line(&blob, 5000), format!("{}…", "A".repeat(LONGEST_WORD)));
    }

    #[test]
    fn sentence_ends_are_found() {
        let all = |text| sentences(text).collect::<Vec<_>>();
        assert_eq!(all("Use v1.2, e.g. here. Then go! why?"), ["Use v1.2, e.g. here.", "Then go!", "why?"]);
        assert_eq!(all("直した。次は？ はい"), ["直した。", "次は？", "はい"]);
        assert_eq!(all("# Plan\n1. first\n- [ ] second\n```\ncode.\n```\n|a|b|\n---"), ["Plan", "first", "second"]);
        assert_eq!(opening("One. Two two. Three three three.", 14), "One. Two two.");
    }

    #[test]
    fn blocks_keep_their_lines() {
        assert_eq!(block("a\n\n\n  b\nc", 100), "a\n\n  b\nc");
        assert_eq!(block("first line\nsecond line that is long", 22), "first line\nsecond…");
    }
}
