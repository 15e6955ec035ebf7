//! A local server that runs.

use std::path::{Path, PathBuf};

use crate::error::RemoteError;
use crate::local_server::failure::LocalServerError;
use crate::local_server::passwords::Passwords;
use crate::local_server::{ADMIN, DATABASE};
use crate::postgres::{Admin, Config, Migrated};

/// A local server that runs, and the logins for it.
#[derive(Clone, Debug)]
pub struct Running {
    passwords: Passwords,
    pid: u32,
    port: u16,
}

impl Running {
    pub(super) fn new(passwords: PathBuf, pid: u32, port: u16) -> Self {
        Self { passwords: Passwords::new(passwords), pid, port }
    }

    /// Returns its main process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the file with the passwords of all users, which `psql` reads if `PGPASSFILE` names it.
    pub fn password_file(&self) -> &Path {
        self.passwords.path()
    }

    /// Returns the address of the store for a user. It has no password.
    pub fn url(&self, user: &str) -> String {
        self.url_of(user, DATABASE)
    }

    /// Returns the address of any database of the server for a user.
    pub fn url_of(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the login of the administrator, for a database.
    pub fn admin(&self, database: &str) -> Result<Config, LocalServerError> {
        self.login(ADMIN, database)
    }

    /// Creates the store, or brings it to the version of this program.
    pub fn migrate(&self) -> Result<Migrated, LocalServerError> {
        Ok(Admin::connect(&self.admin(DATABASE)?)?.migrate()?)
    }

    /// Returns the login of a member of the store, who is created if necessary. The name must be plain: letters, digits,
    /// `_`, `-` and `.`.
    pub fn member(&self, name: &str) -> Result<Config, LocalServerError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if !name.chars().all(is_plain) || name == ADMIN {
            let reason = "the name of a member has letters, digits, `_`, `-` and `.` only".to_owned();
            return Err(RemoteError::Refused { remote: self.remote(), reason }.into());
        }
        let password = self.passwords.get_or_make(name)?;
        Admin::connect(&self.admin(DATABASE)?)?.add_member(name, &password)?;
        self.login(name, DATABASE)
    }

    /// Like [`member`](Self::member), for one that administers the store: it adds and revokes members.
    pub fn administrator(&self, name: &str) -> Result<Config, LocalServerError> {
        let config = self.member(name)?;
        Admin::connect(&self.admin(DATABASE)?)?.make_administrator(name)?;
        Ok(config)
    }

    /// Returns the login of a user that has a password.
    pub fn login(&self, user: &str, database: &str) -> Result<Config, LocalServerError> {
        let path = self.passwords.path();
        let known = self.passwords.get(user).map_err(LocalServerError::io("read", path))?;
        let password = known.ok_or_else(|| LocalServerError::NoPassword { user: user.to_owned() })?;
        Ok(Config::from_url(&self.url_of(user, database))?.with_password(move || Ok(password.clone())))
    }

    pub(super) fn create_database(&self) -> Result<(), LocalServerError> {
        Ok(Admin::connect(&self.admin("postgres")?)?.create_database(DATABASE)?)
    }

    fn remote(&self) -> String {
        format!("127.0.0.1:{}/{DATABASE}", self.port)
    }
}
