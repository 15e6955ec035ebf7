//! The content of a store on a simulated machine, read by a simple reader.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessile::format::location::is_session_file_name;

use super::history::{HOME, IMPORTED};
use crate::sim::{SimOs, SnapshotEntry};

/// Every session file, by session id.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub(super) sessions: BTreeMap<String, Vec<SessionFile>>,
    strays: Vec<String>,
}

/// A session file.
#[derive(Clone, Debug)]
pub(super) struct SessionFile {
    pub(super) path: PathBuf,
    pub(super) is_in_trash: bool,
    pub(super) name: String,
    pub(super) texts: Vec<String>,
}

impl Observed {
    pub(super) fn of(os: &SimOs) -> Self {
        let mut observed = Self::default();
        let (root, trash) = (Path::new(HOME).join(".pi"), Path::new(HOME).join(".local/share/Trash/files"));
        for (path, seen) in os.snapshot() {
            let SnapshotEntry::File(bytes) = seen else { continue };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_in_trash = path.starts_with(&trash);
            let is_session = path.starts_with(&root) && is_session_file_name(name.as_ref()) && !name.starts_with('.');
            if is_in_trash || is_session {
                observed.add(path, is_in_trash, &bytes);
            }
        }
        observed
    }

    fn add(&mut self, path: PathBuf, is_in_trash: bool, bytes: &[u8]) {
        let mut found = SessionFile { path, is_in_trash, name: String::new(), texts: Vec::new() };
        let mut id = None;
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match line["type"].as_str() {
                Some("session") => id = id.or_else(|| Some(text(&line["id"]))),
                Some("session_info") => found.name = text(&line["name"]),
                Some("message") => found.texts.push(text(&line["message"]["content"])),
                _ => {}
            }
        }
        match id {
            Some(id) => self.sessions.entry(id).or_default().push(found),
            None => self.strays.push(found.path.display().to_string()),
        }
    }

    /// Returns the path of a session that is not in the trash.
    pub(super) fn live(&self, id: &str) -> Option<PathBuf> {
        let found = self.sessions.get(id)?;
        found.iter().find(|found| !found.is_in_trash).map(|found| found.path.clone())
    }

    /// Returns the file of a session, preferably one that is not in the trash.
    pub(super) fn file(&self, id: &str) -> Option<&SessionFile> {
        self.sessions.get(id)?.iter().min_by_key(|found| found.is_in_trash)
    }

    /// Checks that no entry occurs twice, and that there are no files that are not sessions.
    pub(super) fn check(&self) -> Result<(), String> {
        for (id, files) in &self.sessions {
            // A session in the trash can still be imported again.
            if files.iter().filter(|found| id != IMPORTED || !found.is_in_trash).count() > 1 {
                let paths: Vec<_> = files.iter().map(|found| &found.path).collect();
                return Err(format!("{id} is in {} places: {paths:?}", files.len()));
            }
            for found in files {
                if found.texts.iter().collect::<BTreeSet<_>>().len() != found.texts.len() {
                    return Err(format!("{id} has an entry twice: {:?}", found.texts));
                }
            }
        }
        match self.strays.first() {
            Some(stray) => Err(format!("{stray} is not a session")),
            None => Ok(()),
        }
    }
}
