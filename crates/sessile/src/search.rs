//! Full-text search in sessions.

mod hit;
mod options;
mod page;
mod team;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sessile_core::location::resolve;
use sessile_core::search::query::Query;
use sessile_store::os::FileKind;
use sessile_store::threads;
use sessile_text::{Hit, Paging, Progress, Request, SurveyedFile, TextIndex, UpdateOptions, Updated, survey};

pub use hit::SearchHit;
pub use options::{IndexOptions, OnPath, SearchOptions, SearchPage, SearchScope, Surveyed, Upkeep};
use page::position;
pub use sessile_text::HitCounts;

use crate::directory::{CwdFilter, sessions_root};
use crate::error::SessionError;
use crate::list::{Archived, ListOptions, list_all};
use crate::others::TeamReach;
use crate::sessions::Sessions;
use crate::team::Authors;
use crate::world::World;
use hit::{Checked, Checker};
use team::TeamSearch;

/// From this many uncovered bytes on, updating the index is worthwhile; fewer are read on each search.
const MIN_UNINDEXED_BYTES: u64 = 128 << 10;

/// The maximum number of bytes to index while a search is waiting.
const MAX_BYTES_PER_SEARCH: u64 = 32 << 20;

/// The most bytes of the index to merge at once if a result is awaited: a few tenths of a second.
const MAX_HURRIED_MERGE: u64 = 8 << 20;

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResult {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// The number of all hits, and of those after this page, if a [page](SearchOptions::page) was requested.
    pub counts: Option<HitCounts>,
    /// The number of bytes that had to be read because the index does not cover them.
    pub unindexed_bytes: u64,
    /// The number of these bytes that were not read, because [it was too late](SearchOptions::is_late). Their hits are missing.
    pub unread_bytes: u64,
    /// How far it looked at the sessions of other members of a team's store, if they are in scope.
    pub team: Option<TeamReach>,
}

/// The data that the index does not cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The number of sessions that it covers only partly or not at all.
    pub n_sessions: usize,
    /// The number of their uncovered bytes.
    pub n_bytes: u64,
}

impl Sessions {
    /// Finds entries by their text, in all branches of the sessions in scope.
    ///
    /// The result does not depend on what the index covers: data that is not indexed is read from the files.
    pub fn search(&self, query: &Query, options: &SearchOptions<'_>) -> Result<SearchResult, SessionError> {
        let is_given = matches!(options.scope, SearchScope::Files(_));
        let others = self.world.others.as_ref().filter(|_| !is_given && self.world.session_dir.is_none());
        let (team, found) = others.map(|others| TeamSearch::new(self, query, options).run(others)).unzip();
        let mut result = SearchResult { team, ..self.search_here(query, options)? };
        if self.world.others.is_some() && options.excerpts {
            self.attribute(&mut result.hits);
        }
        add_hits(&mut result.hits, found.unwrap_or_default(), options.limit);
        Ok(result)
    }

    /// The files of a scope that may be sessions, with their metadata.
    pub fn survey(&self, scope: &SearchScope) -> Result<Surveyed, SessionError> {
        files(&self.world, scope).map(Surveyed)
    }

    /// Adds who has written the entries.
    fn attribute(&self, hits: &mut [SearchHit]) {
        let mut known: HashMap<PathBuf, Option<Authors>> = HashMap::new();
        for hit in hits {
            if !known.contains_key(&hit.session_path) {
                known.insert(hit.session_path.clone(), self.authors(&hit.session_path));
            }
            let authors = known.get(&hit.session_path).and_then(Option::as_ref);
            hit.author = authors.zip(hit.offset).and_then(|(authors, offset)| authors.at(offset)).cloned();
        }
    }

    /// Searches the sessions of this machine.
    fn search_here(&self, query: &Query, options: &SearchOptions<'_>) -> Result<SearchResult, SessionError> {
        let is_given = matches!(options.scope, SearchScope::Files(_));
        match options.archived {
            _ if is_given => self.search_among(query, options, None),
            Archived::Shown => self.search_among(query, options, None),
            Archived::Only => {
                let dir = match &options.scope {
                    SearchScope::Cwd(cwd) => Some(self.world.session_dir_of(cwd)),
                    SearchScope::All => self.world.session_dir.clone(),
                    SearchScope::Files(_) => None,
                };
                let archived = self.archived_in(dir.as_deref())?;
                self.search_among(query, options, Some(&|path| archived.contains(path)))
            }
            Archived::Hidden => self.search_without_archived(query, options),
        }
    }

