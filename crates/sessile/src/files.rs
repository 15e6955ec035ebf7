//! Which sessions changed a file.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::date::Timestamp;
use sessile_core::head::{self, Kind, Parsed, Role};
use sessile_core::json::Raw;
use sessile_core::location::resolve;
use sessile_core::message::ToolCall;
use sessile_store::os::Mode;
use sessile_store::{LineReader, StoreError};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::parallel::each;
use crate::sessions::Sessions;

/// A call of a tool that wrote or edited a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The index of its session in the list that was searched.
    pub session: usize,
    /// The entry with the call, if it has an id.
    pub entry_id: Option<EntryId>,
    /// When the entry was written, if it says so in pi's format.
    pub time: Option<Timestamp>,
    /// The offset of its line in the file of the session.
    pub offset: u64,
    /// The name of the tool.
    pub tool: String,
    /// The path as the tool got it.
    pub path: String,
    /// The first line with text that the tool put into the file.
    pub first_line: String,
}

/// The tools that change a file, in lower case: pi's, and what other agents call them.
const TOOLS: [&str; 5] = ["write", "edit", "multiedit", "multi_edit", "notebookedit"];

impl Sessions {
    /// The calls of tools that wrote or edited a file in these sessions, on any branch, newest first.
    ///
    /// A relative `path` names every file whose path ends with it; otherwise the whole path counts. Paths of calls are
    /// relative to the working directory of their session. Copies in forks are listed, too. A session that cannot be read
    /// hides only itself.
    pub fn file_history(
        &self,
        sessions: &[SessionInfo],
        path: &str,
        cancel: &Cancel,
    ) -> Result<Vec<FileChange>, SessionError> {
        let wanted = WantedFile::new(self, path);
        let indices: Vec<usize> = (0..sessions.len()).collect();
        let found = each(self.world.os(), indices, 1, |index| {
            let mut changes = Vec::new();
            if let Some(session) = sessions.get(index).filter(|_| !cancel.is_cancelled()) {
                // What was read before an error counts.
                drop(self.changes_in(session, &wanted, cancel, &mut |change| {
                    changes.push(FileChange { session: index, ..change });
                }));
            }
            changes
        });
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let mut changes: Vec<FileChange> = found.into_iter().flatten().collect();
        // Stable: changes of the same time stay in the order of the list, and the last line of a session comes first.
        changes.reverse();
        changes.sort_by(|one, other| other.time.cmp(&one.time).then(one.session.cmp(&other.session)));
        Ok(changes)
    }

    fn changes_in(
        &self,
        session: &SessionInfo,
        wanted: &WantedFile,
        cancel: &Cancel,
        on_change: &mut dyn FnMut(FileChange),
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::io_at("open", &session.path, error);
        let file = self.world.os().open(&session.path, Mode::Read).map_err(failed)?;
        let home = self.environment().home();
        LineReader::default().read(file.as_ref(), &session.path, 0, &mut |line| {
            if let Some(bytes) = line.without_bom().bytes.filter(|bytes| wanted.may_be_in(bytes)) {
                wanted.each_change(bytes, Path::new(&session.cwd), &home, &mut |change| {
                    on_change(FileChange { offset: line.span.offset, ..change });
                });
            }
            !cancel.is_cancelled()
        })?;
        Ok(())
    }
}

/// The file whose history is wanted.
struct WantedFile {
    path: PathBuf,
    /// Whether only the end of a path must match.
    is_end: bool,
    /// Bytes that every spelling of the path has in JSON; may be empty.
    hint: Vec<u8>,
}

impl WantedFile {
    fn new(sessions: &Sessions, path: &str) -> Self {
        let is_end = Path::new(path).is_relative() && !path.starts_with("~/");
        let given = if is_end {
            // Without `.` and `..` at the start.
            resolve(Path::new(path), Path::new("/"), Path::new("/")).components().skip(1).collect()
        } else {
            absolute(sessions.environment(), Path::new(path))
        };
        let name = given.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Any other character may be escaped in JSON.
        let runs = name.split(|char: char| !(char.is_ascii_alphanumeric() || "._-".contains(char)));
        let hint = runs.max_by_key(|run| run.len()).unwrap_or_default().as_bytes().to_vec();
        Self { path: given, is_end, hint }
    }

