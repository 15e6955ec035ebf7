//! What a scrub is looking for, kept while it runs.
//!
//! A likely value is found by the text around it. Once the scrub has replaced that text, a bare repeat of the value in
//! another file cannot be found any more. So if a scrub is interrupted, the next one reads its values from here. The
//! file is encrypted with a key of the state directory, so a search for the value does not find it, and it is removed
//! as soon as the scrub is done. Values that a rule finds without context are not in it.

use std::io::Write;
use std::path::{Path, PathBuf};

use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_redact::{Secret, Tier};
use sessile_store::{create_directory, prepare_file, read_whole, remove_if_there};
use sha2::{Digest, Sha256};

use super::finder::Learned;
use crate::error::SessionError;
use crate::redact_error::RedactError;
use crate::sessions::Sessions;

/// The directory in the state directory, and what its files end with.
const DIRECTORY: &str = "scrubs";
const ENDING: &str = "pending";

/// The name of the key, and the lengths of the parts of a file.
const KEY_NAME: &str = "scrub";
const NONCE: usize = 16;
const CHECK: usize = 32;

/// The largest file to read.
const MAX_LENGTH: u64 = 64 << 20;

/// The values of a scrub that has not ended.
pub(super) struct Pending {
    file: PathBuf,
    sessions: Vec<PathBuf>,
    pub(super) learned: Learned,
}

impl Sessions {
    /// Saves what a scrub of some sessions looks for. Returns `None` if there is nothing to save, or no place.
    pub(super) fn save_pending(
        &self,
        sessions: &[PathBuf],
        learned: &Learned,
    ) -> Result<Option<Pending>, SessionError> {
        let likely = learned.likely();
        if likely.is_empty() {
            return Ok(None);
        }
        let (Some(directory), Some(key)) = (self.pending_directory(), self.secret(KEY_NAME)?) else { return Ok(None) };
        let texts: Vec<Json> = sessions.iter().map(|path| Json::string(&path.to_string_lossy())).collect();
        let values: Vec<Json> = likely
            .iter()
            .map(|(secret, rule)| {
                let mut value = ObjectWriter::new();
                value.string("value", secret.expose()).string("rule", rule);
                value.finish()
            })
            .collect();
        let mut text = ObjectWriter::new();
        text.array("sessions", texts.iter().map(Json::raw)).array("values", values.iter().map(Json::raw));
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_unavailable| RedactError::NoRandom)?;
        let bytes = encrypted(&key, nonce, text.finish().into_bytes());
        let os = self.world.os();
        create_directory(os, &directory, true)?;
        let name = self.environment().session_uuid();
        let file = directory.join(format!("{}.{ENDING}", name.as_str()));
        prepare_file::<SessionError>(os, &file, true, &mut |out: &mut dyn Write| {
            out.write_all(&bytes).map_err(|error| sessile_store::StoreError::io_at("write", &file, error).into())
        })?
        .publish()?;
        Ok(Some(Pending { file, sessions: sessions.to_vec(), learned: Learned::default() }))
    }

    /// The values of earlier scrubs of these sessions that were interrupted. A file that cannot be read is skipped.
    pub(super) fn pending_of(&self, sessions: &[PathBuf]) -> Vec<Pending> {
        let Some(directory) = self.pending_directory() else { return Vec::new() };
        let mut files = self.world.os().list(&directory).unwrap_or_default();
        files.retain(|file| file.extension().is_some_and(|ending| ending == ENDING));
        if files.is_empty() {
            return Vec::new();
        }
        let Ok(Some(key)) = self.secret(KEY_NAME) else { return Vec::new() };
        files.sort();
        let mut pending: Vec<Pending> = files.into_iter().filter_map(|file| self.read_pending(file, &key)).collect();
        pending.retain(|pending| pending.sessions.iter().any(|path| sessions.contains(path)));
        pending
    }

    fn read_pending(&self, file: PathBuf, key: &[u8]) -> Option<Pending> {
        let bytes = read_whole(self.world.os(), &file, MAX_LENGTH).ok()?;
        let text = Json::parse(decrypted(key, &bytes)?).ok()?;
        let items = |name| text.raw().get(name).into_iter().flat_map(Raw::items);
        let sessions = items("sessions").filter_map(Raw::as_string).map(PathBuf::from).collect();
        let mut learned = Learned::default();
        for item in items("values") {
            let text = |name| item.get(name).and_then(Raw::as_string);
            if let (Some(value), Some(rule)) = (text("value"), text("rule")) {
                learned.add(Secret::new(value), rule.into(), Tier::Likely);
            }
        }
        Some(Pending { file, sessions, learned })
    }

    /// Removes the values of a scrub if all its sessions are among those that are done, or gone.
    pub(super) fn settle_pending(&self, pending: &Pending, done: &[PathBuf]) -> Result<(), SessionError> {
        let os = self.world.os();
        let is_gone = |path: &Path| os.link_stat(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if pending.sessions.iter().all(|path| done.contains(path) || is_gone(path)) {
            remove_if_there(os, &pending.file)?;
        }
        Ok(())
    }

    fn pending_directory(&self) -> Option<PathBuf> {
        Some(self.world.operations_dir.as_ref()?.join(DIRECTORY))
    }
}

