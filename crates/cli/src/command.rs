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
mod foreign;
mod fork;
mod help;
mod import;
mod index;
mod info;
mod label;
mod list;
mod llm;
mod man;
mod mcp;
mod merge;
mod migrate;
mod move_session;
mod name;
mod new;
mod overview;
mod pi;
mod prune;
#[cfg(feature = "remote")]
mod remote;
mod repair;
mod restore;
#[cfg(feature = "tui")]
mod resume;
mod rpc;
mod scrub;
mod search;
mod secrets;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "remote")]
mod share;
mod show;
mod slim;
mod stats;
#[cfg(feature = "remote")]
mod sync;
mod title;
mod tree;
mod undo;
mod verify;
mod watch;

use std::sync::Arc;

use clap::{Subcommand, ValueEnum};
use sessile::Environment;

use crate::args::GlobalArgs;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
#[cfg(feature = "tui")]
use crate::interactive;
use crate::screen::{Color, Screen};

pub(crate) use pi::with_mark as with_mark_for_pi;

/// Expands to the first expression if there is one, else to the other.
macro_rules! first {
    (; $other:expr) => {
        $other
    };
    ($first:expr; $other:expr) => {
        $first
    };
}

/// Generates the commands from one line each: the arguments, the function that runs them, whether it writes, moves or
/// removes sessions, and whether it prints text to read, all at once.
///
/// [`run`] itself runs a command without a function, which needs the definition of the command line, or runs before
/// settings and sessions are known.
macro_rules! commands {
    ($(
        $(#[cfg($enabled:meta)])? $(#[command($clap:meta)])?
        $name:ident($arguments:ty) $(=> $run:path, writes: $writes:path, pages: $pages:path)?;
    )*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[cfg($enabled)])? $(#[command($clap)])? $name($arguments),)*
        }

        impl Command {
            /// Whether the command writes, moves or removes sessions.
            fn writes_sessions(&self) -> bool {
                match self {
                    $($(#[cfg($enabled)])? Self::$name(args) => first!($($writes(args))?; never(args)),)*
                }
            }

            /// Whether the command prints text to read, all at once.
            fn is_paged(&self) -> bool {
                match self {
                    $($(#[cfg($enabled)])? Self::$name(args) => first!($($pages(args))?; never(args)),)*
                }
            }

            fn run(
                &self,
                env: &CommandEnvironment,
                out: &mut Screen<'_>,
                err: &mut Screen<'_>,
            ) -> Result<Exit, Failure> {
                match self {
                    $($(#[cfg($enabled)])? Self::$name(args) => {
                        first!($($run(env, args, out, err))?; has_run(args))
                    })*
                }
            }
        }
    };
}

commands! {
    #[cfg(feature = "tui")]
    Resume(resume::ResumeArgs) => resume::run, writes: always, pages: never;
    List(list::ListArgs) => list::run, writes: never, pages: always;
    Search(Box<search::SearchArgs>) => search::run, writes: never, pages: always;
    Show(show::ShowArgs) => show::run, writes: show::ShowArgs::opens_screen, pages: show::ShowArgs::is_paged;
    Tree(tree::TreeArgs) => tree::run, writes: tree::TreeArgs::opens_screen, pages: tree::TreeArgs::is_paged;
    Info(info::InfoArgs) => info::run, writes: never, pages: always;
    Stats(stats::StatsArgs) => stats::run, writes: never, pages: always;
    Diff(diff::DiffArgs) => diff::run, writes: never, pages: always;
    Du(du::DuArgs) => du::run, writes: never, pages: always;
    Family(family::FamilyArgs) => family::run, writes: never, pages: always;
    Context(context::ContextArgs) => context::run, writes: never, pages: always;
    Llm(llm::LlmArgs) => llm::run, writes: never, pages: always;
    Entries(entries::EntriesArgs) => entries::run, writes: never, pages: always;
    Watch(watch::WatchArgs) => watch::run, writes: never, pages: never;
    New(new::NewArgs) => new::run, writes: always, pages: never;
    Append(Box<append::AppendArgs>) => append::run, writes: always, pages: never;
    Name(name::NameArgs) => name::run, writes: always, pages: never;
    Title(title::TitleArgs) => title::run, writes: title::TitleArgs::writes, pages: never;
    Label(label::LabelArgs) => label::run, writes: always, pages: never;
    Archive(archive::ArchiveArgs) => archive::run, writes: always, pages: never;
    Branch(branch::BranchArgs) => branch::run, writes: always, pages: never;
    Fork(fork::ForkArgs) => fork::run, writes: always, pages: never;
    Clone(clone::CloneArgs) => clone::run, writes: always, pages: never;
    Compact(compact::CompactArgs) => compact::run, writes: always, pages: never;
    EditContext(edit_context::EditContextArgs) => edit_context::run, writes: always, pages: never;
    Import(import::ImportArgs) => import::run, writes: always, pages: never;
    Merge(merge::MergeArgs) => merge::run, writes: merge::MergeArgs::writes_session, pages: never;
    #[cfg(feature = "remote")]
    Sync(sync::SyncArgs) => sync::sync, writes: always, pages: never;
    #[cfg(feature = "remote")]
    Push(sync::PushArgs) => sync::push, writes: always, pages: never;
    #[cfg(feature = "remote")]
    Pull(sync::PullArgs) => sync::pull, writes: always, pages: never;
    #[cfg(feature = "remote")]
    Share(share::ShareArgs) => share::run, writes: never, pages: never;
    #[cfg(feature = "remote")]
    Remote(remote::RemoteArgs) => remote::run, writes: never, pages: never;
    Migrate(migrate::MigrateArgs) => migrate::run, writes: always, pages: never;
    Move(move_session::MoveArgs) => move_session::run, writes: always, pages: never;
    Delete(delete::DeleteArgs) => delete::run, writes: always, pages: never;
    Restore(restore::RestoreArgs) => restore::run, writes: always, pages: never;
    Prune(prune::PruneArgs) => prune::run, writes: always, pages: never;
    Slim(slim::SlimArgs) => slim::run, writes: always, pages: never;
    Clean(clean::CleanArgs) => clean::run, writes: never, pages: never;
    Undo(undo::UndoArgs) => undo::run, writes: always, pages: never;
    Export(export::ExportArgs) => export::run, writes: never, pages: never;
    Secrets(secrets::SecretsArgs) => secrets::run, writes: never, pages: always;
    Scrub(scrub::ScrubArgs) => scrub::run, writes: always, pages: never;
    Verify(verify::VerifyArgs) => verify::run, writes: never, pages: verify::VerifyArgs::is_of_many;
    Repair(repair::RepairArgs) => repair::run, writes: always, pages: never;
    #[cfg(feature = "serve")]
    Serve(serve::ServeArgs) => serve::run, writes: serve::ServeArgs::writes, pages: never;
    Pi(pi::PiArgs) => pi::run, writes: never, pages: never;
    Index(index::IndexArgs) => index::run, writes: never, pages: never;
    Config(config::ConfigArgs);
    Rpc(Box<rpc::RpcArgs>) => rpc::run, writes: always, pages: never;
    Mcp(mcp::McpArgs) => mcp::run, writes: never, pages: never;
    Completions(completions::CompletionsArgs);
    Man(man::ManArgs);
    Help(help::HelpArgs);
    #[command(name = "__complete")]
    Complete(complete::CompleteArgs);
}

impl Command {
    /// Whether its process answers requests or keys until the user ends it.
    fn lives_long(&self) -> bool {
        match self {
            Self::Watch(_) | Self::Rpc(_) | Self::Mcp(_) => true,
            #[cfg(feature = "tui")]
            Self::Resume(_) => true,
            #[cfg(feature = "serve")]
            Self::Serve(_) => true,
            Self::Tree(args) => args.opens_screen(),
            Self::Show(args) => args.opens_screen(),
            _ => false,
        }
    }
}

#[cfg(feature = "remote")]
impl Command {
    /// Whether the command itself connects to a remote.
    fn connects(&self) -> bool {
        match self {
            Self::Sync(_) | Self::Push(_) | Self::Pull(_) | Self::Remote(_) | Self::Share(_) | Self::Verify(_) => true,
            Self::Delete(args) => args.is_everywhere(),
            _ => false,
        }
    }
}

fn always<T>(_args: &T) -> bool {
    true
}

fn never<T>(_args: &T) -> bool {
    false
}

/// The result of a command that [`run`] has already run.
#[expect(clippy::unnecessary_wraps, reason = "other commands may fail")]
fn has_run<T>(_args: &T) -> Result<Exit, Failure> {
    Ok(Exit::Done)
}

/// Runs a command; without one, shows the user's sessions. `definition` returns the definition of the command line.
pub(crate) fn run(
    globals: &GlobalArgs,
    command: Option<&Command>,
    definition: fn() -> clap::Command,
    environment: Arc<dyn Environment>,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match command {
        Some(Command::Completions(args)) => return completions::run(args, definition, out),
        Some(Command::Help(args)) => return help::run(args, definition, out),
        Some(Command::Complete(args)) => return complete::run(args, definition, environment, out),
        Some(Command::Config(args)) => return config::run(globals, args, environment.as_ref(), out, err),
        _ => {}
    }
    let must_have_settings = command.is_some_and(Command::writes_sessions);
    let settings = config::load(globals, must_have_settings, environment.as_ref(), err)?;
    if globals.color.is_none() {
        let color = Color::from_str(settings.color(), false).unwrap_or_default();
        out.paint(color);
        err.paint(color);
    }
    if command.is_none_or(Command::is_paged) {
        out.page(settings.pager(), environment.as_ref());
    }
    let opens_picker = command.is_none() && is_picker(globals, out);
    let mut env = CommandEnvironment::new(environment, globals.sample.as_ref(), settings)?;
    env.use_remote(globals.remote.as_deref());
    if command.map_or(opens_picker, Command::writes_sessions) {
        env.use_hooks();
    }
    #[cfg(feature = "remote")]
    if globals.remote.is_some() && !command.is_some_and(Command::connects) {
        crate::remote::join_team(&mut env, err)?;
    }
    if command.map_or(opens_picker, Command::lives_long) {
        crate::memory::give_back();
    }
    let result = match command {
        #[cfg(feature = "tui")]
        None if opens_picker => resume::run(&env, &resume::ResumeArgs::without_command(), out, err),
        None => overview::run(&env, out, err),
        Some(Command::Man(args)) => man::run(&env, args, definition, out),
        Some(command) => command.run(&env, out, err),
    };
    // A message that cannot be printed is not an error.
    drop(env.report_recovered(err));
    drop(env.report_failed_hooks(err));
    drop(env.report_team_troubles(err));
    result
}

/// Whether `sessile` without a command opens the picker.
#[cfg(feature = "tui")]
fn is_picker(globals: &GlobalArgs, out: &Screen<'_>) -> bool {
    globals.sample.is_none() && interactive::is_possible(out)
}

#[cfg(not(feature = "tui"))]
fn is_picker(_globals: &GlobalArgs, _out: &Screen<'_>) -> bool {
    false
}
