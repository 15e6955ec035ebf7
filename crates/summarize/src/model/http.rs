//! One request and its answer, in pieces.
//!
//! The request runs on its own thread, which sends each piece to the caller and stays at most a few pieces ahead. The
//! caller can therefore stop waiting at any moment, whatever the network does; the thread then ends at its own time
//! limit.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;
use sessile_core::date::{self, Utc};
use sessile_core::json::Raw;

use super::fault::{Fault, quoted};
use crate::settings::RetryPolicy;

/// How often a wait checks for cancellation.
pub(super) const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Upper bound on the body of an answer, in bytes.
const MAX_BODY: usize = 64 << 20;

/// Upper bound on the body of an error answer, in bytes.
const MAX_COMPLAINT: usize = 64 << 10;

/// How many pieces may be queued.
const MAX_QUEUED_PIECES: usize = 16;

/// A request to send.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// A message from the request thread.
enum ResponsePiece {
    Head(Head),
    Bytes(Vec<u8>),
    End,
    Broken(Fault),
}

#[derive(Debug)]
struct Head {
    status: u16,
    content_type: String,
    location: Option<String>,
    retry_after: Option<Duration>,
}

/// An answer that is being received.
pub(super) struct Response<'c> {
    pieces: Receiver<ResponsePiece>,
    head: Head,
    retry_policy: RetryPolicy,
    cancel: &'c Cancel,
    since: Instant,
    n_read: usize,
}

impl<'c> Response<'c> {
    /// Sends a request and waits for the head of the answer.
    pub(super) fn start(request: Request, retry_policy: RetryPolicy, cancel: &'c Cancel) -> Result<Self, Fault> {
        let (sender, pieces) = sync_channel(MAX_QUEUED_PIECES);
        let spawned = thread::Builder::new().name("summary".to_owned()).spawn(move || {
            if let Err(fault) = exchange(&request, retry_policy, &sender) {
                // The receiver may be gone.
                drop(sender.send(ResponsePiece::Broken(fault)));
            }
        });
        spawned.map_err(|error| Fault::Permanent(format!("cannot start a thread: {error}")))?;
        let head = Head { status: 0, content_type: String::new(), location: None, retry_after: None };
        let mut response = Self { pieces, head, retry_policy, cancel, since: Instant::now(), n_read: 0 };
        match response.piece()? {
            ResponsePiece::Head(head) => response.head = head,
            ResponsePiece::Broken(fault) => return Err(fault),
            ResponsePiece::Bytes(_) | ResponsePiece::End => return Err(Fault::transient("the answer has no headers")),
        }
        Ok(response)
    }

    /// Waits for the next message of the thread, within the time limits.
    fn piece(&mut self) -> Result<ResponsePiece, Fault> {
        let idle_since = Instant::now();
        loop {
            if self.cancel.is_cancelled() {
                return Err(Fault::Cancelled);
            }
            if idle_since.elapsed() > self.retry_policy.idle {
                return Err(Fault::transient(format!(
                    "no data received for {} s",
                    self.retry_policy.idle.as_secs_f64()
                )));
            }
            if self.since.elapsed() > self.retry_policy.total {
                let limit = self.retry_policy.total.as_secs_f64();
                return Err(Fault::Permanent(format!("the answer took longer than {limit} s")));
            }
            match self.pieces.recv_timeout(CANCEL_POLL_INTERVAL) {
                Ok(piece) => return Ok(piece),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Fault::transient("the connection was lost")),
            }
        }
    }

    /// Returns the next bytes of the answer, or none at its end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        match self.piece()? {
            ResponsePiece::Bytes(bytes) => {
                self.n_read += bytes.len();
                if self.n_read > MAX_BODY {
                    return Err(Fault::Permanent(format!("the answer is larger than {MAX_BODY} bytes")));
                }
                Ok(Some(bytes))
            }
            ResponsePiece::Broken(fault) => Err(fault),
            ResponsePiece::End | ResponsePiece::Head(_) => Ok(None),
        }
    }

    /// Whether the answer is one JSON value rather than a stream.
    pub(super) fn is_json(&self) -> bool {
        self.head.content_type.starts_with("application/json")
    }

    /// Fails unless the status is a success.
    pub(super) fn check_status(&mut self) -> Result<(), Fault> {
        let status = self.head.status;
        match status {
            200..=299 => return Ok(()),
            300..=399 => {
                let target = self.head.location.as_deref().map(without_secrets).unwrap_or_default();
                return Err(Fault::Permanent(format!(
                    "the server redirects (status {status}) to {target}; not followed, because the key must not go to another server"
                )));
            }
            _ => {}
        }
        let what = format!("status {status}{}", self.complaint()?);
        match status {
            408 | 409 | 425 | 429 | 500..=599 => Err(Fault::Transient { what, retry_after: self.head.retry_after }),
            _ => Err(Fault::Permanent(what)),
        }
    }

    /// Reads the server's error message.
    fn complaint(&mut self) -> Result<String, Fault> {
        let mut body = Vec::new();
        while body.len() < MAX_COMPLAINT {
            match self.next() {
                Ok(Some(bytes)) => body.extend(bytes),
                Err(Fault::Cancelled) => return Err(Fault::Cancelled),
                Ok(None) | Err(_) => break,
            }
        }
        let text = error_message_in(&body).unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        let text = quoted(&text);
        Ok(if text.is_empty() { String::new() } else { format!(": {text}") })
    }
}

