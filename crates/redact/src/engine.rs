//! One automaton over all literals, and what happens where it stops.

use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

use crate::context::{self, Betrayed, Context, Done};
use crate::rules::{self, Place, Rule};
use crate::{Finding, Secret, Tier, looks, stop};

/// How much of the text after a literal a rule sees.
const WINDOW: usize = 500;
/// The same for rules of long keys.
const LONG_WINDOW: usize = 10 << 10;
/// How often a rule of long keys may fail in one word before the rest of the word is skipped.
const MOST_FAILURES: u8 = 8;

/// The least length of the random part of a key that only begins as those of a rule do.
const SHORTEST_RESEMBLING: usize = 24;

static ENGINE: LazyLock<Engine> = LazyLock::new(Engine::new);

/// What a literal announces.
#[derive(Debug, Clone, Copy)]
enum Action {
    Format(usize),
    Context(Context),
}

/// A rule of the table, ready to use.
struct Format {
    rule: &'static Rule,
    name: Arc<str>,
    regex: OnceLock<Option<Regex>>,
}

/// The built-in rules, ready to use.
pub(crate) struct Engine {
    automaton: Option<AhoCorasick>,
    /// What each literal announces.
    actions: Vec<Vec<Action>>,
    formats: Vec<Format>,
}

/// Which rules to use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All.
    Everything,
    /// Only the formats of keys.
    Formats,
}

/// What a rule of long keys did before in the same word.
#[derive(Clone, Copy, Default)]
struct Failures {
    until: usize,
    count: u8,
}

impl Engine {
    /// Returns the engine, which is built once.
    pub(crate) fn get() -> &'static Self {
        &ENGINE
    }

    fn new() -> Self {
        let formats: Vec<Format> =
            rules::table().map(|rule| Format { rule, name: Arc::from(rule.name), regex: OnceLock::new() }).collect();
        let anchors = rules::table().enumerate();
        let anchors = anchors
            .flat_map(|(index, rule)| rule.anchors.iter().map(move |a| ((*a).to_owned(), Action::Format(index))));
        let contexts = context::literals().map(|(literal, context)| (literal, Action::Context(context)));
        let mut literals: Vec<String> = Vec::new();
        let mut actions: Vec<Vec<Action>> = Vec::new();
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        for (literal, action) in anchors.chain(contexts) {
            let place = *places.entry(literal.clone()).or_insert_with(|| {
                literals.push(literal);
                actions.push(Vec::new());
                actions.len() - 1
            });
            actions[place].push(action);
        }
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).prefilter(false).build(&literals);
        Self { automaton: automaton.ok(), actions, formats }
    }

    /// Adds the findings of a text, in no particular order.
    pub(crate) fn scan(&self, text: &str, part: Part, out: &mut Vec<Finding>) {
        // The table is constant and a test builds it: without an automaton there is nothing to trust.
        #[expect(clippy::expect_used, reason = "a scan without its rules must abort, never find nothing")]
        let automaton = self.automaton.as_ref().expect("the literals of the table fit into an automaton");
        let mut context_done = Done::default();
        let mut done: FxHashMap<usize, usize> = FxHashMap::default();
        let mut failures: FxHashMap<usize, Failures> = FxHashMap::default();
        let mut betrayed: Vec<Betrayed> = Vec::new();
        for found in automaton.find_overlapping_iter(text) {
            let mut tried = None;
            for action in &self.actions[found.pattern().as_usize()] {
                match *action {
                    Action::Context(_) if part == Part::Formats => {}
                    Action::Context(context) => {
                        context.find(text, found.range(), &mut context_done, &mut betrayed);
                        out.extend(betrayed.drain(..).filter_map(|betrayed| context_finding(text, betrayed)));
                    }
                    Action::Format(index) => {
                        let format = &self.formats[index];
                        if format.rule.place == Place::Start && !is_start(text.as_bytes(), found.start()) {
                            continue;
                        }
                        if done.get(&index).is_some_and(|&end| found.start() < end) {
                            continue;
                        }
                        if format.rule.long
                            && has_failed(failures.entry(index).or_default(), text.as_bytes(), found.start())
                        {
                            continue;
                        }
                        if let Some(finding) = format.find(text, found.range()) {
                            done.insert(index, finding.range.end);
                            out.push(finding);
                        } else if format.rule.place == Place::Start {
                            tried = Some(format);
                        }
                    }
                }
            }
            out.extend(tried.and_then(|format| format.find_resembling(text, found.range())));
        }
    }
}

/// Counts the attempts of a rule in one word, and says whether there were too many.
fn has_failed(failures: &mut Failures, bytes: &[u8], at: usize) -> bool {
    if at >= failures.until {
        let word = bytes[at..].iter().take(LONG_WINDOW).take_while(|b| !b.is_ascii_whitespace()).count();
        *failures = Failures { until: at + word, count: 0 };
    }
    failures.count = failures.count.saturating_add(1);
    failures.count > MOST_FAILURES
}

pub(crate) fn context_finding(text: &str, betrayed: Betrayed) -> Option<Finding> {
    let secret = Secret::new(text.get(betrayed.range.clone())?);
    let tier = if context::is_certain(betrayed.rule) { Tier::Certain } else { Tier::Likely };
    Some(Finding { range: betrayed.range, rule: Arc::from(betrayed.rule), tier, via: None, secret })
}

