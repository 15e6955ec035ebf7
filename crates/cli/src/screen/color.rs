//! Whether output has colour.

use clap::ValueEnum;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Use colour on terminals, unless the environment disables it
    #[default]
    Auto,
    /// Use colour in files and pipes too
    Always,
    /// Do not use colour
    Never,
}

impl Color {
    /// Returns whether to use colour on a stream, given whether the stream supports it.
    pub(crate) fn paints(self, takes_color: bool) -> bool {
        self == Self::Always || (self == Self::Auto && takes_color)
    }

    /// Returns the name of the value.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}
