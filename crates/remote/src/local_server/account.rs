//! The user that the server runs as.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::local_server::failure::LocalServerError;

/// The users that a server of root runs as, in this order.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// The user that the server runs as: ourselves, or another user if we are root.
#[derive(Clone, Debug)]
pub(super) struct Account(Option<Other>);

#[derive(Clone, Debug)]
struct Other {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    pub(super) fn for_server() -> Result<Self, LocalServerError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self(None));
        }
        let found = CANDIDATES.iter().find_map(|name| {
            let (uid, gid) = (id("-u", name)?, id("-g", name)?);
            Some(Other { name: (*name).to_owned(), uid, gid })
        });
        found.map(|other| Self(Some(other))).ok_or(LocalServerError::NoAccount)
    }

    pub(super) fn apply_to(&self, command: &mut Command) {
        if let Self(Some(other)) = self {
            command.uid(other.uid).gid(other.gid);
        }
    }

    /// Gives a file to the account.
    pub(super) fn own(&self, path: &Path) -> Result<(), LocalServerError> {
        let Self(Some(other)) = self else { return Ok(()) };
        chown(path, Some(other.uid), Some(other.gid)).map_err(LocalServerError::io("change the owner of", path))
    }

    /// Checks that the account can enter the directories above a directory.
    pub(super) fn can_reach(&self, dir: &Path) -> Result<(), LocalServerError> {
        match (&self.0, self.blocked_at(dir)) {
            (Some(other), Some(blocked)) => Err(LocalServerError::Unreachable { account: other.name.clone(), blocked }),
            _ => Ok(()),
        }
    }

    /// Returns the outermost existing directory above `dir` that the account cannot enter.
    fn blocked_at(&self, dir: &Path) -> Option<PathBuf> {
        let other = self.0.as_ref()?;
        let is_blocked = |dir: &&Path| {
            let Ok(metadata) = dir.metadata() else { return false };
            let bit = match (metadata.uid() == other.uid, metadata.gid() == other.gid) {
                (true, _) => 0o100,
                (false, true) => 0o010,
                (false, false) => 0o001,
            };
            metadata.mode() & bit == 0
        };
        dir.ancestors().skip(1).filter(is_blocked).last().map(Path::to_path_buf)
    }
}

/// Returns a directory for a server: the wanted one, or one below `/var/lib/sessile` if we are root and the user that the
/// server runs as cannot enter it. The same wish always gives the same directory.
pub fn reachable_directory(wanted: &Path) -> PathBuf {
    let is_reachable = Account::for_server().is_ok_and(|account| account.blocked_at(wanted).is_none());
    if is_reachable {
        return wanted.to_path_buf();
    }
    let name = crate::chain::Chain::EMPTY.after(wanted.as_os_str().as_encoded_bytes());
    Path::new("/var/lib/sessile").join(format!("server-{name}"))
}

fn id(option: &str, name: &str) -> Option<u32> {
    let output = Command::new("id").args([option, name]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
