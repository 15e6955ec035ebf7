//! The server that `remote up` starts.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use sessile_remote::local_server::{self, LocalServerError, Status};
use sessile_remote::postgres::PostgresServer;

use crate::contract::{create, head};
use crate::servers::{TestServer, options, path};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_server_goes_up_and_down_and_keeps_its_data() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(local_server::status(empty.path()).unwrap(), Status::Absent);
    assert!(!local_server::down(empty.path(), &path()).unwrap());

    let server = TestServer::start();
    let (first, again) = (server.up(), server.up());
    assert_eq!((first.pid(), first.port()), (again.pid(), again.port()), "up twice is one server");
    let running = Status::Running { pid: first.pid(), port: first.port() };
    assert_eq!(local_server::status(&server.dir).unwrap(), running);
    first.migrate().unwrap();
    let created = create(&mut PostgresServer::connect(&first.member("ada").unwrap()).unwrap(), "s");

    // Only its owner reads it.
    assert_eq!(mode(&server.dir), 0o700);
    assert_eq!(mode(&server.dir.join("data")), 0o700);
    assert_eq!(mode(first.password_file()), 0o600);
    assert_ne!(server.dir.join("data").metadata().unwrap().uid(), 0, "the server does not run as root");
    let listening = std::fs::read_to_string(format!("/proc/{}/net/tcp", first.pid())).unwrap_or_default();
    let everywhere = format!("00000000:{:04X}", first.port());
    assert!(!listening.contains(&everywhere), "it listens on the loopback interface only");

    assert!(local_server::down(&server.dir, &path()).unwrap());
    assert!(!local_server::down(&server.dir, &path()).unwrap());
    assert_eq!(local_server::status(&server.dir).unwrap(), Status::Stopped);
    assert!(local_server::connect(&server.dir).unwrap().is_none());
    let error = PostgresServer::connect(&first.login("ada", "sessile").unwrap()).unwrap_err();
    assert!(error.is_temporary(), "{error}");

    // Another program has taken the port in the meantime.
    let taken = std::net::TcpListener::bind(("127.0.0.1", first.port())).unwrap();
    let moved = server.up();
    assert_ne!(moved.port(), first.port());
    drop(taken);
    let mut ada = PostgresServer::connect(&moved.login("ada", "sessile").unwrap()).unwrap();
    assert_eq!(head(&mut ada, "s"), created);
}

#[test]
fn missing_programs_are_named_by_their_packages() {
    let words = LocalServerError::NotInstalled.to_string();
    assert!(["Debian", "Fedora", "Homebrew", "`postgresql`"].iter().all(|word| words.contains(word)), "{words}");
}

#[test]
fn a_directory_that_the_server_cannot_reach_is_refused_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let wanted = dir.path().join("server");
    let reachable = local_server::reachable_directory(&wanted);
    if rustix::process::geteuid().is_root() {
        let error = local_server::up(&wanted, &options()).unwrap_err();
        assert!(matches!(&error, LocalServerError::Unreachable { blocked, .. } if blocked == dir.path()), "{error}");
        assert!(reachable.starts_with("/var/lib/sessile"));
        assert_eq!(reachable, local_server::reachable_directory(&wanted));
    } else {
        assert_eq!(reachable, wanted);
    }
}
