//! Failures, their messages, and their exit codes.

mod reference;

use std::io;
use std::path::PathBuf;

use clap::error::ErrorKind;
use sessile::compaction::SummaryFailure;
use sessile::format::cause::{chain, messages};
use sessile::os::{Os, RealOs};
use sessile::reference::ReferenceError;
use sessile::settings::SettingsError;
#[cfg(all(unix, feature = "remote"))]
use sessile::sync::remote::local_server::LocalServerError;
use sessile::write::StoreError;
use sessile::{EntryId, SessionError};

use crate::exit::Exit;
use crate::interrupt::NoSignals;
use crate::screen::{ACCENT, BAD, BOLD, Line, NAMED, Screen};
use crate::stream::is_broken_pipe;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[cfg(all(unix, feature = "remote"))]
    #[error(transparent)]
    LocalServer(LocalServerError),
    #[error(transparent)]
    Reference(ReferenceError),
    #[error("{} does not exist", path.display())]
    NoSuchFile { path: PathBuf, hint: String },
    #[error("there is no session to continue for {cwd}")]
    NothingToContinue { cwd: String },
    #[error("the sample has no session {reference}; it has {n_sessions}")]
    NoSuchSample { reference: String, n_sessions: usize },
    #[error("cannot write the sample to {}: {reason}", path.display())]
    BadSampleDirectory { path: PathBuf, reason: &'static str },
    #[error("cannot write a temporary file")]
    NoTemporary(#[source] io::Error),
    #[error("{} exists", path.display())]
    OutputExists { path: PathBuf },
    #[error("a jsonl export contains the raw bytes of the session, which could control this terminal")]
    RawToTerminal,
    #[error(transparent)]
    NoSignals(#[from] NoSignals),
    #[error("cannot start another thread")]
    NoThread(#[source] io::Error),
    #[error("cannot listen on {}", path.display())]
    NoSocket { path: PathBuf, source: io::Error },
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Serve(#[from] sessile_web::serve::ServeError),
    #[cfg(feature = "serve")]
    #[error("cannot run {program}")]
    NoBrowser { program: &'static str, source: io::Error },
    #[error(transparent)]
    Rpc(#[from] sessile_rpc::Failure),
    #[error("{input_name} is missing: give it as an argument or on standard input")]
    NoInput { input_name: &'static str },
    #[error("cannot read standard input")]
    Input(#[source] io::Error),
    #[error("the input is not valid JSON")]
    NotJson { source: sessile::json::NotJson },
    #[error("{input_name} is empty")]
    Blank { input_name: &'static str },
    #[error("the message is not a JSON object with a role")]
    NotAMessage,
    #[error("unknown role {role:?}")]
    UnknownRole { role: String },
    #[error("a message with the role {role} needs {missing}")]
    Incomplete { role: &'static str, missing: &'static str },
    #[error("the content is neither a JSON string nor an array of text and image blocks")]
    NotContent,
    #[error("entry {id} is the {kind} of {target}; the model never sees it")]
    NoContent { id: EntryId, kind: &'static str, target: EntryId },
    #[error("the session has no current entry, so there is nothing to fork")]
    NothingToFork,
    #[error("there is no user message on the active branch")]
    NoQuestion,
    #[error("nothing was done: the hook {by} vetoed it")]
    Vetoed { by: String },
    #[error("nothing was deleted: there is no terminal to ask for confirmation")]
    Unconfirmed,
    #[error("nothing was scrubbed: there is no terminal to ask for confirmation")]
    UnconfirmedScrub,
    #[cfg(feature = "tui")]
    #[error(transparent)]
    Ui(Box<sessile_tui::TuiError>),
    #[cfg(feature = "tui")]
    #[error("{message}")]
    NotShown { message: String },
    #[cfg(feature = "tui")]
    #[error("cannot run `{line}`")]
    NotRun { line: String, source: io::Error },
    #[cfg(feature = "tui")]
    #[error("{program} was not found, so the session cannot be opened")]
    NoProgram { program: String },
    #[error("Node was not found on PATH, and pi runs on Node")]
    NoNode,
    #[error("the npm package sessile was not found")]
    NoPackage,
    #[error("{variable} is {}, which does not hold the npm package sessile", path.display())]
    NotThePackage { variable: &'static str, path: PathBuf },
    #[error("cannot run {}", program.display())]
    NotStarted { program: PathBuf, source: io::Error },
    #[error("the last change cannot be undone: `sessile {command}` appended to {session}")]
    LastStays { command: String, session: String, before: Option<(String, String)> },
    #[error("no summarizer is available")]
    NoSummarizer(#[source] SummaryFailure),
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// Arguments that clap accepted but that make no sense.
    #[error("{message}")]
    Misuse { kind: ErrorKind, message: String },
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::Session(error) => Self::Session(error),
            error => Self::Reference(error),
        }
    }
}

impl Failure {
    /// Creates a failure for arguments that make no sense together or in this context.
    pub(crate) fn misuse(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Misuse { kind, message: message.into() }
    }

    /// Whether cached data of a session was stale and has been dropped, so that running the command again helps.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Session(SessionError::Stale { .. }))
    }

    /// Returns how the command ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Output(error) if is_broken_pipe(error) => Exit::Done,
            Self::Usage(error) if !error.use_stderr() => Exit::Done,
            Self::Usage(_)
            | Self::Misuse { .. }
            | Self::NoInput { .. }
            | Self::Blank { .. }
            | Self::NotJson { .. }
            | Self::Unconfirmed
            | Self::UnconfirmedScrub
            | Self::NotAMessage
            | Self::UnknownRole { .. }
            | Self::Incomplete { .. }
            | Self::NotContent
            | Self::RawToTerminal
            | Self::Settings(SettingsError::UnknownKey { .. } | SettingsError::BadGiven { .. })
            | Self::Session(SessionError::BlankName | SessionError::BadSessionId { .. }) => Exit::Usage,
            Self::Session(SessionError::NothingToUndo) => Exit::Nothing,
            #[cfg(feature = "tui")]
            Self::Ui(error) => match **error {
                sessile_tui::TuiError::Signal(signal) => Exit::Signalled(signal),
                _ => Exit::Error,
            },
            Self::Session(SessionError::Cancelled) => Exit::Interrupted,
            Self::Session(error) if is_busy(error) => Exit::Busy,
            _ => Exit::Error,
        }
    }

    /// Suggests what the user can do.
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoSuchFile { hint, .. } => Some(hint.clone()),
            Self::Reference(error) => reference::hint(error),
            Self::Settings(SettingsError::UnknownKey { nearest: Some(nearest), .. }) => {
                Some(format!("did you mean {nearest}?"))
            }
            Self::Settings(SettingsError::UnknownKey { .. }) => Some("`sessile config` shows all settings".to_owned()),
            Self::UnknownRole { .. } => Some(
                "roles are system, user, assistant, toolResult, bashExecution, custom, branchSummary and \
                 compactionSummary; --any-role accepts any role"
                    .to_owned(),
            ),
            #[cfg(feature = "tui")]
            Self::Ui(_) => Some("this needs a terminal; `list`, `tree` and `show` print the same data".to_owned()),
            #[cfg(feature = "tui")]
            Self::NotRun { .. } => Some("set the command to run with the setting resume.command".to_owned()),
            #[cfg(feature = "tui")]
            Self::NoProgram { .. } => Some(
                "install it, or name another command: sessile config set resume.command 'PROGRAM {path}'".to_owned(),
            ),
            Self::NoNode => Some(
                "install Node 22.19 or newer, then pi: npm install -g @earendil-works/pi-coding-agent sessile"
                    .to_owned(),
            ),
            Self::NoPackage => {
                Some("install it: npm install -g sessile; or name its directory with SESSILE_NODE_PACKAGE".to_owned())
            }
            Self::LastStays { before: Some((id, steps)), .. } => {
                Some(format!("`sessile undo {id}` undoes the operation before it: {steps}"))
            }
            Self::Session(SessionError::ArchivesLeaf { .. }) => {
                Some("move the leaf to another branch with `sessile branch`, or archive the whole session".to_owned())
            }
            Self::NoContent { target, .. } => Some(format!("{target} is the entry to edit")),
            Self::Session(SessionError::Ambiguous { .. }) => Some("use more of its id".to_owned()),
            Self::NothingToContinue { .. } => {
                Some("`sessile list --all` lists the sessions of all directories".to_owned())
            }
            Self::OutputExists { .. } => {
                Some("name another file, or replace it with --force; --force never replaces a session".to_owned())
            }
            Self::RawToTerminal => Some(
                "write it to a file with -o FILE, or to a pipe; or print it with `--format json` or `--format md`"
                    .to_owned(),
            ),
            Self::NoSummarizer(_) | Self::Session(SessionError::Summary { .. }) => Some(
                "`sessile config set summarizer.use extractive` selects the built-in rule, which works offline"
                    .to_owned(),
            ),
            Self::NoSuchSample { .. } => Some("`sessile --sample list` shows its sessions".to_owned()),
            Self::BadSampleDirectory { .. } => Some("name a directory that is empty or does not exist yet".to_owned()),
            Self::Session(SessionError::Store(StoreError::Busy { .. }) | SessionError::WrittenMeanwhile { .. }) => {
                Some("try again once the other program has finished".to_owned())
            }
            Self::Session(SessionError::InUse { .. }) => {
                Some("end that program first, or ignore it with --force".to_owned())
            }
            Self::Unconfirmed => {
                Some("use --yes to delete without confirmation, or --dry-run to see what would be deleted".to_owned())
            }
            Self::UnconfirmedScrub => {
                Some("use --yes to scrub without confirmation, or --dry-run to see what would be removed".to_owned())
            }
            Self::Session(SessionError::ScrubUnfinished { .. }) => {
                Some("run the same command again: it finishes what is left".to_owned())
            }
            Self::Session(SessionError::NoTrash { .. }) => Some("use --permanent to delete it permanently".to_owned()),
            Self::Session(SessionError::NotInTrash { .. }) => {
                Some("`sessile restore --list` shows the sessions in the trash".to_owned())
            }
            Self::Session(SessionError::NoSuchOperation { .. } | SessionError::ChangedSince { .. }) => {
                Some("`sessile undo --list` shows all operations with their ids".to_owned())
            }
            Self::Session(SessionError::SessionExists { .. }) => {
                Some("use --new-id to import it as another session".to_owned())
            }
            Self::Session(SessionError::UndoneAlready { by, .. }) => Some(format!("`sessile undo {by}` redoes it")),
            Self::Session(SessionError::LeafMoved { .. }) => {
                Some("another program has appended to the session; check it and try again".to_owned())
            }
            Self::Session(SessionError::Store(StoreError::SharedFileSystem { .. })) => {
                Some("copy the session to a local disk first".to_owned())
            }
            Self::Session(SessionError::NotASession { .. }) => Some(
                "a session is a .jsonl file that starts with a header; `sessile list --all` shows yours".to_owned(),
            ),
            Self::Session(SessionError::Store(StoreError::NotRegular { path })) if path.is_dir() => {
                Some(format!("`sessile list --all --session-dir {}` lists a directory", path.display()))
            }
            Self::Session(SessionError::Store(StoreError::NotRegular { path })) if path.is_symlink() => {
                let target = RealOs.real_path(path).unwrap_or_else(|_| path.clone());
                Some(format!("it is a link; the session itself is {}", target.display()))
            }
            _ => None,
        }
    }

    /// Returns the message with its causes in one line, for small spaces.
    #[cfg(feature = "tui")]
    pub(crate) fn words(&self) -> String {
        sessile::format::cause::chain(self)
    }

    /// Prints the failure for the user.
    pub(crate) fn report(&self, out: &mut Screen<'_>, err: &mut Screen<'_>) -> io::Result<()> {
        match self {
            Self::Output(error) if is_broken_pipe(error) => Ok(()),
            Self::Usage(error) => report_usage(error, out, err),
            _ => report_chain(self, err),
        }
    }
}

/// Whether another process or program is in the way, so that the command may succeed later.
fn is_busy(error: &SessionError) -> bool {
    match error {
        SessionError::ScrubUnfinished { source, .. } => is_busy(source),
        error => matches!(
            error,
            SessionError::Store(StoreError::Busy { .. })
                | SessionError::LeafMoved { .. }
                | SessionError::InUse { .. }
                | SessionError::WrittenMeanwhile { .. }
                | SessionError::OperationRunning { .. }
        ),
    }
}

/// Prints the error, all its causes, and a hint.
pub(crate) fn report_chain(failure: &Failure, err: &mut Screen<'_>) -> io::Result<()> {
    let texts = match failure {
        // A setting and its file belong on one line.
        Failure::Settings(error) => vec![chain(error)],
        _ => messages(failure),
    };
    for (index, words) in texts.iter().enumerate() {
        let (style, title) = if index == 0 { (BAD, "error:") } else { (BOLD, "caused by:") };
        err.print_whole(&Line::new().styled(style, title).text(" ").text(words))?;
    }
    match failure {
        Failure::Reference(error) => reference::print_candidates(error, err)?,
        Failure::Session(SessionError::Ambiguous { candidates, .. }) => {
            candidates.iter().try_for_each(|it| err.print(Line::new().text("  ").styled(NAMED, it)))?;
        }
        _ => {}
    }
    match failure.hint() {
        Some(hint) => err.print_whole(&Line::new().styled(ACCENT, "hint:").text(" ").text(&hint)),
        None => Ok(()),
    }
}

/// Prints a usage error. Help and version were requested and go to standard output; the rest are errors and may quote
/// any text.
fn report_usage(error: &clap::Error, out: &mut Screen<'_>, err: &mut Screen<'_>) -> io::Result<()> {
    if !error.use_stderr() {
        out.print_help(&error.render())?;
        return out.flush();
    }
    let text = error.render().to_string();
    text.trim_end().lines().try_for_each(|line| err.print_whole(&Line::new().text(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Color;
    use crate::stream::Stream;

    fn reported(failure: &Failure) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let stream = |writer| Stream { writer, terminal_width: None, terminal_height: None, takes_color: false };
        let mut out_screen = Screen::new(stream(&mut out), Color::Auto);
        failure.report(&mut out_screen, &mut Screen::new(stream(&mut err), Color::Auto)).unwrap();
        assert!(out.is_empty());
        String::from_utf8(err).unwrap()
    }

    #[test]
    fn the_whole_error_chain_is_reported() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure =
            Failure::from(SessionError::from(StoreError::io_at("open", "/x/\u{1b}[2J.jsonl".as_ref(), source)));
        assert_eq!(reported(&failure), "error: cannot open /x/␛[2J.jsonl\ncaused by: permission denied\n");
        assert_eq!(failure.exit(), Exit::Error);
    }

    #[test]
    fn hints_come_last() {
        let failure = Failure::from(SessionError::NotASession { path: "/x".into() });
        assert!(reported(&failure).lines().last().unwrap().starts_with("hint: a session is"));
    }

    #[test]
    fn busy_sessions_have_their_own_exit_code() {
        let moved = Failure::from(SessionError::LeafMoved { expected: None, actual: None });
        let busy = Failure::from(SessionError::from(StoreError::Busy {
            log: sessile::log::LogName::file("/x"),
            holder: None,
        }));
        assert_eq!([moved.exit(), busy.exit()].map(Exit::code), [4, 4]);
        let unfinished = |source| Failure::from(SessionError::ScrubUnfinished { path: "/x".into(), source });
        let running = SessionError::OperationRunning { what: "an update".to_owned() };
        assert_eq!(unfinished(Box::new(running)).exit(), Exit::Busy);
        assert_eq!(unfinished(Box::new(SessionError::Cancelled)).exit(), Exit::Error);
        let failed = SessionError::ScrubFailed { path: "/x".into(), line: 1, what: "it is too long".to_owned() };
        assert_eq!(Failure::from(failed).exit(), Exit::Error);
    }

    #[test]
    fn a_closed_output_is_not_a_failure() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((reported(&failure), failure.exit()), (String::new(), Exit::Done));
        assert_eq!(Failure::from(SessionError::Cancelled).exit(), Exit::Interrupted);
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::StorageFull)).exit(), Exit::Error);
    }
}
