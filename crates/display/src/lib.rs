//! How sessions look to users, whatever displays them.
//!
//! The command line and the terminal UI show the same things in the same words: entries on one line ([`text`]), trees
//! in rows ([`drawing`]), code ([`code`]), ages and sizes ([`measure`]), pictures where the terminal supports them ([`picture`]), and
//! all of it harmless to a terminal ([`clean()`]). Nothing here prints or knows about colours: a [`Tone`] classifies a
//! text, and the caller decides how to show it.

mod clean;
pub mod code;
pub mod drawing;
pub mod measure;
pub mod picture;
pub mod text;
mod wrap;

pub use clean::{clean, columns, first_columns, is_unseen};
pub use wrap::wrapped;

/// The role of a piece of text, which decides how it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Normal text.
    #[default]
    Plain,
    /// Less important.
    Dim,
    /// The current position, and text from a model.
    Accent,
    /// Names given by users.
    Named,
    /// Text from the user.
    Person,
    /// Errors.
    Bad,
}
