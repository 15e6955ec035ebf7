//! The options of a comparison.

use std::path::PathBuf;

/// The usage text.
pub const USAGE: &str = "\
usage: compare [--small] [--rows ID,…] [--rounds N] [--scale X] [--corpus DIR] [--json FILE] [--write-docs DIR] [--strict]

  --small           on a few megabytes, one round, without judging times: only whether answers agree
  --rows ID,…       these rows alone; `growth` and `caches` are rows, too; `node-*` means all that begin with `node-`
  --rounds N        fresh processes per contestant (9; pi gets 3 where it takes longer than 10 s)
  --scale X         how much larger than usual the files are (1)
  --corpus DIR      where the made-up sessions are kept between runs
  --json FILE       write the figures there as well
  --write-docs DIR  write tables and plot into performance.md and performance.svg there; a table without rows stays
  --strict          fail if a demand is missed, not only if an answer differs";

/// The chosen options.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) is_small: bool,
    pub(super) rows: Vec<String>,
    pub(super) chosen_rounds: Option<usize>,
    pub(super) scale: f64,
    pub(super) corpus: PathBuf,
    pub(super) json: Option<PathBuf>,
    pub(super) docs: Option<PathBuf>,
    /// Whether a missed demand is a failure.
    pub is_strict: bool,
}

impl Options {
    /// Parses arguments; returns `None` if they are invalid.
    pub fn read(args: impl IntoIterator<Item = String>, corpus: PathBuf) -> Option<Self> {
        let mut options = Self {
            is_small: false,
            rows: Vec::new(),
            chosen_rounds: None,
            scale: 1.0,
            corpus,
            json: None,
            docs: None,
            is_strict: false,
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--small" => options.is_small = true,
                "--strict" => options.is_strict = true,
                "--rows" => options.rows.extend(args.next()?.split(',').map(str::to_owned)),
                "--rounds" => options.chosen_rounds = Some(args.next()?.parse().ok().filter(|rounds| *rounds > 0)?),
                "--scale" => options.scale = args.next()?.parse().ok().filter(|scale| *scale > 0.0)?,
                "--corpus" => options.corpus = args.next()?.into(),
                "--json" => options.json = Some(args.next()?.into()),
                "--write-docs" => options.docs = Some(args.next()?.into()),
                _ => return None,
            }
        }
        Some(options)
    }

    pub(super) fn rounds(&self) -> usize {
        self.chosen_rounds.unwrap_or(if self.is_small { 1 } else { 9 })
    }
}

/// Whether an argument of `--rows` means a row.
pub(super) fn is_meant(wanted: &str, id: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == id, |start| id.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Option<Options> {
        Options::read(words.split_whitespace().map(str::to_owned), "corpus".into())
    }

    #[test]
    fn a_star_means_all_rows_with_a_beginning() {
        assert!(is_meant("node-*", "node-list-all") && is_meant("tree", "tree"));
        assert!(!is_meant("node-*", "tree") && !is_meant("node-", "node-list-all"));
    }

    #[test]
    fn arguments_are_understood() {
        let options = read("--rows tree,open --rounds 3 --corpus x --strict").unwrap();
        assert_eq!((options.rows.join(" ").as_str(), options.rounds(), options.is_strict), ("tree open", 3, true));
        assert_eq!((options.corpus, read("").unwrap().rounds()), ("x".into(), 9));
        assert_eq!(read("--small").unwrap().rounds(), 1);
        for wrong in ["--rounds", "--rounds 0", "--scale none", "more"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
