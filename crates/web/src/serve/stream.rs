//! Bodies of responses that grow while the client reads them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;

/// The number of pieces that wait for a client to read them.
const N_BUFFERED: usize = 16;

/// Sends the pieces of a body. The body ends when this is dropped.
///
/// A client that does not read fills the buffer, and then the sender waits. When the connection's write timeout has
/// passed, the connection is closed and the next send fails.
pub(crate) struct StreamSender(mpsc::Sender<Bytes>);

struct StreamBody(mpsc::Receiver<Bytes>);

/// Creates a body and its sender.
pub(crate) fn stream() -> (StreamSender, Body) {
    let (sender, receiver) = mpsc::channel(N_BUFFERED);
    (StreamSender(sender), Body::new(StreamBody(receiver)))
}

impl StreamSender {
    /// Sends a piece from a task. Returns whether the client is still there.
    pub(crate) async fn send(&self, piece: impl Into<Bytes>) -> bool {
        self.0.send(piece.into()).await.is_ok()
    }

    /// Sends a piece from a thread. Returns whether the client is still there.
    pub(crate) fn send_from_thread(&self, piece: impl Into<Bytes>) -> bool {
        self.0.blocking_send(piece.into()).is_ok()
    }

    /// Waits until the client is gone.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl http_body::Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
