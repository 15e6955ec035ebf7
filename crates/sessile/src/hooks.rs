//! Hooks: programs of the user that receive events, each in a file named after its event.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use sessile_core::json::{ObjectWriter, Raw};
use sessile_program::{Limits, ProgramEnd, ProgramResult};
use sessile_store::os::{FileKind, Os, Stat};

use crate::environment::Environment;
use crate::event::{BadReply, EventContext, EventKind, HandlerId, Handlers, Reply, SessionEvent};
use crate::settings::Settings;

/// The maximum output of a hook in bytes.
const MAX_OUTPUT: usize = 4 << 20;

/// The environment variable that is set for a hook and every program it runs.
pub const HOOK_VARIABLE: &str = "SESSILE_HOOK";

/// A folder of hooks, and the timeout for each.
///
/// A hook is an executable file with the name of an event, such as
/// `session_before_compact`. It receives the event as one JSON object on its
/// standard input, with `session` (`{file?, id, cwd}`) added, and prints its
/// reply as JSON, or nothing. It is run directly, without a shell, in the working
/// directory of the session if that exists. If it fails, takes too long or
/// prints something else, it counts as giving no reply, and that is reported.
#[derive(Clone)]
pub struct HookFolder {
    os: Arc<dyn Os>,
    folder: PathBuf,
    time: Duration,
}

/// Why a hook gave no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// It is not run, because of its type, or because another user could have put it there.
    #[error("refused to run the hook {}: {reason}", path.display())]
    Refused {
        /// The hook.
        path: PathBuf,
        /// What is wrong with it or with a folder that contains it, and how to fix that.
        reason: String,
    },
    /// It could not be started.
    #[error("cannot run {}", path.display())]
    Start {
        /// The hook.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It failed.
    #[error("{} {what}{}", path.display(), with_colon(errors))]
    Ended {
        /// The hook.
        path: PathBuf,
        /// How it ended.
        what: String,
        /// Its standard error.
        errors: String,
    },
    /// Its output is not a reply.
    #[error("{} did not print a valid reply", path.display())]
    Answer {
        /// The hook.
        path: PathBuf,
        /// What is wrong with the output.
        source: BadAnswer,
    },
}

/// What is wrong with a hook's output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// It is not valid JSON.
    #[error("its output is not JSON")]
    NotJson,
    /// It is not a valid reply.
    #[error(transparent)]
    Reply(#[from] BadReply),
}

impl HookFolder {
    /// A folder of hooks.
    pub fn new(os: Arc<dyn Os>, folder: impl Into<PathBuf>, time: Duration) -> Self {
        Self { os, folder: folder.into(), time }
    }

    /// The hook folder from the user's settings, or the default one; `None` if there is neither a setting nor a
    /// settings directory.
    pub fn of(settings: &Settings, environment: &dyn Environment, os: Arc<dyn Os>) -> Option<Self> {
        Some(Self::new(os, settings.hooks_dir(environment)?, settings.hooks_timeout()))
    }

    /// Registers every hook in the folder for its event. Without a folder there are none.
    ///
    /// Files added to the folder later are not seen; changes to registered hooks are.
    pub fn register(&self, handlers: &Handlers) -> Vec<HandlerId> {
        let Ok(names) = self.os.list(&self.folder) else { return Vec::new() };
        let kind_of = |path: &Path| EventKind::of(path.file_name()?.to_str()?);
        let mut hooks: Vec<(EventKind, PathBuf)> =
            names.into_iter().filter_map(|path| Some((kind_of(&path)?, path))).collect();
        hooks.sort();
        hooks
            .into_iter()
            .map(|(kind, path)| {
                let folder = self.clone();
                let name = path.to_string_lossy().into_owned();
                handlers.on(kind, name, move |event, context| Ok(folder.ask(&path, event, context)?))
            })
            .collect()
    }

    /// Runs a hook.
    fn ask(&self, path: &Path, event: &SessionEvent, context: &EventContext) -> Result<Option<Reply>, HookError> {
        let Some(()) = self.check(path)? else { return Ok(None) };
        let limits = Limits { time: self.time, output: MAX_OUTPUT };
        let command = self.command(path, event.kind(), context);
        let ran = sessile_program::run(command, question(event, context), limits, &context.cancel)
            .map_err(|source| HookError::Start { path: path.to_path_buf(), source })?;
        self.answer(path, ran)
    }

