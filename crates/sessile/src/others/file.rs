//! The file of a catalogue.
//!
//! It is read as a whole for each command that uses a remote, so it is not JSON.

use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::date::Timestamp;
use sessile_core::info::{RoleCounts, SessionFacts, TokenCounts};
use sessile_index::Kind;
use sessile_index::bytes::{Reader, Writer};
use sessile_remote::{Chain, Position, ServerTime, SessionNo};
use sessile_store::os::Os;
use sessile_store::{StoreError, create_directory, read_whole, swap_in};

use super::note::Note;
use super::{Catalogue, OtherSession, key_of};

/// The kind of the file. One of another version counts as missing, so the server is asked for everything.
const OTHERS: Kind = Kind { directory: "", tag: *b"OTHR", version: 1, files: &[] };

/// The maximum length of the file.
const MAX_LENGTH: u64 = 256 << 20;

/// The file of the catalogue of a store.
pub(super) fn file_in(directory: &Path) -> PathBuf {
    directory.join("others")
}

/// Reads a catalogue. A file that is missing or damaged is an empty one.
pub(super) fn load(os: &dyn Os, directory: &Path) -> Catalogue {
    let file = file_in(directory);
    let text = read_whole(os, &file, MAX_LENGTH).unwrap_or_default();
    let read = OTHERS.body(&text).and_then(|body| catalogue(&mut Reader::new(body)));
    Catalogue { file, ..read.unwrap_or_default() }
}

/// Replaces the file of a catalogue.
pub(super) fn save(os: &dyn Os, catalogue: &Catalogue) -> Result<(), StoreError> {
    let mut out = Writer::default();
    let texts = |out: &mut Writer, text: &str| out.bytes(text.as_bytes());
    out.option(catalogue.seen, |out, ServerTime(time)| out.signed(time));
    out.option(catalogue.whole, |out, ServerTime(time)| out.signed(time));
    out.option(catalogue.member.as_deref(), texts);
    out.number(catalogue.own_projects.len() as u64);
    for (id, project) in &catalogue.own_projects {
        texts(&mut out, id);
        texts(&mut out, project);
    }
    out.number(catalogue.sessions.len() as u64);
    for session in catalogue.sessions.values() {
        put_session(&mut out, session);
    }
    if let Some(directory) = catalogue.file.parent() {
        create_directory(os, directory, false)?;
    }
    swap_in(os, &catalogue.file, &OTHERS.file(&out.0))
}

fn catalogue(from: &mut Reader<'_>) -> Option<Catalogue> {
    let seen = from.option(Reader::signed)?.map(ServerTime);
    let whole = from.option(Reader::signed)?.map(ServerTime);
    let member = from.option(Reader::string)?;
    let own_projects = (0..from.length()?).map(|_| Some((from.string()?, from.string()?))).collect::<Option<_>>()?;
    let sessions = (0..from.length()?).map(|_| session(from).map(|session| (key_of(&session), session)));
    let sessions = sessions.collect::<Option<_>>()?;
    from.is_at_end().then(|| Catalogue { seen, whole, sessions, member, own_projects, ..Catalogue::default() })
}

fn put_session(out: &mut Writer, session: &OtherSession) {
    let OtherSession { owner, id, no, position, bytes, cwd, path, note, project } = session;
    out.bytes(owner.as_bytes());
    out.bytes(id.as_str().as_bytes());
    out.signed(no.0);
    out.number(position.epoch.into());
    out.number(position.n_lines);
    out.0.extend(position.chain.as_bytes());
    out.number(*bytes);
    out.bytes(cwd.as_bytes());
    out.bytes(path.to_string_lossy().as_bytes());
    out.option(project.as_deref(), |out, project| out.bytes(project.as_bytes()));
    put_note(out, note);
}

fn session(from: &mut Reader<'_>) -> Option<OtherSession> {
    Some(OtherSession {
        owner: from.string()?,
        id: SessionId::from(from.string()?),
        no: SessionNo(from.signed()?),
        position: Position {
            epoch: u32::try_from(from.number()?).ok()?,
            n_lines: from.number()?,
            chain: Chain::from(*from.array()?),
        },
        bytes: from.number()?,
        cwd: from.string()?,
        path: from.string()?.into(),
        project: from.option(Reader::string)?,
        note: note(from)?,
    })
}

fn put_note(out: &mut Writer, note: &Note) {
    let Note { name, first_message, repository, modified, n_messages, is_archived, facts } = note;
    out.option(name.as_deref(), |out, name| out.bytes(name.as_bytes()));
    out.bytes(first_message.as_bytes());
    out.option(repository.as_deref(), |out, repository| out.bytes(repository.as_bytes()));
    out.signed(modified.as_ms());
    out.number(*n_messages);
    out.byte(u8::from(*is_archived));
    out.number(facts.entries);
    for number in facts.messages.to_numbers() {
        out.number(number);
    }
    out.number(facts.compactions);
    let TokenCounts { input, output, cache_read, cache_write } = facts.tokens;
    for number in [input, output, cache_read, cache_write, facts.cost] {
        out.float(number);
    }
    out.byte(u8::from(facts.has_branches));
}

fn note(from: &mut Reader<'_>) -> Option<Note> {
    Some(Note {
        name: from.option(Reader::string)?,
        first_message: from.string()?,
        repository: from.option(Reader::string)?,
        modified: Timestamp::from_ms(from.signed()?),
        n_messages: from.number()?,
        is_archived: from.byte()? != 0,
        facts: SessionFacts {
            entries: from.number()?,
            messages: {
                let mut numbers = [0; RoleCounts::N_ROLES];
                for number in &mut numbers {
                    *number = from.number()?;
                }
                RoleCounts::from_numbers(numbers)
            },
            compactions: from.number()?,
            tokens: TokenCounts {
                input: from.float()?,
                output: from.float()?,
                cache_read: from.float()?,
                cache_write: from.float()?,
            },
            cost: from.float()?,
            has_branches: from.byte()? != 0,
            ..SessionFacts::default()
        },
    })
}
