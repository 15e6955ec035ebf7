//! Commands that were run: which ones matter, and their outcomes.

use super::failing::failing_line;
use super::turns::{Call, CallOutcome};
use super::wording::{cost, line};

/// Programs that only inspect and change nothing.
const INSPECTING_PROGRAMS: &[&str] = &[
    "ls", "cat", "head", "tail", "grep", "rg", "ag", "find", "fd", "sed", "awk", "wc", "pwd", "echo", "printf", "cd",
    "tree", "less", "more", "file", "stat", "which", "type", "du", "df", "env", "sort", "uniq", "cut", "tr", "jq",
    "true", "test", "diff", "xxd", "date", "whoami", "sleep", "basename", "dirname", "realpath", "nl", "strings",
    "xargs", "bat",
];

/// Programs whose effect shows in the files, not in their output.
const SILENT_PROGRAMS: &[&str] =
    &["mv", "rm", "mkdir", "rmdir", "cp", "touch", "chmod", "ln", "git", "kill", "pkill", "export", "source"];

/// Subcommands of `git` that only inspect.
const GIT_INSPECTING: &[&str] =
    &["status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "remote", "grep", "fetch"];

/// All runs of one command.
#[derive(Debug, PartialEq)]
pub(super) struct Runs {
    /// The command, shortened.
    pub(super) command: String,
    /// The number of runs.
    pub(super) count: usize,
    /// The number of failed runs.
    pub(super) n_failed: usize,
    /// The outcome of the last run.
    pub(super) last: CallOutcome,
    /// The error of the last run.
    pub(super) complaint: String,
    /// Whether the user ran it.
    pub(super) by_person: bool,
    /// The turn of its last run.
    pub(super) at_turn: usize,
}

impl Runs {
    /// The command and its outcome, in a few words.
    pub(super) fn description(&self) -> String {
        let by_user = if self.by_person { " (run by the user)" } else { "" };
        let times = if self.count > 1 { format!(", {} runs", self.count) } else { String::new() };
        let outcome = match (self.last, self.n_failed) {
            (CallOutcome::Failed, _) => format!("failed: `{}`", self.complaint),
            (CallOutcome::Fine, 0) => "ok".to_owned(),
            (CallOutcome::Fine, n_failed) => format!("ok in the end, failed {n_failed} times before"),
            (CallOutcome::Unknown, _) => "outcome not known".to_owned(),
        };
        format!("`{}`{by_user}{times}: {outcome}", self.command)
    }
}

/// Groups runs of the same command, in the order of their last run. Commands that only inspect are left out.
///
/// Each call comes with the number of its turn.
pub(super) fn runs<'c>(calls: impl Iterator<Item = (usize, &'c Call<'c>)>) -> Vec<Runs> {
    let mut all: Vec<Runs> = Vec::new();
    for (at_turn, call) in calls {
        let Some(command) = call.command.as_deref().filter(|command| !only_inspects(command)) else { continue };
        let shown = shortened(command);
        let at = all.iter().position(|runs| runs.command == shown);
        let mut runs = at.map_or_else(
            || Runs {
                command: shown,
                count: 0,
                n_failed: 0,
                last: CallOutcome::Unknown,
                complaint: String::new(),
                by_person: call.tool.is_none(),
                at_turn,
            },
            |at| all.remove(at),
        );
        runs.at_turn = at_turn;
        runs.count += 1;
        runs.n_failed += usize::from(call.outcome == CallOutcome::Failed);
        runs.last = call.outcome;
        runs.complaint = if call.outcome == CallOutcome::Failed { complaint(call) } else { String::new() };
        all.push(runs);
        // A session may run a million different commands. Only the last ones matter.
        if all.len() > 400 {
            all.drain(..200);
        }
    }
    all
}

/// The words of a command, split roughly as a shell would: quotes hold words together, and operators stand alone.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in command.chars().take(4000) {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '&' | '|' | ';' | '\n') => {
                words.push(";".to_owned());
                words.push(String::new());
            }
            (None, _) if character.is_whitespace() => words.push(String::new()),
            _ => words.last_mut().into_iter().for_each(|word| word.push(character)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The simple commands of a command line.
fn simple_commands(command: &str) -> Vec<Vec<String>> {
    let words = words(command);
    words.split(|word| word == ";").filter(|simple| !simple.is_empty()).map(<[String]>::to_vec).collect()
}

/// Whether a command line only inspects.
pub(super) fn only_inspects(command: &str) -> bool {
    let redirects = command.contains(" > ") || command.contains(" >> ");
    !redirects
        && simple_commands(command).iter().all(|simple| {
            let (first, second) = (simple.first().map(String::as_str), simple.get(1).map(String::as_str));
            match first {
                Some("git") => second.is_some_and(|second| GIT_INSPECTING.contains(&second)),
                Some("sed") => !simple.iter().any(|word| word.starts_with("-i")),
                Some(first) => {
                    INSPECTING_PROGRAMS.contains(&first) || first.starts_with(|it: char| it.is_ascii_digit())
                }
                None => true,
            }
        })
}

/// Whether the output of a command line is worth remembering: it checks or builds something.
pub(super) fn has_useful_output(command: &str) -> bool {
    simple_commands(command).iter().any(|simple| {
        let first = simple.first().map(String::as_str).unwrap_or_default();
        !INSPECTING_PROGRAMS.contains(&first)
            && !SILENT_PROGRAMS.contains(&first)
            && !first.starts_with(|it: char| it.is_ascii_digit())
    })
}

/// The messages of the commits that a command line makes.
pub(super) fn commits(command: &str) -> Vec<String> {
    let message = |simple: &Vec<String>| {
        let is_commit = simple.first().is_some_and(|it| it == "git") && simple.iter().any(|it| it == "commit");
        let is_flag = |word: &String| {
            word == "--message" || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('m'))
        };
        let at = simple.iter().position(is_flag)?;
        let text = simple.get(at + 1).filter(|_| is_commit)?;
        // The text of a here-document message starts on the second line.
        let text = if text.starts_with("$(") { text.lines().nth(1).unwrap_or(text) } else { text };
        Some(line(text.lines().find(|it| !it.trim().is_empty()).unwrap_or_default(), 140))
    };
    simple_commands(command).iter().filter_map(message).filter(|text| !text.is_empty()).collect()
}

