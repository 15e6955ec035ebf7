//! `sessile serve`

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};

use clap::Args;
use sessile::os::RealOs;
use sessile::threads;
use sessile_rpc::answer;
use sessile_web::serve::{BranchSummarizer, Options, ResolveSummarizer, Server};
use tempfile::NamedTempFile;

use crate::data::write_value;
use crate::end_signal::on_end_signal;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{ACCENT, DIM, Line, Screen};
use crate::summarizing::summarizer;

/// Show your sessions in a browser
///
/// Starts a server that only this computer can reach, and opens your browser. The server prints a link that signs in one
/// browser, once; after that, it prints another link for the next browser. Ctrl-C stops the server. docs/web.md says what
/// protects your sessions from other users and from web pages, and how to use the server over SSH.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Listen on this port of 127.0.0.1 instead of a free one. Browsers then stay signed in after a restart
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Refuse all changes to sessions
    #[arg(long)]
    read_only: bool,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,

    /// Print one JSON object with the link and the process id, and do not open a browser
    #[arg(long)]
    json: bool,
}

impl ServeArgs {
    pub(super) fn writes(&self) -> bool {
        !self.read_only
    }
}

/// What happens while the server runs.
enum Event {
    /// A browser has signed in; this is the link for the next one.
    SignedIn(String),
    Signal(i32),
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ServeArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (sender, receiver) = channel();
    let ended = sender.clone();
    on_end_signal(move |signal| drop(ended.send(Event::Signal(signal))))?;
    let secret = match args.port {
        Some(port) => env.sessions.secret(&format!("serve-{port}"))?,
        // The next server will have another port, so nothing would use the secret.
        None => None,
    };
    let options = Options {
        port: args.port,
        is_read_only: args.read_only,
        secret,
        resume_command: env.settings.resume_command().to_owned(),
        resolve_summarizer: resolve_summarizer(env),
        // If nothing receives it, the server is about to stop.
        on_sign_in: Box::new(move |link| drop(sender.send(Event::SignedIn(link.to_owned())))),
        ..Options::default()
    };
    let server = Server::start(env.sessions.clone(), options)?;
    if args.json {
        write_value(out.data(), &answer::serving(&server.link(), std::process::id()))?;
    } else {
        out.print_whole(&Line::new().text(&format!("Sessions are on http://127.0.0.1:{}/", server.port())))?;
        print_link("Sign in with this link, which works once:", &server.link(), out)?;
        out.print_whole(&Line::new().styled(DIM, "Press Ctrl-C to stop."))?;
    }
    out.flush()?;
    let mut page = None;
    if !args.no_open && !args.json {
        match open(env, &server.link()) {
            Ok(opened) => page = opened,
            // The link is on the screen.
            Err(error) => drop(warn(err, &format!("cannot open a browser: {error}"))),
        }
    }
    let signal = loop {
        // A warning that cannot be printed is not an error.
        drop(env.report_team_troubles(err));
        match receiver.recv_timeout(env.trouble_interval()) {
            Ok(Event::SignedIn(link)) => {
                // The link in it was used.
                drop(page.take());
                if !args.json {
                    print_link("Signed in. For another browser:", &link, out)?;
                    out.flush()?;
                }
            }
            Ok(Event::Signal(signal)) => break Some(signal),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    server.stop();
    Ok(signal.map_or(Exit::Done, Exit::Signalled))
}

/// Chooses the summarizer as other commands do, each time one is needed.
fn resolve_summarizer(env: &CommandEnvironment) -> Box<ResolveSummarizer> {
    let (settings, environment) = (env.settings.clone(), env.shared_environment());
    Box::new(move || {
        let environment = environment.as_ref();
        let summarizer = summarizer(&settings, environment, None).map_err(|failure| failure.words())?;
        let room = settings.branch_summary(environment, &RealOs).map_err(|error| Failure::from(error).words())?;
        Ok(BranchSummarizer { summarizer, settings: room })
    })
}

fn print_link(words: &str, link: &str, out: &mut Screen<'_>) -> io::Result<()> {
    out.print_whole(&Line::new().text(words))?;
    out.print_whole(&Line::new().text("  ").styled(ACCENT, link))
}

/// Opens a browser with a page that leads to the link, and returns the page; `None` if there is no screen for a browser.
///
/// All users of a computer can see the arguments of its programs. So the browser gets the name of a file that only this
/// user can read, and the link is in the file.
fn open(env: &CommandEnvironment, link: &str) -> Result<Option<NamedTempFile>, Failure> {
    let environment = env.own_environment();
    let (program, asks_screen) = match () {
        () if cfg!(target_os = "macos") => ("open", false),
        () if cfg!(windows) => ("explorer", false),
        () => ("xdg-open", true),
    };
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().any(|name| environment.variable(name).is_some());
    if asks_screen && !has_screen {
        return Ok(None);
    }
    let Some(state) = environment.state_dir() else { return Ok(None) };
    let directory = state.join("serve");
    env.sessions.make_export_directory(&directory)?;
    // A temporary file has mode 0600, and is removed when it is dropped.
    let mut page = tempfile::Builder::new()
        .prefix("open-")
        .suffix(".html")
        .tempfile_in(directory)
        .map_err(Failure::NoTemporary)?;
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={link}\">\
         <title>Sessile</title><p><a href=\"{link}\">Open your sessions</a></p>\n"
    );
    page.write_all(text.as_bytes()).and_then(|()| page.flush()).map_err(Failure::NoTemporary)?;
    let mut command = Command::new(program);
    command.arg(page.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = command.spawn().map_err(|source| Failure::NoBrowser { program, source })?;
    // Without a thread, the program stays a zombie until the server ends.
    drop(threads::spawn("browser", move || browser.wait()));
    Ok(Some(page))
}
