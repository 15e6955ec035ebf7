//! Connections to remotes.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::error::ErrorKind;
use sessile::SessionError;
use sessile::os::{Os, RealOs};
use sessile::sync::remote::blobs::{BlobError, S3Address, S3Keys, S3Storage};
use sessile::sync::remote::postgres::{Admin, Config, PostgresServer};
use sessile::sync::remote::{RemoteError, Secret, Server};
use sessile::sync::{ConfiguredRemote, SyncOptions, read_password, read_private_file};
use sessile::team::{MirrorScope, TeamConnection, TeamFollower};
use sessile::threads;

use crate::environment::{CommandEnvironment, warn};
use crate::failure::Failure;
use crate::screen::Screen;

/// How often a process asks for new lines of the sessions of other members that it has opened.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

/// How long it waits after a failure.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// How long a command with `--remote` waits for the connection and for an answer, before it goes on with what is known.
const TEAM_LIMITS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];

/// The variable with the password.
const PASSWORD_VARIABLE: &str = "SESSILE_REMOTE_PASSWORD";

/// The variables with the keys of a storage for large lines.
const ACCESS_KEY_VARIABLE: &str = "SESSILE_S3_ACCESS_KEY";
const SECRET_KEY_VARIABLE: &str = "SESSILE_S3_SECRET_KEY";

/// Connects to a remote as its member.
pub(crate) fn connect(env: &CommandEnvironment, remote: &ConfiguredRemote) -> Result<PostgresServer, Failure> {
    Connector::new(env, remote)?.connect().map_err(failure)
}

/// Connects to a remote as its member, again and again. A password is asked for once.
pub(crate) struct Connector(Config);

impl Connector {
    pub(crate) fn new(env: &CommandEnvironment, remote: &ConfiguredRemote) -> Result<Self, Failure> {
        let storage = storage(env, remote)?;
        let config = config(env, remote)?;
        Ok(Self(match storage {
            Some(storage) => config.with_blobs(Arc::new(storage)),
            None => config,
        }))
    }

    /// Gives up earlier.
    fn hasty(self) -> Self {
        let [connect, answer] = TEAM_LIMITS;
        Self(self.0.with_connect_limit(connect).with_answer_limit(answer))
    }

    pub(crate) fn connect(&self) -> Result<PostgresServer, RemoteError> {
        PostgresServer::connect(&self.0)
    }
}

/// Adds the sessions of the other members of a remote. If it is down, only those that are known already.
pub(crate) fn join_team(env: &mut CommandEnvironment, err: &mut Screen<'_>) -> Result<(), Failure> {
    let remote = ConfiguredRemote::find(&env.settings, env.remote())
        .map_err(|error| Failure::misuse(ErrorKind::MissingRequiredArgument, error.to_string()))?;
    let connector = Connector::new(env, &remote)?.hasty();
    let options = SyncOptions { secrets: Some(env.sessions.secret_options(&env.settings)), ..SyncOptions::default() };
    if let Some(store) = env.sessions.noted_store(&remote.name) {
        let sessions = env.sessions.clone();
        drop(threads::spawn("team", move || sessions.prepare_team(&store)));
    }
    let mut replaced = None;
    let connected = connector.connect().map_err(SessionError::from).and_then(|mut server| {
        let store = env.sessions.refresh_team(&mut server)?;
        env.sessions.note_store(&remote.name, &store)?;
        // Nothing that a colleague has removed is listed, searched or shown.
        let mut failed = None;
        env.sessions.mirror_team(&mut server, &store, MirrorScope::Replaced, &options, &mut |mirrored| {
            failed = failed.take().or(mirrored.result.err().map(|error| (mirrored.path, error)));
        })?;
        replaced = failed;
        Ok((Box::new(server) as Box<dyn Server>, store))
    });
    let (server, store) = match connected {
        Ok((server, store)) => (Some(server), store),
        Err(error) => {
            let Some(store) = env.sessions.noted_store(&remote.name) else { return Err(error.into()) };
            warn(err, &format!("{error}; using what is known of {}", remote.name))?;
            (None, store)
        }
    };
    if let Some((path, error)) = replaced {
        warn(err, &format!("{}: {error}", env.short(&path.to_string_lossy())))?;
    }
    let connect = move || Ok(Box::new(connector.connect()?) as Box<dyn Server>);
    let connection = TeamConnection::new(server, options, connect);
    let (sessions, follower) = env.sessions.clone().with_team(&store, connection)?;
    env.sessions = sessions;
    // For as long as this process runs. Most commands end before the first round.
    let (name, troubles) = (remote.name, Arc::clone(&env.team_troubles));
    threads::spawn("follow", move || follow(&follower, &name, &troubles)).map_err(Failure::NoThread)?;
    Ok(())
}

