//! Builds the rows of a list: from the catalogue if it has them, else from the files.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sessile_core::date::Timestamp;
use sessile_core::info::Info;
use sessile_index::{Caches, Catalogue, Gathered, Gatherer, NewRow};
use sessile_store::{FoundFile, StoreError, find_sessions};

use super::{ListOptions, Progress, SessionInfo};
use crate::directory::CwdFilter;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::parallel::{each, stream};
use crate::world::World;

/// The number of files that a thread takes at a time.
const FILES_PER_BATCH: usize = 32;

/// The files of some directories, and what is known about them.
pub(super) struct Survey<'w> {
    world: &'w World,
    caches: Option<Caches>,
    directories: Vec<Directory>,
    /// Sorted by directory and name, until the caller changes the order.
    pub(super) files: Vec<File>,
    /// The directories that could not be listed.
    unreadable: Vec<PathBuf>,
}

/// A directory that holds sessions.
struct Directory {
    path: PathBuf,
    /// Empty if it has nothing more to say.
    catalogue: Catalogue,
    /// The number of rows that the saved catalogue has.
    n_rows: usize,
}

/// A file that may be a session.
pub(super) struct File {
    /// The index of its directory.
    directory: usize,
    pub(super) found: FoundFile,
    known: CatalogueInfo,
}

/// What the catalogue knows about a file.
enum CatalogueInfo {
    /// Not enough: the file must be read.
    Stale,
    /// Everything; `None` if the file is not a session.
    Current(Option<Box<SessionInfo>>),
}

