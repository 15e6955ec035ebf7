//! Kills an update at random moments.

use std::path::Path;
use std::time::Duration;

use crate::Failure;
use crate::child::{answers, command, worker};
use crate::figures::Random;
use crate::worker::{Answers, Built};

/// How often an update is killed.
pub const KILLS: usize = 20;

/// What was found after the kills.
#[derive(Debug, Default)]
pub struct Crashes {
    /// How often all answers were right at once.
    pub right_at_once: usize,
    /// How often the index could be opened, but lacked entries.
    pub incomplete: usize,
    /// How often it could not be opened or asked.
    pub unusable: usize,
    /// How often all answers were right after another update.
    pub right_later: usize,
}

/// Kills updates of an index, each from its beginning, between the start and the usual end.
pub fn crash(
    engine: &str,
    folder: &Path,
    store: &Path,
    queries: &Path,
    expected: &Answers,
    usual_ms: f64,
) -> Result<Crashes, Failure> {
    let mut random = Random::new(7);
    let mut crashes = Crashes::default();
    let index = folder.join("crashed");
    for kill in 0..KILLS {
        if index.exists() {
            std::fs::remove_dir_all(&index)?;
        }
        let mut child = command(engine, "build", &[&index, store]).stdout(std::process::Stdio::null()).spawn()?;
        // One moment in each twentieth of the time.
        let part = (kill as f64 + random.below(1000) as f64 / 1000.0) / KILLS as f64;
        std::thread::sleep(Duration::from_secs_f64(usual_ms / 1e3 * part));
        child.kill()?;
        child.wait()?;
        match answers(engine, &index, store, queries) {
            Ok(found) if found == *expected => crashes.right_at_once += 1,
            Ok(found) if found.iter().all(Result::is_ok) => crashes.incomplete += 1,
            Ok(_) | Err(_) => crashes.unusable += 1,
        }
        let updated = worker::<Built>(engine, "build", &[&index, store]);
        if updated.is_ok()
            && answers(engine, &index, store, queries).is_ok_and(|found| counts(&found) == counts(expected))
        {
            crashes.right_later += 1;
        }
    }
    std::fs::remove_dir_all(&index)?;
    Ok(crashes)
}

/// Statistics of an index that grew in other steps may rank hits in another order, so only the numbers count.
fn counts(answers: &Answers) -> Vec<Option<usize>> {
    answers.iter().map(|answer| answer.as_ref().ok().map(|(count, _)| *count)).collect()
}
