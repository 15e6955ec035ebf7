//! `sessile __complete`, called by completion scripts

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sessile::format::display_control::affects_display;
use sessile::label::Label;
use sessile::list::{ListOptions, SessionInfo};
use sessile::os::RealOs;
use sessile::settings::{KEYS, Settings, Value};
use sessile::{Cancel, Environment, SessionError};

use crate::args::{SampleLocation, SessionArg};
use crate::completion::{Candidates, CompletionState, SessionSelection, bash};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{Screen, clean};

/// List the completions for the end of a command line, for a completion script
///
/// The first line is `:words`, `:files` or `:dirs`. After `:words` there is one word per line, for zsh and fish with a
/// tab and a description. No word contains a control character.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct CompleteArgs {
    /// The calling shell
    #[arg(long)]
    shell: CallingShell,

    /// For bash: the line up to the cursor
    #[arg(long, allow_hyphen_values = true, default_value = "")]
    line: String,

    /// For bash: the characters at which it breaks words
    #[arg(long, allow_hyphen_values = true, default_value = "")]
    breaks: String,

    /// The words after the program name; the last one is incomplete
    #[arg(last = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CallingShell {
    Bash,
    Zsh,
    Fish,
}

/// How long completion may take. Partial results are cached for the next call.
const TIME_LIMIT: Duration = Duration::from_millis(1500);
/// Upper bound on the ids offered; users do not read longer lists.
const MAX_IDS: usize = 100;

pub(super) fn run(
    args: &CompleteArgs,
    definition: fn() -> clap::Command,
    environment: Arc<dyn Environment>,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let typed = (args.shell == CallingShell::Bash).then(|| bash::split(&args.line, &args.breaks));
    let mut words = match &typed {
        Some(typed) => typed.words.iter().skip(1).cloned().collect(),
        None => args.words.clone(),
    };
    let beginning = words.pop().unwrap_or_default();
    let root = definition();
    let state = CompletionState::after(&root, &words);
    let (candidates, n_kept) = state.candidates(&beginning);
    let (unchanged, prefix) = beginning.split_at_checked(n_kept).unwrap_or(("", &beginning));
    let completions = match candidates {
        Candidates::Words(words) => words,
        Candidates::Key => KEYS.iter().map(|key| (key.name.to_owned(), key.what.to_owned())).collect(),
        // Errors are ignored while the user types; the command itself will report them.
        Candidates::Session => sessions(environment, &state.selection, prefix).unwrap_or_default(),
        Candidates::Deleted => deleted(environment, &state.selection).unwrap_or_default(),
        Candidates::Entry => entries(environment, &state.selection, prefix).unwrap_or_default(),
        Candidates::EntryOf(session) => {
            let selection = SessionSelection { session: Some(session), is_newest: false, ..state.selection };
            entries(environment, &selection, prefix).unwrap_or_default()
        }
        Candidates::Directory => return Ok(print_line(":dirs", out)?),
        Candidates::File => return Ok(print_line(":files", out)?),
        Candidates::Anything => Vec::new(),
    };
    print_line(":words", out)?;
    for (word, about) in
        completions.iter().filter(|(word, _)| word.starts_with(prefix) && !word.contains(affects_display))
    {
        let word = format!("{unchanged}{word}");
        let line = match &typed {
            Some(typed) => typed.completed(&word),
            None if about.is_empty() => word,
            None => format!("{word}\t{}", clean(about)),
        };
        out.data().write_all(line.as_bytes())?;
        out.data().write_all(b"\n")?;
    }
    Ok(Exit::Done)
}

fn print_line(text: &str, out: &mut Screen<'_>) -> std::io::Result<Exit> {
    out.data().write_all(text.as_bytes())?;
    out.data().write_all(b"\n")?;
    Ok(Exit::Done)
}

/// Returns the environment that the preceding words select.
fn selected_environment(
    environment: Arc<dyn Environment>,
    selection: &SessionSelection,
) -> Result<CommandEnvironment, Failure> {
    let mut settings = Settings::load(environment.as_ref(), &RealOs)?;
    if let Some(dir) = selection.session_dir.as_ref().filter(|dir| !dir.is_empty()) {
        settings = settings.with_flag("session_dir", Value::Text(dir.clone()), "--session-dir");
    }
    CommandEnvironment::new(environment, selection.is_sample.then_some(&SampleLocation::Terminal), settings)
}

