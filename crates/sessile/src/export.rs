//! Exporting sessions.

pub use sessile_agents::{Exported, Target};

pub use crate::manager::{AgentExport, AgentExportOptions, ExportFormat, ExportOptions};
