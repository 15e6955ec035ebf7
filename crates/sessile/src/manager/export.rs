//! Export: as a separate session, as JSON, or as a document to read.

use std::io::Write;
use std::path::Path;

use sessile_core::EntryId;
use sessile_core::entry::{Entry, Payload, js_time};
use sessile_core::head::Role;
use sessile_core::header::Header;
use sessile_core::json::{Edit, Json, Raw, harmless};
use sessile_core::label::Label;
use sessile_core::markdown::{self, EntryNotes};
use sessile_core::outline::Row;
use sessile_store::{StoreError, create_directory, create_file, replace_file, swap_in};

use super::SessionManager;
use crate::directory::{absolute, sessions_root};
use crate::environment::Zone;
use crate::error::SessionError;
use crate::sessions::Sessions;
use crate::world::World;

/// The format of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportFormat {
    /// A session file, as pi exports one.
    #[default]
    Jsonl,
    /// A document to read.
    Markdown,
    /// One object with `header`, `entries` and `leafId`. Characters that act on a terminal are escaped.
    Json,
}

/// What to export, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// The format.
    pub format: ExportFormat,
    /// Export every branch instead of one.
    pub all_branches: bool,
    /// The end of the branch; the current leaf if `None`.
    pub leaf: Option<EntryId>,
    /// For a document: show only so many lines of each tool output.
    pub max_output_lines: Option<usize>,
    /// For a document: include images instead of describing them.
    pub with_images: bool,
}

/// The maximum number of characters in a title made from the first question.
const LONGEST_TITLE: usize = 72;

/// Whether a file is the session `own`, or a session or a file of one in `session_dir` or in pi's store.
pub(crate) fn is_precious(world: &World, own: Option<&Path>, session_dir: Option<&Path>, path: &Path) -> bool {
    let identity = |path: &Path| world.os().stat(path).ok().map(|stat| stat.identity);
    let is_self = own.is_some_and(|own| identity(own).is_some_and(|own| Some(own) == identity(path)));
    let root = sessions_root(world.environment());
    let is_among_sessions = path.starts_with(absolute(world.environment(), &root)) || path.parent() == session_dir;
    // Sessions end in `.jsonl`, and the files beside them contain that or start with a dot.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_self || is_among_sessions && (name.contains(".jsonl") || name.starts_with('.'))
}

/// Receives the bytes of an export, piece by piece.
type Sink<'s, E> = &'s mut dyn FnMut(&[u8]) -> Result<(), E>;

impl Sessions {
    /// Writes a document that is not a session, replacing an existing file, and creates its directory.
    pub fn write_document(&self, path: &Path, bytes: &[u8]) -> Result<(), SessionError> {
        let path = absolute(self.environment(), path);
        create_directory(self.world.os(), path.parent().unwrap_or(Path::new("/")), false)?;
        Ok(swap_in(self.world.os(), &path, bytes)?)
    }

    /// Creates a directory for exports and its missing parents with mode 0700. An existing directory is not changed.
    pub fn make_export_directory(&self, path: &Path) -> Result<(), SessionError> {
        Ok(create_directory(self.world.os(), &absolute(self.environment(), path), false)?)
    }
}

impl SessionManager {
    /// Exports the session piece by piece, so that any size takes little memory.
    ///
    /// As JSON lines this matches pi's export: a new header with the same id and
    /// the present time, followed by the entries of the branch, each the child of
    /// the previous one. Lines whose parent does not change are copied byte for byte.
    /// With all branches it is the session itself under its own header, every entry
    /// in its place, without lines that are not entries.
    pub fn export<E: From<SessionError>>(&self, options: &ExportOptions, sink: Sink<'_, E>) -> Result<(), E> {
        let rows = self.exported_rows(options)?;
        match options.format {
            ExportFormat::Jsonl => self.export_lines(options, &rows, sink),
            ExportFormat::Json => self.export_object(options, &rows, sink),
            ExportFormat::Markdown => self.export_document(options, &rows, sink),
        }
    }

    /// Exports the session to a new file of mode 0600, or replaces an existing file if `overwrite` is set.
    ///
    /// Never overwrites a session, or a file that belongs to one.
    pub fn export_to(&self, options: &ExportOptions, path: &Path, overwrite: bool) -> Result<(), SessionError> {
        self.write_export(path, overwrite, &mut |sink| self.export(options, sink))
    }

