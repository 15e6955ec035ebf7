//! The streams that a command writes to.

use std::io::{self, Write};

/// A stream to write to, and the properties of its terminal.
pub struct Stream<'s> {
    /// Where bytes go.
    pub writer: &'s mut dyn Write,
    /// The number of columns, if it is a terminal.
    pub terminal_width: Option<usize>,
    /// The number of lines, if it is a terminal that long output should be paged on.
    pub terminal_height: Option<usize>,
    /// Whether to use colour, unless the user chooses otherwise.
    pub takes_color: bool,
}

/// Returns standard output without line buffering, which costs more than the writes themselves.
#[cfg(unix)]
pub fn plain_stdout() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(std::fs::File::from(descriptor)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// Returns standard output.
#[cfg(not(unix))]
pub fn plain_stdout() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// Whether the reader of our output has closed it, which is not a failure.
pub(crate) fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
