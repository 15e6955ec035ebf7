//! Rebuilds the header of a file that has lost its own.

use std::path::{Path, PathBuf};

use memchr::{memchr, memchr_iter, memmem};
use sessile_core::date::{Timestamp, parse_utc_iso, to_iso};
use sessile_core::head::{self, Kind, Parsed};
use sessile_core::headerless::Headerless;
use sessile_core::incomplete::{PartialObject, pieces};
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_core::line::{BOM, Span};
use sessile_core::location::{check_session_id, encode_cwd};
use sessile_core::outline::Outline;
use sessile_core::salvage::split_damaged_lines;
use sessile_core::version::CURRENT_VERSION;
use sessile_store::find_sessions;
use sessile_store::os::FileKind;

use super::damage::{Damage, MAX_KEPT};
use super::examine::has_mark;
use crate::error::SessionError;
use crate::list::read_header;
use crate::splice::{Splice, Text};
use crate::world::World;

/// The member that marks a rebuilt header and names its sources.
pub(super) const REBUILT: &str = "sessile:rebuilt";

/// A header for a file that has none.
pub(crate) struct Heading {
    /// Replaces what is left of the old header.
    pub(crate) splice: Splice,
    /// Whether the header adds a line before the former first one.
    is_new_line: bool,
    /// A description of what repair will do.
    pub(crate) remedy: String,
    /// A description of what repair has done.
    pub(crate) done: String,
}

impl Heading {
    /// The header for a file of entries; `None` if the file does not consist of entries.
    pub(super) fn of(
        world: &World,
        path: &Path,
        text: &dyn Text,
        outline: &Outline,
        damage: &Damage<'_>,
    ) -> Result<Option<Self>, SessionError> {
        let entries = Headerless::of(outline);
        let is_all_hidden = outline.rows().len() == 0 && damage.n_entries > 0;
        if entries.is_none() && !is_all_hidden {
            return Ok(None);
        }
        let first_time = entries.and_then(|entries| entries.first_time).or(damage.first_time);
        let start = if has_mark(text)? { BOM.len() as u64 } else { 0 };
        if let Some(header) = other_header(text, outline)?.or_else(|| damage.stray_header.clone()) {
            let with = [header.as_slice(), b"\n"].concat();
            let splice = Splice { at: Span { offset: 0, len: start }, with };
            let remedy = "copies the header from further down to the first line".to_owned();
            let done = "the header from further down is copied to the first line".to_owned();
            return Ok(Some(Self { splice, is_new_line: true, remedy, done }));
        }
        let torn = torn_header(text, start)?;
        let header_sources = HeaderSources { world, path, text, outline };
        let (header, sources) = header_sources.header(&torn, first_time)?;
        let (remedy, done) = (format!("rebuilds the header: {sources}"), format!("the header is rebuilt: {sources}"));
        let end = start + torn.len() as u64;
        let is_whole_line =
            !torn.is_empty() && end < text.length() && text.read(Span { offset: end, len: 1 })? == b"\n";
        let mut with = header.into_bytes();
        with.extend((!is_whole_line).then_some(b'\n'));
        let splice = Splice { at: Span { offset: 0, len: end }, with };
        Ok(Some(Self { splice, is_new_line: !is_whole_line, remedy, done }))
    }

    /// Converts a position in the file with the header to one in the file without it.
    pub(crate) fn before(&self, line: u64, offset: u64) -> (u64, u64) {
        let new = self.splice.with.len() as u64;
        let offset = if offset < new { 0 } else { offset - new + self.splice.at.len };
        ((line - u64::from(self.is_new_line && line > 1)), offset)
    }
}