/// Whether a key may begin at an offset: no letter, digit or underscore is before it, except that of an escape.
fn is_start(bytes: &[u8], at: usize) -> bool {
    match at.checked_sub(1).and_then(|before| bytes.get(before)) {
        None => true,
        Some(b'n' | b't' | b'r') => at >= 2 && bytes[at - 2] == b'\\',
        Some(b) => !(b.is_ascii_alphanumeric() || *b == b'_'),
    }
}

/// Whether a match is part of a longer text in base64, in which every short anchor of letters stands somewhere.
fn is_in_base64(bytes: &[u8], anchor: &Range<usize>, range: &Range<usize>) -> bool {
    let is_plain = anchor.len() <= 5 && bytes[anchor.clone()].iter().all(u8::is_ascii_alphanumeric);
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    let after = bytes.get(range.end);
    is_plain
        && (matches!(after, Some(b'+' | b'/')) || before == Some(&b'+') || (before == Some(&b'/') && anchor.len() <= 3))
}

fn is_end(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
}

impl Format {
    fn regex(&self) -> Option<&Regex> {
        let compile = || {
            let anchored = if matches!(self.rule.place, Place::Inside(_)) { "" } else { "^" };
            RegexBuilder::new(&format!("{anchored}(?:{})", self.rule.pattern)).unicode(false).build().ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }

    fn find(&self, text: &str, anchor: Range<usize>) -> Option<Finding> {
        let window = if self.rule.long { LONG_WINDOW } else { WINDOW };
        let end = text.floor_char_boundary(anchor.end.saturating_add(window));
        let regex = self.regex()?;
        let range = match self.rule.place {
            Place::Start => {
                let found = regex.find(text.get(anchor.start..end)?)?;
                let range = anchor.start..anchor.start + found.end();
                if is_in_base64(text.as_bytes(), &anchor, &range) {
                    return None;
                }
                range
            }
            Place::Before => {
                let found = regex.captures(text.get(anchor.start..end)?)?.get(1)?;
                anchor.start + found.start()..anchor.start + found.end()
            }
            Place::Inside(before) => {
                let start = text.ceil_char_boundary(anchor.start.saturating_sub(before));
                let holds = |range: &Range<usize>| range.start <= anchor.start && anchor.end <= range.end;
                let found =
                    regex.find_iter(text.get(start..end)?).map(|found| start + found.start()..start + found.end());
                found.filter(holds).find(|range| is_start(text.as_bytes(), range.start))?
            }
        };
        is_end(text.as_bytes(), range.end).then_some(())?;
        self.judge(text.get(range.clone())?, range)
    }

    /// Returns a key that begins as those of the rule do and has another length: a new form, or a part.
    fn find_resembling(&self, text: &str, anchor: Range<usize>) -> Option<Finding> {
        let bytes = text.as_bytes();
        let ends_prefix = |b: &u8| matches!(b, b'-' | b'_' | b'.');
        if anchor.len() < 6 && !bytes.get(anchor.end - 1).is_some_and(ends_prefix) {
            return None;
        }
        // In the middle of a word with dashes or dots, it is a part of a name.
        let is_inner = anchor.start.checked_sub(1).is_some_and(|at| matches!(bytes[at], b'-' | b'.'));
        let is_line = anchor.start.checked_sub(2).is_none_or(|at| bytes[at] == b'\n');
        if is_inner && !is_line {
            return None;
        }
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let length = bytes.get(anchor.end..)?.iter().take(WINDOW).take_while(|b| is_part(b)).count();
        let random = text.get(anchor.end..anchor.end + length)?.trim_end_matches(['.', '-']);
        let length = random.len();
        // Names that begin so have words; a key has a long part without any.
        let longest = random.split(['-', '_', '.']).max_by_key(|part| part.len())?;
        let is_random = longest.len() >= SHORTEST_RESEMBLING && looks::is_random_value(longest);
        let fits =
            (is_random || looks::is_uuid(random)) && looks::entropy(random) >= 3.0 && !stop::is_placeholder(random);
        let range = anchor.start..anchor.end + length;
        let secret = Secret::new(text.get(range.clone())?);
        fits.then(|| Finding { range, rule: Arc::clone(&self.name), tier: Tier::Likely, via: None, secret })
    }

    fn judge(&self, value: &str, range: Range<usize>) -> Option<Finding> {
        let rule = self.rule;
        let prefix = match rule.place {
            Place::Start => rules::public_prefix_of(rule, value).len(),
            _ => 0,
        };
        let random = value.get(prefix..)?;
        let fits = looks::entropy(random) >= rule.floor
            && rule.check.is_none_or(|check| check(value))
            && !stop::is_certain_placeholder(value);
        let tier = if rule.checksum.is_none_or(|check| check(value)) { rule.tier } else { Tier::Likely };
        fits.then(|| Finding { range, rule: Arc::clone(&self.name), tier, via: None, secret: Secret::new(value) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        let engine = Engine::get();
        assert!(engine.automaton.is_some());
        for format in &engine.formats {
            assert!(format.regex().is_some(), "{}", format.rule.name);
            assert!(!format.rule.anchors.is_empty() && !format.rule.pattern.is_empty(), "{}", format.rule.name);
        }
        assert!(engine.formats.len() >= 120, "{}", engine.formats.len());
        let mut names: Vec<&str> = rules::table().map(|rule| rule.name).collect();
        names.sort_unstable();
        let n_names = names.len();
        names.dedup();
        assert_eq!(names.len(), n_names, "names are unique");
    }
}
