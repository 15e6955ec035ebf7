//! The engines of this build.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::engine::Engine;

/// The names of the engines of this build.
pub const ENGINES: &[&str] = &[
    #[cfg(feature = "ours")]
    "ours",
    #[cfg(feature = "tantivy")]
    "tantivy",
    #[cfg(feature = "fts5")]
    "fts5",
];

/// Opens an engine whose index is in a folder.
pub fn open(name: &str, index: &Path, files: Vec<PathBuf>) -> Result<Box<dyn Engine>, Failure> {
    std::fs::create_dir_all(index)?;
    match name {
        #[cfg(feature = "ours")]
        "ours" => Ok(Box::new(crate::ours::Ours::open(index, files))),
        #[cfg(feature = "tantivy")]
        "tantivy" => Ok(Box::new(crate::tantivy::Tantivy::open(index, files)?)),
        #[cfg(feature = "fts5")]
        "fts5" => Ok(Box::new(crate::fts5::Fts5::open(index, files)?)),
        _ => Err(format!("no engine `{name}` for {} files in {}", files.len(), index.display()).into()),
    }
}
