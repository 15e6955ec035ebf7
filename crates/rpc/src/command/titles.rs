//! Titles for the sessions that clients write, if the user wants them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sessile::EntryId;
use sessile::threads;
use sessile::title::{DueTitle, Titler};

use super::Call;
use super::state::report_name;
use crate::client::Client;
use crate::options::AutoTitler;
use crate::session::{ExpectedLeaf, OpenSession};

/// Gives a session a title if it is to get one after this answer. Returns the new leaf if it got one.
///
/// The answer is stored, whatever becomes of the title. A model takes seconds, so it is asked on a thread of its own.
pub(crate) fn after_answer(call: &Call<'_>, session: &Arc<OpenSession>) -> Option<EntryId> {
    let titler = call.server().options.auto_titler.clone()?;
    let due = session.lock().due_title().ok()??;
    match titler {
        AutoTitler::Rule => give(call.client, session, &due, Titler::Rule),
        AutoTitler::Model(ask) => {
            let client = call.client.shared()?;
            if !session.is_being_titled.swap(true, Ordering::Relaxed) {
                let (own, shared) = (Arc::clone(session), Arc::clone(session));
                let work = move || {
                    give(&client, &own, &due, Titler::Model(ask.as_ref()));
                    own.is_being_titled.store(false, Ordering::Relaxed);
                };
                if threads::spawn("title", work).is_err() {
                    shared.is_being_titled.store(false, Ordering::Relaxed);
                }
            }
            None
        }
    }
}

/// Makes and appends a title, and notifies the clients. A session without a title is not an error.
fn give(client: &Client, session: &Arc<OpenSession>, due: &DueTitle, titler: Titler<'_>) -> Option<EntryId> {
    let (title, by) = client.server.options.sessions.make_due_title(due, titler).ok()??;
    let append = |manager: &mut sessile::SessionManager| manager.append_due_title(due, &title, by);
    let written = session.write(&ExpectedLeaf::Anything, append).ok()?;
    if !written.value {
        return None;
    }
    report_name(client, session, Some(&title));
    written.leaf
}
