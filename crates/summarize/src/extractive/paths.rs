//! Paths, shown without their common root.

use super::turns::Turn;
use super::wording::line;

/// The directory that holds the files of a conversation.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Ends with a slash; empty if there is no root worth leaving out.
    root: String,
}

impl Paths {
    /// Finds the common root of the files.
    pub(super) fn of(turns: &[Turn<'_>]) -> Self {
        let mut paths = turns
            .iter()
            .flat_map(Turn::calls)
            .filter_map(|call| call.path.as_deref())
            .filter(|path| path.starts_with('/'));
        let Some(first) = paths.next() else { return Self::default() };
        let mut root = directory_of(first);
        for path in paths {
            while !path.starts_with(root) {
                root = directory_of(root.trim_end_matches('/'));
            }
        }
        // A short root is not worth a line.
        let root = if root.matches('/').count() >= 3 { root } else { "" };
        Self { root: root.to_owned() }
    }

    /// The common root, if any.
    pub(super) fn root(&self) -> Option<&str> {
        Some(self.root.trim_end_matches('/')).filter(|root| !root.is_empty())
    }

    /// The first `most` paths, and the number of the others.
    pub(super) fn list(&self, paths: &[&str], most: usize) -> String {
        let shown = paths.iter().take(most).map(|path| {
            let path = path.strip_prefix(self.root.as_str()).filter(|rest| !rest.is_empty()).unwrap_or(path);
            format!("`{}`", line(path, 120).replace('`', "'"))
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        match paths.len().saturating_sub(most) {
            0 => shown,
            n_more => format!("{shown} and {n_more} more"),
        }
    }
}

/// A path up to and including its last slash.
fn directory_of(path: &str) -> &str {
    path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or_default()
}
