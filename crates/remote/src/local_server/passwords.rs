//! The passwords of a local server: one line per user, in the form of PostgreSQL's password files.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::local_server::failure::LocalServerError;
use crate::secret::Secret;

/// What each line starts with: the address, any port, any database.
const ANYWHERE: &str = "127.0.0.1:*:*:";

/// The file with all passwords. Only its owner reads it.
#[derive(Clone, Debug)]
pub(super) struct Passwords {
    path: PathBuf,
}

impl Passwords {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the password of a user, if it has one.
    pub(super) fn get(&self, user: &str) -> io::Result<Option<Secret>> {
        let start = format!("{ANYWHERE}{}:", escaped(user));
        Ok(self.text()?.lines().find_map(|line| line.strip_prefix(&start)).map(Secret::new))
    }

    /// Returns the password of a user, which gets a random one if it has none.
    pub(super) fn get_or_make(&self, user: &str) -> Result<Secret, LocalServerError> {
        if let Some(password) = self.get(user).map_err(LocalServerError::io("read", &self.path))? {
            return Ok(password);
        }
        let password = Secret::random().map_err(|_unavailable| LocalServerError::NoRandom)?;
        let line = format!("{ANYWHERE}{}:{}\n", escaped(user), password.reveal());
        self.add(&line).map_err(LocalServerError::io("write", &self.path))?;
        Ok(password)
    }

    fn text(&self) -> io::Result<String> {
        let mut text = String::new();
        match fs::File::open(&self.path) {
            Ok(mut file) => file.read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(text)
    }

    /// Adds a line. Another process sees the file without it or with all of it.
    fn add(&self, line: &str) -> io::Result<()> {
        let temporary = self.path.with_extension("new");
        drop(fs::remove_file(&temporary));
        let text = self.text()?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)
    }
}

fn escaped(user: &str) -> String {
    user.replace('\\', "\\\\").replace(':', "\\:")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn each_user_has_one_random_password() {
        let dir = tempfile::tempdir().unwrap();
        let passwords = Passwords::new(dir.path().join("passwords"));
        assert_eq!(passwords.get("ada").unwrap(), None);
        let users = ["ada", "a:d\\a", "bob"];
        let made: Vec<Secret> = users.iter().map(|user| passwords.get_or_make(user).unwrap()).collect();
        assert!(made[0] != made[1] && made[1] != made[2] && made[0].reveal().len() == 48);
        let again: Vec<Secret> = users.iter().map(|user| passwords.get_or_make(user).unwrap()).collect();
        assert_eq!(made, again);
        assert_eq!(passwords.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
