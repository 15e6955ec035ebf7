//! Home directories and working directories in texts.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::names::{NameKind, Names, TooManyNames, is_pseudonym};
use crate::ordinary_names::is_common_name;

/// A change to a text.
pub(crate) type Change = (Range<usize>, String);

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The name after `/home/`, `/Users/` or `C:\Users\`, also with doubled backslashes. A name with spaces counts only if a
/// backslash follows.
static HOME: LazyLock<Regex> = LazyLock::new(|| {
    let name = r#"([^\\/:*?"'<>|$`{}()\[\],;=&\s\x00-\x1f]+)"#;
    let spaced = r#"([^\\/:*?"'<>|$`{}()\[\],;=\s\x00-\x1f][^\\/:*?"<>|\r\n\x00-\x1f]{0,63}?)\\"#;
    let separator = r"(?:\\{1,4}|/{1,2})";
    let windows = format!(r"(?i:[A-Z]:{separator}(?:Users|Documents and Settings){separator})");
    pattern(&format!(r"(?i:[\\/]home[\\/]{{1,2}}|/Users/){name}|{windows}(?:{spaced}|{name})"))
});

fn home_name<'t>(found: &regex::Captures<'t>) -> Option<regex::Match<'t>> {
    found.iter().skip(1).flatten().next()
}

/// The name in an encoded directory name: `--home-alice-x--`, `--C--Users-alice-x--`.
static ENCODED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)--(?:home|Users|[A-Z]--Users)-([^\s/\\]+?)--"));

/// Directories below home directories that belong to no user.
const SHARED: [&str; 5] = ["Shared", "Public", "Default", "All Users", "linuxbrew"];

/// Directories that say nothing about anybody.
const COMMON: [&str; 20] = [
    "tmp",
    "root",
    "srv",
    "opt",
    "var",
    "usr",
    "etc",
    "home",
    "mnt",
    "workspace",
    "workspaces",
    "work",
    "app",
    "code",
    "src",
    "data",
    "proj",
    "project",
    "repo",
    "private",
];

