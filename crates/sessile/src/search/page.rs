//! Where hits are in the store, for pages of a long result.

use std::path::Path;

use sessile_core::location::fingerprint;

use super::SearchHit;

impl SearchHit {
    /// A number that names the position of the hit in the store, for [`SearchPage::after`](super::SearchPage::after);
    /// `None` if the session of another member is not on this machine.
    pub fn position(&self) -> Option<u64> {
        self.offset.map(|offset| position(&self.session_path, offset))
    }
}

/// The position of an entry, by its session and its offset.
pub(super) fn position(path: &Path, offset: u64) -> u64 {
    let mut name = path.as_os_str().as_encoded_bytes().to_vec();
    name.extend_from_slice(&offset.to_le_bytes());
    fingerprint(&name)
}
