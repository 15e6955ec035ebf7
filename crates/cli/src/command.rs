//! The commands, one file each.

mod completions;
mod context;
mod entries;
mod export;
mod help;
mod info;
mod list;
mod llm;
mod man;
mod overview;
mod repair;
mod search;
mod show;
mod stats;
mod tree;
mod verify;
mod watch;

use std::sync::Arc;

use clap::Subcommand;
use sessile::Environment;

use crate::Exit;
use crate::args::Cli;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::surroundings::Surroundings;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::ListArgs),
    Search(Box<search::SearchArgs>),
    Show(show::ShowArgs),
    Tree(tree::TreeArgs),
    Info(info::InfoArgs),
    Stats(stats::StatsArgs),
    Context(context::ContextArgs),
    Llm(llm::LlmArgs),
    Entries(entries::EntriesArgs),
    Watch(watch::WatchArgs),
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
    Repair(repair::RepairArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
}

/// Runs what the arguments say.
pub(crate) fn run(
    cli: &Cli,
    environment: Arc<dyn Environment>,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if let Some(Command::Completions(args)) = &cli.command {
        return completions::run(args, out);
    }
    if let Some(Command::Help(args)) = &cli.command {
        return help::run(args, out);
    }
    let surroundings = Surroundings::new(environment, cli.sample.as_ref(), cli.session_dir.as_deref())?;
    match &cli.command {
        None => overview::run(&surroundings, out, err),
        Some(Command::List(args)) => list::run(&surroundings, args, out, err),
        Some(Command::Search(args)) => search::run(&surroundings, args, out, err),
        Some(Command::Show(args)) => show::run(&surroundings, args, out, err),
        Some(Command::Tree(args)) => tree::run(&surroundings, args, out, err),
        Some(Command::Info(args)) => info::run(&surroundings, args, out, err),
        Some(Command::Stats(args)) => stats::run(&surroundings, args, out, err),
        Some(Command::Export(args)) => export::run(&surroundings, args, out, err),
        Some(Command::Context(args)) => context::run(&surroundings, args, out, err),
        Some(Command::Llm(args)) => llm::run(&surroundings, args, out, err),
        Some(Command::Entries(args)) => entries::run(&surroundings, args, out, err),
        Some(Command::Watch(args)) => watch::run(&surroundings, args, out, err),
        Some(Command::Verify(args)) => verify::run(&surroundings, args, out, err),
        Some(Command::Repair(args)) => repair::run(&surroundings, args, out),
        Some(Command::Man(args)) => man::run(&surroundings, args, out),
        Some(Command::Completions(args)) => completions::run(args, out),
        Some(Command::Help(args)) => help::run(args, out),
    }
}
