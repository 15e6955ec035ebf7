//! `sessile remote`

mod audit;
mod members;
mod projects;
mod status;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Subcommand, ValueHint};
use sessile::SessionError;
use sessile::date::Timestamp;
use sessile::os::RealOs;
use sessile::sync::ConfiguredRemote;
use sessile::sync::remote::blobs::Objects;
#[cfg(unix)]
use sessile::sync::remote::local_server::{self, Options, Status};
use sessile::sync::remote::postgres::Config;
use sessile::sync::remote::{RemoteError, ServerTime};
use sessile_rpc::answer;

use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::remote::{connect_admin, failure, storage};
use crate::screen::{Line, NAMED, Screen};

use audit::AuditArgs;
use members::{GrantArgs, MembersArgs, RevokeArgs};
use projects::ProjectsArgs;
pub(super) use projects::print_shares;
use status::StatusArgs;

/// Manage remotes: stores on servers that several machines share
///
/// A remote is a PostgreSQL database, version 15 or newer. `sessile remote up` starts one on this machine to try it.
/// Passwords are never part of an address: they come from the variable `SESSILE_REMOTE_PASSWORD`, from a file, or
/// from the terminal. The keys of a bucket for large lines come from a file, or from `SESSILE_S3_ACCESS_KEY` and
/// `SESSILE_S3_SECRET_KEY`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_long_help = "Examples:
  $ sessile remote
  $ sessile remote add work postgres://ada@db.example/sessile --password-file ~/.sessile-password
  $ sessile remote add team postgres://ada@db.example/team --blobs https://s3.example/team --blobs-key-file ~/.s3-keys
  $ sessile remote up
  $ sessile remote status
  $ sessile remote members")]
