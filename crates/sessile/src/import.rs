//! Importing session files from elsewhere, and sessions of other agents.

mod abandoned;
mod agents;
mod blobs;
mod listed;
mod packed;
mod source;
mod stores;
mod turns;

use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::date::to_iso;
use sessile_core::header::Header;
use sessile_core::json::{Edit, Json};
use sessile_core::location::{check_session_id, file_name, is_session_file_name};
use sessile_store::os::{FileKind, Mode, OsFile, read_upto};
use sessile_store::{StoreError, create_directory, prepare_copy};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::journal::{Recording, lock_activity};
use crate::list::read_header;
use crate::record::{OperationKind, SessionLocation, Step};
use crate::session_file::header_of;
use crate::sessions::Sessions;

use abandoned::Abandoned;

pub(crate) use listed::FOREIGN;

pub use agents::{
    AgentImport, AgentImportOptions, DamagedLine, ForeignInfo, ForeignList, ImportState, ImportedSession,
};
pub use sessile_agents::{Agent, ImportChoices, Losses, ModelChoice, Title, TitleSource};
pub use stores::ForeignFile;

/// The maximum number of files with the same base name.
const MAX_NAMES: usize = 1000;

/// How to import session files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The working directory for the sessions; else the one in each header.
    pub cwd: Option<PathBuf>,
    /// Whether to give each session a new id. Nothing else changes.
    pub new_ids: bool,
    /// Whether to name the copies by time and id, like new sessions, instead of keeping the file names. Implied by
    /// new ids.
    pub new_names: bool,
    /// Whether to only check everything.
    pub dry_run: bool,
}

/// An imported session file, or one that a dry run would import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The source file.
    pub from: PathBuf,
    /// The path of the copy.
    pub path: PathBuf,
    /// The session's id.
    pub id: SessionId,
    /// The former id, if it got a new one.
    pub old_id: Option<SessionId>,
    /// The length of the file.
    pub size: u64,
}

impl Sessions {
    /// Copies session files into the session directories of their working directories.
    ///
    /// No byte changes, except for a new id. Checks all files before it copies any, and refuses a session whose id is
    /// already in the store.
    pub fn import(&self, files: &[PathBuf], importing: &ImportOptions) -> Result<Vec<Imported>, SessionError> {
        let dry_run = importing.dry_run;
        // Two concurrent imports of the same file must not both find that its session is new.
        let turn = if dry_run { None } else { lock_activity(&self.world, "import")? };
        let abandoned = Abandoned::new(turn);
        let mut known: Vec<(SessionId, PathBuf)> =
            self.list_all()?.into_iter().map(|session| (session.id, session.path)).collect();
        let mut imports: Vec<Imported> = Vec::new();
        for file in files {
            let import = self.planned(file, importing, &imports)?;
            if let Some((id, path)) = known.iter().find(|(id, _)| *id == import.id) {
                return Err(SessionError::SessionExists { id: id.clone(), path: path.clone() });
            }
            known.push((import.id.clone(), import.from.clone()));
            imports.push(import);
        }
        if !dry_run && !imports.is_empty() {
            let recording = Recording::begin(&self.world, OperationKind::Import, imports.len(), None)?;
            for import in &mut imports {
                import.size = self.copy_in(&recording, &abandoned, import)?;
            }
            recording.done();
        }
        Ok(imports)
    }

    fn planned(&self, file: &Path, importing: &ImportOptions, others: &[Imported]) -> Result<Imported, SessionError> {
        let environment = self.environment();
        let from = absolute(environment, file);
        let stat = self.world.os().stat(&from).map_err(|source| StoreError::io_at("open", &from, source))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: from }.into());
        }
        // Report an unreadable file as unreadable, not as "not a session".
        drop(self.world.os().open(&from, Mode::Read).map_err(|source| StoreError::io_at("open", &from, source))?);
        let Some(header) = read_header(&self.world, &from) else {
            return Err(SessionError::NotASession { path: from });
        };
        let id = if importing.new_ids { environment.session_uuid() } else { header.id() };
        let cwd = importing.cwd.as_ref().map_or_else(|| self.home_of(&header), |cwd| absolute(environment, cwd));
        let dir = self.world.session_dir_of(&cwd);
        let is_free =
            |path: &PathBuf| self.world.os().link_stat(path).is_err() && others.iter().all(|other| other.path != *path);
        let name = if importing.new_names || importing.new_ids {
            check_session_id(id.as_str()).map_err(|source| SessionError::BadSessionId { id: id.clone(), source })?;
            PathBuf::from(file_name(&to_iso(environment.now()), &id))
        } else {
            from.clone()
        };
        let path = names(&name).map(|name| dir.join(name)).find(is_free);
        let path = path.ok_or(StoreError::Exists { path: dir })?;
        let old_id = importing.new_ids.then(|| header.id());
        Ok(Imported { from, path, id, old_id, size: stat.length })
    }

    /// The working directory in a header, or the current one if it has none.
    fn home_of(&self, header: &Header) -> PathBuf {
        let named = header.cwd().filter(|cwd| !cwd.is_empty());
        named.map_or_else(|| self.environment().current_dir(), |cwd| absolute(self.environment(), Path::new(&cwd)))
    }

    fn copy_in(
        &self,
        recording: &Recording<'_>,
        abandoned: &Abandoned,
        import: &Imported,
    ) -> Result<u64, SessionError> {
        let os = self.world.os();
        if let Some(directory) = import.path.parent() {
            create_directory(os, directory, true)?;
        }
        abandoned.remove(os, &import.path);
        let source =
            os.open(&import.from, Mode::Read).map_err(|error| StoreError::io_at("open", &import.from, error))?;
        let length = source.stat().map_err(|error| StoreError::io_at("access", &import.from, error))?.length;
        let (head, copied_from) = match &import.old_id {
            None => (Vec::new(), 0),
            Some(_) => self.with_new_id(import, source.as_ref())?,
        };
        let prepared = prepare_copy(os, &import.path, true, &head, source.as_ref(), copied_from..length)?;
        let length = prepared.length();
        let session = SessionLocation { path: import.path.clone(), id: import.id.clone() };
        let step = Step::Create { session, length, source: Some(import.from.clone()) };
        recording.step(&step, || Ok(prepared.publish().map(drop)?))?;
        Ok(length)
    }
}

impl Sessions {
    /// The beginning of a file up to the end of its header with the new id, and the offset of that end.
    fn with_new_id(&self, import: &Imported, source: &dyn OsFile) -> Result<(Vec<u8>, u64), SessionError> {
        let (header, span) = header_of(&self.world, &import.from)?;
        let before = read_upto(source, 0, span.offset);
        let mut head = before.map_err(|error| StoreError::io_at("read", &import.from, error))?;
        let id = Json::string(import.id.as_str());
        head.extend(header.json().raw().edited(&[Edit::Set("id", id.raw())]).into_bytes());
        Ok((head, span.end()))
    }
}

/// The possible names for a copy of a file: its own, then numbered ones.
fn names(file: &Path) -> impl Iterator<Item = String> {
    let name = file.file_name().unwrap_or_default();
    let is_session = is_session_file_name(name);
    let name = name.to_string_lossy().into_owned();
    let stem = if is_session { name.strip_suffix(".jsonl").unwrap_or(&name).to_owned() } else { name };
    (0..MAX_NAMES).map(move |number| match number {
        0 => format!("{stem}.jsonl"),
        number => format!("{stem}-{number}.jsonl"),
    })
}
