//! Distinguishes real differences from intentional ones.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use sessile::SessionManager;
use sessile::format::diagnostic::Oddity;
use sessile::format::head::{Kind, Parsed, read};

use crate::observe::{VIEW_NAMES, observe};
use crate::oracle::{Answer, Oracle};

/// An intentional difference from pi. docs/compatibility.md has the reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Explained {
    /// pi does not return from cycles of parents, or hides their members; we cut them.
    Loop,
    /// pi continues after an entry without an id as if there were no session; we skip the entry.
    NoIdLeaf,
    /// pi throws on an entry that it cannot read; we skip that entry.
    OddEntry,
    /// pi removes the content if a context edit has none to offer, or throws; we ignore that edit.
    OddEdit,
    /// pi sorts siblings without a valid time arbitrarily; we put them last.
    OddTime,
    /// pi completes an unfinished last line when it opens a file; we do so when we append.
    NewlineLater,
    /// pi rewrites files of older versions when it opens them; we do so when we append.
    UpgradeLater,
    /// pi writes the header of an empty file when it opens it; we do so when we append.
    HeaderLater,
    /// pi drops lines it cannot read when it copies or upgrades; we keep them.
    LinesKept,
    /// pi re-serialises values when it copies or upgrades; we copy bytes.
    SpellingKept,
    /// pi appends to files of newer versions; we refuse.
    NewerVersion,
    /// pi treats a byte order mark as damage; we skip it.
    ByteOrderMark,
    /// pi fails on a value that is not an object in a version 1 file, or breaks the chain there; we skip it.
    OddUpgrade,
    /// pi never answers a request, or ends; we answer.
    NoAnswer,
}