impl<'w> Survey<'w> {
    /// Lists every file of some directories, without opening any.
    ///
    /// A directory that cannot be listed does not affect the others; it counts as skipped.
    pub(super) fn new(world: &'w World, directories: Vec<PathBuf>, caches: Option<Caches>) -> Self {
        let listed = each(world.os(), directories, 1, |directory| {
            let (mut directory, found) =
                Directory::list(world, &directory, caches.as_ref()).map_err(|_unreadable| directory)?;
            let known: Vec<_> = found.iter().map(|file| directory.known(file)).collect();
            directory.release_if_current(&known);
            Ok((directory, found, known))
        });
        let (mut directories, mut files, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for listed in listed {
            match listed {
                Ok((directory, found, known)) => {
                    let index = directories.len();
                    files.extend(found.into_iter().zip(known).map(|(found, known)| File {
                        directory: index,
                        found,
                        known,
                    }));
                    directories.push(directory);
                }
                Err(directory) => unreadable.push(directory),
            }
        }
        Self { world, caches, directories, files, unreadable }
    }

    /// Lists every file of one directory, which must be readable if it exists.
    pub(super) fn of(world: &'w World, directory: &Path, caches: Option<Caches>) -> Result<Self, StoreError> {
        let (directory, found) = Directory::list(world, directory, caches.as_ref())?;
        let files = each(world.os(), found, FILES_PER_BATCH, |found| {
            let known = directory.known(&found);
            File { directory: 0, found, known }
        });
        Ok(Self { world, caches, directories: vec![directory], files, unreadable: Vec::new() })
    }

    /// Reads the unknown files in order, and returns the rows, most recently active first.
    ///
    /// Reports the list so far once the known rows are there, after the first and
    /// the last file read, and after every `partial_every` files. An unreadable
    /// file hides only itself. Rows that were read are cached even if the listing
    /// is cancelled.
    pub(super) fn load(
        mut self,
        filter: &CwdFilter,
        partial_every: usize,
        options: &mut ListOptions<'_>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        let cancel = options.cancel.clone();
        let total = self.files.len();
        let (orders, sessions) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let mut listing = Listing { world: self.world, filter, orders, sessions, skipped: Vec::new() };
        let stale = self.take_known(&mut listing);
        let n_known = total - stale.len();
        if n_known > 0 && !cancel.is_cancelled() {
            listing.show(n_known, total, true, options);
        }
        let mut renewed = Vec::new();
        let mut n_read = 0;
        let (survey, texts, is_late) = (&self, options.texts, options.is_late);
        let worker = || survey.reader(&stale, texts);
        if !cancel.is_cancelled() {
            stream(self.world.os(), stale.len(), worker, &mut |piece, (info, row)| {
                let order = stale[piece];
                renewed.extend(row.map(|row| (order, row)));
                listing.take(order, info);
                n_read += 1;
                let loaded = n_known + n_read;
                let is_due = n_read == 1 || loaded.is_multiple_of(partial_every) || loaded == total;
                listing.show(loaded, total, is_due, options);
                !cancel.is_cancelled() && !is_late.is_some_and(|is_late| is_late())
            });
        }
        options.n_unread += stale.len() - n_read;
        self.keep(renewed);
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        listing.arrange();
        if let Some(skipped) = &mut options.skipped {
            listing.skipped.sort_unstable();
            skipped.extend(listing.skipped.iter().map(|order| self.files[*order].found.path.clone()));
            skipped.append(&mut self.unreadable);
        }
        Ok(listing.sessions)
    }

    /// Passes the known rows to the list, and returns the files that must be read.
    fn take_known(&mut self, listing: &mut Listing<'_>) -> Vec<usize> {
        let (mut stale, mut rows) = (Vec::new(), Vec::with_capacity(self.files.len()));
        for (order, file) in self.files.iter_mut().enumerate() {
            match std::mem::replace(&mut file.known, CatalogueInfo::Stale) {
                CatalogueInfo::Stale => stale.push(order),
                CatalogueInfo::Current(None) => listing.take(order, None),
                CatalogueInfo::Current(Some(info)) => rows.push((sort_key(&info, order), info)),
            }
        }
        // Sessions are large, so they are sorted before they move into the list.
        rows.sort_unstable_by_key(|(key, _)| *key);
        for ((_, order), info) in rows {
            listing.take(order, Some(*info));
        }
        stale
    }

    /// Creates a function that reads stale files on one thread.
    fn reader<'s>(
        &'s self,
        stale: &'s [usize],
        texts: bool,
    ) -> impl FnMut(usize) -> (Option<SessionInfo>, Option<NewRow>) + 's {
        let zone = Zone(self.world.environment());
        let mut files = Gatherer::new(self.world.os(), zone);
        move |piece| {
            let file = &self.files[stale[piece]];
            let gathered = if texts || self.caches.is_none() {
                files.scan(&file.found.path, texts).map(|info| Gathered { info, row: None })
            } else {
                let directory = &self.directories[file.directory];
                let row = file.found.path.file_name().and_then(|name| directory.catalogue.row(name));
                files.gather(&file.found.path, row)
            };
            let gathered = gathered.unwrap_or(Gathered { info: None, row: None });
            (gathered.info.map(|info| row_of(&file.found, info)), gathered.row)
        }
    }

    /// Caches the rows that were read, and drops the rows of files that are gone.
    fn keep(&self, renewed: Vec<(usize, NewRow)>) {
        let Some(caches) = &self.caches else { return };
        let n_rows: usize = self.directories.iter().map(|directory| directory.n_rows).sum();
        if renewed.is_empty() && n_rows == self.files.len() {
            // No row is new, and since every file has its own row, none is left over.
            return;
        }
        let mut present: Vec<Vec<&OsStr>> = vec![Vec::new(); self.directories.len()];
        for file in &self.files {
            present[file.directory].extend(file.found.path.file_name());
        }
        let mut new: Vec<HashMap<&OsStr, NewRow>> = vec![HashMap::new(); self.directories.len()];
        for (order, row) in renewed {
            let file = &self.files[order];
            new[file.directory].extend(file.found.path.file_name().map(|name| (name, row)));
        }
        let changed: Vec<usize> = (0..self.directories.len())
            .filter(|index| !new[*index].is_empty() || present[*index].len() < self.directories[*index].n_rows)
            .collect();
        each(self.world.os(), changed, 1, |index| {
            let mut present = present[index].clone();
            present.sort_unstable();
            let Directory { path, catalogue, .. } = &self.directories[index];
            catalogue.update(caches, path, &present, &new[index]);
        });
    }
}

