//! F14: many writers on one session, through pgbouncer in transaction mode.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Bench;
use super::check::check;
use super::client::Client;
use super::cluster::{Cluster, at_port};
use super::outcome::{Outcome, Skipped};

/// A pgbouncer in front of a server. It ends with the row.
struct Pool {
    process: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Drop for Pool {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Pool {
    fn start(program: &Path, cluster: &Cluster, user: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        std::fs::write(dir.path().join("users"), format!("\"{user}\" \"{}\"\n", cluster.password(user))).unwrap();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 8\nauth_type = scram-sha-256\n\
             auth_file = {}/users\n",
            cluster.running().port(),
            dir.path().display()
        );
        let file = dir.path().join("settings.ini");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(program);
        if rustix::process::geteuid().is_root() {
            command.args(["-u", "postgres"]);
        }
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert_eq!(process.try_wait().unwrap(), None, "pgbouncer did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { process, port, _dir: dir }
    }
}

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let program = folders.find_map(|folder| Some(folder.join("pgbouncer")).filter(|program| program.is_file()));
    let program = program.ok_or_else(|| Skipped("the Debian package pgbouncer is not installed".to_owned()))?;
    let mut outcome = Outcome::default();
    let n_writers = bench.count(16, 64);
    let n_rounds = bench.count(3, 10);
    let config = bench.member();
    let user = config.user().to_owned();
    let pool = Pool::start(&program, bench.cluster(), &user);
    let pooled = at_port(bench.cluster(), &user, pool.port);
    let mut clients: Vec<Client> = (0..n_writers).map(|_| bench.client(&pooled)).collect();
    clients[0].create("s1");
    for client in &mut clients {
        client.sync_surely();
    }
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(move || {
                for _ in 0..n_rounds {
                    client.append("s1").unwrap();
                    client.sync_surely();
                }
            });
        }
    });
    outcome.fact(format!("{n_writers} writers on one session, {n_rounds} times each"));
    check(&mut clients, &mut outcome);
    Ok(outcome)
}