/// Finds the message in a JSON error, in one of the usual places.
fn error_message_in(body: &[u8]) -> Option<String> {
    let json = Raw::parse(body).ok()?;
    let json = json.items().next().unwrap_or(json);
    let error = json.get("error").unwrap_or(json);
    error.get("message").and_then(Raw::as_string).or_else(|| error.as_string())
}

/// Prepares a URL for display: without user information, query and fragment.
fn without_secrets(address: &str) -> String {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let shown = quoted(address.split_at(end).0);
    match shown.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?.1))) {
        Some((scheme, rest)) => format!("{scheme}://{rest}"),
        None => shown,
    }
}

/// Sends the request, and the answer to `sender`. Ends early if the receiver is gone.
fn exchange(request: &Request, retry_policy: RetryPolicy, sender: &SyncSender<ResponsePiece>) -> Result<(), Fault> {
    let mut builder = agent(&request.url, retry_policy).post(&request.url);
    for (name, value) in &request.headers {
        let Ok(mut value) = ureq::http::HeaderValue::from_str(value) else {
            return Err(Fault::Permanent(format!("the header {name} contains an invalid character")));
        };
        value.set_sensitive(true);
        builder = builder.header(*name, value);
    }
    let mut response = builder.send(&request.body[..]).map_err(|error| connection_fault(&error))?;
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let head = Head {
        status: response.status().as_u16(),
        content_type: header("content-type").unwrap_or_default().to_lowercase(),
        location: header("location"),
        retry_after: header("retry-after").and_then(|wait| retry_after(&wait, header("date").as_deref())),
    };
    if sender.send(ResponsePiece::Head(head)).is_err() {
        return Ok(());
    }
    let mut body = response.body_mut().as_reader();
    let mut chunk = vec![0; 16 << 10];
    loop {
        let n_read =
            body.read(&mut chunk).map_err(|error| Fault::transient(format!("the connection was lost: {error}")))?;
        let piece = if n_read == 0 { ResponsePiece::End } else { ResponsePiece::Bytes(chunk[..n_read].to_vec()) };
        if sender.send(piece).is_err() || n_read == 0 {
            return Ok(());
        }
    }
}

fn agent(url: &str, retry_policy: RetryPolicy) -> ureq::Agent {
    let mut config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("sessile/", env!("CARGO_PKG_VERSION")))
        .max_response_header_size(64 << 10)
        .timeout_connect(Some(retry_policy.idle.min(Duration::from_secs(30))))
        .timeout_per_read(Some(retry_policy.idle))
        .timeout_global(Some(retry_policy.total));
    if is_local(url) {
        config = config.proxy(None);
    }
    ureq::Agent::new_with_config(config.build())
}

/// Whether a URL points to this machine; such requests bypass the proxy.
fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
}

fn connection_fault(error: &ureq::Error) -> Fault {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl | ureq::Error::Tls(_) => {
            Fault::Permanent(quoted(&error.to_string()))
        }
        _ => Fault::transient(quoted(&format!("the connection failed: {error}"))),
    }
}

/// Parses a server's `retry-after`: seconds, or a date, which is compared with the server's own clock.
fn retry_after(wait: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = wait.trim().parse::<f64>() {
        return (0.0..1e9).contains(&seconds).then(|| Duration::from_secs_f64(seconds));
    }
    let (until, now) = (date::parse(wait.trim(), &Utc)?, date::parse(date?.trim(), &Utc)?);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read() {
        let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(retry_after("7", None), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:09 GMT", date), Some(Duration::from_secs(9)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:27:09 GMT", date), Some(Duration::ZERO));
        assert_eq!(retry_after("-3", date), None);
        assert_eq!(retry_after("soon", date), None);
    }

    #[test]
    fn addresses_are_shown_without_secrets() {
        assert_eq!(without_secrets("https://u:p@host/path?key=1"), "https://host/path");
        assert!(
            is_local("http://127.0.0.1:1/v1") && is_local("http://localhost:1") && !is_local("https://api.example")
        );
    }
}
