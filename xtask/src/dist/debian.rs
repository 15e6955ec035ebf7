//! The Debian package, and its installation into an empty system.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Release, archive, copy, failed, files_of, recreate, reproducible, write as write_file};
use crate::command;
use crate::{Failure, TaskResult};

/// Where the files of an archive go.
const PLACES: [(&str, &str); 7] = [
    ("sessile", "usr/bin/sessile"),
    ("completions/sessile.bash", "usr/share/bash-completion/completions/sessile"),
    ("completions/_sessile", "usr/share/zsh/vendor-completions/_sessile"),
    ("completions/sessile.fish", "usr/share/fish/vendor_completions.d/sessile.fish"),
    ("README.md", "usr/share/doc/sessile/README.md"),
    ("THIRD-PARTY.md", "usr/share/doc/sessile/THIRD-PARTY.md"),
    ("CHANGELOG.md", "usr/share/doc/sessile/changelog"),
];

const MANUAL: &str = "usr/share/man/man1";

/// Writes the package of an archive's files, and returns its name.
pub(super) fn write(release: &Release, processor: &str, files: &Path) -> TaskResult<String> {
    let name = format!("sessile_{}_{processor}.deb", release.version);
    let tree = release.output.join("trees").join(&name);
    recreate(&tree)?;
    for (file, place) in PLACES {
        copy(&files.join(file), &tree.join(place))?;
    }
    archive::compress(&tree.join("usr/share/doc/sessile/changelog"))?;
    write_file(&tree.join("usr/share/doc/sessile/copyright"), &copyright(release)?)?;
    for page in files_of(&files.join("man/man1"))? {
        let place = tree.join(MANUAL).join(page.file_name().unwrap_or_default());
        copy(&page, &place)?;
        archive::compress(&place)?;
    }
    archive::set_modes(&tree)?;
    let installed = installed_files(&tree)?;
    let n_bytes: u64 = installed.iter().filter_map(|path| Some(fs::metadata(tree.join(path)).ok()?.len())).sum();
    let sums = command::program("md5sum").dir(&tree).args(&installed).output()? + "\n";
    write_file(&tree.join("DEBIAN/md5sums"), &sums)?;
    write_file(&tree.join("DEBIAN/control"), &control(&release.version, processor, n_bytes.div_ceil(1024)))?;
    archive::set_modes(&tree)?;
    reproducible("dpkg-deb")
        .env("SOURCE_DATE_EPOCH", &release.time)
        .args(["--build", "--root-owner-group", "-Zxz"])
        .args([&tree, &release.output.join(&name)])
        .output()?;
    Ok(name)
}

fn control(version: &str, processor: &str, kilobytes: u64) -> String {
    format!(
        "Package: sessile\nVersion: {version}\nArchitecture: {processor}\nMaintainer: The authors of Sessile\n\
         Installed-Size: {kilobytes}\nSection: utils\nPriority: optional\n\
         Description: session engine for coding agents\n \
         Sessile finds, shows, branches, forks, repairs and searches the session files\n \
         of coding agents such as pi, and never loses an acknowledged entry.\n"
    )
}

fn copyright(release: &Release) -> TaskResult<String> {
    let mit = super::read(&release.root.join("LICENSE-MIT"))?;
    let apache = "Or, at your option, under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0";
    Ok(format!("Sessile\n\n{mit}\n{apache}\n\nTHIRD-PARTY.md has the licences of the crates in the program.\n"))
}

/// Returns all files below a folder, relative to it, sorted, without those of the package itself.
fn installed_files(tree: &Path) -> TaskResult<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![tree.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in files_of(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(path) = path.strip_prefix(tree)
                && !path.starts_with("DEBIAN")
            {
                files.push(path.to_path_buf());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Installs a package into an empty system, runs the program there, and removes the package again. The system has no
/// library, so a program that needs any does not start.
pub(super) fn test(release: &Release, package: &str, runs_here: bool) -> TaskResult {
    if command::program("id").args(["-u"]).probe().as_deref() != Some("0") {
        println!("SKIPPED the installation of {package}: it needs root");
        return Ok(());
    }
    let system = release.output.join("system");
    recreate(&system)?;
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "tmp", "root"] {
        let folder = system.join(folder);
        fs::create_dir_all(&folder).map_err(|error| failed("create", &folder, &error))?;
    }
    write_file(&system.join("var/lib/dpkg/status"), "")?;
    let before = outside_database(&system)?;
    let dpkg = |args: &[&str]| {
        let root = format!("--root={}", system.display());
        command::program("dpkg").dir(&release.output).args([root.as_str(), "--force-architecture"]).args(args)
    };
    dpkg(&["--install", package]).output()?;
    let after = outside_database(&system)?;
    if !after.contains(Path::new("usr/bin/sessile")) || !after.contains(&Path::new(MANUAL).join("sessile.1.gz")) {
        return Err(Failure(format!("{package} did not install the program and its page: {after:?}")));
    }
    if runs_here {
        let version = chroot(&system, &["/usr/bin/sessile", "--version", "--verbose"])?;
        if !version.contains(&release.version) || !version.contains(&release.commit) {
            return Err(Failure(format!("the installed program is another one:\n{version}")));
        }
        let list = chroot(&system, &["/usr/bin/sessile", "--sample=/tmp/sample", "list"])?;
        if !list.contains("High water") {
            return Err(Failure(format!("the installed program does not work:\n{list}")));
        }
        let sample = system.join("tmp/sample");
        fs::remove_dir_all(&sample).map_err(|error| failed("remove", &sample, &error))?;
    }
    let pages_of_root: BTreeSet<PathBuf> =
        outside_database(&system)?.into_iter().filter(|path| path.starts_with("root")).collect();
    dpkg(&["--purge", "sessile"]).output()?;
    let left: BTreeSet<PathBuf> = outside_database(&system)?
        .into_iter()
        // What the program itself keeps for its user.
        .filter(|path| !before.contains(path) && !pages_of_root.contains(path))
        .collect();
    if !left.is_empty() {
        return Err(Failure(format!("{package} left files behind: {left:?}")));
    }
    println!(
        "{package}: installed into an empty system, {}, removed without a trace",
        if runs_here { "used" } else { "not run" }
    );
    fs::remove_dir_all(&system).map_err(|error| failed("remove", &system, &error))
}

/// Returns the files of a system without the database of dpkg.
fn outside_database(system: &Path) -> TaskResult<BTreeSet<PathBuf>> {
    Ok(installed_files(system)?.into_iter().filter(|path| !path.starts_with("var/lib/dpkg")).collect())
}

/// Runs a program in a system, and returns its output.
fn chroot(system: &Path, args: &[&str]) -> TaskResult<String> {
    command::program("chroot").args([system]).args(args).env("HOME", "/root").env("TZ", "UTC").output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_what_debian_requires() {
        let control = control("1.2.3", "amd64", 42);
        for field in ["Package: sessile", "Version: 1.2.3", "Architecture: amd64", "Maintainer: ", "Description: "] {
            assert!(control.lines().any(|line| line.starts_with(field)), "{field}: {control}");
        }
        assert!(control.ends_with('\n') && !control.contains("\n\n"));
    }
}