pub(crate) struct RemoteArgs {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    format: ListFormat,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a remote to your settings, after a look at the server
    Add {
        /// A name for the remote
        #[arg(value_name = "NAME")]
        name: String,

        /// The address, without a password: `postgres://USER@HOST/DATABASE`
        #[arg(value_name = "URL")]
        url: String,

        /// The file with the password, or a .pgpass
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        password_file: Option<PathBuf>,

        /// The certificate authorities to trust, in a PEM file
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        ca_file: Option<PathBuf>,

        /// A bucket for lines over 256 KiB, in a storage that speaks the protocol of S3: `https://HOST/BUCKET/PREFIX`
        #[arg(long, value_name = "URL")]
        blobs: Option<String>,

        /// The region of the bucket, if it is not us-east-1
        #[arg(long, value_name = "REGION", requires = "blobs")]
        blobs_region: Option<String>,

        /// The file with two lines: the access key and the secret key of the bucket
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "blobs")]
        blobs_key_file: Option<PathBuf>,
    },
    /// Remove a remote from your settings; the server and your sessions stay as they are
    Remove {
        /// The remote
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Show what a remote is, who you are there, and whether your sessions are equal to it
    ///
    /// Compares the hashes over all lines of the sessions that were pushed or pulled before, without relying on what is
    /// remembered. Exits with 1 if a session differs.
    Status(StatusArgs),
    /// Create the store in a database, or bring it to the version of this program; for administrators
    Migrate {
        /// The remote, if there are several
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Show the members of a remote, and how many of their sessions you see
    Members(MembersArgs),
    /// Make a user a member, or give a member access to a project
    ///
    /// Without --project, this is for administrators: it creates the login of the user if there is none, with a password
    /// that goes to a file that only you can read, or comes from it. Give the file to the user over a safe channel. With
    /// --project, it is for the maker of the project and for administrators.
    Grant(GrantArgs),
    /// End a membership, or take back the access to a project
    ///
    /// Ends a membership at once, for open connections too, with all that was shared with the member. Its sessions stay
    /// on the remote, and what it has already read stays with it.
    ///
    /// Exits with 1 if there is no such member, or it has no access to the project.
    Revoke(RevokeArgs),
    /// Show the projects that you have access to, or who has access to one
    ///
    /// Administrators see all projects, but not their sessions. Exits with 1 if there are none.
    Projects(ProjectsArgs),
    /// Show who gave and took which rights, and removed what
    ///
    /// Shows your own acts, or those of all members if you administer the store, the last first. Exits with 1 if there
    /// are none.
    Audit(AuditArgs),
    /// Start a private PostgreSQL on this machine with a store, and add it as a remote
    Up {
        /// A name for the remote
        #[arg(value_name = "NAME", default_value = "local")]
        name: String,
    },
    /// Stop the private PostgreSQL; its data stay
    Down,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &RemoteArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match &args.action {
        None => list(env, args, out),
        Some(Action::Add { name, url, password_file, ca_file, blobs, blobs_region, blobs_key_file }) => {
            let path = |file: &Option<PathBuf>| file.as_ref().map(|file| env.directory(Some(file)));
            let remote = ConfiguredRemote {
                name: name.clone(),
                url: url.clone(),
                password_file: path(password_file),
                ca_file: path(ca_file),
                blobs: blobs.clone(),
                blobs_region: blobs_region.clone(),
                blobs_key_file: path(blobs_key_file),
            };
            add(env, &remote, out, err)
        }
        Some(Action::Remove { name }) => {
            find(env, Some(name))?.remove(env.own_environment(), &RealOs)?;
            Ok(Exit::Done)
        }
        Some(Action::Status(args)) => status::status(env, args, out, err),
        Some(Action::Migrate { name }) => {
            let migrated = connect_admin(env, &find(env, name.as_deref())?)?.migrate().map_err(failure)?;
            out.print_whole(&Line::new().text(&format!("the store has version {}", migrated.to)))?;
            Ok(Exit::Done)
        }
        Some(Action::Members(args)) => members::members(env, args, out),
        Some(Action::Grant(args)) => members::grant(env, args, out),
        Some(Action::Revoke(args)) => members::revoke(env, args, out),
        Some(Action::Projects(args)) => projects::projects(env, args, out),
        Some(Action::Audit(args)) => audit::audit(env, args, out),
        Some(Action::Up { name }) => up(env, name, out, err),
        Some(Action::Down) => down(env),
    }
}

fn find(env: &CommandEnvironment, name: Option<&str>) -> Result<ConfiguredRemote, Failure> {
    ConfiguredRemote::find(&env.settings, name)
        .map_err(|error| Failure::misuse(ErrorKind::MissingRequiredArgument, error.to_string()))
}

fn list(env: &CommandEnvironment, args: &RemoteArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let remotes = ConfiguredRemote::all(&env.settings);
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        remotes.iter().try_for_each(|remote| list.push(answer::configured_remote(remote).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    for remote in &remotes {
        out.print_whole(&Line::new().styled(NAMED, &remote.name).text(" ").text(&remote.url))?;
    }
    Ok(if remotes.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// Adds a remote whose address is valid. The store may be created later.
fn add(
    env: &CommandEnvironment,
    remote: &ConfiguredRemote,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    ConfiguredRemote::check_name(&remote.name)
        .map_err(|error| Failure::misuse(ErrorKind::ValueValidation, error.to_string()))?;
    if find(env, Some(&remote.name)).is_ok() {
        let message = format!("there is a remote {:?} already; remove it first", remote.name);
        return Err(Failure::misuse(ErrorKind::ValueValidation, message));
    }
    Config::from_url(&remote.url).map_err(failure)?;
    if let Some(storage) = storage(env, remote)? {
        storage.check().map_err(|error| failure(error.into()))?;
    }
    let exit = match status::show(env, remote, out) {
        Err(Failure::Session(SessionError::Remote(error @ RemoteError::SchemaMissing { .. }))) => {
            warn(err, &error.to_string())?;
            Exit::Done
        }
        other => other?,
    };
    remote.save(env.own_environment(), &RealOs)?;
    Ok(exit)
}

/// Starts the server of this machine, and adds it as a remote.
#[cfg(unix)]
fn up(env: &CommandEnvironment, name: &str, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<Exit, Failure> {
    ConfiguredRemote::check_name(name)
        .map_err(|error| Failure::misuse(ErrorKind::ValueValidation, error.to_string()))?;
    let directory = server_directory(env)?;
    if local_server::status(&directory).map_err(Failure::LocalServer)? == Status::Absent {
        err.print_whole(&Line::new().text(&format!("creating a server in {}", directory.display())))?;
    }
    let path = env.own_environment().variable("PATH").unwrap_or_default().into();
    let running =
        local_server::up(&directory, &Options { path, ..Options::default() }).map_err(Failure::LocalServer)?;
    running.migrate().map_err(Failure::LocalServer)?;
    let member = "me";
    drop(running.administrator(member).map_err(Failure::LocalServer)?);
    let remote = ConfiguredRemote {
        name: name.to_owned(),
        url: running.url(member),
        password_file: Some(running.password_file().to_path_buf()),
        ..ConfiguredRemote::default()
    };
    remote.save(env.own_environment(), &RealOs)?;
    status::show(env, &remote, out)
}

/// Stops the server of this machine.
#[cfg(unix)]
fn down(env: &CommandEnvironment) -> Result<Exit, Failure> {
    let path = env.own_environment().variable("PATH").unwrap_or_default();
    let was_running = local_server::down(&server_directory(env)?, path.as_ref()).map_err(Failure::LocalServer)?;
    Ok(if was_running { Exit::Done } else { Exit::Nothing })
}

#[cfg(not(unix))]
fn up(_: &CommandEnvironment, _: &str, _: &mut Screen<'_>, _: &mut Screen<'_>) -> Result<Exit, Failure> {
    Err(no_local_server())
}

#[cfg(not(unix))]
fn down(_: &CommandEnvironment) -> Result<Exit, Failure> {
    Err(no_local_server())
}

#[cfg(not(unix))]
fn no_local_server() -> Failure {
    let message = "Sessile starts PostgreSQL only on Unix; add a server that runs with `sessile remote add`";
    Failure::misuse(ErrorKind::InvalidSubcommand, message)
}

#[cfg(unix)]
fn server_directory(env: &CommandEnvironment) -> Result<PathBuf, Failure> {
    let state = env.own_environment().state_dir().ok_or(sessile::SessionError::NoStateDirectory)?;
    Ok(local_server::reachable_directory(&state.join("server")))
}

/// Prints a line for each name.
fn print_named<'n>(rows: impl Iterator<Item = (&'n str, String)>, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let mut exit = Exit::Nothing;
    for (name, words) in rows {
        out.print_whole(&Line::new().styled(NAMED, name).pad_after(12, 2).text(&words))?;
        exit = Exit::Done;
    }
    Ok(exit)
}

/// A time of the server on the calendar of the user.
fn local(time: ServerTime) -> Timestamp {
    Timestamp::from_ms(time.0.div_euclid(1000))
}
