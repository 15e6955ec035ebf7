//! Which part of a message says what the user wants.

use super::rule::base_name;

/// Words that begin a conversation, or keep it going, without a request.
const SMALL_TALK: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "hallo",
    "moin",
    "hola",
    "salut",
    "bonjour",
    "ciao",
    "good morning",
    "thanks",
    "thank you",
    "ok",
    "okay",
    "yes",
    "no",
    "y",
    "n",
    "test",
    "ping",
    "continue",
    "go on",
    "go",
    "weiter",
    "ja",
    "nein",
];

/// Returns the part of a message that may be a request; `None` if there is none.
pub(super) fn request(text: &str) -> Option<String> {
    let text = text.trim();
    if is_command(text) || is_of_harness(text) {
        return None;
    }
    let mut is_fenced = false;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            is_fenced = !is_fenced;
        } else if !is_fenced && !is_output(line) {
            lines.push(line.trim().trim_start_matches(['#', '>', '*', '-', ' ']));
        }
    }
    let first = lines.iter().position(|line| line.chars().any(char::is_alphanumeric))?;
    // A sentence may go on in the next line, up to an empty one.
    let paragraph: Vec<&str> = lines[first..].iter().take_while(|line| !line.is_empty()).copied().collect();
    let paragraph = paragraph.join("\n");
    (!is_small_talk(&paragraph)).then_some(paragraph)
}

/// Returns the first sentence without its final dot.
pub(super) fn first_sentence(text: &str) -> String {
    let text = text.trim_start();
    let until = |end: usize| text.get(..end).unwrap_or_default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let end = at + char.len_utf8();
        let is_last_of_word = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        match char {
            '\n' => return until(at).trim_end().to_owned(),
            '。' => return until(at).to_owned(),
            '？' | '！' => return until(end).to_owned(),
            '?' | '!' if is_last_of_word => return until(end).to_owned(),
            '.' if is_last_of_word && !is_abbreviation(until(at)) => return until(at).to_owned(),
            _ => {}
        }
    }
    text.trim_end().to_owned()
}

/// Whether a text is the name of a file and nothing else.
pub(super) fn is_file_alone(text: &str) -> bool {
    let text = text.trim().trim_matches(['`', '"', '\'']);
    let name = base_name(text.trim_start_matches('@'));
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && (1..=6).contains(&extension.len()) && extension.chars().all(|it| it.is_ascii_alphanumeric())
    });
    !text.is_empty() && !text.contains(char::is_whitespace) && (text.starts_with('@') || has_extension)
}

/// Whether a dot ends a short form such as `e.g`, and not a sentence.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '\'']);
    let is_known = ["etc", "vs", "approx", "bzw", "ca", "z.B"].iter().any(|known| word.eq_ignore_ascii_case(known));
    is_known || word.contains('.') && word.split('.').all(|part| part.chars().count() == 1)
}

/// Whether a text is a command for the agent, such as `/compact`, and not a path.
fn is_command(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let Some(name) = word.strip_prefix('/') else { return text.starts_with('!') };
    !name.is_empty() && !name.contains(['/', '.'])
}

/// Whether an agent's program has added this text.
fn is_of_harness(text: &str) -> bool {
    let begins_with_tag = text.strip_prefix('<').is_some_and(|rest| {
        let name: String = rest.chars().take_while(|it| it.is_ascii_alphanumeric() || "_-".contains(*it)).collect();
        name.len() > 2 && rest.contains('>')
    });
    begins_with_tag || text.starts_with("# AGENTS.md") || text.starts_with("Caveat: The messages below")
}

/// Whether a line is what a program has printed.
fn is_output(line: &str) -> bool {
    let text = line.trim_start();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let begins_with_time = {
        let text = text.trim_start_matches('[');
        let n_digits = digits(text);
        let separator = text.as_bytes().get(n_digits).copied();
        n_digits == 4 && separator == Some(b'-') && digits(text.get(5..).unwrap_or_default()) == 2
            || n_digits == 2 && separator == Some(b':')
    };
    let marks = [
        "at ",
        "Traceback",
        "File \"",
        "error[",
        "error:",
        "warning:",
        "npm ERR!",
        "$ ",
        "--> ",
        "@@ ",
        "+++ ",
        "--- ",
        "| ",
    ];
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    begins_with_time || is_indented || marks.iter().any(|mark| text.starts_with(mark))
}

fn is_small_talk(text: &str) -> bool {
    let words: String = text.chars().filter(|it| it.is_alphanumeric() || it.is_whitespace()).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    words.is_empty() || SMALL_TALK.contains(&words.as_str())
}
