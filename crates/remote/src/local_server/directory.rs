//! The directory of a local server: data, settings, passwords and log.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::foreign::foreign;
use crate::local_server::ADMIN;
use crate::local_server::account::Account;
use crate::local_server::failure::LocalServerError;
use crate::local_server::passwords::Passwords;
use crate::local_server::postmaster;
use crate::local_server::programs::Programs;

/// How long the server may take to start, which includes the recovery after a crash, or to stop: in seconds, for `pg_ctl`.
const LIMIT: &str = "120";

/// Settings of every local server. The port comes first.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
password_encryption = 'scram-sha-256'
logging_collector = off
log_min_messages = warning
";

/// The directory of a server, and the user that the server runs as.
#[derive(Debug)]
pub(super) struct Directory {
    root: PathBuf,
    account: Account,
}

impl Directory {
    /// Creates the directory unless it is there.
    pub(super) fn prepare(root: &Path, account: Account) -> Result<Self, LocalServerError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        if let Some(parent) = root.parent() {
            builder.create(parent).map_err(LocalServerError::io("create", parent))?;
        }
        account.can_reach(&fs::canonicalize(root.parent().unwrap_or(root)).unwrap_or_default().join("x"))?;
        builder.mode(0o700).create(root).map_err(LocalServerError::io("create", root))?;
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(root, private).map_err(LocalServerError::io("protect", root))?;
        account.own(root)?;
        Self::canonical(root, account)
    }

    /// Returns the directory if it has a server.
    pub(super) fn existing(root: &Path) -> Result<Option<Self>, LocalServerError> {
        if !root.join("data").is_dir() {
            return Ok(None);
        }
        Self::canonical(root, Account::for_server()?).map(Some)
    }

    /// The kernel names the directories of processes without links, so we do, too.
    fn canonical(root: &Path, account: Account) -> Result<Self, LocalServerError> {
        let root = fs::canonicalize(root).map_err(LocalServerError::io("open", root))?;
        Ok(Self { root, account })
    }

    /// Waits for other starts and stops, until the file is dropped.
    pub(super) fn lock(&self) -> Result<File, LocalServerError> {
        let path = self.root.join("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let locked = file.and_then(|file| file.lock().map(|()| file));
        locked.map_err(LocalServerError::io("lock", &path))
    }

    fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    fn pid_file(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }

    fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    pub(super) fn passwords_file(&self) -> PathBuf {
        self.root.join("passwords")
    }

    pub(super) fn is_initialised(&self) -> bool {
        self.data().is_dir()
    }

    /// Makes the data directory. It gets its name when it is complete.
    pub(super) fn initialise(&self, programs: &Programs) -> Result<(), LocalServerError> {
        let (new, password_file) = (self.root.join("data.new"), self.root.join("password.new"));
        if new.exists() {
            fs::remove_dir_all(&new).map_err(LocalServerError::io("remove", &new))?;
        }
        let password = Passwords::new(self.passwords_file()).get_or_make(ADMIN)?;
        self.write_for_account(&password_file, &format!("{}\n", password.reveal()))?;
        let args = [
            "--pgdata=data.new",
            "--pwfile=password.new",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--data-checksums",
        ];
        let user = format!("--username={ADMIN}");
        let args: Vec<&OsStr> = args.iter().copied().chain([user.as_str()]).map(OsStr::new).collect();
        let made = programs.run("initdb", &self.account, &self.root, &args);
        let removed = fs::remove_file(&password_file).map_err(LocalServerError::io("remove", &password_file));
        made.and(removed)?;
        let path = new.join("postgresql.conf");
        let mut file = OpenOptions::new().append(true).open(&path).map_err(LocalServerError::io("open", &path))?;
        file.write_all(b"\ninclude_if_exists = 'sessile.conf'\n").map_err(LocalServerError::io("write", &path))?;
        fs::rename(&new, self.data()).map_err(LocalServerError::io("rename", &new))
    }

    /// Returns the pid and the port of the server, if it runs.
    pub(super) fn running(&self) -> Option<(u32, u16)> {
        let found = postmaster::in_pid_file(&self.pid_file());
        found.filter(|(pid, _)| postmaster::is_server(*pid, &self.data()))
    }

    /// Starts the server and waits until it answers.
    pub(super) fn start(&self, programs: &Programs, more: &[(String, String)]) -> Result<(), LocalServerError> {
        postmaster::clear_stale(&self.pid_file(), &self.data())?;
        let port = self.free_port()?;
        let more = more.iter().map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''")));
        let settings = format!("port = {port}\n{SETTINGS}{}", more.collect::<String>());
        self.write_for_account(&self.data().join("sessile.conf"), &settings)?;
        let args = ["start", "--pgdata=data", "--log=log", "--wait", "--silent", "--timeout", LIMIT].map(OsStr::new);
        programs.run("pg_ctl", &self.account, &self.root, &args).map_err(|error| self.with_log(error))
    }

    pub(super) fn stop(&self, programs: &Programs) -> Result<(), LocalServerError> {
        let args = ["stop", "--pgdata=data", "--mode=fast", "--wait", "--silent", "--timeout", LIMIT].map(OsStr::new);
        programs.run("pg_ctl", &self.account, &self.root, &args).map_err(|error| self.with_log(error))
    }

    pub(super) fn failed_to_start(&self) -> LocalServerError {
        LocalServerError::Program { program: "postgres", reason: foreign(&tail_of(&self.log())) }
    }

    /// Adds the end of the log to the words of `pg_ctl`, which only say to look there.
    fn with_log(&self, error: LocalServerError) -> LocalServerError {
        match error {
            LocalServerError::Program { program, reason } => {
                let reason = format!("{reason} {}", foreign(&tail_of(&self.log())));
                LocalServerError::Program { program, reason }
            }
            other => other,
        }
    }

    /// Returns the port of the last time if it is free, or else another one.
    fn free_port(&self) -> Result<u16, LocalServerError> {
        let last = tail_of(&self.data().join("sessile.conf"));
        let last = last.lines().find_map(|line| line.strip_prefix("port = ")?.parse().ok());
        let free = |port: u16| Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, port))?.local_addr()?.port());
        let found = last.and_then(|last| free(last).ok()).map_or_else(|| free(0), Ok);
        found.map_err(LocalServerError::io("find a free port for", &self.root))
    }

    /// Writes a small file that only the account of the server reads.
    fn write_for_account(&self, path: &Path, text: &str) -> Result<(), LocalServerError> {
        let temporary = path.with_extension("tmp");
        drop(fs::remove_file(&temporary));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(LocalServerError::io("write", &temporary))?;
        self.account.own(&temporary)?;
        fs::rename(&temporary, path).map_err(LocalServerError::io("rename", &temporary))
    }
}

/// Returns the end of a text file, or nothing if it cannot be read.
pub(super) fn tail_of(path: &Path) -> String {
    const LENGTH: u64 = 4000;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LENGTH)))?;
        file.take(LENGTH).read_to_end(&mut bytes)
    });
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
