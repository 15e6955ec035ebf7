//! Lines that a shell runs.

use std::path::Path;
use std::process::Command;

/// Returns a command in which a shell runs a line about a file. `line` receives the words that stand for the file in
/// the line.
///
/// The file's path is a separate argument, so the shell cannot interpret anything in it. On Windows, `cmd` has no such
/// arguments. There the line has the path itself, in quotation marks, which a path cannot contain.
pub fn shell(line: impl FnOnce(&str) -> String, file: &Path) -> Command {
    #[cfg(not(windows))]
    {
        let mut command = Command::new("sh");
        command.args(["-c", &line("\"$1\""), "sh"]).arg(file);
        command
    }
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt;
        let mut command = Command::new("cmd");
        let line = line(&format!("\"{}\"", file.display()));
        command.args(["/D", "/S", "/C"]).raw_arg(format!("\"{line}\""));
        command
    }
}
