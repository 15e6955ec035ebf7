//! Images that oh-my-pi keeps in files of their own, named after the hash of their bytes.

use std::collections::HashMap;
use std::path::PathBuf;

use sessile_agents::{Blob, ForeignSession};
use sessile_core::json::Json;
use sessile_core::line::LINE_CAP;
use sessile_core::picture::base64_of;
use sessile_store::os::{FileKind, Mode, Os, read_upto};
use sha2::{Digest, Sha256};

use super::stores::{ForeignFile, blob_directories};
use crate::world::World;

/// The maximum length of an image.
const MAX_IMAGE: u64 = 32 << 20;

/// The maximum length of the images of a line, in base64. A line that is much longer could not be read again.
const MAX_LINE: u64 = LINE_CAP as u64 / 2;

/// The maximum length of all images of a session, in base64. A short session can use a large image very often.
const MAX_SESSION: u64 = 1 << 30;

/// The images of a session that are in other files.
#[derive(Debug, Default)]
pub(super) struct Blobs {
    /// The file of each reference, and its hash.
    files: Vec<Option<(PathBuf, [u8; 32])>>,
}

impl Blobs {
    /// Looks for the images of a session. Those that are not usable become losses of the session.
    pub(super) fn find(world: &World, file: &ForeignFile, session: &mut ForeignSession) -> Self {
        if session.blobs.is_empty() {
            return Self::default();
        }
        let directories = blob_directories(world, &file.path);
        let mut search = Search { os: world.os(), directories, known: HashMap::new(), budget: Budget::default() };
        let mut files = Vec::new();
        for (nth, blob) in session.blobs.clone().iter().enumerate() {
            match search.file(blob) {
                Ok(found) => files.push(Some(found)),
                Err(reason) => {
                    session.lose_blob(nth, reason);
                    files.push(None);
                }
            }
        }
        Self { files }
    }

    /// The image of a reference as a JSON string in base64, or `null`.
    pub(super) fn read(&self, os: &dyn Os, nth: usize) -> Json {
        let Some((path, sha256)) = self.files.get(nth).and_then(Option::as_ref) else { return Json::null() };
        let bytes = whole(os, path).ok().filter(|bytes| hash_of(bytes) == *sha256);
        bytes.map_or_else(Json::null, |bytes| Json::string(&base64_of(&bytes)))
    }
}

/// A search for images.
struct Search<'s> {
    os: &'s dyn Os,
    directories: Vec<PathBuf>,
    /// The file and the length of each image that was looked for.
    known: HashMap<[u8; 32], Result<(PathBuf, u64), &'static str>>,
    budget: Budget,
}

impl Search<'_> {
    fn file(&mut self, blob: &Blob) -> Result<(PathBuf, [u8; 32]), &'static str> {
        let sha256 = blob.sha256.ok_or("a reference to an image is not valid")?;
        let found = if let Some(known) = self.known.get(&sha256) {
            known.clone()
        } else {
            let found = self.look(&sha256);
            self.known.entry(sha256).or_insert(found).clone()
        };
        let (path, length) = found?;
        self.budget.take(blob, length.div_ceil(3) * 4)?;
        Ok((path, sha256))
    }

    fn look(&self, sha256: &[u8; 32]) -> Result<(PathBuf, u64), &'static str> {
        let name: String = sha256.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect();
        let mut failure = "the file of an image is missing";
        for path in self.directories.iter().map(|directory| directory.join(&name)) {
            match whole(self.os, &path) {
                Ok(bytes) if hash_of(&bytes) == *sha256 => return Ok((path, bytes.len() as u64)),
                Ok(_) => failure = "the file of an image has other content than its name says",
                Err(Some(reason)) => failure = reason,
                Err(None) => {}
            }
        }
        Err(failure)
    }
}

/// How much of the maxima is used.
#[derive(Default)]
struct Budget {
    line: Option<u64>,
    in_line: u64,
    in_session: u64,
}

impl Budget {
    fn take(&mut self, blob: &Blob, length: u64) -> Result<(), &'static str> {
        if self.line.replace(blob.line) != Some(blob.line) {
            self.in_line = blob.place.len;
        }
        if self.in_line + length > MAX_LINE {
            return Err("the images of the line are too large together");
        }
        if self.in_session + length > MAX_SESSION {
            return Err("the images of the session are too large together");
        }
        self.in_line += length;
        self.in_session += length;
        Ok(())
    }
}

/// The bytes of a file that has an image; if there is a file that is not usable, the reason.
fn whole(os: &dyn Os, path: &std::path::Path) -> Result<Vec<u8>, Option<&'static str>> {
    let stat = os.stat(path).ok().ok_or(None)?;
    if stat.kind != FileKind::Regular {
        return Err(Some("the file of an image is not a regular file"));
    }
    if stat.length > MAX_IMAGE {
        return Err(Some("the file of an image is too large"));
    }
    let read = os.open(path, Mode::Read).and_then(|file| read_upto(file.as_ref(), 0, MAX_IMAGE));
    read.ok().ok_or(Some("the file of an image cannot be read"))
}

fn hash_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}
