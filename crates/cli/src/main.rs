//! The command `sessile`: see the library of this package for all it does.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use sessile_cli::{Stream, run};

fn main() -> ExitCode {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let (out_paint, err_paint) = (takes_color(&stdout), takes_color(&stderr));
    let (out_width, err_width) = (terminal_width(&stdout), terminal_width(&stderr));
    let mut out = BufWriter::with_capacity(64 << 10, plain(&stdout));
    let mut err = stderr.lock();
    // Not being able to only means that a limit on the size of files ends us instead of being told.
    sessile::os::outlive_file_size_limit().ok();
    let exit = run(
        std::env::args_os(),
        Arc::new(sessile::System),
        Stream { writer: &mut out, terminal_width: out_width, takes_color: out_paint },
        Stream { writer: &mut err as &mut dyn Write, terminal_width: err_width, takes_color: err_paint },
    );
    exit.into()
}

/// Standard output without the search for line ends in everything that passes, which costs more than writing it.
#[cfg(unix)]
fn plain(stdout: &io::Stdout) -> Box<dyn Write> {
    use std::os::fd::AsFd;
    match stdout.as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(std::fs::File::from(descriptor)),
        Err(_) => Box::new(io::stdout()),
    }
}

#[cfg(not(unix))]
fn plain(_stdout: &io::Stdout) -> Box<dyn Write> {
    Box::new(io::stdout())
}

fn takes_color(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// The columns of the terminal that a stream is connected to, if it is.
#[cfg(unix)]
fn terminal_width(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok())?;
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    Some(if columns == 0 { 80 } else { columns })
}

#[cfg(not(unix))]
fn terminal_width(stream: &impl IsTerminal) -> Option<usize> {
    stream.is_terminal().then_some(80)
}
