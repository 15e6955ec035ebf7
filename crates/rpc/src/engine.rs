//! The front door: starts a server, connects clients to it, and runs single commands.

use std::io::{Read, Write};
use std::sync::Arc;

use sessile::json::{Json, ObjectWriter};
use sessile::operations::OperationKind;
use sessile::{NewSession, OpenOptions, SessionId, SessionManager};

use crate::client::{Client, Clients, SHUTDOWN_GRACE};
use crate::connection::Connection;
use crate::envelope::Request;
use crate::failure::Failure;
use crate::local::{self, Events, LocalClient};
use crate::options::{Options, Start};
use crate::outbox::{Outbox, RecordQueue};
use crate::server::{Server, open_at};

/// Serves sessions to any number of clients.
pub struct Engine {
    server: Arc<Server>,
    clients: Arc<Clients>,
}

impl Engine {
    /// Opens the first session.
    pub fn start(mut options: Options, start: &Start, name: Option<&str>) -> Result<Arc<Self>, Failure> {
        // pi continues at the last entry of a file, whatever leaf was current before.
        options.sessions = options.sessions.forgetting_leaves().recording_new_files_as(OperationKind::Fork);
        let mut first = first_session(&options, start)?;
        if let Some(name) = name {
            first.append_session_info(name)?;
        }
        let engine = Self { server: Arc::new(Server::new(options, first)), clients: Arc::default() };
        let clients = Arc::downgrade(&engine.clients);
        engine.server.handlers().on_failure(move |failure| {
            let mut event = ObjectWriter::new();
            event
                .string("type", "extension_error")
                .string("extensionPath", &failure.handler)
                .string("event", failure.event.name())
                .string("error", &failure.error);
            let event = event.finish();
            clients.upgrade().iter().flat_map(|clients| clients.all()).for_each(|client| client.queue_event(&event));
        });
        Ok(Arc::new(engine))
    }

    /// Serves one client until it has closed its input and everything is answered.
    pub fn serve(&self, input: impl Read, output: impl Write + Send + 'static) {
        let client = self.add_client(Outbox::stream(Box::new(output)));
        Connection::new(client).run(input);
    }

    /// Connects a client in this process: it calls commands and reads events without a stream of bytes.
    ///
    /// Like a client on a stream, it has its own current session, subscriptions and hooks. Drop [`Events`] if you
    /// do not read them.
    ///
    /// ```
    /// use sessile_rpc::{Engine, Options, Request, Start};
    ///
    /// let engine = Engine::start(Options::new(sessile::Sessions::default()), &Start::Memory, None)?;
    /// let (client, mut events) = engine.connect();
    /// client.call(&Request::new("set_session_name").with("name", "Tides"))?;
    /// assert_eq!(events.next().unwrap().to_text(), r#"{"type":"session_info_changed","name":"Tides"}"#);
    /// # Ok::<(), sessile_rpc::Failure>(())
    /// ```
    pub fn connect(&self) -> (LocalClient, Events) {
        let queue = Arc::new(RecordQueue::default());
        let client = self.add_client(Outbox::queue(Arc::clone(&queue)));
        (LocalClient::new(client), Events::new(queue))
    }

    /// Runs one command and returns its data, if it has any.
    ///
    /// The command refers to the session in its `sessionPath`, else to the one that the engine was started with. No
    /// events are delivered, and what belongs to a client ends with the call: a subscription, a hook, or a change of
    /// the current session. Use [`connect`](Self::connect) for those.
    ///
    /// ```
    /// use sessile_rpc::{Engine, Options, Request, Start};
    ///
    /// let engine = Engine::start(Options::new(sessile::Sessions::default()), &Start::Memory, Some("Tides"))?;
    /// let state = engine.call(&Request::new("get_state"))?.unwrap();
    /// assert_eq!(state.raw().get("sessionName").unwrap().as_string().unwrap(), "Tides");
    /// # Ok::<(), sessile_rpc::Failure>(())
    /// ```
    pub fn call(&self, request: &Request) -> Result<Option<Json>, Failure> {
        self.server.first.lock().host().start();
        let client = self.new_client(Outbox::discarding());
        let result = local::call(&client, request);
        client.end_call();
        result
    }

    fn new_client(&self, outbox: Outbox) -> Arc<Client> {
        Client::new(Arc::clone(&self.server), Arc::clone(&self.clients), outbox)
    }

    fn add_client(&self, outbox: Outbox) -> Arc<Client> {
        let client = self.new_client(outbox);
        self.clients.add(&client);
        self.server.first.lock().host().start();
        client
    }

    /// Stops work in progress, and notifies clients that the program is exiting.
    pub fn stop(&self) {
        self.server.sessions().iter().for_each(|session| session.stop());
        self.clients.all().iter().for_each(|client| client.leave(Some(SHUTDOWN_GRACE)));
    }

    /// Returns the number of clients.
    #[cfg(unix)]
    pub(crate) fn n_clients(&self) -> usize {
        self.clients.n_connected()
    }
}

fn first_session(options: &Options, start: &Start) -> Result<SessionManager, Failure> {
    let (sessions, cwd) = (&options.sessions, &options.cwd);
    let with_id = |id: Option<SessionId>| NewSession { id, parent_session: None };
    Ok(match start {
        Start::New => sessions.create(cwd)?,
        Start::WithId(id) => match sessions.find_by_id(cwd, id) {
            Some(path) => sessions.open_with(path, &OpenOptions::new().cwd(cwd))?,
            None => sessions.create_with(cwd, &with_id(Some(id.clone())))?,
        },
        Start::Open(path) => open_at(options, path, cwd)?,
        Start::Continue => sessions.continue_recent(cwd)?,
        Start::Fork { source, id } => sessions.fork_from_with(source, cwd, &with_id(id.clone()))?,
        Start::Memory => sessions.in_memory(cwd, NewSession::default())?,
        Start::MemoryWithId(id) => sessions.in_memory(cwd, with_id(Some(id.clone())))?,
    })
}
