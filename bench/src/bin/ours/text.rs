//! Building the text index of a store, and adding to it.
//!
//! The one place that knows how the library is asked to do so.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use sessile::{NewSession, Sessions};

use super::{message, timed};

/// How many entries are added one by one.
const N_ENTRIES: usize = 200;

/// Brings the text index up to date, and says how much text it had to read for that.
fn update() -> u64 {
    Sessions::default().update_text_index().unwrap().text_bytes
}

/// Builds the index of everything.
#[expect(clippy::cast_precision_loss, reason = "figures")]
pub(super) fn build() -> Value {
    let mut told = timed(update, |text_bytes, _| json!({ "text_bytes": text_bytes }));
    let text_bytes = told["text_bytes"].as_f64().unwrap_or_default();
    let cache = std::env::var_os("SESSILE_CACHE_DIR").map(PathBuf::from).unwrap_or_default();
    told["mb_of_text_per_s"] = (text_bytes / 1e3 / told["ms"].as_f64().unwrap_or(f64::NAN)).into();
    told["index_per_text"] = (bytes_below(&cache) as f64 / text_bytes).into();
    told
}

fn bytes_below(path: &Path) -> u64 {
    match path.read_dir() {
        Ok(entries) => entries.flatten().map(|entry| bytes_below(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |file| file.len()),
    }
}

/// Adds entries to a session of the store, and each of them to the index.
///
/// The session is taken away again, so that the store stays as it was.
pub(super) fn append() -> Value {
    update();
    let mut session = Sessions::default().create("/proj/appending", None, NewSession::default()).unwrap();
    let (mut all, mut appends): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for index in 0..N_ENTRIES {
        let start = Instant::now();
        session.append_message(message(index, 2_048)).unwrap();
        appends.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        update();
        all.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let folder = session.session_dir().unwrap().to_path_buf();
    drop(session);
    std::fs::remove_dir_all(folder).unwrap();
    all.sort_by(f64::total_cmp);
    appends.sort_by(f64::total_cmp);
    let mut told = timed(|| (), |(), _| json!({ "worst_ms": all[N_ENTRIES - 1], "append_ms": appends[N_ENTRIES / 2] }));
    told["ms"] = all[N_ENTRIES / 2].into();
    told
}
