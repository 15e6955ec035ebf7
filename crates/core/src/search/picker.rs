//! pi's search for sessions in a list: its query grammar and its scores.
//!
//! Unlike [`query`](super::query), which searches entries, this searches the rows of a list: name, id, working
//! directory and the text of all messages. Lower scores are better.

use super::pattern::Pattern;
use super::query::words;
use crate::line::is_js_space;

/// The searchable fields of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row<'r> {
    /// The session's name, or empty.
    pub name: &'r str,
    /// Its id.
    pub id: &'r str,
    /// The text of its messages.
    pub text: &'r str,
    /// Its working directory.
    pub cwd: &'r str,
}

/// A query typed into the picker.
#[derive(Clone, Debug)]
pub struct PickerQuery(QueryKind);

#[derive(Clone, Debug)]
enum QueryKind {
    /// An empty query: every row matches.
    Anything,
    /// An empty or invalid regular expression: no row matches.
    Nothing,
    Pattern(Pattern),
    /// All of these must match.
    Tokens(Vec<Token>),
}

#[derive(Clone, Debug)]
enum Token {
    /// Occurs anywhere, or as a subsequence of the name or the working directory.
    Fuzzy(String),
    /// Occurs literally, except for white space and case.
    Phrase(String),
}

/// The penalty of a match in another field than the name.
const TIER: f64 = 1_000_000.0;

impl PickerQuery {
    /// Parses a query.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self(QueryKind::Anything);
        }
        if let Some(pattern) = text.strip_prefix("re:") {
            let pattern = pattern.trim();
            let pattern = if pattern.is_empty() { None } else { Pattern::new(pattern).ok() };
            return Self(pattern.map_or(QueryKind::Nothing, QueryKind::Pattern));
        }
        let token = |word: super::query::Word| {
            if word.is_quoted { Token::Phrase(normal(&word.text)) } else { Token::Fuzzy(word.text.to_lowercase()) }
        };
        Self(QueryKind::Tokens(words(text).into_iter().map(token).collect()))
    }

    /// The score of a row; `None` if it does not match.
    pub fn score(&self, row: &Row<'_>) -> Option<f64> {
        match &self.0 {
            QueryKind::Anything => Some(0.0),
            QueryKind::Nothing => None,
            QueryKind::Pattern(pattern) => {
                let is_elsewhere = || [row.id, row.text, row.cwd].iter().any(|field| pattern.is_match(field));
                if pattern.is_match(row.name) { Some(0.0) } else { is_elsewhere().then_some(TIER) }
            }
            QueryKind::Tokens(tokens) => {
                let row = Lowered::new(row);
                tokens.iter().try_fold(0.0, |sum, token| Some(sum + token.score(&row)?))
            }
        }
    }
}

/// A row in lower case.
struct Lowered {
    name: String,
    id: String,
    text: String,
    cwd: String,
}

impl Lowered {
    fn new(row: &Row<'_>) -> Self {
        let [name, id, text, cwd] = [row.name, row.id, row.text, row.cwd].map(str::to_lowercase);
        Self { name, id, text, cwd }
    }
}

impl Token {
    fn score(&self, row: &Lowered) -> Option<f64> {
        match self {
            Self::Fuzzy(token) => {
                if row.name.contains(token) {
                    return Some(fuzzy_score(token, &row.name).unwrap_or(0.0));
                }
                if [&row.id, &row.text, &row.cwd].iter().any(|field| field.contains(token)) {
                    return Some(TIER);
                }
                let best = [&row.name, &row.cwd].into_iter().filter_map(|field| fuzzy_score(token, field));
                best.min_by(f64::total_cmp).map(|score| 2.0 * TIER + score)
            }
            Self::Phrase(phrase) => {
                let name = normal(&row.name);
                if name.contains(phrase) {
                    return Some(fuzzy_score(phrase, &name).unwrap_or(0.0));
                }
                let is_elsewhere = [&row.id, &row.text, &row.cwd].iter().any(|field| normal(field).contains(phrase));
                is_elsewhere.then_some(TIER)
            }
        }
    }
}