    /// Searches, and repeats without the archived sessions that were found, until there are none.
    ///
    /// Reads only the directories of hits, which most searches read anyway to show the results.
    fn search_without_archived(
        &self,
        query: &Query,
        options: &SearchOptions<'_>,
    ) -> Result<SearchResult, SessionError> {
        let (mut looked_at, mut archived) = (HashSet::new(), HashSet::<PathBuf>::new());
        loop {
            let is_wanted = |path: &Path| !archived.contains(path);
            let is_wanted: Option<&(dyn Fn(&Path) -> bool + Sync)> =
                if archived.is_empty() { None } else { Some(&is_wanted) };
            let mut result = self.search_among(query, options, is_wanted)?;
            let mut is_new = false;
            for hit in &result.hits {
                let Some(directory) = hit.session_path.parent() else { continue };
                if looked_at.insert(directory.to_path_buf()) {
                    archived.extend(self.archived_in(Some(directory))?);
                    is_new = true;
                }
            }
            let n_hits = result.hits.len();
            result.hits.retain(|hit| !archived.contains(&hit.session_path));
            if result.hits.len() == n_hits || !is_new {
                return Ok(result);
            }
        }
    }

    /// The archived sessions of a directory, or of all directories.
    fn archived_in(&self, dir: Option<&Path>) -> Result<HashSet<PathBuf>, SessionError> {
        let sessions = list_all(&self.world, dir, &mut ListOptions::default())?;
        Ok(sessions.into_iter().filter(|session| session.is_archived).map(|session| session.path).collect())
    }

