//! Connections that fail, and what the user reads then.

use std::net::TcpListener;

use sessile_remote::postgres::{Admin, Config, PostgresServer};
use sessile_remote::{RemoteError, Secret};

use crate::servers::{PASSWORD, TestServer};

/// A password that must not be in any message.
const WRONG: &str = "Tr0ub4dor&3";

#[track_caller]
fn refused(url: &str) -> RemoteError {
    let config = Config::from_url(url).unwrap().with_password(|| Ok(Secret::new(WRONG)));
    let error = PostgresServer::connect(&config).unwrap_err();
    for text in [error.to_string(), format!("{error:?}"), format!("{config:?}")] {
        assert!(!text.contains(WRONG) && !text.contains(PASSWORD), "{text}");
    }
    error
}

#[test]
fn a_wrong_password_or_user_is_refused() {
    let store = TestServer::shared().store_with_members();
    let error = refused(&store.url("ada"));
    assert!(matches!(&error, RemoteError::Authentication { user, .. } if user == "ada"), "{error}");
    let error = refused(&store.running.url_of("mallory", &store.database));
    assert!(matches!(error, RemoteError::Authentication { .. }), "{error}");
    let none = PostgresServer::connect(&Config::from_url(&store.url("ada")).unwrap()).unwrap_err();
    assert!(matches!(none, RemoteError::NoPassword { .. }), "{none}");
}

#[test]
fn a_missing_database_is_named() {
    let store = TestServer::shared().store_with_members();
    let url = store.running.url_of("ada", "nowhere");
    let error = PostgresServer::connect(&crate::servers::login(&url)).unwrap_err();
    assert!(matches!(error, RemoteError::NoDatabase { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere"));
}

#[test]
fn a_server_that_is_down_is_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused(&format!("postgres://ada@127.0.0.1:{free}/x"));
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
    assert!(error.is_temporary());
    assert!(error.to_string().starts_with(&format!("cannot reach 127.0.0.1:{free}/x: ")), "{error}");
    let error = refused("postgres://ada@nowhere.invalid/x");
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
}

#[test]
fn of_several_hosts_the_one_that_takes_writes_is_used() {
    let store = TestServer::shared().store_with_members();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://ada@127.0.0.1:{free},127.0.0.1:{}/{}", store.running.port(), store.database);
    PostgresServer::connect(&crate::servers::login(&url)).unwrap();
    // A standby answers, too, but says that it is read-only.
    store
        .superuser("postgres", &format!("alter database {} set default_transaction_read_only = on", store.database))
        .unwrap();
    let error = PostgresServer::connect(&crate::servers::login(&url)).unwrap_err();
    assert!(matches!(error, RemoteError::ReadOnlyServer { .. }), "{error}");
    let mut alone = store.connect("ada");
    let new = sessile_remote::NewSession { header_id: "s", header: b"{}", ..Default::default() };
    let error = sessile_remote::Server::create(&mut alone, &new).unwrap_err();
    assert!(matches!(error, RemoteError::ReadOnlyServer { .. }), "{error}");
}

#[test]
fn a_server_without_tls_gets_nothing() {
    let store = TestServer::shared().store();
    let url = format!("{}?sslmode=verify-full", store.url("ada"));
    // The certificate of this server is made in the tests of TLS only.
    let error = refused(&url);
    assert!(matches!(error, RemoteError::NoTls { .. } | RemoteError::Tls { .. }), "{error}");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    // It accepts the connection and never answers. The client closes it after ten seconds, and this test only waits for
    // that if the listener goes away first.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let closer = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let error = refused(&format!("postgres://ada@127.0.0.1:{port}/x"));
    closer.join().unwrap();
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
}

#[test]
fn an_old_server_is_refused() {
    let port = fake_server("14.9");
    let error = Admin::connect(&Config::from_url(&format!("postgres://ada@127.0.0.1:{port}/x")).unwrap()).unwrap_err();
    assert!(matches!(&error, RemoteError::OldServer { version, .. } if version == "14.9"), "{error}");
}

#[test]
fn text_of_a_server_is_harmless() {
    let port = fake_server("\u{1b}]0;owned\u{7}9");
    let error = Admin::connect(&Config::from_url(&format!("postgres://ada@127.0.0.1:{port}/x")).unwrap()).unwrap_err();
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
}

/// Starts a server that accepts every login, and says that it has a version.
fn fake_server(version: &'static str) -> u16 {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        socket.read_exact(&mut length).unwrap();
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
        socket.read_exact(&mut rest).unwrap();
        let message = |kind: u8, body: &[u8]| {
            let length = u32::try_from(body.len() + 4).unwrap();
            [[kind].as_slice(), &length.to_be_bytes(), body].concat()
        };
        let parameter = [b"server_version\0", version.as_bytes(), b"\0"].concat();
        let answer = [message(b'R', &[0; 4]), message(b'S', &parameter), message(b'Z', b"I")].concat();
        socket.write_all(&answer).unwrap();
        drop(socket.read(&mut [0; 100]));
    });
    port
}
