//! Writes a session as a document. Answers as pi does for web pages; the other formats are ours.

use std::path::{Path, PathBuf};

use sessile::export::{ExportFormat, ExportOptions};
use sessile::format::location::normalise;
use sessile::{SessionError, SessionManager};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::failure::{Code, Failure};

pub(crate) fn export_html(call: &Call<'_>) -> CommandResult {
    let (source, leaf) = {
        let session = call.session()?;
        let manager = session.lock_fresh();
        let Some(source) = manager.session_file().map(Path::to_path_buf) else {
            return Err(Failure::invalid("Cannot export in-memory session to HTML"));
        };
        if !manager.is_stored() {
            return Err(Failure::invalid("Nothing to export yet - start a conversation first"));
        }
        (source, manager.leaf_id())
    };
    // A second reader of the file, so that a long export holds up no other client of the session.
    let sessions = call.server().options.sessions.clone().read_only();
    let mut session = sessions.open(&source)?;
    if let Some(leaf) = leaf.filter(|leaf| session.leaf_id().as_ref() != Some(leaf)) {
        session.branch(&leaf)?;
    }
    let format = call.text("format").unwrap_or_else(|| "html".to_owned());
    let given = call.text("outputPath").filter(|path| !path.is_empty());
    let given = given.map_or_else(|| default_name(&source, &format), PathBuf::from);
    let path = normalise(&given, &sessions.environment().home());
    write(call, &session, &format, &path)?;
    answered(answer::exported(&path))
}

/// pi's name for an export without a path, with the extension of the format.
fn default_name(source: &Path, format: &str) -> PathBuf {
    let stem = source.file_name().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("pi-session-{}.{format}", stem.strip_suffix(".jsonl").unwrap_or(&stem)))
}

/// Writes the document and replaces an existing file, as pi does.
fn write(call: &Call<'_>, session: &SessionManager, format: &str, path: &Path) -> Result<(), Failure> {
    let absolute = call.server().options.cwd.join(path);
    let format = match format {
        "jsonl" => ExportFormat::Jsonl,
        "md" => ExportFormat::Markdown,
        "json" => ExportFormat::Json,
        _ => return write_page(call, session, &absolute, path),
    };
    let options = ExportOptions { format, ..ExportOptions::default() };
    session.export_to(&options, &absolute, true).map_err(|error| in_pi_words(error, path))
}

#[cfg(feature = "web")]
fn write_page(call: &Call<'_>, session: &SessionManager, absolute: &Path, path: &Path) -> Result<(), Failure> {
    use sessile_web::{Card, Form, PageSink, export_html};
    let sessions = &call.server().options.sessions;
    let environment = sessions.environment();
    let source = session.session_file().unwrap_or(absolute);
    let card = Card { exported: Some(environment.now()), ..Card::of(sessions, source, &[]) };
    let written = session.write_export(absolute, true, &mut |write| {
        export_html(session, &card, environment, Form::OneFile, &mut PageSink { write })
    });
    written.map_err(|error| in_pi_words(error, path))
}

#[cfg(not(feature = "web"))]
fn write_page(_call: &Call<'_>, _session: &SessionManager, _absolute: &Path, _path: &Path) -> Result<(), Failure> {
    Err(Failure::not_supported("export_html is not supported: this program was built without web pages"))
}

/// The message that Node gives for a path that cannot be written.
fn in_pi_words(error: SessionError, path: &Path) -> Failure {
    let kind = match &error {
        SessionError::Store(error) => error.io_error().map(std::io::Error::kind),
        _ => None,
    };
    let path = path.display();
    match kind {
        Some(std::io::ErrorKind::NotFound) => {
            Failure::new(Code::Io, format!("ENOENT: no such file or directory, open '{path}'"))
        }
        Some(std::io::ErrorKind::IsADirectory) => {
            Failure::new(Code::Io, format!("EISDIR: illegal operation on a directory, open '{path}'"))
        }
        _ => error.into(),
    }
}
