//! The version, and how the program was built.

use clap::Args;
use sessile::format::version::CURRENT_VERSION;
use sessile_rpc::answer::{BuildFacts, build};

use crate::data::write_value;
use crate::exit::Exit;
use crate::facts::fact;
use crate::failure::Failure;
use crate::screen::{Line, Screen};

/// The flags that print the version instead of running a command.
#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Print version
    #[arg(short = 'V', long)]
    pub(crate) version: bool,

    /// With --version: also print the commit, target, profile, features, compiler and session format of this program
    #[arg(long, requires = "version")]
    verbose: bool,

    /// With --version: print JSON: {version, commit?, target, profile, features, compiler, sessionVersion}
    #[arg(long, requires = "version")]
    json: bool,
}

/// The optional parts of the program, and whether they were compiled in.
const FEATURES: [(&str, bool); 5] = [
    ("models", cfg!(feature = "models")),
    ("remote", cfg!(feature = "remote")),
    ("serve", cfg!(feature = "serve")),
    ("tui", cfg!(feature = "tui")),
    ("web", cfg!(feature = "web")),
];

pub(crate) fn run(args: &VersionArgs, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    let features: Vec<&str> = FEATURES.iter().filter(|(_, is_enabled)| *is_enabled).map(|(name, _)| *name).collect();
    let commit = env!("SESSILE_BUILD_COMMIT");
    let facts = BuildFacts {
        version: env!("CARGO_PKG_VERSION"),
        commit: Some(commit).filter(|commit| !commit.is_empty()),
        target: env!("SESSILE_BUILD_TARGET"),
        profile: env!("SESSILE_BUILD_PROFILE"),
        features: &features,
        compiler: env!("SESSILE_BUILD_COMPILER"),
        session_version: CURRENT_VERSION,
    };
    if args.json {
        write_value(out.data(), &build(&facts))?;
        return Ok(Exit::Done);
    }
    out.print_whole(&Line::new().text(&format!("sessile {}", facts.version)))?;
    if args.verbose {
        fact(out, "commit", facts.commit.unwrap_or("unknown"))?;
        fact(out, "target", facts.target)?;
        fact(out, "profile", facts.profile)?;
        fact(out, "features", &features.join(", "))?;
        fact(out, "compiler", facts.compiler)?;
        fact(out, "format", &format!("sessions of version {}", facts.session_version))?;
    }
    Ok(Exit::Done)
}
