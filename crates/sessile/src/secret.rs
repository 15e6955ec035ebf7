//! Random secrets in the state directory.

use sessile_store::{create_directory, read_whole, swap_in};

use crate::error::SessionError;
use crate::sessions::Sessions;

const LENGTH: usize = 32;

/// Their directory in the state directory.
const DIRECTORY: &str = "secrets";

impl Sessions {
    /// A random secret of 256 bits. The first call saves it under this name in the state directory, in a file that only
    /// the user can read, and later calls return the same one.
    ///
    /// Without a state directory, or if the system has no random numbers, there is none.
    pub fn secret(&self, name: &str) -> Result<Option<[u8; LENGTH]>, SessionError> {
        let Some(directory) = self.environment().state_dir() else { return Ok(None) };
        let (os, path) = (self.world.os(), directory.join(DIRECTORY).join(name));
        let saved = self.saved_secret(name);
        if saved.is_some() {
            return Ok(saved);
        }
        let mut secret = [0; LENGTH];
        if getrandom::fill(&mut secret).is_err() {
            return Ok(None);
        }
        create_directory(os, &directory.join(DIRECTORY), false)?;
        swap_in(os, &path, &secret)?;
        Ok(Some(secret))
    }

    /// Returns a secret if it exists already.
    pub(crate) fn saved_secret(&self, name: &str) -> Option<[u8; LENGTH]> {
        let path = self.environment().state_dir()?.join(DIRECTORY).join(name);
        read_whole(self.world.os(), &path, LENGTH as u64).ok()?.try_into().ok()
    }
}