    /// Writes a document made from the session to a new file of mode 0600, or replaces an existing file if `overwrite`
    /// is set. The file is complete, or is not there.
    ///
    /// Never overwrites a session, or a file that belongs to one.
    pub fn write_export(
        &self,
        path: &Path,
        overwrite: bool,
        write: &mut dyn FnMut(Sink<'_, SessionError>) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let path = absolute(self.world.environment(), path);
        let os = self.world.os();
        let failed = |source| SessionError::from(StoreError::io_at("write", &path, source));
        let mut write = |out: &mut dyn Write| write(&mut |bytes| out.write_all(bytes).map_err(failed));
        let is_free = os.link_stat(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if is_free || !overwrite || self.is_precious(&path) {
            return create_file(os, &path, false, &mut write);
        }
        replace_file(os, &path, false, &mut write)
    }

    /// Passes the bytes of the session to a sink, exactly as they are stored, up to the end of what has been read.
    pub fn export_original<E: From<SessionError>>(&self, sink: Sink<'_, E>) -> Result<(), E> {
        self.session.copy_log(sink)
    }

    /// Whether a file is this session, or a session or a file of one in a directory of sessions. Exports never replace
    /// such a file.
    pub fn is_precious(&self, path: &Path) -> bool {
        is_precious(&self.world, self.session_file(), self.session_dir(), path)
    }

    fn exported_rows(&self, options: &ExportOptions) -> Result<Vec<Row>, SessionError> {
        match &options.leaf {
            _ if options.all_branches => Ok(self.session.outline.entries().collect()),
            Some(leaf) => self.path_to(leaf),
            None => Ok(self.path()),
        }
    }

    fn export_lines<E: From<SessionError>>(
        &self,
        options: &ExportOptions,
        rows: &[Row],
        sink: Sink<'_, E>,
    ) -> Result<(), E> {
        let own = self.header();
        let header = if options.all_branches { own.clone() } else { self.exported_header() };
        sink(header.json().to_text().as_bytes())?;
        sink(b"\n")?;
        let outline = &self.session.outline;
        let mut reading = self.session.reading();
        let mut parent: Option<EntryId> = None;
        for row in rows {
            let line = reading.copied_line(*row)?;
            let is_same = outline.parent_id(*row) == parent && (parent.is_some() || outline.has_null_parent(*row));
            if is_same || options.all_branches {
                sink(&line)?;
            } else {
                let value = parent.as_ref().map_or_else(Json::null, EntryId::to_json);
                let rechained = self.session.parsed(*row, &line)?.edited(&[Edit::Set("parentId", value.raw())]);
                sink(rechained.raw().as_bytes())?;
            }
            sink(b"\n")?;
            parent = outline.id(*row);
        }
        Ok(())
    }

    /// The header of an exported branch: the same session id with the present time.
    fn exported_header(&self) -> Header {
        let now = sessile_core::date::to_iso(self.world.environment().now());
        let cwd = self.cwd.to_string_lossy();
        Header::compose(self.session_id(), &now, &cwd, None)
    }

    fn export_object<E: From<SessionError>>(
        &self,
        options: &ExportOptions,
        rows: &[Row],
        sink: Sink<'_, E>,
    ) -> Result<(), E> {
        sink(b"{\"header\":")?;
        sink(harmless(&self.header().json().to_text()).as_bytes())?;
        sink(b",\"entries\":[")?;
        let mut reading = self.session.reading();
        for (n_before, row) in rows.iter().enumerate() {
            if n_before > 0 {
                sink(b",")?;
            }
            let line = reading.copied_line(*row)?;
            sink(harmless(&self.session.parsed(*row, &line)?.to_text()).as_bytes())?;
        }
        let leaf = options.leaf.clone().filter(|_| !options.all_branches).or_else(|| self.leaf_id());
        let leaf = leaf.map_or_else(Json::null, |leaf| leaf.to_json());
        sink(b"],\"leafId\":")?;
        sink(harmless(&leaf.to_text()).as_bytes())?;
        sink(b"}\n")
    }

    fn export_document<E: From<SessionError>>(
        &self,
        options: &ExportOptions,
        rows: &[Row],
        sink: Sink<'_, E>,
    ) -> Result<(), E> {
        let one_branch = ExportOptions { all_branches: false, ..options.clone() };
        let title = self.title_on(&self.exported_rows(&one_branch)?)?;
        sink(markdown::head(self.header(), title.as_deref()).as_bytes())?;
        if !options.all_branches {
            return rows.iter().try_for_each(|row| self.export_entry(*row, options, sink));
        }
        let mut last = None;
        for node in self.tree()?.iter().filter(|node| !node.repeated) {
            let parent = self.session.outline.parent(node.row);
            if last.is_some() && parent != last {
                let from = parent.and_then(|parent| self.session.outline.id(parent)).map(|id| id.to_string());
                sink(markdown::branch(from.as_deref()).as_bytes())?;
            }
            self.export_entry(node.row, options, sink)?;
            last = Some(node.row);
        }
        Ok(())
    }

    /// The name of the session, or the first words on its current branch; `None` without both.
    pub fn export_title(&self) -> Result<Option<String>, SessionError> {
        self.title_on(&self.path())
    }

    fn title_on(&self, path: &[Row]) -> Result<Option<String>, SessionError> {
        self.session_name()?.map_or_else(|| self.first_words(path), |name| Ok(Some(name)))
    }

    /// The beginning of the first question, as the title of an unnamed session.
    fn first_words(&self, path: &[Row]) -> Result<Option<String>, SessionError> {
        let outline = &self.session.outline;
        let Some(first) = path.iter().find(|row| outline.role(**row) == Role::User) else { return Ok(None) };
        let entry = self.entry_at(*first)?;
        let Payload::Message(message) = entry.payload() else { return Ok(None) };
        let text = message.message().map(|message| message.content().text()).unwrap_or_default();
        let words = text.trim().lines().next().unwrap_or_default();
        let title = match words.char_indices().nth(LONGEST_TITLE) {
            Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default().trim_end()),
            None => words.to_owned(),
        };
        Ok(Some(title).filter(|title| !title.is_empty()))
    }

    fn export_entry<E: From<SessionError>>(
        &self,
        row: Row,
        options: &ExportOptions,
        sink: Sink<'_, E>,
    ) -> Result<(), E> {
        let entry: Entry = self.entry_at(row)?;
        let labels = self.session.labels()?;
        let label = entry.id().and_then(|id| labels.get(&id).map(Label::text));
        let zone = Zone(self.world.environment());
        let time = entry.raw().get("timestamp").and_then(|time: Raw<'_>| js_time(Some(time), &zone));
        let notes = EntryNotes {
            label: label.as_deref(),
            time,
            max_output_lines: options.max_output_lines,
            with_images: options.with_images,
        };
        sink(markdown::entry(&entry, notes).as_bytes())
    }
}
