//! Tries something else from an earlier entry, and compares the two branches. Nothing is written to a disk.
//!
//! ```text
//! cargo run -p sessile --example fork_and_compare
//! ```
#![expect(clippy::print_stdout, reason = "a standalone program")]

use std::error::Error;

use sessile::branch::ForkPosition;
use sessile::compare::{Comparison, Side};
use sessile::{Cancel, SessionManager};

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = SessionManager::in_memory("/example/tides");
    let question = session.append_user_message("Why is high water early?")?;
    session.append_assistant_message("example", "one", "Because of the moon.")?;
    let first = session.leaf_id().ok_or("the session is empty")?;

    // Back to the question: the next entry begins a second branch. The first one stays.
    session.branch(question.clone())?;
    session.append_assistant_message("example", "two", "Because of the wind.")?;
    let second = session.leaf_id().ok_or("the session is empty")?;
    println!("the branches part at {:?}", session.merge_base(&first, &second)? == Some(question.clone()));

    let (left, right) = (session.path_to(&first)?, session.path_to(&second)?);
    let side = |path| Side { session: &session, path };
    let comparison = Comparison::new(side(&left), side(&right), &Cancel::default())?;
    let (only_left, only_right, changed) = comparison.counts();
    println!("{} common, {only_left} only left, {only_right} only right, {changed} changed", comparison.n_common);

    // A fork is a separate session, with the path to an entry. This one may continue differently.
    session.fork(second, ForkPosition::At)?;
    session.append_user_message("How strong was it?")?;
    println!("{} messages in the fork", session.build_session_context()?.messages.len());
    Ok(())
}
