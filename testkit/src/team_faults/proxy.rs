//! A network between clients and a server that fails on request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to connections, after some bytes have passed in both directions. It happens once: connections that are
/// made later work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// They end, in the middle of a message.
    Cut { after: u64 },
    /// Nothing moves any more, and no side gets to know it.
    Stall { after: u64 },
    /// Requests reach the server. Its answers are lost, and the connection is reset.
    LoseAnswers { after: u64 },
    /// One byte a second moves, until it ends.
    Crawl,
}

#[derive(Default)]
struct State {
    trouble: Mutex<Option<Trouble>>,
    n_passed: AtomicU64,
    n_connections: AtomicU64,
    /// Connections with lower numbers are stalled.
    n_stalled: AtomicU64,
    is_over: AtomicBool,
}

/// A network.
pub(super) struct Proxy {
    pub(super) port: u16,
    state: Arc<State>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
    }
}

impl Proxy {
    pub(super) fn to(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server_port))) else {
                    continue;
                };
                let number = shared.n_connections.fetch_add(1, Ordering::SeqCst);
                for (is_answer, from, to) in [(false, &client, &server), (true, &server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let state = Arc::clone(&shared);
                    std::thread::spawn(move || pass(from, to, is_answer, number, &state));
                }
            }
        });
        Self { port, state }
    }

    /// Makes trouble from now on, or ends it.
    pub(super) fn set(&self, trouble: Option<Trouble>) {
        let mut current = self.state.trouble.lock().unwrap();
        self.state.n_passed.store(0, Ordering::SeqCst);
        *current = trouble;
    }

    /// Whether the trouble has not happened yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.state.trouble.lock().unwrap().is_some()
    }
}

/// Passes bytes on in one direction, as far as the network permits.
fn pass(mut from: TcpStream, mut to: TcpStream, is_answer: bool, number: u64, state: &State) {
    let mut buffer = [0; 4096];
    while let Ok(n_read @ 1..) = from.read(&mut buffer) {
        let before = state.n_passed.fetch_add(n_read as u64, Ordering::SeqCst);
        let mut trouble = state.trouble.lock().unwrap();
        let now = match *trouble {
            Some(Trouble::Cut { after } | Trouble::Stall { after }) if before + n_read as u64 <= after => None,
            Some(Trouble::LoseAnswers { after }) if !is_answer || before + (n_read as u64) <= after => None,
            Some(Trouble::Crawl) => Some(Trouble::Crawl),
            _ => trouble.take(),
        };
        if matches!(now, Some(Trouble::Stall { .. })) {
            state.n_stalled.store(state.n_connections.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        drop(trouble);
        if number < state.n_stalled.load(Ordering::SeqCst) {
            while !state.is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(50));
            }
            return;
        }
        let goes_on = match now {
            None | Some(Trouble::Stall { .. }) => to.write_all(&buffer[..n_read]).is_ok(),
            Some(Trouble::Cut { after }) => {
                let n_left = usize::try_from(after.saturating_sub(before)).unwrap().min(n_read);
                drop(to.write_all(&buffer[..n_left]));
                false
            }
            Some(Trouble::LoseAnswers { .. }) => {
                reset(&from, &to);
                return;
            }
            Some(Trouble::Crawl) => crawl(&mut to, &buffer[..n_read], state),
        };
        if !goes_on {
            break;
        }
    }
    drop(from.shutdown(Shutdown::Both));
    drop(to.shutdown(Shutdown::Both));
}

/// Passes one byte a second, until the trouble ends.
fn crawl(to: &mut TcpStream, mut bytes: &[u8], state: &State) -> bool {
    while let Some((first, rest)) = bytes.split_first() {
        let is_crawling = *state.trouble.lock().unwrap() == Some(Trouble::Crawl);
        if !is_crawling {
            break;
        }
        std::thread::sleep(Duration::from_secs(1));
        if to.write_all(&[*first]).is_err() {
            return false;
        }
        bytes = rest;
    }
    to.write_all(bytes).is_ok()
}

/// Closes both connections with resets: what was on its way is lost.
fn reset(from: &TcpStream, to: &TcpStream) {
    for stream in [from, to] {
        drop(socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)));
        // Wakes the thread of the other direction, without saying goodbye.
        drop(stream.shutdown(Shutdown::Read));
    }
}
