//! Where a store is, and how to log in.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};

use crate::blobs::Objects;
use crate::error::RemoteError;
use crate::foreign::foreign;
use crate::secret::Secret;

/// How long a client waits for a connection to one host.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long a client waits for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

type AskPassword = dyn Fn() -> io::Result<Secret> + Send + Sync;

/// The address of a store, and what is needed to log in.
#[derive(Clone)]
pub struct Config {
    parsed: tokio_postgres::Config,
    hosts: Vec<(String, u16)>,
    /// Host, port and database, for messages.
    remote: String,
    user: String,
    /// Whether to use TLS, and then verify the certificate and the name of the host.
    uses_tls: bool,
    ca_file: Option<PathBuf>,
    password: Option<Arc<AskPassword>>,
    device: Option<String>,
    answer_limit: Duration,
    connect_limit: Duration,
    blobs: Option<Arc<dyn Objects>>,
}

impl Config {
    /// Reads an address such as `postgres://user@host:5432/database`, which must not contain a password.
    ///
    /// Several hosts are separated by commas; the first that accepts writes is used. `sslmode` is `verify-full`, unless
    /// all hosts are this machine. `disable` turns TLS off, and `require` and `verify-ca` mean `verify-full` too.
    /// `sslrootcert` names a file of certificate authorities.
    pub fn from_url(url: &str) -> Result<Self, RemoteError> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| invalid("it does not start with postgres://"))?;
        // Before anything else, so that no other message is about a part of a password.
        if rest.split_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(RemoteError::PasswordInUrl);
        }
        let (address, options) = url.split_once('?').unwrap_or((url, ""));
        let mut sslmode = None;
        let mut ca_file = None;
        let mut kept = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("password", _)) => return Err(RemoteError::PasswordInUrl),
                Some(("sslmode", mode)) => sslmode = Some(mode),
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", path)) => ca_file = Some(PathBuf::from(percent_decoded(path)?)),
                Some(("options", _)) => kept.push(option),
                // Not named, because a part of a password might look like one.
                _ => return Err(invalid("it has an option other than sslmode, sslrootcert and options")),
            }
        }
        let parsed = format!("{address}?{}", kept.join("&"));
        // The reason may quote the address, so it is not passed on.
        let mut parsed: tokio_postgres::Config =
            parsed.parse().map_err(|_quoting| invalid("a part of it has the wrong form"))?;
        if parsed.get_password().is_some() {
            return Err(RemoteError::PasswordInUrl);
        }
        let user =
            parsed.get_user().filter(|user| !user.is_empty()).ok_or_else(|| invalid("it names no user"))?.to_owned();
        let database = parsed.get_dbname().filter(|name| !name.is_empty());
        let database = database.ok_or_else(|| invalid("it names no database"))?.to_owned();
        let hosts = hosts(&parsed)?;
        if hosts.is_empty() {
            return Err(invalid("it names no host"));
        }
        let uses_tls = match sslmode {
            None => !hosts.iter().all(is_this_machine),
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(_) => return Err(invalid("sslmode is verify-full or disable")),
        };
        let remote = foreign(&format!("{}/{database}", hosts.iter().map(shown).collect::<Vec<_>>().join(",")));
        parsed.application_name("sessile").ssl_mode(if uses_tls { SslMode::Require } else { SslMode::Disable });
        Ok(Self {
            parsed,
            hosts,
            remote,
            user,
            uses_tls,
            ca_file,
            password: None,
            device: None,
            answer_limit: ANSWER_LIMIT,
            connect_limit: CONNECT_LIMIT,
            blobs: None,
        })
    }

    /// Asks this function for the password, each time the client connects.
    #[must_use]
    pub fn with_password(mut self, ask: impl Fn() -> io::Result<Secret> + Send + Sync + 'static) -> Self {
        self.password = Some(Arc::new(ask));
        self
    }

    /// Trusts the certificate authorities in a PEM file, instead of the public ones.
    #[must_use]
    pub fn with_ca_file(mut self, path: &Path) -> Self {
        self.ca_file = Some(path.to_path_buf());
        self
    }

    /// Sets the name of this machine, which the server notes with each line that it gets.
    #[must_use]
    pub fn on_device(mut self, name: &str) -> Self {
        self.device = Some(name.to_owned());
        self
    }

    /// Sets how long a client waits for an answer, instead of 15 seconds. While bytes move, it
    /// waits longer.
    #[must_use]
    pub fn with_answer_limit(mut self, limit: Duration) -> Self {
        self.answer_limit = limit;
        self
    }

    /// Sets how long connecting may take, instead of 10 seconds.
    #[must_use]
    pub fn with_connect_limit(mut self, limit: Duration) -> Self {
        self.connect_limit = limit;
        self
    }

    /// Keeps large lines in a storage, instead of in the database.
    #[must_use]
    pub fn with_blobs(mut self, blobs: Arc<dyn Objects>) -> Self {
        self.blobs = Some(blobs);
        self
    }

    /// Returns the storage for large lines, if there is one.
    pub fn blobs(&self) -> Option<&Arc<dyn Objects>> {
        self.blobs.as_ref()
    }

    /// Returns host, port and database, as messages name them.
    pub fn remote(&self) -> &str {
        &self.remote
    }

    /// Returns the user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Whether the connection is encrypted, and the server verified.
    pub fn uses_tls(&self) -> bool {
        self.uses_tls
    }

    pub(super) fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    pub(super) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Returns the settings of a connection, with the password.
    pub(super) fn for_login(&self) -> Result<tokio_postgres::Config, RemoteError> {
        let mut config = self.parsed.clone();
        if let Some(ask) = &self.password {
            let unavailable = |source| RemoteError::PasswordUnavailable { remote: self.remote.clone(), source };
            config.password(ask().map_err(unavailable)?.reveal());
        }
        Ok(config)
    }

    pub(super) fn answer_limit(&self) -> Duration {
        self.answer_limit
    }

    pub(super) fn hosts(&self) -> &[(String, u16)] {
        &self.hosts
    }

    /// Returns how long connecting to one address may take.
    pub(super) fn connect_limit(&self) -> Duration {
        if self.hosts.len() > 1 { self.connect_limit / 2 } else { self.connect_limit }
    }
}

