//! Real servers that end with this program, however it ends.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sessile::sync::remote::Secret;
use sessile::sync::remote::local_server::{self, Options, Running};
use sessile::sync::remote::postgres::{Admin, Config};

/// A server in a directory of its own.
pub(super) struct Cluster {
    pub(super) dir: PathBuf,
    /// Stops the server and removes its directory when this program ends, because its input ends then.
    _guard: Child,
}

/// The password of users in databases that a row makes.
const PASSWORD: &str = "correct horse battery staple";

impl Cluster {
    /// Makes a server with a store, and starts it.
    pub(super) fn start() -> Self {
        let cluster = Self::empty();
        cluster.up().migrate().unwrap();
        cluster
    }

    /// A directory for a server.
    pub(super) fn empty() -> Self {
        let dir = tempfile::Builder::new().prefix("team-faults-server-").tempdir().unwrap().keep();
        let script = "cat > /dev/null; pid=$(head -n 1 \"$0/data/postmaster.pid\" 2> /dev/null) && kill -QUIT \"$pid\"; \
                      for i in 1 2 3 4 5 6 7 8 9; do sleep 1; rm -rf \"$0\" && break; done";
        let mut guard = Command::new("sh");
        guard.arg("-c").arg(script).arg(&dir);
        let guard = guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { dir, _guard: guard }
    }

    /// Starts the server unless it runs.
    pub(super) fn up(&self) -> Running {
        // The machine does not lose power, only the server dies.
        let settings = vec![("fsync".to_owned(), "off".to_owned()), ("max_connections".to_owned(), "150".to_owned())];
        let path = std::env::var_os("PATH").unwrap_or_default();
        local_server::up(&self.dir, &Options { path, settings }).unwrap()
    }

    pub(super) fn running(&self) -> Running {
        local_server::connect(&self.dir).unwrap().unwrap()
    }

    pub(super) fn down(&self) {
        assert!(local_server::down(&self.dir, &std::env::var_os("PATH").unwrap_or_default()).unwrap());
    }

    /// Kills the main process; or makes it stop at once, without writing what is in memory.
    pub(super) fn kill(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.running().pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Runs a statement as the superuser on the store, and returns the rows.
    pub(super) fn sql(&self, statement: &str) -> String {
        self.sql_in("sessile", statement)
    }

    pub(super) fn sql_in(&self, database: &str, statement: &str) -> String {
        let running = self.running();
        let output = Command::new("psql")
            .args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1"])
            .args(["--host=127.0.0.1", &format!("--port={}", running.port()), "--username=sessile_admin"])
            .arg(format!("--dbname={database}"))
            .args(["--command", statement])
            .env("PGPASSFILE", running.password_file())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert!(output.status.success(), "{statement}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Makes a database with a store of its own and one member, and returns the login of that member.
    pub(super) fn database(&self, name: &str) -> Config {
        let running = self.running();
        Admin::connect(&running.admin("postgres").unwrap()).unwrap().create_database(name).unwrap();
        let mut admin = Admin::connect(&running.admin(name).unwrap()).unwrap();
        admin.migrate().unwrap();
        let member = format!("{name}_member");
        admin.add_member(&member, &Secret::new(PASSWORD)).unwrap();
        login(&running.url_of(&member, name))
    }

    /// The password of a user of the server.
    pub(super) fn password(&self, user: &str) -> String {
        let text = std::fs::read_to_string(self.running().password_file()).unwrap();
        let found = text.lines().find_map(|line| line.split_once(&format!(":{user}:")).map(|(_, password)| password));
        found.unwrap().to_owned()
    }
}

/// Returns a login of a user with the password of [`Cluster::database`].
fn login(url: &str) -> Config {
    Config::from_url(url).unwrap().with_password(|| Ok(Secret::new(PASSWORD)))
}

/// Returns the same login at another port, which leads to the server of a cluster.
pub(super) fn at_port(cluster: &Cluster, user: &str, port: u16) -> Config {
    let password = cluster.password(user);
    let url = format!("postgres://{user}@127.0.0.1:{port}/sessile");
    Config::from_url(&url).unwrap().with_password(move || Ok(Secret::new(password.as_str())))
}

/// Gives a directory and all in it to the user that the server of another directory runs as.
pub(super) fn give_to_server(path: &Path, model: &Path) {
    let done = Command::new("chown").arg("-R").arg(format!("--reference={}", model.display())).arg(path).status();
    assert!(done.unwrap().success());
}
