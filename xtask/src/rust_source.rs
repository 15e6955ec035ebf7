//! Just enough parsing of Rust source for the tidy checks: what is code, and which paths it names.

/// Returns the source with comments and the contents of literals blanked out. Line breaks stay, so line numbers do too.
pub(crate) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (taken, keep) = token(rest, code.chars().next_back());
        let (text, after) = rest.split_at(taken.max(first.len_utf8()));
        if keep {
            code.push_str(text);
        } else {
            code.extend(text.chars().map(|c| if c == '\n' { c } else { ' ' }));
        }
        rest = after;
    }
    code
}

/// Returns the length of the next piece of `rest`, and whether it is code.
fn token(rest: &str, previous: Option<char>) -> (usize, bool) {
    let in_word = previous.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), false)
    } else if rest.starts_with("/*") {
        (block_comment(rest), false)
    } else if let Some(length) = raw_string(rest).filter(|_| !in_word) {
        (length, false)
    } else if rest.starts_with('"') {
        (quoted(rest, '"'), false)
    } else if let Some(length) = char_literal(rest) {
        (length, false)
    } else {
        (1, true)
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            match here.chars().next() {
                Some(c) => at += c.len_utf8(),
                None => break,
            }
        }
    }
    rest.len()
}

/// Returns the length of `r"…"`, `r#"…"#` and so on, with an optional `b` or `c` before.
fn raw_string(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let opened = body.trim_start_matches('#');
    let hashes = body.len() - opened.len();
    let text = opened.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = rest.len() - text.len();
    Some(text.find(&end).map_or(rest.len(), |at| before + at + end.len()))
}

/// Returns the length of a quoted piece, from its opening mark to its closing one.
fn quoted(rest: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return at + mark.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal, as opposed to a lifetime.
fn char_literal(rest: &str) -> Option<usize> {
    let mut chars = rest.strip_prefix('\'')?.chars();
    let first = chars.next()?;
    (first == '\\' || chars.next() == Some('\'')).then(|| quoted(rest, '\''))
}

/// Returns the paths below `root::` that the code names, with the line of each: `std::{fs, io::{self, Read}}` is three.
pub(crate) fn paths_below(code: &str, root: &str) -> Vec<(usize, String)> {
    let start = format!("{root}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&start) {
        let (before, rest) = code.split_at(at);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = before.matches('\n').count() + 1;
        let mut tree = Vec::new();
        use_tree(rest, "", &mut tree);
        found.extend(tree.into_iter().map(|path| (line, path)));
    }
    found
}

/// Reads one use tree, adds the paths in it below `prefix`, and returns what follows it.
fn use_tree<'a>(text: &'a str, prefix: &str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return use_group(group, prefix, found);
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let path = if prefix.is_empty() { word.to_owned() } else { format!("{prefix}::{word}") };
    if let Some(rest) = rest.strip_prefix("::") {
        return use_tree(rest, &path, found);
    }
    found.push(path);
    rest
}

fn use_group<'a>(group: &'a str, prefix: &str, found: &mut Vec<String>) -> &'a str {
    let mut rest = group.trim_start();
    while !rest.is_empty() && !rest.starts_with('}') {
        let after = use_tree(rest, prefix, found);
        // Skips `as name`, and anything that is not a use tree after all.
        let next = after.find([',', '}']).unwrap_or(after.len());
        rest = after.split_at(next).1.trim_start_matches([',', ' ', '\n', '\t']);
    }
    rest.strip_prefix('}').unwrap_or(rest)
}

/// Returns the names in `mod name;` declarations.
pub(crate) fn declared_modules(code: &str) -> Vec<&str> {
    code.split([';', '{', '}'])
        .filter_map(|statement| {
            let mut words = statement.split_whitespace().rev();
            let name = words.next()?;
            (words.next()? == "mod").then_some(name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the code, treating any run of blanks as one, and checks that nothing moved.
    #[track_caller]
    fn check_code(source: &str, expected: &str) {
        let code = code_only(source);
        assert_eq!(code.chars().count(), source.chars().count());
        assert_eq!(code.matches('\n').count(), source.matches('\n').count());
        assert_eq!(code.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        check_code("a // b\nc", "a \nc");
        check_code("a /* /* b */\n c */ d", "a \n d");
        check_code(r#"f("x\"//y") + 1"#, "f( ) + 1");
        check_code("f(r#\"a\"b\"#, b)", "f( , b)");
        check_code("f(br\"a\\\", b)", "f( , b)");
        check_code(r"f('\'', '/', b)", "f( , , b)");
        check_code("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check_code("let r#type = var\"x\"", "let r#type = var");
        check_code("é \"ü", "é");
    }

    #[track_caller]
    fn check_paths(code: &str, expected: &[&str]) {
        let paths: Vec<String> = paths_below(code, "std").into_iter().map(|(_, path)| path).collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn use_trees_are_spread_out() {
        check_paths("use std::fs;", &["std::fs"]);
        check_paths("std::fs::read(x)", &["std::fs::read"]);
        check_paths(
            "use std::{fs, env as e,\n io::{self, Read}};",
            &["std::fs", "std::env", "std::io::self", "std::io::Read"],
        );
        check_paths("use ::std::net::{TcpStream};", &["std::net::TcpStream"]);
        check_paths("use nostd::fs; x::<std::string::String>()", &["std::string::String"]);
        check_paths("std::{", &[]);
    }

    #[test]
    fn paths_have_lines() {
        assert_eq!(paths_below("\n\nuse std::fs;", "std"), [(3, "std::fs".to_owned())]);
    }

    #[test]
    fn modules_are_found() {
        assert_eq!(
            declared_modules("mod a;\n#[cfg(x)]\npub(crate) mod b ; mod c { mod d; } fn e() {}"),
            ["a", "b", "c", "d"]
        );
    }
}
