//! Decides which links are harmless.

/// The allowed schemes of links, besides relative targets.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Examines the text after a closing bracket. Returns the length of a harmless link target or definition, 0 if there is
/// neither, and `None` if there might be a harmful one.
pub(super) fn harmless_length(behind: &str) -> Option<usize> {
    if let Some(inside) = behind.strip_prefix('(') {
        let target = inside.get(..target_length(inside))?;
        let after = inside.get(target.len()..)?;
        let title = title_length(after);
        return (is_allowed(target) && after.get(title..)?.starts_with(')')).then_some(1 + target.len() + title + 1);
    }
    if let Some(after) = behind.strip_prefix(':') {
        // A reference definition, on one line.
        let space = after.len() - after.trim_start_matches(' ').len();
        let target = after.get(space..).and_then(|rest| rest.get(..target_length(rest)))?;
        let rest = after.get(space + target.len()..)?;
        let title = title_length(rest);
        let is_whole = rest.get(title..)?.trim_matches([' ', '\t']).is_empty();
        return (is_whole && !target.is_empty() && is_allowed(target)).then_some(1 + space + target.len() + title);
    }
    // Some renderers allow a space in between.
    if behind.trim_start_matches([' ', '\t']).starts_with(['(', ':']) { None } else { Some(0) }
}

/// The length of a link target in its plainest form: no spaces, quotes, brackets, backslashes or dollar signs, and
/// balanced parentheses.
fn target_length(text: &str) -> usize {
    let mut depth = 0usize;
    let mut length = 0;
    for char in text.chars() {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            char if char.is_ascii_alphanumeric() || "-._~:/?#@!&'*+,;=%".contains(char) => {}
            // Letters of other scripts have no meaning to any renderer.
            char if char.is_alphanumeric() && !char.is_ascii() => {}
            _ => break,
        }
        length += char.len_utf8();
    }
    length
}

/// The length of a space and a title in its plainest form.
fn title_length(text: &str) -> usize {
    let Some(inside) = text.strip_prefix(" \"") else { return 0 };
    let is_plain = |char: char| !"\"<>[]`\\&!$".contains(char);
    let title = inside.chars().take_while(|char| is_plain(*char)).map(char::len_utf8).sum::<usize>();
    if inside.get(title..).is_some_and(|rest| rest.starts_with('"')) { 2 + title + 1 } else { 0 }
}

/// Whether a target has an allowed scheme, or none at all.
fn is_allowed(target: &str) -> bool {
    // A character reference (`&colon;`) could stand for the start of a scheme, and a percent sign for one of its
    // letters.
    let scheme = target.split(['/', '?', '#']).next().unwrap_or_default();
    match scheme.split_once(':') {
        Some((scheme, _)) => SCHEMES.iter().any(|allowed| allowed.eq_ignore_ascii_case(scheme)),
        None => !scheme.contains(['&', '%']) && !target.starts_with("//"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_targets_are_known() {
        for (behind, length) in [
            ("", Some(0)),
            (" text", Some(0)),
            ("[ref]", Some(0)),
            ("(https://e.org/a_(b)?x=1&y=2#z) more", Some(31)),
            ("(HTTP://e)", Some(10)),
            ("(mailto:a@b.c)", Some(14)),
            ("(#part)", Some(7)),
            ("(docs/a.md)", Some(11)),
            ("(../a:b)", Some(8)),
            ("()", Some(2)),
            ("(https://e \"A title\")", Some(21)),
            (": https://e", Some(11)),
            (": https://e \"t\"", Some(15)),
            ("(javascript:alert(1))", None),
            ("(JaVaScRiPt:x)", None),
            ("( javascript:x)", None),
            ("(\tjavascript:x)", None),
            ("(java\u{1}script:x)", None),
            ("(java", None),
            ("(", None),
            ("(javascript&colon;x)", None),
            ("(&#106;avascript:x)", None),
            ("(java%73cript:x)", None),
            ("(javascript\\:x)", None),
            ("(<javascript:x>)", None),
            ("(vbscript:x)", None),
            ("(data:text/html;base64,PHN)", None),
            ("(file:///etc/passwd)", None),
            ("(//host/share)", None),
            ("(https://e \"a\" onclick=\"x)", None),
            (" (javascript:x)", None),
            (" : javascript:x", None),
            (": javascript:x", None),
            (": <javascript:x>", None),
            (":", None),
            (": https://e javascript:x", None),
        ] {
            assert_eq!(harmless_length(behind), length, "{behind:?}");
        }
    }
}
