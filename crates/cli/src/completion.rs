//! Completion of an unfinished command line.
//!
//! This module knows nothing of shells, files or sessions: the definition of the commands determines what is wanted,
//! and [`Place`] the session it is about.

pub(crate) mod bash;

use clap::builder::ValueHint;
use clap::{Arg, ArgAction, Command};

/// The state at the end of a command line.
#[derive(Debug)]
pub(crate) struct Place<'c> {
    command: &'c Command,
    /// The number of positional arguments of the command so far.
    n_positional: usize,
    /// The option whose value comes next.
    awaiting: Option<&'c Arg>,
    only_positional: bool,
    /// Whether an option names the session, so that no positional argument does.
    is_by_flag: bool,
    /// What the words so far say about the store and the session.
    pub(crate) said: Said,
}

/// What the words so far say about the store and the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
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
pub(crate) enum Wanted {
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

impl<'c> Place<'c> {
    /// Returns the state after some words, without the program's name. The commands must have been built.
    pub(crate) fn behind(root: &'c Command, words: &[String]) -> Self {
        let mut place = Self {
            command: root,
            n_positional: 0,
            awaiting: None,
            only_positional: false,
            is_by_flag: false,
            said: Said::default(),
        };
        for word in words {
            place.take(word);
        }
        place
    }

    fn take(&mut self, word: &str) {
        if let Some(arg) = self.awaiting.take() {
            return self.note(arg, word);
        }
        if !self.only_positional && word == "--" {
            self.only_positional = true;
        } else if !self.only_positional && word.starts_with('-') && word.len() > 1 {
            self.take_option(word);
        } else if let Some(command) = self.subcommand(word) {
            self.command = command;
            self.n_positional = 0;
        } else {
            if let Some(arg) = self.positional() {
                self.note(arg, word);
            }
            self.n_positional += 1;
        }
    }

    fn take_option(&mut self, word: &str) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let Some(arg) = self.option(name) else { return };
        match value {
            Some(value) => self.note(arg, value),
            None if takes_next(arg) => self.awaiting = Some(arg),
            None => self.note(arg, ""),
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
        let is_session = |arg: &&Arg| names(arg) == "SESSION";
        let shift = usize::from(self.is_by_flag && all.first().is_some_and(is_session));
        all.get(self.n_positional + shift).copied().or(last)
    }

    fn note(&mut self, arg: &Arg, value: &str) {
        match arg.get_long() {
            Some("sample") => self.said.is_sample = true,
            Some("session-dir") => self.said.session_dir = Some(value.to_owned()),
            Some("continue") => (self.said.is_newest, self.is_by_flag) = (true, true),
            long if names(arg) == "SESSION" => {
                self.said.session = Some(value.to_owned());
                self.is_by_flag |= long.is_some();
            }
            // `:ENTRY` on one side of a comparison refers to the session of the other side.
            _ if is_side(arg) => {
                let session = value.rsplit_once(':').map_or(value, |(session, _)| session);
                self.said.session = Some(session.to_owned()).filter(|session| !session.is_empty());
            }
            _ => {}
        }
    }

    /// Returns what may come next, given its beginning, and how many bytes of the beginning stay unchanged.
    pub(crate) fn wanted(&self, beginning: &str) -> (Wanted, usize) {
        if let Some(arg) = self.awaiting {
            return value_of(arg, beginning, 0);
        }
        if !self.only_positional && beginning.starts_with('-') {
            if let Some((name, value)) = beginning.split_once('=')
                && let Some(arg) = self.option(name)
            {
                return value_of(arg, value, name.len() + 1);
            }
            return (Wanted::Words(self.options()), 0);
        }
        let commands: Vec<(String, String)> = if self.n_positional == 0 && !self.only_positional {
            let shown = self.command.get_subcommands().filter(|command| !command.is_hide_set());
            shown.map(|command| (command.get_name().to_owned(), first_line(command.get_about()))).collect()
        } else {
            Vec::new()
        };
        match self.positional() {
            Some(arg) if is_side(arg) => side_of(beginning),
            Some(arg) if commands.is_empty() => value_of(arg, beginning, 0),
            _ => (Wanted::Words(commands), 0),
        }
    }

    fn options(&self) -> Vec<(String, String)> {
        let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
        shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), first_line(arg.get_help())))).collect()
    }
}