/// Keeps the sessions of other members up to date, and notes what goes wrong, once.
fn follow(follower: &TeamFollower, remote: &str, troubles: &Mutex<Vec<String>>) {
    let mut last = None;
    loop {
        std::thread::sleep(FOLLOW_INTERVAL);
        let trouble = follower.follow().err().map(|error| format!("{remote}: {error}"));
        if trouble != last {
            troubles.lock().unwrap_or_else(PoisonError::into_inner).extend(trouble.clone());
        }
        if trouble.is_some() {
            std::thread::sleep(PAUSE_AFTER_FAILURE);
        }
        last = trouble;
    }
}

/// The storage of a remote for large lines, if it has one.
pub(crate) fn storage(env: &CommandEnvironment, remote: &ConfiguredRemote) -> Result<Option<S3Storage>, Failure> {
    let Some(url) = &remote.blobs else { return Ok(None) };
    let address = S3Address::from_url(url).map_err(|error| failure(error.into()))?;
    let place = address.url();
    let keys =
        keys(env, remote).map_err(|source| failure(RemoteError::from(BlobError::KeysUnavailable { place, source })))?;
    let storage = S3Storage::new(address, keys, sessile::time::now);
    Ok(Some(match &remote.blobs_region {
        Some(region) => storage.in_region(region),
        None => storage,
    }))
}

fn keys(env: &CommandEnvironment, remote: &ConfiguredRemote) -> io::Result<S3Keys> {
    let variable = |name: &str| env.own_environment().variable(name);
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    if let (Some(access), Some(secret)) = (variable(ACCESS_KEY_VARIABLE), variable(SECRET_KEY_VARIABLE)) {
        let keys = S3Keys::from_text(&format!("{access}\n{secret}"));
        return keys.ok_or_else(|| invalid(format!("{ACCESS_KEY_VARIABLE} or {SECRET_KEY_VARIABLE} is not a key")));
    }
    let Some(file) = remote.blobs_key_file.as_ref().map(|file| env.directory(Some(file))) else {
        let what = format!("set `blobs_key_file`, or {ACCESS_KEY_VARIABLE} and {SECRET_KEY_VARIABLE}");
        return Err(invalid(what));
    };
    let keys = S3Keys::from_text(&read_private_file(&RealOs, &file)?);
    keys.ok_or_else(|| {
        invalid(format!("{}: it must have two lines: the access key and the secret key", file.display()))
    })
}

/// Connects to a remote as its administrator.
pub(crate) fn connect_admin(env: &CommandEnvironment, remote: &ConfiguredRemote) -> Result<Admin, Failure> {
    Admin::connect(&config(env, remote)?).map_err(failure)
}

pub(crate) fn failure(error: RemoteError) -> Failure {
    SessionError::from(error).into()
}

fn config(env: &CommandEnvironment, remote: &ConfiguredRemote) -> Result<Config, Failure> {
    let mut config = Config::from_url(&remote.url).map_err(failure)?;
    if let Some(ca_file) = &remote.ca_file {
        config = config.with_ca_file(&env.directory(Some(ca_file)));
    }
    if let Some(name) = device_name() {
        config = config.on_device(&name);
    }
    if let Some(password) = env.own_environment().variable(PASSWORD_VARIABLE) {
        return Ok(config.with_password(move || Ok(Secret::new(password.clone()))));
    }
    if let Some(file) = remote.password_file.as_ref().map(|file| env.directory(Some(file))) {
        let user = config.user().to_owned();
        return Ok(config.with_password(move || read_password(&RealOs, &file, &user).map(Secret::new)));
    }
    let question = format!("Password of {} at {}: ", config.user(), config.remote());
    match ask_password(&question) {
        Ok(Some(password)) => Ok(config.with_password(move || Ok(password.clone()))),
        // Without a terminal. Some servers want no password.
        _ => Ok(config),
    }
}

/// The name of this machine.
fn device_name() -> Option<String> {
    Some(RealOs.whoami().1).filter(|name| !name.is_empty())
}

/// Asks for a password on the terminal without showing it. `None` without a terminal.
#[cfg(unix)]
fn ask_password(question: &str) -> io::Result<Option<Secret>> {
    use std::fs::File;
    use std::io::{BufRead, Write};

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let Ok(mut terminal) = File::options().read(true).write(true).open("/dev/tty") else { return Ok(None) };
    let before = tcgetattr(&terminal)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    terminal.write_all(question.as_bytes())?;
    tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = io::BufReader::new(&terminal).read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    terminal.write_all(b"\n")?;
    read?;
    Ok(Some(Secret::new(line.trim_end_matches(['\r', '\n']))))
}

/// Fails: a password can be hidden only on the terminals of Unix.
#[cfg(not(unix))]
fn ask_password(_question: &str) -> io::Result<Option<Secret>> {
    Err(io::ErrorKind::Unsupported.into())
}
