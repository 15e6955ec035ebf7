//! Real servers for the tests: each is started once per program, and stopped when the program ends, however it ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use sessile_remote::Secret;
use sessile_remote::local_server::{self, LocalServerError, Options, Running};
use sessile_remote::postgres::{Admin, Config, Joining, PostgresServer};

/// A server that the tests of this program share.
pub(crate) struct TestServer {
    pub(crate) dir: PathBuf,
    /// Stops the server and removes its directory when this program ends, because its input ends then.
    _guard: Child,
}

pub(crate) fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

pub(crate) fn options() -> Options {
    // The machine does not crash in a test, only the server does.
    Options { path: path(), settings: vec![("fsync".to_owned(), "off".to_owned())] }
}

impl TestServer {
    pub(crate) fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("sessile-remote-").tempdir().unwrap().keep();
        // Processes of the server may still write when the first attempt to remove the directory is made.
        let script = "cat > /dev/null; pid=$(head -n 1 \"$0/data/postmaster.pid\" 2> /dev/null) && kill -QUIT \"$pid\"; \
                      for i in 1 2 3 4 5 6 7 8 9; do sleep 1; rm -rf \"$0\" && break; done";
        let mut guard = Command::new("sh");
        guard.arg("-c").arg(script).arg(&dir);
        let guard = guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { dir, _guard: guard };
        server.up();
        server
    }

    /// The server of all tests that do not harm it.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<TestServer> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    pub(crate) fn up(&self) -> Running {
        match local_server::up(&self.dir, &options()) {
            Ok(running) => running,
            Err(error @ LocalServerError::NotInstalled) => panic!("these tests need a real server: {error}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes a database for a store, which belongs to an administrator who is not a superuser.
    pub(crate) fn store(&self) -> TestStore {
        let store = self.named_store(None);
        let prepare = "do $$ begin create role sessile_member nologin; \
                       exception when duplicate_object or unique_violation then null; end $$";
        let admin = format!(
            "create role {admin} login createrole password '{PASSWORD}'; grant sessile_member to {admin} with admin option",
            admin = store.admin
        );
        let database = format!("create database {} owner {}", store.database, store.admin);
        for statement in [prepare, &admin, &database] {
            store.superuser("postgres", statement).unwrap();
        }
        store
    }

    /// Makes a store with the members `ada` and `bob`, as a copy of one that is made once.
    pub(crate) fn store_with_members(&self) -> TestStore {
        static ORIGINAL: OnceLock<TestStore> = OnceLock::new();
        let original = ORIGINAL.get_or_init(|| {
            let store = self.store();
            store.admin().migrate().unwrap();
            for name in ["ada", "bob"] {
                store.add_member(name);
            }
            store
        });
        self.copy_of(original)
    }

    /// Makes a store with the members `ada`, `bob`, `eve` and the administrator `chief`, as a copy of one that is made
    /// once.
    pub(crate) fn store_with_team(&self) -> TestStore {
        static ORIGINAL: OnceLock<TestStore> = OnceLock::new();
        let original = ORIGINAL.get_or_init(|| {
            let store = self.store();
            store.admin().migrate().unwrap();
            for name in ["ada", "bob", "eve"] {
                store.add_member(name);
            }
            store.join("chief", true);
            store
        });
        self.copy_of(original)
    }

    fn copy_of(&self, original: &TestStore) -> TestStore {
        let store = self.named_store(Some(&original.admin));
        let (copy, admin) = (&store.database, &store.admin);
        let create = format!("create database {copy} owner {admin} template {}", original.database);
        store.superuser("postgres", &create).unwrap();
        store
    }

    fn named_store(&self, admin: Option<&str>) -> TestStore {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let running = local_server::connect(&self.dir).unwrap().unwrap();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let admin = admin.map_or_else(|| format!("admin_{number}"), str::to_owned);
        TestStore { running, database: format!("store_{number}"), admin }
    }
}

/// The password of all users that the tests create.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// A database with a store, or without one yet.
pub(crate) struct TestStore {
    pub(crate) running: Running,
    pub(crate) database: String,
    admin: String,
}

impl TestStore {
    pub(crate) fn admin(&self) -> Admin {
        Admin::connect(&self.admin_config()).unwrap()
    }

    pub(crate) fn admin_config(&self) -> Config {
        login(&self.running.url_of(&self.admin, &self.database))
    }

    /// Adds a member. Its role belongs to all stores of the server, so only the superuser can change it, once at a time.
    pub(crate) fn add_member(&self, name: &str) {
        self.join(name, false);
    }

    pub(crate) fn join(&self, name: &str, is_admin: bool) {
        static ROLES: Mutex<()> = Mutex::new(());
        let _one = ROLES.lock().unwrap();
        let mut admin = Admin::connect(&self.running.admin(&self.database).unwrap()).unwrap();
        let password = Secret::new(PASSWORD);
        admin.join(&Joining { name, password: Some(&password), is_admin: Some(is_admin) }).unwrap();
    }

    pub(crate) fn url(&self, name: &str) -> String {
        self.running.url_of(name, &self.database)
    }

    pub(crate) fn config(&self, name: &str) -> Config {
        login(&self.url(name))
    }

    pub(crate) fn connect(&self, name: &str) -> PostgresServer {
        PostgresServer::connect(&self.config(name)).unwrap()
    }

    /// Runs a statement as a user of the tests, and returns the rows, or what the server says.
    pub(crate) fn sql(&self, role: &str, statement: &str) -> Result<String, String> {
        psql(self.running.port(), role, &self.database, ("PGPASSWORD", PASSWORD.as_ref()), statement)
    }

    /// Runs statements one by one as a user of the tests, and returns all that the server says against them.
    pub(crate) fn refusals(&self, role: &str, statements: &[String]) -> String {
        let mut command = psql_command(self.running.port(), role, &self.database, ("PGPASSWORD", PASSWORD.as_ref()));
        command.arg("--set=ON_ERROR_STOP=0");
        for statement in statements {
            command.args(["--command", statement]);
        }
        String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
    }

    pub(crate) fn admin_sql(&self, statement: &str) -> Result<String, String> {
        self.sql(&self.admin, statement)
    }

    pub(crate) fn superuser(&self, database: &str, statement: &str) -> Result<String, String> {
        let file = self.running.password_file().to_path_buf();
        psql(self.running.port(), "sessile_admin", database, ("PGPASSFILE", &file), statement)
    }
}

/// Returns a login with the password of the tests.
pub(crate) fn login(url: &str) -> Config {
    Config::from_url(url).unwrap().with_password(|| Ok(Secret::new(PASSWORD)))
}

fn psql_command(port: u16, user: &str, database: &str, secret: (&str, &Path)) -> Command {
    let mut command = Command::new("psql");
    command
        .args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1", "--host=127.0.0.1"])
        .args([format!("--port={port}"), format!("--username={user}"), format!("--dbname={database}")])
        .env(secret.0, secret.1)
        .stdin(Stdio::null());
    command
}

fn psql(port: u16, user: &str, database: &str, secret: (&str, &Path), statement: &str) -> Result<String, String> {
    let output = psql_command(port, user, database, secret).args(["--command", statement]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}
