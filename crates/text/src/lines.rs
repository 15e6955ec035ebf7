//! Reads the lines of a session file from an offset.

use std::io;

use sessile_core::head::{self, Parsed};
use sessile_core::json::Raw;
use sessile_core::line::{Line, LineSplitter};
use sessile_store::after_hole;
use sessile_store::os::{OsFile, read_fully};

/// How many bytes are read at a time.
const CHUNK: u64 = 256 << 10;

/// Passes on the lines between two offsets until `on_line` returns false. `from` must be the start of a line.
pub(crate) fn read_lines(
    file: &dyn OsFile,
    from: u64,
    to: u64,
    on_line: &mut dyn FnMut(Line<'_>) -> bool,
) -> io::Result<()> {
    let mut splitter = LineSplitter::starting_at(from);
    let mut goes_on = true;
    let mut offset = from;
    let mut take = |line: Line<'_>| goes_on = goes_on && on_line(line.without_bom());
    let mut buffer = vec![0; usize::try_from(CHUNK.min(to.saturating_sub(from))).unwrap_or(usize::MAX)];
    while offset < to {
        let wanted = usize::try_from(CHUNK.min(to - offset)).unwrap_or(usize::MAX);
        let n_read = read_fully(file, &mut buffer[..wanted], offset)?;
        splitter.feed(&buffer[..n_read], &mut take);
        offset += n_read as u64;
        if n_read < wanted {
            break;
        }
        let next = after_hole(file, &buffer[..n_read], offset)?.min(to);
        splitter.feed_zeros(next.saturating_sub(offset));
        offset = next.max(offset);
    }
    splitter.finish(&mut take);
    Ok(())
}

/// The content of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) id: String,
    pub(crate) cwd: String,
}

/// Determines whether lines belong to a session: the first value must be a header with an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Only blank and damaged lines so far.
    Awaited,
    /// Not a session.
    NoSession,
    /// A session.
    Session(Heading),
}

impl Opening {
    /// Examines a line if none has decided yet. True if the line follows the header of a session.
    pub(crate) fn take(&mut self, line: &[u8]) -> bool {
        match self {
            Self::Session(_) => return true,
            Self::NoSession => return false,
            Self::Awaited => {}
        }
        if let Parsed::Kept(head) = head::read(line) {
            let is_header = head.is_session_header();
            let heading = is_header.then(|| Raw::parse(line).ok().and_then(heading)).flatten();
            *self = heading.map_or(Self::NoSession, Self::Session);
        }
        false
    }
}

fn heading(header: Raw<'_>) -> Option<Heading> {
    let text = |key| header.get(key).and_then(Raw::as_string);
    Some(Heading { id: text("id")?, cwd: text("cwd").unwrap_or_default() })
}
