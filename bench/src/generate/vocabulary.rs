//! Made-up words and names.

use std::collections::HashSet;

use super::random::Random;

/// Words common in prose and code of any project; the most common first.
const COMMON: &str = "the to a of and is in it that for with on this be as not are we so can if when by from or \
    file test session error value line function return type name path entry state read write build change check list \
    open close cache parent first last index every message branch tree leaf token model user agent tool result output \
    input option default config server client request reply event queue buffer stream string number map set key id \
    hash lock guard log record table column field query search match range limit count total offset length start end \
    next previous left right update remove insert replace rename move copy merge commit review release version patch \
    fix bug crash panic trace stack frame thread task worker pool signal timeout retry wait poll sync async future";

const ONSETS: [&str; 20] =
    ["b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gl", "k", "l", "m", "n", "p", "qu", "s", "sk", "t", "v"];
const NUCLEI: [&str; 8] = ["a", "e", "i", "o", "u", "ae", "io", "oo"];
const CODAS: [&str; 8] = ["", "", "l", "m", "nd", "r", "sk", "x"];

const N_WORDS: usize = 14_000;

/// A few words in other scripts, as in identifiers and prose of real sessions.
pub(super) const FOREIGN: [&str; 12] = [
    "設定ファイルを読む",
    "测试全部通过",
    "오류를 고쳤다",
    "проверка",
    "größer",
    "naïve",
    "🌊",
    "👩‍💻",
    "→",
    "“so”",
    "…",
    "✓",
];

/// The words of a corpus.
#[derive(Debug)]
pub(super) struct Vocabulary(Vec<String>);

impl Vocabulary {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, "vocabulary", 0);
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        let mut known: HashSet<String> = words.iter().cloned().collect();
        while words.len() < N_WORDS {
            let mut word = String::new();
            for _ in 0..random.between(1, 3) {
                word += *random.pick(&ONSETS);
                word += *random.pick(&NUCLEI);
            }
            word += *random.pick(&CODAS);
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        Self(words)
    }

    /// Returns a word; the tenth is about a tenth as common as the first.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small numbers"
    )]
    pub(super) fn word(&self, random: &mut Random) -> &str {
        let rank = (self.0.len() as f64).powf(random.unit()) as usize;
        &self.0[rank.clamp(1, self.0.len()) - 1]
    }

    /// Returns a name as in code: `parseGlio`, `glio_token_set`.
    pub(super) fn identifier(&self, random: &mut Random) -> String {
        let n_more = random.between(1, 2);
        let is_snake = random.chance(0.4);
        let mut name = self.word(random).to_owned();
        for _ in 0..n_more {
            let word = self.word(random);
            if is_snake {
                name.push('_');
                name.push_str(word);
            } else {
                let mut letters = word.chars();
                name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
                name.push_str(letters.as_str());
            }
        }
        name
    }

    /// Returns a file of a project.
    pub(super) fn file(&self, random: &mut Random) -> String {
        let extension = *random.pick(&["rs", "ts", "py", "md", "toml"]);
        let (folder, part) = (self.word(random).to_owned(), self.word(random).to_owned());
        format!("{folder}/src/{part}/{}.{extension}", self.identifier(random))
    }
}
