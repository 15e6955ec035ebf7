//! Small shell scripts that start programs with the libraries and variables they need.
//!
//! Cargo takes the path of a linker and of a runner, and no variables for them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failure, TaskResult};

/// A folder of scripts.
pub(super) struct Scripts {
    pub(super) folder: PathBuf,
}

impl Scripts {
    pub(super) fn new(cache: &Path, name: &str) -> TaskResult<Self> {
        let folder = cache.join(name);
        fs::create_dir_all(&folder).map_err(|error| Failure(format!("cannot create {}: {error}", folder.display())))?;
        Ok(Self { folder })
    }

    /// Writes the script that starts a program with libraries in these folders, variables and first arguments.
    pub(super) fn write(
        &self,
        name: &str,
        libraries: &str,
        variables: &[(&str, &str)],
        program: &Path,
        args: &[&str],
    ) -> TaskResult<PathBuf> {
        let path = self.folder.join(name);
        let text = script(libraries, variables, &program.to_string_lossy(), args);
        let failed = |error: std::io::Error| Failure(format!("cannot write {}: {error}", path.display()));
        // A running script must not change.
        if fs::read_to_string(&path).is_ok_and(|written| written == text) {
            return Ok(path);
        }
        fs::write(&path, text).map_err(failed)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        }
        Ok(path)
    }
}

fn script(libraries: &str, variables: &[(&str, &str)], program: &str, args: &[&str]) -> String {
    let libraries = (!libraries.is_empty()).then_some(("LD_LIBRARY_PATH", libraries));
    let export = |(name, value): &(&str, &str)| format!("export {name}={}\n", quoted(value));
    let exports: String = libraries.iter().chain(variables).map(export).collect();
    let words: Vec<String> = std::iter::once(&program).chain(args).map(|word| quoted(word)).collect();
    format!("#!/bin/sh\n{exports}exec {} \"$@\"\n", words.join(" "))
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_starts_its_program() {
        let expected =
            "#!/bin/sh\nexport LD_LIBRARY_PATH='/a:/b c'\nexport WINEPATH='Z:\\x'\nexec '/it'\\''s' '-L' \"$@\"\n";
        assert_eq!(script("/a:/b c", &[("WINEPATH", r"Z:\x")], "/it's", &["-L"]), expected);
        assert_eq!(script("", &[], "wine64", &[]), "#!/bin/sh\nexec 'wine64' \"$@\"\n");
    }
}
