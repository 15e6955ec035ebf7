//! F6: full disks, at the client from any call on, and at the server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sessile::SessionError;
use sessile::os::RealOs;
use sessile::sync::remote::RemoteError;

use super::Bench;
use super::check::{check, log_of};
use super::client::Client;
use super::cluster::give_to_server;
use super::death::{SCENES, staged};
use super::faulty_os::{Fate, Fault};
use super::outcome::{Outcome, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let step = usize::try_from(bench.count(3, 1)).unwrap();
    let mut n_refusals = 0;
    for scene in SCENES {
        for at in (1..400).step_by(step) {
            let mut clients = staged(bench, scene);
            let fault = Fault::new(Fate::FullDisk, at);
            clients[1].on(fault.os());
            let synced = clients[1].sync();
            clients[1].on(Arc::new(RealOs));
            if fault.is_unused() {
                break;
            }
            if let Err(error) = synced {
                n_refusals += 1;
                let is_typed = matches!(&error, SessionError::Store(error) if error.is_disk_full());
                outcome.check(is_typed, || format!("{scene}, call {at}: {error}"));
            }
            check(&mut clients, &mut outcome);
            if !outcome.is_good() {
                outcome.problem(format!("this was {scene}, call {at}"));
                return Ok(outcome);
            }
        }
    }
    outcome.fact(format!("client: {n_refusals} refusals"));
    outcome.check(n_refusals > 10, || format!("only {n_refusals} refusals"));
    match at_server(bench, &mut outcome) {
        Ok(n_lines) => outcome.fact(format!("server: full after {n_lines} lines")),
        Err(Skipped(why)) => outcome.fact(format!("server: SKIPPED, {why}")),
    }
    Ok(outcome)
}

/// A file system in memory; dropping it unmounts it.
struct Mount(PathBuf);

impl Mount {
    fn new(root: &Path, size: &str) -> Result<Self, Skipped> {
        std::fs::create_dir_all(root).unwrap();
        tool("mount", &["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs", &root.to_string_lossy()])?;
        Ok(Self(root.to_path_buf()))
    }

    fn resize(&self, size: &str) -> Result<(), Skipped> {
        tool("mount", &["-o", &format!("remount,size={size}"), &self.0.to_string_lossy()])
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        drop(tool("umount", &["-l", &self.0.to_string_lossy()]));
    }
}

fn tool(name: &str, args: &[&str]) -> Result<(), Skipped> {
    match Command::new(name).args(args).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Skipped(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
        Err(error) => Err(Skipped(format!("{name}: {error}"))),
    }
}

/// The table of lines is on a disk of its own, which is too small. Returns how many lines it took.
fn at_server(bench: &Bench, outcome: &mut Outcome) -> Result<usize, Skipped> {
    let cluster = bench.cluster();
    // Below the directory of the server, whose user can enter it.
    let mount = Mount::new(&cluster.dir.join("small"), "1m")?;
    give_to_server(&mount.0, &cluster.dir.join("data"));
    let config = cluster.database("full");
    cluster.sql_in("postgres", &format!("create tablespace small location '{}'", mount.0.display()));
    cluster.sql_in("full", "alter table sessile.line set tablespace small");
    let mut clients: Vec<Client> = (0..2).map(|_| bench.client(&config)).collect();
    clients[0].create("s1");
    for client in &mut clients {
        client.sync().unwrap();
    }
    let mut refused = None;
    for _ in 0..60 {
        clients[0].append_long("s1", 300_000).unwrap();
        if let Err(error) = clients[0].sync() {
            refused = Some(error);
            break;
        }
    }
    let n_lines = log_of(&clients[0], "s1").len();
    let is_typed = matches!(refused, Some(SessionError::Remote(RemoteError::Full { .. })));
    outcome.check(is_typed, || format!("the full server said {refused:?}"));
    mount.resize("64m")?;
    check(&mut clients, outcome);
    drop(clients);
    cluster.sql_in("postgres", "drop database \"full\" with (force)");
    cluster.sql_in("postgres", "drop tablespace small");
    Ok(n_lines)
}
