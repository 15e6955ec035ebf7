//! How much a copy leaves out.

use std::fmt;
use std::str::FromStr;

/// How much a copy leaves out. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// Secrets.
    #[default]
    Secrets,
    /// Home directories, and names of users, hosts and organisations.
    Paths,
    /// Addresses and numbers of people, authors of commits, and pictures.
    Pii,
    /// Results of tools, output of commands, details and thoughts.
    Outputs,
    /// All text. Only what the format consists of stays.
    Skeleton,
}

impl Level {
    /// All levels, in order.
    pub const ALL: [Self; 5] = [Self::Secrets, Self::Paths, Self::Pii, Self::Outputs, Self::Skeleton];

    /// The name of the level.
    pub fn word(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Paths => "paths",
            Self::Pii => "pii",
            Self::Outputs => "outputs",
            Self::Skeleton => "skeleton",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that is not the name of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a level; the levels are secrets, paths, pii, outputs and skeleton")]
pub struct UnknownLevel;

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.word() == word).ok_or(UnknownLevel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names_and_an_order() {
        assert!(Level::ALL.is_sorted());
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert_eq!("all".parse::<Level>(), Err(UnknownLevel));
    }
}
