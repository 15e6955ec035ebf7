//! Archives whose bytes depend on the names and contents of their files only.

use std::fs;
use std::path::Path;

use super::{failed, files_of, reproducible};
use crate::{Failure, TaskResult};

/// Writes `<folder>.tar.gz`, or `<folder>.zip`, into `output`, and returns its name. All files get the given time.
pub(super) fn write(output: &Path, folder: &Path, time: &str, is_zip: bool) -> TaskResult<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parent = folder.parent().unwrap_or(folder);
    set_modes(folder)?;
    if is_zip {
        let archive = output.join(format!("{name}.zip"));
        if archive.exists() {
            fs::remove_file(&archive).map_err(|error| failed("remove", &archive, &error))?;
        }
        let files = relative_files(parent, folder)?;
        let date = format!("@{time}");
        reproducible("touch").dir(parent).args(["--date", &date, "--"]).args(&files).run()?;
        reproducible("zip").dir(parent).args(["-q", "-X", "-D", "-9"]).args([&archive]).args(&files).run()?;
        return Ok(format!("{name}.zip"));
    }
    let tar = output.join(format!("{name}.tar"));
    reproducible("tar")
        .dir(parent)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"])
        .args([format!("--mtime=@{time}").as_str(), "--create", "--file"])
        .args([&tar])
        .args([&name])
        .run()?;
    compress(&tar)?;
    Ok(format!("{name}.tar.gz"))
}

/// Replaces a file by its compressed form, without its name and time.
pub(super) fn compress(file: &Path) -> TaskResult {
    reproducible("gzip").args(["--no-name", "--force", "-9", "--"]).args([file]).run()
}

/// Sets the modes of folders, programs and files, whatever the umask of the user.
pub(super) fn set_modes(folder: &Path) -> TaskResult {
    set_mode(folder, 0o755)?;
    for path in files_of(folder)? {
        if path.is_dir() {
            set_modes(&path)?;
        } else {
            let is_program = path.file_stem().is_some_and(|stem| stem == "sessile") && !is_text(&path);
            set_mode(&path, if is_program { 0o755 } else { 0o644 })?;
        }
    }
    Ok(())
}

/// Whether a file has the name of a text: completions and pages are called `sessile`, too.
fn is_text(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    let is_completion = path.parent().is_some_and(|parent| parent.ends_with("completions"));
    is_completion || ["bash", "fish", "gz", "1"].iter().any(|text| extension == *text)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> TaskResult {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| failed("set the mode of", path, &error))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "modes are set where there are any")]
fn set_mode(_path: &Path, _mode: u32) -> TaskResult {
    Ok(())
}

/// Returns all files below a folder, relative to its parent, sorted.
fn relative_files(parent: &Path, folder: &Path) -> TaskResult<Vec<String>> {
    let mut files = Vec::new();
    for path in files_of(folder)? {
        if path.is_dir() {
            files.extend(relative_files(parent, &path)?);
        } else {
            let path = path.strip_prefix(parent).map_err(|error| Failure(error.to_string()))?;
            files.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(files)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    /// Creates the same tree with other times and modes, in another order.
    fn tree(place: &Path, is_reversed: bool) -> std::path::PathBuf {
        let tree = place.join("sessile-1.0-x");
        let mut files =
            vec![("sessile", "program"), ("man/man1/sessile.1", "page"), ("completions/sessile.bash", "shell")];
        if is_reversed {
            files.reverse();
        }
        for (name, content) in files {
            let path = tree.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            let (mode, age) = if is_reversed { (0o600, 5000) } else { (0o777, 10) };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        tree
    }

    fn bytes(is_zip: bool, is_reversed: bool, content: Option<&str>) -> Vec<u8> {
        let place = std::env::temp_dir().join(format!(
            "xtask-dist-{}-{is_zip}-{is_reversed}-{}",
            std::process::id(),
            content.is_some()
        ));
        fs::create_dir_all(&place).unwrap();
        let tree = tree(&place, is_reversed);
        if let Some(content) = content {
            fs::write(tree.join("sessile"), content).unwrap();
        }
        let name = write(&place, &tree, "1700000000", is_zip).unwrap();
        let bytes = fs::read(place.join(name)).unwrap();
        fs::remove_dir_all(place).unwrap();
        bytes
    }

    #[test]
    fn an_archive_depends_on_names_and_contents_only() {
        for is_zip in [false, true] {
            if !crate::tools::is_on_path(if is_zip { "zip" } else { "tar" }) {
                continue;
            }
            let archive = bytes(is_zip, false, None);
            assert!(!archive.is_empty());
            assert_eq!(archive, bytes(is_zip, true, None), "zip: {is_zip}");
            assert_ne!(archive, bytes(is_zip, false, Some("another")), "zip: {is_zip}");
        }
    }

    #[test]
    fn only_the_program_is_executable() {
        let place = std::env::temp_dir().join(format!("xtask-dist-modes-{}", std::process::id()));
        let tree = tree(&place, false);
        set_modes(&tree).unwrap();
        let mode = |name: &str| fs::metadata(tree.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            ["", "sessile", "man/man1/sessile.1", "completions/sessile.bash"].map(mode),
            [0o755, 0o755, 0o644, 0o644]
        );
        fs::remove_dir_all(place).unwrap();
    }
}
