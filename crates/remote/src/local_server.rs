//! A private PostgreSQL server on this machine, to try a store without any set-up.
//!
//! It uses the programs of the system's packages and has a data directory of its own. It listens on a free port of the
//! loopback interface, and each login has a random password in a file that only the owner reads.
//!
//! ```no_run
//! # use std::path::Path;
//! use sessile_remote::local_server::{self, Options};
//! use sessile_remote::postgres::PostgresServer;
//!
//! let path = std::env::var_os("PATH").unwrap_or_default();
//! let running = local_server::up(Path::new("/var/lib/sessile/try"), &Options { path, ..Options::default() })?;
//! running.migrate()?;
//! let mut store = PostgresServer::connect(&running.member("ada")?)?;
//! # Ok::<(), local_server::LocalServerError>(())
//! ```

mod account;
mod directory;
mod failure;
mod passwords;
mod postmaster;
mod programs;
mod running;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use account::Account;
pub use account::reachable_directory;
use directory::Directory;
pub use failure::LocalServerError;
use programs::Programs;
pub use running::Running;

/// The database of the store.
const DATABASE: &str = "sessile";

/// The superuser.
const ADMIN: &str = "sessile_admin";

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where to look for programs first: the variable `PATH`.
    pub path: OsString,
    /// Further settings of the server, such as `("fsync", "off")` in tests.
    pub settings: Vec<(String, String)>,
}

/// What a directory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No server was ever started there.
    Absent,
    /// There is a server, and it does not run.
    Stopped,
    /// The server runs.
    Running {
        /// Its main process.
        pid: u32,
        /// Its port on 127.0.0.1.
        port: u16,
    },
}

/// Starts the server of a directory, which is created with its first start. If it runs, it stays as it is.
///
/// As root, the server runs as the user `postgres`, because PostgreSQL refuses root.
pub fn up(dir: &Path, options: &Options) -> Result<Running, LocalServerError> {
    let programs = Programs::find(&options.path)?;
    let account = Account::for_server()?;
    let directory = Directory::prepare(dir, account)?;
    let _lock = directory.lock()?;
    if !directory.is_initialised() {
        directory.initialise(&programs)?;
    }
    if directory.running().is_none() {
        directory.start(&programs, &options.settings)?;
    }
    let Some((pid, port)) = directory.running() else {
        return Err(directory.failed_to_start());
    };
    let running = Running::new(directory.passwords_file(), pid, port);
    running.create_database()?;
    Ok(running)
}

/// Stops the server of a directory and keeps its data. Returns false if it did not run.
pub fn down(dir: &Path, path: &OsStr) -> Result<bool, LocalServerError> {
    let Some(directory) = Directory::existing(dir)? else { return Ok(false) };
    let _lock = directory.lock()?;
    if directory.running().is_none() {
        return Ok(false);
    }
    directory.stop(&Programs::find(path)?)?;
    Ok(true)
}

/// Returns what a directory has.
pub fn status(dir: &Path) -> Result<Status, LocalServerError> {
    let Some(directory) = Directory::existing(dir)? else { return Ok(Status::Absent) };
    Ok(directory.running().map_or(Status::Stopped, |(pid, port)| Status::Running { pid, port }))
}

/// Returns the running server of a directory, or `None`.
pub fn connect(dir: &Path) -> Result<Option<Running>, LocalServerError> {
    let Some(directory) = Directory::existing(dir)? else { return Ok(None) };
    Ok(directory.running().map(|(pid, port)| Running::new(directory.passwords_file(), pid, port)))
}
