//! `sessile rpc`

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use clap::Args;
use sessile::SessionId;
use sessile::compaction::CompactionSettings;
use sessile::os::RealOs;
use sessile::settings::SettingsError;
use sessile::threads;
use sessile_rpc::{Engine, Options, Start, answer};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::NoSignals;
use crate::screen::Screen;

/// Serve sessions to another program as JSON lines on standard input and output
///
/// Reads one request per line and writes one answer per line, as in pi's RPC mode: pi's session commands get the same
/// answers, and there are many more. docs/rpc.md lists all of them. pi's flags select the session; without a flag, it
/// is a new session. Ends when standard input ends. `sessile --mode rpc` is the same.
///
/// With --listen, serves any number of clients on a Unix socket instead. They share the open sessions.
#[derive(Debug, Args)]
pub(crate) struct RpcArgs {
    /// Use this session: a path, which need not exist yet, or any other way to name a session
    #[arg(long, value_name = "SESSION", group = "which")]
    session: Option<PathBuf>,

    /// Use the most recently written session of this directory, or a new one
    #[arg(short = 'c', long = "continue", group = "which")]
    newest: bool,

    /// Use a copy of this session with all its branches
    #[arg(long, value_name = "SESSION", group = "which")]
    fork: Option<PathBuf>,

    /// Use the session of this directory with this id, or a new one with this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "newest", "no_session"])]
    session_id: Option<String>,

    /// Name the session
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    name: Option<String>,

    /// Keep the session in memory
    #[arg(long, group = "which")]
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

    /// The model for sessions that do not name one: its id, or PROVIDER/ID
    #[arg(long, value_name = "ID")]
    model: Option<String>,

    /// Accepted and ignored: Sessile uses the network only if a configured summarizer does
    #[arg(long, hide = true)]
    offline: bool,
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
    _err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let engine = Engine::start(options(env, args)?, &start(env, args)?, args.name.as_deref())?;
    let (end_sender, end_receiver) = channel();
    watch_signals(end_sender.clone())?;
    if let Some(path) = &args.listen {
        return listen(&engine, &env.directory(None).join(path), &end_receiver);
    }
    let serving = Arc::clone(&engine);
    let serve = move || {
        serving.serve(io::stdin(), crate::stream::plain_stdout());
        // The send fails only if a signal came first.
        drop(end_sender.send(Ended::Input));
    };
    threads::spawn("client", serve).map_err(Failure::NoThread)?;
    Ok(finish(&engine, &end_receiver))
}

/// Waits for the end, then stops all running work.
fn finish(engine: &Engine, end_receiver: &Receiver<Ended>) -> Exit {
    let exit = match end_receiver.recv() {
        Ok(Ended::Signal(signal)) => Exit::Signalled(signal),
        Ok(Ended::Input) | Err(_) => Exit::Done,
    };
    engine.stop();
    exit
}

fn watch_signals(end_sender: Sender<Ended>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT]).map_err(NoSignals)?;
    let watch = move || {
        for signal in signals.forever() {
            drop(end_sender.send(Ended::Signal(signal)));
        }
    };
    threads::spawn("signals", watch).map_err(Failure::NoThread)?;
    Ok(())
}

#[cfg(unix)]
fn listen(engine: &Arc<Engine>, path: &Path, end_receiver: &Receiver<Ended>) -> Result<Exit, Failure> {
    let socket =
        sessile_rpc::Socket::bind(path).map_err(|source| Failure::NoSocket { path: path.to_path_buf(), source })?;
    // The parent process need not poll for the socket.
    let ready = answer::listening(path);
    let mut out = crate::stream::plain_stdout();
    writeln!(out, "{ready}").and_then(|()| out.flush())?;
    socket.serve(engine).map_err(Failure::NoThread)?;
    let exit = finish(engine, end_receiver);
    socket.close();
    Ok(exit)
}

#[cfg(not(unix))]
fn listen(_engine: &Arc<Engine>, _path: &Path, _ended: &Receiver<Ended>) -> Result<Exit, Failure> {
    let kind = clap::error::ErrorKind::InvalidValue;
    Err(Failure::misuse(kind, "--listen needs Unix sockets, which this system does not have"))
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
    options.model = args.model.as_ref().and_then(|model| match (&args.provider, model.split_once('/')) {
        (Some(provider), _) => Some((provider.clone(), model.clone())),
        (None, Some((provider, id))) => Some((provider.to_owned(), id.to_owned())),
        (None, None) => None,
    });
    Ok(options)
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

/// Returns the session that the flags select.
fn start(env: &CommandEnvironment, args: &RpcArgs) -> Result<Start, Failure> {
    let id = args.session_id.as_ref().map(SessionId::from);
    if let Some(session) = &args.session {
        return Ok(Start::Open(if sessile::reference::is_path(session) {
            env.directory(Some(session))
        } else {
            env.find_session(session)?
        }));
    }
    if let Some(source) = &args.fork {
        return Ok(Start::Fork { source: env.find_session(source)?, id });
    }
    Ok(match id {
        Some(id) => Start::WithId(id),
        None if args.newest => Start::Continue,
        None if args.no_session => Start::Memory,
        None => Start::New,
    })
}
