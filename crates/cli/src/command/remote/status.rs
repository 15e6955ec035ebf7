//! `sessile remote status`

use clap::Args;
use sessile::sync::remote::blobs::Objects;
use sessile::sync::remote::{About, Server};
use sessile::sync::{ConfiguredRemote, Direction, SyncOptions, SyncResult, SyncScope, SyncState};
use sessile_rpc::answer;

use super::find;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::remote::{connect, failure, storage};
use crate::screen::{Line, Screen};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// The remote, if there are several
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A storage for large lines: its place, and why it does not answer.
struct StorageState {
    place: String,
    error: Option<String>,
}

/// The sessions that this machine and a remote have in common.
#[derive(Default)]
struct Compared {
    n_equal: usize,
    different: Vec<SyncResult>,
}

pub(super) fn status(
    env: &CommandEnvironment,
    args: &StatusArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let remote = find(env, args.name.as_deref())?;
    let mut server = connect(env, &remote)?;
    let about = server.about().map_err(failure)?;
    let storage = storage_state(env, &remote)?;
    if !args.json {
        print(&remote, &about, storage.as_ref(), out)?;
    }
    let compared = compare(env, &mut server)?;
    if args.json {
        let storage = storage.as_ref().map(|storage| (storage.place.as_str(), storage.error.as_deref()));
        let status = answer::remote_status(&remote, &about, storage, compared.n_equal, &compared.different);
        write_value(out.data(), &status)?;
    } else {
        let words = format!("{:<8} {} equal, {} different", "sessions", compared.n_equal, compared.different.len());
        out.print_whole(&Line::new().text(&words))?;
        compared.different.iter().try_for_each(|result| super::super::sync::print(env, result, out, err))?;
    }
    let is_fine = compared.different.is_empty() && storage.is_none_or(|storage| storage.error.is_none());
    Ok(if is_fine { Exit::Done } else { Exit::Nothing })
}

/// Shows what a remote is, and who the user is there.
pub(super) fn show(env: &CommandEnvironment, remote: &ConfiguredRemote, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let about = connect(env, remote)?.about().map_err(failure)?;
    let storage = storage_state(env, remote)?;
    print(remote, &about, storage.as_ref(), out)?;
    Ok(if storage.is_none_or(|storage| storage.error.is_none()) { Exit::Done } else { Exit::Nothing })
}

fn storage_state(env: &CommandEnvironment, remote: &ConfiguredRemote) -> Result<Option<StorageState>, Failure> {
    let Some(storage) = storage(env, remote)? else { return Ok(None) };
    let error = storage.check().err().map(|error| error.to_string());
    Ok(Some(StorageState { place: storage.place().to_owned(), error }))
}

fn print(
    remote: &ConfiguredRemote,
    about: &About,
    storage: Option<&StorageState>,
    out: &mut Screen<'_>,
) -> std::io::Result<()> {
    let mut rows = vec![
        ("remote", remote.name.clone()),
        ("address", remote.url.clone()),
        ("server", format!("PostgreSQL {}", about.server_version)),
        ("store", about.store.clone()),
        ("version", about.schema_version.to_string()),
        ("member", about.member.clone()),
        ("rights", if about.is_admin { "administrator" } else { "member" }.to_owned()),
    ];
    if let Some(StorageState { place, error }) = storage {
        rows.push(("blobs", error.clone().unwrap_or_else(|| format!("{place}: it answers"))));
    }
    rows.iter().try_for_each(|(key, value)| out.print_whole(&Line::new().text(&format!("{key:<8} {value}"))))
}

/// Compares the sessions by the hashes over all their lines.
fn compare(env: &CommandEnvironment, server: &mut dyn Server) -> Result<Compared, Failure> {
    let (direction, cancel) = (Direction::Compare, on_interrupt()?);
    let options = SyncOptions { direction, is_thorough: true, cancel, ..SyncOptions::default() };
    let mut compared = Compared::default();
    env.sessions.sync(server, &SyncScope::Known, &options, &mut |result| {
        if result.result.as_ref().is_ok_and(|synced| synced.state == SyncState::Equal) {
            compared.n_equal += 1;
        } else {
            compared.different.push(result);
        }
    })?;
    Ok(compared)
}
