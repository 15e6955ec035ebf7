//! The version of a file, and the upgrade it needs.

use crate::head::Role;
use crate::json::Raw;

/// The version this library writes.
pub const CURRENT_VERSION: u32 = 3;

/// The upgrade that brings a file to the current version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upgrade {
    /// Nothing.
    #[default]
    None,
    /// Adds ids and parents, and everything that [`Upgrade::FromV2`] does.
    FromV1,
    /// Renames the role `hookMessage` to `custom`.
    FromV2,
    /// The file is newer than this library. It is read, but not written.
    Newer,
}

impl Upgrade {
    /// The upgrade that a header line requires. Versions compare with numbers as in JavaScript.
    pub(crate) fn of_header(line: &[u8]) -> Self {
        let Ok(header) = Raw::parse(line) else { return Self::None };
        let version = match header.get("version") {
            None => 1.0,
            Some(value) if value.is_null() => 1.0,
            Some(value) => value.to_js_number(),
        };
        if version < 2.0 {
            Self::FromV1
        } else if version < 3.0 {
            Self::FromV2
        } else if version > 3.0 {
            Self::Newer
        } else {
            Self::None
        }
    }

    /// A number for caches.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::FromV1 => 1,
            Self::FromV2 => 2,
            Self::Newer => 3,
        }
    }

    /// The upgrade with this number.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [Self::None, Self::FromV1, Self::FromV2, Self::Newer].get(usize::from(code)).copied()
    }

    /// Whether entries change when they are read.
    pub fn is_needed(self) -> bool {
        matches!(self, Self::FromV1 | Self::FromV2)
    }

    /// Whether the file is newer than this library.
    pub fn is_newer(self) -> bool {
        self == Self::Newer
    }

    pub(crate) fn role(self, role: Role) -> Role {
        if self.is_needed() && role == Role::HookMessage { Role::Custom } else { role }
    }
}

/// Supplies ids for the entries of version 1 files.
pub trait FreshIds {
    /// Returns an id for the entry with this ordinal. `attempt` counts up from 0 while the returned ids are already
    /// taken.
    fn fresh_id(&mut self, ordinal: usize, attempt: u32) -> String;
}

/// Derives ids from ordinals, so that a version 1 file has the same ids each time it is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct StableIds;

impl FreshIds for StableIds {
    fn fresh_id(&mut self, ordinal: usize, attempt: u32) -> String {
        // An odd multiplier makes this a bijection on 32 bits: ordinals never collide below 2^32.
        let mixed = (ordinal as u64).wrapping_add(u64::from(attempt) << 20).wrapping_mul(0x9e37_79b1);
        format!("{:08x}", (mixed & 0xffff_ffff) ^ 0x5e55_11e0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_in_javascript() {
        for (version, upgrade) in [
            ("null", Upgrade::FromV1),
            ("0", Upgrade::FromV1),
            ("-1", Upgrade::FromV1),
            ("true", Upgrade::FromV1),
            ("\"1\"", Upgrade::FromV1),
            ("\"\"", Upgrade::FromV1),
            ("2.5", Upgrade::FromV2),
            ("\" 2 \"", Upgrade::FromV2),
            ("3", Upgrade::None),
            ("\"3\"", Upgrade::None),
            ("\"abc\"", Upgrade::None),
            ("{}", Upgrade::None),
            ("[2]", Upgrade::FromV2),
            ("\"0x2\"", Upgrade::FromV2),
            ("4", Upgrade::Newer),
            ("\"99\"", Upgrade::Newer),
        ] {
            let header = format!(r#"{{"type":"session","version":{version}}}"#);
            assert_eq!(Upgrade::of_header(header.as_bytes()), upgrade, "{version}");
        }
        assert_eq!(Upgrade::of_header(br#"{"type":"session"}"#), Upgrade::FromV1);
    }

    #[test]
    fn stable_ids_do_not_collide() {
        let ids: std::collections::HashSet<_> = (0..100_000).map(|ordinal| StableIds.fresh_id(ordinal, 0)).collect();
        assert_eq!(ids.len(), 100_000);
        assert_ne!(StableIds.fresh_id(7, 0), StableIds.fresh_id(7, 1));
        assert!(ids.iter().all(|id| id.len() == 8));
    }
}
