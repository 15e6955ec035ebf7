//! Reads words as pi does.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;

use super::{Meaning, PiFlag, Takes, find};
use crate::failure::Failure;

/// What the words say.
#[derive(Default)]
pub(super) struct Read {
    /// The words for the `rpc` command.
    kept: Vec<OsString>,
    /// Words that are not flags, which pi takes for messages.
    messages: Vec<OsString>,
    export: Option<OsString>,
    /// How help was asked for: `-h` is short.
    help: Option<OsString>,
    is_version: bool,
}

impl Read {
    /// Returns the whole command line. `before` is its beginning, and all of it that is not pi's.
    pub(super) fn into_args(self, before: &[OsString], is_mode: bool) -> Vec<OsString> {
        let mut args = before.to_vec();
        if self.is_version {
            args.truncate(1);
            args.push("--version".into());
        } else if let Some(session) = self.export {
            args.truncate(1);
            let output = self.messages.first().cloned().unwrap_or_else(|| page_name(&session));
            args.extend(["export", "--format=html", "--force"].map(OsString::from));
            args.extend([with_value("--output", &output), "--".into(), session]);
        } else {
            if is_mode {
                args.push("rpc".into());
            }
            args.extend(self.kept);
            args.extend(self.help);
        }
        args
    }
}

/// The file that pi exports a session to by default.
fn page_name(session: &OsStr) -> OsString {
    let mut name = OsString::from("pi-session-");
    let path = Path::new(session);
    let is_session = path.extension().is_some_and(|extension| extension == "jsonl");
    name.push(if is_session { path.file_stem() } else { path.file_name() }.unwrap_or_default());
    name.push(".html");
    name
}

/// Reads words one by one.
pub(super) struct Reader<'w> {
    words: &'w [OsString],
    next: usize,
    is_mode: bool,
    read: Read,
}

impl<'w> Reader<'w> {
    /// Reads all words. `is_mode` says that pi's spelling was used, so that words may be messages.
    pub(super) fn read(
        words: &'w [OsString],
        is_mode: bool,
        takes_value: &dyn Fn(&str) -> Option<bool>,
    ) -> Result<Read, Failure> {
        let mut reader = Self { words, next: 0, is_mode, read: Read::default() };
        reader.read_all(takes_value)?;
        Ok(reader.read)
    }

    fn read_all(&mut self, takes_value: &dyn Fn(&str) -> Option<bool>) -> Result<(), Failure> {
        while let Some(word) = self.words.get(self.next) {
            self.next += 1;
            let text = word.to_string_lossy();
            if text == "--" {
                if !self.is_mode {
                    self.read.kept.push(word.clone());
                }
                while let Some(message) = self.words.get(self.next) {
                    self.next += 1;
                    self.take_message(message)?;
                }
            } else if text == "--mode" && self.peek().is_some_and(|mode| mode == "rpc") {
                self.next += 1;
            } else if let Some(flag) = find(&text) {
                self.take_flag(flag, word)?;
            } else if text == "--mode=rpc" {
                // Another way to say what is already known.
            } else if text.starts_with("--") {
                self.take_own(word, takes_value(text.split('=').next().unwrap_or_default()).unwrap_or_default());
            } else if text.starts_with('-') {
                return Err(Failure::misuse(ErrorKind::UnknownArgument, format!("Unknown option: {text}")));
            } else {
                self.take_message(word)?;
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<&OsString> {
        self.words.get(self.next)
    }

    /// Handles a flag of pi. `word` is how it was written.
    fn take_flag(&mut self, flag: &PiFlag, word: &OsString) -> Result<(), Failure> {
        let text = word.to_string_lossy();
        let in_word = text.split_once('=').map(|(_, value)| OsString::from(value));
        let value = if in_word.is_some() { in_word.clone() } else { self.take_value(flag.takes, &text)? };
        match (flag.meaning, value) {
            (Meaning::Agent, _) => {}
            // Byte for byte: it may be a path that is not text.
            (Meaning::Session, Some(_)) if in_word.is_some() => self.read.kept.push(word.clone()),
            (Meaning::Session, Some(value)) => self.read.kept.push(with_value(flag.long, &value)),
            (Meaning::Session, None) => self.read.kept.push(flag.long.into()),
            (Meaning::Other, Some(session)) => self.read.export = Some(session),
            (Meaning::Other, None) if flag.long == "--help" => self.read.help = Some(word.clone()),
            (Meaning::Other, None) => self.read.is_version = true,
        }
        Ok(())
    }

    /// Returns the value of a flag, if the next word is one.
    fn take_value(&mut self, takes: Takes, flag: &str) -> Result<Option<OsString>, Failure> {
        let Some(next) = self.peek() else {
            if takes == Takes::Value {
                return Err(Failure::misuse(ErrorKind::InvalidValue, format!("{flag} requires a value")));
            }
            return Ok(None);
        };
        let text = next.to_string_lossy();
        let is_word = !text.starts_with(['-', '@']);
        let is_value = match takes {
            Takes::Nothing => false,
            Takes::Value => true,
            Takes::Search => is_word,
            Takes::Prompt => is_word || text.starts_with("---"),
        };
        let value = is_value.then(|| next.clone());
        self.next += usize::from(is_value);
        Ok(value)
    }

    /// Handles a flag that pi does not have, which may be one of ours.
    fn take_own(&mut self, word: &OsString, takes_value: bool) {
        self.read.kept.push(word.clone());
        if takes_value
            && !word.to_string_lossy().contains('=')
            && let Some(value) = self.peek().cloned()
        {
            self.next += 1;
            self.read.kept.push(value);
        }
    }

    /// Handles a word that is not a flag. pi ignores messages in RPC mode and refuses files.
    fn take_message(&mut self, word: &OsString) -> Result<(), Failure> {
        if word.to_string_lossy().starts_with('@') {
            let message = "@file arguments are not supported in RPC mode";
            return Err(Failure::misuse(ErrorKind::UnknownArgument, message));
        }
        if self.is_mode {
            self.read.messages.push(word.clone());
        } else {
            // Not a message to anyone: the command reports it.
            self.read.kept.push(word.clone());
        }
        Ok(())
    }
}

fn with_value(flag: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(flag);
    word.push("=");
    word.push(value);
    word
}
