//! Completion of an unfinished command line.
//!
//! This module knows nothing of shells, files or sessions: the definition of the commands determines what is wanted,
//! and [`CompletionState`] the session it is about.

pub(crate) mod bash;

use clap::builder::ValueHint;
use clap::{Arg, ArgAction, Command};

/// The state at the end of a command line.
#[derive(Debug)]
pub(crate) struct CompletionState<'c> {
    command: &'c Command,
    /// The number of positional arguments of the command so far.
    n_positional: usize,
    /// The option whose value comes next.
    awaiting: Option<&'c Arg>,
    only_positional: bool,
    /// Whether an option names the session, so that no positional argument does.
    has_session_flag: bool,
    /// What the words so far say about the store and the session.
    pub(crate) selection: SessionSelection,
}

/// What the words so far say about the store and the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionSelection {
    /// `--sample`
    pub(crate) is_sample: bool,
    /// `--session-dir`
    pub(crate) session_dir: Option<String>,
    /// The session, given as a positional argument or by `--session`.
    pub(crate) session: Option<String>,
    /// `--continue`
    pub(crate) is_newest: bool,
}

/// What may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// One of these, each with a short description.
    Words(Vec<(String, String)>),
    /// A session.
    Session,
    /// A session in the trash.
    Deleted,
    /// An entry of the named session.
    Entry,
    /// An entry of this session.
    EntryOf(String),
    /// A setting.
    Key,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A value that only the user knows.
    Anything,
}

impl<'c> CompletionState<'c> {
    /// Returns the state after some words, without the program's name. The commands must have been built.
    pub(crate) fn after(root: &'c Command, words: &[String]) -> Self {
        let mut state = Self {
            command: root,
            n_positional: 0,
            awaiting: None,
            only_positional: false,
            has_session_flag: false,
            selection: SessionSelection::default(),
        };
        for word in words {
            state.add_word(word);
        }
        state
    }

    fn add_word(&mut self, word: &str) {
        if let Some(arg) = self.awaiting.take() {
            return self.record_value(arg, word);
        }
        if !self.only_positional && word == "--" {
            self.only_positional = true;
        } else if !self.only_positional && word.starts_with('-') && word.len() > 1 {
            self.add_option(word);
        } else if let Some(command) = self.subcommand(word) {
            self.command = command;
            self.n_positional = 0;
        } else {
            if let Some(arg) = self.positional() {
                self.record_value(arg, word);
            }
            self.n_positional += 1;
        }
    }

    fn add_option(&mut self, word: &str) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let Some(arg) = self.option(name) else { return };
        match value {
            Some(value) => self.record_value(arg, value),
            None if takes_next(arg) => self.awaiting = Some(arg),
            None => self.record_value(arg, ""),
        }
    }

    /// Returns the option that a word names: by its long name, or by its last letter.
    fn option(&self, name: &str) -> Option<&'c Arg> {
        let mut args = self.command.get_arguments();
        if let Some(long) = name.strip_prefix("--") {
            return args.find(|arg| arg.get_long() == Some(long));
        }
        let letter = name.chars().last();
        args.find(|arg| arg.get_short() == letter)
    }

    fn subcommand(&self, word: &str) -> Option<&'c Command> {
        let is_possible = self.n_positional == 0 && !self.only_positional;
        self.command.find_subcommand(word).filter(|_| is_possible)
    }

    /// Returns the next positional argument.
    fn positional(&self) -> Option<&'c Arg> {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        let last = all.last().copied().filter(|arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1));
        // If a flag names the session, the next positional argument takes its place.
        let is_session = |arg: &&Arg| value_name(arg) == "SESSION";
        let shift = usize::from(self.has_session_flag && all.first().is_some_and(is_session));
        all.get(self.n_positional + shift).copied().or(last)
    }

    fn record_value(&mut self, arg: &Arg, value: &str) {
        match arg.get_long() {
            Some("sample") => self.selection.is_sample = true,
            Some("session-dir") => self.selection.session_dir = Some(value.to_owned()),
            Some("continue") => (self.selection.is_newest, self.has_session_flag) = (true, true),
            long if value_name(arg) == "SESSION" => {
                self.selection.session = Some(value.to_owned());
                self.has_session_flag |= long.is_some();
            }
            // `:ENTRY` on one side of a comparison refers to the session of the other side.
            _ if is_diff_side(arg) => {
                let session = value.rsplit_once(':').map_or(value, |(session, _)| session);
                self.selection.session = Some(session.to_owned()).filter(|session| !session.is_empty());
            }
            _ => {}
        }
    }

    /// Returns what may come next, given its beginning, and how many bytes of the beginning stay unchanged.
    pub(crate) fn candidates(&self, beginning: &str) -> (Candidates, usize) {
        if let Some(arg) = self.awaiting {
            return value_candidates(arg, beginning, 0);
        }
        if !self.only_positional && beginning.starts_with('-') {
            if let Some((name, value)) = beginning.split_once('=')
                && let Some(arg) = self.option(name)
            {
                return value_candidates(arg, value, name.len() + 1);
            }
            return (Candidates::Words(self.options()), 0);
        }
        let commands: Vec<(String, String)> = if self.n_positional == 0 && !self.only_positional {
            let visible = self.command.get_subcommands().filter(|command| !command.is_hide_set());
            visible.map(|command| (command.get_name().to_owned(), first_line(command.get_about()))).collect()
        } else {
            Vec::new()
        };
        match self.positional() {
            Some(arg) if is_diff_side(arg) => diff_side_candidates(beginning),
            Some(arg) if commands.is_empty() => value_candidates(arg, beginning, 0),
            _ => (Candidates::Words(commands), 0),
        }
    }

    fn options(&self) -> Vec<(String, String)> {
        let visible = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
        visible.filter_map(|arg| Some((format!("--{}", arg.get_long()?), first_line(arg.get_help())))).collect()
    }
}

