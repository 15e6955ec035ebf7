//! Any order of writing and synchronizing ends in one text.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::Config;
use sessile::sync::SyncState;
use sessile::sync::remote::{Fault, MemoryServer};

use crate::stage::{Machine, entry, ids, log_of};

/// What happens on a machine.
#[derive(Clone, Debug)]
enum Act {
    /// A program appends an entry below one of the last entries.
    Add {
        n_back: usize,
        has_common_id: bool,
    },
    /// A program dies while it appends.
    Tear,
    /// pi starts or ends.
    Pi(bool),
    Sync(Option<Fault>),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..4_usize, prop::bool::weighted(0.2))
            .prop_map(|(n_back, has_common_id)| Act::Add { n_back, has_common_id }),
        1 => Just(Act::Tear),
        2 => any::<bool>().prop_map(Act::Pi),
        4 => prop_oneof![
            Just(None), Just(Some(Fault::BeforeCommit)), Just(Some(Fault::AfterCommit))
        ].prop_map(Act::Sync),
    ]
}

proptest! {
    #![proptest_config(Config { cases: cases(), ..Config::default() })]

    #[test]
    fn all_machines_end_with_the_same_lines(acts in prop::collection::vec((0..3_usize, act()), 1..40)) {
        let server = MemoryServer::new("alice");
        let machines = [Machine::new(1), Machine::new(2), Machine::new(3)];
        let mut texts = BTreeSet::new();
        for (number, (machine, act)) in acts.iter().enumerate() {
            let at = &machines[*machine];
            match act {
                Act::Add { n_back, has_common_id } => {
                    let known = ids(&at.lines());
                    let parents: Vec<&String> = known.iter().filter(|id| *id != "odd").collect();
                    let parent = parents[parents.len() - 1 - (*n_back).min(parents.len() - 1)];
                    let id = if *has_common_id { "common".to_owned() } else { format!("m{machine}-{number}") };
                    if known.contains(&id) {
                        continue;
                    }
                    let text = format!("text {number}");
                    let time = 10 + u32::try_from(number * 7 % 40).unwrap();
                    at.add(&entry(&id, parent, time, &text));
                    texts.insert(text);
                }
                Act::Tear => at.tear(),
                Act::Pi(true) => at.run_pi(),
                Act::Pi(false) => at.end_pi(),
                Act::Sync(fault) => {
                    let mut client = server.clone();
                    if let Some(fault) = fault {
                        client.fail_next(*fault);
                    }
                    at.sync_on(&mut client, &sessile::sync::SyncOptions::default()).unwrap();
                }
            }
        }
        for machine in &machines {
            machine.end_pi();
        }
        for _ in 0..2 {
            for machine in &machines {
                machine.sync(&server).unwrap();
            }
        }
        for machine in &machines {
            prop_assert_eq!(machine.sync(&server).unwrap().state, SyncState::Equal);
            prop_assert_eq!(machine.lines(), log_of(&server));
            prop_assert!(machine.originals().is_empty());
        }
        let log = log_of(&server);
        for text in &texts {
            prop_assert_eq!(log.matches(&format!("\"{text}\"")).count(), 1, "{} in {}", text, log);
        }
        let all = ids(&log);
        let known: BTreeSet<&String> = all.iter().filter(|id| *id != "odd").collect();
        prop_assert_eq!(known.len(), all.iter().filter(|id| *id != "odd").count(), "an id is there twice: {:?}", all);
    }
}

/// The number of cases; `SESSILE_SYNC_CASES` sets another one.
fn cases() -> u32 {
    std::env::var("SESSILE_SYNC_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64)
}
