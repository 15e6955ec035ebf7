//! Finding out about a full disk before it tears a line.

use std::path::Path;

use crate::error::StoreError;
use crate::os::OsFile;

/// With more than this free, a line will fit.
const PLENTY: u64 = 16 << 20;
/// How long an answer about free space is believed.
const FRESH_MS: i64 = 1000;

/// What is known about the space on a file's disk.
#[derive(Debug, Default)]
pub(crate) struct Space {
    /// When the system was asked, by the clock of the boot.
    asked_ms: Option<i64>,
    left: u64,
}

impl Space {
    /// Makes sure that so many bytes will fit, or fails before anything was written.
    ///
    /// A disk that is nearly full would take a part of a line. Setting the
    /// space aside first says so while the file is still whole.
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
            // A system that cannot tell leaves it to the write to find out.
            self.left = file.free_space().unwrap_or(u64::MAX);
            self.asked_ms = Some(boot_ms);
        }
        if self.left < needed {
            file.reserve(end, wanted).map_err(StoreError::io("set space aside for", path))?;
        }
        self.left = self.left.saturating_sub(wanted);
        Ok(())
    }
}
