//! Names of files that belong to a session and stand beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Follows the name of the target file in the names of temporary files.
pub(crate) const TEMPORARY: &str = ".sessile-tmp-";

/// Returns a path in the same directory, with a prefix and a suffix around the name.
pub(crate) fn beside(path: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}
