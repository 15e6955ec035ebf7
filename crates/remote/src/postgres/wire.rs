//! One connection: unnamed statements with deadlines, on a runtime of its own.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::poll_immediate;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, RowStream};

use crate::error::RemoteError;
use crate::foreign::foreign;
use crate::postgres::config::Config;
use crate::postgres::failure::Request;
use crate::postgres::socket::{Meter, Socket};
use crate::postgres::tls::Tls;

/// A request that moves fewer bytes than this within its limit of time is given up. One that moves more goes on.
const PROGRESS: u64 = 64 << 10;

/// How often the progress of a request is checked within its limit of time.
const CHECKS: u32 = 5;

/// The oldest version of PostgreSQL that has what we use.
const OLDEST_SERVER: u32 = 15;

/// A parameter of a statement. With its type, the statement needs no preparation.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A parameter that outlives the call.
pub(super) type OwnParameter = (Box<dyn ToSql + Sync + Send>, Type);

/// Gets each row of an answer.
pub(super) type OnRow<'a> = &'a mut dyn FnMut(&Request<'_>, &Row) -> Result<ControlFlow<()>, RemoteError>;

/// A connection, and how to make it again.
pub(super) struct Wire {
    /// Always there, except while it is dropped.
    runtime: Option<Runtime>,
    config: Config,
    tls: Tls,
    meter: Meter,
    open: Option<Open>,
    server_version: String,
}

struct Open {
    client: Arc<Client>,
    /// Moves bytes between socket and client while a request runs.
    transfer: JoinHandle<()>,
}

/// A statement that was sent.
pub(super) enum Started {
    /// The answer has not begun yet.
    Sent(Answer),
    /// It failed at once.
    Ended(Result<RowStream, tokio_postgres::Error>),
}

type Answer = Pin<Box<dyn Future<Output = Result<RowStream, tokio_postgres::Error>>>>;

impl Started {
    async fn rows(self) -> Result<RowStream, tokio_postgres::Error> {
        match self {
            Self::Sent(answer) => answer.await,
            Self::Ended(result) => result,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.transfer.abort();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.open.take());
        // A look-up of a name may still run. It is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Wire {
    pub(super) fn connect(config: &Config) -> Result<Self, RemoteError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| RemoteError::Unreachable {
            remote: config.remote().to_owned(),
            reason: format!("cannot start a runtime: {error}"),
        })?;
        let tls = Tls::new(config)?;
        let mut wire = Self {
            runtime: Some(runtime),
            config: config.clone(),
            tls,
            meter: Meter::default(),
            open: None,
            server_version: String::new(),
        };
        wire.reconnect()?;
        Ok(wire)
    }

    pub(super) fn reconnect(&mut self) -> Result<(), RemoteError> {
        self.open = None;
        let login = self.config.for_login()?;
        // The first host that takes writes, or else the error of the last.
        let mut result = Err(self.request().lost("there is no host"));
        for (host, port) in self.config.hosts() {
            result = self.within(self.config.connect_limit(), self.open(&login, host, *port)).flatten();
            if result.is_ok() {
                break;
            }
        }
        let (open, version) = result.map_err(|error| match error {
            RemoteError::Timeout { remote, seconds } => {
                RemoteError::Unreachable { remote, reason: format!("no answer within {seconds} seconds") }
            }
            other => other,
        })?;
        self.server_version = version;
        self.open = Some(open);
        self.check_server()
    }

    /// Connects to a host and logs in. Returns the version of the server, too.
    async fn open(&self, login: &tokio_postgres::Config, host: &str, port: u16) -> Result<(Open, String), RemoteError> {
        let request = self.request();
        let unreachable = |error: std::io::Error| RemoteError::Unreachable {
            remote: self.remote().to_owned(),
            reason: foreign(&error.to_string()),
        };
        let handshake = self.tls.handshake(host).map_err(|error| RemoteError::Tls {
            remote: self.remote().to_owned(),
            reason: foreign(&error.to_string()),
        })?;
        let limit = self.config.connect_limit();
        let socket = Socket::connect(host, port, limit, &self.meter).await.map_err(unreachable)?;
        let connected = login.connect_raw(socket, handshake).await;
        let (client, connection) = connected.map_err(|error| request.not_connected(&error))?;
        let version = foreign(connection.parameter("server_version").unwrap_or_default());
        let transfer = tokio::spawn(async move { drop(connection.await) });
        let open = Open { client: Arc::new(client), transfer };
        if self.config.hosts().len() > 1 {
            let mode = "select pg_catalog.current_setting('transaction_read_only')";
            let rows = open.client.query_typed(mode, &[]).await.map_err(|error| request.not_connected(&error))?;
            if rows.first().and_then(|row| row.try_get::<_, &str>(0).ok()) != Some("off") {
                return Err(RemoteError::ReadOnlyServer { remote: self.remote().to_owned() });
            }
        }
        Ok((open, version))
    }

    fn check_server(&mut self) -> Result<(), RemoteError> {
        let major = self.server_version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        if major.parse::<u32>().is_ok_and(|major| major >= OLDEST_SERVER) {
            return Ok(());
        }
        self.open = None;
        Err(RemoteError::OldServer { remote: self.remote().to_owned(), version: self.server_version.clone() })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn remote(&self) -> &str {
        self.config.remote()
    }

    /// Returns the version of the server, such as `15.18`.
    pub(super) fn server_version(&self) -> &str {
        self.server_version.split_whitespace().next().unwrap_or_default()
    }

    /// Returns the names that messages about any request use.
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            remote: self.config.remote(),
            user: self.config.user(),
            session: None,
            header_id: None,
            member: None,
            project: None,
        }
    }

    /// Runs a statement and returns its rows.
    pub(super) fn query(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        explain: impl FnOnce(Request<'_>, &tokio_postgres::Error) -> RemoteError,
    ) -> Result<Vec<Row>, RemoteError> {
        let rows = {
            let client = &self.opened()?.client;
            self.within(self.config.answer_limit(), client.query_typed(statement, parameters))
        };
        self.finish(rows, explain)
    }

    /// Sends a statement, at the latest with the next wait for an answer. Its rows come after those of the statements
    /// that were sent before.
    pub(super) fn start(&self, statement: &'static str, parameters: Vec<OwnParameter>) -> Result<Started, RemoteError> {
        let client = Arc::clone(&self.opened()?.client);
        let mut answer: Answer = Box::pin(async move { client.query_typed_raw(statement, parameters).await });
        // The first poll puts it into the queue of the connection.
        Ok(match self.runtime()?.block_on(async { poll_immediate(&mut answer).await }) {
            None => Started::Sent(answer),
            Some(result) => Started::Ended(result),
        })
    }

    /// Runs a statement and passes each row on as it comes, until `on_row` breaks or fails.
    pub(super) fn each_row(
        &mut self,
        statement: &'static str,
        parameters: Vec<OwnParameter>,
        explain: impl FnOnce(Request<'_>, &tokio_postgres::Error) -> RemoteError,
        on_row: OnRow<'_>,
    ) -> Result<(), RemoteError> {
        let started = self.start(statement, parameters)?;
        self.each_row_of(started, explain, on_row)
    }

    /// Passes each row of a started statement on as it comes, until `on_row` breaks or fails.
    pub(super) fn each_row_of(
        &mut self,
        started: Started,
        explain: impl FnOnce(Request<'_>, &tokio_postgres::Error) -> RemoteError,
        on_row: OnRow<'_>,
    ) -> Result<(), RemoteError> {
        let result = self.within(self.config.answer_limit(), started.rows()).and_then(|started| {
            let rows = match started {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(Failure::Postgres(error))),
            };
            let mut rows = pin!(rows);
            loop {
                match self.within(self.config.answer_limit(), rows.try_next())? {
                    Ok(None) => return Ok(Ok(())),
                    Ok(Some(row)) => match on_row(&self.request(), &row) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => return Ok(Ok(())),
                        Err(error) => return Ok(Err(Failure::Ours(error))),
                    },
                    Err(error) => return Ok(Err(Failure::Postgres(error))),
                }
            }
        });
        match result {
            Ok(Err(Failure::Ours(error))) => Err(error),
            Ok(Err(Failure::Postgres(error))) => self.finish(Ok(Err(error)), explain),
            Ok(Ok(())) => Ok(()),
            Err(error) => self.finish(Err(error), explain),
        }
    }

    /// Runs a statement without parameters and without rows.
    pub(super) fn execute(&mut self, statement: &str) -> Result<(), RemoteError> {
        self.execute_within(self.config.answer_limit(), statement)
    }

    /// Runs statements without parameters and without rows, which may take long.
    pub(super) fn execute_within(&mut self, limit: Duration, statements: &str) -> Result<(), RemoteError> {
        let done = {
            let client = &self.opened()?.client;
            self.within(limit, client.batch_execute(statements))
        };
        self.finish(done, |request, error| request.failed(error))
    }

    fn opened(&self) -> Result<&Open, RemoteError> {
        self.open.as_ref().ok_or_else(|| self.request().lost("the client has not reconnected yet"))
    }

    fn runtime(&self) -> Result<&Runtime, RemoteError> {
        self.runtime.as_ref().ok_or_else(|| self.request().lost("it is being closed"))
    }

    /// Waits for something on the connection. If it takes longer than the limit, it must have moved some bytes lately.
    fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Result<T, RemoteError> {
        self.runtime()?.block_on(async {
            let mut work = pin!(work);
            // What had moved at the last few checks, the oldest first.
            let mut moved = VecDeque::from([self.meter.moved()]);
            loop {
                if let Ok(done) = tokio::time::timeout(limit / CHECKS, work.as_mut()).await {
                    return Ok(done);
                }
                let now = self.meter.moved();
                if moved.len() >= CHECKS as usize {
                    let before = moved.pop_front().unwrap_or_default();
                    if now - before < PROGRESS {
                        return Err(RemoteError::Timeout {
                            remote: self.remote().to_owned(),
                            seconds: limit.as_secs(),
                        });
                    }
                }
                moved.push_back(now);
            }
        })
    }

    /// Translates the result of a request, and closes the connection if it is of no more use.
    fn finish<T>(
        &mut self,
        result: Result<Result<T, tokio_postgres::Error>, RemoteError>,
        explain: impl FnOnce(Request<'_>, &tokio_postgres::Error) -> RemoteError,
    ) -> Result<T, RemoteError> {
        let error = match result {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => explain(self.request(), &error),
            Err(error) => error,
        };
        if error.is_disconnected() {
            self.open = None;
        }
        Err(error)
    }
}

enum Failure {
    Postgres(tokio_postgres::Error),
    Ours(RemoteError),
}
