//! Flips a byte of an index file, and asks.

use std::path::Path;

use crate::Failure;
use crate::child::{CRASHED, answers};
use crate::figures::{Random, copy, files_of};
use crate::worker::Answers;

/// How many bytes are flipped in all, one at a time; in each file at least one.
const FLIPS: usize = 60;

/// What became of the answers.
#[derive(Debug, Default)]
pub struct Damages {
    pub n_files: usize,
    pub n_flips: usize,
    /// All answers were right.
    pub right: usize,
    /// At least one query failed with an error, and no answer was wrong.
    pub reported: usize,
    /// At least one answer was wrong, and nothing said so.
    pub wrong: usize,
    /// The process panicked, or a signal ended it.
    pub crashed: usize,
}

/// Flips bytes all over an index.
pub fn damage(
    engine: &str,
    folder: &Path,
    index: &Path,
    store: &Path,
    queries: &Path,
    expected: &Answers,
) -> Result<Damages, Failure> {
    let mut random = Random::new(11);
    let damaged = folder.join("damaged");
    let mut files = files_of(index)?;
    files.retain(|path| path.metadata().is_ok_and(|meta| meta.len() > 0));
    let mut damages = Damages { n_files: files.len(), ..Damages::default() };
    for file in &files {
        for _ in 0..FLIPS.div_ceil(files.len()) {
            copy(index, &damaged)?;
            let path = damaged.join(file.strip_prefix(index)?);
            let mut bytes = std::fs::read(&path)?;
            let offset = usize::try_from(random.below(bytes.len() as u64))?;
            bytes[offset] ^= 1 << random.below(8);
            std::fs::write(&path, &bytes)?;
            damages.n_flips += 1;
            match answers(engine, &damaged, store, queries) {
                Ok(found) if found == *expected => damages.right += 1,
                Ok(found) => {
                    let is_wrong = |(found, expected): (&_, &_)| found != expected && Result::is_ok(found);
                    let any_wrong = found.iter().zip(expected).any(is_wrong);
                    *(if any_wrong { &mut damages.wrong } else { &mut damages.reported }) += 1;
                }
                Err(error) if error.to_string().starts_with(CRASHED) => damages.crashed += 1,
                Err(_) => damages.reported += 1,
            }
        }
    }
    std::fs::remove_dir_all(&damaged)?;
    Ok(damages)
}
