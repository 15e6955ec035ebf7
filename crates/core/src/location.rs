//! Locations of sessions: paths, directory names, file names and ids.
//!
//! Everything here works on the text of paths. Nothing accesses the disk or follows symbolic links.

use crate::SessionId;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Expands `~`, `~/…` and `file://…`. Other paths are unchanged.
///
/// On Windows, it also expands `~\…`, and translates the paths of Git Bash, Cygwin and WSL, such as `/c/work`, as pi does.
///
/// ```
/// # use sessile_core as sessile;
/// use std::path::Path;
/// use sessile::format::location::normalise;
/// let home = Path::new("/home/me");
/// assert_eq!(normalise(Path::new("~/x"), home), Path::new("/home/me/x"));
/// assert_eq!(normalise(Path::new("file:///a%20b"), home), Path::new("/a b"));
/// assert_eq!(normalise(Path::new("~you/x"), home), Path::new("~you/x"));
/// ```
pub fn normalise(path: &Path, home: &Path) -> PathBuf {
    let text = path.as_os_str().as_encoded_bytes();
    if text == b"~" {
        return home.to_path_buf();
    }
    if (text.starts_with(b"~/") || (cfg!(windows) && text.starts_with(b"~\\")))
        && let Ok(rest) = path.strip_prefix("~")
    {
        return home.join(rest);
    }
    let translated = path.to_str().and_then(|text| {
        let on_drive = if cfg!(windows) { shell_path(text).map(PathBuf::from) } else { None };
        on_drive.or_else(|| file_url_path(text))
    });
    translated.unwrap_or_else(|| path.to_path_buf())
}

/// Translates a path of a Unix shell on Windows, such as `/c/work`, `/mnt/c/work` or `/cygdrive/c/work`.
fn shell_path(path: &str) -> Option<String> {
    let rest = path.strip_prefix('/').filter(|_| !path.contains('\\'))?;
    let rest = rest.strip_prefix("mnt/").or(rest.strip_prefix("cygdrive/")).unwrap_or(rest);
    let (drive, below) = rest.split_once('/').unwrap_or((rest, ""));
    let mut letters = drive.chars();
    let letter = letters.next().filter(|letter| letter.is_ascii_alphabetic() && letters.next().is_none())?;
    Some(format!("{}:\\{}", letter.to_ascii_uppercase(), below.replace('/', "\\")))
}

/// The path of a `file:` URL, if it names a file on this machine.
fn file_url_path(url: &str) -> Option<PathBuf> {
    let rest = url.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = rest.split(['?', '#']).next()?;
    if !path.starts_with('/') {
        return None;
    }
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            decoded.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    let path = String::from_utf8(decoded).ok()?;
    // On Windows, the slash before a drive is not part of the path.
    let on_drive = path.strip_prefix('/').filter(|rest| cfg!(windows) && rest.as_bytes().get(1) == Some(&b':'));
    Some(PathBuf::from(on_drive.unwrap_or(&path)))
}

/// Makes a path absolute relative to `base` and removes `.`, `..` and repeated separators from its text.
///
/// ```
/// # use sessile_core as sessile;
/// use std::path::Path;
/// use sessile::format::location::resolve;
/// let (base, home) = (Path::new("/proj"), Path::new("/home/me"));
/// assert_eq!(resolve(Path::new("a/../b/./c/"), base, home), Path::new("/proj/b/c"));
/// ```
pub fn resolve(path: &Path, base: &Path, home: &Path) -> PathBuf {
    let full = normalise(base, home).join(normalise(path, home));
    let mut clean = PathBuf::new();
    for part in full.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Converts the encoded bytes of a path's text, or of a part of it, back to text.
///
/// Where text consists of characters and not of bytes, as on Windows, it ends at the first character that is invalid.
/// Windows permits such names, but hardly any program can write one.
pub fn path_text(bytes: &[u8]) -> &OsStr {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    #[cfg(not(unix))]
    return OsStr::new(bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid()));
}

/// The name of the directory that holds a working directory's sessions.
///
/// `cwd` must be resolved. Different directories can share a name: `/a/b-c` and `/a-b/c` do.
///
/// ```
/// # use sessile_core as sessile;
/// use std::path::Path;
/// use sessile::format::location::encode_cwd;
/// assert_eq!(encode_cwd(Path::new("/home/u/proj")), "--home-u-proj--");
/// ```
pub fn encode_cwd(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let rest = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    format!("--{}--", rest.replace(['/', '\\', ':'], "-"))
}

/// The file name of a session: its creation time and its id.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::format::location::file_name;
/// assert_eq!(file_name("2026-11-15T00:19:04.054Z", &"x".into()), "2026-11-15T00-19-04-054Z_x.jsonl");
/// ```
pub fn file_name(timestamp: &str, session_id: &SessionId) -> String {
    format!("{}_{session_id}.jsonl", timestamp.replace([':', '.'], "-"))
}

