//! What children of the bench do.

use std::path::Path;
use std::process::{Command, ExitCode};

use sessile::sync::remote::Secret;
use sessile::sync::remote::postgres::Config;

use super::client::Client;
use super::cluster::Cluster;
use super::faulty_os::{Fate, Fault};
use crate::torture::processes::role;

/// The variable with a child's password.
const PASSWORD: &str = "TEAM_FAULTS_PASSWORD";

/// Runs the role of a child. `None` if there is no such role.
pub fn run_role(args: &[String]) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["sync", home, url, at] => Some(sync(Path::new(home), url, at.parse().ok()?)),
        ["sessile", ..] => role::run_role(&[&["-".to_owned()], args].concat()),
        _ => None,
    }
}

/// Synchronizes all sessions of a home, and dies at the n-th change of a file.
fn sync(home: &Path, url: &str, at: u64) -> ExitCode {
    let password = std::env::var(PASSWORD).unwrap_or_default();
    let config = Config::from_url(url).unwrap().with_password(move || Ok(Secret::new(password.as_str())));
    let mut client = Client::new(home, "child", config, at + 1_000_000);
    client.on(Fault::new(Fate::Death, at).os());
    match client.sync() {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The command of a child that synchronizes the sessions of a client.
pub(super) fn sync_command(program: &Path, cluster: &Cluster, client: &Client, at: u64) -> Command {
    let user = client.config.user();
    let mut command = Command::new(program);
    command.args(["part", "sync"]).arg(&client.home).arg(cluster.running().url(user)).arg(at.to_string());
    command.env(PASSWORD, cluster.password(user));
    command
}
