//! Adding to the text index of a store, entry by entry.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use sessile::Sessions;
use sessile::search::{IndexOptions, SearchScope};

use super::{message, timed};

/// The number of entries added one by one.
const N_ENTRIES: usize = 200;

const CWD: &str = "/proj/appending";

fn update(scope: &SearchScope) {
    Sessions::default().update_text_index(scope, &IndexOptions::default()).unwrap();
}

/// Appends entries to a session of the store, and adds each of them to the index.
///
/// The session is removed again, so that the store is unchanged.
pub(super) fn append() -> Value {
    update(&SearchScope::default());
    // As an agent does, which knows where it has written.
    let own = SearchScope::Cwd(PathBuf::from(CWD));
    let mut session = Sessions::default().create(CWD).unwrap();
    let (mut updates, mut appends): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for index in 0..N_ENTRIES {
        let start = Instant::now();
        session.append_message(message(index, 2_048)).unwrap();
        appends.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        update(&own);
        updates.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let folder = session.session_dir().unwrap().to_path_buf();
    drop(session);
    std::fs::remove_dir_all(folder).unwrap();
    updates.sort_by(f64::total_cmp);
    appends.sort_by(f64::total_cmp);
    let figures = json!({ "worst_ms": updates[N_ENTRIES - 1], "append_ms": appends[N_ENTRIES / 2] });
    let mut report = timed(|| (), |(), _| figures);
    report["ms"] = updates[N_ENTRIES / 2].into();
    report
}
