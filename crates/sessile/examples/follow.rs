//! Follows a session while another program appends to it.
//!
//! ```text
//! cargo run -p sessile --example follow -- FILE [SECONDS]
//! ```
//!
//! Prints every complete entry once, in file order, and ends after the given number of seconds without a new one.
#![expect(clippy::print_stdout, reason = "a standalone program")]

use std::error::Error;
use std::time::Duration;

use sessile::Sessions;
use sessile::entry::Entry;
use sessile::follow::{FollowEvent, FollowOptions};
use sessile::message::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: follow FILE [SECONDS]")?;
    let seconds = args.next().map_or(Ok(10), |text| text.parse())?;

    let mut follower = Sessions::default().follow(file, FollowOptions::default())?;
    while let Some(event) = follower.next(Duration::from_secs(seconds))? {
        match event {
            FollowEvent::Header(header) => println!("session {}", header.id()),
            FollowEvent::Entry { entry, line, .. } => {
                let entry = Entry::new(entry);
                let text = entry.message().map_or_else(|| format!("{:?}", entry.kind()), Message::text);
                // Untrusted text must not reach a terminal raw: `{:?}` escapes control characters.
                println!("line {line}: {text:?}");
            }
            FollowEvent::Skipped(diagnostic) => println!("skipped: {diagnostic}"),
            // The file was replaced or truncated. Its entries follow again from the beginning.
            FollowEvent::Restarted { reason } => println!("restarted: {reason:?}"),
            FollowEvent::Gone => println!("the file is gone"),
        }
    }
    Ok(())
}
