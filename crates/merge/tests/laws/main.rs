//! The laws of merging, on random copies.
//!
//! `SESSILE_MERGE_CASES` sets the number of cases of each law and `SESSILE_SEED` the first seed:
//!
//! ```console
//! $ SESSILE_MERGE_CASES=10000 cargo test --release -p sessile-merge --test laws
//! ```

#![expect(clippy::disallowed_methods, reason = "tests access the environment directly")]
#![expect(clippy::unwrap_used, clippy::string_slice, reason = "tests panic on failure")]
#![expect(clippy::format_collect, clippy::format_push_string, reason = "tests make short texts")]
#![expect(clippy::print_stderr, reason = "tests say what failed")]

mod absorbing;
mod collisions;
mod contexts;
mod generate;
mod naive;
mod parts;
mod rules;
mod torn;
mod unions;
mod upgraded;

use sessile_merge::{Bytes, MergeOptions, Merger};

use generate::{Nature, Random};

/// The canonical merge of copies, by ids alone: random copies begin alike by chance.
pub(crate) fn merged<T: AsRef<str>>(copies: &[T]) -> String {
    merged_with(copies, MergeOptions { align: false })
}

/// The canonical merge of copies.
pub(crate) fn merged_with<T: AsRef<str>>(copies: &[T], options: MergeOptions) -> String {
    let copies: Vec<Bytes<'_>> = copies.iter().map(|copy| Bytes(copy.as_ref().as_bytes())).collect();
    let merger = Merger::read(&copies, options).unwrap();
    let mut out = Vec::new();
    merger
        .canonical()
        .write(&mut |line| {
            out.extend_from_slice(line);
            Ok(())
        })
        .unwrap();
    String::from_utf8(out).unwrap()
}

/// Runs a law on random copies.
pub(crate) fn for_all(nature: Nature, percent: u64, law: &dyn Fn(&mut Random, &[String])) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let n_cases = (number("SESSILE_MERGE_CASES", 200) * percent).div_ceil(100);
    let first = number("SESSILE_SEED", 1);
    for seed in first..first + n_cases {
        let mut random = Random::new(seed);
        let copies = generate::copies(&mut random, nature);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| law(&mut random, &copies)));
        if let Err(failure) = result {
            eprintln!("seed {seed}, copies:\n{}", copies.join("\n"));
            std::panic::resume_unwind(failure);
        }
    }
}
