//! Damaged and invented sources: no panic, and nothing that `verify` refuses.

use proptest::prelude::*;
use sessile_agents::Agent;

use super::support::{Pi, fixture, survey};

const FIXTURES: &[(Agent, &str, &str)] = &[
    (Agent::Claude, "claude", "answers"),
    (Agent::Claude, "claude", "branches"),
    (Agent::Claude, "claude", "compactions"),
    (Agent::Claude, "claude", "sidechains"),
    (Agent::Claude, "claude", "damage"),
    (Agent::Claude, "claude", "records"),
    (Agent::Codex, "codex", "turns"),
    (Agent::Codex, "codex", "rollback"),
    (Agent::Codex, "codex", "compacted"),
    (Agent::Codex, "codex", "bare"),
    (Agent::Codex, "codex", "events"),
    (Agent::Copilot, "copilot", "events"),
    (Agent::Copilot, "copilot", "resumed"),
    (Agent::Gemini, "gemini", "session"),
    (Agent::Gemini, "gemini", "compressed"),
    (Agent::Omp, "omp", "entries"),
    (Agent::Omp, "omp", "session"),
    (Agent::Opencode, "opencode", "files"),
    (Agent::Qwen, "qwen", "tree"),
];

/// A change of a source.
#[derive(Clone, Debug)]
enum Change {
    /// Lines change places.
    Swap(usize, usize),
    /// A line comes again.
    Repeat(usize, usize),
    /// A line is missing.
    Drop(usize),
    /// A quoted text of a line becomes one of another line: ids, parents, types.
    Exchange(usize, usize, usize, usize),
    /// A byte of a line changes.
    Byte(usize, usize, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let number = || 0_usize..1000;
    prop_oneof![
        (number(), number()).prop_map(|(a, b)| Change::Swap(a, b)),
        (number(), number()).prop_map(|(a, b)| Change::Repeat(a, b)),
        number().prop_map(Change::Drop),
        (number(), number(), number(), number()).prop_map(|(a, b, c, d)| Change::Exchange(a, b, c, d)),
        (number(), number(), any::<u8>()).prop_map(|(a, b, c)| Change::Byte(a, b, c)),
    ]
}

fn apply(lines: &mut Vec<Vec<u8>>, change: &Change) {
    let n_lines = lines.len();
    if n_lines == 0 {
        return;
    }
    match change {
        Change::Swap(a, b) => lines.swap(a % n_lines, b % n_lines),
        Change::Repeat(a, b) => {
            let line = lines[a % n_lines].clone();
            lines.insert(b % n_lines, line);
        }
        Change::Drop(a) => drop(lines.remove(a % n_lines)),
        Change::Exchange(a, b, c, d) => {
            let quoted = |line: &[u8], nth: usize| {
                let parts: Vec<Vec<u8>> = line.split(|byte| *byte == b'"').map(<[u8]>::to_vec).collect();
                let nth = (nth % parts.len()) | 1;
                (parts, nth)
            };
            let (from, nth) = quoted(&lines[c % n_lines], *d);
            let Some(text) = from.get(nth).cloned() else { return };
            let (mut parts, nth) = quoted(&lines[a % n_lines], *b);
            let Some(place) = parts.get_mut(nth) else { return };
            *place = text;
            lines[a % n_lines] = parts.join(&b'"');
        }
        Change::Byte(a, b, byte) => {
            let line = &mut lines[a % n_lines];
            if !line.is_empty() && *byte != b'\n' {
                let at = b % line.len();
                line[at] = *byte;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_source_becomes_a_sound_session(nth in 0..FIXTURES.len(), changes in prop::collection::vec(change(), 0..12)) {
        let (agent, folder, name) = FIXTURES[nth];
        let source = fixture(folder, name);
        let mut lines: Vec<Vec<u8>> = source.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let before = source.clone();
        for change in &changes {
            apply(&mut lines, change);
        }
        let mut source = lines.join(&b'\n');
        source.push(b'\n');
        for session in survey(agent, "id", &source) {
            let mut pi = Pi::default();
            pi.import(&session, &source);
            prop_assert_eq!(pi.findings(), Vec::<String>::new());
            let length = pi.text.len();
            prop_assert_eq!(pi.import(&session, &source).n_lines, 0);
            prop_assert_eq!(pi.text.len(), length);
        }
        // From the original to the changed one, as if the agent had rewritten its file.
        let mut pi = Pi::default();
        pi.import(&survey(agent, "id", &before)[0], &before);
        pi.import(&survey(agent, "id", &source)[0], &source);
        prop_assert_eq!(pi.findings(), Vec::<String>::new());
    }
}
