//! Options for searching.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::search::filter::Filter;

use sessile_text::{MEMORY, SurveyedFile};

use crate::list::Archived;
#[cfg(doc)]
use crate::search::{SearchHit, SearchResult};
use sessile_core::cancel::Cancel;

/// The sessions to search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SearchScope {
    /// All sessions.
    #[default]
    All,
    /// Those of a working directory.
    Cwd(PathBuf),
    /// Only these files. Useful after writing to one session, to avoid surveying all of them.
    Files(Vec<PathBuf>),
}

/// Whether to update the index before a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upkeep {
    /// If that takes at most about a second; uncovered data is read.
    #[default]
    IfCheap,
    /// No: uncovered data is read.
    Never,
    /// If there is enough to make it worthwhile, however long it takes.
    IfWorthwhile,
    /// Always, however long it takes and however little there is.
    Always,
}

/// Which entries of a session to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnPath {
    /// Those on the path to the last entry.
    Leaf,
    /// Those on the path to this entry; none in a session without it.
    Entry(EntryId),
}

/// A page of a long result. The hits of one session take turns with those of others, so that no session fills a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchPage {
    /// The number of hits of a session that may follow before all others had theirs; `usize::MAX` keeps the order.
    pub per_turn: usize,
    /// The page begins after this hit: the fingerprint of its [position](SearchHit::position). `None` for the first page.
    pub after: Option<u64>,
}

/// Decides whether to search a session, by path and working directory.
pub(crate) type Admits<'o> = dyn Fn(&Path, &str) -> bool + Sync + 'o;

/// Whether it is too late to go on.
pub(crate) type IsLate<'o> = dyn Fn() -> bool + Sync + 'o;

/// Decides whether to search a file, by its path.
pub(crate) type IsWanted<'o> = dyn Fn(&Path) -> bool + Sync + 'o;

/// Receives the number of bytes done and the total.
pub(crate) type OnProgress<'o> = dyn Fn(u64, u64) + Sync + 'o;

/// Files and their metadata at one time: see [`Sessions::survey`](crate::Sessions::survey). Equal ones mean that no file
/// was added, removed or written in between.
#[derive(Clone, Debug)]
pub struct Surveyed(pub(super) Vec<SurveyedFile>);

impl Surveyed {
    /// The files that a function accepts, by path.
    #[must_use]
    pub fn only(&self, is_wanted: impl Fn(&Path) -> bool) -> Self {
        Self(self.0.iter().filter(|file| is_wanted(&file.path)).cloned().collect())
    }
}

impl PartialEq for Surveyed {
    fn eq(&self, other: &Self) -> bool {
        // Comparing paths part by part would take most of the time.
        let is_same = |(one, other): (&SurveyedFile, &SurveyedFile)| {
            one.stat == other.stat && one.path.as_os_str() == other.path.as_os_str()
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(is_same)
    }
}

impl Eq for Surveyed {}

/// Options for a search.
pub struct SearchOptions<'o> {
    /// The sessions to search.
    pub scope: SearchScope,
    /// The files to search, if the caller has [surveyed](crate::Sessions::survey) the scope just now: all or some of them.
    /// Like [`is_wanted`](Self::is_wanted), this does not make the index forget other files.
    pub files: Option<&'o Surveyed>,
    /// The entries to search.
    pub filter: Filter,
    /// Only sessions of this working directory, or of one inside it.
    pub cwd: Option<PathBuf>,
    /// Only this session: its path, its file name, or a prefix of its id.
    pub session: Option<String>,
    /// Only sessions that this function accepts, by path and working directory; for example those of a repository.
    pub admits: Option<&'o Admits<'o>>,
    /// Only files that this function accepts, by path. Other files are not opened, and the index keeps what it has of them.
    pub is_wanted: Option<&'o IsWanted<'o>>,
    /// How to treat archived sessions. Files given individually are always searched.
    pub archived: Archived,
    /// Only entries on one path; all branches otherwise.
    pub on_path: Option<OnPath>,
    /// Whether to return only the best entry of each session.
    pub per_session: bool,
    /// Whether to return excerpts. If not, only positions are returned, and the files are not read again.
    pub excerpts: bool,
    /// About how many more bytes than usual an excerpt has on each side.
    pub excerpt_room: usize,
    /// The maximum number of entries.
    pub limit: usize,
    /// Which page of the hits to return, with at most `limit` of them; [`SearchResult::counts`] then counts all.
    ///
    /// Does not apply to sessions of other members that are not on this machine.
    pub page: Option<SearchPage>,
    /// Whether to update the index first.
    pub upkeep: Upkeep,
    /// The memory for an update of the index, in bytes.
    pub index_memory: usize,
    /// Cancels the search from any thread.
    pub cancel: Cancel,
    /// Returns true when the result is needed. The index is not updated further then, and what it does not cover is not
    /// read; see [`SearchResult::unread_bytes`].
    pub is_late: Option<&'o IsLate<'o>>,
    /// Receives the number of unindexed bytes read, and their total.
    pub on_progress: Option<&'o OnProgress<'o>>,
}

impl Default for SearchOptions<'_> {
    fn default() -> Self {
        Self {
            scope: SearchScope::default(),
            files: None,
            filter: Filter::default(),
            cwd: None,
            session: None,
            admits: None,
            is_wanted: None,
            archived: Archived::Shown,
            on_path: None,
            per_session: false,
            excerpts: true,
            excerpt_room: 0,
            limit: 50,
            page: None,
            upkeep: Upkeep::default(),
            index_memory: MEMORY,
            cancel: Cancel::default(),
            is_late: None,
            on_progress: None,
        }
    }
}

/// Options for an update of the index.
pub struct IndexOptions<'o> {
    /// Cancels the update from any thread; the work done by then is kept.
    pub cancel: Cancel,
    /// Returns true when the update must end; the work done by then is kept.
    pub is_late: Option<&'o IsLate<'o>>,
    /// The memory to use, in bytes.
    pub memory: usize,
    /// Receives the number of bytes indexed and the total.
    pub on_progress: Option<&'o OnProgress<'o>>,
    /// Whether to merge everything into one segment, which makes later searches a little faster.
    pub merges_all: bool,
}

impl Default for IndexOptions<'_> {
    fn default() -> Self {
        Self { cancel: Cancel::default(), is_late: None, memory: MEMORY, on_progress: None, merges_all: false }
    }
}
