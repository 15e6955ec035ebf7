//! A server that replies a script, one step per connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sessile_core::json::Json;

/// What to do with a connection after reading its request.
pub(crate) enum Reply {
    /// Sends these bytes and hangs up.
    Send(Vec<u8>),
    /// Sends these bytes and then nothing, without hanging up.
    Hang(Vec<u8>),
    /// Sends the first bytes and then repeats the second ones until the client hangs up.
    Forever(Vec<u8>, Vec<u8>),
    /// Sends the first bytes and then two more every tenth of a second.
    Drip(Vec<u8>),
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) head: String,
    pub(crate) body: Json,
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    /// Sends one reply per connection and repeats the last one.
    pub(crate) fn serve(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let shared = Arc::clone(&requests);
        thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                shared.lock().unwrap().push(read_request(&mut stream));
                act(&replies[at.min(replies.len() - 1)], stream);
            }
        });
        Self { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

/// Write errors mean that the client hung up, which it may do.
fn act(reply: &Reply, mut stream: TcpStream) {
    match reply {
        Reply::Send(bytes) => drop(stream.write_all(bytes)),
        Reply::Hang(bytes) => {
            drop(stream.write_all(bytes));
            thread::spawn(move || {
                thread::sleep(Duration::from_hours(1));
                drop(stream);
            });
        }
        Reply::Forever(first, again) => {
            let mut is_connected = stream.write_all(first).is_ok();
            while is_connected {
                is_connected = stream.write_all(again).is_ok();
            }
        }
        Reply::Drip(first) => {
            let mut is_connected = stream.write_all(first).is_ok();
            while is_connected {
                thread::sleep(Duration::from_millis(100));
                is_connected = stream.write_all(b":\n").is_ok();
            }
        }
    }
}

fn read_request(stream: &mut TcpStream) -> ReceivedRequest {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    ReceivedRequest { head, body: Json::parse(body).unwrap_or_else(|_| Json::null()) }
}

/// A complete response.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

/// A streamed response with these lines.
pub(crate) fn stream(lines: &str) -> Vec<u8> {
    response("200 OK", "content-type: text/event-stream\r\n", lines)
}
