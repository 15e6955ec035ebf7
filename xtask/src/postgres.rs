//! The PostgreSQL server that the tests of `crates/remote` start.

use std::fs;
use std::path::Path;

use crate::{TaskResult, tools};

/// The settings of Debian's packages for new servers. It exists once `postgresql-common` is installed.
const CLUSTERS: &str = "/etc/postgresql-common/createcluster.conf";

/// Installs PostgreSQL, `psql`, pgbouncer and `openssl` unless they are there. No server is started: the tests start their own.
pub(crate) fn require() -> TaskResult {
    let needed = "the tests of remotes need PostgreSQL 15 or newer, pgbouncer and openssl";
    tools::require_packages(needed, &["postgresql-common", "openssl"], || {
        Path::new(CLUSTERS).exists() && tools::is_on_path("openssl") || has_server()
    })?;
    forbid_clusters();
    tools::require_packages(needed, &["postgresql", "postgresql-client", "pgbouncer", "openssl"], || {
        has_server() && tools::is_on_path("psql") && tools::is_on_path("openssl") && has_pgbouncer()
    })
}

/// Whether the pool of connections is there, which not every user has on the path.
fn has_pgbouncer() -> bool {
    tools::is_on_path("pgbouncer") || Path::new("/usr/sbin/pgbouncer").is_file()
}

/// Whether the programs of a server are where `sessile_remote::local_server` looks for them.
fn has_server() -> bool {
    let is_there = |folder: &Path| ["initdb", "pg_ctl", "postgres"].iter().all(|name| folder.join(name).is_file());
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let packaged = versions.map(|version| version.path().join("bin")).any(|folder| is_there(&folder));
    packaged || ["initdb", "pg_ctl", "postgres"].iter().all(|name| tools::is_on_path(name))
}

/// Keeps the package from making and starting a server of its own. Where this fails, it only costs a process.
fn forbid_clusters() {
    let setting = "create_main_cluster = false";
    let Ok(text) = fs::read_to_string(CLUSTERS) else { return };
    if has_server() || text.lines().any(|line| line.trim() == setting) {
        return;
    }
    if let Err(error) = fs::write(CLUSTERS, format!("{text}\n{setting}\n")) {
        println!("cannot change {CLUSTERS}: {error}");
    }
}