/// Without the password, and without the settings of the connection, which would contain it.
impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Config").field("remote", &self.remote).field("user", &self.user).finish_non_exhaustive()
    }
}

/// Returns the hosts of an address and their ports.
fn hosts(config: &tokio_postgres::Config) -> Result<Vec<(String, u16)>, RemoteError> {
    let ports = config.get_ports();
    let host = |(index, host): (usize, &Host)| match host {
        Host::Tcp(name) if !name.is_empty() => {
            Ok((name.clone(), ports.get(index).or(ports.first()).copied().unwrap_or(5432)))
        }
        Host::Tcp(_) => Err(invalid("it names no host")),
        #[cfg(unix)]
        Host::Unix(_) => Err(invalid("it names a Unix socket, and only TCP is supported")),
    };
    config.get_hosts().iter().enumerate().map(host).collect()
}

fn shown((name, port): &(String, u16)) -> String {
    if name.contains(':') { format!("[{name}]:{port}") } else { format!("{name}:{port}") }
}

fn is_this_machine((name, _): &(String, u16)) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn percent_decoded(text: &str) -> Result<String, RemoteError> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_not_utf8| invalid("sslrootcert is not UTF-8"))
}

fn invalid(reason: &str) -> RemoteError {
    RemoteError::InvalidUrl { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(url: &str) -> String {
        Config::from_url(url).unwrap_err().to_string()
    }

    #[test]
    fn addresses_are_read() {
        let config = Config::from_url("postgres://ada@db.example.com/team").unwrap();
        assert_eq!((config.remote(), config.user()), ("db.example.com:5432/team", "ada"));
        assert!(config.uses_tls());
        let config = Config::from_url("postgresql://ada@a:1,b:2/team?sslmode=disable").unwrap();
        assert_eq!(config.remote(), "a:1,b:2/team");
        assert!(!config.uses_tls());
        assert_eq!(config.hosts(), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
    }

    #[test]
    fn certificates_are_verified_except_on_this_machine() {
        let uses_tls = |rest: &str| Config::from_url(&format!("postgres://ada@{rest}")).unwrap().uses_tls();
        for here in ["localhost/x", "127.0.0.1:5433/x", "[::1]:5433/x", "127.0.0.2,localhost/x"] {
            assert!(!uses_tls(here), "{here}");
        }
        for elsewhere in
            ["10.0.0.1/x", "localhost.example.com/x", "localhost,other/x", "localhost/x?sslmode=verify-full"]
        {
            assert!(uses_tls(elsewhere), "{elsewhere}");
        }
        assert!(uses_tls("localhost/x?sslmode=require"));
        assert!(reason("postgres://ada@host/x?sslmode=prefer").contains("sslmode is verify-full or disable"));
        let config = Config::from_url("postgres://ada@host/x?sslrootcert=%2Fetc%2Fca%20s.pem&sslmode=require").unwrap();
        assert_eq!(config.ca_file(), Some(Path::new("/etc/ca s.pem")));
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let with_password = [
            "postgres://ada:hunter2@host/x",
            "postgres://ada:hunter2@host:port/x",
            "postgres://ada:hun?ter2@host/x",
            "postgres://ada:hun/ter2@host/x",
            "postgres://ada@host/x?password=hunter2",
            "postgres://ada@host/x?sslmode=wrong&password=hunter2",
            "postgres://ada:@host/x",
        ];
        for url in with_password {
            assert!(matches!(Config::from_url(url), Err(RemoteError::PasswordInUrl)), "{url}");
        }
        for url in
            ["postgres://ada@ho st:hunter2/x", "postgres://ada@host/x?hunter2", "postgres://ada@host/x?hunter2=1"]
        {
            assert!(!reason(url).contains("hunter2"), "{url}");
        }
    }

    #[test]
    fn other_addresses_are_refused_with_a_reason() {
        assert!(reason("mysql://ada@host/x").contains("does not start with postgres://"));
        assert!(reason("postgres://host/x").contains("names no user"));
        assert!(reason("postgres://ada@host").contains("names no database"));
        assert!(reason("postgres://ada@/x").contains("names no host"));
        assert!(reason("postgres://ada@%2Frun%2Fpostgresql/x").contains("Unix socket"));
        assert!(reason("postgres://ada@host/x?hostaddr=10.0.0.1").contains("an option other than"));
        assert!(reason("postgres://ada@host:99999/x").contains("wrong form"));
    }

    #[test]
    fn debug_output_has_no_password() {
        let config = Config::from_url("postgres://ada@host/x").unwrap().with_password(|| Ok(Secret::new("hunter2")));
        assert!(!format!("{config:?}").contains("hunter2"));
        assert_eq!(config.for_login().unwrap().get_password(), Some(b"hunter2".as_slice()));
        let config = config.with_password(|| Err(io::Error::other("no such file")));
        let error = config.for_login().unwrap_err().to_string();
        assert_eq!(error, "cannot get the password for host:5432/x: no such file");
    }
}
