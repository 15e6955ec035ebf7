//! Connections of TCP that count the bytes they move.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How long the system waits for the other side to confirm bytes.
#[cfg(target_os = "linux")]
const UNCONFIRMED_LIMIT: Duration = Duration::from_secs(15);

/// The number of bytes that all connections of a client have moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter(Arc<AtomicU64>);

impl Meter {
    pub(super) fn moved(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, n_bytes: usize) {
        self.0.fetch_add(n_bytes as u64, Ordering::Relaxed);
    }
}

/// A connection that counts the bytes it moves.
pub(super) struct Socket {
    stream: TcpStream,
    meter: Meter,
}

impl Socket {
    /// Connects to the first address of a host that answers, each within a limit.
    pub(super) async fn connect(host: &str, port: u16, limit: Duration, meter: &Meter) -> io::Result<Self> {
        let mut last = None;
        for address in tokio::net::lookup_host((host, port)).await? {
            let connected = tokio::time::timeout(limit, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    prepare(&stream)?;
                    return Ok(Self { stream, meter: meter.clone() });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("the name has no address")))
    }
}

/// Makes the system notice a server that is gone, even between requests.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(5));
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNCONFIRMED_LIMIT))?;
    Ok(())
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(task, buffer);
        self.meter.add(buffer.filled().len() - before);
        poll
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(task, bytes);
        if let Poll::Ready(Ok(n_bytes)) = &poll {
            self.meter.add(*n_bytes);
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}
