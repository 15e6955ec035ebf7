//! Runs the command of a request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::catalogue::Command;
use crate::client::Client;
use crate::command::{Call, CommandResult};
use crate::envelope::Request;
use crate::failure::{Code, Failure};
use crate::shape;

/// Returns the command that a request names, if there is one.
pub(crate) fn command_of(request: &Request) -> Option<&'static Command> {
    request.command.as_deref().and_then(Command::of)
}

/// Checks the parameters and runs the command, on this thread.
pub(crate) fn run(command: &'static Command, client: &Client, request: &Request) -> CommandResult {
    let call = Call { client, request };
    let checked = command
        .all_parameters()
        .copied()
        .try_for_each(|field| shape::check(std::slice::from_ref(&field), request.body.raw()));
    checked.map_err(|wrong| Failure::invalid(format!("{}: {wrong}", command.name)))?;
    match run_guarded(command, &call) {
        // The command failed on stale data before it changed anything. Read the sessions again, then run it once
        // more.
        Err(failure) if failure.is_stale => {
            client.server.sessions().iter().for_each(|session| drop(session.lock_fresh()));
            run_guarded(command, &call)
        }
        result => result,
    }
}

/// Runs a command. If it panics, only this command fails.
fn run_guarded(command: &'static Command, call: &Call<'_>) -> CommandResult {
    catch_unwind(AssertUnwindSafe(|| (command.run)(call))).unwrap_or_else(|_| {
        call.server().sessions().iter().for_each(|session| session.recover_from_panic());
        Err(Failure::new(Code::Io, format!("{} failed unexpectedly", command.name)))
    })
}
