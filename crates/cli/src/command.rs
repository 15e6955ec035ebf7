//! The commands, one file each.

mod append;
mod archive;
mod branch;
mod clean;
mod clone;
mod compact;
mod complete;
mod completions;
mod config;
mod context;
mod delete;
mod diff;
mod du;
mod edit_context;
mod entries;
mod export;
mod family;
mod fork;
mod help;
mod import;
mod index;
mod info;
mod label;
mod list;
mod llm;
mod man;
mod migrate;
mod move_session;
mod name;
mod new;
mod overview;
mod prune;
mod repair;
mod restore;
#[cfg(feature = "tui")]
mod resume;
mod rpc;
mod search;
mod show;
mod slim;
mod stats;
mod tree;
mod undo;
mod verify;
mod watch;

use std::sync::Arc;

use clap::{Subcommand, ValueEnum};
use sessile::Environment;

use crate::Exit;
use crate::args::{Cli, Color};
use crate::failure::Failure;
#[cfg(feature = "tui")]
use crate::interactive;
use crate::screen::Screen;
use crate::surroundings::Surroundings;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "tui")]
    Resume(resume::ResumeArgs),
    List(list::ListArgs),
    Search(Box<search::SearchArgs>),
    Show(show::ShowArgs),
    Tree(tree::TreeArgs),
    Info(info::InfoArgs),
    Stats(stats::StatsArgs),
    Diff(diff::DiffArgs),
    Du(du::DuArgs),
    Family(family::FamilyArgs),
    Context(context::ContextArgs),
    Llm(llm::LlmArgs),
    Entries(entries::EntriesArgs),
    Watch(watch::WatchArgs),
    New(new::NewArgs),
    Append(Box<append::AppendArgs>),
    Name(name::NameArgs),
    Label(label::LabelArgs),
    Archive(archive::ArchiveArgs),
    Branch(branch::BranchArgs),
    Fork(fork::ForkArgs),
    Clone(clone::CloneArgs),
    Compact(compact::CompactArgs),
    EditContext(edit_context::EditContextArgs),
    Import(import::ImportArgs),
    Migrate(migrate::MigrateArgs),
    Move(move_session::MoveArgs),
    Delete(delete::DeleteArgs),
    Restore(restore::RestoreArgs),
    Prune(prune::PruneArgs),
    Slim(slim::SlimArgs),
    Clean(clean::CleanArgs),
    Undo(undo::UndoArgs),
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
    Repair(repair::RepairArgs),
    Index(index::IndexArgs),
    Config(config::ConfigArgs),
    Rpc(Box<rpc::RpcArgs>),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
    #[command(name = "__complete")]
    Complete(complete::CompleteArgs),
}

impl Command {
    /// Whether the command writes, moves or removes sessions.
    fn writes_sessions(&self) -> bool {
        #[cfg(feature = "tui")]
        if matches!(self, Self::Resume(_))
            || matches!(self, Self::Tree(args) if args.interactive)
            // The picker that may open before the reader can rename and delete.
            || matches!(self, Self::Show(args) if args.interactive)
        {
            return true;
        }
        matches!(
            self,
            Self::New(_)
                | Self::Append(_)
                | Self::Name(_)
                | Self::Label(_)
                | Self::Archive(_)
                | Self::Branch(_)
                | Self::Fork(_)
                | Self::Clone(_)
                | Self::Compact(_)
                | Self::EditContext(_)
                | Self::Import(_)
                | Self::Migrate(_)
                | Self::Move(_)
                | Self::Delete(_)
                | Self::Restore(_)
                | Self::Prune(_)
                | Self::Slim(_)
                | Self::Undo(_)
                | Self::Repair(_)
                | Self::Rpc(_)
        )
    }

    /// Whether the command prints text to read, all at once.
    fn is_paged(&self) -> bool {
        // A pager does not pass pictures on to the terminal.
        #[cfg(feature = "tui")]
        if matches!(self, Self::Tree(args) if args.interactive) || matches!(self, Self::Show(args) if args.interactive)
        {
            return false;
        }
        let is_text = matches!(self, Self::Show(args) if !args.has_pictures());
        is_text
            || matches!(
                self,
                Self::List(_)
                    | Self::Search(_)
                    | Self::Tree(_)
                    | Self::Info(_)
                    | Self::Diff(_)
                    | Self::Du(_)
                    | Self::Family(_)
                    | Self::Stats(_)
                    | Self::Context(_)
                    | Self::Llm(_)
                    | Self::Entries(_)
            )
            || matches!(self, Self::Verify(args) if args.is_of_many())
    }
}