/// Whether discovery treats a file of this name as a session.
pub fn is_session_file_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".jsonl")
}

/// The maximum length of a session id chosen by a caller, so that file names stay valid.
pub const MAX_SESSION_ID: usize = 128;

/// Why an id cannot name a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSessionId {
    /// It does not have the form of a session id.
    #[error(
        "a session id must consist of ASCII letters, digits, '-', '_' and '.', and start and end with a letter or digit"
    )]
    Form,
    /// It has more than [`MAX_SESSION_ID`] characters.
    #[error("a session id must have at most {MAX_SESSION_ID} characters")]
    TooLong,
}

/// Validates a session id that a caller chose.
pub fn check_session_id(id: &str) -> Result<(), BadSessionId> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let ends = [id.bytes().next(), id.bytes().last()];
    let is_formed = id.as_bytes().iter().all(allowed)
        && ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()));
    if !is_formed {
        return Err(BadSessionId::Form);
    }
    if id.len() > MAX_SESSION_ID { Err(BadSessionId::TooLong) } else { Ok(()) }
}

/// A short hash of a name: FNV-1a, the same in every version of this program.
pub fn fingerprint(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn encoded(cwd: &str) -> String {
        encode_cwd(&resolve(Path::new(cwd), Path::new("/base"), Path::new("/home/u")))
    }

    #[test]
    fn paths_of_unix_shells_on_windows_are_translated() {
        for (path, translated) in
            [("/c/work/x", r"C:\work\x"), ("/c", "C:\\"), ("/mnt/d/x", r"D:\x"), ("/cygdrive/e/x", r"E:\x")]
        {
            assert_eq!(shell_path(path).as_deref(), Some(translated), "{path}");
        }
        for path in ["/", "/home/u", "//c/x", "c/x", r"/c\x", "/1/x", ""] {
            assert_eq!(shell_path(path), None, "{path}");
        }
    }

    #[cfg(windows)]
    #[test]
    fn encodes_directories_of_windows_as_pi() {
        let (base, home) = (Path::new(r"D:\base"), Path::new(r"C:\Users\u"));
        for (cwd, name) in [
            (r"C:\Users\u\proj", "--C--Users-u-proj--"),
            (r"c:/work/./a\..\b\", "--c--work-b--"),
            ("/c/work/b", "--C--work-b--"),
            (r"C:\", "--C----"),
            (r"\\server\share\x", "---server-share-x--"),
            (r"~\x", "--C--Users-u-x--"),
            ("~", "--C--Users-u--"),
            (r"\x", "--D--x--"),
            ("x y", "--D--base-x y--"),
            ("file:///C:/a%20b", "--C--a b--"),
        ] {
            assert_eq!(encode_cwd(&resolve(Path::new(cwd), base, home)), name, "{cwd}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn encodes_directories_as_pi() {
        for (cwd, name) in [
            ("/home/u/proj", "--home-u-proj--"),
            ("/home/u/proj/", "--home-u-proj--"),
            ("/", "----"),
            ("/home/u/../v/./x", "--home-v-x--"),
            ("/a/b-c", "--a-b-c--"),
            ("/a-b/c", "--a-b-c--"),
            ("/a/C:\\x y", "--a-C--x y--"),
            ("//net/share", "--net-share--"),
            ("/日本/é", "--日本-é--"),
            ("~", "--home-u--"),
            ("~/x", "--home-u-x--"),
            ("~u/x", "--base-~u-x--"),
            ("file:///tmp/q%20r", "--tmp-q r--"),
            (".", "--base--"),
            (" /lead", "--base- -lead--"),
            ("/../..", "----"),
        ] {
            assert_eq!(encoded(cwd), name, "{cwd}");
        }
    }

    #[test]
    fn urls_of_other_machines_are_not_paths() {
        let home = Path::new("/h");
        assert_eq!(normalise(Path::new("file://host/x"), home), Path::new("file://host/x"));
        assert_eq!(normalise(Path::new("file:///x%zz"), home), Path::new("file:///x%zz"));
    }

    #[test]
    fn session_ids_are_validated() {
        for id in ["a", "ab", "a-b_c.d", "A1", "a..b", &"x".repeat(128)] {
            assert_eq!(check_session_id(id), Ok(()), "{id}");
        }
        for id in ["", "-a", "a-", ".a", "a.", "a b", "a/b", "é", "a\n", "../x"] {
            assert_eq!(check_session_id(id), Err(BadSessionId::Form), "{id}");
        }
        assert_eq!(check_session_id(&"x".repeat(129)), Err(BadSessionId::TooLong));
    }
}
