//! Connections with TLS to a server that has a certificate authority of its own.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sessile_remote::postgres::{Config, PostgresServer};
use sessile_remote::{RemoteError, Server};

use crate::servers::{TestServer, TestStore, login};

fn openssl(dir: &Path, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(dir).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes an authority, and a certificate of it for `localhost`.
fn certificates(dir: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(dir, &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 30 -subj /CN=test-authority"));
    openssl(dir, &format!("req -x509 {key} -keyout other.key -out other.pem -days 30 -subj /CN=other-authority"));
    openssl(dir, &format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    std::fs::write(dir.join("names"), "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n").unwrap();
    openssl(
        dir,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.crt -days 30 -extfile names",
    );
}

/// Turns TLS on in the shared server, and returns the folder with the authorities.
fn enable(store: &TestStore) -> PathBuf {
    let dir = tempfile::tempdir().unwrap().keep();
    certificates(&dir);
    let data = TestServer::shared().dir.join("data");
    let owner = data.metadata().unwrap();
    for name in ["server.crt", "server.key"] {
        let path = data.join(name);
        std::fs::copy(dir.join(name), &path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    store.superuser("postgres", "alter system set ssl = on").unwrap();
    store.superuser("postgres", "select pg_reload_conf()").unwrap();
    // The server reads its settings a moment later.
    while store.superuser("postgres", "show ssl").unwrap() != "on" {
        std::thread::yield_now();
    }
    dir
}

#[test]
fn certificates_are_verified() {
    let store = TestServer::shared().store_with_members();
    let dir = enable(&store);
    let by_name = format!("postgres://ada@localhost:{}/{}", store.running.port(), store.database);
    let verified = format!("{by_name}?sslmode=verify-full");
    let trusting = |url: &str, authority: &str| login(url).with_ca_file(&dir.join(authority));

    let mut ada = PostgresServer::connect(&trusting(&verified, "ca.pem")).unwrap();
    ada.about().unwrap();
    let encrypted = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid) where ssl and usename = 'ada' \
                     and datname = current_database()";
    assert_eq!(store.superuser(&store.database, encrypted).unwrap(), "1");
    let in_url = format!("{verified}&sslrootcert={}", dir.join("ca.pem").display());
    PostgresServer::connect(&login(&in_url)).unwrap();

    let refused = |config: &Config| match PostgresServer::connect(config).unwrap_err() {
        RemoteError::Tls { reason, .. } => reason,
        other => panic!("{other}"),
    };
    // The public authorities, a wrong authority, and a wrong name.
    assert!(refused(&login(&verified)).contains("UnknownIssuer"));
    refused(&trusting(&verified, "other.pem"));
    let by_address = format!("{}?sslmode=verify-full", store.url("ada"));
    assert!(refused(&trusting(&by_address, "ca.pem")).contains("not valid for name"));
    let error = PostgresServer::connect(&login(&verified)).unwrap_err().to_string();
    assert!(error.contains("certificate authority of its own"), "{error}");

    for (file, text) in
        [("empty.pem", ""), ("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]
    {
        std::fs::write(dir.join(file), text).unwrap();
        let error = PostgresServer::connect(&trusting(&verified, file)).unwrap_err();
        assert!(matches!(error, RemoteError::CaFile { .. }), "{error}");
    }
    let error = PostgresServer::connect(&trusting(&verified, "missing.pem")).unwrap_err();
    assert!(matches!(error, RemoteError::CaFile { .. }), "{error}");
    std::fs::remove_dir_all(&dir).unwrap();
}
