//! Exports to other agents.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, ValueEnum, ValueHint};
use sessile::SessionManager;
use sessile::export::{AgentExport, AgentExportOptions, Target};
use sessile_rpc::answer;

use super::{ExportArgs, failure};
use crate::data::{Layout, ListWriter};
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::noun;
use crate::screen::{DIM, Line, Screen};

/// The agent, and what is special about it.
#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    /// Export as a session of this agent
    #[arg(long, value_name = "AGENT", conflicts_with_all = ["format", "output_lines", "images"])]
    #[cfg_attr(feature = "web", arg(conflicts_with = "split"))]
    to: Option<TargetArg>,

    /// With --to: put it where the agent looks for its sessions
    #[arg(long, requires = "to", conflicts_with = "output")]
    install: bool,

    /// With --to: give pi's tools the names of the agent's own tools
    #[arg(long, requires = "to")]
    map_tools: bool,

    /// With --to: the directory in which the agent goes on [default: the session's own]
    #[arg(long, value_name = "DIR", requires = "to", value_hint = ValueHint::DirPath)]
    cwd: Option<PathBuf>,

    /// With --to: print a JSON array of what was written
    #[arg(long, requires = "to")]
    json: bool,
}

/// The agents that sessions can go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TargetArg {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// Qwen Code
    Qwen,
    /// opencode
    Opencode,
    /// oh-my-pi
    Omp,
}

impl AgentArgs {
    pub(super) fn target(&self) -> Option<Target> {
        self.to.map(|to| match to {
            TargetArg::Claude => Target::Claude,
            TargetArg::Codex => Target::Codex,
            TargetArg::Gemini => Target::Gemini,
            TargetArg::Qwen => Target::Qwen,
            TargetArg::Opencode => Target::Opencode,
            TargetArg::Omp => Target::Omp,
        })
    }
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &ExportArgs,
    target: Target,
    session: &SessionManager,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.agent.install && matches!(target, Target::Opencode | Target::Omp) {
        let message = format!("{} reads the file itself; leave out --install", target.name());
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    let options = AgentExportOptions {
        target,
        all_branches: args.all,
        leaf: args.branch.as_deref().map(|leaf| session.find_entry(leaf)).transpose()?,
        map_tools: args.agent.map_tools,
        cwd: args.agent.cwd.clone(),
    };
    let exports = session.export_for_agent(&options)?;
    if args.output.as_ref().is_some_and(|output| output.as_os_str() == "-") {
        return stream(&exports, args, out, err);
    }
    let mut written = Vec::new();
    for export in &exports {
        let path = path_of(env, args, export)?;
        let is_new = args.dry_run || session.write_agent_export(export, &path, args.force).map_err(failure)?;
        if args.agent.install && !args.dry_run {
            env.sessions.note_agent_place(export)?;
        }
        written.push((export, path, is_new));
    }
    if args.agent.json {
        let mut list = ListWriter::new(out.data(), Layout::Array);
        for (export, path, is_new) in &written {
            list.push(answer::agent_export(export, path, *is_new, args.agent.install).raw())?;
        }
        list.finish()?;
    } else {
        for (export, path, is_new) in &written {
            report(env, args, export, path, *is_new, out)?;
        }
    }
    if written.is_empty() {
        drop(err.print_whole(&Line::new().text("the session has no conversation to export")));
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Done)
}

/// Writes the only export to standard output.
fn stream(
    exports: &[AgentExport],
    args: &ExportArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.all || args.agent.json {
        let message = "standard output takes one session, without --all and --json";
        return Err(Failure::misuse(ErrorKind::ArgumentConflict, message));
    }
    if out.is_terminal() {
        return Err(Failure::RawToTerminal);
    }
    let [export] = exports else {
        drop(err.print_whole(&Line::new().text("the session has no conversation to export")));
        return Ok(Exit::Nothing);
    };
    out.data().write_all(&export.exported.bytes)?;
    Ok(Exit::Done)
}

/// Where an export goes: to the agent, to the given file or directory, or to the current directory.
fn path_of(env: &CommandEnvironment, args: &ExportArgs, export: &AgentExport) -> Result<PathBuf, Failure> {
    let name = &export.exported.file_name;
    let here = env.own_environment().current_dir();
    if args.agent.install {
        let target = export.exported.target.name();
        let message = || format!("{target} shortens the name of {}; copy the file yourself", export.cwd);
        let place = env.sessions.agent_place(export);
        return place.ok_or_else(|| Failure::misuse(ErrorKind::ValueValidation, message()));
    }
    Ok(match &args.output {
        Some(output) if args.all => here.join(output).join(name),
        Some(output) => here.join(output),
        None => here.join(name),
    })
}

/// Says what was written, and how to go on.
fn report(
    env: &CommandEnvironment,
    args: &ExportArgs,
    export: &AgentExport,
    path: &Path,
    is_new: bool,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let exported = &export.exported;
    let n = exported.n_messages;
    let (messages, name) = (noun(n, "message", "messages"), exported.target.name());
    let shown = env.short(&path.to_string_lossy());
    let done = match (args.dry_run, is_new) {
        (true, _) => format!("would write {n} {messages} for {name} to {shown}"),
        (false, true) => format!("wrote {n} {messages} for {name} to {shown}"),
        (false, false) => format!("{n} {messages} for {name} are already in {shown}"),
    };
    out.print_whole(&Line::new().text(&done))?;
    let losses: Vec<String> = exported.losses.iter().map(|(kind, number)| format!("{kind}: {number}")).collect();
    if !losses.is_empty() {
        out.print_whole(&Line::new().styled(DIM, &format!("  not kept: {}", losses.join(", "))))?;
    }
    if let Some(place) = env.sessions.agent_place(export).filter(|_| !args.agent.install) {
        let place = env.short(&place.to_string_lossy());
        out.print_whole(&Line::new().styled(DIM, "  put it there, or use --install: ").text(&place))?;
    }
    let command = export.resume_command(path);
    out.print_whole(&Line::new().styled(DIM, "  go on: ").text(&command))?;
    Ok(())
}
