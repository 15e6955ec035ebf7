//! Determines the repository of a directory from the file system.

use std::path::{Path, PathBuf};

use sessile_core::location::resolve;
use sessile_store::os::{FileKind, Identity, Mode, Os, read_upto};

/// The maximum length of files that name a repository or a branch.
const MAX_TEXT: u64 = 4096;

/// A repository and one of its worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkout {
    /// The directory that all worktrees of the repository share.
    pub(crate) common: PathBuf,
    /// The identity of that directory, independent of the path to it.
    pub(crate) identity: Identity,
    /// The top of the worktree.
    pub(crate) top: PathBuf,
    /// The branch that is checked out; `None` for a detached HEAD.
    pub(crate) branch: Option<String>,
}

/// The worktree that contains a directory, if any.
pub(crate) fn checkout_of(os: &dyn Os, directory: &Path) -> Option<Checkout> {
    directory.ancestors().find_map(|top| checkout_at(os, top))
}

fn checkout_at(os: &dyn Os, top: &Path) -> Option<Checkout> {
    let entry = top.join(".git");
    let own = match os.stat(&entry).ok()?.kind {
        FileKind::Directory => entry,
        // A worktree or a submodule: the file names the actual directory.
        FileKind::Regular => {
            let text = first_line(os, &entry)?;
            clean(top, Path::new(text.strip_prefix("gitdir:")?.trim()))
        }
        FileKind::Other => return None,
    };
    let head = first_line(os, &own.join("HEAD"))?;
    let common = first_line(os, &own.join("commondir")).map(|path| clean(&own, Path::new(&path)));
    let common = common.unwrap_or_else(|| own.clone());
    let identity = os.stat(&common).ok().filter(|stat| stat.kind == FileKind::Directory)?.identity;
    let branch = head.strip_prefix("ref:").map(|name| {
        let name = name.trim();
        name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
    });
    Some(Checkout { common, identity, top: top.to_path_buf(), branch })
}

/// Resolves a path from a file in this directory.
fn clean(directory: &Path, path: &Path) -> PathBuf {
    // No home directory: git does not expand `~` here.
    resolve(path, directory, Path::new("~"))
}

/// The first line of a small file, trimmed; `None` if it is not a regular file.
fn first_line(os: &dyn Os, path: &Path) -> Option<String> {
    os.stat(path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
    let file = os.open(path, Mode::Read).ok()?;
    let bytes = read_upto(file.as_ref(), 0, MAX_TEXT).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().next().map(|line| line.trim().to_owned())
}
