//! The remotes in the user's settings: one table `remote.NAME` each.

use std::path::PathBuf;

use sessile_store::os::Os;

use crate::environment::Environment;
use crate::settings::{Settings, SettingsError, edit_settings};

/// A remote in the user's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredRemote {
    /// Its name.
    pub name: String,
    /// Its address, without a password.
    pub url: String,
    /// A file with the password, or with lines as in `.pgpass`.
    pub password_file: Option<PathBuf>,
    /// A file with the certificate authorities to trust.
    pub ca_file: Option<PathBuf>,
    /// The address of the storage for large lines: `https://host/bucket/prefix`.
    pub blobs: Option<String>,
    /// The region of the storage.
    pub blobs_region: Option<String>,
    /// A file with the access key and the secret key of the storage.
    pub blobs_key_file: Option<PathBuf>,
}

/// Why a remote cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteChoice {
    /// There is no remote.
    #[error("there is no remote; add one with `sessile remote add NAME URL`, or try one with `sessile remote up`")]
    None,
    /// There are several.
    #[error("there are several remotes, so name one with --remote: {}", names.join(", "))]
    Several {
        /// Their names.
        names: Vec<String>,
    },
    /// There is no remote of this name.
    #[error("there is no remote {name:?}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The name cannot be a key in the settings.
    #[error("{name:?} cannot be the name of a remote; use letters, digits, - and _")]
    BadName {
        /// The name.
        name: String,
    },
}

const TABLE: &str = "remote";
const URL: &str = "url";
const PASSWORD_FILE: &str = "password_file";
const CA_FILE: &str = "ca_file";
const BLOBS: &str = "blobs";
const BLOBS_REGION: &str = "blobs_region";
const BLOBS_KEY_FILE: &str = "blobs_key_file";

impl ConfiguredRemote {
    /// All remotes, in the order of their names.
    pub fn all(settings: &Settings) -> Vec<Self> {
        let mut remotes: Vec<Self> = Vec::new();
        for setting in settings.table(TABLE) {
            let mut parts = setting.key.splitn(3, '.').skip(1);
            let (Some(name), Some(key), Some(value)) = (parts.next(), parts.next(), &setting.value) else { continue };
            let index = remotes.iter().position(|remote| remote.name == name).unwrap_or_else(|| {
                remotes.push(Self { name: name.to_owned(), ..Self::default() });
                remotes.len() - 1
            });
            let (remote, value) = (&mut remotes[index], value.to_text());
            match key {
                URL => remote.url = value,
                PASSWORD_FILE => remote.password_file = Some(value.into()),
                CA_FILE => remote.ca_file = Some(value.into()),
                BLOBS => remote.blobs = Some(value),
                BLOBS_REGION => remote.blobs_region = Some(value),
                BLOBS_KEY_FILE => remote.blobs_key_file = Some(value.into()),
                _ => {}
            }
        }
        remotes.retain(|remote| !remote.url.is_empty());
        remotes.sort_by(|one, other| one.name.cmp(&other.name));
        remotes
    }

    /// The remote of a name, or the only one.
    pub fn find(settings: &Settings, name: Option<&str>) -> Result<Self, RemoteChoice> {
        let mut remotes = Self::all(settings);
        match name {
            Some(name) => remotes
                .into_iter()
                .find(|it| it.name == name)
                .ok_or_else(|| RemoteChoice::Unknown { name: name.into() }),
            None if remotes.len() > 1 => {
                Err(RemoteChoice::Several { names: remotes.into_iter().map(|remote| remote.name).collect() })
            }
            None => remotes.pop().ok_or(RemoteChoice::None),
        }
    }

    /// Whether a text can be the name of a remote.
    pub fn check_name(name: &str) -> Result<(), RemoteChoice> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain) {
            return Ok(());
        }
        Err(RemoteChoice::BadName { name: name.to_owned() })
    }

    /// Writes the remote to the user's settings.
    pub fn save(&self, environment: &dyn Environment, os: &dyn Os) -> Result<(), SettingsError> {
        for (key, value) in self.members() {
            // A quoted value is a text, whatever it looks like.
            let value = value.map(|value| format!("{value:?}"));
            edit_settings(environment, os, &self.key(key), value.as_deref(), false)?;
        }
        Ok(())
    }

    /// Removes the remote from the user's settings.
    pub fn remove(&self, environment: &dyn Environment, os: &dyn Os) -> Result<(), SettingsError> {
        for (key, _) in self.members() {
            edit_settings(environment, os, &self.key(key), None, false)?;
        }
        Ok(())
    }

    fn members(&self) -> [(&'static str, Option<String>); 6] {
        let text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        [
            (URL, Some(self.url.clone())),
            (PASSWORD_FILE, text(&self.password_file)),
            (CA_FILE, text(&self.ca_file)),
            (BLOBS, self.blobs.clone()),
            (BLOBS_REGION, self.blobs_region.clone()),
            (BLOBS_KEY_FILE, text(&self.blobs_key_file)),
        ]
    }

    fn key(&self, key: &str) -> String {
        format!("{TABLE}.{}.{key}", self.name)
    }
}