impl Explained {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Loop,
        Self::NoIdLeaf,
        Self::OddEntry,
        Self::OddEdit,
        Self::OddTime,
        Self::NewlineLater,
        Self::UpgradeLater,
        Self::HeaderLater,
        Self::LinesKept,
        Self::SpellingKept,
        Self::NewerVersion,
        Self::ByteOrderMark,
        Self::OddUpgrade,
        Self::NoAnswer,
    ];
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Compares all views of the two, the paths of their files and the contents. Returns the explained differences.
///
/// `was_copied` means that pi has re-serialised existing lines.
pub(crate) fn compare_sessions(
    oracle: &mut Oracle,
    ours: &SessionManager,
    paths: &Paths,
    was_copied: bool,
) -> Result<Vec<Explained>, String> {
    let seen = oracle.ask(r#"{"cmd":"observe"}"#);
    if let Some(error) = seen.error() {
        return Err(format!("pi shows nothing: {error}"));
    }
    if seen.observation("leafDefined") == Ok("false") {
        return Ok(vec![Explained::NoIdLeaf]);
    }
    let mut explained = compare_views(oracle, &seen, ours, paths)?;
    let file: Option<PathBuf> = serde_json::from_str(seen.observation("file").unwrap()).unwrap();
    let our_file = ours.session_file().map(Path::to_path_buf);
    if file.as_deref().map(|file| paths.ours_of(file)) != our_file {
        return Err(format!("path\n    pi: {file:?}\n  ours: {our_file:?}"));
    }
    let (Some(file), Some(our_file)) = (file, our_file) else { return Ok(explained) };
    match (fs::read(&file).ok(), fs::read(&our_file).ok()) {
        (Some(_), Some(_)) if ours.outline().upgrade().is_needed() => explained.push(Explained::UpgradeLater),
        (Some(their), Some(our)) => {
            let our = paths.bytes_as_pi(&our);
            explained.extend(compare_files(oracle, &their, &our, was_copied)?);
        }
        (None, None) => {}
        (their, our) => {
            return Err(format!("file exists\n    pi: {}\n  ours: {}", their.is_some(), our.is_some()));
        }
    }
    Ok(explained)
}

/// Compares all views of the two. Returns the explained differences.
pub(crate) fn compare_views(
    oracle: &mut Oracle,
    pi: &Answer,
    ours: &SessionManager,
    paths: &Paths,
) -> Result<Vec<Explained>, String> {
    let oddities: Vec<Oddity> = ours.diagnostics().into_iter().map(|diagnostic| diagnostic.oddity).collect();
    let has = |wanted: &dyn Fn(&Oddity) -> bool| oddities.iter().any(wanted);
    let has_loop = has(&|oddity| matches!(oddity, Oddity::Loop | Oddity::OwnParent));
    let has_no_id = has(&|oddity| matches!(oddity, Oddity::NoId | Oddity::NotObject));
    let has_odd_time = has(&|oddity| matches!(oddity, Oddity::OddTime));
    let has_odd_edit = has_odd_edit(ours);
    let seen = observe(ours);
    let mut explained = Vec::new();
    for name in VIEW_NAMES {
        let their = pi.observation(name);
        let our = seen[name].as_deref();
        let (Ok(their), Ok(our)) = (their, our) else {
            match (their, our) {
                (Err("loop" | "budget"), Ok(_)) => explained.push(Explained::Loop),
                (Err(error), Ok(_)) if error.starts_with("TypeError") => explained.push(Explained::OddEntry),
                (Err("(absent)"), Ok(_)) => {}
                _ => return Err(format!("{name}\n    pi: {their:?}\n  ours: {our:?}")),
            }
            continue;
        };
        let our = paths.as_pi(our);
        if their == our || oracle.normalise(&our).as_deref() == Some(their) {
            continue;
        }
        match name {
            "context" | "projection" | "llm" if has_odd_edit => explained.push(Explained::OddEdit),
            "treeFlat" if has_loop => explained.push(Explained::Loop),
            "treeFlat" if has_odd_time => explained.push(Explained::OddTime),
            "treeFlat" | "children" | "count" | "labels" | "leaf" | "branch" | "context" | "contextEntries"
            | "projection" | "llm"
                if has_no_id =>
            {
                explained.push(Explained::NoIdLeaf);
            }
            _ => return Err(format!("{name}\n    pi: {their}\n  ours: {our}")),
        }
    }
    Ok(explained)
}

/// Whether a context edit neither omits nor offers content.
fn has_odd_edit(ours: &SessionManager) -> bool {
    let entries = ours.entries().filter_map(Result::ok);
    entries.filter(|entry| entry.kind() == Kind::ContextEdit).any(|edit| {
        let replacement = edit.raw().get("replacement");
        replacement.is_none_or(|replacement| !replacement.is_null() && replacement.get("content").is_none())
    })
}

/// The directories of the two, for translating paths between them.
pub(crate) struct Paths {
    pub(crate) pi: String,
    pub(crate) ours: String,
}

impl Paths {
    /// Returns our file that corresponds to one of pi's.
    pub(crate) fn ours_of(&self, file: &Path) -> PathBuf {
        PathBuf::from(file.to_string_lossy().replace(&self.pi, &self.ours))
    }

    /// Returns our text with our directory replaced by pi's.
    pub(crate) fn as_pi(&self, text: &str) -> String {
        text.replace(&self.ours, &self.pi)
    }

    /// Returns our bytes with our directory replaced by pi's.
    pub(crate) fn bytes_as_pi(&self, bytes: &[u8]) -> Vec<u8> {
        replace(bytes, self.ours.as_bytes(), self.pi.as_bytes())
    }

    /// Returns pi's bytes with its directory replaced by ours.
    pub(crate) fn bytes_as_ours(&self, bytes: &[u8]) -> Vec<u8> {
        replace(bytes, self.pi.as_bytes(), self.ours.as_bytes())
    }
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

/// Compares the bytes of two files; ours already contain pi's paths.
///
/// `was_copied` means that pi has re-serialised existing lines, so lines may be missing or spelled differently there.
pub(crate) fn compare_files(
    oracle: &mut Oracle,
    their: &[u8],
    our: &[u8],
    was_copied: bool,
) -> Result<Vec<Explained>, String> {
    let mut explained = Vec::new();
    if their == our {
        return Ok(explained);
    }
    if our.is_empty() {
        return Ok(vec![Explained::HeaderLater]);
    }
    let our = if our.ends_with(b"\n") {
        our.to_vec()
    } else {
        explained.push(Explained::NewlineLater);
        [our, b"\n"].concat()
    };
    if their == our {
        return Ok(explained);
    }
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let failed = || format!("file\n--- pi\n{}--- ours\n{}", shown(their), shown(&our));
    if !was_copied {
        return Err(failed());
    }
    let mut their_lines = their.split_inclusive(|byte| *byte == b'\n').peekable();
    for line in our.split_inclusive(|byte| *byte == b'\n') {
        if their_lines.next_if(|their| *their == line).is_some() {
            continue;
        }
        let text = line.trim_ascii_end();
        if !matches!(read(text), Parsed::Value(_)) {
            explained.push(Explained::LinesKept);
            continue;
        }
        let normal = oracle.normalise(&shown(text)).map(|normal| normal + "\n");
        if their_lines.next_if(|their| Some(*their) == normal.as_deref().map(str::as_bytes)).is_none() {
            return Err(failed());
        }
        explained.push(Explained::SpellingKept);
    }
    if their_lines.next().is_some() { Err(failed()) } else { Ok(explained) }
}
