//! Detects a full disk before it tears a line.

use std::path::Path;

use crate::error::StoreError;
use crate::os::OsFile;

/// With more than this free, a line will fit.
const PLENTY: u64 = 16 << 20;
/// How long a value for free space is trusted.
const FRESH_MS: i64 = 1000;

/// The known free space on a file's disk.
#[derive(Debug, Default)]
pub(crate) struct Space {
    /// When the system was asked, by the boot clock.
    asked_ms: Option<i64>,
    left: u64,
}

impl Space {
    /// Makes sure that `wanted` bytes fit, or fails before anything is written.
    ///
    /// A nearly full disk would accept part of a line. Reserving the space first reports this while the file is still
    /// whole.
    pub(crate) fn make_sure(
        &mut self,
        boot_ms: i64,
        file: &dyn OsFile,
        end: u64,
        wanted: u64,
        path: &Path,
    ) -> Result<(), StoreError> {
        let needed = PLENTY + 4 * wanted;
        let is_fresh = self.asked_ms.is_some_and(|asked| (0..FRESH_MS).contains(&boot_ms.saturating_sub(asked)));
        if !is_fresh || self.left < needed {
            // If the system cannot say, the write itself has to find out.
            self.left = file.free_space().unwrap_or(u64::MAX);
            self.asked_ms = Some(boot_ms);
        }
        if self.left < needed {
            file.reserve(end, wanted).map_err(StoreError::io("reserve disk space for", path))?;
        }
        self.left = self.left.saturating_sub(wanted);
        Ok(())
    }
}
