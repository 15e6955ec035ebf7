//! The `sessile` program; see the library of this package.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use sessile_cli::{Stream, plain_stdout, run};

/// The allocator of musl has one lock for all threads, so that a list takes twice as long.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    // Makes the console of Windows interpret escape sequences.
    #[cfg(windows)]
    drop(AutoStream::always_ansi(io::stdout()));
    let (out_paint, err_paint) = (takes_color(&stdout), takes_color(&stderr));
    let (out_size, err_size) = (terminal_size(&stdout), terminal_size(&stderr));
    let mut out = BufWriter::with_capacity(64 << 10, plain_stdout());
    let mut err = stderr.lock();
    // On failure, a limit on file sizes kills the process instead of causing an error.
    sessile::os::outlive_file_size_limit().ok();
    let exit = run(
        args(),
        Arc::new(sessile::System),
        stream(&mut out, out_size, out_paint),
        stream(&mut err, err_size, err_paint),
    );
    exit.into()
}

/// Returns our arguments. The first is the name of the program as users type it, which is part of the help.
fn args() -> Vec<OsString> {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    if cfg!(windows)
        && let Some(program) = args.first_mut()
        && Path::new(program).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"))
    {
        *program = Path::new(program).with_extension("").into_os_string();
    }
    args
}

fn takes_color(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

fn stream(writer: &mut dyn Write, size: Option<(usize, usize)>, takes_color: bool) -> Stream<'_> {
    let (width, height) = size.unzip();
    Stream { writer, terminal_width: width, terminal_height: height, takes_color }
}

/// Returns the columns and lines of the stream's terminal, if it is one.
#[cfg(unix)]
fn terminal_size(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<(usize, usize)> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok())?;
    let known = |count: u16, usual: usize| if count == 0 { usual } else { usize::from(count) };
    Some(size.map_or((80, 24), |size| (known(size.ws_col, 80), known(size.ws_row, 24))))
}

#[cfg(windows)]
fn terminal_size(stream: &(impl IsTerminal + std::os::windows::io::AsHandle)) -> Option<(usize, usize)> {
    let size = stream.is_terminal().then(|| terminal_size::terminal_size_of(stream))?;
    Some(size.map_or((80, 24), |(width, height)| (width.0.into(), height.0.into())))
}
