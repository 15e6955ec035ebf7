//! The rule: a title from what the user asked first. The same texts give the same title.

use unicode_width::UnicodeWidthChar;

use super::request::{first_sentence, is_file_alone, request};
use super::words::{plain_words, shortened};

/// The widest title of the rule, in columns.
pub(super) const MAX_COLUMNS: usize = 60;

/// A title with fewer characters gets the name of a changed file.
pub(super) const SHORT: usize = 12;

/// What the rule looks at. Secrets are not in it any more.
#[derive(Clone, Debug, Default)]
pub(super) struct Material<'m> {
    /// What the user wrote, the oldest first.
    pub(super) requests: Vec<&'m str>,
    /// The text of the first answer that has one.
    pub(super) first_answer: Option<&'m str>,
    /// The file that the branch changed last.
    pub(super) changed_file: Option<&'m str>,
}

/// Makes a title; `None` if the user has not asked for anything yet.
pub(super) fn title(material: &Material<'_>) -> Option<String> {
    let requests = material.requests.iter().filter_map(|text| request(text));
    // A file by itself says less than what the model found in it.
    let from_request = requests.map(|text| first_sentence(&text)).find(|sentence| !is_file_alone(sentence));
    let from_answer = || {
        material.requests.iter().find_map(|text| request(text))?;
        material.first_answer.and_then(request).map(|text| first_sentence(&text))
    };
    let sentence = from_request.or_else(from_answer).or_else(|| material.requests.iter().find_map(|it| request(it)))?;
    let title = tidy(&sentence)?;
    let file = material.changed_file.map(base_name).filter(|_| title.chars().count() < SHORT);
    Some(match file {
        Some(file) if !file.is_empty() && !title.contains(file) => shortened(&format!("{title} ({file})"), MAX_COLUMNS),
        _ => title,
    })
}

/// Makes a title of one text, such as the first message of a session.
pub fn title_of_text(text: &str) -> Option<String> {
    title(&Material { requests: vec![text], ..Material::default() })
}

/// One line of plain words that fits; `None` if nothing is left.
fn tidy(sentence: &str) -> Option<String> {
    let words = plain_words(sentence);
    let title = shortened(&words, MAX_COLUMNS);
    let title = title.trim_matches(|char: char| char.is_whitespace() || ",;:.-–—".contains(char));
    title.chars().any(char::is_alphanumeric).then(|| title.to_owned())
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default()
}

/// The columns that a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|char| char.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_request_becomes_the_title() {
        for (text, expected) in [
            ("Fix the build.", Some("Fix the build")),
            ("Please look at src/core/main.rs. It is slow.", Some("Please look at main.rs")),
            ("Why does `cargo test` hang?", Some("Why does cargo test hang?")),
            ("see https://user:pw@example.com/a/b?c=d for details", Some("see example.com for details")),
            ("# Plan\nAdd a cache", Some("Plan")),
            ("```\nerror: x\n```\nWhat is wrong here?", Some("What is wrong here?")),
            ("2026-01-02 10:00:01 ERROR x\n    at foo (bar.js:1)\nplease fix", Some("please fix")),
            ("error[E0308]: mismatched types\n --> src/main.rs:1:2", None),
            ("hi", None),
            ("Hello!", None),
            ("/compact", None),
            ("/home/me/x.rs is broken", Some("x.rs is broken")),
            ("<environment_context>cwd</environment_context>", None),
            ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>", None),
            ("C:\\work\\app\\main.py crashes on start", Some("main.py crashes on start")),
            ("e.g. this: use v1.2 of it", Some("e.g. this: use v1.2 of it")),
            ("バックアップを修正してください。お願いします", Some("バックアップを修正してください")),
            ("", None),
            ("…", None),
        ] {
            assert_eq!(title_of_text(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn long_requests_end_at_a_word() {
        let long = "Move the parser of the configuration into a crate of its own so that others can use it";
        assert_eq!(
            title_of_text(long).as_deref(),
            Some("Move the parser of the configuration into a crate of its own")
        );
        let one_word = "x".repeat(200);
        assert_eq!(title_of_text(&one_word).map(|title| title.len()), Some(MAX_COLUMNS));
        let wide = title_of_text(&"潮".repeat(100)).unwrap();
        assert_eq!(columns(&wide), MAX_COLUMNS);
    }

    #[test]
    fn later_requests_answers_and_files_help() {
        let material = Material { requests: vec!["hi", "/model", "Rename the flag"], ..Material::default() };
        assert_eq!(title(&material).as_deref(), Some("Rename the flag"));
        let file = Material {
            requests: vec!["@src/lib.rs"],
            first_answer: Some("This file declares the modules. It is short."),
            ..Material::default()
        };
        assert_eq!(title(&file).as_deref(), Some("This file declares the modules"));
        assert_eq!(title(&Material { first_answer: None, ..file }).as_deref(), Some("lib.rs"));
        let short = Material { requests: vec!["Fix it"], changed_file: Some("/a/b/parse.rs"), ..Material::default() };
        assert_eq!(title(&short).as_deref(), Some("Fix it (parse.rs)"));
        assert_eq!(title(&Material { requests: Vec::new(), ..short }), None);
    }

    proptest! {
        #[test]
        fn a_title_is_one_narrow_line_without_control_characters(
            texts in prop::collection::vec("(\\PC|[\\n\\t\\u{1b}\\u{7}\\u{202e}/.`<>@#]){0,80}", 0..4),
            file in proptest::option::of("\\PC{0,20}"),
        ) {
            let requests: Vec<&str> = texts.iter().map(String::as_str).collect();
            let material = Material { requests, first_answer: texts.first().map(String::as_str), changed_file: file.as_deref() };
            if let Some(title) = title(&material) {
                prop_assert!(columns(&title) <= MAX_COLUMNS, "{}", title);
                prop_assert!(!title.chars().any(char::is_control));
                prop_assert_eq!(title.trim(), &title);
                prop_assert!(title.chars().any(char::is_alphanumeric));
            }
        }
    }
}
