//! Searches the text of all sessions in a directory.
//!
//! ```text
//! cargo run -p sessile --example search -- DIRECTORY 'high water role:user'
//! ```
#![expect(clippy::print_stdout, reason = "a standalone program")]

use std::error::Error;

use sessile::Sessions;
use sessile::search::{SearchOptions, SearchScope};
use sessile::text::query::Query;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(directory), Some(query)) = (args.next(), args.next()) else {
        return Err("usage: search DIRECTORY QUERY".into());
    };
    let sessions = Sessions::default().with_session_dir(&directory);
    let options = SearchOptions { scope: SearchScope::All, limit: 10, ..SearchOptions::default() };
    // The index is a cache: it is created or updated here, and an answer never depends on it.
    let found = sessions.search(&Query::parse(&query)?, &options)?;
    for hit in &found.hits {
        let session = hit.session_path.file_name().unwrap_or_default().to_string_lossy();
        println!("{session} {:.2} {:?}", hit.score, hit.excerpt.text);
    }
    println!("{} hits", found.hits.len());
    Ok(())
}
