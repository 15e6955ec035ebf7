//! The arguments that all commands share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum, ValueHint};

use crate::failure::Failure;
use crate::screen::Color;

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// The options that every command has.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", help_heading = GLOBAL)]
    pub(crate) color: Option<Color>,

    /// Use a made-up sample store instead of your own: this terminal's sample, or the one in DIR
    ///
    /// A new sample always has the same content. Without DIR, all commands in one terminal share a sample, which
    /// Sessile removes after a week without use; without a terminal, each command gets a new sample. DIR must not
    /// exist, or be empty, or already hold a sample.
    ///
    /// If you omit SESSION, it means the newest session.
    #[arg(long, global = true, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(value_parser = OsStringValueParser::new().map(SampleLocation::new), value_hint = ValueHint::DirPath, help_heading = GLOBAL)]
    pub(crate) sample: Option<SampleLocation>,

    /// Look for sessions in DIR instead of where pi keeps them
    ///
    /// This flag overrides the environment variable `PI_CODING_AGENT_SESSION_DIR`.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = GLOBAL)]
    pub(crate) session_dir: Option<PathBuf>,

    /// Also use the sessions of the other members of a remote
    ///
    /// Lists show their sessions, and a session is fetched when it is opened. For `sync`, `push`, `pull`, `share` and
    /// `delete --everywhere`: the remote, if there are several. `verify` then checks the remote itself.
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL)]
    pub(crate) remote: Option<String>,

    /// Do not send long output to a pager
    ///
    /// On a terminal, long output goes to the pager named by the environment variable `SESSILE_PAGER`, else by the
    /// setting pager, else by the environment variable `PAGER`, else to less.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_pager: bool,
}

/// Where the sample is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SampleLocation {
    /// In a directory for this terminal; without a terminal, in a temporary directory.
    Terminal,
    /// In this directory.
    Dir(PathBuf),
}

impl SampleLocation {
    fn new(dir: OsString) -> Self {
        if dir.is_empty() { Self::Terminal } else { Self::Dir(dir.into()) }
    }
}

/// The session that a command is about.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionArg {
    /// The session: a path, an id or its beginning, a name, @latest, or @N from the last list
    ///
    /// Sessions of this directory take precedence over all others. With --sample, SESSION is optional and means the
    /// newest session by default.
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<PathBuf>,

    /// Use this session, in any form that pi accepts; same as SESSION
    #[arg(long = "session", value_name = "SESSION", conflicts_with = "continue")]
    pub(crate) chosen: Option<PathBuf>,

    /// Use the most recently written session of this directory
    #[arg(short = 'c', long = "continue", id = "continue")]
    pub(crate) newest: bool,
}

impl SessionArg {
    /// Returns the session and the words after it. If a flag names the session, the word in its place is the first of
    /// those.
    pub(crate) fn with_words<const N: usize>(&self, words: [Option<&str>; N]) -> (Self, [Option<String>; N]) {
        let mut words = words.map(|word| word.map(str::to_owned));
        let (true, Some(first)) = (self.chosen.is_some() || self.newest, &self.session) else {
            return (self.clone(), words);
        };
        // An extra word stays where it is and is reported when the session is looked up.
        if words.last().is_some_and(Option::is_some) {
            return (self.clone(), words);
        }
        words.rotate_right(1);
        if let Some(word) = words.first_mut() {
            *word = Some(first.to_string_lossy().into_owned());
        }
        (Self { session: None, ..self.clone() }, words)
    }
}

/// Returns a required word, or an error that it is missing.
pub(crate) fn required(word: Option<String>, name: &str) -> Result<String, Failure> {
    word.ok_or_else(|| Failure::misuse(ErrorKind::MissingRequiredArgument, format!("{name} is missing")))
}

/// Reads `--color` before anything else, because it also applies to errors and help.
pub(crate) fn requested_color(args: &[OsString]) -> Color {
    let words = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
    let mut requested = None;
    let mut is_next = false;
    for word in words {
        let value = if is_next { Some(word) } else { word.strip_prefix("--color=") };
        is_next = word == "--color";
        requested = value.and_then(|value| Color::from_str(value, false).ok()).or(requested);
    }
    requested.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_shift_when_a_flag_names_the_session() {
        let arg = |session: Option<&str>, newest| SessionArg { session: session.map(Into::into), chosen: None, newest };
        let words = |arg: &SessionArg, words: [Option<&str>; 2]| {
            let (session, words) = arg.with_words(words);
            (session.session.map(|path| path.to_string_lossy().into_owned()), words.map(Option::unwrap_or_default))
        };
        let owned = |words: [&str; 2]| words.map(str::to_owned);
        assert_eq!(words(&arg(Some("s"), false), [Some("a"), None]), (Some("s".to_owned()), owned(["a", ""])));
        assert_eq!(words(&arg(Some("a"), true), [None, None]), (None, owned(["a", ""])));
        assert_eq!(words(&arg(Some("a"), true), [Some("b"), None]), (None, owned(["a", "b"])));
        assert_eq!(words(&arg(None, true), [None, None]), (None, owned(["", ""])));
        assert_eq!(words(&arg(Some("a"), true), [Some("b"), Some("c")]), (Some("a".to_owned()), owned(["b", "c"])));
    }

    #[test]
    fn the_color_flag_is_found_in_any_position() {
        let requested = |words: &str| requested_color(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(requested("sessile list"), Color::Auto);
        assert_eq!(requested("sessile list --color never"), Color::Never);
        assert_eq!(requested("sessile --color=always list"), Color::Always);
        assert_eq!(requested("sessile --color mauve"), Color::Auto);
        assert_eq!(requested("sessile -- --color=always"), Color::Auto);
    }
}
