//! Which sessions the index covers how far, and of which segments it is made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::codec::{Bytes, put, put_bytes};
use super::segment::SegmentInfo;
use crate::{Caches, Kind, Mark};

/// The index. A change of the tokenizer or of what is taken from a line is another version as well.
pub(super) const KIND: Kind = Kind { directory: "text", tag: *b"TEXT", version: 1 };

/// The name of the manifest's file.
pub(super) const NAME: &str = "manifest";

/// A session that is covered, at least in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its number. A file that is written anew gets a new one, and no number is given twice.
    pub(super) number: u32,
    /// Where it is.
    pub(super) path: PathBuf,
    /// How far it is covered.
    pub(super) mark: Mark,
    /// Whether it is a session at all; what is not is kept to know that it need not be read.
    pub(super) is_session: bool,
    /// Its id.
    pub(super) id: String,
    /// Its working directory.
    pub(super) cwd: String,
}

/// All of it. Segments are in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) next_number: u32,
    pub(super) sessions: Vec<Known>,
    pub(super) segments: Vec<SegmentInfo>,
}

impl Manifest {
    /// The manifest, or an empty one if there is none that can be believed.
    pub(super) fn read(caches: &Caches) -> Self {
        caches.read(KIND, NAME).and_then(|bytes| Self::decode(&bytes)).unwrap_or_default()
    }

    pub(super) fn write(&self, caches: &Caches) -> Result<(), sessile_store::StoreError> {
        caches.write(KIND, NAME, &self.encode())
    }

    /// The sessions by their paths.
    pub(super) fn by_path(&self) -> HashMap<&[u8], usize, FxBuildHasher> {
        let mut places = HashMap::with_capacity_and_hasher(self.sessions.len(), FxBuildHasher);
        for (place, known) in self.sessions.iter().enumerate() {
            places.insert(path_bytes(&known.path), place);
        }
        places
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.sessions.len() * 200);
        put(&mut out, u64::from(self.next_number));
        put(&mut out, self.sessions.len() as u64);
        let mut directory: &[u8] = b"";
        for known in &self.sessions {
            let parent = path_bytes(known.path.parent().unwrap_or(Path::new("")));
            // Most sessions lie where the one before lies.
            put_bytes(&mut out, if parent == directory { b"" } else { parent });
            directory = parent;
            put_bytes(&mut out, known.path.file_name().unwrap_or_default().as_bytes());
            put(&mut out, u64::from(known.number) << 1 | u64::from(known.is_session));
            out.extend_from_slice(&known.mark.to_bytes());
            put_bytes(&mut out, known.id.as_bytes());
            put_bytes(&mut out, known.cwd.as_bytes());
        }
        put(&mut out, self.segments.len() as u64);
        self.segments.iter().for_each(|segment| segment.encode(&mut out));
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes::new(bytes);
        let mut manifest = Self { next_number: bytes.small()?, ..Self::default() };
        let mut directory = PathBuf::new();
        let n_sessions = bytes.place()?;
        manifest.sessions.reserve(n_sessions.min(1 << 20));
        for _ in 0..n_sessions {
            let parent = bytes.bytes()?;
            if !parent.is_empty() {
                directory = PathBuf::from(OsStr::from_bytes(parent));
            }
            let path = directory.join(OsStr::from_bytes(bytes.bytes()?));
            let code = bytes.number()?;
            let (number, is_session) = (u32::try_from(code >> 1).ok()?, code & 1 == 1);
            let mark = Mark::from_bytes(bytes.take(Mark::LEN)?.try_into().ok()?);
            let mut text = || Some(std::str::from_utf8(bytes.bytes()?).ok()?.to_owned());
            let (id, cwd) = (text()?, text()?);
            manifest.sessions.push(Known { number, path, mark, is_session, id, cwd });
        }
        for _ in 0..bytes.place()? {
            manifest.segments.push(SegmentInfo::decode(&mut bytes)?);
        }
        bytes.is_empty().then_some(manifest)
    }
}

pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
