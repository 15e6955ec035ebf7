//! Caches may be deleted, cut or damaged at any time without changing any answer.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::process::Job;
use super::{Bench, Failure, failed};

/// A way to damage a cache file.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Delete,
    Cut,
    Flip,
    Empty,
}

/// The result of damaging caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Harmed {
    /// How many times a file was damaged. Zero would prove nothing.
    pub(super) n_harmed: usize,
    pub(super) answers_agree: bool,
}

/// Runs all queries with intact caches, with damaged ones, and without, and compares the answers.
pub(super) fn check(bench: &Bench) -> Result<Harmed, Failure> {
    let store = bench.corpus.make_named("store-s")?;
    let session = bench.corpus.make_named("small")?;
    let cache = bench.cache("harmed");
    let sessile =
        |args: &[&str]| bench.tools.sessile(&cache).args(args.iter().copied()).env("PI_CODING_AGENT_DIR", &store.path);
    let mut questions: Vec<Job<'_>> = vec![
        sessile(&["list", "--all", "--json"]),
        sessile(&["context", "--json"]).arg(&session.path),
        sessile(&["tree", "--json", "--flat"]).arg(&session.path),
    ];
    if sessile(&["search", "--help"]).works() {
        sessile(&["search", "--all", "--update"]).whole()?;
        questions.push(sessile(&["search", "--all", "--sessions", crate::generate::WORD]));
    }
    let ask = || questions.iter().map(|job| Ok(job.whole()?.1)).collect::<Result<Vec<String>, Failure>>();
    let expected = ask()?;
    let mut n_harmed = 0;
    for harm in [Harm::Flip, Harm::Cut, Harm::Empty, Harm::Delete] {
        for file in files_below(&cache) {
            apply(harm, &file).map_err(failed(format_args!("harm {}", file.display())))?;
            n_harmed += 1;
        }
        // Once to notice the damage, and once to use the rebuilt cache.
        if ask()? != expected || ask()? != expected {
            return Ok(Harmed { n_harmed, answers_agree: false });
        }
    }
    Ok(Harmed { n_harmed, answers_agree: true })
}

fn apply(harm: Harm, path: &Path) -> std::io::Result<()> {
    match harm {
        Harm::Delete => fs::remove_file(path),
        Harm::Empty => File::options().write(true).open(path)?.set_len(0),
        Harm::Cut => {
            let file = File::options().write(true).open(path)?;
            file.set_len(file.metadata()?.len() / 2)
        }
        Harm::Flip => {
            let mut file = File::options().read(true).write(true).open(path)?;
            let middle = file.metadata()?.len() / 2;
            let mut byte = [0];
            file.seek(SeekFrom::Start(middle))?;
            if file.read(&mut byte)? == 1 {
                file.seek(SeekFrom::Start(middle))?;
                file.write_all(&[!byte[0]])?;
            }
            Ok(())
        }
    }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}
