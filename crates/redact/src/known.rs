//! Values that are known to be secret, in the forms in which they may be written.

use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

use crate::encoding::forms_of;
use crate::rules::context;
use crate::{Finding, Secret, Tier, Traces, Via};

/// A shorter value would be found in every word.
const SHORTEST: usize = 4;

/// All known values as one automaton.
pub(crate) struct Known {
    automaton: AhoCorasick,
    /// The value and the encoding of each pattern.
    forms: Vec<(usize, Option<Via>)>,
    values: Vec<Secret>,
    /// Values of which only the traces are known.
    traces: Vec<Traces>,
}

/// The automaton would print its states, and so the values.
impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({} values)", self.values.len())
    }
}

impl Known {
    /// Prepares a search for values. Shorter values than four bytes are left out.
    pub(crate) fn new(values: &[Secret], traces: &[Traces]) -> Result<Option<Self>, BuildError> {
        let mut values: Vec<Secret> = values.iter().filter(|value| value.expose().len() >= SHORTEST).cloned().collect();
        values.sort_by(|a, b| a.expose().cmp(b.expose()));
        values.dedup();
        let mut patterns: Vec<String> = Vec::with_capacity(values.len() * 3);
        let mut forms = Vec::with_capacity(values.len() * 3);
        for (index, value) in values.iter().enumerate() {
            for (pattern, via) in forms_of(value.expose()) {
                patterns.push(pattern);
                forms.push((index, via));
            }
        }
        if values.is_empty() && traces.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns)?;
        Ok(Some(Self { automaton, forms, values, traces: traces.to_vec() }))
    }

    /// Returns the places of known values in a text.
    pub(crate) fn find(&self, text: &str) -> impl Iterator<Item = Finding> {
        let known = self.automaton.find_iter(text).filter_map(|found| {
            let &(value, via) = self.forms.get(found.pattern().as_usize())?;
            let (rule, secret) = (Arc::from(context::KNOWN_VALUE), self.values.get(value)?.clone());
            Some(Finding { range: found.range(), rule, tier: Tier::Certain, via, secret })
        });
        known.chain(self.traces.iter().flat_map(|traces| traces.find(text)))
    }
}
