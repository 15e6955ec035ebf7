//! What sessions look like to people, whatever shows them.
//!
//! The command line and the terminal UI say the same things in the same words:
//! entries in a line ([`words`]), trees in rows ([`drawing`]), ages and sizes
//! ([`measure`]), pictures where terminals can ([`picture`]), and all of it harmless to a terminal ([`clean()`]). Nothing
//! here prints, and nothing here knows of colours: a [`Tone`] says what a text
//! is, and whoever shows it decides what that looks like.

mod clean;
pub mod drawing;
pub mod measure;
pub mod picture;
pub mod words;
mod wrap;

pub use clean::{clean, columns, first_columns};
pub use wrap::wrapped;

/// What a piece of text is, which decides how it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Less important.
    Dim,
    /// Where we are, and what a model says.
    Accent,
    /// Names that people gave.
    Named,
    /// What the person said.
    Person,
    /// What went wrong.
    Bad,
}
