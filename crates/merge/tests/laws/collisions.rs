//! P10: the same id in several copies, and an id that another entry has got as its new one.

use std::collections::{BTreeMap, BTreeSet};

use sessile_core::json::Raw;

use crate::contexts::assert_same_contexts;
use crate::generate::{self, Nature, Random};
use crate::{for_all, merged, naive};

const FIELDS: [&str; 4] = ["parentId", "targetId", "firstKeptEntryId", "fromId"];

fn get(line: &str, name: &str) -> Option<String> {
    Raw::parse(line.as_bytes()).ok()?.get(name)?.as_string()
}

/// The ids that entries of a merged session got as their new ones.
fn new_ids(text: &str) -> Vec<String> {
    text.lines().filter(|line| get(line, "renamedFrom").is_some()).filter_map(|line| get(line, "id")).collect()
}

#[test]
fn an_id_that_would_be_derived_is_there_already() {
    for_all(Nature::Tame, 100, &|random, copies| {
        let first = merged(copies);
        let Some(taken) = new_ids(&first).first().cloned() else { return };
        // An entry that has this id by itself, and everything that can refer to it.
        let rest = [
            format!(r#""type":"message","id":"{taken}","parentId":null,"message":{{"role":"user","content":"taken"}}"#),
            format!(
                r#""type":"message","id":"own-1","parentId":"{taken}","message":{{"role":"user","content":"child"}}"#
            ),
            format!(r#""type":"label","id":"own-2","parentId":"own-1","targetId":"{taken}","label":"taken""#),
            format!(r#""type":"context_edit","id":"own-3","parentId":"own-2","targetId":"{taken}","replacement":null"#),
            format!(r#""type":"branch_summary","id":"own-4","parentId":"own-3","fromId":"{taken}","summary":"s""#),
            format!(
                r#""type":"compaction","id":"own-5","parentId":"own-4","firstKeptEntryId":"{taken}","summary":"s","tokensBefore":1"#
            ),
        ];
        let mut extra = copies[0].clone();
        for rest in rest {
            extra += &format!("{{{rest},\"timestamp\":\"2025-01-01T00:00:{:02}.000Z\"}}\n", random.below(60));
        }
        let mut with_extra = copies.to_vec();
        with_extra.push(extra.clone());
        let all = merged(&with_extra);
        let texts: Vec<&str> = with_extra.iter().map(String::as_str).collect();
        assert_eq!(all, naive::merge(&texts));
        assert_eq!(merged(&[&extra, &first]), all, "the derived id was given away before");
        assert_same_contexts(&with_extra, &all);
        random.shuffle(&mut with_extra);
        assert_eq!(merged(&with_extra), all);
    });
}

/// The random copies of the other laws have what this law is about.
#[test]
fn collisions_are_of_every_kind() {
    let mut n_copies_of_ids = BTreeSet::new();
    let mut referring = BTreeSet::new();
    for seed in 1..200 {
        let copies = generate::copies(&mut Random::new(seed), Nature::Tame);
        let texts: Vec<&str> = copies.iter().map(String::as_str).collect();
        let mut owners: BTreeMap<String, BTreeSet<[u8; 32]>> = BTreeMap::new();
        for entry in naive::read(&texts).entries {
            owners.entry(entry.id).or_default().insert(entry.key);
        }
        n_copies_of_ids.extend(owners.values().map(BTreeSet::len));
        let all = merged(&copies);
        let new: BTreeSet<String> = new_ids(&all).into_iter().collect();
        for line in all.lines() {
            let is_renamed = |field: &&&str| get(line, field).is_some_and(|id| new.contains(&id));
            let kind = get(line, "type").unwrap();
            referring.extend(FIELDS.iter().filter(is_renamed).map(|field| format!("{kind}.{field}")));
        }
    }
    assert!((2..=4).all(|n| n_copies_of_ids.contains(&n)), "{n_copies_of_ids:?}");
    for field in ["label.targetId", "context_edit.targetId", "compaction.firstKeptEntryId", "branch_summary.fromId"] {
        assert!(referring.contains(field), "{field}: {referring:?}");
    }
    assert!(referring.iter().any(|field| field.ends_with(".parentId")));
}