/// Runs the command that the arguments select.
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
    if let Some(Command::Complete(args)) = &cli.command {
        return complete::run(args, environment, out);
    }
    if let Some(Command::Config(args)) = &cli.command {
        return config::run(cli, args, environment.as_ref(), out, err);
    }
    let settings = config::load(cli, environment.as_ref(), err)?;
    if cli.color.is_none() {
        let color = Color::from_str(settings.color(), false).unwrap_or_default();
        out.paint(color);
        err.paint(color);
    }
    if cli.command.as_ref().is_none_or(Command::is_paged) {
        out.page(settings.pager(), environment.as_ref());
    }
    let mut surroundings = Surroundings::new(environment, cli.sample.as_ref(), settings)?;
    let writes = cli.command.as_ref().map_or_else(|| is_picker(cli, out), Command::writes_sessions);
    if writes {
        surroundings.use_hooks();
    }
    let result = run_in(&surroundings, cli, out, err);
    // A message that cannot be printed is not an error.
    drop(surroundings.report_recovered(err));
    drop(surroundings.report_failed_hooks(err));
    result
}

/// Whether `sessile` without a command opens the picker.
#[cfg(feature = "tui")]
fn is_picker(cli: &Cli, out: &Screen<'_>) -> bool {
    cli.command.is_none() && cli.sample.is_none() && interactive::is_possible(out)
}

#[cfg(not(feature = "tui"))]
fn is_picker(_cli: &Cli, _out: &Screen<'_>) -> bool {
    false
}

fn run_in(surroundings: &Surroundings, cli: &Cli, out: &mut Screen<'_>, err: &mut Screen<'_>) -> Result<Exit, Failure> {
    match &cli.command {
        #[cfg(feature = "tui")]
        None if is_picker(cli, out) => resume::run(surroundings, &resume::ResumeArgs::usual(), out, err),
        None => overview::run(surroundings, out, err),
        #[cfg(feature = "tui")]
        Some(Command::Resume(args)) => resume::run(surroundings, args, out, err),
        Some(Command::List(args)) => list::run(surroundings, args, out, err),
        Some(Command::Search(args)) => search::run(surroundings, args, out, err),
        Some(Command::Show(args)) => show::run(surroundings, args, out, err),
        Some(Command::Tree(args)) => tree::run(surroundings, args, out, err),
        Some(Command::Info(args)) => info::run(surroundings, args, out, err),
        Some(Command::Stats(args)) => stats::run(surroundings, args, out, err),
        Some(Command::Export(args)) => export::run(surroundings, args, out, err),
        Some(Command::Context(args)) => context::run(surroundings, args, out, err),
        Some(Command::Llm(args)) => llm::run(surroundings, args, out, err),
        Some(Command::Entries(args)) => entries::run(surroundings, args, out, err),
        Some(Command::Watch(args)) => watch::run(surroundings, args, out, err),
        Some(Command::New(args)) => new::run(surroundings, args, out, err),
        Some(Command::Append(args)) => append::run(surroundings, args, out, err),
        Some(Command::Name(args)) => name::run(surroundings, args, out, err),
        Some(Command::Label(args)) => label::run(surroundings, args, out, err),
        Some(Command::Archive(args)) => archive::run(surroundings, args, out, err),
        Some(Command::Branch(args)) => branch::run(surroundings, args, out, err),
        Some(Command::Fork(args)) => fork::run(surroundings, args, out, err),
        Some(Command::Clone(args)) => clone::run(surroundings, args, out, err),
        Some(Command::Compact(args)) => compact::run(surroundings, args, out, err),
        Some(Command::Du(args)) => du::run(surroundings, args, out, err),
        Some(Command::Slim(args)) => slim::run(surroundings, args, out, err),
        Some(Command::Diff(args)) => diff::run(surroundings, args, out, err),
        Some(Command::Family(args)) => family::run(surroundings, args, out, err),
        Some(Command::EditContext(args)) => edit_context::run(surroundings, args, out, err),
        Some(Command::Import(args)) => import::run(surroundings, args, out, err),
        Some(Command::Migrate(args)) => migrate::run(surroundings, args, out, err),
        Some(Command::Move(args)) => move_session::run(surroundings, args, out, err),
        Some(Command::Delete(args)) => delete::run(surroundings, args, out, err),
        Some(Command::Restore(args)) => restore::run(surroundings, args, out, err),
        Some(Command::Prune(args)) => prune::run(surroundings, args, out, err),
        Some(Command::Clean(args)) => clean::run(surroundings, args, out, err),
        Some(Command::Undo(args)) => undo::run(surroundings, args, out, err),
        Some(Command::Verify(args)) => verify::run(surroundings, args, out, err),
        Some(Command::Repair(args)) => repair::run(surroundings, args, out, err),
        Some(Command::Index(args)) => index::run(surroundings, args, out, err),
        Some(Command::Rpc(args)) => rpc::run(surroundings, args),
        Some(Command::Man(args)) => man::run(surroundings, args, out),
        // These were run above, since they need no surroundings.
        Some(Command::Config(_) | Command::Completions(_) | Command::Complete(_) | Command::Help(_)) => Ok(Exit::Done),
    }
}
