//! Plain words that fit into a line.

use sessile_core::display_control::affects_display;
use unicode_width::UnicodeWidthChar;

use super::rule::base_name;

/// Returns one line: paths as their last part, addresses as their host, without marks and control characters.
pub(super) fn plain_words(text: &str) -> String {
    let text: String = text.chars().map(|char| if is_hidden(char) { ' ' } else { char }).collect();
    let words = text.split_whitespace().map(plain_word).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn plain_word(word: &str) -> String {
    let word = word.replace(['`', '*'], "");
    let is_edge = |char: char| "\"'()[]{}<>,;:!?.".contains(char);
    let inner = word.trim_matches(is_edge);
    let Some((before, after)) = word.split_once(inner).filter(|_| !inner.is_empty()) else { return word.clone() };
    let short = match inner.split_once("://") {
        Some((_, rest)) => host(rest).to_owned(),
        None if is_path(inner) => base_name(inner.trim_start_matches('@')).to_owned(),
        None => inner.trim_start_matches('@').to_owned(),
    };
    format!("{before}{short}{after}")
}

/// The host of an address without its scheme.
fn host(address: &str) -> &str {
    let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}

/// Whether a word is a path, and not two alternatives such as `and/or`.
fn is_path(word: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "@"].iter().any(|begin| word.starts_with(begin));
    let has_drive = word.as_bytes().get(1) == Some(&b':') && word.contains('\\');
    let n_slashes = word.matches(['/', '\\']).count();
    let has_extension = base_name(word).contains('.');
    n_slashes > 0 && (begins || has_drive || n_slashes > 1 || has_extension)
}

/// Whether a character would act on a terminal, or be invisible.
fn is_hidden(char: char) -> bool {
    let is_invisible =
        matches!(char, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    is_invisible || affects_display(char)
}

/// Cuts a line to so many columns, at a word where possible.
pub(super) fn shortened(line: &str, max_columns: usize) -> String {
    let mut n_columns = 0;
    let mut last_word = None;
    for (at, char) in line.char_indices() {
        n_columns += char.width().unwrap_or(0);
        if n_columns > max_columns {
            // A cut within a word is better than losing more than half of the line.
            let end = if char == ' ' { at } else { last_word.filter(|end| *end * 2 > at).unwrap_or(at) };
            return line.get(..end).unwrap_or_default().trim_end().to_owned();
        }
        if char == ' ' {
            last_word = Some(at);
        }
    }
    line.to_owned()
}
