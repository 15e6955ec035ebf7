//! The licences of all crates that are in the program.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::{files_of, read, write as write_file};
use crate::command;
use crate::{Failure, TaskResult};

/// Writes the names, versions and licences of the crates that the program contains, and the texts of these licences.
pub(super) fn write(root: &Path, triple: &str, path: &Path) -> TaskResult {
    let args = ["tree", "--locked", "--package", "sessile-cli", "--edges", "normal", "--prefix", "none"];
    let tree = command::cargo(root).args(args).args(["--target", triple, "--format", "{p}\t{l}"]).output()?;
    let mut text = "# Licences of the crates in this program\n".to_owned();
    // Most crates have the same texts.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version, licence) in crates(&tree) {
        writeln!(text, "\n- {name} {version}: {licence}").map_err(|error| Failure(error.to_string()))?;
        let folder = sources(&name, &version)?;
        for file in files_of(&folder)?.into_iter().filter(|file| is_licence(file)) {
            texts.entry(read(&file)?).or_default().push(format!("{name} {version}"));
        }
    }
    for (licence, names) in texts {
        write!(text, "\n## {}\n\n```text\n{}\n```\n", names.join(", "), licence.trim_end())
            .map_err(|error| Failure(error.to_string()))?;
    }
    write_file(path, &text)
}

/// Returns the crates of other authors in the output of `cargo tree`, each once: name, version, licence.
fn crates(tree: &str) -> Vec<(String, String, String)> {
    let mut crates: Vec<(String, String, String)> = tree
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.trim_end_matches(" (*)").split_once('\t')?;
            let mut words = package.split(' ');
            let (name, version, rest) = (words.next()?, words.next()?, words.next());
            // Our own crates have a path.
            let is_own = rest.is_some_and(|rest| rest.starts_with("(/") || rest.contains(":\\"));
            let version = version.trim_start_matches('v').to_owned();
            (!is_own).then(|| (name.to_owned(), version, licence.trim_end_matches(" (*)").to_owned()))
        })
        .collect();
    crates.sort();
    crates.dedup();
    crates
}

/// Returns the sources of a crate, which cargo has unpacked to compile them.
fn sources(name: &str, version: &str) -> TaskResult<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registries = home.map(|home| home.join("registry/src")).unwrap_or_default();
    let found = files_of(&registries)?.into_iter().map(|registry| registry.join(format!("{name}-{version}")));
    found
        .into_iter()
        .find(|folder| folder.is_dir())
        .ok_or_else(|| Failure(format!("no sources of {name} {version} in {}", registries.display())))
}

fn is_licence(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let is_named = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"].iter().any(|word| name.starts_with(word));
    is_named && fs::metadata(file).is_ok_and(|meta| meta.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_crates_and_repetitions_are_left_out() {
        let tree = "sessile-cli v0.1.0 (/w/crates/cli)\tMIT\nclap v4.6.1\tMIT OR Apache-2.0\nclap v4.6.1\tMIT OR Apache-2.0 (*)\n\
                    serde_derive v1.0.1 (proc-macro)\tMIT\n";
        let crates = crates(tree);
        let names: Vec<&str> = crates.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["clap", "serde_derive"]);
        assert_eq!(crates[0].2, "MIT OR Apache-2.0");
    }

    #[test]
    fn licences_are_found_by_name() {
        assert!(is_licence(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../LICENSE-MIT")));
        assert!(!is_licence(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")));
    }
}
