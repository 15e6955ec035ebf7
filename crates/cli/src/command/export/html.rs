//! Exports a session as a web page.

use std::path::{Path, PathBuf};

use sessile::{SessionError, SessionManager, Sessions};
use sessile_web::{Card, Form, PageSink, Sink, export_html};

use super::{ExportArgs, failure, report};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::Screen;

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ExportArgs,
    session: &SessionManager,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let n_entries = session.outline().n_entries();
    let card = match session.session_file() {
        Some(path) if !args.redacting.is_given() => Card::of(&env.sessions, path, &env.relatives(path)?),
        _ => Card::of_copy(session)?,
    };
    let card = Card { exported: Some(env.sessions.environment().now()), ..card };
    let Some(output) = args.output.as_ref().filter(|output| output.as_os_str() != "-") else {
        if out.is_terminal() {
            return Err(Failure::RawToTerminal);
        }
        let data = out.data();
        let mut sink = PageSink { write: &mut |bytes: &[u8]| Ok::<_, Failure>(data.write_all(bytes)?) };
        export_html(session, &card, env.sessions.environment(), Form::OneFile, &mut sink)?;
        return Ok(Exit::Done);
    };
    let path = env.own_environment().current_dir().join(output);
    if !args.dry_run {
        write(env, args, session, &card, &path)?;
    }
    report(env, args, n_entries, &path, out)
}

fn write(
    env: &CommandEnvironment,
    args: &ExportArgs,
    session: &SessionManager,
    card: &Card,
    path: &Path,
) -> Result<(), Failure> {
    let environment = env.sessions.environment();
    if !args.split {
        let written = session.write_export(path, args.force, &mut |write| {
            export_html(session, card, environment, Form::OneFile, &mut PageSink { write })
        });
        return written.map_err(failure);
    }
    // The page gets its name last, so a folder with a page is complete.
    let page = path.join("index.html");
    if path.exists() {
        return Err(Failure::OutputExists { path: path.to_path_buf() });
    }
    let data = path.join("data");
    env.sessions.make_export_directory(&data)?;
    let written = session.write_export(&page, false, &mut |write| {
        let mut sink = FolderSink { page: PageSink { write }, sessions: &env.sessions, data: data.clone() };
        export_html(session, card, environment, Form::Split, &mut sink)
    });
    written.map_err(failure)
}

/// A page with data files in a folder beside it.
struct FolderSink<'w> {
    page: PageSink<'w, SessionError>,
    sessions: &'w Sessions,
    data: PathBuf,
}

impl Sink for FolderSink<'_> {
    type Error = SessionError;

    fn page(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        self.page.page(bytes)
    }

    fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), SessionError> {
        self.sessions.write_document(&self.data.join(name), bytes)
    }
}
