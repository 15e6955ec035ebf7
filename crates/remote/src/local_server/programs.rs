//! The programs of PostgreSQL.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::foreign::foreign;
use crate::local_server::account::Account;
use crate::local_server::failure::LocalServerError;

/// The oldest version that has what we use.
const OLDEST: u32 = 15;

/// Where packages put the programs without putting them on the path: `*` is a version.
const PLACES: [(&str, &str, &str); 4] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/opt/homebrew/opt", "postgresql@", "bin"),
    ("/usr/local/opt", "postgresql@", "bin"),
];

/// The folder with `initdb`, `pg_ctl` and `postgres` of one version.
#[derive(Debug)]
pub(super) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Finds the programs on the path, or where packages put them: the first on the path, or else the newest.
    pub(super) fn find(path: &OsStr) -> Result<Self, LocalServerError> {
        let on_path = std::env::split_paths(path).filter(|folder| folder.is_absolute() && is_complete(folder));
        let on_path: Vec<(u32, PathBuf)> = on_path.filter_map(with_version).collect();
        let mut packaged: Vec<(u32, PathBuf)> = packaged().filter_map(with_version).collect();
        packaged.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
        let mut found = on_path.into_iter().chain(packaged).peekable();
        let newest = found.peek().map(|(version, _)| *version);
        match (found.find(|(version, _)| *version >= OLDEST), newest) {
            (Some((_, folder)), _) => Ok(Self { folder }),
            (None, Some(version)) => Err(LocalServerError::TooOld { version: version.to_string() }),
            (None, None) => Err(LocalServerError::NotInstalled),
        }
    }

    /// Runs a program in a folder, as the account of the server. It gets nothing from our environment that changes what
    /// it does.
    pub(super) fn run(
        &self,
        program: &'static str,
        account: &Account,
        folder: &Path,
        args: &[&OsStr],
    ) -> Result<(), LocalServerError> {
        let path = self.folder.join(program);
        let mut command = Command::new(&path);
        command.args(args).current_dir(folder).stdin(Stdio::null()).env_clear();
        command.env("PATH", &self.folder).env("LC_ALL", "C");
        account.apply_to(&mut command);
        // `pg_ctl` leaves the server running with these streams, so they must not be pipes: reading would not end.
        let output = folder.join(format!("{program}.out"));
        let file = fs::File::create(&output).map_err(LocalServerError::io("create", &output))?;
        let error_output = file.try_clone().map_err(LocalServerError::io("open", &output))?;
        let status = command.stdout(file).stderr(error_output).status();
        let status = status.map_err(LocalServerError::io("run", &path))?;
        let text = super::directory::tail_of(&output);
        drop(fs::remove_file(&output));
        if status.success() {
            return Ok(());
        }
        Err(LocalServerError::Program { program, reason: foreign(&text) })
    }
}

fn is_complete(folder: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|program| folder.join(program).is_file())
}

fn packaged() -> impl Iterator<Item = PathBuf> {
    let in_place = |(parent, prefix, inner): (&str, &'static str, &'static str)| {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let versions = entries.filter(move |entry| {
            let name = entry.file_name();
            let version = name.to_str().and_then(|name| name.strip_prefix(prefix));
            version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        });
        versions.map(move |entry| entry.path().join(inner))
    };
    PLACES.into_iter().flat_map(in_place).filter(|folder| is_complete(folder))
}

fn with_version(folder: PathBuf) -> Option<(u32, PathBuf)> {
    let output = Command::new(folder.join("postgres")).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some((major_version(&text)?, folder))
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL) ")?.1;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_version("something else"), None);
    }
}
