//! Lines of a log on their way to this machine.

use std::ops::ControlFlow;
use std::path::Path;

use sessile_remote::{Chain, Head, RemoteError, Server, ServerLine};

use super::gate::ForeignLines;
use crate::error::SessionError;

/// Reads the lines of a log after the first `from`, which have this chain. Fails unless they have the hash that the server
/// claims. Returns those that other members have appended.
pub(super) fn read_log(
    server: &mut dyn Server,
    path: &Path,
    head: &Head,
    from: u64,
    chain: Chain,
    on_line: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
) -> Result<ForeignLines, SessionError> {
    let to = head.position.n_lines;
    // The header is line 1.
    let damaged = |number: u64, reason: &str| SessionError::RemoteDamaged {
        path: path.to_path_buf(),
        line: number + 1,
        reason: reason.to_owned(),
    };
    let (mut chains, mut last, mut failed, mut foreign) = (Vec::new(), chain, None, ForeignLines::after(from, chain));
    let read = server.read(head.no, head.position.epoch, from, to, &mut |line: ServerLine<'_>| {
        last = last.after(line.bytes);
        chains.push(last);
        let number = from + chains.len() as u64;
        foreign.add(number, line.bytes, last, line.author != head.owner);
        let is_line = !line.bytes.contains(&b'\n');
        failed = if is_line { on_line(line.bytes).err() } else { Some(damaged(number, "it contains a newline")) };
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let n_read = from + chains.len() as u64;
    match (failed, read) {
        (Some(error), _) => Err(error),
        (None, Err(RemoteError::BadData { reason, .. })) => Err(damaged(n_read + 1, &reason)),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(())) if (n_read, last) == (to, head.position.chain) => Ok(foreign),
        (None, Ok(())) if n_read < to => Err(damaged(n_read + 1, "it is missing")),
        (None, Ok(())) => {
            let number = first_wrong(server, head, from, &chains)?;
            Err(damaged(number, "it does not have the hash that it had when it was pushed"))
        }
    }
}

/// The number of the first line after which the server has noted another chain; the last line if there is none.
fn first_wrong(server: &mut dyn Server, head: &Head, from: u64, chains: &[Chain]) -> Result<u64, SessionError> {
    let (mut low, mut high) = (0, chains.len());
    // The lines before `low` are right, and the one at `high` is wrong.
    while low < high {
        let middle = low.midpoint(high);
        let number = from + middle as u64 + 1;
        let there = server.chains(head.no, head.position.epoch, &[number])?.first().copied().flatten();
        if there == chains.get(middle).copied() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(from + (low + 1).min(chains.len()) as u64)
}
