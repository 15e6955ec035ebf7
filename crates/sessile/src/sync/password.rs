//! Files with passwords and keys of remotes.

use std::io;
use std::path::Path;

use sessile_store::os::Os;
use sessile_store::{StoreError, create_file, read_whole};

/// The maximum length of a file.
const MAX_LENGTH: u64 = 1 << 20;

/// Reads a file that has a password, or the lines of a `.pgpass` with one of the user. Refuses a file that other users can
/// read. No error contains a part of it.
pub fn read_password(os: &dyn Os, file: &Path, user: &str) -> io::Result<String> {
    let text = read_private_file(os, file)?;
    let of_user = text.lines().find_map(|line| password_of(line, user));
    let password = of_user.or_else(|| text.lines().next().map(str::to_owned)).unwrap_or_default();
    if password.is_empty() { Err(failed(file, "there is no password in it")) } else { Ok(password) }
}

/// Reads a file with secrets. Refuses a file that other users can read. No error contains a part of it.
pub fn read_private_file(os: &dyn Os, file: &Path) -> io::Result<String> {
    let stat = os.stat(file).map_err(|error| failed(file, &error.to_string()))?;
    if stat.mode & 0o077 != 0 {
        return Err(failed(file, "other users can read it; use chmod 600"));
    }
    let text = read_whole(os, file, MAX_LENGTH).map_err(|error| failed(file, &error.to_string()))?;
    String::from_utf8(text).map_err(|_not_text| failed(file, "it is not UTF-8"))
}

fn failed(file: &Path, what: &str) -> io::Error {
    io::Error::other(format!("{}: {what}", file.display()))
}

/// Writes a password to a new file that only this user reads. Never replaces a file.
pub fn create_password(os: &dyn Os, file: &Path, password: &str) -> io::Result<()> {
    let written = create_file(os, file, true, &mut |out| {
        let line = out.write_all(password.as_bytes()).and_then(|()| out.write_all(b"\n"));
        line.map_err(|error| StoreError::io_at("write", file, error))
    });
    written.map_err(|error| io::Error::other(error.to_string()))
}

/// The password in a line `host:port:database:user:password`, if it is for this user.
fn password_of(line: &str, user: &str) -> Option<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => fields.last_mut()?.extend(chars.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            char => fields.last_mut()?.push(char),
        }
    }
    let password = fields.pop().filter(|_| fields.len() == 4)?;
    (fields[3] == user || fields[3] == "*").then_some(password)
}

#[cfg(test)]
mod tests {
    use sessile_store::os::{MemoryOs, Mode, append_fully};

    use super::*;

    #[test]
    fn a_new_file_has_the_password_and_replaces_nothing() {
        let os = MemoryOs::new();
        let path = Path::new("/password");
        create_password(&os, path, "hunter2").unwrap();
        assert_eq!(os.stat(path).unwrap().mode & 0o777, 0o600);
        assert_eq!(read_password(&os, path, "ada").unwrap(), "hunter2");
        assert!(create_password(&os, path, "other").is_err());
        assert_eq!(read_password(&os, path, "ada").unwrap(), "hunter2");
    }

    #[test]
    fn a_file_has_one_password_or_those_of_users() {
        let read = |text: &str, mode: u32| {
            let os = MemoryOs::new();
            let path = Path::new("/password");
            append_fully(os.open(path, Mode::New).unwrap().as_ref(), text.as_bytes()).unwrap();
            os.set_mode(path, mode).unwrap();
            read_password(&os, path, "ada").map_err(|error| error.to_string())
        };
        assert_eq!(read("hunter2\n", 0o600).unwrap(), "hunter2");
        assert_eq!(read("a:b\n", 0o600).unwrap(), "a:b");
        assert_eq!(read("h:5432:db:bob:no\nh:5432:db:ada:pa:ss\\\\\\:w\n", 0o600).unwrap(), "pa:ss\\:w");
        assert_eq!(read("*:*:*:*:all\n", 0o400).unwrap(), "all");
        assert!(read("\n", 0o600).unwrap_err().contains("no password"));
        let error = read("hunter2\n", 0o640).unwrap_err();
        assert!(error.contains("chmod 600") && !error.contains("hunter2"), "{error}");
    }
}
