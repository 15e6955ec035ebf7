//! `sessile remote members`, `grant` and `revoke`

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use sessile::os::RealOs;
use sessile::sync::remote::postgres::Joining;
use sessile::sync::remote::{May, Member, RemoteError, Secret, Team};
use sessile::sync::{ConfiguredRemote, create_password, read_password};
use sessile_rpc::answer::{self, Granted};

use super::{find, local, print_named};
use crate::clock::Clock;
use crate::data::{ListFormat, ListWriter, write_value};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::remote::{connect, connect_admin, failure};
use crate::screen::{Line, Screen};

#[derive(Debug, Args)]
pub(super) struct MembersArgs {
    /// The remote, if there are several
    #[arg(value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    format: ListFormat,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile remote grant bob --password-file bob.password
  $ sessile remote grant bob --project website --write
  $ sessile remote grant carol --admin")]
pub(super) struct GrantArgs {
    /// The member
    #[arg(value_name = "MEMBER")]
    member: String,

    /// Let the member administer the store
    #[arg(long, conflicts_with = "project")]
    admin: bool,

    /// Give access to the sessions of this project, instead of making the user a member
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,

    /// Let the member append to these sessions, and add sessions to the project
    #[arg(long, requires = "project")]
    write: bool,

    /// The file with the password of the login; a new file gets a random password
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "project")]
    password_file: Option<PathBuf>,

    /// Print JSON: {member, project?, may?, admin?, passwordFile?, changed}
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile remote revoke bob
  $ sessile remote revoke bob --project website")]
pub(super) struct RevokeArgs {
    /// The member
    #[arg(value_name = "MEMBER")]
    member: String,

    /// Only take back the access to this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,

    /// Print JSON: {member, project?, changed}
    #[arg(long)]
    json: bool,
}

pub(super) fn members(env: &CommandEnvironment, args: &MembersArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let members = connect(env, &find(env, args.name.as_deref())?)?.members().map_err(failure)?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        members.iter().try_for_each(|member| list.push(answer::member(member).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    let clock = Clock::new(env);
    let describe = |member: &Member| {
        let right = match member {
            Member { revoked_at: Some(at), .. } => format!("revoked {}", clock.short(local(*at))),
            Member { is_admin: true, .. } => "administrator".to_owned(),
            _ => "member".to_owned(),
        };
        let sessions = format!("{} {}", member.n_sessions, noun(member.n_sessions, "session", "sessions"));
        format!("{right}, joined {}, {sessions}", clock.short(local(member.joined_at)))
    };
    let rows = members.iter().map(|member| (member.name.as_str(), describe(member)));
    print_named(rows, out)
}

pub(super) fn grant(env: &CommandEnvironment, args: &GrantArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let remote = find(env, env.remote())?;
    let member = &args.member;
    let mut granted = Granted { member: member.clone(), has_changed: true, ..Granted::default() };
    let words = if let Some(project) = &args.project {
        let may = if args.write { May::Write } else { May::Read };
        granted.has_changed = connect(env, &remote)?.grant_project(project, member, may).map_err(failure)?;
        (granted.project, granted.may) = (Some(project.clone()), Some(may));
        let verb = if granted.has_changed { "may" } else { "already may" };
        format!("{member} {verb} {} the sessions of {project}", may.as_str())
    } else {
        granted.is_admin = args.admin;
        granted.password_file = args.password_file.as_ref().map(|file| env.directory(Some(file)));
        let file = granted.password_file.as_deref();
        let password = file.map(|file| password(&remote, file, member)).transpose()?;
        let joining = Joining { name: member, password: password.as_ref(), is_admin: args.admin.then_some(true) };
        connect_admin(env, &remote)?.join(&joining).map_err(failure)?;
        let right = if args.admin { "an administrator" } else { "a member" };
        let place = file.map(|file| format!("; the password is in {}", env.short(&file.to_string_lossy())));
        format!("{member} is {right} of the store{}", place.unwrap_or_default())
    };
    finish(&granted, &words, args.json, out)?;
    Ok(Exit::Done)
}

fn finish(granted: &Granted, words: &str, json: bool, out: &mut Screen<'_>) -> std::io::Result<()> {
    if json {
        return write_value(out.data(), &answer::granted(granted));
    }
    out.print_whole(&Line::new().text(words))
}

/// Reads the password of a login from its file. A file that is not there gets a random one first.
fn password(remote: &ConfiguredRemote, file: &Path, member: &str) -> Result<Secret, Failure> {
    let failed =
        |source| failure(RemoteError::PasswordUnavailable { remote: format!("{member} at {}", remote.name), source });
    if file.try_exists().is_ok_and(|exists| !exists) {
        let password = Secret::random().map_err(failed)?;
        create_password(&RealOs, file, password.reveal()).map_err(failed)?;
        return Ok(password);
    }
    read_password(&RealOs, file, member).map(Secret::new).map_err(failed)
}

pub(super) fn revoke(env: &CommandEnvironment, args: &RevokeArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let remote = find(env, env.remote())?;
    let member = &args.member;
    let (was_there, words) = if let Some(project) = &args.project {
        let was_there = connect(env, &remote)?.revoke_project(project, member).map_err(failure)?;
        let words = if was_there { "has no access any more to" } else { "has no access to" };
        (was_there, format!("{member} {words} {project}"))
    } else {
        let was_there = connect_admin(env, &remote)?.revoke_member(member).map_err(failure)?;
        let words = if was_there { "is not a member any more" } else { "is not a member" };
        (was_there, format!("{member} {words}"))
    };
    let revoked =
        Granted { member: member.clone(), project: args.project.clone(), has_changed: was_there, ..Granted::default() };
    finish(&revoked, &words, args.json, out)?;
    Ok(if was_there { Exit::Done } else { Exit::Nothing })
}
