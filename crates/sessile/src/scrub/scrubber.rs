//! What a scrub is asked to do.

use std::borrow::Cow;
use std::path::Path;

use sessile_core::json::{Json, ObjectWriter};

use super::report::ScrubbedKind;

/// Decides what goes.
pub trait Scrubber {
    /// Called before the lines of a file, in order, are passed to [`line`](Self::line).
    ///
    /// If other programs append to the session meanwhile, their lines follow later, without another call of this.
    fn begin(&mut self, _kind: ScrubbedKind, _path: &Path) {}

    /// Returns what to store instead of a line, which has no newline. Any bytes may come: a header, an entry, a torn
    /// line, or no JSON at all.
    ///
    /// The new line must have the same type, id, parent, time and role, and no newline. Otherwise, and if this returns
    /// a reason to refuse, the file stays as it is. A line that was returned once must be returned unchanged.
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String>;

    /// Returns what to store instead of a text: a name or a label.
    ///
    /// It must be what [`line`](Self::line) puts in place of the same text in an entry, so that names and labels in the
    /// log of operations stay equal to those in the session.
    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str>;

    /// Returns what to store instead of a working directory: what [`line`](Self::line) puts into a header.
    fn directory<'t>(&mut self, path: &'t str) -> Cow<'t, str> {
        self.text(path)
    }

    /// Whether a saved note, which consists of paths and ids, has to go.
    fn drops_note(&mut self, note: &str) -> bool {
        *self.text(note) != *note
    }

    /// Returns an object whose members go into the audit, after those of [`Scrubbed`](super::Scrubbed), without any removed text.
    ///
    /// Called once, after all lines.
    fn audit(&mut self) -> Json {
        ObjectWriter::new().finish()
    }
}

/// How to scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubOptions {
    /// Report what would be done, and do nothing.
    pub dry_run: bool,
    /// Keep the original beside the session, with the removed text in it.
    pub keep_original: bool,
}
