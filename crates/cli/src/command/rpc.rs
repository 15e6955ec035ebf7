//! `sessile rpc`

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use clap::Args;
use clap::error::ErrorKind;
use sessile::SessionId;
use sessile::compaction::CompactionSettings;
use sessile::os::RealOs;
use sessile::settings::{SettingsError, pi_default_model, pi_model};
use sessile::threads;
use sessile_rpc::{Engine, Options, Start, THINKING_LEVELS};

use crate::end_signal::on_end_signal;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::pi_flags;
use crate::screen::Screen;

/// Serve sessions to another program as JSON lines on standard input and output
///
/// Reads one request per line and writes one answer per line, as in pi's RPC mode: pi's session commands get the same
/// answers, and there are many more. docs/rpc.md lists all of them. pi's flags select the session; without a flag, it
/// is a new session. Ends when standard input ends. `sessile --mode rpc` is the same.
///
/// With --listen, serves any number of clients on a Unix socket instead. They share the open sessions.
#[derive(Debug, Args)]
#[command(args_override_self = true, after_long_help = pi_flags::ignored())]
pub(crate) struct RpcArgs {
    /// Use this session: a path, which need not exist yet, or any other way to name a session
    #[arg(long, value_name = "SESSION")]
    session: Option<PathBuf>,

    /// Use the most recently written session of this directory, or a new one
    #[arg(short = 'c', long = "continue")]
    newest: bool,

    /// Use a copy of this session with all its branches
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["session", "newest", "no_session"])]
    fork: Option<PathBuf>,

    /// Use the session of this directory with this id, or a new one with this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "newest"])]
    session_id: Option<String>,

    /// Name the session
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    name: Option<String>,

    /// Keep the session in memory, whatever other flags select
    #[arg(long)]
    no_session: bool,

    /// Accept clients on a Unix socket at PATH, which only you can access
    #[arg(long, value_name = "PATH")]
    listen: Option<PathBuf>,

    /// The size of the model's context window in tokens, to report how full it is
    #[arg(long, value_name = "N")]
    context_window: Option<u64>,

    /// Keep this many of the newest tokens in compactions
    #[arg(long, value_name = "N")]
    keep: Option<u64>,

    /// The provider of --model
    #[arg(long, value_name = "NAME", requires = "model")]
    provider: Option<String>,

    /// The model for sessions that do not name one: its id, or PROVIDER/ID, with :LEVEL for --thinking
    #[arg(long, value_name = "ID")]
    model: Option<String>,

    /// The thinking level for sessions that do not name one: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL")]
    thinking: Option<String>,
}

/// Why serving ended.
enum Ended {
    /// The client closed its input.
    Input,
    /// A signal arrived.
    Signal(i32),
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &RpcArgs,
    _out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let name = args.name.as_deref().map(str::trim);
    if name.is_some_and(str::is_empty) {
        return Err(Failure::misuse(ErrorKind::InvalidValue, "--name requires a non-empty value"));
    }
    if let Some(level) = args.thinking.as_deref().filter(|level| !THINKING_LEVELS.contains(level)) {
        let levels = THINKING_LEVELS.join(", ");
        warn(err, &format!("Invalid thinking level {level:?}. Valid values: {levels}"))?;
    }
    let engine = Engine::start(options(env, args)?, &start(env, args)?, name)?;
    let (end_sender, end_receiver) = channel();
    let ended = end_sender.clone();
    on_end_signal(move |signal| drop(ended.send(Ended::Signal(signal))))?;
    if let Some(path) = &args.listen {
        return listen(&engine, &env.directory(None).join(path), || wait_for_end(env, err, &end_receiver));
    }
    let serving = Arc::clone(&engine);
    let serve = move || {
        serving.serve(io::stdin(), crate::stream::plain_stdout());
        // The send fails only if a signal came first.
        drop(end_sender.send(Ended::Input));
    };
    threads::spawn("client", serve).map_err(Failure::NoThread)?;
    Ok(finish(&engine, &wait_for_end(env, err, &end_receiver)))
}

/// Waits for the end, and warns about troubles with the sessions of other members until then.
fn wait_for_end(env: &CommandEnvironment, err: &mut Screen<'_>, end_receiver: &Receiver<Ended>) -> Ended {
    loop {
        // A warning that cannot be printed is not an error.
        drop(env.report_team_troubles(err));
        match end_receiver.recv_timeout(env.trouble_interval()) {
            Ok(ended) => return ended,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ended::Input,
        }
    }
}

/// Stops all running work.
fn finish(engine: &Engine, ended: &Ended) -> Exit {
    let exit = match ended {
        Ended::Signal(signal) => Exit::Signalled(*signal),
        Ended::Input => Exit::Done,
    };
    engine.stop();
    exit
}

