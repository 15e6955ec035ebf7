//! Detects a full disk before it tears a line.

use std::path::Path;

use crate::error::StoreError;
use crate::os::OsFile;

/// With more than this free, a line will fit.
const SAFE_MARGIN: u64 = 16 << 20;
/// How long a value for free space is trusted.
const FRESH_MS: i64 = 1000;

/// The known free space on a file's disk.
#[derive(Debug, Default)]
pub(crate) struct Space {
    /// When the system was asked, by the boot clock.
    checked_ms: Option<i64>,
    left: u64,
}

impl Space {
    /// Ensures that `n_bytes` more bytes fit, or fails before anything is written.
    ///
    /// A nearly full disk would accept part of a line. Reserving the space first reports this while the file is still
    /// whole.
    pub(crate) fn ensure_free(
        &mut self,
        boot_ms: i64,
        file: &dyn OsFile,
        end: u64,
        n_bytes: u64,
        path: &Path,
    ) -> Result<(), StoreError> {
        let needed = SAFE_MARGIN + 4 * n_bytes;
        let is_fresh = self.checked_ms.is_some_and(|checked| (0..FRESH_MS).contains(&boot_ms.saturating_sub(checked)));
        if !is_fresh || self.left < needed {
            // If the system cannot say, the write itself has to find out.
            self.left = file.free_space().unwrap_or(u64::MAX);
            self.checked_ms = Some(boot_ms);
        }
        if self.left < needed {
            file.reserve(end, n_bytes).map_err(StoreError::io("reserve disk space for", path))?;
        }
        self.left = self.left.saturating_sub(n_bytes);
        Ok(())
    }
}