impl Directory {
    /// Loads the catalogue of a directory, and finds the files in it that may be sessions.
    fn list(world: &World, path: &Path, caches: Option<&Caches>) -> Result<(Self, Vec<FoundFile>), StoreError> {
        let found = find_sessions(world.os(), path)?;
        let catalogue = caches.map(|caches| Catalogue::load(caches, path)).unwrap_or_default();
        let n_rows = catalogue.len();
        Ok((Self { path: path.to_path_buf(), catalogue, n_rows }, found))
    }

    /// Frees the catalogue if each of its rows is the current row of a file: it is then neither read nor written again.
    fn release_if_current(&mut self, known: &[CatalogueInfo]) {
        let is_current = |info: &CatalogueInfo| matches!(info, CatalogueInfo::Current(_));
        if self.n_rows == known.len() && known.iter().all(is_current) {
            self.catalogue = Catalogue::default();
        }
    }

    /// What the catalogue knows about a file.
    fn known(&self, found: &FoundFile) -> CatalogueInfo {
        let row = found.path.file_name().and_then(|name| self.catalogue.row(name));
        let collected = row.filter(|row| row.is_current(&found.stat)).and_then(|row| row.collected());
        match collected {
            Some(collected) => CatalogueInfo::Current(collected.into_info().map(|info| Box::new(row_of(found, info)))),
            None => CatalogueInfo::Stale,
        }
    }
}

/// The list so far.
struct Listing<'l> {
    world: &'l World,
    filter: &'l CwdFilter,
    /// The index of each session's file among all files, which breaks ties.
    orders: Vec<usize>,
    sessions: Vec<SessionInfo>,
    /// The indexes of the files that are not sessions.
    skipped: Vec<usize>,
}

impl Listing<'_> {
    fn take(&mut self, order: usize, session: Option<SessionInfo>) {
        if session.is_none() {
            self.skipped.push(order);
        }
        let admitted = session.filter(|session| self.filter.admits(self.world.environment(), &session.cwd));
        if let Some(session) = admitted {
            self.orders.push(order);
            self.sessions.push(session);
        }
    }

    fn show(&mut self, loaded: usize, total: usize, is_due: bool, options: &mut ListOptions<'_>) {
        let Some(progress) = &mut options.progress else { return };
        if is_due {
            self.arrange();
        }
        progress(Progress { loaded, total, partial: is_due.then_some(&self.sessions) });
    }

    /// Sorts by most recent activity; ties by the order of the files.
    fn arrange(&mut self) {
        let key = |index: &usize| sort_key(&self.sessions[*index], self.orders[*index]);
        let mut indexes: Vec<usize> = (0..self.sessions.len()).collect();
        if indexes.is_sorted_by_key(key) {
            return;
        }
        indexes.sort_unstable_by_key(key);
        // Sessions are large, so move each one only once, to its final position.
        for start in 0..indexes.len() {
            let mut to = start;
            loop {
                let from = std::mem::replace(&mut indexes[to], to);
                if from == start {
                    break;
                }
                self.sessions.swap(to, from);
                self.orders.swap(to, from);
                to = from;
            }
        }
    }
}

/// The key by which a list is sorted: most recent activity first, ties by the order of the files.
fn sort_key(session: &SessionInfo, order: usize) -> (Reverse<Timestamp>, usize) {
    (Reverse(session.modified), order)
}

/// The row of a list for a file.
pub(crate) fn row_of(file: &FoundFile, info: Info) -> SessionInfo {
    SessionInfo {
        path: file.path.clone(),
        id: info.id,
        cwd: info.cwd,
        name: info.name,
        is_archived: info.is_archived,
        is_redacted: info.is_redacted,
        imported_from: info.imported_from,
        member: None,
        project: None,
        repository: None,
        parent_session_path: info.parent_session,
        created: info.created,
        modified: info.modified.unwrap_or(Timestamp::from_ms(file.stat.modified_ms)),
        message_count: info.message_count,
        first_message: info.first_message,
        all_messages_text: info.all_messages_text,
        size: file.stat.length,
        written: Timestamp::from_ms(file.stat.modified_ms),
        facts: info.facts,
    }
}