    fn may_be_in(&self, line: &[u8]) -> bool {
        self.hint.is_empty() || memchr::memmem::find(line, &self.hint).is_some()
    }

    fn is(&self, path: &str, cwd: &Path, home: &Path) -> bool {
        let full = resolve(Path::new(path), cwd, home);
        if self.is_end { full.ends_with(&self.path) } else { full == self.path }
    }

    fn each_change(&self, line: &[u8], cwd: &Path, home: &Path, on_change: &mut dyn FnMut(FileChange)) {
        let Parsed::Value(head) = head::read(line) else { return };
        if head.kind != Kind::Message {
            return;
        }
        let Some(message) = Raw::parse(line).ok().and_then(|entry| entry.get("message")) else { return };
        let calls: Vec<Raw<'_>> = match head.role {
            Role::Assistant => message.get("content").into_iter().flat_map(Raw::items).collect(),
            // Calls that a tool made itself.
            Role::ToolResult => {
                let nested = message.get("nestedCalls").and_then(|nested| nested.get("calls"));
                nested.into_iter().flat_map(Raw::items).collect()
            }
            _ => return,
        };
        for call in calls.into_iter().map(ToolCall::new) {
            let tool = call.name().unwrap_or_default();
            let Some(path) = call.path().filter(|_| TOOLS.contains(&tool.to_lowercase().as_str())) else { continue };
            if self.is(&path, cwd, home) {
                on_change(FileChange {
                    session: 0,
                    entry_id: head.id.as_ref().map(|id| EntryId::from(id.clone().into_owned())),
                    time: head.time,
                    offset: 0,
                    tool,
                    path,
                    first_line: first_line(call),
                });
            }
        }
    }
}

/// The first line with text that a call puts into a file.
fn first_line(call: ToolCall<'_>) -> String {
    let edited = call.edits().into_iter().next().map(|edit| edit.new);
    let written = || ["content", "newText", "new_string"].iter().find_map(|key| call.text_argument(key));
    let text = edited.or_else(written).unwrap_or_default();
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sessile_core::json::Json;

    fn call(tool: &str, arguments: &str) -> Json {
        let call = format!(r#"{{"type":"toolCall","id":"c","name":"{tool}","arguments":{arguments}}}"#);
        Json::parse(format!(r#"{{"role":"assistant","content":[{call}],"provider":"p","model":"m"}}"#)).unwrap()
    }

    #[test]
    fn writes_and_edits_of_a_file_are_found_newest_first() {
        let sessions = Sessions::in_memory_system();
        let mut session = sessions.create("/proj").unwrap();
        session.append_user_message("change src/lib.rs").unwrap();
        let edit = r#"{"path":"src/lib.rs","oldText":"a","newText":"\n  let b = 1;\nmore"}"#;
        for (tool, arguments) in [
            ("read", r#"{"path":"src/lib.rs"}"#),
            ("write", r#"{"path":"/proj/src/lib.rs","content":"first\nsecond"}"#),
            ("edit", edit),
            ("edit", r#"{"path":"./src/../src/lib.rs","edits":[{"oldText":"x","newText":"y"}]}"#),
            ("write", r#"{"path":"src/lib.rs.bak","content":"no"}"#),
            ("write", r#"{"path":"other/src/lib.rs","content":"another"}"#),
            ("write", r#"{"path":7}"#),
        ] {
            session.append_message(call(tool, arguments)).unwrap();
        }
        let listed = sessions.list("/proj").unwrap();
        let lines = |path: &str| {
            let changes = sessions.file_history(&listed, path, &Cancel::default()).unwrap();
            changes.into_iter().map(|change| format!("{} {}", change.tool, change.first_line)).collect::<Vec<_>>()
        };
        assert_eq!(lines("/proj/src/lib.rs"), ["edit y", "edit   let b = 1;", "write first"]);
        assert_eq!(lines("src/lib.rs"), ["write another", "edit y", "edit   let b = 1;", "write first"]);
        assert_eq!(lines("./lib.rs").len(), 4);
        assert_eq!(lines("ib.rs"), Vec::<String>::new());
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(matches!(sessions.file_history(&listed, "lib.rs", &cancel), Err(SessionError::Cancelled)));
    }
}