/// A header on its own line, but not the first valid one.
fn other_header(text: &dyn Text, outline: &Outline) -> Result<Option<Vec<u8>>, SessionError> {
    for row in outline.rows().filter(|row| outline.kind(*row) == Kind::Header) {
        let line = text.read(outline.span(row))?;
        if matches!(head::read(&line), Parsed::Value(head) if head.id.is_some()) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// The remains of a header in the first line: everything up to the first complete record, unless it was an entry.
fn torn_header(text: &dyn Text, start: u64) -> Result<Vec<u8>, SessionError> {
    let len = (text.length() - start).min(MAX_KEPT as u64 + 1);
    let mut line = text.read(Span { offset: start, len })?;
    line.truncate(memchr(b'\n', &line).unwrap_or(line.len()));
    if line.len() > MAX_KEPT {
        return Ok(Vec::new());
    }
    let end = match split_damaged_lines(&line).first().map(|damaged| damaged.records.first().cloned()) {
        Some(None) => line.len(),
        Some(Some(record)) if record.is_certain => record.range.start,
        // Either the line is readable, or the bytes before the record are needed to recognise it; keep them.
        None | Some(Some(_)) => 0,
    };
    line.truncate(end);
    let was_entry = PartialObject::of(&line).and_then(|beginning| beginning.entry_id()).is_some();
    Ok(if was_entry { Vec::new() } else { line })
}

/// The sources for the members of a header.
struct HeaderSources<'c> {
    world: &'c World,
    path: &'c Path,
    text: &'c dyn Text,
    outline: &'c Outline,
}

impl HeaderSources<'_> {
    /// The header, and a description of its sources.
    fn header(&self, torn: &[u8], first_time: Option<Timestamp>) -> Result<(Json, String), SessionError> {
        let old = PartialObject::of(torn);
        let old = |key: &str| old.as_ref().and_then(|old| old.get(key));
        let (name_time, name_id) = self.name();
        let (id, id_from) = match (name_id, old("id").and_then(Raw::as_string)) {
            (Some(id), _) => (id.into(), "the file name"),
            (None, Some(id)) => (id.into(), "the remains of the header"),
            (None, None) => (self.world.environment().session_uuid(), "nowhere (it is new)"),
        };
        let old_time = old("timestamp").and_then(Raw::as_string).and_then(|time| parse_utc_iso(time.as_bytes()));
        let time = old_time.or(first_time).or(name_time).unwrap_or_else(|| self.world.environment().now());
        let (cwd, cwd_from) = match old("cwd").and_then(Raw::as_string) {
            Some(cwd) => (cwd, "the remains of the header"),
            None => self.cwd()?,
        };
        let version = old("version").filter(|version| version.as_bytes() == b"2");
        let held = pieces(torn);
        let mut rebuilt = ObjectWriter::new();
        rebuilt.string("id", id_from).string("cwd", cwd_from);
        if !held.is_empty() {
            rebuilt.array("pieces", held.iter().map(Json::raw));
        }
        let mut header = ObjectWriter::new();
        header
            .string("type", "session")
            .integer("version", version.map_or(i64::from(CURRENT_VERSION), |_| 2))
            .string("id", id.as_str())
            .string("timestamp", &to_iso(time))
            .string("cwd", &cwd)
            .optional("parentSession", old("parentSession").filter(|parent| parent.as_text().is_some()))
            .raw(REBUILT, rebuilt.finish().raw());
        Ok((header.finish(), format!("id from {id_from}, cwd from {cwd_from}")))
    }

    /// The time and the id in the file name.
    fn name(&self) -> (Option<Timestamp>, Option<String>) {
        let stem = self.path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
        let Some((time, id)) = stem.and_then(|stem| stem.split_once('_')) else { return (None, None) };
        let mut digits = time.as_bytes().to_vec();
        for (index, mark) in [(13, b':'), (16, b':'), (19, b'.')] {
            match digits.get_mut(index) {
                Some(byte @ b'-') => *byte = mark,
                _ => return (None, None),
            }
        }
        (parse_utc_iso(&digits), check_session_id(id).ok().map(|()| id.to_owned()))
    }

    /// The working directory, and its source.
    ///
    /// The name of the session's directory encodes it, but `/` and `-` look the same there.
    fn cwd(&self) -> Result<(String, &'static str), SessionError> {
        let directory = self.path.parent();
        let name = directory.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let spelled = name.strip_prefix("--").and_then(|name| name.strip_suffix("--"));
        let Some(spelled) = spelled else {
            return Ok(self
                .cwd_in_system_message()?
                .map_or((String::new(), "nowhere (it is unknown)"), |cwd| (cwd, "the entries")));
        };
        let fits = |cwd: &str| !cwd.is_empty() && encode_cwd(Path::new(cwd)) == name;
        let files = directory.and_then(|directory| find_sessions(self.world.os(), directory).ok()).unwrap_or_default();
        let others = files.iter().filter(|file| file.path != self.path);
        let mut named = others.filter_map(|file| read_header(self.world, &file.path)?.cwd());
        if let Some(cwd) = named.find(|cwd| fits(cwd)) {
            return Ok((cwd, "another session in the directory"));
        }
        if let Some(cwd) = self.spelled_cwd(spelled)? {
            return Ok((cwd, "the entries"));
        }
        let current = self.world.environment().current_dir().to_string_lossy().into_owned();
        if fits(&current) {
            return Ok((current, "the directory name"));
        }
        let guessed = self.probed(spelled).unwrap_or_else(|| format!("/{}", spelled.replace('-', "/")));
        Ok((guessed, "the directory name"))
    }

    /// The first path in the entries that matches the name of the session's directory.
    fn spelled_cwd(&self, spelled: &str) -> Result<Option<String>, SessionError> {
        let spelled = spelled.as_bytes();
        let is_alike =
            |(one, other): (&u8, &u8)| one == other || (*other == b'-' && matches!(one, b'/' | b'\\' | b':'));
        self.search(&mut |line| {
            memchr_iter(b'/', line).find_map(|at| {
                let path = line.get(at + 1..at + 1 + spelled.len())?;
                let continues_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte) || *byte >= 0x80;
                let is_whole = !line.get(at + 1 + spelled.len()).is_some_and(continues_name);
                let begins = at.checked_sub(1).is_none_or(|before| !continues_name(&line[before]));
                let is_path = is_whole && begins && path.iter().zip(spelled).all(is_alike);
                is_path.then(|| std::str::from_utf8(&line[at..=at + spelled.len()]).ok().map(str::to_owned))?
            })
        })
    }

    /// The working directory in a system message.
    fn cwd_in_system_message(&self) -> Result<Option<String>, SessionError> {
        const WORDS: &[u8] = b"Current working directory: ";
        self.search(&mut |line| {
            let start = memmem::find(line, WORDS)? + WORDS.len();
            let end = start + line[start..].iter().position(|byte| matches!(byte, b'\\' | b'"'))?;
            let path = std::str::from_utf8(&line[start..end]).ok()?.trim();
            path.starts_with('/').then(|| path.to_owned())
        })
    }

    /// The first answer that `ask` gives for a line, within a limited number of bytes.
    fn search(&self, ask: &mut dyn FnMut(&[u8]) -> Option<String>) -> Result<Option<String>, SessionError> {
        let mut n_read = 0;
        for row in self.outline.rows() {
            let span = self.outline.span(row);
            n_read += span.len;
            if n_read > MAX_SEARCHED {
                break;
            }
            if let Some(found) = ask(&self.text.read(span)?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// An existing directory on this machine that matches the name, if any.
    fn probed(&self, spelled: &str) -> Option<String> {
        let mut open = vec![(PathBuf::from("/"), spelled)];
        let mut n_probes = 0;
        while let Some((above, rest)) = open.pop() {
            if rest.is_empty() {
                return above.to_str().map(str::to_owned);
            }
            // Push longer names last, so that they are tried first.
            for at in rest.match_indices('-').map(|(at, _)| at).chain([rest.len()]).filter(|at| *at > 0) {
                n_probes += 1;
                let Some((name, _)) = rest.split_at_checked(at) else { continue };
                let below = above.join(name);
                let is_directory = self.world.os().stat(&below).is_ok_and(|stat| stat.kind == FileKind::Directory);
                if is_directory && n_probes < MAX_PROBES {
                    open.push((below, rest.get(at + 1..).unwrap_or_default()));
                }
            }
        }
        None
    }
}

/// The maximum number of bytes of entries to search for a path.
const MAX_SEARCHED: u64 = 16 << 20;

/// The maximum number of directories to probe.
const MAX_PROBES: usize = 1000;
