//! `sessile sync --watch`

use std::io;
use std::time::Duration;

use sessile::SessionError;
use sessile::sync::remote::Server;
use sessile::sync::{ConfiguredRemote, Direction, SyncResult, SyncScope};
use sessile::team::{SyncWatchEvent, SyncWatchOptions};
use sessile_rpc::answer;

use super::{SyncArgs, find_remote, options, print, print_mirrored};
use crate::data::ListWriter;
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::remote::Connector;
use crate::screen::{Line, Screen};

pub(super) fn run(
    env: &CommandEnvironment,
    scope: SyncScope,
    args: &SyncArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let remote = find_remote(env)?;
    let connector = Connector::new(env, &remote)?;
    let options = SyncWatchOptions {
        scope,
        options: options(env, Direction::Both, &args.common)?,
        interval: Duration::from_secs(args.every),
    };
    let Some(layout) = args.common.format.layout() else {
        return keep(env, (&remote, &connector), &options, err, &mut |result, err| {
            print(env, result, out, err)?;
            out.flush()
        });
    };
    let mut list = ListWriter::new(out.data(), layout);
    let exit = keep(env, (&remote, &connector), &options, err, &mut |result, _| {
        list.push(answer::synced(result).raw())?;
        list.flush()
    })?;
    list.finish()?;
    Ok(exit)
}

/// Shows a session that was looked at, and gets the screen for warnings.
type OnSession<'s, 'e> = &'s mut dyn FnMut(&SyncResult, &mut Screen<'e>) -> io::Result<()>;

fn keep<'e>(
    env: &CommandEnvironment,
    (remote, connector): (&ConfiguredRemote, &Connector),
    options: &SyncWatchOptions,
    err: &mut Screen<'e>,
    on_session: OnSession<'_, 'e>,
) -> Result<Exit, Failure> {
    let cancel = options.options.cancel.clone();
    let mut connect = || Ok(Box::new(connector.connect()?) as Box<dyn Server>);
    let mut failed = None;
    let mut is_first = true;
    let ended = env.sessions.keep_synced(&mut connect, options, &mut |event| {
        let shown = match event {
            SyncWatchEvent::Session(result) => on_session(&result, err),
            SyncWatchEvent::Mirrored(mirrored) => print_mirrored(env, &mirrored, err),
            SyncWatchEvent::Round(round) if std::mem::take(&mut is_first) => {
                let words = format!("{}: watching; {} unchanged", remote.name, round.summary.n_unchanged);
                err.print_whole(&Line::new().text(&words))
            }
            SyncWatchEvent::Round(_) => Ok(()),
            SyncWatchEvent::Failed { error, pause } => {
                warn(err, &format!("{error}; trying again in {} s", pause.as_secs()))
            }
        };
        if let Err(error) = shown {
            failed.get_or_insert(error);
            cancel.cancel();
        }
    });
    match (failed, ended) {
        (Some(failed), _) => Err(failed.into()),
        (None, Err(SessionError::Cancelled)) => Ok(Exit::Interrupted),
        (None, ended) => ended.map(|()| Exit::Done).map_err(Into::into),
    }
}
