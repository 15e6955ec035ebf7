//! What a caller may choose about searching.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::EntryId;
use sessile_core::search::filter::Filter;

use crate::list::Archived;
use sessile_core::cancel::Cancel;

/// Which sessions are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// Those of a working directory, in a directory of the caller's choice or where pi keeps them.
    Cwd {
        /// The working directory.
        cwd: PathBuf,
        /// Where its sessions are, if not where pi keeps them.
        dir: Option<PathBuf>,
    },
    /// All of them: those in one directory, or in every directory in which pi keeps sessions.
    All {
        /// The one directory.
        dir: Option<PathBuf>,
    },
    /// These files and no others. Whoever has just written to a session need not have all of them looked at.
    Files(Vec<PathBuf>),
}

impl Default for SearchScope {
    fn default() -> Self {
        Self::All { dir: None }
    }
}

/// Whether to bring the index up to date before a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upkeep {
    /// If that takes no longer than a second or so; what is not indexed is read.
    #[default]
    IfCheap,
    /// Not now: what is not indexed is read.
    Never,
    /// If there is enough to be worth its while, however long that takes.
    IfWorthwhile,
    /// However long it takes, and however little there is.
    Always,
}

/// Which entries of a session count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnPath {
    /// Those on the path to the last entry.
    Leaf,
    /// Those on the path to this entry; none in a session that does not have it.
    Entry(EntryId),
}

/// A function that says whether a session counts, by path and working directory.
pub(crate) type Admits<'o> = dyn Fn(&Path, &str) -> bool + Sync + 'o;

/// A function that is told how many bytes are done, of how many.
pub(crate) type OnProgress<'o> = dyn Fn(u64, u64) + Sync + 'o;

/// What a search should do, and where.
pub struct SearchOptions<'o> {
    /// Where to look.
    pub scope: SearchScope,
    /// Which entries count.
    pub filter: Filter,
    /// Only sessions of this working directory, or of one in it.
    pub cwd: Option<PathBuf>,
    /// Only this session: its path, its file name, or how its id begins.
    pub session: Option<String>,
    /// Only sessions that this says yes to, by path and working directory: those of a repository, say.
    pub admits: Option<&'o Admits<'o>>,
    /// What about sessions that are archived. Files that are given one by one are always searched.
    pub archived: Archived,
    /// Only entries on one path; all branches otherwise.
    pub on_path: Option<OnPath>,
    /// Whether only the best entry of each session is wanted.
    pub per_session: bool,
    /// Whether to show what was found. If not, only where it was found is told, and the files are not looked at again.
    pub excerpts: bool,
    /// How many entries are wanted.
    pub limit: usize,
    /// Whether to bring the index up to date first.
    pub upkeep: Upkeep,
    /// How long ago all files may have been looked at last; zero to look at each of them now.
    ///
    /// Everything that was written longer ago is seen. What was written since may be; what was removed is not shown.
    pub max_age: Duration,
    /// Stops the search from any thread.
    pub cancel: Option<Cancel>,
    /// Told how many bytes have been read of those that the index does not cover.
    pub on_progress: Option<&'o OnProgress<'o>>,
}

impl Default for SearchOptions<'_> {
    fn default() -> Self {
        Self {
            scope: SearchScope::default(),
            filter: Filter::default(),
            cwd: None,
            session: None,
            admits: None,
            archived: Archived::Shown,
            on_path: None,
            per_session: false,
            excerpts: true,
            limit: 50,
            upkeep: Upkeep::default(),
            max_age: Duration::ZERO,
            cancel: None,
            on_progress: None,
        }
    }
}

/// What an update of the index should do besides.
#[derive(Default)]
pub struct IndexOptions<'o> {
    /// Stops the update from any thread; what is done by then stays done.
    pub cancel: Option<Cancel>,
    /// Told how many bytes have been indexed, of how many.
    pub on_progress: Option<&'o OnProgress<'o>>,
    /// Whether to merge everything into one segment, which makes later searches a little faster.
    pub merges_all: bool,
}
