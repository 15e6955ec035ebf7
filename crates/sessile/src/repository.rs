//! Which repository a directory belongs to, so that a session finds its project on another machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sessile_store::os::{FileKind, Os};
use sessile_store::read_whole;

/// The maximum length of a file of git that is read.
const MAX_LENGTH: u64 = 1 << 20;

/// A directory in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The address of the remote `origin`, in one form for all protocols: host and path.
    pub(crate) repository: String,
    /// The root of the working tree.
    pub(crate) root: PathBuf,
    /// The directory below the root.
    pub(crate) inside: PathBuf,
}

/// Returns the repository of a directory, if it has a remote `origin`. Runs no program.
pub(crate) fn place_of(os: &dyn Os, directory: &Path) -> Option<Place> {
    let root = directory.ancestors().find(|ancestor| os.stat(&ancestor.join(".git")).is_ok())?;
    let config = read_whole(os, &git_directory(os, root)?.join("config"), MAX_LENGTH).ok()?;
    let repository = normalised(&origin(&String::from_utf8_lossy(&config))?)?;
    Some(Place { repository, root: root.to_path_buf(), inside: directory.strip_prefix(root).ok()?.to_path_buf() })
}

/// Finds the repositories of many directories, each of which is read once.
#[derive(Debug, Default)]
pub(crate) struct Repositories(HashMap<String, Option<String>>);

impl Repositories {
    /// The repository of a directory, as host and path of its remote `origin`.
    pub(crate) fn of(&mut self, os: &dyn Os, directory: &str) -> Option<String> {
        if directory.is_empty() {
            return None;
        }
        if !self.0.contains_key(directory) {
            let found = place_of(os, Path::new(directory)).map(|place| place.repository);
            self.0.insert(directory.to_owned(), found);
        }
        self.0.get(directory).cloned().flatten()
    }
}

/// Whether a repository is the one that a user names: by an address of any protocol, by host and path, or by the last
/// parts of the path.
pub(crate) fn is_named(repository: &str, name: &str) -> bool {
    let name = name.trim_matches('/');
    let is_end = |name: &str| repository.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    normalised(name).is_some_and(|name| name == repository) || !name.is_empty() && is_end(name)
}

/// The directory with the repository's configuration. In a linked working tree, `.git` is a file that leads there.
fn git_directory(os: &dyn Os, root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if os.stat(&git).ok()?.kind == FileKind::Directory {
        return Some(git);
    }
    let read = |path: &Path| {
        let text = read_whole(os, path, MAX_LENGTH).ok()?;
        Some(String::from_utf8_lossy(&text).trim_end().to_owned())
    };
    let own = root.join(read(&git)?.strip_prefix("gitdir:")?.trim_start());
    let common = read(&own.join("commondir"));
    Some(common.map_or_else(|| own.clone(), |common| own.join(common)))
}

/// The address of the remote `origin` in git's configuration.
fn origin(config: &str) -> Option<String> {
    let mut is_in_origin = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_in_origin = line.replace(' ', "") == r#"[remote"origin"]"#;
        } else if is_in_origin
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "url"
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

/// Host and path of an address: `git@host:a/b.git`, `https://user@host/a/b` and `ssh://host:22/a/b` are one repository.
fn normalised(address: &str) -> Option<String> {
    let (host, path) = match address.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => address.split_once(':')?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    let host = host.split_once(':').map_or(host, |(name, _port)| name);
    let path = path.trim_matches('/').trim_end_matches(".git");
    if host.is_empty() || path.is_empty() {
        return None;
    }
    Some(format!("{}/{path}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_repository_are_equal() {
        for address in [
            "git@Host.example:team/project.git",
            "https://host.example/team/project",
            "https://user:token@host.example/team/project.git/",
            "ssh://git@host.example:2222/team/project.git",
        ] {
            assert_eq!(normalised(address).as_deref(), Some("host.example/team/project"), "{address}");
        }
        for address in ["", "/srv/git/project", "https://host.example", "file:///srv/project", "../project"] {
            assert_eq!(normalised(address), None, "{address}");
        }
    }

    #[test]
    fn a_repository_is_named_by_an_address_or_by_the_end_of_its_path() {
        let repository = "host.example/team/project";
        let names =
            ["host.example/team/project", "git@host.example:team/project.git", "https://HOST.example/team/project"];
        for name in names.into_iter().chain(["project", "team/project", "team/project/"]) {
            assert!(is_named(repository, name), "{name}");
        }
        for name in ["", "/", "ject", "team", "host.example", "https://host.example/team/other", "x/project"] {
            assert!(!is_named(repository, name), "{name}");
        }
    }

    #[test]
    fn the_origin_is_read_from_gits_configuration() {
        let config =
            "[core]\n\turl = no\n[remote \"up\"]\n\turl = no\n[remote \"origin\"]\n\tfetch = x\n\turl = a:b/c\n";
        assert_eq!(origin(config).as_deref(), Some("a:b/c"));
        assert_eq!(origin("[remote \"origin\"]\n[branch \"main\"]\nurl = no\n"), None);
    }
}
