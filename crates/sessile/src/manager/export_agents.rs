//! Export to other agents.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sessile_agents::{ExportSource, Exported, Target};
use sessile_core::EntryId;
use sessile_core::date::{Timestamp, Utc, parse};
use sessile_core::json::{Json, Raw};
use sessile_core::outline::Row;
use sessile_store::{create_directory, read_whole};

use super::SessionManager;
use crate::directory::absolute;
use crate::error::SessionError;

/// What to export to another agent, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExportOptions {
    /// The agent.
    pub target: Target,
    /// Export each branch as a separate session.
    pub all_branches: bool,
    /// The end of the branch; the current leaf if `None`.
    pub leaf: Option<EntryId>,
    /// Give pi's tools the names of the agent's own tools.
    pub map_tools: bool,
    /// The working directory of the export; the session's own if `None`.
    pub cwd: Option<PathBuf>,
}

/// A branch in the format of another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExport {
    /// The session for the agent.
    pub exported: Exported,
    /// The working directory in which the agent goes on.
    pub cwd: String,
    /// The end of the branch.
    pub leaf: Option<EntryId>,
}

impl AgentExport {
    /// The command that goes on with the session, for a shell.
    pub fn resume_command(&self, file: &Path) -> String {
        self.exported.resume_command(&self.cwd, &file.to_string_lossy())
    }
}

impl SessionManager {
    /// Writes what a model receives on a branch, or on each of them, as sessions of another agent. Branches with the
    /// same conversation count once, and branches without one are left out.
    pub fn export_for_agent(&self, options: &AgentExportOptions) -> Result<Vec<AgentExport>, SessionError> {
        let cwd = match &options.cwd {
            Some(cwd) => absolute(self.world.environment(), cwd),
            None => self.cwd.clone(),
        };
        // The agent sees the directory without links.
        let cwd = self.world.os().real_path(&cwd).unwrap_or(cwd).to_string_lossy().into_owned();
        let id = self.session_id();
        let name = self.session_name()?;
        let source = ExportSource {
            session_id: id.as_str(),
            cwd: &cwd,
            started: self.started(),
            title: name.as_deref(),
            map_tools: options.map_tools,
        };
        let leaves = match &options.leaf {
            _ if options.all_branches => self.branch_ends().into_iter().map(Some).collect(),
            Some(leaf) => vec![Some(leaf.clone())],
            None => vec![self.leaf_id()],
        };
        let mut seen = HashSet::new();
        let mut exports = Vec::new();
        for leaf in leaves {
            let messages: Vec<Json> = match &leaf {
                Some(leaf) => self.llm_messages_at(leaf.clone())?,
                None => self.llm_messages()?,
            };
            let exported = sessile_agents::export(options.target, &source, &messages);
            if let Some(exported) = exported.filter(|exported| seen.insert(exported.id.clone())) {
                exports.push(AgentExport { exported, cwd: cwd.clone(), leaf });
            }
        }
        Ok(exports)
    }

    /// Writes an export to a file of mode 0600, and creates its directory. Returns `false` if the file is already there
    /// with the same content. A file with other content is replaced only if `overwrite` is set, and a session never.
    pub fn write_agent_export(&self, export: &AgentExport, path: &Path, overwrite: bool) -> Result<bool, SessionError> {
        let path = absolute(self.world.environment(), path);
        let bytes = &export.exported.bytes;
        let limit = bytes.len() as u64 + 1;
        if read_whole(self.world.os(), &path, limit).is_ok_and(|found| found == *bytes) {
            return Ok(false);
        }
        create_directory(self.world.os(), path.parent().unwrap_or(Path::new("/")), false)?;
        self.write_export(&path, overwrite, &mut |sink| sink(bytes))?;
        Ok(true)
    }

    /// When the session began.
    fn started(&self) -> Timestamp {
        let text = self.header().json().raw().get("timestamp").and_then(Raw::as_string);
        text.and_then(|text| parse(&text, &Utc)).unwrap_or(Timestamp::EPOCH)
    }

    /// The entries without children.
    fn branch_ends(&self) -> Vec<EntryId> {
        let outline = self.outline();
        let parents: HashSet<Row> = outline.entries().filter_map(|row| outline.parent(row)).collect();
        let is_end = |row: &Row| outline.current(*row) == *row && !parents.contains(row);
        outline.entries().filter(is_end).filter_map(|row| outline.id(row)).collect()
    }
}