    /// Searches the sessions in scope whose paths `is_wanted` accepts.
    fn search_among(
        &self,
        query: &Query,
        options: &SearchOptions<'_>,
        is_wanted: Option<&(dyn Fn(&Path) -> bool + Sync)>,
    ) -> Result<SearchResult, SessionError> {
        let world = &self.world;
        let is_cancelled = || options.cancel.is_cancelled();
        let files: Cow<'_, [SurveyedFile]> = match options.files {
            Some(surveyed) => Cow::Borrowed(&surveyed.0),
            None => Cow::Owned(files(world, &options.scope)?),
        };
        let files = match options.is_wanted {
            Some(is_wanted) => files.iter().filter(|file| is_wanted(&file.path)).cloned().collect(),
            None => files,
        };
        let filter = scope_filter(world, &options.scope);
        let admits = |path: &Path, id: &str, cwd: &str| {
            is_in_scope(world, &filter, options, path, id, cwd) && is_wanted.is_none_or(|is_wanted| is_wanted(path))
        };
        let is_of_all = matches!(filter, CwdFilter::All)
            && options.cwd.is_none()
            && options.session.is_none()
            && options.admits.is_none()
            && is_wanted.is_none();
        let last = options.page.and_then(|page| page.after);
        let is_before =
            |file: usize, offset: u64| files.get(file).is_some_and(|file| Some(position(&file.path, offset)) == last);
        let is_before: Option<&(dyn Fn(usize, u64) -> bool + Sync)> =
            if last.is_some() { Some(&is_before) } else { None };
        let paging = options.page.map(|page| Paging { per_turn: page.per_turn, is_before });
        let request = Request {
            query,
            filter: &options.filter,
            admits: if is_of_all { None } else { Some(&admits) },
            // Whether an entry is on the path is checked later, one by one.
            limit: if options.on_path.is_some() { usize::MAX } else { options.limit },
            paging,
            per_session: options.per_session && options.on_path.is_none(),
            now: world.environment().now(),
            is_cancelled: &is_cancelled,
            is_late: options.is_late.unwrap_or(&|| false),
            on_progress: options.on_progress.unwrap_or(&|_, _| {}),
        };
        let mut index = open(world);
        self.keep_up(&mut index, &files, query, options)?;
        let mut doubted = HashSet::new();
        loop {
            let findings = index.find(&files, &request).ok_or(SessionError::Cancelled)?;
            let context = HitContext { sessions: self, files: &files, query, options, doubted: &doubted };
            match context.all(&findings.hits)? {
                Ok(hits) => {
                    let (unindexed_bytes, unread_bytes) = (findings.n_scanned, findings.n_unread);
                    let counts = findings.counts;
                    return Ok(SearchResult { hits, counts, unindexed_bytes, unread_bytes, team: None });
                }
                Err(file) => {
                    // The file differs from the index, so read it; only once, because it may be changing constantly.
                    index.ignore_session(&files[file].path);
                    doubted.insert(file);
                }
            }
        }
    }

    /// Updates the full-text index for the sessions in scope.
    pub fn update_text_index(&self, scope: &SearchScope, options: &IndexOptions<'_>) -> Result<Updated, SessionError> {
        let Some(caches) = self.world.caches() else { return Ok(Updated::Done) };
        let files = files(&self.world, scope)?;
        self.update(&mut TextIndex::unread(caches), &files, Some(scope), options)
    }

    /// How much of the sessions in scope the index does not cover yet; nothing if caches are disabled.
    pub fn text_index_backlog(&self, scope: &SearchScope) -> Result<Backlog, SessionError> {
        let Some(caches) = self.world.caches() else { return Ok(Backlog::default()) };
        let files = files(&self.world, scope)?;
        let (n_covered, n_bytes) = TextIndex::open(caches).coverage_of_files(&files);
        Ok(Backlog { n_sessions: files.len() - n_covered, n_bytes })
    }

    /// Updates the index for some files. `scope` says which sessions are gone if they are not among the files; none if the
    /// files are not all of a scope.
    fn update(
        &self,
        index: &mut TextIndex,
        files: &[SurveyedFile],
        scope: Option<&SearchScope>,
        options: &IndexOptions<'_>,
    ) -> Result<Updated, SessionError> {
        let directories = scope.map(|scope| directories(&self.world, scope)).transpose()?.unwrap_or_default();
        let root = match scope {
            Some(SearchScope::All) if self.world.session_dir.is_none() => Some(sessions_root(self.world.environment())),
            _ => None,
        };
        let is_gone = |path: &Path| {
            if let Some(SearchScope::Files(files)) = scope {
                return files.iter().any(|file| file.as_os_str() == path.as_os_str());
            }
            let parent = path.parent().unwrap_or(Path::new(""));
            directories.iter().any(|directory| directory == parent)
                || root.as_ref().is_some_and(|root| parent.parent() == Some(root))
        };
        let is_cancelled = || options.cancel.is_cancelled() || options.is_late.is_some_and(|is_late| is_late());
        let on_progress = |progress: Progress| {
            if let Some(on_progress) = options.on_progress {
                on_progress(progress.n_done, progress.n_bytes);
            }
        };
        let updating = UpdateOptions {
            is_gone: &is_gone,
            is_cancelled: &is_cancelled,
            on_progress: &on_progress,
            memory: options.memory,
            merges_all: options.merges_all,
            max_merged: if options.is_late.is_some() { MAX_HURRIED_MERGE } else { u64::MAX },
        };
        Ok(index.update(files, &updating)?)
    }

    /// Updates the index before a search, if the options ask for it.
    fn keep_up(
        &self,
        index: &mut TextIndex,
        files: &[SurveyedFile],
        query: &Query,
        options: &SearchOptions<'_>,
    ) -> Result<(), SessionError> {
        let is_possible = self.world.caches().is_some() && query.uses_index();
        let is_wanted = is_possible
            && match options.upkeep {
                Upkeep::Never => false,
                Upkeep::Always => true,
                Upkeep::IfCheap => (MIN_UNINDEXED_BYTES..=MAX_BYTES_PER_SEARCH).contains(&index.n_uncovered(files)),
                Upkeep::IfWorthwhile => index.n_uncovered(files) >= MIN_UNINDEXED_BYTES,
            };
        if !is_wanted {
            return Ok(());
        }
        let index_options = IndexOptions {
            cancel: options.cancel.clone(),
            is_late: options.is_late,
            memory: options.index_memory,
            on_progress: options.on_progress,
            merges_all: false,
        };
        let is_whole = options.is_wanted.is_none() && options.files.is_none();
        let scope = is_whole.then_some(&options.scope);
        match self.update(index, files, scope, &index_options) {
            Ok(_) => Ok(()),
            // If the index cannot be written, search with the old one.
            Err(SessionError::Store(_)) => {
                *index = open(&self.world);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// The data needed to show hits.
#[derive(Clone, Copy)]
struct HitContext<'s> {
    sessions: &'s Sessions,
    files: &'s [SurveyedFile],
    query: &'s Query,
    options: &'s SearchOptions<'s>,
    /// Files that were read because the index was wrong. Hits that are still wrong are omitted.
    doubted: &'s HashSet<usize>,
}

impl HitContext<'_> {
    /// The hits ready to show; or the file for which the index is wrong.
    fn all(self, hits: &[Hit]) -> Result<Result<Vec<SearchHit>, usize>, SessionError> {
        if self.options.on_path.is_some()
            || hits.len() < MIN_HITS_FOR_TWO_THREADS
            || !self.sessions.world.os().has_threads()
        {
            return self.in_order(hits);
        }
        let (first, second) = hits.split_at(hits.len() / 2);
        let (hits, later) = threads::both(|| self.in_order(first), || self.in_order(second));
        let later = later?;
        Ok(hits?.and_then(|mut hits| {
            hits.append(&mut later?);
            Ok(hits)
        }))
    }

    fn in_order(self, findings: &[Hit]) -> Result<Result<Vec<SearchHit>, usize>, SessionError> {
        let mut checker = Checker::new(self.sessions, self.query, self.options);
        let mut hits = Vec::new();
        for hit in findings {
            if hits.len() == self.options.limit {
                break;
            }
            let path = &self.files[hit.file].path;
            if !self.options.excerpts && self.options.on_path.is_none() {
                hits.push(SearchHit::unseen(path, hit));
                continue;
            }
            match checker.check(path, hit)? {
                Checked::Right(hit) => hits.push(*hit),
                Checked::Wrong if !self.doubted.contains(&hit.file) => return Ok(Err(hit.file)),
                Checked::Elsewhere | Checked::Wrong => {}
            }
        }
        Ok(Ok(hits))
    }
}

/// From this many hits on, a second thread is worthwhile.
const MIN_HITS_FOR_TWO_THREADS: usize = 8;

fn open(world: &World) -> TextIndex {
    world.caches().map_or_else(|| TextIndex::none(std::sync::Arc::clone(&world.os)), TextIndex::open)
}

/// The files in scope with their metadata.
fn files(world: &World, scope: &SearchScope) -> Result<Vec<SurveyedFile>, SessionError> {
    let SearchScope::Files(paths) = scope else { return Ok(survey(world.os(), &directories(world, scope)?)) };
    let look = |path: &PathBuf| {
        let stat = world.os().stat(path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
        Some(SurveyedFile { path: path.clone(), stat })
    };
    Ok(paths.iter().filter_map(look).collect())
}

/// The directories whose sessions are in scope.
fn directories(world: &World, scope: &SearchScope) -> Result<Vec<PathBuf>, SessionError> {
    match scope {
        SearchScope::Files(_) => Ok(Vec::new()),
        SearchScope::All => Ok(world.session_dirs()?),
        SearchScope::Cwd(cwd) => {
            let mut directories = vec![world.session_dir_of(cwd)];
            directories.extend(world.others.iter().flat_map(|others| others.session_dirs_of(world.os(), cwd)));
            Ok(directories)
        }
    }
}

/// Adds hits in other sessions to hits, best first, and keeps the best.
fn add_hits(hits: &mut Vec<SearchHit>, mut found: Vec<SearchHit>, limit: usize) {
    // Another process may have fetched a session since.
    let here: HashSet<PathBuf> = hits.iter().map(|hit| hit.session_path.clone()).collect();
    found.retain(|hit| !here.contains(&hit.session_path));
    if found.is_empty() {
        return;
    }
    hits.append(&mut found);
    hits.sort_by(|one, other| other.score.total_cmp(&one.score).then(other.time.cmp(&one.time)));
    hits.truncate(limit);
}

/// Whether a session is in scope.
fn is_in_scope(
    world: &World,
    filter: &CwdFilter,
    options: &SearchOptions<'_>,
    path: &Path,
    id: &str,
    cwd: &str,
) -> bool {
    // If all working directories match, there is no need to resolve this one.
    (matches!(filter, CwdFilter::All) || filter.admits(world.environment(), cwd))
        && options.cwd.as_ref().is_none_or(|wanted| is_within(world, cwd, wanted))
        && options.session.as_ref().is_none_or(|wanted| is_session(path, id, wanted))
        && options.admits.is_none_or(|admits| admits(path, cwd))
}

fn scope_filter(world: &World, scope: &SearchScope) -> CwdFilter {
    match scope {
        SearchScope::All | SearchScope::Files(_) => CwdFilter::All,
        SearchScope::Cwd(cwd) => world.filter_of(cwd),
    }
}

/// Whether a working directory is `wanted` or inside it.
fn is_within(world: &World, cwd: &str, wanted: &Path) -> bool {
    let environment = world.environment();
    let clean = |path: &Path| resolve(path, &environment.current_dir(), &environment.home());
    !cwd.is_empty() && clean(Path::new(cwd)).starts_with(clean(wanted))
}

/// Whether `wanted` refers to a session: by path, file name or id prefix.
fn is_session(path: &Path, id: &str, wanted: &str) -> bool {
    path == Path::new(wanted)
        || path.file_name().is_some_and(|name| name.to_string_lossy() == wanted)
        || (!wanted.is_empty() && id.starts_with(wanted))
}