/// Whether the next word is the option's value.
fn takes_next(arg: &Arg) -> bool {
    let takes_values = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    takes_values && !arg.is_require_equals_set()
}

/// Returns what a value may be, and how much of the word stays unchanged: all before the value's last part.
fn value_candidates(arg: &Arg, value: &str, n_before: usize) -> (Candidates, usize) {
    let n_parts = arg.get_value_delimiter().and_then(|delimiter| value.rfind(delimiter)).map_or(0, |at| at + 1);
    let possible = arg.get_possible_values();
    let candidates = match (value_name(arg), arg.get_value_hint()) {
        _ if !possible.is_empty() => {
            let visible = possible.iter().filter(|value| !value.is_hide_set());
            Candidates::Words(
                visible.map(|value| (value.get_name().to_owned(), first_line(value.get_help()))).collect(),
            )
        }
        ("SESSION", _) => Candidates::Session,
        ("DELETED", _) => Candidates::Deleted,
        ("ENTRY" | "LEAF", _) => Candidates::Entry,
        ("KEY", _) => Candidates::Key,
        ("DIR", _) | (_, ValueHint::DirPath) => Candidates::Directory,
        ("FILE", _) | (_, ValueHint::FilePath | ValueHint::AnyPath) => Candidates::File,
        _ => Candidates::Anything,
    };
    (candidates, n_before + n_parts)
}

/// Whether an argument is a side of a comparison: SESSION, SESSION:ENTRY or :ENTRY.
fn is_diff_side(arg: &Arg) -> bool {
    matches!(value_name(arg), "A" | "B")
}

/// Returns what a side of a comparison may be: an entry after a colon, before it a session.
fn diff_side_candidates(beginning: &str) -> (Candidates, usize) {
    match beginning.rsplit_once(':') {
        Some((session, _)) => {
            let named = (!session.is_empty()).then(|| session.to_owned());
            (named.map_or(Candidates::Entry, Candidates::EntryOf), session.len() + 1)
        }
        None => (Candidates::Session, 0),
    }
}

/// Returns the name of an argument's value in the help.
fn value_name(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn candidates(line: &str) -> (Candidates, usize, SessionSelection) {
        let mut root = Cli::command();
        root.build();
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let beginning = words.pop().unwrap();
        let state = CompletionState::after(&root, &words);
        let (candidates, n_kept) = state.candidates(&beginning);
        (candidates, n_kept, state.selection)
    }

    fn words(line: &str) -> Vec<String> {
        match candidates(line).0 {
            Candidates::Words(words) => words.into_iter().map(|(word, _)| word).collect(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn commands_options_and_values_follow_the_definition() {
        assert!(words("").contains(&"list".to_owned()) && !words("").contains(&"__complete".to_owned()));
        assert!(words("list --").contains(&"--since".to_owned()) && words("list --").contains(&"--color".to_owned()));
        assert!(words("list --sort ").contains(&"cost".to_owned()));
        assert!(words("config ").contains(&"set".to_owned()));
        assert_eq!(words("--color=always list --color "), ["auto", "always", "never"]);
        assert!(words("list --columns age,").contains(&"place".to_owned()));
        assert_eq!(candidates("list --columns=age,pl").1, "--columns=age,".len());
        for (line, expected) in [
            ("tree ", Candidates::Session),
            ("tree --session ", Candidates::Session),
            ("tree --session=", Candidates::Session),
            ("tree -- ", Candidates::Session),
            ("context x ", Candidates::Entry),
            ("context -c ", Candidates::Entry),
            ("context --session x ", Candidates::Entry),
            ("config get ", Candidates::Key),
            ("list --session-dir ", Candidates::Directory),
            ("search some ", Candidates::Anything),
            ("restore ", Candidates::Deleted),
            ("--sample tree ", Candidates::Session),
            ("--sample=x tree --all ", Candidates::Session),
            ("no such thing ", Candidates::Words(Vec::new())),
            ("diff ", Candidates::Session),
            ("diff x ", Candidates::Session),
            ("diff x:", Candidates::EntryOf("x".to_owned())),
            ("diff x y:z", Candidates::EntryOf("y".to_owned())),
            ("diff x:e :", Candidates::Entry),
        ] {
            assert_eq!(candidates(line).0, expected, "{line}");
        }
    }

    #[test]
    fn the_selected_store_and_session_are_recorded() {
        let selection = candidates("--sample --session-dir x context --session y ").2;
        let expected = SessionSelection {
            is_sample: true,
            session_dir: Some("x".into()),
            session: Some("y".into()),
            is_newest: false,
        };
        assert_eq!(selection, expected);
        assert_eq!(candidates("context first ").2.session.as_deref(), Some("first"));
        assert!(candidates("context -c ").2.is_newest);
        assert_eq!((candidates("diff x:e :l").2.session.as_deref(), candidates("diff x:e :l").1), (Some("x"), 1));
    }
}
