//! Bodies of responses that grow while the client reads them.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// How often a stream without events sends something, to notice that its client is gone.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The number of pieces that wait for a client to read them.
const N_BUFFERED: usize = 16;

/// Sends the pieces of a body. The body ends when this is dropped.
///
/// A client that does not read fills the buffer, and then the sender waits. When the connection's write timeout has
/// passed, the connection is closed and the next send fails.
pub(crate) struct StreamSender(mpsc::Sender<io::Result<Bytes>>);

struct StreamBody(mpsc::Receiver<io::Result<Bytes>>);

/// Creates a body and its sender.
pub(crate) fn stream() -> (StreamSender, Body) {
    let (sender, receiver) = mpsc::channel(N_BUFFERED);
    (StreamSender(sender), Body::new(StreamBody(receiver)))
}

impl StreamSender {
    /// Sends a piece from a task. Returns whether the client is still there.
    pub(crate) async fn send(&self, piece: impl Into<Bytes>) -> bool {
        self.0.send(Ok(piece.into())).await.is_ok()
    }

    /// Sends a piece from a thread. Returns whether the client is still there.
    pub(crate) fn send_from_thread(&self, piece: impl Into<Bytes>) -> bool {
        self.0.blocking_send(Ok(piece.into())).is_ok()
    }

    /// Ends the response as a failure, so that no client takes a part of a file for the whole.
    pub(crate) fn fail_from_thread(&self) {
        // The client may be gone.
        drop(self.0.blocking_send(Err(io::Error::other("the rest cannot be sent"))));
    }

    /// Waits for a new value, and sends `beat` from time to time. Returns false if the client leaves or the server stops.
    ///
    /// The sender of `changes` must live as long as the stream.
    pub(crate) async fn wait_for<T>(
        &self,
        changes: &mut watch::Receiver<T>,
        stop: &mut watch::Receiver<bool>,
        beat: &'static str,
    ) -> bool {
        loop {
            let (mut news, mut silence) = (pin!(changes.changed()), pin!(sleep(HEARTBEAT)));
            let (mut closed, mut stopped) = (pin!(self.0.closed()), pin!(stop.wait_for(|is_stopping| *is_stopping)));
            let is_change = poll_fn(|context| {
                if closed.as_mut().poll(context).is_ready() || stopped.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Some(false));
                }
                if news.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Some(true));
                }
                silence.as_mut().poll(context).map(|()| None)
            });
            match is_change.await {
                Some(is_change) => return is_change,
                None if self.send(beat).await => {}
                None => return false,
            }
        }
    }
}

impl http_body::Body for StreamBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
