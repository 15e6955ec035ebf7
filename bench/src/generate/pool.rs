//! Pools of text: long runs of made-up prose, code, logs and diffs to cut pieces from.
//!
//! A pool holds text as it is spelled inside a JSON string, and the offsets where it may be cut. A piece is a slice, so
//! gigabytes cost little more than copying them.

use super::needle::COMMON_PHRASE;
use super::random::Random;
use super::vocabulary::{FOREIGN, Vocabulary};

const POOL_BYTES: usize = 4 << 20;

/// Text inside a JSON string, with the offsets at which a word or a line ends.
#[derive(Debug, Default)]
pub(super) struct Pool {
    escaped: Vec<u8>,
    cuts: Vec<usize>,
}

impl Pool {
    fn fill(seed: u64, name: &str, mut make: impl FnMut(&mut Random) -> Vec<String>) -> Self {
        let mut random = Random::new(seed, name, 0);
        let mut pool = Self { escaped: Vec::with_capacity(POOL_BYTES + (1 << 10)), cuts: vec![0] };
        while pool.escaped.len() < POOL_BYTES {
            for part in make(&mut random) {
                escape(&part, &mut pool.escaped);
                pool.cuts.push(pool.escaped.len());
            }
        }
        pool
    }

    /// Returns about `length` bytes from a random position.
    pub(super) fn piece(&self, random: &mut Random, length: usize) -> &[u8] {
        let length = length.min(self.escaped.len() / 2);
        let last_start = self.cuts.partition_point(|cut| cut + length <= self.escaped.len());
        let start = self.cuts[random.below(last_start)];
        let end = self.cuts[self.cuts.partition_point(|cut| *cut < start + length)];
        &self.escaped[start..end]
    }
}

/// All pools.
#[derive(Debug)]
pub(super) struct Pools {
    pub(super) vocabulary: Vocabulary,
    pub(super) prose: Pool,
    pub(super) code: Pool,
    pub(super) output: Pool,
    pub(super) diff: Pool,
    /// Characters of pictures and signatures, which may be cut anywhere.
    pub(super) base64: Vec<u8>,
}

impl Pools {
    pub(super) fn new(seed: u64) -> Self {
        let vocabulary = Vocabulary::new(seed);
        let prose = Pool::fill(seed, "prose", |random| sentence(&vocabulary, random));
        let code = Pool::fill(seed, "code", |random| vec![indented(random) + &statement(&vocabulary, random) + "\n"]);
        let output = Pool::fill(seed, "output", |random| vec![log_line(&vocabulary, random)]);
        let mut number = 0;
        let diff = Pool::fill(seed, "diff", |random| {
            number = number % 3_000 + 1;
            let mark = *random.pick(&[" ", " ", "+", "-"]);
            vec![format!("{mark}{number:>5} {}{}\n", indented(random), statement(&vocabulary, random))]
        });
        Self { vocabulary, prose, code, output, diff, base64: base64(seed) }
    }

    /// Returns `length` characters of base64, rounded up to a multiple of four.
    pub(super) fn base64_piece(&self, random: &mut Random, length: usize) -> &[u8] {
        let length = length.min(self.base64.len() / 2).div_ceil(4) * 4;
        let start = random.below(self.base64.len() - length);
        &self.base64[start..start + length]
    }
}

fn base64(seed: u64) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut random = Random::new(seed, "base64", 0);
    (0..POOL_BYTES).map(|_| *random.pick(DIGITS)).collect()
}

/// Returns a sentence word by word, so that it can be cut after any of them.
fn sentence(vocabulary: &Vocabulary, random: &mut Random) -> Vec<String> {
    if random.chance(0.004) {
        return vec![format!("So {COMMON_PHRASE}. ")];
    }
    let mut parts: Vec<String> = (0..random.between(4, 16)).map(|_| format!("{} ", vocabulary.word(random))).collect();
    match random.below(200) {
        0 if random.chance(0.6) => parts.push((*random.pick(&FOREIGN)).to_owned()),
        1..=8 => parts.push(format!("\"{}\"", vocabulary.word(random))),
        9..=36 => parts.push(format!("`{}`", vocabulary.identifier(random))),
        _ => parts.push(vocabulary.word(random).to_owned()),
    }
    parts.push((*random.pick(&[". ", ". ", ". ", ".\n", ".\n\n", ":\n- ", "? "])).to_owned());
    parts
}

fn indented(random: &mut Random) -> String {
    let depth = random.below(4).min(random.below(6));
    if random.chance(0.5) { "\t".repeat(depth) } else { "    ".repeat(depth) }
}

fn statement(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let (one, other) = (vocabulary.identifier(random), vocabulary.identifier(random));
    let word = vocabulary.word(random);
    match random.below(24) {
        0..=3 => "}".to_owned(),
        4..=5 => String::new(),
        6 => format!("let {one} = {other}(\"{word}\", {})?;", random.below(5_000)),
        7 => format!("// {word} {} {}", vocabulary.word(random), vocabulary.word(random)),
        8 => format!("if {one}.{word}() > {} && !{other} {{", random.below(1_000)),
        9 => format!("pub fn {one}({word}: &str) -> Result<{other}> {{"),
        10 => format!("assert_eq!({one}, \"{word}\\n\");"),
        11 => format!("println!(\"{} {{{one}}}\", {other});", if random.chance(0.1) { "✓" } else { word }),
        12..=14 => format!("self.{one}.{word}({other});"),
        15 => format!("use crate::{word}::{{{one}, {other}}};"),
        16..=18 => format!("{one}: {other},"),
        _ => format!("{one}({other});"),
    }
}

fn log_line(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let word = vocabulary.word(random);
    match random.below(40) {
        0..=15 => {
            format!("{}:{}: {}\n", vocabulary.file(random), random.between(1, 2_400), statement(vocabulary, random))
        }
        16 => format!("\u{1b}[32mok\u{1b}[0m {word}::{} ({} ms)\n", vocabulary.identifier(random), random.below(900)),
        17 if random.chance(0.4) => format!("  {} {word} took {} ms\n", random.pick(&FOREIGN), random.below(9_000)),
        18..=29 => format!(
            "-rw-r--r-- 1 dev dev {:>7} Mar {:>2} 1{}:0{} {}\n",
            random.below(1_000_000),
            random.between(1, 28),
            random.below(10),
            random.below(10),
            vocabulary.file(random)
        ),
        _ => format!("{:07x} {word} {} {}\n", random.below(1 << 28), vocabulary.word(random), vocabulary.word(random)),
    }
}

/// Escapes text as JavaScript spells it inside a JSON string.
pub(super) fn escape(text: &str, out: &mut Vec<u8>) {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    sessile::json::write_string(text, &mut quoted);
    out.extend_from_slice(&quoted[1..quoted.len() - 1]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_and_about_as_long_as_asked() {
        let pools = Pools::new(7);
        let mut random = Random::new(7, "pieces", 0);
        for pool in [&pools.prose, &pools.code, &pools.output, &pools.diff] {
            for length in [1, 20, 500, 60_000, 600_000] {
                let piece = pool.piece(&mut random, length);
                assert!(piece.len() >= length && piece.len() < length + 400, "{} for {length}", piece.len());
                let quoted = [b"\"", piece, b"\""].concat();
                sessile::json::Json::parse(&quoted).unwrap();
            }
        }
        assert_eq!(pools.base64_piece(&mut random, 10).len(), 12);
    }
}