/// Whether the next word is the option's value.
fn takes_next(arg: &Arg) -> bool {
    let takes_values = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    takes_values && !arg.is_require_equals_set()
}

/// Returns what a value may be, and how much of the word stays unchanged: all before the value's last part.
fn value_of(arg: &Arg, value: &str, n_before: usize) -> (Wanted, usize) {
    let n_parts = arg.get_value_delimiter().and_then(|delimiter| value.rfind(delimiter)).map_or(0, |at| at + 1);
    let possible = arg.get_possible_values();
    let wanted = match (names(arg), arg.get_value_hint()) {
        _ if !possible.is_empty() => {
            let shown = possible.iter().filter(|value| !value.is_hide_set());
            Wanted::Words(shown.map(|value| (value.get_name().to_owned(), first_line(value.get_help()))).collect())
        }
        ("SESSION", _) => Wanted::Session,
        ("DELETED", _) => Wanted::Deleted,
        ("ENTRY" | "LEAF", _) => Wanted::Entry,
        ("KEY", _) => Wanted::Key,
        ("DIR", _) | (_, ValueHint::DirPath) => Wanted::Directory,
        ("FILE", _) | (_, ValueHint::FilePath | ValueHint::AnyPath) => Wanted::File,
        _ => Wanted::Anything,
    };
    (wanted, n_before + n_parts)
}

/// Whether an argument is a side of a comparison: SESSION, SESSION:ENTRY or :ENTRY.
fn is_side(arg: &Arg) -> bool {
    matches!(names(arg), "A" | "B")
}

/// Returns what a side of a comparison may be: an entry after a colon, before it a session.
fn side_of(beginning: &str) -> (Wanted, usize) {
    match beginning.rsplit_once(':') {
        Some((session, _)) => {
            let named = (!session.is_empty()).then(|| session.to_owned());
            (named.map_or(Wanted::Entry, Wanted::EntryOf), session.len() + 1)
        }
        None => (Wanted::Session, 0),
    }
}

/// Returns the name of an argument's value in the help.
fn names(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn wanted(line: &str) -> (Wanted, usize, Said) {
        let mut root = Cli::command();
        root.build();
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let beginning = words.pop().unwrap();
        let place = Place::behind(&root, &words);
        let (wanted, n_kept) = place.wanted(&beginning);
        (wanted, n_kept, place.said)
    }

    fn words(line: &str) -> Vec<String> {
        match wanted(line).0 {
            Wanted::Words(words) => words.into_iter().map(|(word, _)| word).collect(),
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
        assert_eq!(wanted("list --columns=age,pl").1, "--columns=age,".len());
        for (line, expected) in [
            ("tree ", Wanted::Session),
            ("tree --session ", Wanted::Session),
            ("tree --session=", Wanted::Session),
            ("tree -- ", Wanted::Session),
            ("context x ", Wanted::Entry),
            ("context -c ", Wanted::Entry),
            ("context --session x ", Wanted::Entry),
            ("config get ", Wanted::Key),
            ("list --session-dir ", Wanted::Directory),
            ("search some ", Wanted::Anything),
            ("restore ", Wanted::Deleted),
            ("--sample tree ", Wanted::Session),
            ("--sample=x tree --all ", Wanted::Session),
            ("no such thing ", Wanted::Words(Vec::new())),
            ("diff ", Wanted::Session),
            ("diff x ", Wanted::Session),
            ("diff x:", Wanted::EntryOf("x".to_owned())),
            ("diff x y:z", Wanted::EntryOf("y".to_owned())),
            ("diff x:e :", Wanted::Entry),
        ] {
            assert_eq!(wanted(line).0, expected, "{line}");
        }
    }

    #[test]
    fn what_was_said_is_noted() {
        let said = wanted("--sample --session-dir x context --session y ").2;
        let expected =
            Said { is_sample: true, session_dir: Some("x".into()), session: Some("y".into()), is_newest: false };
        assert_eq!(said, expected);
        assert_eq!(wanted("context first ").2.session.as_deref(), Some("first"));
        assert!(wanted("context -c ").2.is_newest);
        assert_eq!((wanted("diff x:e :l").2.session.as_deref(), wanted("diff x:e :l").1), (Some("x"), 1));
    }
}