    /// Checks that only the user or the administrator can decide what is run; `None` if the hook is gone.
    ///
    /// That covers the hook, the folder of hooks, and its parent folder, which holds the settings.
    fn check(&self, hook: &Path) -> Result<Option<()>, HookError> {
        let refused = |reason: String| Err(HookError::Refused { path: hook.to_path_buf(), reason });
        for path in [self.folder.parent(), Some(self.folder.as_path()), Some(hook)].into_iter().flatten() {
            let Ok(stat) = self.os.stat(path) else { return Ok(None) };
            if let Some(why) = distrusted(&stat) {
                let (what, fix) = (path.display(), why.fix());
                return refused(format!("{what} {}; to fix that, run `{fix} {what}`", why.words()));
            }
        }
        let Ok(stat) = self.os.stat(hook) else { return Ok(None) };
        if stat.kind != FileKind::Regular {
            return refused("it is not a regular file".to_owned());
        }
        if stat.mode & 0o100 == 0 {
            return refused(format!("it is not executable; to fix that, run `chmod u+x {}`", hook.display()));
        }
        Ok(Some(()))
    }

    fn command(&self, path: &Path, kind: EventKind, context: &EventContext) -> Command {
        let mut command = Command::new(path);
        command.env(HOOK_VARIABLE, kind.name()).env("SESSILE_SESSION_ID", context.session_id.as_str());
        match &context.session_file {
            Some(file) => command.env("SESSILE_SESSION_FILE", file),
            None => command.env_remove("SESSILE_SESSION_FILE"),
        };
        let is_directory = |dir: &Path| self.os.stat(dir).is_ok_and(|stat| stat.kind == FileKind::Directory);
        let cwd = Some(context.cwd.as_path()).filter(|cwd| is_directory(cwd)).unwrap_or(&self.folder);
        command.current_dir(cwd);
        command
    }

    /// The reply of a hook that was run.
    fn answer(&self, path: &Path, ran: ProgramResult) -> Result<Option<Reply>, HookError> {
        let what = match ran.ended {
            ProgramEnd::Success => {
                let refused = |source| HookError::Answer { path: path.to_path_buf(), source };
                return answered(&ran.output).map_err(refused);
            }
            // The caller that cancelled needs no report.
            ProgramEnd::Cancelled => return Ok(None),
            ProgramEnd::Failure(status) => format!("failed ({status})"),
            ProgramEnd::TimedOut => format!("took longer than {} s", self.time.as_secs_f64()),
            ProgramEnd::TooMuchOutput => format!("printed more than {MAX_OUTPUT} bytes"),
        };
        Err(HookError::Ended { path: path.to_path_buf(), what, errors: ran.errors })
    }
}

/// Why another user may have changed a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distrust {
    Owner,
    Group,
    Everybody,
}

impl Distrust {
    fn words(self) -> &'static str {
        match self {
            Self::Owner => "belongs to another user",
            Self::Group => "is writable by its group",
            Self::Everybody => "is writable by every user",
        }
    }

    /// The command that fixes it, without the path.
    fn fix(self) -> &'static str {
        match self {
            Self::Owner => "chown \"$USER\"",
            Self::Group | Self::Everybody => "chmod go-w",
        }
    }
}

/// Whether a user other than the owner and the administrator may have written to it.
fn distrusted(stat: &Stat) -> Option<Distrust> {
    // In a sticky folder users can remove only their own files.
    let is_sticky = stat.kind == FileKind::Directory && stat.mode & 0o1000 != 0;
    match () {
        () if !stat.is_own && !stat.is_roots => Some(Distrust::Owner),
        () if is_sticky => None,
        () if stat.mode & 0o002 != 0 => Some(Distrust::Everybody),
        () if stat.mode & 0o020 != 0 => Some(Distrust::Group),
        () => None,
    }
}

/// The input for a hook.
fn question(event: &SessionEvent, context: &EventContext) -> Vec<u8> {
    let mut session = ObjectWriter::new();
    if let Some(file) = &context.session_file {
        session.string("file", &file.to_string_lossy());
    }
    session.string("id", context.session_id.as_str()).string("cwd", &context.cwd.to_string_lossy());
    let mut json = event.to_object();
    let mut bytes = json.raw("session", session.finish().raw()).finish().into_bytes();
    bytes.push(b'\n');
    bytes
}

fn answered(output: &[u8]) -> Result<Option<Reply>, BadAnswer> {
    let output = output.trim_ascii();
    if output.is_empty() {
        return Ok(None);
    }
    let json = Raw::parse(output).ok().ok_or(BadAnswer::NotJson)?;
    Ok(Reply::from_json(json)?)
}

fn with_colon(errors: &str) -> String {
    if errors.is_empty() { String::new() } else { format!(": {errors}") }
}
