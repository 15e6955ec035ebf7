//! Exporting sessions.

pub use crate::manager::{ExportFormat, ExportOptions};