/// Lower case, with white space collapsed to single spaces.
fn normal(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// pi's score of a query as a subsequence of a text; `None` if it is not one.
///
/// Both are compared in lower case. If the query consists of letters and then digits, or digits and then letters, and
/// does not match, the two parts are swapped and tried again.
pub fn fuzzy_score(query: &str, text: &str) -> Option<f64> {
    let (query, text) = (query.to_lowercase(), text.to_lowercase());
    // JavaScript counts UTF-16 units.
    let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    let text = units(&text);
    score_of(&units(&query), &text).or_else(|| score_of(&units(&swapped(&query)?), &text).map(|score| score + 5.0))
}

fn score_of(query: &[u16], text: &[u16]) -> Option<f64> {
    if query.is_empty() {
        return Some(0.0);
    }
    let mut best = score_at(&greedy(query, text)?, text);
    for start in 0..=text.len().saturating_sub(query.len()) {
        if text[start..].starts_with(query) {
            let positions: Vec<usize> = (start..start + query.len()).collect();
            best = best.min(score_at(&positions, text));
        }
    }
    Some(if query == text { best - 100.0 } else { best })
}

/// The positions of the letters if each is matched as early as possible.
fn greedy(query: &[u16], text: &[u16]) -> Option<Vec<usize>> {
    let mut at = 0;
    let mut positions = Vec::with_capacity(query.len());
    for wanted in query {
        at += text[at..].iter().position(|char| char == wanted)?;
        positions.push(at);
        at += 1;
    }
    Some(positions)
}

fn score_at(positions: &[usize], text: &[u16]) -> f64 {
    let mut score = 0.0;
    let mut run = 0.0;
    let mut before: Option<usize> = None;
    for &at in positions {
        #[expect(clippy::cast_precision_loss, reason = "lists have no texts of 2^52 characters")]
        let (index, gap) = (at as f64, before.map_or(0, |before| at - before - 1) as f64);
        // The beginning of the text counts as a continued run.
        if before.map_or(at == 0, |before| before + 1 == at) {
            run += 1.0;
            score -= 5.0 * run;
        } else {
            run = 0.0;
            score += 2.0 * gap;
        }
        if at == 0 || text.get(at - 1).is_some_and(|unit| is_boundary(*unit)) {
            score -= 10.0;
        }
        score += 0.1 * index;
        before = Some(at);
    }
    score
}

fn is_boundary(unit: u16) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(|char| is_js_space(char) || "-_./:".contains(char))
}

/// Swaps `abc12` to `12abc` and the reverse; `None` for other queries.
fn swapped(query: &str) -> Option<String> {
    let is_letter = |char: char| char.is_ascii_lowercase();
    let is_digit = |char: char| char.is_ascii_digit();
    let first = query.chars().next()?;
    let cut = if is_letter(first) { query.find(is_digit) } else { query.find(is_letter) }?;
    let (before, after) = query.split_at_checked(cut)?;
    let is_pure = |text: &str| text.chars().all(is_letter) || text.chars().all(is_digit);
    (is_pure(before) && is_pure(after)).then(|| format!("{after}{before}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row<'static> = Row {
        name: "Fix the Build",
        id: "019ae047-cf8a",
        text: "why does\n  it fail? E42 quota",
        cwd: "/proj/dev/sessile",
    };

    fn tier(query: &str) -> Option<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "tiers are small")]
        PickerQuery::parse(query).score(&ROW).map(|score| (score / TIER).round() as i64)
    }

    #[test]
    fn tiers_follow_the_fields() {
        for (query, expected) in [
            ("", Some(0)),
            ("build", Some(0)),
            ("FIX the", Some(0)),
            ("cf8a", Some(1)),
            ("fail?", Some(1)),
            ("sessile", Some(1)),
            ("ftb", Some(2)),
            ("pdsess", Some(2)),
            // Text and ids never match fuzzily.
            ("wdif", None),
            ("build nothere", None),
            ("build fail", Some(1)),
            ("\"fix  the\"", Some(0)),
            ("\"does it fail\"", Some(1)),
            ("\"the fail\"", None),
            ("\"the fail", None),
            ("re:b.ild$", Some(0)),
            ("re:fail.*42", Some(1)),
            ("re:", None),
            ("re:(", None),
            // A match never continues from one field into the next.
            ("\"build 019ae047\"", None),
        ] {
            assert_eq!(tier(query), expected, "{query}");
        }
    }

    #[track_caller]
    fn check(query: &str, text: &str, expected: Option<f64>) {
        match (fuzzy_score(query, text), expected) {
            (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-9, "{query} in {text}: {found}"),
            (found, expected) => assert_eq!(found, expected, "{query} in {text}"),
        }
    }

    #[test]
    fn letter_matches_are_scored() {
        // Results of pi 1.5.0.
        check("abc", "abcd", Some(-39.7));
        check("abc", "abc", Some(-139.7));
        check("ac", "abxc", Some(-10.7));
        check("ac", "ab-c", Some(-20.7));
        check("ab", "a xab", Some(-8.6));
        check("ba", "ab", None);
        check("12abc", "abc12", Some(-179.0));
        check("abc12", "abc12", Some(-184.0));
        check("a1b", "b1a", None);
        check("", "abc", Some(0.0));
        check("ftb", "Fix the Build", Some(-21.8));
        check("pdsess", "/proj/dev/sessile", Some(-40.7));
        check("build", "fix the build", Some(-55.0));
        check("the", "fix the build", Some(-23.5));
    }
}