/// The home directories of a text: the changes that give each user a pseudonym.
pub(crate) fn homes_in(text: &str, names: &mut Names) -> Vec<Change> {
    let mut changes = Vec::new();
    if has_any(text, &["home", "Users", "users", "ocuments and", "HOME", "USERS"]) {
        for found in HOME.captures_iter(text) {
            let Some(name) = home_name(&found) else { continue };
            // A sentence ends after the path.
            let trimmed = name.as_str().trim_end_matches(['.', '!', ')']);
            if trimmed.is_empty() || is_pseudonym(trimmed) || SHARED.contains(&trimmed) {
                continue;
            }
            changes.push((name.start()..name.start() + trimmed.len(), names.of(NameKind::User, trimmed)));
        }
    }
    if has_any(text, &["--home-", "--Users-", "--HOME-", "--users-"]) {
        changes.extend(ENCODED.captures_iter(text).filter_map(|found| encoded_home(found.get(1)?, names)));
    }
    changes
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The user in the rest of an encoded name, which does not say where the user's name ends: the longest known user, or
/// else the part before the first hyphen.
fn encoded_home(rest: regex::Match<'_>, names: &mut Names) -> Option<Change> {
    let text = rest.as_str();
    let ends = text.match_indices('-').map(|(at, _)| at).chain([text.len()]).collect::<Vec<_>>();
    let mut candidates = ends.iter().filter_map(|end| text.get(..*end));
    let first = candidates.clone().next()?;
    let user = candidates.rfind(|name| names.knows(NameKind::User, name)).unwrap_or(first);
    if is_pseudonym(first) || user.is_empty() {
        return None;
    }
    Some((rest.start()..rest.start() + user.len(), names.of(NameKind::User, user)))
}

/// Gives a working directory a pseudonym: `/home/alice/x` becomes `/home/user1/p1`, in every text.
pub(crate) fn add_directory(cwd: &str, names: &mut Names) -> Result<(), TooManyNames> {
    let cwd = cwd.trim_end_matches(['/', '\\']);
    let separator = if cwd.contains('\\') { '\\' } else { '/' };
    let home = HOME.captures(cwd).as_ref().and_then(home_name);
    let base = match home {
        Some(name) if name.end() >= cwd.len() => return add_user(name.as_str(), names),
        Some(name) => {
            let (start, user) = (cwd.get(..name.start()).unwrap_or_default(), name.as_str());
            if is_pseudonym(user) {
                format!("{start}{user}")
            } else {
                add_user(user, names)?;
                format!("{start}{}", names.of(NameKind::User, user))
            }
        }
        None => String::new(),
    };
    let below_base = cwd.get(home.map_or(0, |name| name.end())..).unwrap_or_default();
    let parts: Vec<&str> = below_base.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let says_nothing = |part: &&str| is_pseudonym(part) || (base.is_empty() && COMMON.contains(part));
    if parts.iter().all(says_nothing) || names.directories.iter().any(|(known, _)| known == cwd) {
        return Ok(());
    }
    let replacement = format!("{base}{separator}{}", names.of(NameKind::Project, cwd));
    for (from, to) in [
        (cwd.to_owned(), replacement.clone()),
        (cwd.replace('\\', "\\\\"), replacement.replace('\\', "\\\\")),
        // Names of directories below it begin in the same way.
        (encoded(cwd) + "-", encoded(&replacement) + "-"),
    ] {
        if !names.directories.iter().any(|(known, _)| *known == from) {
            names.directories.push((from, to));
        }
    }
    names.directories.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    Ok(())
}

/// Replaces the name of the user of a session also outside of paths.
fn add_user(user: &str, names: &mut Names) -> Result<(), TooManyNames> {
    if !is_common_name(user) {
        names.add_word(NameKind::User, user)?;
    }
    Ok(())
}

/// How the name of the directory begins in which the sessions of a working directory are.
fn encoded(cwd: &str) -> String {
    format!("--{}", cwd.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-"))
}

/// The working directories in a text, with what stands for them. They can overlap.
pub(crate) fn directories_in(text: &str, names: &Names) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (from, to) in &names.directories {
        for (at, _) in text.match_indices(from.as_str()) {
            let range = at..at + from.len();
            let after = text.get(range.end..).and_then(|rest| rest.chars().next());
            let continues = after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
            if !continues || from.starts_with("--") {
                changes.push((range, to.clone()));
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::add_free;

    fn replaced(names: &mut Names, text: &str) -> String {
        let mut changes = Vec::new();
        add_free(&mut changes, directories_in(text, names));
        add_free(&mut changes, homes_in(text, names));
        let mut out = text.to_owned();
        for (range, name) in changes.into_iter().rev() {
            out.replace_range(range, &name);
        }
        out
    }

    #[test]
    fn homes_of_all_systems_are_found() {
        for (text, expected) in [
            ("cd /home/alice/x", "cd /home/user1/x"),
            ("/home/alice", "/home/user1"),
            ("in /home/alice.", "in /home/user1."),
            ("/home/alice:/home/bob", "/home/user1:/home/user2"),
            ("/Users/alice/x", "/Users/user1/x"),
            ("/mnt/c/Users/alice/x", "/mnt/c/Users/user1/x"),
            (r"C:\Users\alice\x", r"C:\Users\user1\x"),
            (r"C:\Users\Alice Smith\x", r"C:\Users\user1\x"),
            (r"C:\\Users\\alice\\x", r"C:\\Users\\user1\\x"),
            ("c:/Users/alice/x", "c:/Users/user1/x"),
            ("file:///home/alice/x", "file:///home/user1/x"),
            (r"/home/alice then foo\bar", r"/home/user1 then foo\bar"),
            ("--home-alice-x--", "--home-user1-x--"),
            ("--C--Users-alice-x--", "--C--Users-user1-x--"),
            ("~/.pi/agent/sessions/--home-alice--/x", "~/.pi/agent/sessions/--home-user1--/x"),
        ] {
            let mut names = Names::new();
            let once = replaced(&mut names, text);
            assert_eq!(once, expected);
            assert_eq!(replaced(&mut Names::new(), &once), expected);
        }
    }

    #[test]
    fn other_directories_stay() {
        for text in
            ["/home/$USER/x", "/home/<you>/x", "/home/", "home/", "C:/Users/Public/x", "/usr/share", "/home/*/x"]
        {
            assert_eq!(replaced(&mut Names::new(), text), text);
        }
    }

    #[test]
    fn known_users_with_hyphens_are_found_in_encoded_names() {
        let mut names = Names::new();
        assert_eq!(replaced(&mut names, r"C:\Users\mary-ann\x"), r"C:\Users\user1\x");
        assert_eq!(replaced(&mut names, "--home-mary-ann-x--"), "--home-user1-x--");
    }

    #[test]
    fn working_directories_have_one_pseudonym() {
        let mut names = Names::new();
        add_directory("/home/alice/secret-plan/", &mut names).unwrap();
        for (text, expected) in [
            ("/home/alice/secret-plan", "/home/user1/p1"),
            ("/home/alice/secret-plan/src/a.rs", "/home/user1/p1/src/a.rs"),
            ("/home/alice/secret-plan-2/a", "/home/user1/secret-plan-2/a"),
            ("--home-alice-secret-plan--", "--home-user1-p1--"),
            ("--home-alice-secret-plan-src--", "--home-user1-p1-src--"),
            ("--home-alice-secret-plans--", "--home-user1-secret-plans--"),
            ("alice's", "alice's"),
        ] {
            assert_eq!(replaced(&mut names, text), expected);
        }
        add_directory("/home/user1/p1", &mut names).unwrap();
        add_directory("/", &mut names).unwrap();
        add_directory("/tmp", &mut names).unwrap();
        add_directory("/home/bob", &mut names).unwrap();
        assert_eq!(replaced(&mut names, "/home/user1/p1 / /tmp/x"), "/home/user1/p1 / /tmp/x");
        add_directory("/srv/acme", &mut names).unwrap();
        assert_eq!(replaced(&mut names, "/srv/acme/x"), "/p2/x");
        add_directory(r"C:\Users\carol\it", &mut names).unwrap();
        assert_eq!(replaced(&mut names, r"C:\Users\carol\it\x"), r"C:\Users\user2\p3\x");
        assert_eq!(replaced(&mut names, r"C:\\Users\\carol\\it\\x"), r"C:\\Users\\user2\\p3\\x");
    }
}
