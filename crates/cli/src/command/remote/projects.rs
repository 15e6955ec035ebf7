//! `sessile remote projects`

use clap::Args;
use sessile::sync::remote::{May, Project, Share, Team};
use sessile_rpc::answer;

use super::{find, print_named};
use crate::data::{ListFormat, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::remote::{connect, failure};
use crate::screen::{Line, Screen};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile remote projects
  $ sessile remote projects --new website
  $ sessile remote projects website --json")]
pub(super) struct ProjectsArgs {
    /// Show who has access to this project
    #[arg(value_name = "PROJECT")]
    project: Option<String>,

    /// Make a project
    #[arg(long, value_name = "PROJECT", conflicts_with_all = ["project", "json", "jsonl"])]
    new: Option<String>,

    #[command(flatten)]
    format: ListFormat,
}

pub(super) fn projects(env: &CommandEnvironment, args: &ProjectsArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let mut server = connect(env, &find(env, env.remote())?)?;
    if let Some(name) = &args.new {
        server.create_project(name).map_err(failure)?;
        out.print_whole(&Line::new().text(&format!("you have made the project {name}")))?;
        return Ok(Exit::Done);
    }
    if let Some(name) = &args.project {
        return print_shares(&server.project_members(name).map_err(failure)?, args.format, out);
    }
    let projects = server.projects().map_err(failure)?;
    if let Some(layout) = args.format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        projects.iter().try_for_each(|project| list.push(answer::project(project).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    let describe = |project: &Project| {
        let right = project.may.map_or("you have no access", |may| match may {
            May::Read => "you may read",
            May::Write => "you may write",
        });
        let members = format!("{} {}", project.n_members, noun(project.n_members, "member", "members"));
        let sessions = project.n_sessions.map_or_else(String::new, |n_sessions| {
            format!(", {n_sessions} {}", noun(n_sessions, "session", "sessions"))
        });
        format!("{right}, made by {}, {members}{sessions}", project.made_by)
    };
    print_named(projects.iter().map(|project| (project.name.as_str(), describe(project))), out)
}

/// Prints who may do what.
pub(in crate::command) fn print_shares(
    shares: &[Share],
    format: ListFormat,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(layout) = format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        shares.iter().try_for_each(|share| list.push(answer::share(share).raw()))?;
        list.finish()?;
        return Ok(Exit::Done);
    }
    let describe = |share: &Share| {
        let project = share.project.as_ref().map_or_else(String::new, |project| format!(" by project {project}"));
        format!("may {}{project}, granted by {}", share.may.as_str(), share.granted_by)
    };
    print_named(shares.iter().map(|share| (share.member.as_str(), describe(share))), out)
}
