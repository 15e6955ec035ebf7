//! Traces of values: enough to recognize a value in a text, without the value.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::encoding::forms_of;
use crate::hmac::{Mac, hex};
use crate::{Finding, RunKey, Secret, Tier};

/// How many bytes of a value its start has. Shorter values leave no trace.
const START: usize = 6;

/// The trace of a value in one of the forms in which it may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The rule that found the value.
    pub rule: Arc<str>,
    /// How sure it was.
    pub tier: Tier,
    /// The number of bytes.
    pub length: usize,
    /// The first bits of the code of the first bytes, so that few texts have to be compared as a whole.
    pub start: u16,
    /// The HMAC-SHA256 of the form, in hexadecimal.
    pub code: String,
}

/// Looks for values by their traces.
#[derive(Clone)]
pub struct Traces {
    mac: Mac,
    /// The traces with the same start.
    starts: FxHashMap<u16, Vec<Trace>>,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Traces({} starts)", self.starts.len())
    }
}

impl Traces {
    /// Prepares a search for values whose traces were made with this key.
    pub fn new(key: &RunKey, traces: impl IntoIterator<Item = Trace>) -> Self {
        let mut starts: FxHashMap<u16, Vec<Trace>> = FxHashMap::default();
        for trace in traces {
            starts.entry(trace.start).or_default().push(trace);
        }
        Self { mac: key.mac(), starts }
    }

    /// The traces of a value: as it is, in base64, in percent encoding and as part of a JSON string.
    pub fn of(key: &RunKey, (rule, tier): &(Arc<str>, Tier), secret: &Secret) -> Vec<Trace> {
        let mac = key.mac();
        let trace = |form: String| {
            let start = start(&mac, form.as_bytes().get(..START)?);
            let code = hex(&mac.code(form.as_bytes()));
            Some(Trace { rule: Arc::clone(rule), tier: *tier, length: form.len(), start, code })
        };
        forms_of(secret.expose()).into_iter().filter_map(|(form, _)| trace(form)).collect()
    }

    /// Returns the places of the values in a text. The secret of each is what is written there.
    pub(crate) fn find(&self, text: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        for (at, _) in text.char_indices() {
            let Some(first) = text.as_bytes().get(at..at + START) else { break };
            for trace in self.starts.get(&start(&self.mac, first)).into_iter().flatten() {
                let range = at..at.saturating_add(trace.length);
                let Some(value) = text.get(range.clone()) else { continue };
                if hex(&self.mac.code(value.as_bytes())) == trace.code {
                    let (rule, secret) = (Arc::clone(&trace.rule), Secret::new(value));
                    found.push(Finding { range, rule, tier: trace.tier, via: None, secret });
                }
            }
        }
        found
    }
}

fn start(mac: &Mac, first: &[u8]) -> u16 {
    let code = mac.code(first);
    u16::from_be_bytes([code[0], code[1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, ScanOptions, Scanner};

    const VALUE: &str = "kR7-vQ/x9Lw";

    fn scanner(key: u8) -> Scanner {
        let traces = Traces::of(&RunKey::new(vec![7; 32]), &("url-password".into(), Tier::Likely), &Secret::new(VALUE));
        assert!(traces.len() > 2 && traces.iter().all(|trace| !format!("{trace:?}").contains(VALUE)));
        let traces = vec![Traces::new(&RunKey::new(vec![key; 32]), traces)];
        Scanner::new(&ScanOptions { traces, ..ScanOptions::default() }).unwrap()
    }

    #[test]
    fn a_value_is_recognized_wherever_it_is() {
        for text in [VALUE.to_owned(), format!("é{VALUE}"), format!("name{VALUE}s é")] {
            let found = scanner(7).find(&text, Origin::Ordinary);
            let [finding] = &found[..] else { panic!("{text}: {found:?}") };
            assert_eq!((finding.secret.expose(), &*finding.rule, finding.tier), (VALUE, "url-password", Tier::Likely));
            assert_eq!(text.get(finding.range.clone()), Some(VALUE));
        }
        for text in ["kR7-vQ/x9L", "kR7-vQ/x9Lx", "kR7-vQ", "", "kR7-vQ/x9é"] {
            assert_eq!(scanner(7).find(text, Origin::Ordinary), [], "{text}");
        }
        assert_eq!(scanner(8).find(VALUE, Origin::Ordinary), [], "another key");
    }

    #[test]
    fn an_encoded_value_is_recognized() {
        for form in ["a1I3LXZRL3g5THc=", "kR7-vQ%2Fx9Lw", "kR7-vQ\\/x9Lw"] {
            let found = scanner(7).find(&format!("see {form} here"), Origin::Ordinary);
            assert_eq!(found.len(), 1, "{form}");
        }
        let long = crate::encoding::base64::encode(format!("the value {VALUE} is in here").as_bytes(), false);
        assert_eq!(scanner(7).find(&long, Origin::Ordinary).first().map(|it| it.secret.expose()), Some(VALUE));
    }
}
