//! Ids of sessions.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The id of a session: any text. Clones share it.
///
/// pi writes UUIDs but reads anything, so no format is assumed. A header without an id has the empty one. Only the id
/// of a new session is checked, when the session is created: see
/// [`check_session_id`](crate::location::check_session_id).
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::SessionId;
/// let id = SessionId::from("0199b2c4-7d1e-7000-8000-000000000001");
/// assert_eq!(id, "0199b2c4-7d1e-7000-8000-000000000001");
/// assert!(id.as_str().starts_with("0199"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id is empty, as that of a header without one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for SessionId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for SessionId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<&String> for SessionId {
    fn from(id: &String) -> Self {
        Self::from(id.as_str())
    }
}

impl From<&Self> for SessionId {
    fn from(id: &Self) -> Self {
        id.clone()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.as_str().to_owned()
    }
}

impl AsRef<str> for SessionId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for SessionId {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SessionId {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    #[test]
    fn an_id_is_its_text() {
        let id = SessionId::from("b \"é\"");
        assert_eq!((format!("{id}"), format!("{id:?}")), ("b \"é\"".to_owned(), r#""b \"é\"""#.to_owned()));
        assert_eq!(format!("{:>3}|{:<3}|", SessionId::from("a"), SessionId::from("a")), "  a|a  |");
        assert_eq!((String::from(id.clone()), SessionId::from(&id)), ("b \"é\"".to_owned(), id.clone()));
        assert_eq!(BTreeSet::from([id.clone(), "c".into(), "a".into()]).first().unwrap(), "a");
        assert_eq!(HashMap::from([(id, 1)]).get("b \"é\""), Some(&1));
        assert!(SessionId::default().is_empty());
    }
}
