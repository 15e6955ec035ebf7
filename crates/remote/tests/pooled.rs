//! The real server, reached through pgbouncer in transaction mode: each transaction may run on another connection.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::on_postgres::check_all;
use crate::servers::{PASSWORD, TestServer, login, path};

/// A pgbouncer in front of the shared server. It ends with the test.
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
    fn start(program: &Path, server_port: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let users = ["ada", "bob"].map(|user| format!("\"{user}\" \"{PASSWORD}\"\n")).concat();
        std::fs::write(dir.path().join("users"), users).unwrap();
        // Two connections per database and user, so that clients share them.
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 2\nauth_type = scram-sha-256\n\
             auth_file = {}/users\n",
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

#[test]
fn it_does_what_every_server_does_through_pgbouncer() {
    let folders: Vec<_> = std::env::split_paths(&path()).chain(["/usr/sbin".into()]).collect();
    let Some(program) = folders.iter().map(|folder| folder.join("pgbouncer")).find(|program| program.is_file()) else {
        println!("SKIPPED: the Debian package pgbouncer is not installed");
        return;
    };
    let server = TestServer::shared().store();
    let pool = Pool::start(&program, server.running.port());
    check_all(|store, member| login(&format!("postgres://{member}@127.0.0.1:{}/{}", pool.port, store.database)));
}
