//! Files for sessions that only the server has.

use std::io::Write;
use std::path::Path;

use sessile_core::json::{Edit, Json};
use sessile_remote::{Chain, Head, Position, Server};
use sessile_store::{StoreError, create_directory, prepare_file};

use super::all::header_of;
use super::gate::{ForeignLines, Settled, check_loops};
use super::reading::read_log;
use crate::error::SessionError;
use crate::known::lines::{Mark, Start};
use crate::world::World;

/// Which lines of a log a new file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaLines {
    /// All.
    All,
    /// All, of a log of another member.
    OfOther,
    /// As many as do not end with an entry of another member.
    Settled,
}

/// A file that was created for a log.
pub(crate) struct CreatedReplica {
    /// The position of the log up to which the file has its lines.
    pub(crate) position: Position,
    /// The end of its lines.
    pub(crate) end: u64,
}

/// Creates the file for a log, for a working directory of this machine.
pub(crate) fn create_replica(
    world: &World,
    server: &mut dyn Server,
    head: &Head,
    path: &Path,
    cwd: &Path,
    lines: ReplicaLines,
) -> Result<CreatedReplica, SessionError> {
    let header = header_of(head).ok_or_else(|| SessionError::BadRemoteHeader { id: head.header_id.as_str().into() })?;
    let header_line = match cwd.to_str().filter(|cwd| Some(*cwd) != header.cwd().as_deref()) {
        Some(cwd) => header.json().raw().edited(&[Edit::Set("cwd", Json::string(cwd).raw())]).into_bytes(),
        None => head.header.clone(),
    };
    if let Some(directory) = path.parent() {
        create_directory(world.os(), directory, true)?;
    }
    let mut prepare = |to: u64| {
        let mut foreign = ForeignLines::after(0, Chain::EMPTY);
        let prepared = prepare_file(world.os(), path, true, &mut |out: &mut dyn Write| {
            let failed = |source| SessionError::from(StoreError::io_at("write", path, source));
            out.write_all(&header_line).and_then(|()| out.write_all(b"\n")).map_err(failed)?;
            let mut number = 0;
            foreign = read_log(server, path, head, 0, Chain::EMPTY, &mut |line| {
                number += 1;
                if number > to {
                    return Ok(());
                }
                out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(failed)
            })?;
            Ok::<(), SessionError>(())
        })?;
        Ok::<_, SessionError>((prepared, foreign))
    };
    let (mut prepared, foreign) = prepare(head.position.n_lines)?;
    let start = Start { n_lines: 0, mark: Mark { end: header_line.len() as u64 + 1, chain: Chain::EMPTY } };
    foreign.check(world.os(), prepared.temporary(), start, path)?;
    if lines == ReplicaLines::OfOther {
        check_loops(world.os(), prepared.temporary(), start, path)?;
    }
    let Settled { n_lines, chain } = foreign.settled();
    let mut position = head.position;
    if lines == ReplicaLines::Settled && n_lines < position.n_lines {
        // Seldom, so it may be read twice.
        drop(prepared);
        (prepared, _) = prepare(n_lines)?;
        position = Position { n_lines, chain, ..position };
    }
    let end = prepared.length();
    drop(prepared.publish_in_turn()?);
    Ok(CreatedReplica { position, end })
}