/// The branch that a command line switches to.
pub(super) fn branch(command: &str) -> Option<String> {
    let target = |simple: &Vec<String>| match simple.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["git", "checkout" | "switch", "-b" | "-c" | "-B" | "-C", name, ..] | ["git", "switch", name] => {
            Some(line(name, 80)).filter(|name| !name.starts_with('-'))
        }
        _ => None,
    };
    simple_commands(command).iter().rev().find_map(target)
}

/// The directory that a command line changes to before anything else.
pub(super) fn directory(command: &str) -> Option<&str> {
    let rest = command.trim_start().strip_prefix("cd ")?;
    let end = rest.find(['&', ';', '\n'])?;
    let directory = rest.get(..end)?.trim().trim_matches(['"', '\'']);
    directory.starts_with('/').then_some(directory)
}

/// A command line without its directory changes and without filters that only shorten the output.
fn shortened(command: &str) -> String {
    let mut rest = command.trim();
    while let Some((_, after)) = rest.strip_prefix("cd ").and_then(|after| after.split_once(['&', '\n', ';'])) {
        rest = after.trim_start_matches('&').trim();
    }
    let is_code = |text: &&str| !text.trim().is_empty() && !text.trim_start().starts_with('#');
    let first = rest.lines().find(is_code).unwrap_or_default();
    let mut shown = first;
    for (at, _) in first.match_indices('|') {
        let (before, after) = first.split_at(at);
        let filter = after.trim_start_matches('|').split_whitespace().next().unwrap_or_default();
        if matches!(filter, "tail" | "head" | "grep" | "cat" | "less") && before.matches(['"', '\'']).count() % 2 == 0 {
            shown = before;
            break;
        }
    }
    let shown = shown.trim().trim_end_matches("2>&1").trim();
    let mut shown = line(shown, 120).replace('`', "'");
    if rest.lines().nth(1).is_some() && cost(&shown) < 120 {
        shown.push('…');
    }
    shown
}

/// The error of a failed call, in one line.
pub(super) fn complaint(call: &Call<'_>) -> String {
    let failing = failing_line(call.output).or_else(|| failing_line(call.ending));
    let is_remark =
        |text: &&str| text.trim().is_empty() || text.contains("exited with code") || text.trim() == "(no output)";
    let last = || call.ending.lines().rev().find(|text| !is_remark(text));
    let text = failing.or_else(last).or_else(|| call.ending.lines().rev().find(|text| !text.trim().is_empty()));
    line(text.unwrap_or("no output"), 200).replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_only_read_are_recognised() {
        for command in [
            "ls -la",
            "cd /x && grep -n \"a|b && rm\" f | head -5",
            "git status; git log",
            "sed -n 1,5p f",
            "find . -name x 2>/dev/null | wc -l",
        ] {
            assert!(only_inspects(command), "{command}");
        }
        for command in
            ["cargo test", "ls && rm x", "sed -i s/a/b/ f", "git commit -m x", "cat a > b", "python3 - <<E\nls\nE"]
        {
            assert!(!only_inspects(command), "{command}");
        }
    }

    #[test]
    fn commands_are_shortened() {
        for (command, expected) in [
            ("cd /a/b && npm run check 2>&1 | tail -20", "npm run check"),
            ("cd /a && cd b && make | grep -E \"(a|b)\" | head", "make"),
            ("python3 - <<E\nx\nE", "python3 - <<E…"),
            ("grep 'a|tail b' f", "grep 'a|tail b' f"),
        ] {
            assert_eq!(shortened(command), expected);
        }
    }

    #[test]
    fn git_commits_and_branches_are_recognised() {
        assert_eq!(commits("cd x && git add -A && git commit -m \"Say it; well\" -q"), ["Say it; well"]);
        assert_eq!(commits("git commit -m \"$(cat <<'EOF'\nTitle\n\nBody\nEOF\n)\""), ["Title"]);
        assert!(commits("echo git commit -m x").is_empty());
        assert_eq!(branch("git checkout -b refactor && ls"), Some("refactor".to_owned()));
        assert_eq!(branch("git checkout file.rs"), None);
        assert_eq!(directory("cd '/a b' && ls"), Some("/a b"));
    }
}
