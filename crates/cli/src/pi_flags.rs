//! pi's command line, for programs that start `pi --mode rpc` and are given `sessile` instead.
//!
//! pi has no combined short flags: `-ne` is a flag, not `-n e`. A value is always the next word, whatever it looks like.
//! This module reads the words as pi 1.5.0 does and writes them as the `rpc` command takes them.

mod reading;

use std::ffi::OsString;

use crate::failure::Failure;
use reading::Reader;

/// What follows a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// Nothing.
    Nothing,
    /// A value, which may begin with a dash.
    Value,
    /// A text to search for, if the next word is one.
    Search,
    /// A prompt, if the next word is one.
    Prompt,
}

/// What a flag means for a server that has no agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The `rpc` command has the flag too.
    Session,
    /// It is about an agent or a screen: accepted and ignored, with its value.
    Agent,
    /// It asks for something else than serving: `--export`, `--help`, `--version`.
    Other,
}

/// A flag of pi.
struct PiFlag {
    long: &'static str,
    short: &'static str,
    takes: Takes,
    meaning: Meaning,
}

const fn session(long: &'static str, short: &'static str, takes: Takes) -> PiFlag {
    PiFlag { long, short, takes, meaning: Meaning::Session }
}

const fn agent(long: &'static str, short: &'static str, takes: Takes) -> PiFlag {
    PiFlag { long, short, takes, meaning: Meaning::Agent }
}

const fn other(long: &'static str, short: &'static str, takes: Takes) -> PiFlag {
    PiFlag { long, short, takes, meaning: Meaning::Other }
}

/// Every flag of pi 1.5.0 except `--mode`, in the order of its help.
const FLAGS: &[PiFlag] = &[
    session("--provider", "", Takes::Value),
    session("--model", "", Takes::Value),
    agent("--api-key", "", Takes::Value),
    agent("--system-prompt", "", Takes::Value),
    agent("--append-system-prompt", "", Takes::Value),
    agent("--print", "-p", Takes::Prompt),
    session("--continue", "-c", Takes::Nothing),
    agent("--resume", "-r", Takes::Nothing),
    session("--session", "", Takes::Value),
    session("--session-id", "", Takes::Value),
    session("--fork", "", Takes::Value),
    session("--session-dir", "", Takes::Value),
    session("--no-session", "", Takes::Nothing),
    session("--name", "-n", Takes::Value),
    agent("--models", "", Takes::Value),
    agent("--no-tools", "-nt", Takes::Nothing),
    agent("--no-builtin-tools", "-nbt", Takes::Nothing),
    agent("--tools", "-t", Takes::Value),
    agent("--exclude-tools", "-xt", Takes::Value),
    session("--thinking", "", Takes::Value),
    agent("--extension", "-e", Takes::Value),
    agent("--no-extensions", "-ne", Takes::Nothing),
    agent("--no-mcp", "", Takes::Nothing),
    agent("--skill", "", Takes::Value),
    agent("--no-skills", "-ns", Takes::Nothing),
    agent("--prompt-template", "", Takes::Value),
    agent("--no-prompt-templates", "-np", Takes::Nothing),
    agent("--theme", "", Takes::Value),
    agent("--use-theme", "", Takes::Value),
    agent("--no-themes", "", Takes::Nothing),
    agent("--no-context-files", "-nc", Takes::Nothing),
    other("--export", "", Takes::Value),
    agent("--list-models", "", Takes::Search),
    agent("--verbose", "", Takes::Nothing),
    agent("--tui-mode", "", Takes::Value),
    agent("--approve", "-a", Takes::Nothing),
    agent("--no-approve", "-na", Takes::Nothing),
    agent("--offline", "", Takes::Nothing),
    other("--help", "-h", Takes::Nothing),
    other("--version", "-v", Takes::Nothing),
];

/// Whether the command line serves RPC, and how it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// `sessile --mode rpc`, as pi: all other words are pi's.
    Mode,
    /// `sessile rpc`: the words from this index on are pi's.
    Command(usize),
}

/// Rewrites a command line that serves RPC, so that each word means what it means to pi. Returns any other unchanged.
///
/// `takes_value` says whether one of our own flags takes the next word as its value; none if it is not a flag.
pub(crate) fn translated(
    args: Vec<OsString>,
    takes_value: &dyn Fn(&str) -> Option<bool>,
) -> Result<Vec<OsString>, Failure> {
    let Some(spelling) = spelling(&args) else { return Ok(args) };
    let start = if let Spelling::Command(start) = spelling { start } else { 1 };
    let (before, words) = args.split_at(start.min(args.len()));
    let is_mode = spelling == Spelling::Mode;
    Ok(Reader::read(words, is_mode, takes_value)?.into_args(before, is_mode))
}

/// Finds the flag that a word is. The value of a long flag may follow an equals sign, which pi does not accept.
fn find(word: &str) -> Option<&'static PiFlag> {
    let name = word.split('=').next().unwrap_or_default();
    FLAGS.iter().find(|flag| {
        let is_long = flag.long == word || (flag.long == name && flag.takes != Takes::Nothing);
        is_long || (!flag.short.is_empty() && flag.short == word)
    })
}

/// Finds out whether a command line serves RPC.
fn spelling(args: &[OsString]) -> Option<Spelling> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let is_mode = |index: usize| {
        args[index] == "--mode=rpc"
            || (args[index] == "--mode" && args.get(index + 1).is_some_and(|mode| mode == "rpc"))
    };
    if (1..end).any(is_mode) {
        return Some(Spelling::Mode);
    }
    let mut index = 1;
    while let Some(word) = args.get(index).filter(|_| index < end) {
        match word.to_string_lossy().as_ref() {
            "rpc" => return Some(Spelling::Command(index + 1)),
            // The global options with a value.
            "--color" | "--session-dir" => index += 2,
            text if text.starts_with('-') => index += 1,
            _ => return None,
        }
    }
    None
}

/// Lists the flags that the `rpc` command accepts and ignores.
pub(crate) fn ignored() -> String {
    let ignored = FLAGS.iter().filter(|flag| flag.meaning == Meaning::Agent);
    let names: Vec<String> = ignored
        .map(|flag| match flag.short {
            "" => flag.long.to_owned(),
            short => format!("{} ({short})", flag.long),
        })
        .collect();
    format!("Flags of pi that are about an agent are accepted and ignored, with their values:\n{}", names.join(", "))
}

#[cfg(test)]
mod tests;
