//! The `sessile` program, for tests that need it as a process.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use sessile_cli::{Stream, run};

fn main() -> ExitCode {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let stream = |writer| Stream { writer, terminal_width: None, terminal_height: None, takes_color: false };
    run(std::env::args_os(), Arc::new(sessile::System), stream(&mut out), stream(&mut err)).into()
}
