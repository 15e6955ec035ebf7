//! Where other agents look for sessions that they did not write.

use std::path::{Path, PathBuf};

use sessile_agents::{Exported, Target};
use sessile_core::date::to_iso;
use sessile_store::{read_whole, swap_in};
use sha2::{Digest, Sha256};

use super::{directories, encoded, qwen, root};
use crate::error::SessionError;
use crate::export::AgentExport;
use crate::sessions::Sessions;

/// The longest name of a directory that Claude Code does not shorten.
const MAX_CLAUDE_NAME: usize = 200;

/// The file in which Gemini CLI notes the directory that a folder belongs to.
const PROJECT_ROOT: &str = ".project_root";

impl Sessions {
    /// The path where the agent looks for an exported session; `None` if it only opens files that it is given, or if
    /// the place cannot be known.
    pub fn agent_place(&self, export: &AgentExport) -> Option<PathBuf> {
        let (exported, cwd) = (&export.exported, Path::new(&export.cwd));
        let name = &exported.file_name;
        let environment = self.environment();
        match exported.target {
            Target::Claude => {
                let directory = encoded(cwd);
                let projects = root(environment, "CLAUDE_CONFIG_DIR", ".claude").join("projects");
                (directory.len() <= MAX_CLAUDE_NAME).then(|| projects.join(directory).join(name))
            }
            Target::Codex => {
                let sessions = root(environment, "CODEX_HOME", ".codex").join("sessions");
                Some(sessions.join(day_of(exported)).join(name))
            }
            Target::Gemini => Some(self.gemini_folder(&export.cwd).join("chats").join(name)),
            Target::Qwen => {
                let projects = qwen::projects(environment);
                Some(projects.join(encoded(cwd)).join("chats").join(name))
            }
            Target::Opencode | Target::Omp => None,
        }
    }

    /// Notes for the agent which directory an installed session belongs to, if the session itself does not say so.
    pub fn note_agent_place(&self, export: &AgentExport) -> Result<(), SessionError> {
        if export.exported.target != Target::Gemini {
            return Ok(());
        }
        let folder = self.gemini_folder(&export.cwd);
        if self.gemini_owner(&folder).is_none() {
            swap_in(self.world.os(), &folder.join(PROJECT_ROOT), export.cwd.as_bytes())?;
        }
        Ok(())
    }

    /// The folder of Gemini CLI for a directory: the one that names the directory as its owner, or a new one.
    fn gemini_folder(&self, cwd: &str) -> PathBuf {
        let folders = root(self.environment(), "GEMINI_CLI_HOME", "").join(".gemini/tmp");
        let mut known = directories(self.world.os(), &folders);
        known.sort();
        let is_own = |folder: &PathBuf| self.gemini_owner(folder).is_some_and(|owner| owner == cwd);
        known.into_iter().find(is_own).unwrap_or_else(|| {
            let hash = Sha256::digest(cwd).iter().take(4).fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
            folders.join(format!("sessile-{hash:08x}"))
        })
    }

    /// The directory that a folder of Gemini CLI belongs to.
    fn gemini_owner(&self, folder: &Path) -> Option<String> {
        let bytes = read_whole(self.world.os(), &folder.join(PROJECT_ROOT), 1 << 16).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }
}

/// The directory of Codex for the day on which a session began.
fn day_of(exported: &Exported) -> PathBuf {
    let time = to_iso(exported.began);
    time.split('T').next().unwrap_or_default().split('-').collect()
}