/// Returns names and ids of sessions, those of this directory first.
fn sessions(
    environment: Arc<dyn Environment>,
    selection: &SessionSelection,
    beginning: &str,
) -> Result<Vec<(String, String)>, Failure> {
    let env = selected_environment(environment, selection)?;
    let cancel = Cancel::default();
    let stop = cancel.clone();
    // The thread is not joined: the process exits first. If it cannot start, the list has no time limit.
    drop(sessile::threads::spawn("time limit", move || {
        std::thread::sleep(TIME_LIMIT);
        stop.cancel();
    }));
    let mut options = ListOptions { cancel, ..ListOptions::default() };
    let here = env.sessions.list_with(env.cwd(), &mut options);
    let mut completions = vec![("@latest".to_owned(), "the newest session".to_owned())];
    let mut here = here.or_else(empty_if_cancelled)?;
    here.retain(|session| !session.is_archived);
    completions.extend(names_and_ids(&here, beginning));
    let has_match = |completions: &[(String, String)]| completions.iter().any(|(word, _)| word.starts_with(beginning));
    if !has_match(&completions) || selection.is_sample {
        let all = env.sessions.list_all_with(&mut options).or_else(empty_if_cancelled)?;
        let (archived, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|session| session.is_archived);
        completions.extend(names_and_ids(&others, beginning));
        // Archived sessions are offered only if nothing else matches.
        if !has_match(&completions) {
            completions.extend(names_and_ids(&archived, beginning));
        }
    }
    Ok(completions)
}

/// Returns the ids of sessions in the trash.
fn deleted(environment: Arc<dyn Environment>, selection: &SessionSelection) -> Result<Vec<(String, String)>, Failure> {
    let env = selected_environment(environment, selection)?;
    let in_trash = env.sessions.in_trash()?;
    let path = |path: &Path| env.short(&path.to_string_lossy());
    Ok(in_trash.into_iter().map(|trashed| (trashed.session.id.to_string(), path(&trashed.session.path))).collect())
}

/// Turns a timeout into an empty list.
fn empty_if_cancelled(error: SessionError) -> Result<Vec<SessionInfo>, SessionError> {
    match error {
        SessionError::Cancelled => Ok(Vec::new()),
        error => Err(error),
    }
}

fn names_and_ids(sessions: &[SessionInfo], beginning: &str) -> Vec<(String, String)> {
    let name = |session: &SessionInfo| {
        let name = session.name.as_ref()?.to_str().trim().to_owned();
        (!name.is_empty()).then(|| (name, session.id.to_string()))
    };
    let id = |session: &SessionInfo| {
        let title = session.name.as_ref().unwrap_or(&session.first_message);
        (session.id.to_string(), title.to_str().chars().take(60).collect())
    };
    let ids = sessions.iter().filter(|session| session.id.as_str().starts_with(beginning)).take(MAX_IDS).map(id);
    sessions.iter().filter_map(name).chain(ids).collect()
}

/// Returns labels and entry ids of the named session.
fn entries(
    environment: Arc<dyn Environment>,
    selection: &SessionSelection,
    beginning: &str,
) -> Result<Vec<(String, String)>, Failure> {
    let env = selected_environment(environment, selection)?;
    let session = selection.session.as_ref().map(|session| Path::new(session).to_path_buf());
    let path = env.find(&SessionArg { session, chosen: None, newest: selection.is_newest })?;
    let session = env.sessions.clone().read_only().open(path)?;
    let mut completions =
        vec![("@leaf".to_owned(), "the current leaf".to_owned()), ("@root".to_owned(), "the first entry".to_owned())];
    let about = |label: &Label, id: &str| (label.text(), id.to_owned());
    completions.extend(session.labels()?.iter().map(|(id, label)| about(label, &id.to_string())));
    // Ids are offered only if the user has typed the beginning of one.
    let outline = session.outline();
    let ids = outline.entries().filter_map(|row| Some((outline.id(row)?.to_string(), row)));
    let matching = ids.filter(|(id, _)| !beginning.is_empty() && id.starts_with(beginning)).take(MAX_IDS);
    completions.extend(matching.map(|(id, row)| {
        let kind = outline.role(row).word().or(outline.kind(row).word()).unwrap_or_default();
        (id, kind.to_owned())
    }));
    Ok(completions)
}
