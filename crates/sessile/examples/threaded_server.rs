//! A server whose threads append to one session. Each answer means that the message is on disk.
//!
//! ```text
//! cargo run -p sessile --example threaded_server -- FILE
//! ```
//!
//! It prints its port. Every line that a client sends is a message, and the answer is the id of its entry. All clients
//! that wait at the same time share one sync of the disk.
#![expect(clippy::print_stdout, reason = "a standalone program")]

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use sessile::Sessions;
use sessile::write::{Durability, SharedSession, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: threaded_server FILE")?;
    let writing = WriteOptions { durability: Durability::Group, ..WriteOptions::default() };
    let mut session = Sessions::default().writing(writing).open_or_create(file)?;
    // Other programs see the session from now on, not only after the first answer of a model.
    session.persist_now()?;
    let session = SharedSession::new(session);

    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("port {}", listener.local_addr()?.port());
    for client in listener.incoming() {
        let (client, session) = (client?, session.clone());
        thread::spawn(move || serve(&client, &session));
    }
    Ok(())
}

/// Appends each line, and answers when it is on disk. A client that goes away ends only its own thread.
fn serve(mut client: &TcpStream, session: &SharedSession) -> io::Result<()> {
    for line in BufReader::new(client).lines() {
        let line = line?;
        // Writers take turns to append, and wait for the disk outside of their turn.
        match session.write(|session| session.append_user_message(line)) {
            Ok((id, _)) => writeln!(client, "{id}")?,
            Err(error) => writeln!(client, "error: {error}")?,
        }
    }
    Ok(())
}
