//! Who has written the entries of a session.

/// The member and the device that have written an entry, by the server's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The member.
    pub member: String,
    /// The device, if it has a name in the store.
    pub device: Option<String>,
    /// Whether the session belongs to the member.
    pub is_owner: bool,
}

/// Who has written the entries of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authors {
    /// Where the lines of each author end in the session's file, in order.
    pub(crate) runs: Vec<(u64, Author)>,
}

impl Authors {
    /// Returns the author of the entry that begins at this offset of the session's file. `None` if the store does not have
    /// the entry, as far as this machine knows.
    pub fn at(&self, offset: u64) -> Option<&Author> {
        let index = self.runs.partition_point(|(end, _)| *end <= offset);
        self.runs.get(index).map(|(_, author)| author)
    }
}