/// A number that is never used twice, the check sum of the text, and both text and sum under a key stream.
fn encrypted(key: &[u8], nonce: [u8; NONCE], text: Vec<u8>) -> Vec<u8> {
    let mut body = Sha256::digest(&text).to_vec();
    body.extend(text);
    apply_stream(key, &nonce, &mut body);
    [&nonce[..], &body].concat()
}

/// The text; `None` if the bytes are damaged, or of another key.
fn decrypted(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let (nonce, body) = bytes.split_at_checked(NONCE)?;
    let mut body = body.to_vec();
    apply_stream(key, nonce, &mut body);
    let (check, text) = body.split_at_checked(CHECK)?;
    (Sha256::digest(text).as_slice() == check).then(|| text.to_vec())
}

/// Combines bytes with a stream that depends on a key and a nonce, both of fixed length. Doing it twice gives the bytes.
fn apply_stream(key: &[u8], nonce: &[u8], bytes: &mut [u8]) {
    for (number, block) in bytes.chunks_mut(32).enumerate() {
        let hash = Sha256::new().chain_update(key).chain_update(nonce).chain_update((number as u64).to_le_bytes());
        block.iter_mut().zip(hash.finalize()).for_each(|(byte, stream)| *byte ^= stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_hidden_and_comes_back() {
        for length in [0, 1, 31, 32, 33, 1000] {
            let text = vec![b'x'; length];
            let hidden = encrypted(&[7; 32], [1; NONCE], text.clone());
            assert!(length < 31 || memchr::memmem::find(&hidden, b"xxx").is_none());
            assert_eq!(decrypted(&[7; 32], &hidden), Some(text));
            assert_eq!(decrypted(&[8; 32], &hidden), None);
            assert_eq!(decrypted(&[7; 32], &hidden[..hidden.len() - 1]), None);
        }
    }

    #[test]
    fn values_are_kept_until_their_sessions_are_done() {
        let sessions = Sessions::in_memory_system().recording_operations(Some("/home/user/state".into()));
        let mut session = sessions.create("/proj").unwrap();
        session.append_user_message("hello").unwrap();
        let there = session.session_file().unwrap().to_path_buf();
        let gone = PathBuf::from("/gone.jsonl");
        let mut learned = Learned::default();
        learned.add(Secret::new("gsk_certain"), "groq-key".into(), Tier::Certain);
        assert!(sessions.save_pending(&[there.clone()], &learned).unwrap().is_none(), "its rule finds it again");
        learned.add(Secret::new("kR7vQ2x9kR7vQ2x9"), "assignment".into(), Tier::Likely);
        let own = sessions.save_pending(&[there.clone(), gone.clone()], &learned).unwrap().unwrap();
        assert!(sessions.pending_of(&["/other.jsonl".into()]).is_empty());
        let found = sessions.pending_of(std::slice::from_ref(&gone));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].learned.likely(), [(&Secret::new("kR7vQ2x9kR7vQ2x9"), "assignment")]);
        sessions.settle_pending(&own, std::slice::from_ref(&gone)).unwrap();
        assert_eq!(sessions.pending_of(std::slice::from_ref(&gone)).len(), 1);
        sessions.settle_pending(&own, &[there]).unwrap();
        assert!(sessions.pending_of(&[gone]).is_empty());
    }
}
