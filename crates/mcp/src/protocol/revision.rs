//! The revisions of the protocol.

/// A revision, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    /// Stateless: every request says which revision it is.
    V2026_07_28,
}

/// The newest revision that begins with `initialize`.
pub(crate) const LEGACY: Revision = Revision::V2025_11_25;

/// The newest revision.
pub(crate) const MODERN: Revision = Revision::V2026_07_28;

const ALL: [Revision; 5] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

impl Revision {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision that `initialize` agrees on: the requested one, or the newest that begins so.
    pub(crate) fn negotiated(word: &str) -> Self {
        ALL.into_iter().find(|revision| revision.word() == word && *revision <= LEGACY).unwrap_or(LEGACY)
    }

    /// Whether requests come without a handshake.
    pub(crate) fn is_stateless(self) -> bool {
        self == MODERN
    }

    /// Whether several messages may come as one array.
    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether tools have annotations.
    pub(crate) fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether completions are a capability.
    pub(crate) fn has_completions(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether answers of tools have a structured form.
    pub(crate) fn has_structure(self) -> bool {
        self >= Self::V2025_06_18
    }
}

/// The revisions that a stateless request may name.
pub(crate) fn supported() -> Vec<&'static str> {
    vec![MODERN.word()]
}