#[cfg(unix)]
fn listen(engine: &Arc<Engine>, path: &Path, wait: impl FnOnce() -> Ended) -> Result<Exit, Failure> {
    use std::io::Write;

    let socket =
        sessile_rpc::Socket::bind(path).map_err(|source| Failure::NoSocket { path: path.to_path_buf(), source })?;
    // The parent process need not poll for the socket.
    let ready = sessile_rpc::answer::listening(path);
    let mut out = crate::stream::plain_stdout();
    writeln!(out, "{ready}").and_then(|()| out.flush())?;
    socket.serve(engine).map_err(Failure::NoThread)?;
    let exit = finish(engine, &wait());
    socket.close();
    Ok(exit)
}

#[cfg(not(unix))]
fn listen(_engine: &Arc<Engine>, path: &Path, _wait: impl FnOnce() -> Ended) -> Result<Exit, Failure> {
    let source =
        io::Error::new(io::ErrorKind::Unsupported, "--listen needs a Unix socket, which Sessile has only on Unix");
    Err(Failure::NoSocket { path: path.to_path_buf(), source })
}

fn options(env: &CommandEnvironment, args: &RpcArgs) -> Result<Options, Failure> {
    let mut options = Options::new(env.sessions.clone());
    options.cwd = env.cwd();
    options.context_window = args.context_window;
    options.branch_summary = env.settings.branch_summary(env.own_environment(), &RealOs)?;
    let compaction = compaction(env, args.keep);
    options.compaction = compaction(None)?;
    options.compaction_for_model = Some(Arc::new(move |model| compaction(Some(model))));
    options.summarizer = Arc::from(env.summarizer(None)?);
    options.auto_titler = crate::titling::auto_titler(env)?;
    let (model, level) = model(args.provider.as_deref(), args.model.as_deref());
    options.model = model.or_else(|| pi_default_model(env.own_environment(), &RealOs));
    let asked = args.thinking.as_deref().filter(|level| THINKING_LEVELS.contains(level));
    options.thinking_level = asked.map(str::to_owned).or(level);
    let environment = env.shared_environment();
    let known = move |provider: &str, id: &str| pi_model(environment.as_ref(), &RealOs, provider, id);
    options.known_model = Some(Arc::new(known));
    Ok(options)
}

/// Returns the model and the thinking level that `--model` names. Without a provider, the model is unknown.
fn model(provider: Option<&str>, model: Option<&str>) -> (Option<(String, String)>, Option<String>) {
    let Some(model) = model else { return (None, None) };
    let (model, level) = match model.rsplit_once(':') {
        Some((model, level)) if THINKING_LEVELS.contains(&level) => (model, Some(level.to_owned())),
        _ => (model, None),
    };
    let named = provider.map(|provider| (provider, model)).or_else(|| model.split_once('/'));
    (named.map(|(provider, id)| (provider.to_owned(), id.to_owned())), level)
}

/// Returns the compaction settings for a model, or for none, with the flag's value in place of the setting.
fn compaction(
    env: &CommandEnvironment,
    keep: Option<u64>,
) -> impl Fn(Option<&str>) -> Result<CompactionSettings, SettingsError> + use<> {
    let (settings, environment) = (env.settings.clone(), env.shared_environment());
    move |model| {
        let set = settings.compaction(environment.as_ref(), &RealOs, model)?;
        Ok(CompactionSettings { keep_recent_tokens: keep.unwrap_or(set.keep_recent_tokens), ..set })
    }
}

/// Returns the session that the flags select. If several do, the first of these wins, as in pi.
fn start(env: &CommandEnvironment, args: &RpcArgs) -> Result<Start, Failure> {
    let id = args.session_id.as_ref().map(SessionId::from);
    if args.no_session {
        return Ok(id.map_or(Start::Memory, Start::MemoryWithId));
    }
    if let Some(source) = &args.fork {
        return Ok(Start::Fork { source: env.find_session(source)?, id });
    }
    if let Some(session) = &args.session {
        return Ok(Start::Open(if sessile::reference::is_path(session) {
            env.directory(Some(session))
        } else {
            env.find_session(session)?
        }));
    }
    Ok(match id {
        Some(id) => Start::WithId(id),
        None if args.newest => Start::Continue,
        None => Start::New,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_may_name_its_provider_and_a_thinking_level() {
        let of = |provider, name| {
            let (model, level) = model(provider, name);
            (model.map(|(provider, id)| format!("{provider} {id}")).unwrap_or_default(), level.unwrap_or_default())
        };
        let expect = |model: &str, level: &str| (model.to_owned(), level.to_owned());
        assert_eq!(of(None, None), expect("", ""));
        assert_eq!(of(None, Some("sonnet:high")), expect("", "high"));
        assert_eq!(of(None, Some("acme/one")), expect("acme one", ""));
        assert_eq!(of(Some("acme"), Some("one/two:max")), expect("acme one/two", "max"));
        assert_eq!(of(None, Some("ollama/qwen:7b")), expect("ollama qwen:7b", ""));
    }
}
