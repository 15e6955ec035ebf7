//! Connections: how many, how long, and how much of a request.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// The most connections at a time; others wait to be accepted.
const MAX_CONNECTIONS: usize = 400;

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 32 << 10;

/// The most header lines of a request.
const MAX_HEADERS: usize = 64;

/// How long the head of a request may take, and how long a connection may wait for its next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// How long open responses may take when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The pause after the system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers a request.
pub(crate) trait Answer: Send + Sync + 'static {
    /// Answers a request.
    fn answer(self: Arc<Self>, request: Request<Incoming>) -> impl Future<Output = Response> + Send;
}

/// Accepts connections until the value of `stop` is true.
pub(crate) async fn serve<A: Answer>(
    listener: TcpListener,
    answer: Arc<A>,
    write_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let stopping = stop.clone();
        let accepted = {
            let accept = async {
                let place = Arc::clone(&places).acquire_owned().await.ok()?;
                Some((place, listener.accept().await))
            };
            let (mut accept, mut stopped) = (pin!(accept), pin!(stop.wait_for(|is_stopping| *is_stopping)));
            poll_fn(|context| match stopped.as_mut().poll(context) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => accept.as_mut().poll(context),
            })
            .await
        };
        let Some((place, connection)) = accepted else { break };
        let Ok((connection, _)) = connection else {
            // The process has too many open files, or the client has already left.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let answer = Arc::clone(&answer);
        tokio::spawn(async move {
            // The client is gone or broke the protocol: there is nothing left to say to it.
            drop(one_connection(connection, answer, write_timeout, stopping).await);
            drop(place);
        });
    }
    // A connection ends by itself after its open response.
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    drop(tokio::time::timeout(STOP_TIMEOUT, places.acquire_many(all)).await);
}

async fn one_connection<A: Answer>(
    connection: TcpStream,
    answer: Arc<A>,
    write_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) -> Result<(), hyper::Error> {
    // Small events must not wait for more data.
    drop(connection.set_nodelay(true));
    let service = service_fn(move |request| {
        let answer = Arc::clone(&answer);
        async move { Ok::<_, Infallible>(answer.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS);
    let io = TokioIo::new(Patient { inner: connection, timeout: write_timeout, blocked: None });
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut stopped = pin!(stop.wait_for(|is_stopping| *is_stopping));
    let mut is_stopping = false;
    poll_fn(|context| {
        if !is_stopping && stopped.as_mut().poll(context).is_ready() {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await
}

/// A connection that fails if its client reads nothing for some time while there is something to read.
struct Patient {
    inner: TcpStream,
    timeout: Duration,
    /// Ends when the client has not read for too long; set while a write waits.
    blocked: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn limited<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let deadline = Instant::now() + self.timeout;
        let blocked = self.blocked.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        match blocked.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.limited(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.limited(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.limited(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
