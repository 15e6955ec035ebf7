//! Appends to a session, and continues it the next time.
//!
//! ```text
//! cargo run -p sessile --example append_and_resume -- DIRECTORY "a message"
//! ```
//!
//! Run it twice with the same directory: the second run continues where the first one ended, even if it was killed.
#![expect(clippy::print_stdout, reason = "a standalone program")]

use std::error::Error;

use sessile::Sessions;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let directory = args.next().ok_or("usage: append_and_resume DIRECTORY MESSAGE")?;
    let message = args.next().unwrap_or_else(|| "Why is high water early?".to_owned());

    let sessions = Sessions::default().with_session_dir(&directory);
    // The most recent session of this working directory, or a new one.
    let mut session = sessions.continue_recent("/example/tides")?;
    println!("{} messages so far", session.build_session_context()?.messages.len());

    session.append_user_message(message)?;
    session.append_assistant_message("example", "echo", "Because of the moon.")?;
    // Both entries are in the file when the calls return. An error would have left the session unchanged.
    for entry in session.branch_path()? {
        if let Some(message) = entry.message() {
            println!("{}: {}", message.role(), message.text());
        }
    }
    println!("saved in {}", session.session_file().ok_or("the session has no file")?.display());
    Ok(())
}
